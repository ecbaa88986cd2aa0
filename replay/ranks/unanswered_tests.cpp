#include "replay/ranks/unanswered_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "core/counted.hpp"
#include "core/quantity_text.hpp"
#include "traces/request_book.hpp"

namespace weft::replay {

bool UnansweredTests::let_go() {
  bool any = false;
  for (std::uint32_t r = 0; r < ranks_.count(); ++r) any = let_go(r) || any;
  // On a network where messages take no time other ranks may stand still, or none.
  if (any) hindsight_.depends_on_time();
  return any;
}

bool UnansweredTests::let_go(std::uint32_t r) {
  Rank& k = ranks_[r];
  if (k.state != RankState::kBlocked || k.stage != Stage::kWaiting) return false;
  const auto op = k.program.at(k.pc);
  if (!op || *op == nullptr || !traces::is_test((*op)->kind)) return false;
  std::int64_t single = 0;
  std::vector<std::uint32_t> awaited;
  for (const std::int64_t v : traces::completed_requests(**op, k.program.list(k.pc, **op), single)) {
    const auto slot = static_cast<std::uint32_t>(v);
    if (!k.requests.is_awaited(slot)) continue;
    if (k.requests.is_synchronous(slot) || !transfers_.lacks_its_receive(r, Target{slot})) return false;
    awaited.push_back(slot);
  }
  std::sort(awaited.begin(), awaited.end());
  awaited.erase(std::unique(awaited.begin(), awaited.end()), awaited.end());
  for (const std::uint32_t slot : awaited) {
    transfers_.forget(r, Target{slot}, kNone);
    waits_.message_over(r, Target{slot}, Requests::kNoMessage, nullptr, true);
  }
  const Elapsed waited = agenda_.now() - k.blocked_since;
  causes_.add(r, Cause::kLateReceiver, waited);
  waited_ += waited;
  ++tests_;
  return true;
}

std::optional<std::string> UnansweredTests::warning() const {
  if (tests_ == 0) return std::nullopt;
  const bool one = tests_ == 1;
  return fmt::format(
      "{} of sends that said yes in the recording waited here for {}, {} in all, until no rank could go on, "
      "and then went on without: the program would have been told no at once, so times may be too long; a "
      "larger mpi.eager_limit or --raw=eager lets such sends go",
      counted(tests_, "test"), one ? "its receive" : "their receives", show(waited_.rounded_sum()));
}

}  // namespace weft::replay
