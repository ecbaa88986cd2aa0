// Choices: what a replay asks about its collectives: the algorithm of a call, which ranks share a node, and in the end
// which algorithms were used.
//
// A choice for one collective ("bcast=ring") wins over the rules. Nodes of a communicator are found when first asked
// for: O(members log members) once.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "replay/collectives/rules.hpp"
#include "replay/collectives/use.hpp"

namespace weft::replay {

class CollectiveChoices {
 public:
  // By the default rules, without overrides, every rank on a host of its own.
  CollectiveChoices();
  explicit CollectiveChoices(std::shared_ptr<const CollectiveRules> rules) : rules_(std::move(rules)) {}

  void choose(const CollectiveAlgorithm& a) { chosen_[static_cast<std::size_t>(a.kind)] = &a; }
  // By world rank.
  void place(std::vector<std::uint32_t> hosts) { hosts_ = std::move(hosts); }

  // Appends rank `me`'s rounds of a call on communicator `comm`, whose world ranks are `members`; where the schedule
  // goes on, those that follow.
  void build(CollectiveCall call, std::uint32_t comm, std::span<const std::int32_t> members, std::uint32_t me,
             RankSchedule& out);
  // In the order of the registry.
  [[nodiscard]] std::vector<CollectiveUse> used() const;

 private:
  [[nodiscard]] const NodeShape& nodes(std::uint32_t comm, std::span<const std::int32_t> members);

  std::shared_ptr<const CollectiveRules> rules_;
  std::array<const CollectiveAlgorithm*, traces::kOpKindCount> chosen_{};
  std::vector<std::uint32_t> hosts_;
  std::vector<std::unique_ptr<NodeShape>> nodes_;  // by communicator
  std::vector<std::uint64_t> calls_;               // by index in the registry
};

}  // namespace weft::replay
