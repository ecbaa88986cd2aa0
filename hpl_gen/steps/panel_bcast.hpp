// The broadcast of a factored panel along the process rows: six ways, and the polls that drive it.
//
// A message is the panel's local part: L2 (local rows below the diagonal block x jb), the triangle L1 (jb x jb), the
// pivots (jb) and a status word, all doubles. Tag 2001 + panel mod 1000, row communicator.
//  - 1ring: root -> next -> next ...; 1ringM: the root sends to its two next, the chain starts at the second, so that
//    the next root is free at once; 2ring, 2ringM: two such chains, from the root and from the middle.
//    A receiver polls (Iprobe); what a found poll triggers is one receive and at most one forward.
//  - long: binomial scatter of q pieces, then q-1 exchanges with the two neighbours in turn ("roll"); longM: a whole
//    copy to the next process first, then long among the others. They don't poll: the first call does everything.
#pragma once

#include <cstdint>
#include <vector>

#include "hpl_gen/panel.hpp"
#include "hpl_gen/steps/op_sink.hpp"

namespace weft::hpl_gen {

// A process in the broadcast of a panel; the root is the process column that factored it.
struct BcastSeat : PanelSeat {
  std::int64_t words = 0;  // doubles of the panel's message in this process row
  std::int32_t tag = 0;
  Bcast kind{};
};

// One broadcast as the program drives it: start(), any number of poll() while it works, finish().
// Null broadcast (q = 1, or none under way): done from the start.
class PanelBcast {
 public:
  PanelBcast() = default;
  explicit PanelBcast(const BcastSeat& seat) : seat_(seat), open_(seat.grid->q > 1) {}

  // Without work to hide it behind: everything at once.
  void complete(OpSink& out);
  // The first call: the root sends, the long ones do all, a receiver polls once.
  void start(OpSink& out);
  [[nodiscard]] bool pending() const { return open_ && receiver_; }
  void poll(OpSink& out);
  // Its last poll was made `times` times more, every `period` operations (OpSink::again).
  void polled_again(std::size_t period, std::size_t times) {
    if (pending()) misses_.push_back({misses_.back().at(misses_.back().times - 1) + period, period, times});
  }
  // Waits for the panel and forwards it, if that is still to do.
  void finish(OpSink& out);

 private:
  // Does what needs no poll; true if a receive is left to poll for.
  bool begin(OpSink& out);
  void ring_root(OpSink& out);
  void long_bcast(OpSink& out);
  void long_modified(OpSink& out);
  [[nodiscard]] int ring_source() const;
  [[nodiscard]] bool ring_forwards() const;
  void scatter_roll(OpSink& out, int me, int size, auto&& world);

  BcastSeat seat_;
  bool open_ = false;
  bool receiver_ = false;
  int source_ = 0;  // world rank that a receiver gets the panel from
  CommId comm_{0};
  // Polls that missed, `period` operations from each other.
  struct Misses {
    std::size_t first = 0, period = 0, times = 1;
    [[nodiscard]] std::size_t at(std::size_t i) const { return first + i * period; }
  };
  std::vector<Misses> misses_;
};

}  // namespace weft::hpl_gen
