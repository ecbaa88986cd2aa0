#include "replay/collective_rounds.hpp"

#include <utility>

namespace weft::replay {

Result<CollectiveCall> CollectiveRounds::begin(const Rules& rules, std::uint32_t r, const traces::Op& op,
                                               std::uint32_t comm, std::span<const std::int64_t> list,
                                               std::vector<std::uint32_t>& calls) {
  auto asked = call_of(rules.comms, r, op, comm, list);
  if (!asked) return std::move(asked).error();
  if (comm >= calls.size()) calls.resize(comm + std::size_t{1}, 0);
  comm_ = comm;
  tag_ = static_cast<std::int32_t>(calls[comm]++ & 0x7fffffffu);
  me_ = asked->me;
  next_ = round_end_ = 0;
  receive_cost_ = kNoTime;
  schedule_.clear();
  if (traces::is_collective(op.kind)) schedule_.window(kWindow);
  WEFT_TRY(build_rounds(rules.choices, rules.comms, op, comm, *asked, schedule_));
  if (schedule_.more()) {
    // The lists are the program's, which may let go of them.
    counts_.assign(asked->call.counts.begin(), asked->call.counts.end());
    call_ = asked->call;
    call_.counts = counts_;
  }
  CollectiveCall told = asked->call;
  told.counts = {};
  return told;
}

void CollectiveRounds::open(const Rules& rules) {
  send_cost_ = receive_cost_ = kNoTime;
  if (next_ == schedule_.messages.size()) {
    schedule_.go_on();
    rules.choices.build(call_, comm_, rules.comms.members(comm_), me_, schedule_);
    next_ = 0;
  }
  const auto& list = schedule_.messages;
  const auto size = static_cast<std::uint32_t>(list.size());
  round_end_ = next_;
  while (round_end_ < size && list[round_end_].round == list[next_].round) ++round_end_;
  if (!rules.cost.has_cpu_costs()) return;
  for (std::uint32_t i = next_; i < round_end_; ++i)
    if (list[i].send) send_cost_ += rules.cost.isend(list[i].bytes);
}

}  // namespace weft::replay
