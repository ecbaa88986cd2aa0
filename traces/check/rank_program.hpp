// What is wrong with the program of one rank whatever the others do: polls whose hit is not where they say, bodies whose
// requests others use since the poll that missed, a request that one call completes twice, communicators that are used after they were
// freed, calls after MPI_Finalize. Used by the trace doctor (check.hpp).
//
// Memory: the hits that polls wait for, meanwhile the request slots named, and the communicators of the rank. O(log polls) a poll,
// O(list x log) a list of requests, O(1) a request named while hits are waited for, else O(1).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "traces/conditional_steps.hpp"
#include "traces/op.hpp"
#include "traces/request_book.hpp"
#include "traces/trace.hpp"

namespace weft::traces {

class RankProgram {
 public:
  struct Fault {
    std::uint64_t op;  // index in the rank's program
    OpKind kind;
    std::string text;
    // As it ran the program is right; a replay in which a message comes earlier may not be.
    bool warning = false;
  };

  // Operation `index` of the rank, which is well formed; each once, in order.
  void add(std::uint64_t index, const Op& op, std::span<const std::int64_t> list,
           const std::vector<Communicator>& communicators, std::vector<Fault>& faults) {
    const bool poll = op.kind == OpKind::iprobe || op.kind == OpKind::improbe;
    if (poll || index >= next_hit_) see_polls(index, op, list, faults);
    if (!hits_.empty() || in_body_) see_slots(index, op, list, faults);
    if (is_completion(op.kind) && list.size() > 1) see_requests(index, op, list, faults);
    if (uses_communicator(op.kind) && op.comm != at_hand_) see_communicator(index, op, communicators, faults);
    if (op.kind >= OpKind::comm_split) see_life(index, op);
    if (finalized_ && *finalized_ != index) see_late_call(index, op, faults);
  }
  // The program has `ops` operations.
  void finish(std::uint64_t ops, std::vector<Fault>& faults) const;

  // Calls f(communicator, whether the rank made it, first operation that uses it, its kind) for each but the world, in no
  // order. An operation that never came is kNever.
  static constexpr std::uint64_t kNever = UINT64_MAX;
  template <class F>
  void for_each_communicator(F&& f) const {
    for (const auto& [comm, s] : communicators_) f(comm, s.made, s.first_use, s.used_by);
  }

 private:
  struct Miss {
    std::uint64_t op;
    Op poll;
  };
  void see_polls(std::uint64_t index, const Op& op, std::span<const std::int64_t> list,
                 std::vector<Fault>& faults);
  void see_slots(std::uint64_t index, const Op& op, std::span<const std::int64_t> list,
                 std::vector<Fault>& faults);
  void see_requests(std::uint64_t index, const Op& op, std::span<const std::int64_t> list,
                    std::vector<Fault>& faults);

  struct CommState {
    std::uint64_t first_use = kNever, freed = kNever;
    OpKind used_by{};
    bool made = false;
  };
  static bool uses_communicator(OpKind k) {
    return (k >= OpKind::send && k <= OpKind::recv_init) || (k >= OpKind::probe && k <= OpKind::comm_free) ||
           k == OpKind::exchange_series || is_task(k);
  }
  void see_communicator(std::uint64_t index, const Op& op, const std::vector<Communicator>& communicators,
                        std::vector<Fault>& faults);
  void see_life(std::uint64_t index, const Op& op);
  void see_late_call(std::uint64_t index, const Op& op, std::vector<Fault>& faults);

  std::map<std::uint64_t, Miss> hits_;  // where they must be, each with the first poll that names it
  std::uint64_t next_hit_ = UINT64_MAX;
  struct Body {
    std::uint64_t hit = 0, end = 0;  // end: its last operation
    OpKind kind{};
  };
  Body body_;  // the one that reaches furthest
  struct OpenBody {
    Body body;
    std::uint64_t first_miss = 0;
    std::unordered_set<std::uint32_t> named;  // slots
  };
  // The body that the rank is in, of a poll that missed; polls within one are not polled where it runs earlier.
  std::optional<OpenBody> in_body_;
  SlotUses uses_;  // since the first of its polls, or of those whose hits are to come
  std::vector<std::int64_t> sorted_;
  std::unordered_map<std::uint32_t, CommState> communicators_;
  CommId at_hand_{0};  // used before, and not freed
  std::optional<std::uint64_t> finalized_;
};

}  // namespace weft::traces
