// What one rank's stream says of communicators and groups, by the rank's own numbers for them. communicators.hpp makes
// the communicators of the trace of the logs of all ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/formats/dumpi/record.hpp"
#include "traces/op.hpp"

namespace weft::traces::dumpi {

// A communicator of a rank: 0 is the world, 1 MPI_COMM_SELF, then one for each handle that a call returned, in order.
using LocalComm = std::uint32_t;
inline constexpr LocalComm kWorld = 0, kSelf = 1;
inline constexpr std::uint32_t kNone = 0xffffffffu;

// A call that makes communicators, collective over `parent`.
struct CommMade {
  enum class How : std::uint8_t { dup, split, create, cart, graph, cart_sub };
  How how{};
  bool reorder = false;
  LocalComm parent = 0;
  LocalComm child = kNone;         // kNone: the rank is no member
  std::int32_t color = 0;          // split; nodes of graph
  std::int32_t key = 0;            // split
  std::uint32_t group = 0;         // create: of CommLog::groups
  std::vector<std::int32_t> dims;  // cart; of cart_sub which dimensions remain
  StreamPos at;                    // of the record
  std::uint16_t call = 0;
};

struct GroupMade {
  enum class How : std::uint8_t { unknown, empty, of_comm, incl, excl, unite, intersect, subtract };
  How how{};
  std::uint32_t a = 0;  // communicator or group
  std::uint32_t b = 0;
  std::vector<std::int32_t> ranks;
};

struct CommLog {
  std::vector<CommMade> made;
  std::vector<GroupMade> groups;
  // By LocalComm: what Comm_rank and Comm_size answered, -1 = nobody asked.
  std::vector<std::int32_t> rank_in, size_of;
  bool uses_self = false;
  std::uint64_t range_ranks = 0;  // of groups made of ranges
};

}  // namespace weft::traces::dumpi
