// Ranks: the rows of all ranks, and who can run now.
//
// Who can run is a queue, first in first out: ranks, and collectives that go on with their next round. That order, with
// the order of events, makes a replay deterministic. Complexity: O(1) each; no allocation once the queue has had its
// greatest length.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/containers/id_queue.hpp"
#include "core/result.hpp"
#include "replay/ranks/rank.hpp"
#include "traces/trace.hpp"

namespace weft::replay {

class Ranks {
 public:
  // What was read of the programs of ranks, by rank; none: nothing.
  using Programs = std::vector<ProgramCursor>;
  // `trace` outlives it: from its start, or from where `programs` end. All ranks can run, in their order.
  explicit Ranks(traces::TraceReader& trace, Programs programs = {});
  // For a replay that begins anew: what was read, unless some of it is gone. This one is over.
  [[nodiscard]] Programs take_programs();

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(rows_.size()); }
  [[nodiscard]] Rank& operator[](std::uint32_t r) { return rows_[r]; }
  [[nodiscard]] const Rank& operator[](std::uint32_t r) const { return rows_[r]; }
  // Their state outgrows the caches: hints to the processor pay. At 1,024 ranks of HPL they took 15 % of the time, at 4,096 of a
  // ring they pay for themselves, at 16,384 they save 11 %, and at 8,008 of HPL a third.
  [[nodiscard]] bool many() const { return rows_.size() >= kMany; }

  // Who can run: a rank, the round of a collective, or the tasks of a rank.
  struct Runnable {
    std::uint32_t value = 0;
    [[nodiscard]] bool is_rank() const { return (value & kCollectiveBit) == 0; }
    // REQUIRES: !is_rank().
    [[nodiscard]] bool is_tasks() const { return (value & kTasksBit) != 0; }
    [[nodiscard]] std::uint32_t index() const { return value & ~(kCollectiveBit | kTasksBit); }
  };
  [[gnu::always_inline]] void make_ready(std::uint32_t r) {
    rows_[r].state = RankState::kReady;
    ready_.push(r);
  }
  void make_collective_ready(std::uint32_t run) { ready_.push(run | kCollectiveBit); }
  void make_tasks_ready(std::uint32_t r) { ready_.push(r | kCollectiveBit | kTasksBit); }
  [[nodiscard]] bool any_ready() const { return !ready_.empty(); }
  // That will be taken after `n` others; none: not so many can run.
  [[nodiscard]] std::optional<Runnable> ready_after(std::size_t n) const {
    if (ready_.size() <= n) return std::nullopt;
    return Runnable{ready_[n]};
  }
  // Rank r polls or waits in a probe from here on.
  void look(std::uint32_t r, RankState state) {
    rows_[r].state = state;
    may_look_[r] = 1;
  }
  // False: it does neither. Each message asks that of its receiver, whose row it may need nothing else of, a line of memory: so this is a
  // byte apart. True: it did when somebody asked last, and may have gone on since; looks() knows.
  [[nodiscard]] bool may_look(std::uint32_t r) const { return may_look_[r] != 0; }
  [[nodiscard]] bool looks(std::uint32_t r) {
    const RankState s = rows_[r].state;
    const bool is_so = s == RankState::kRunning || s == RankState::kProbing;
    may_look_[r] = is_so ? 1 : 0;
    return is_so;
  }
  // REQUIRES: any_ready().
  Runnable take_ready() { return Runnable{ready_.take()}; }

  void finish(Rank& k, Instant now) {
    k.state = RankState::kDone;
    k.finish = now;
    --left_;
  }
  // Ranks that did not come to the end of their program.
  [[nodiscard]] std::uint32_t left() const { return left_; }
  // Operations that are over, of all ranks.
  void count_ops(std::uint64_t n) { ops_done_ += n; }
  [[nodiscard]] std::uint64_t ops_done() const { return ops_done_; }

  // Where in the trace the operation stands that rank r is at.
  [[nodiscard]] std::string position(std::uint32_t r) const;
  // That operation cannot be.
  [[nodiscard]] Error bad_operation(std::uint32_t r, std::string_view what) const;

 private:
  static constexpr std::size_t kMany = 4096;
  static constexpr std::uint32_t kCollectiveBit = 0x80000000u, kTasksBit = 0x40000000u;

  const traces::TraceReader& trace_;
  std::vector<Rank> rows_;
  std::vector<std::uint8_t> may_look_;  // by rank
  IdQueue ready_;
  std::uint32_t left_;
  std::uint64_t ops_done_ = 0;
};

}  // namespace weft::replay
