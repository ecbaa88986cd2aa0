// Rank -> host. A host has ranks_per_host slots; block fills a host before the next, cyclic deals one rank to
// each host in turn, random draws slots from the whole machine without replacement, file lists the hosts.
#include <fmt/format.h>

#include <numeric>
#include <unordered_map>

#include "core/atomic_file.hpp"
#include "core/rng.hpp"
#include "core/source_pos.hpp"
#include "topology/host_lookup.hpp"
#include "topology/platform.hpp"

namespace weft::topology {

HostLookup::HostLookup(const Fabric& fabric) : fabric_(fabric) {}

Result<HostId> HostLookup::find(std::string_view text, std::string where) {
  const std::uint32_t hosts = fabric_.host_count();
  if (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos) {
    std::uint64_t v = 0;
    for (const char ch : text)
      if (v < hosts) v = v * 10 + static_cast<std::uint64_t>(ch - '0');
    if (v < hosts) return HostId(static_cast<std::uint32_t>(v));
  } else {
    if (by_name_.empty())
      for (std::uint32_t h = 0; h < hosts; ++h) by_name_.emplace(fabric_.host_name(HostId(h)), h);
    if (const auto it = by_name_.find(std::string(text)); it != by_name_.end()) return HostId(it->second);
  }
  return bad_input(std::move(where), "unknown host", std::string(text),
                   fmt::format("an index from 0 to {} or a name from {} to {}", hosts - 1,
                               fabric_.host_name(HostId(0)), fabric_.host_name(HostId(hosts - 1))));
}

namespace {

Result<std::vector<HostId>> place_from_file(const Platform& p, std::uint32_t ranks, const std::string& path) {
  WEFT_ASSIGN(const std::string text, read_file(path, 1ULL << 28));
  HostLookup lookup(p.fabric);
  std::vector<std::uint32_t> load(p.fabric.host_count(), 0);
  std::vector<HostId> out;
  std::string_view rest = text;
  std::uint32_t line = 0;
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
    const std::string where = SourcePos{path, line, column}.text();
    if (out.size() == ranks)
      return bad_input(where, "more lines than ranks", std::string(field), fmt::format("{} lines", ranks));
    if (field.empty())
      return bad_input(where, "empty line", {}, fmt::format("the host of rank {}", out.size()));
    WEFT_ASSIGN(const HostId h, lookup.find(field, where));
    if (++load[h.index()] > p.ranks_per_host)
      return bad_input(where, "more ranks on a host than its slots", std::string(field),
                       fmt::format("at most {} (ranks_per_host)", p.ranks_per_host));
    out.push_back(h);
  }
  if (out.size() != ranks)
    return bad_input(SourcePos{path, line + 1, 1}.text(), "fewer lines than ranks",
                     fmt::format("{}", out.size()), fmt::format("{} lines", ranks));
  return out;
}

}  // namespace

Result<std::vector<HostId>> place_ranks(const Platform& p, std::uint32_t ranks, std::string_view map,
                                        std::uint64_t seed) {
  const std::uint64_t hosts = p.fabric.rank_hosts();
  const std::uint64_t slots = hosts * p.ranks_per_host;
  const std::uint64_t per_host = p.ranks_per_host;
  constexpr std::string_view kFile = "file:";
  const bool from_file = map.starts_with(kFile);
  if (!from_file && map != "block" && map != "cyclic" && map != "random")
    return usage_error("unknown --map", std::string(map), "block, cyclic, random or file:PATH");
  if (from_file) return place_from_file(p, ranks, std::string(map.substr(kFile.size())));
  if (ranks > slots)
    return bad_input({}, fmt::format("platform {} has too few hosts", p.name),
                     fmt::format("{} ranks on {} hosts of {}", ranks, hosts, per_host),
                     fmt::format("at most {} ranks; raise ranks_per_host or take a larger platform", slots));
  std::vector<HostId> out(ranks);
  if (map == "random") {
    // Fisher-Yates over all slots, stopped after the ranks that are needed; only moved slots are stored.
    std::unordered_map<std::uint64_t, std::uint64_t> moved;
    const auto at = [&moved](std::uint64_t i) {
      const auto it = moved.find(i);
      return it == moved.end() ? i : it->second;
    };
    Rng rng(seed);
    for (std::uint64_t r = 0; r < ranks; ++r) {
      const std::uint64_t pick = r + rng.below(slots - r);
      out[r] = HostId(static_cast<std::uint32_t>(at(pick) / per_host));
      moved[pick] = at(r);
    }
    return out;
  }
  for (std::uint32_t r = 0; r < ranks; ++r)
    out[r] = HostId(static_cast<std::uint32_t>(map == "block" ? r / per_host : r % hosts));
  return out;
}

}  // namespace weft::topology
