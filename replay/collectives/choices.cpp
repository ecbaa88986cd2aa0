#include "replay/collectives/choices.hpp"

namespace weft::replay {

CollectiveChoices::CollectiveChoices() : CollectiveChoices(*open_collective_rules({})) {}

const NodeShape& CollectiveChoices::nodes(std::uint32_t comm, std::span<const std::int32_t> members) {
  if (comm >= nodes_.size()) nodes_.resize(comm + std::size_t{1});
  if (nodes_[comm] == nullptr) {
    std::vector<std::uint32_t> hosts;
    hosts.reserve(members.size());
    for (const std::int32_t m : members) hosts.push_back(hosts_.empty() ? m : hosts_[m]);
    nodes_[comm] = std::make_unique<NodeShape>(hosts);
  }
  return *nodes_[comm];
}

void CollectiveChoices::build(CollectiveCall call, std::uint32_t comm, std::span<const std::int32_t> members,
                              std::uint32_t me, RankSchedule& out) {
  const bool goes_on = out.goes_on();
  const CollectiveAlgorithm* algorithm = chosen_[static_cast<std::size_t>(call.kind)];
  if (rules_->asks_for_nodes() || (algorithm != nullptr && algorithm->asks_for_nodes))
    call.nodes = &nodes(comm, members);
  if (algorithm != nullptr) {
    call.rules = rules_.get();
    call.empties = rules_->sends_empties(call);
    algorithm->build(call, me, out);
  } else {
    algorithm = &build_chosen(*rules_, call, me, out);
  }
  if (me != 0 || goes_on) return;
  const auto all = collective_algorithms();
  calls_.resize(all.size());
  ++calls_[static_cast<std::size_t>(algorithm - all.data())];
}

std::vector<CollectiveUse> CollectiveChoices::used() const {
  std::vector<CollectiveUse> out;
  const auto all = collective_algorithms();
  for (std::size_t i = 0; i < calls_.size(); ++i)
    if (calls_[i] > 0) out.push_back({traces::op_name(all[i].kind), all[i].name, calls_[i]});
  return out;
}

}  // namespace weft::replay
