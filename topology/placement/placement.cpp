// Every map deals ranks to a list of hosts, those that it may use; a host of the list has ranks_per_host slots.
#include "topology/placement/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "core/counted.hpp"
#include "core/files/input_file.hpp"
#include "core/rng.hpp"
#include "core/source_pos.hpp"
#include "topology/placement/host_lookup.hpp"
#include "topology/placement/locality.hpp"

namespace weft::topology {
namespace {

using Hosts = std::vector<HostId>;

Error bad_map(std::string_view map, std::string expected = std::string(kMaps)) {
  return usage_error("unknown --map", std::string(map), std::move(expected));
}

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t v = 0;
  const auto [p, ec] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (ec != std::errc() || p != text.data() + text.size() || v == 0) return std::nullopt;
  return v;
}

// A line of a file: the next `ranks` ranks are on `host`.
struct HostLine {
  HostId host;
  std::uint64_t ranks = 1;
};

// Reads lines that are one host, by index or name, of one rank, or as MPI's launchers have them: "host:N" (smpirun, MPICH) and
// "host slots=N" (Open MPI), max_slots=N beside it said and not used. `field`: neither empty nor with blanks around.
class HostLines {
 public:
  HostLines(const Fabric& fabric, const std::string& path) : lookup_(fabric), path_(path) {}

  [[nodiscard]] bool is_comment(std::string_view field) {
    return field.starts_with('#') && !lookup_.find(field, {});
  }
  Result<HostLine> read(std::string_view field, std::uint32_t line, std::uint32_t column) {
    const auto where = [&](std::string_view part) {
      return SourcePos{path_, line, column + static_cast<std::uint32_t>(part.data() - field.data())}.text();
    };
    // A name may hold a colon or a blank.
    const auto whole = lookup_.find(field, where(field));
    if (whole) return HostLine{*whole};
    std::string_view rest = field.substr(std::min(field.find_first_of(" \t"), field.size()));
    std::string_view name = field.substr(0, field.size() - rest.size());
    std::optional<std::uint64_t> ranks;
    const auto take_count = [&](std::string_view text) -> Result<void> {
      if (ranks) return bad_input(where(text), "ranks of a host told twice", std::string(text), "one number");
      ranks = number(text);
      if (!ranks) return bad_input(where(text), "ranks of a host", std::string(text), "a number from 1");
      return {};
    };
    if (const auto colon = name.rfind(':'); colon != std::string_view::npos && !lookup_.find(name, {})) {
      const std::string_view count = name.substr(colon + 1);
      name = name.substr(0, colon);
      if (!number(count) && !lookup_.find(name, {})) return whole.error();
      WEFT_TRY(take_count(count));
    } else if (rest.empty()) {
      return whole.error();
    }
    WEFT_ASSIGN(const HostId host, lookup_.find(name, where(name)));
    while (!rest.empty()) {
      rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
      const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
      rest.remove_prefix(word.size());
      constexpr std::string_view kSlots = "slots=";
      if (word.starts_with(kSlots)) {
        WEFT_TRY(take_count(word.substr(kSlots.size())));
      } else if (!word.starts_with("max_slots=") && !word.starts_with("max-slots=")) {
        return bad_input(where(word), "unknown word behind a host", std::string(word), "slots=N");
      }
    }
    if (!ranks)
      return bad_input(where(name), "host without the number of its ranks", std::string(field), "slots=N");
    return HostLine{host, *ranks};
  }

 private:
  HostLookup lookup_;
  const std::string& path_;
};

std::string beyond(const std::string& where, std::uint64_t count, const char* what, std::uint32_t ranks) {
  return fmt::format("{}: {} beyond the {} {} not used", where, counted(count, what), counted(ranks, "rank"),
                     count == 1 ? "is" : "are");
}

Result<Placement> place_from_file(const Platform& p, std::uint32_t ranks, const std::string& path,
                                  const std::vector<bool>& taken) {
  WEFT_ASSIGN(const std::string text, read_text(path, 1ULL << 28));
  HostLines lines(p.fabric, path);
  std::vector<std::uint32_t> load(p.fabric.host_count(), 0);
  Placement out;
  std::string_view rest = text;
  std::uint32_t line = 0;
  std::uint64_t unused = 0;
  bool counts = false;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    std::string_view field = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    ++line;
    const std::size_t begin = field.find_first_not_of(" \t\r");
    const std::uint32_t column = begin == std::string_view::npos ? 1 : static_cast<std::uint32_t>(begin + 1);
    field = begin == std::string_view::npos ? std::string_view() : field.substr(begin);
    while (!field.empty() && (field.back() == ' ' || field.back() == '\t' || field.back() == '\r'))
      field.remove_suffix(1);
    if (lines.is_comment(field)) continue;
    // A host file is often that of a larger allocation.
    if (out.hosts.size() == ranks) {
      unused += field.empty() ? 0 : 1;
      continue;
    }
    const std::string where = SourcePos{path, line, column}.text();
    if (field.empty())
      return bad_input(where, "empty line", {}, fmt::format("the host of rank {}", out.hosts.size()));
    WEFT_ASSIGN(const HostLine of, lines.read(field, line, column));
    const std::uint32_t h = of.host.index();
    if (!taken.empty() && taken[h])
      return bad_input(where, "host of another job", std::string(field), "a host that no other job uses");
    const std::uint64_t here = std::min<std::uint64_t>(of.ranks, ranks - out.hosts.size());
    counts = counts || of.ranks > 1;
    if (here > p.ranks_per_host - load[h])
      return bad_input(where, "more ranks on a host than its slots", std::string(field),
                       fmt::format("at most {} (ranks_per_host)", p.ranks_per_host));
    load[h] += static_cast<std::uint32_t>(here);
    out.hosts.insert(out.hosts.end(), here, of.host);
    if (here < of.ranks) out.notes.push_back(beyond(where, of.ranks - here, "slot", ranks));
  }
  if (out.hosts.size() != ranks)
    return bad_input(SourcePos{path, line + 1, 1}.text(),
                     counts ? "the lines hold fewer ranks" : "fewer lines than ranks",
                     fmt::format("{}", out.hosts.size()),
                     counts ? counted(ranks, "rank") : fmt::format("{} lines", ranks));
  if (unused > 0) out.notes.push_back(beyond(path, unused, "line", ranks));
  return out;
}

// The first n of a random order of 0..count-1. Fisher-Yates, of which only moved elements are stored.
std::vector<std::uint64_t> draw(std::uint64_t count, std::uint64_t n, Rng& rng) {
  std::unordered_map<std::uint64_t, std::uint64_t> moved;
  const auto at = [&moved](std::uint64_t i) {
    const auto it = moved.find(i);
    return it == moved.end() ? i : it->second;
  };
  std::vector<std::uint64_t> out(n);
  for (std::uint64_t r = 0; r < n; ++r) {
    const std::uint64_t pick = r + rng.below(count - r);
    out[r] = at(pick);
    moved[pick] = at(r);
  }
  return out;
}

// One rank to each bin in turn; within a bin its hosts are filled in order.
Hosts deal(const Hosts& hosts, const std::vector<std::uint32_t>& bin_of, std::uint32_t bins,
           std::uint64_t per_host, std::uint32_t ranks) {
  std::vector<std::vector<HostId>> slots(bins);
  for (const HostId h : hosts) slots[bin_of[h.index()]].push_back(h);
  std::vector<std::uint64_t> used(bins, 0);
  Hosts out;
  for (std::uint32_t b = 0; out.size() < ranks; b = (b + 1) % bins)
    if (used[b] < slots[b].size() * per_host) out.push_back(slots[b][used[b]++ / per_host]);
  return out;
}

// Packs groups of ranks, in order, into slots 0, 1, ... of `hosts`, and skips slots so that a group crosses no border
// of hosts if it fits in one, and none of switches where one of the next `switches` has room for it. nullopt if it takes more
// slots than there are.
std::optional<Hosts> pack(const Hosts& hosts, const std::vector<std::uint32_t>& switch_of,
                          std::uint64_t per_host, const std::vector<std::vector<std::uint32_t>>& groups,
                          std::uint32_t ranks, std::uint32_t switches) {
  Hosts out(ranks);
  std::vector<std::uint64_t> end(hosts.size());  // by host: end of its switch, in slots
  for (std::size_t i = hosts.size(); i-- > 0;)
    end[i] = i + 1 < hosts.size() && switch_of[hosts[i + 1].index()] == switch_of[hosts[i].index()]
                 ? end[i + 1]
                 : (i + 1) * per_host;
  const std::uint64_t slots = hosts.size() * per_host;
  std::uint64_t at = 0;
  for (const auto& g : groups) {
    if (at < slots && at % per_host != 0 && g.size() <= per_host && at % per_host + g.size() > per_host)
      at += per_host - at % per_host;
    const auto fits = [&](std::uint64_t from) { return g.size() <= end[from / per_host] - from; };
    std::uint64_t next = at;
    for (std::uint32_t s = 0; s < switches && next < slots && !fits(next); ++s) next = end[next / per_host];
    if (next < slots && fits(next)) at = next;
    for (const std::uint32_t r : g) {
      if (at >= slots) return std::nullopt;
      out[r] = hosts[at++ / per_host];
    }
  }
  return out;
}

Result<Hosts> place_grid(const Hosts& hosts, const Fabric& fabric, std::uint64_t per_host,
                         std::uint32_t ranks, bool rows, std::string_view grid, std::string_view map) {
  const std::string expected =
      fmt::format("{}:PxQ or {}:PxQ:col with P x Q = {} ranks", rows ? "hpl-rows" : "hpl-cols",
                  rows ? "hpl-rows" : "hpl-cols", ranks);
  const bool column_major = grid.ends_with(":col");
  if (column_major) grid.remove_suffix(4);
  const auto x = grid.find('x');
  if (x == std::string_view::npos) return bad_map(map, expected);
  const auto p = number(grid.substr(0, x)), q = number(grid.substr(x + 1));
  if (!p || !q || *p > ranks || *q > ranks || *p * *q != ranks) return bad_map(map, expected);
  std::vector<std::vector<std::uint32_t>> groups(rows ? *p : *q);
  for (std::uint64_t i = 0; i < *p; ++i)
    for (std::uint64_t j = 0; j < *q; ++j)
      groups[rows ? i : j].push_back(static_cast<std::uint32_t>(column_major ? i + j * *p : i * *q + j));
  const auto switch_of = locality_of(fabric).switch_of;
  constexpr std::uint32_t kAll = ~0u;
  for (const std::uint32_t switches : {kAll, 1u, 0u})
    if (auto out = pack(hosts, switch_of, per_host, groups, ranks, switches)) return std::move(*out);
  // No room to leave slots empty: one after the other.
  Hosts out(ranks);
  std::uint64_t at = 0;
  for (const auto& g : groups)
    for (const std::uint32_t r : g) out[r] = hosts[at++ / per_host];
  return out;
}

}  // namespace

std::optional<std::string> file_of_map(std::string_view map) {
  constexpr std::string_view kFile = "file:";
  if (!map.starts_with(kFile)) return std::nullopt;
  return std::string(map.substr(kFile.size()));
}

Result<Placement> place(const Platform& p, std::uint32_t ranks, std::string_view map, std::uint64_t seed,
                        const std::vector<bool>& taken) {
  const std::uint64_t per_host = p.ranks_per_host;
  std::string_view rule = map;
  const std::optional<std::string> file = file_of_map(map);
  enum class Use { kAll, kPacked, kRandom } use = Use::kAll;
  if (const auto comma = map.rfind(",hosts="); comma != std::string_view::npos && !file) {
    const std::string_view which = map.substr(comma + 7);
    if (which != "packed" && which != "random" && which != "all")
      return bad_map(map, "hosts=packed, hosts=random or hosts=all");
    use = which == "packed" ? Use::kPacked : which == "random" ? Use::kRandom : Use::kAll;
    rule = map.substr(0, comma);
  }
  const auto colon = rule.find(':');
  const std::string_view name = rule.substr(0, colon);
  const std::string_view argument =
      colon == std::string_view::npos ? std::string_view() : rule.substr(colon + 1);
  const bool takes_argument = name == "strided" || name == "hpl-rows" || name == "hpl-cols";
  const bool plain =
      name == "block" || name == "cyclic" || name == "random" || name == "switch" || name == "group";
  if (!file && !takes_argument && !(plain && colon == std::string_view::npos)) return bad_map(map);

  // A file may name endpoints that no rule places ranks on.
  if (file) return place_from_file(p, ranks, *file, taken);
  Hosts hosts;
  for (std::uint32_t h = 0; h < p.fabric.rank_hosts(); ++h)
    if (taken.empty() || !taken[h]) hosts.emplace_back(h);
  if (ranks > hosts.size() * per_host)
    return bad_input({}, fmt::format("platform {} has too few {}hosts", p.name, taken.empty() ? "" : "free "),
                     fmt::format("{} on {} with room for {} each", counted(ranks, "rank"),
                                 counted(hosts.size(), "host"), per_host),
                     fmt::format("at most {}; raise ranks_per_host or take a larger platform",
                                 counted(hosts.size() * per_host, "rank")));
  if (ranks == 0) return Placement{};

  Rng rng(seed);
  if (use != Use::kAll) {
    const std::uint64_t needed = (ranks + per_host - 1) / per_host;
    if (use == Use::kRandom) {
      auto chosen = draw(hosts.size(), needed, rng);
      std::sort(chosen.begin(), chosen.end());
      Hosts some;
      for (const std::uint64_t i : chosen) some.push_back(hosts[i]);
      hosts = std::move(some);
    }
    hosts.resize(needed);
  }
  Placement out;
  out.hosts.resize(ranks);
  if (name == "block") {
    for (std::uint32_t r = 0; r < ranks; ++r) out.hosts[r] = hosts[r / per_host];
  } else if (name == "cyclic") {
    for (std::uint32_t r = 0; r < ranks; ++r) out.hosts[r] = hosts[r % hosts.size()];
  } else if (name == "random") {
    const auto slots = draw(hosts.size() * per_host, ranks, rng);
    for (std::uint32_t r = 0; r < ranks; ++r) out.hosts[r] = hosts[slots[r] / per_host];
  } else if (name == "switch" || name == "group") {
    const Locality l = locality_of(p.fabric);
    out.hosts = name == "switch" ? deal(hosts, l.switch_of, l.switches, per_host, ranks)
                                 : deal(hosts, l.group_of, l.groups, per_host, ranks);
  } else if (name == "strided") {
    const auto k = number(argument);
    if (!k) return bad_map(map, "strided:K with K at least 1");
    const std::uint64_t stride = std::min<std::uint64_t>(*k, hosts.size());
    std::uint32_t r = 0;
    for (std::uint64_t first = 0; first < stride; ++first)
      for (std::uint64_t h = first; h < hosts.size(); h += stride)
        for (std::uint64_t s = 0; s < per_host && r < ranks; ++s) out.hosts[r++] = hosts[h];
  } else {
    WEFT_ASSIGN(out.hosts, place_grid(hosts, p.fabric, per_host, ranks, name == "hpl-rows", argument, map));
  }
  return out;
}

std::vector<std::string> placement_notes(const Platform& p, std::uint32_t ranks, std::string_view map,
                                         std::uint64_t seed) {
  const auto placement = place(p, ranks, map, seed);
  return placement ? placement->notes : std::vector<std::string>();
}

Result<std::vector<HostId>> place_ranks(const Platform& p, std::uint32_t ranks, std::string_view map,
                                        std::uint64_t seed) {
  WEFT_ASSIGN(auto placement, place(p, ranks, map, seed));
  return std::move(placement.hosts);
}

}  // namespace weft::topology
