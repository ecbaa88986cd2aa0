// Routes file: a network given as its links and the route of every pair, whoever computed them (SimGrid, a
// subnet manager, a script). Plain text or zstd.
//
//   L index name bandwidth_Bps latency_s ...   one directed link; further fields are ignored
//   R src dst link link ...                    the route of a pair; hosts are 0..max index, named node-K
//
// Rules: link indices are 0..L-1, each once, in any order; a pair has at most one R line; a pair without one
// is unreachable; a host to itself has no links. `lat` and `bw` given beside `path` replace the file's.
//
// The file does not say what a link joins. The wiring is inferred: the end of a link is where the next link
// of any route begins, the first link of a route begins at its source, the last ends at its destination
// (union-find over link ends and hosts). A link that routes use in both directions merges its two ends; the
// wiring then counts as unknown.
#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <deque>
#include <numeric>

#include "core/counted.hpp"
#include "core/files/input_file.hpp"
#include "core/files/zstd_memory.hpp"
#include "core/out_of_memory.hpp"
#include "topology/graphs/text_scanner.hpp"
#include "topology/registry.hpp"

namespace weft::topology::family_routes_file {
namespace {

constexpr std::array<ParamInfo, 3> kRoutesParams = {{
    {"path", "required", "routes file, plain or zstd"},
    {"bw", "the file's", "replaces the bandwidth of every link"},
    {"lat", "the file's", "replaces the latency of every link"},
}};
constexpr std::uint64_t kMaxTextBytes = 1ULL << 31;
constexpr std::int64_t kMaxHosts = 1LL << 22;

// Routes of all pairs in one arena, found by binary search in the row of the source. 12 bytes per pair + 4
// per link.
class TableRouting final : public Routing {
 public:
  std::vector<std::uint32_t> row;     // per source, +1: range in dst
  std::vector<std::uint32_t> dst;     // sorted within a row
  std::vector<std::uint32_t> offset;  // of the pair's route in links; one more at the end
  std::vector<LinkId> links;

  bool route(HostId src, HostId to, std::vector<LinkId>& out) const override {
    if (src == to) return true;
    const auto begin = dst.begin() + row[src.index()];
    const auto end = dst.begin() + row[src.index() + 1];
    const auto it = std::lower_bound(begin, end, to.index());
    if (it == end || *it != to.index()) return false;
    const auto k = static_cast<std::size_t>(it - dst.begin());
    out.insert(out.end(), links.begin() + offset[k], links.begin() + offset[k + 1]);
    return true;
  }
  std::string_view name() const override { return "table"; }
  std::optional<HopHistogram> hop_histogram() const override {
    HopHistogram h;
    std::uint64_t reached = 0;
    for (std::size_t s = 0; s + 1 < row.size(); ++s)
      for (std::uint32_t k = row[s]; k < row[s + 1]; ++k)
        if (dst[k] != s) {
          h.add(offset[k + 1] - offset[k], 1);
          ++reached;
        }
    const std::uint64_t n = row.size() - 1;
    h.unreachable = n * (n - 1) - reached;
    return h;
  }
};

struct FileLink {
  std::string name;
  double capacity = 0;
  Duration latency{0};
  bool seen = false;
};
struct FileRoute {
  std::uint32_t src, dst, line;
  std::uint32_t begin, end;  // in the list of link indices
};
struct FileContents {
  std::vector<FileLink> links;
  std::vector<FileRoute> routes;  // sorted by (src, dst)
  std::vector<std::uint32_t> used;
  std::uint32_t hosts = 0;
};

// Zeros behind the text: numbers are read four bytes at a time.
constexpr std::size_t kSlack = 4;

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// A file of one frame that says how much it unpacks to, at once; empty if it is another or not whole.
std::string decompress_at_once(ZSTD_DCtx* ctx, const std::string& packed) {
  std::string out;
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size >= ZSTD_CONTENTSIZE_ERROR - 1 || size > std::min(kMaxTextBytes, most_unpacked(packed.size())) ||
      ZSTD_findFrameCompressedSize(packed.data(), packed.size()) != packed.size())
    return out;
  out.reserve(size + kSlack);
  out.resize(size);
  if (zstd_result(ZSTD_decompressDCtx(ctx, out.data(), out.size(), packed.data(), packed.size())) != size)
    out.clear();
  return out;
}

Result<std::string> decompress(const std::string& path, std::string packed) {
  constexpr std::string_view magic("\x28\xb5\x2f\xfd", 4);
  if (!std::string_view(packed).starts_with(magic)) return packed;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> ctx(allocated(ZSTD_createDCtx()), &ZSTD_freeDCtx);
  if (std::string out = decompress_at_once(ctx.get(), packed); !out.empty()) return out;
  // A window of 8 MiB, as every decoder has, or a larger one that the file's size explains.
  const int window = std::clamp(static_cast<int>(std::bit_width(64 * std::uint64_t{packed.size()})), 23, 27);
  ZSTD_DCtx_setParameter(ctx.get(), ZSTD_d_windowLogMax, window);
  // Pieces, which go one by one as they are joined: a string that grows is there twice.
  std::deque<std::string> pieces;
  std::uint64_t size = 0;
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::size_t left = 0;
  bool more = true;
  while (more) {
    if (pieces.empty() || pieces.back().size() == kPieceBytes) pieces.emplace_back().reserve(kPieceBytes);
    std::string& piece = pieces.back();
    const std::size_t at = piece.size(), before = in.pos;
    piece.resize(std::min(kPieceBytes, at + ZSTD_DStreamOutSize()));
    ZSTD_outBuffer o{piece.data() + at, piece.size() - at, 0};
    left = zstd_result(ZSTD_decompressStream(ctx.get(), &o, &in));
    if (ZSTD_isError(left) != 0)
      return bad_input(fmt::format("{}@byte {:#x}", path, before), "broken zstd data",
                       ZSTD_getErrorName(left), "a whole zstd file");
    more = in.pos < in.size || o.pos == o.size;
    piece.resize(at + o.pos);
    size += o.pos;
    if (size > std::min(kMaxTextBytes, most_unpacked(in.pos)))
      return bad_input(fmt::format("{}@byte {:#x}", path, before), "the file unpacks to too much",
                       fmt::format("{} bytes of {}", size, in.pos), std::string(kMostUnpacked));
  }
  if (left != 0)
    return bad_input(fmt::format("{}@byte {:#x}", path, packed.size()), "zstd data is cut off", {},
                     "a whole zstd file");
  std::string out;
  out.reserve(size + kSlack);
  for (; !pieces.empty(); pieces.pop_front()) out += pieces.front();
  return out;
}

Result<double> number(TextScanner& in, std::string_view what, bool positive) {
  const std::string_view field = in.next_field();
  double v = 0;
  const auto [p, ec] = std::from_chars(field.data(), field.data() + field.size(), v);
  if (field.empty() || ec != std::errc() || p != field.data() + field.size() || !std::isfinite(v) || v < 0 ||
      (positive && v == 0))
    return bad_input(in.where(), fmt::format("{} of a link", what), std::string(field),
                     positive ? "a finite number above 0" : "a finite number, 0 or more");
  return v;
}

Result<std::uint32_t> index(std::string_view field, const TextScanner& in, std::string_view what,
                            std::int64_t top) {
  std::int64_t v = -1;
  const auto [p, ec] = std::from_chars(field.data(), field.data() + field.size(), v);
  if (field.empty() || ec != std::errc() || p != field.data() + field.size() || v < 0 || v > top)
    return bad_input(in.where(), fmt::format("{} index", what), std::string(field),
                     fmt::format("a whole number from 0 to {}", top));
  return static_cast<std::uint32_t>(v);
}

Result<void> read_link(TextScanner& in, FileContents& c) {
  WEFT_ASSIGN(const std::uint32_t i,
              index(in.next_field(), in, "link", static_cast<std::int64_t>(kMaxLinks) - 1));
  const std::uint32_t column = in.column();
  const auto at = [&] { return in.where(column); };
  const std::string_view name = in.next_field();
  if (name.empty())
    return bad_input(in.where(), "link without a name", {}, "L index name bandwidth_Bps latency_s");
  WEFT_ASSIGN(const double capacity, number(in, "bandwidth", true));
  WEFT_ASSIGN(const double latency, number(in, "latency", false));
  if (latency > 9e6)
    return bad_input(in.where(), "latency of a link", fmt::format("{}", latency), "at most 9e6 s");
  // An index may run ahead of its line only as far as lines can follow: memory stays proportional to the
  // file.
  if (i >= c.links.size()) {
    if (i > c.links.size() + (1U << 20))
      return bad_input(at(), "link index leaves a gap", fmt::format("{}", i),
                       "indices 0, 1, 2, ... each once");
    c.links.resize(i + 1);
  }
  if (c.links[i].seen) return bad_input(at(), "link defined twice", fmt::format("{}", i), "each index once");
  c.links[i] = {std::string(name), capacity, from_seconds(latency), true};
  return {};
}

Result<void> read_route(TextScanner& in, FileContents& c) {
  FileRoute r{0, 0, in.line(), static_cast<std::uint32_t>(c.used.size()), 0};
  WEFT_ASSIGN(r.src, index(in.next_field(), in, "host", kMaxHosts - 1));
  WEFT_ASSIGN(r.dst, index(in.next_field(), in, "host", kMaxHosts - 1));
  c.hosts = std::max({c.hosts, r.src + 1, r.dst + 1});
  for (std::string_view field = in.next_field(); !field.empty(); field = in.next_field()) {
    WEFT_ASSIGN(const std::uint32_t l, index(field, in, "link", static_cast<std::int64_t>(kMaxLinks) - 1));
    c.used.push_back(l);
  }
  r.end = static_cast<std::uint32_t>(c.used.size());
  if (r.src == r.dst && r.begin != r.end)
    return bad_input(in.where(), "route of a host to itself", {}, "no links");
  if (r.src != r.dst && r.begin == r.end)
    return bad_input(in.where(), "route without links", {},
                     "R src dst link...; leave the line out if unreachable");
  c.routes.push_back(r);
  return {};
}

// A blank and a whole number of at most nine digits at `p`, which goes behind it. Most have three digits: as four bytes they are
// made one number without a loop.
inline bool plain_number(const char*& p, std::uint32_t& v) {
  if (*p != ' ') return false;
  ++p;
  std::uint32_t x = 0;
  std::memcpy(&x, p, sizeof x);
  x ^= 0x30303030;  // digits are 0 to 9
  const std::uint32_t others = ((x + 0x76767676) | x) & 0x80808080;
  if (others != 0) {
    const int bits = std::countr_zero(others) & ~7;
    if (bits == 0) return false;
    p += bits / 8;
    x <<= 32 - bits;
    x = (x * 10 + (x >> 8)) & 0x00ff00ff;
    v = (x * 100 + (x >> 16)) & 0xffff;
    return true;
  }
  constexpr std::ptrdiff_t kMostDigits = 9;
  const char* const first = p;
  for (v = 0; *p >= '0' && *p <= '9'; ++p) v = v * 10 + (static_cast<std::uint32_t>(*p) - '0');
  return p - first <= kMostDigits;
}

// Lines of routes as programs write them, from `at` on: R and whole numbers, one blank before each. Returns where the first
// line begins that is something else; read_route() may understand or refuse it. A text ends in a zero and has no other, so
// no number need look for its end.
const char* read_plain_routes(const char* at, std::uint32_t& line, FileContents& c) {
  std::uint32_t hosts = c.hosts;
  while (*at == 'R') {
    const char* p = at + 1;
    FileRoute r{0, 0, line + 1, static_cast<std::uint32_t>(c.used.size()), 0};
    bool plain = plain_number(p, r.src) && plain_number(p, r.dst) && r.src < kMaxHosts && r.dst < kMaxHosts &&
                 r.src != r.dst && *p == ' ';
    while (plain && *p == ' ') {
      std::uint32_t link = 0;
      plain = plain_number(p, link) && link < kMaxLinks;
      c.used.push_back(link);
    }
    if (!plain || (*p != '\n' && *p != '\0')) {
      c.used.resize(r.begin);
      break;
    }
    r.end = static_cast<std::uint32_t>(c.used.size());
    hosts = std::max(hosts, std::max(r.src, r.dst) + 1);
    c.routes.push_back(r);
    ++line;
    at = *p == '\n' ? p + 1 : p;
  }
  c.hosts = hosts;
  return at;
}

// Column of the k-th link field of a route's line, found again only for an error message.
std::string where_link(const std::string& path, std::string_view text, std::uint32_t line, std::uint32_t k) {
  TextScanner in(path, text);
  while (in.next_line() && in.line() < line) {
  }
  for (std::uint32_t i = 0; i < k + 4; ++i) in.next_field();
  return in.where();
}

// `text` has kSlack zeros behind it.
Result<FileContents> parse(const std::string& path, std::string_view text) {
  FileContents c;
  TextScanner in(path, text);
  while (true) {
    std::uint32_t line = in.line();
    const char* const at = read_plain_routes(in.rest().data(), line, c);
    in.pass_over(static_cast<std::size_t>(at - in.rest().data()), line - in.line());
    if (!in.next_line()) break;
    const std::string_view kind = in.next_field();
    if (kind == "L") {
      WEFT_TRY(read_link(in, c));
    } else if (kind == "R") {
      WEFT_TRY(read_route(in, c));
    } else {
      return bad_input(in.where(), "unknown line", std::string(kind.substr(0, 40)), "L or R");
    }
  }
  if (c.routes.empty())
    return bad_input(SourcePos{path, in.line() + 1, 1}.text(), "file has no routes", {}, "R src dst link...");
  // A route names two hosts: memory stays proportional to the file.
  if (const std::size_t most = 2 * c.routes.size() + (1U << 16); c.hosts > most) {
    const auto names_last = [&](const FileRoute& r) { return std::max(r.src, r.dst) + 1 == c.hosts; };
    const FileRoute& r = *std::ranges::find_if(c.routes, names_last);
    return bad_input(SourcePos{path, r.line, 1}.text(), "host index leaves gaps",
                     fmt::format("{} with {}", c.hosts - 1, counted(c.routes.size(), "route")),
                     "hosts 0, 1, 2, ... each in some route");
  }
  for (std::size_t i = 0; i < c.links.size(); ++i)
    if (!c.links[i].seen)
      return bad_input(path, "link is not defined", fmt::format("{}", i), "indices 0, 1, 2, ... each once");
  std::vector<std::uint32_t> last(c.links.size(), 0);  // line of the last route that used the link
  for (const FileRoute& r : c.routes)
    for (std::uint32_t k = r.begin; k < r.end; ++k) {
      const std::uint32_t l = c.used[k];
      if (l >= c.links.size())
        return bad_input(where_link(path, text, r.line, k - r.begin), "route over an unknown link",
                         fmt::format("{}", l), fmt::format("a link from 0 to {}", c.links.size() - 1));
      if (last[l] == r.line)
        return bad_input(where_link(path, text, r.line, k - r.begin), "route uses a link twice",
                         fmt::format("{}", l), "each link once");
      last[l] = r.line;
    }
  const auto pair = [](const FileRoute& r) { return std::uint64_t{r.src} << 32 | r.dst; };
  if (std::ranges::adjacent_find(c.routes, std::greater_equal(), pair) == c.routes.end()) return c;
  std::ranges::stable_sort(c.routes, {}, pair);
  for (std::size_t i = 1; i < c.routes.size(); ++i)
    if (c.routes[i - 1].src == c.routes[i].src && c.routes[i - 1].dst == c.routes[i].dst)
      return bad_input(SourcePos{path, c.routes[i].line, 1}.text(), "second route of a pair",
                       fmt::format("R {} {}", c.routes[i].src, c.routes[i].dst),
                       fmt::format("one line per pair (first in line {})", c.routes[i - 1].line));
  return c;
}

// Which vertex each link leaves and enters; vertices 0..hosts-1 are the hosts.
struct Wiring {
  std::vector<std::uint32_t> from, to;
  std::uint32_t vertices = 0;
  bool hosts_pass_on = false;  // some route crosses a host
};

Wiring infer_wiring(const FileContents& c) {
  const auto links = static_cast<std::uint32_t>(c.links.size());
  const auto tail = [](std::uint32_t l) { return 2 * l; };
  const auto head = [](std::uint32_t l) { return 2 * l + 1; };
  std::vector<std::uint32_t> parent(2 * std::size_t{links} + c.hosts);
  std::iota(parent.begin(), parent.end(), 0);
  const auto root = [&parent](std::uint32_t x) {
    while (parent[x] != x) x = parent[x] = parent[parent[x]];
    return x;
  };
  constexpr std::uint32_t kNone = ~0u;
  // What was last found before and after a link: routes mostly say again what others said.
  struct Seen {
    std::uint32_t before = kNone, after = kNone;
    bool later = false;  // in some route not the first
  };
  std::vector<Seen> seen(links);
  const auto join = [&](std::uint32_t end, std::uint32_t with, std::uint32_t& last) {
    if (last == with) return;
    last = with;
    parent[root(end)] = root(with);
  };
  for (const FileRoute& r : c.routes) {
    if (r.begin == r.end) continue;
    std::uint32_t l = c.used[r.begin];
    join(tail(l), 2 * links + r.src, seen[l].before);
    for (std::uint32_t k = r.begin + 1; k < r.end; ++k) {
      const std::uint32_t next = c.used[k];
      join(head(l), tail(next), seen[l].after);
      l = next;
      seen[l].later = true;
    }
    join(head(l), 2 * links + r.dst, seen[l].after);
  }
  const auto used = [&seen](std::uint32_t l) { return seen[l].before != kNone || seen[l].later; };
  Wiring w;
  w.from.resize(links);
  w.to.resize(links);
  std::vector<std::uint32_t> vertex(parent.size(), kNone);
  bool known = true;
  for (std::uint32_t h = 0; h < c.hosts; ++h) {
    std::uint32_t& v = vertex[root(2 * links + h)];
    known = known && v == kNone;  // two hosts in one place: some link is used both ways
    v = h;
  }
  w.vertices = c.hosts;
  for (std::uint32_t l = 0; l < links && known; ++l) {
    if (!used(l)) continue;
    for (const std::uint32_t end : {tail(l), head(l)}) {
      std::uint32_t& v = vertex[root(end)];
      if (v == kNone) v = w.vertices++;
      (end == tail(l) ? w.from : w.to)[l] = v;
    }
    known = known && w.from[l] != w.to[l];
  }
  if (!known) {  // one place called "network" stands for all of it
    w.vertices = c.hosts + 1;
    std::fill(w.from.begin(), w.from.end(), c.hosts);
    std::fill(w.to.begin(), w.to.end(), c.hosts);
    return w;
  }
  std::uint32_t spare = kNone;  // where links that no route uses hang
  for (std::uint32_t l = 0; l < links; ++l) {
    w.hosts_pass_on = w.hosts_pass_on || (seen[l].later && w.from[l] < c.hosts);
    if (used(l)) continue;
    if (spare == kNone) spare = w.vertices++;
    w.from[l] = w.to[l] = spare;
  }
  return w;
}

Result<Fabric> build_routes(const Params& params) {
  const Params::Entry* entry = params.find("path");
  if (entry == nullptr || entry->value.empty())
    return bad_input(params.where(), "key path is missing", {}, "routes:path=FILE");
  const std::string path = entry->value;
  for (const std::string_view key : {"hosts_per_switch", "routing"})
    if (params.has(key)) return params.error(key, "a routes file fixes this", "no such key");
  constexpr std::array<std::string_view, 1> classes = {"link"};
  WEFT_ASSIGN(const std::vector<LinkValues> override_values, params.link_values(classes));

  WEFT_ASSIGN(std::string packed, read_file(path));
  WEFT_ASSIGN(std::string bytes, decompress(path, std::move(packed)));
  WEFT_ASSIGN(std::string text, as_text(path, std::move(bytes)));
  text.append(kSlack, '\0');
  WEFT_ASSIGN(const FileContents c, parse(path, std::string_view(text).substr(0, text.size() - kSlack)));
  const Wiring w = infer_wiring(c);

  FabricBuilder b(c.hosts, w.vertices, w.hosts_pass_on ? w.vertices : w.vertices - c.hosts);
  const std::uint8_t link_class = b.add_class("link");
  // Ports are numbered in the order of the file's link indices; id[l] is the link's number in the fabric.
  std::vector<std::uint32_t> first(w.vertices + 1, 0), next(w.vertices, 0), id(c.links.size());
  for (const std::uint32_t v : w.from) ++first[v + 1];
  for (std::uint32_t v = 0; v < w.vertices; ++v) first[v + 1] += first[v];
  std::vector<std::string> names(c.links.size());
  for (std::size_t l = 0; l < c.links.size(); ++l) {
    const std::uint32_t port = next[w.from[l]]++;
    id[l] = first[w.from[l]] + port;
    names[id[l]] = c.links[l].name;
    b.link(w.from[l], port, w.to[l], link_class,
           {params.has("bw") ? override_values[0].bandwidth : Bandwidth(c.links[l].capacity),
            params.has("lat") ? override_values[0].latency : c.links[l].latency});
  }
  auto table = std::make_shared<TableRouting>();
  table->row.assign(c.hosts + 1, 0);
  table->dst.reserve(c.routes.size());
  table->offset.reserve(c.routes.size() + 1);
  table->links.reserve(c.used.size());
  for (const FileRoute& r : c.routes) {
    ++table->row[r.src + 1];
    table->dst.push_back(r.dst);
    table->offset.push_back(static_cast<std::uint32_t>(table->links.size()));
    for (const std::uint32_t l : std::span(c.used).subspan(r.begin, r.end - r.begin))
      table->links.push_back(LinkId(id[l]));
  }
  table->offset.push_back(static_cast<std::uint32_t>(table->links.size()));
  for (std::uint32_t h = 0; h < c.hosts; ++h) table->row[h + 1] += table->row[h];
  b.set_routing(std::move(table));
  b.set_link_names(std::move(names));
  const std::uint32_t hosts = c.hosts;
  b.set_vertex_names([hosts](VertexId v) {
    return v.index() < hosts ? fmt::format("node-{}", v.index())
                             : fmt::format("switch-{}", v.index() - hosts);
  });
  return b.build();
}

}  // namespace

Family family() { return {kRoutesParams, build_routes, {}, {}}; }

}  // namespace weft::topology::family_routes_file
