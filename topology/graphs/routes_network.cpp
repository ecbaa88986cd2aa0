#include "topology/graphs/routes_network.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <type_traits>

#include "core/quantity_text.hpp"
#include "core/wide.hpp"
#include "topology/graphs/wiring.hpp"

namespace weft::topology {
namespace {

Wiring wiring_of(const RoutesText& c) {
  std::vector<RoutesWalked::Route> routes;
  routes.reserve(c.routes.size());
  for (const RoutesText::Route& r : c.routes) routes.push_back({r.src, r.dst, r.begin, r.end});
  return infer_wiring({c.hosts, c.hosts, static_cast<std::uint32_t>(c.links.size()), routes, c.used, {}});
}

constexpr std::uint64_t kFormat = 0x36736574756f7277;  // "wroutes6": to be changed with what follows

static_assert(std::endian::native == std::endian::little, "copies are kept as they are in memory");
constexpr std::size_t kUnit = 8;  // columns begin at multiples of it

// A column as it is in memory: how many rows, then these.
template <class T>
void put(std::string& out, std::span<const T> column) {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kUnit);
  const std::uint64_t n = column.size();
  out.append(reinterpret_cast<const char*>(&n), sizeof n);
  out.append(reinterpret_cast<const char*>(column.data()), column.size_bytes());
  out.resize((out.size() + kUnit - 1) / kUnit * kUnit);
}
template <class T>
void put(std::string& out, const std::vector<T>& column) {
  put(out, std::span<const T>(column));
}

// REQUIRES: `in` begins at a multiple of kUnit.
template <class T>
bool take(std::string_view& in, std::span<const T>& column) {
  std::uint64_t n = 0;
  if (in.size() < sizeof n) return false;
  std::memcpy(&n, in.data(), sizeof n);
  in.remove_prefix(sizeof n);
  if (n > in.size() / sizeof(T)) return false;
  column = {reinterpret_cast<const T*>(in.data()), static_cast<std::size_t>(n)};
  const std::size_t end = (column.size_bytes() + kUnit - 1) / kUnit * kUnit;
  if (end > in.size()) return false;
  in.remove_prefix(end);
  return true;
}
template <class T>
bool take(std::string_view& in, std::vector<T>& column) {
  std::span<const T> rows;
  if (!take(in, rows)) return false;
  column.assign(rows.begin(), rows.end());
  return true;
}

// Apart, without an end at the first that is not so, and by the signs of differences: then they are vector instructions, few
// of them. Both are of numbers below 2^31, which they check, too.
constexpr std::uint32_t kSign = 1u << 31;
// Each is by `least` or more above the one before it.
WEFT_WIDE bool rising(std::span<const std::uint32_t> v, std::uint32_t least) {
  std::uint32_t any = v.empty() ? 0 : v[0];
  for (std::size_t i = 1; i < v.size(); ++i) any |= v[i] | (v[i] - v[i - 1] - least);
  return (any & kSign) == 0;
}
WEFT_WIDE bool all_below(std::span<const std::uint32_t> v, std::uint32_t limit) {
  if (limit > kSign) return false;
  std::uint32_t any = 0, all = kSign;
  for (const std::uint32_t x : v) {
    any |= x;
    all &= x - limit;
  }
  return (any & kSign) == 0 && all != 0;
}
std::span<const std::uint32_t> numbers_of(std::span<const LinkId> links) {
  static_assert(sizeof(LinkId) == sizeof(std::uint32_t) && std::is_standard_layout_v<LinkId>);
  return {reinterpret_cast<const std::uint32_t*>(links.data()), links.size()};
}
bool ascending(std::span<const std::uint32_t> v) { return rising(v, 0); }

// Whether it is one that network_of() can have made, as far as its readers rely on that.
bool sound(const RoutesNetwork& n) {
  const RouteTable& r = n.routes;
  const std::size_t links = n.from.size(), pairs = r.dst.size();
  if (n.hosts == 0 || n.vertices < n.hosts || n.to.size() != links || n.capacity.size() != links ||
      n.latency.size() != links || n.fatpipe.size() != links || n.names.size() != links ||
      r.row.size() != std::size_t{n.hosts} + 1 || r.offset.size() != pairs + 1)
    return false;
  if (r.row.front() != 0 || r.row.back() != pairs || r.offset.front() != 0 ||
      r.offset.back() != r.links.size())
    return false;
  if (!ascending(n.from) || !ascending(r.row) || !ascending(r.offset) || !all_below(n.from, n.vertices) ||
      !all_below(n.to, n.vertices) || !all_below(r.dst, n.hosts))
    return false;
  for (std::uint32_t h = 0; h < n.hosts; ++h)
    if (!rising(r.dst.subspan(r.row[h], r.row[h + 1] - r.row[h]), 1)) return false;
  return all_below(numbers_of(r.links), static_cast<std::uint32_t>(links)) &&
         std::ranges::all_of(n.capacity, [](double c) { return in_bounds(Bandwidth(c)); }) &&
         std::ranges::all_of(n.latency, [](Duration d) { return d >= Duration(0); }) &&
         std::ranges::all_of(n.fatpipe, [](std::uint8_t f) { return f <= 1; });
}

}  // namespace

RoutesNetwork network_of(const RoutesText& c) {
  const Wiring w = wiring_of(c);
  const std::size_t links = c.links.size();
  RoutesNetwork n;
  n.hosts = c.hosts;
  n.vertices = w.vertices;
  n.hosts_pass_on = w.hosts_pass_on;
  n.wiring_known = w.known;
  // Ports are numbered in the order of the file's link indices; id[l] is the link's number in the network.
  const std::vector<std::uint32_t> id = numbers_by_start(w);
  n.from.resize(links);
  n.to.resize(links);
  n.capacity.resize(links);
  n.latency.resize(links);
  n.fatpipe.resize(links);
  n.names.resize(links);
  for (std::size_t l = 0; l < links; ++l) {
    const std::uint32_t i = id[l];
    n.from[i] = w.from[l];
    n.to[i] = w.to[l];
    n.capacity[i] = c.links[l].capacity;
    n.latency[i] = c.links[l].latency;
    n.fatpipe[i] = c.links[l].fatpipe ? 1 : 0;
    n.names[i] = c.links[l].name;
  }
  struct Columns {
    std::vector<std::uint32_t> row, dst, offset;
    std::vector<LinkId> links;
  };
  const auto r = std::make_shared<Columns>();
  r->row.assign(c.hosts + 1, 0);
  r->dst.reserve(c.routes.size());
  r->offset.reserve(c.routes.size() + 1);
  r->links.reserve(c.used.size());
  for (const RoutesText::Route& route : c.routes) {
    ++r->row[route.src + 1];
    r->dst.push_back(route.dst);
    r->offset.push_back(static_cast<std::uint32_t>(r->links.size()));
    for (std::uint32_t k = route.begin; k < route.end; ++k) r->links.emplace_back(id[c.used[k]]);
  }
  r->offset.push_back(static_cast<std::uint32_t>(r->links.size()));
  for (std::uint32_t h = 0; h < c.hosts; ++h) r->row[h + 1] += r->row[h];
  n.routes = {r->row, r->dst, r->offset, r->links, r};
  return n;
}

std::string to_bytes(const RoutesNetwork& n) {
  std::string out;
  const std::vector<std::uint64_t> head{kFormat, n.hosts, n.vertices, n.hosts_pass_on ? 1u : 0u,
                                        n.wiring_known ? 1u : 0u};
  std::vector<std::uint32_t> ends;
  std::vector<char> letters;
  for (const std::string& name : n.names) {
    letters.insert(letters.end(), name.begin(), name.end());
    ends.push_back(static_cast<std::uint32_t>(letters.size()));
  }
  put(out, head);
  put(out, ends);
  put(out, letters);
  put(out, n.from);
  put(out, n.to);
  put(out, n.capacity);
  put(out, n.latency);
  put(out, n.fatpipe);
  put(out, n.routes.row);
  put(out, n.routes.dst);
  put(out, n.routes.offset);
  put(out, n.routes.links);
  return out;
}

std::optional<RoutesNetwork> network_from(FileBytes file) {
  RoutesNetwork n;
  const auto owner = std::make_shared<const FileBytes>(std::move(file));
  std::string_view bytes(owner->data(), owner->size());
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % kUnit != 0) return std::nullopt;
  std::span<const std::uint64_t> head;
  std::span<const std::uint32_t> ends;
  std::span<const char> letters;
  RouteTable& r = n.routes;
  const bool whole = take(bytes, head) && take(bytes, ends) && take(bytes, letters) && take(bytes, n.from) &&
                     take(bytes, n.to) && take(bytes, n.capacity) && take(bytes, n.latency) &&
                     take(bytes, n.fatpipe) && take(bytes, r.row) && take(bytes, r.dst) &&
                     take(bytes, r.offset) && take(bytes, r.links) && bytes.empty();
  if (!whole || head.size() != 5 || head[0] != kFormat || head[1] > ~0u || head[2] > ~0u || head[3] > 1 ||
      head[4] > 1)
    return std::nullopt;
  r.owner = owner;
  n.hosts = static_cast<std::uint32_t>(head[1]);
  n.vertices = static_cast<std::uint32_t>(head[2]);
  n.hosts_pass_on = head[3] == 1;
  n.wiring_known = head[4] == 1;
  if (!ascending(ends) || (ends.empty() ? 0 : ends.back()) != letters.size()) return std::nullopt;
  n.names.reserve(ends.size());
  for (std::uint32_t at = 0; const std::uint32_t end : ends) {
    n.names.emplace_back(letters.data() + at, end - at);
    at = end;
  }
  if (!sound(n)) return std::nullopt;
  return n;
}

}  // namespace weft::topology
