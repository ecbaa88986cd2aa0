// When the members of a process column get through a series of exchanges (traces/exchange_series.hpp).
//
// The messages of such an exchange are some ten bytes to some KiB, a member takes part in log2 P of them at a time and
// nobody else knows of them, so each is timed as if it were alone on its route: the same overheads, latencies and
// protocol as a message that is replayed, no share of links. What that leaves out is measured in
// docs/validation-hpl.md.
//
// One exchange, d = distance of a member from the root, p2 = largest power of two <= P (HPL_pdmxswp of netlib HPL):
//   1. d >= p2 sends its candidate to d - p2; d = 0 sends the root's row to d = p2.
//   2. d < p2: for k = 0, 1, ...: exchanges with d xor 2^k; who has the root's row (d < 2^k) sends it along.
//   3. d > p2 get the root's row from d = p2 through a tree.
//   4. d < P - p2 sends the result to d + p2.
// Complexity: O(steps x (kernels + P log P)) additions; P log P route look-ups.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/results.hpp"

namespace weft::replay {

// One message between two members of the column, in terms of distances from the root. Pure data: who fills `cost`
// knows the platform.
struct SeriesMessage {
  // Seconds of a message that meets nobody.
  struct Cost {
    double send_overhead = 0;
    double request = 0;     // rendezvous: until the receiver knows
    double permission = 0;  // rendezvous: from there until the data leave
    double latency = 0;     // which the data wait out
    double transfer = 0;    // bytes / rate
    double recv_overhead = 0;
    bool waits = false;       // the data wait for the receiver
    bool send_waits = false;  // the send is over when all has come
  };
  // What the two sides waited for, seconds over all exchanges; a sender that waits pays all of `cost` besides.
  struct Waits {
    double transfer = 0, latency = 0, handshake = 0, send_overhead = 0, late_sender = 0;  // of the receiver
    double late_receiver = 0;                                                             // of the sender
  };
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::int64_t bytes = 0;
  Cost cost;
  Waits waits;
};

// A round of one exchange: `messages` all begin together. A member is in at most one pair of a round, as HPL's
// HPL_sdrv: it posts its receive, sends, then waits.
struct SeriesRound {
  std::uint32_t first = 0, last = 0;  // into SeriesPattern::messages
};

struct SeriesPattern {
  std::vector<SeriesMessage> messages;
  std::vector<SeriesRound> rounds;
  // The messages of one exchange among `members`; costs are left empty. Reuses its memory.
  void build(std::uint32_t members, std::int64_t candidate_bytes, std::int64_t row_bytes);
  // Moves `time` (seconds, by distance from the root) through one exchange and adds up `waits`. `scratch`: working
  // memory.
  void exchange(std::vector<double>& time, std::vector<double>& scratch);
};

}  // namespace weft::replay
