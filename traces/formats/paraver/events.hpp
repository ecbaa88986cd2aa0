// Events of a Paraver trace on the line of the one that begins a call of MPI, or beside it.
#pragma once

#include <cstdint>

namespace weft::traces::paraver {

// Extrae's, of a collective.
inline constexpr std::int64_t kSentSize = 50100001, kReceivedSize = 50100002, kIsRoot = 50100003,
                              kCommunicator = 50100004;

// Weft's own, of what Extrae does not say and a replay depends on (`weft replay --export paraver`).
// Of a call that sends without blocking, begins a collective, or ends such: each of the requests, a number from 1 on that is no other's of
// the rank until it ends.
inline constexpr std::int64_t kRequest = 60000519;
// Of a call that sends or receives, or makes a communicator of one: that, if it is not the world.
inline constexpr std::int64_t kMessageCommunicator = 60000619;
// Of one that makes a communicator: which the task is in then, or 0 for none.
inline constexpr std::int64_t kMadeCommunicator = 60000719;
// Of one that starts sends which are no standard ones: the value of the call that sends so, MPI_Ibsend, MPI_Issend or MPI_Irsend.
inline constexpr std::int64_t kStartedAs = 60000819;

[[nodiscard]] constexpr bool is_said_beside(std::int64_t type) {
  return (type >= kSentSize && type <= kCommunicator) || type == kRequest || type == kMessageCommunicator ||
         type == kMadeCommunicator || type == kStartedAs;
}

}  // namespace weft::traces::paraver
