#include "replay/collectives/rules.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <utility>

#include "core/files/input_file.hpp"
#include "replay/collectives/groups.hpp"
#include "replay/collectives/openmpi/trees.hpp"
#include "replay/collectives/rule_files.hpp"

namespace weft::replay {
namespace {

class DefaultRules final : public CollectiveRules {
 public:
  [[nodiscard]] Pick pick(const CollectiveCall& c) const override { return {&default_collective(c)}; }
};

constexpr std::string_view kBehindHan = "openmpi5:";

Result<std::shared_ptr<const CollectiveRules>> parse_rules(const std::string& path, std::string_view text,
                                                           bool han) {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{')
    return collectives::read_openmpi_rules(path, text, han);
  WEFT_ASSIGN(const collectives::Json root, collectives::parse_json(path, text));
  for (const auto& m : root.members)
    if (m.key == "collectives" || m.key == "rule_file_version")
      return collectives::read_openmpi_rules(path, root, han);
  if (han)
    return collectives::bad_rules(path, root.at, "not a file of Open MPI's rules",
                                  root.members.empty() ? "" : root.members.front().key,
                                  "one of coll_tuned_dynamic_rules_filename after \"openmpi5:\"");
  return collectives::read_mpich_rules(path, root);
}

}  // namespace

NodeShape::NodeShape(std::span<const std::uint32_t> host_by_rank)
    : node(host_by_rank.size()), local(host_by_rank.size()) {
  // Ranks by host, then in their order; hosts by their first rank.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> by_host;
  by_host.reserve(host_by_rank.size());
  for (std::uint32_t r = 0; r < host_by_rank.size(); ++r) by_host.emplace_back(host_by_rank[r], r);
  std::sort(by_host.begin(), by_host.end());
  std::vector<std::pair<std::uint32_t, std::size_t>> first;  // (first rank of a host, where its ranks begin)
  for (std::size_t i = 0; i < by_host.size(); ++i)
    if (i == 0 || by_host[i].first != by_host[i - 1].first) first.emplace_back(by_host[i].second, i);
  std::sort(first.begin(), first.end());
  start.push_back(0);
  for (const auto& [rank, at] : first) {
    const auto index = static_cast<std::uint32_t>(start.size() - 1);
    for (std::size_t i = at; i < by_host.size() && by_host[i].first == by_host[at].first; ++i) {
      node[by_host[i].second] = index;
      local[by_host[i].second] = static_cast<std::uint32_t>(i - at);
      ranks.push_back(by_host[i].second);
    }
    start.push_back(static_cast<std::uint32_t>(ranks.size()));
    even_ = even_ && start[index + 1] - start[index] == start[1];
  }
  for (const std::uint32_t index : local) {
    if (index + std::size_t{2} > local_start.size()) local_start.resize(index + std::size_t{2});
    ++local_start[index + std::size_t{1}];
  }
  for (std::size_t i = 1; i < local_start.size(); ++i) local_start[i] += local_start[i - 1];
  std::vector<std::uint32_t> next(local_start);
  by_local.resize(ranks.size());
  for (std::uint32_t r = 0; r < ranks.size(); ++r) by_local[next[local[r]]++] = r;
}

std::string collective_rules_names(std::string_view separator) {
  std::string out = "default";
  for (const std::string_view name : {"openmpi4", "openmpi5", "mpich", "FILE", "openmpi5:FILE"})
    out.append(separator).append(name);
  return out;
}

Result<std::shared_ptr<const CollectiveRules>> parse_collective_rules(const std::string& path,
                                                                      std::string_view text) {
  return parse_rules(path, text, false);
}

Result<std::shared_ptr<const CollectiveRules>> parse_rules_behind_han(const std::string& path,
                                                                      std::string_view text) {
  return parse_rules(path, text, true);
}

std::optional<std::string> file_of_collective_rules(std::string_view name) {
  for (const std::string_view built_in : {"", "default", "openmpi4", "openmpi5", "mpich"})
    if (name == built_in) return std::nullopt;
  return std::string(name.substr(name.starts_with(kBehindHan) ? kBehindHan.size() : 0));
}

Result<std::shared_ptr<const CollectiveRules>> open_collective_rules(std::string_view name) {
  using Rules = std::shared_ptr<const CollectiveRules>;
  if (name.empty() || name == "default") return Rules(std::make_shared<DefaultRules>());
  if (name == "openmpi4") return Rules(&openmpi_rules(), [](const CollectiveRules*) {});
  if (name == "openmpi5") return Rules(&openmpi_rules_with_han(), [](const CollectiveRules*) {});
  if (name == "mpich") return mpich_rules();
  const std::string path = *file_of_collective_rules(name);
  if (!std::ifstream(path))
    return usage_error("unknown rules for collectives", std::string(name), collective_rules_names(", "));
  constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;
  WEFT_ASSIGN(const std::string text, read_text(path, kMostBytes));
  return parse_rules(path, text, name.starts_with(kBehindHan));
}

std::string_view rules_of_library(std::string_view mpi_version) {
  constexpr std::string_view kOpenMpi = "Open MPI v", kMpich = "MPICH Version:";
  if (mpi_version.starts_with(kMpich)) return "mpich";
  if (!mpi_version.starts_with(kOpenMpi)) return {};
  // "4.1.4, package: ...". The tables of versions before 4.1 were others.
  const std::string_view text = mpi_version.substr(kOpenMpi.size());
  int major = 0, minor = 0;
  const auto [dot, error] = std::from_chars(text.data(), text.data() + text.size(), major);
  if (error != std::errc() || dot == text.data() + text.size() || *dot != '.') return {};
  std::from_chars(dot + 1, text.data() + text.size(), minor);
  if (major >= 5) return "openmpi5";
  return major == 4 && minor >= 1 ? "openmpi4" : "";
}

const CollectiveAlgorithm& build_chosen(const CollectiveRules& rules, CollectiveCall call, std::uint32_t me,
                                        RankSchedule& out) {
  const CollectiveRules::Pick pick = rules.pick(call);
  if (pick.algorithm == nullptr) {
    out.not_supported = pick.not_supported;
    return default_collective({.kind = call.kind});
  }
  call.rules = &rules;
  call.empties = rules.sends_empties(call);
  call.segment = pick.segment;
  call.fan = pick.fan;
  call.at_once = pick.at_once;
  pick.algorithm->build(call, me, out);
  return *pick.algorithm;
}

namespace collectives::openmpi {

void append_chosen(const CollectiveCall& part, std::uint32_t me, RankSchedule& out) {
  build_chosen(rules_of_parts(part), part, me, out);
}

}  // namespace collectives::openmpi

}  // namespace weft::replay
