// CauseBook: why the time of every rank in MPI passed (Cause in results.hpp; docs/model.md, "Why ranks wait").
//
// Processor time is booked as it passes, a wait when it ends, by the message that ended it. Then the book says what the
// message did at each instant of the wait, so the causes of a rank add up to its time in MPI, to the tick.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "replay/messages/message.hpp"
#include "replay/results.hpp"
#include "replay/time.hpp"

namespace weft::replay {

class CauseBook {
 public:
  using Account = std::array<Elapsed, kCauseCount>;

  // `known_at_once`: as MessageCost says.
  CauseBook(std::size_t ranks, bool known_at_once) : accounts_(ranks), known_at_once_(known_at_once) {}

  [[nodiscard]] Account& of(std::uint32_t rank) { return accounts_[rank].causes; }
  void add(std::uint32_t rank, Cause c, Elapsed d) { of(rank)[static_cast<std::size_t>(c)] += d; }
  // What `part` holds, of waits for a collective, to the rank's account.
  void add_collective(std::uint32_t rank, const Account& part) {
    for (std::size_t c = 0; c < kCauseCount; ++c) of(rank)[c] += part[c];
    for (const Cause c : {Cause::kLateSender, Cause::kLateReceiver})
      expanded_[late(c)] += part[static_cast<std::size_t>(c)];
  }
  // A wait of a rank from `from` to `to`, as the sender or the receiver of m, which ended it.
  void waited(std::uint32_t rank, const Message& m, bool sender, Instant from, Instant to) {
    if ((m.state & kCollective) == 0) return explain(of(rank), m, sender, from, to);
    Account part{};
    explain(part, m, sender, from, to);
    add_collective(rank, part);
  }
  // The same to any account.
  void explain(Account& account, const Message& m, bool sender, Instant from, Instant to) const;
  // A rank's wait for a series, `total`, by `seconds` of each cause, of which the largest makes up for what rounding leaves.
  void waited_for_series(std::uint32_t rank, const std::array<double, kCauseCount>& seconds, Elapsed total);

  // The causes of t, of a rank that computed for `computed`; its other parts are there. As these: the running sum is
  // rounded, so that the causes add up to them. What a rank that never finished waited for is the rest.
  void round(RankTimes& t, std::uint32_t rank, Elapsed computed, bool finished) const;
  // Of all ranks, and what of it was for messages that collectives are made of: late senders and receivers alone.
  [[nodiscard]] Elapsed sum(Cause c) const;
  [[nodiscard]] Elapsed sum_of_collectives(Cause c) const { return expanded_[late(c)]; }

 private:
  static void explain_call(Account& account, const Message& m, Instant from, Instant to);
  [[nodiscard]] static constexpr std::size_t late(Cause c) { return c == Cause::kLateReceiver ? 1 : 0; }
  // Processor time stands on the first cache line, what most waits are on the second (Cause).
  struct alignas(64) Row {
    Account causes{};
  };
  std::vector<Row> accounts_;          // by rank
  std::array<Elapsed, 2> expanded_{};  // by late()
  bool known_at_once_;
};

}  // namespace weft::replay
