// What a collective sends, for formats that have messages only. Which algorithm it takes is not the trace's to say: whoever
// exports hands in somebody who knows (replay/collectives/expansion.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "traces/op.hpp"

namespace weft::traces {

// One message of a rank in a collective. In a round a rank posts all of its sends and receives at once and goes on to
// the next round when all of them are over; rounds ascend, none is empty.
struct CollectiveMessage {
  std::uint32_t round = 0;
  bool send = false;
  std::int32_t peer = 0;  // rank of MPI_COMM_WORLD
  std::int64_t bytes = 0;
  bool paced = false;  // a send of a segment: whatever its protocol, it is over when its data have come
};

class CollectiveMessages {
 public:
  virtual ~CollectiveMessages() = default;
  // `out` becomes what `rank` sends and receives for `op`, a collective, or an operation that makes a communicator. Errors,
  // without a position: kBadInput (not a member, no such root), kNotSupported (the algorithm cannot be had).
  [[nodiscard]] virtual Result<void> find(RankId rank, const Op& op, std::span<const std::int64_t> list,
                                          std::vector<CollectiveMessage>& out) = 0;
};

}  // namespace weft::traces
