// A second replay, small and slow, written from docs/model.md alone: the oracle of the default protocol.
//
// It shares nothing with the engine but the platform's parameters and the question "which links does this message
// take" to the routing. Own event loop (a sorted list of closures), own matching (every send has a number in its
// channel; a message is matched only after all lower numbers), own rates (water-filling over all flows, from scratch
// at every instant), time as long double seconds that nothing rounds. Everything is a linear search.
//
// A program is a list of primitive actions per rank: what a call is made of, in order. An Isend is Delay(o_s), Send;
// a Recv is Receive, Wait, receive overhead.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/platform/platform.hpp"

namespace weft::testing {

struct Action {
  enum class Kind : std::uint8_t {
    kCompute,   // `seconds`
    kSend,      // request `request`: `bytes` to `peer`
    kReceive,   // request `request`: up to `bytes` from `peer` (-1: any)
    kWait,      // until all of `requests` are over
    kPay,       // receive overheads of `requests`, by the bytes that came
    kPayFixed,  // receive overhead of `bytes`
    kPaySend,   // overhead of a blocking send of `bytes`
    kPayIsend,  // ... of a non-blocking one
    kProbe,     // until a message from `peer` with `tag` can be seen
  };
  // How a send goes.
  enum class Mode : std::uint8_t { kStandard, kSynchronous, kBuffered };
  Kind kind{};
  Mode mode{};
  long double seconds = 0;
  std::int32_t peer = 0, tag = 0;  // tag -1 of a receive: any
  std::uint32_t context = 0;
  std::int64_t bytes = 0;
  std::uint32_t request = 0;
  std::vector<std::uint32_t> requests;
};

struct SlowResult {
  bool finished = false;
  std::vector<long double> finish;     // seconds, by rank
  std::uint64_t waited_for_order = 0;  // messages that came before an earlier one of their channel
};

// `programs` by rank. `share`: flows share links max-min fairly; false: each as if alone.
[[nodiscard]] SlowResult slow_replay(const std::vector<std::vector<Action>>& programs,
                                     const topology::Platform& platform, const std::vector<HostId>& placement,
                                     std::int64_t header = 0, bool share = true);

}  // namespace weft::testing
