// What the engine's events mean (network/event_queue.hpp).
#pragma once

#include <cstdint>

namespace weft::replay {

enum class EventKind : std::uint8_t {
  kRankTimer,      // index = rank: its computation or overhead is over
  kTransferStart,  // index = message: latency is paid, the flow starts
  kEnvelope,       // index = message: the envelope reaches the receiver
  kMessageDone,    // index = message: a transfer that crosses no link is over
  kProbeWake,      // index = rank: a message that it probes for may have become visible
  kActivityTimer,  // index = activity: overheads of a collective's round are over
  kRunEnd,         // index = rank: a run of computations and polls is over, unless it was cut short
  kLaunchEnd,      // index = queue of DeviceQueues: its first kernel is over
  kTaskTimer,      // index = task: it has computed, or its processor time is over
  kTaskTurns,  // index = rank: what its tasks wait for has happened at this instant; cpus are given to those that take time
  kCopyStart,  // index = row of a copy of DeviceCopies: latency is paid, its flow starts
};

}  // namespace weft::replay
