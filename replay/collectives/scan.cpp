// Scan and exscan: the sum over the ranks up to this one, with or without itself. The two send the same
// messages: what is received from below is the exclusive sum. One block, the vector; a message carries a sum
// over consecutive ranks.
#include "replay/collectives/parts.hpp"

namespace weft::replay::collectives {

void scan_linear(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0 && !c.empties) return;
  if (me > 0) out.recv(me - 1, c.bytes);
  out.next_round();
  if (me + 1 < c.ranks) out.send(me + 1, c.bytes);
  out.next_round();
}

// Partners rank xor 2^k exchange the sums of their groups; the upper one also adds it to its own result. A
// group below an existing rank is always complete, so a missing upper partner does no harm.
void scan_recursive_doubling(const CollectiveCall& c, std::uint32_t me, RankSchedule& out) {
  if (c.bytes == 0) return;
  for (std::uint32_t mask = 1; mask < c.ranks; mask *= 2) {
    const std::uint32_t peer = me ^ mask;
    if (peer < c.ranks) {
      out.send(peer, c.bytes);
      out.recv(peer, c.bytes);
    }
    out.next_round();
  }
}

}  // namespace weft::replay::collectives
