// Engine: replays one trace on one platform. A value: two of them run in one process, nothing is shared.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "congestion/sharing_model.hpp"
#include "core/result.hpp"
#include "replay/results.hpp"
#include "topology/platform/platform.hpp"
#include "traces/kernel.hpp"
#include "traces/trace.hpp"

namespace weft::replay {

// What the error of a replay says that has not ended when the clock has no more time.
inline constexpr const char* kPastTheEnd = "simulated time runs past its end";

// How point-to-point messages leave (docs/model.md, "Protocol").
enum class RawMode : std::uint8_t {
  kOff,         // eager / rendezvous by size, overheads of the platform
  kEager,       // data leave at the send
  kDetached,    // data leave when both sides are posted; the send returns at once
  kRendezvous,  // data leave when both sides are posted; the send returns when all has come
};

struct MessageSeen {
  RankId src, dst;
  CommId comm;
  std::int32_t tag = 0;
  std::int64_t bytes = 0;  // without header
  bool of_collective = false;
  SimTime posted;    // when the send was called, its overhead paid
  SimTime left;      // when the data left
  SimTime received;  // when a receive was there for it, if that was before; otherwise as `arrived`
  SimTime arrived;   // when all data were there
  // Of the program's messages, where on_match asks, too.
  std::uint64_t number = 0;   // in order of their sends
  std::uint64_t send_op = 0;  // that sent it: a send, a start, the first half of a sendrecv
};

// What a receive of the program took.
struct MatchSeen {
  RankId rank;
  std::uint64_t op = 0;       // that posted it: a receive, a start, the first half of a sendrecv
  std::uint32_t request = 0;  // that it was posted for, freed or not; kNoRequest: none
  RankId source;
  std::int32_t tag = 0;
  std::int64_t bytes = 0;
  std::uint64_t number = 0;  // of the message: MessageSeen::number
};

// What an accelerator did because a rank launched it. Of one lane nothing overlaps.
struct DeviceSeen {
  enum class Lane : std::uint8_t { kKernels, kCopies, kLinkCopies };
  RankId rank;
  std::uint64_t op = 0;  // that launched it
  traces::Kernel kernel{};
  Lane lane{};
  SimTime begin, end;
};

// Bytes of a copy over links (Kernel.place = "links") that went one way, whether its rank made it or launched it.
struct CopySeen {
  RankId rank;
  HostId from, to;  // its accelerator and its host's memory, one or the other first
  std::int64_t bytes = 0;
  SimTime left, arrived;  // of the data; the latency of their way is over when they leave
};

// A replay as it would be if something were otherwise, to see what the makespan depends on.
struct WhatIf {
  Duration latency{
      0};  // more, of every way between hosts: request, permission, data; none takes less than nothing
  bool no_latency = false;  // those ways take no time
  double compute = 1;       // multiplies every computation but sleep
};

struct ReplayOptions {
  RawMode raw = RawMode::kOff;
  std::optional<Bytes> raw_switch;  // payloads below go detached, from it on rendezvous
  Bytes header{0};                  // added to every message
  bool rtt_weights = false;         // share proportional to 1 / latency of the route
  std::string model;                // of sharing links; empty: as model_name() decides (network/sharing.hpp)
  double accuracy = 0;              // of sharing links, as network::make_model takes it; 0: exact
  double compute_scale = 1.0;       // multiplies recorded durations
  std::map<std::string, std::string> collectives;  // collective -> algorithm, over the platform's
  std::string collective_rules;                    // as open_collective_rules(); empty: the platform's
  bool recorded_matches =
      false;  // receives from any source or of any tag take what they took in the recording
  // Computations and polls that miss are taken as one event. Off: an event an operation, as with on_op and in raw
  // modes; the results are the same.
  bool join_computations = true;
  // Ranks go ahead of each other where time decides nothing that they do (direct/direct_replay.hpp). Off: never; the results are
  // the same.
  bool ranks_ahead = true;
  bool noise = false;  // kernels vary from call to call as the platform says, drawn from `seed`
  std::uint64_t seed = 0;
  // Rank 0 draws as this one: a job alone has the noise that it has beside others.
  std::uint32_t first_rank = 0;
  double unseen_s =
      0;  // that the program ran before, which this replay does not see: for averages over time (CoreClocks)
  bool critical_path = false;  // fills ReplayResult::path and, where it can, ::ideal
  bool wait_states = false;    // fills ReplayResult::wait_states
  // Messages take no time, not even that of processors: what is left is computation and who waits for whom. (Dimemas: an
  // ideal network.)
  bool ideal_network = false;
  WhatIf what_if;
  // Called now and then with operations done of total; may print progress.
  std::function<void(std::uint64_t done, std::uint64_t total)> on_progress;
  // Called once, when ReplayResult::ideal is asked for and turns out not to follow from this replay.
  std::function<void()> on_no_ideal;
  // When set: start and end of every operation of every rank, in order of completion on that rank (tests,
  // timelines).
  std::function<void(RankId rank, std::uint64_t op_index, SimTime start, SimTime end)> on_op;
  // When set: every receive that took a message, collectives' excepted, when it did, which is before its operation is over.
  std::function<void(const MatchSeen& match)> on_match;
  // When set, after a deadlock: the operation that each rank waits in forever, since `start`, until the end of the replay. Nothing
  // where the program ends; on_op tells nothing of these.
  std::function<void(RankId rank, std::uint64_t op_index, SimTime start, SimTime end)> on_hang;
  // When set: every region that ended, in order of its end on that rank.
  std::function<void(RankId rank, RegionId region, SimTime begin, SimTime end)> on_region;
  // When set: every message whose data have come, collectives' included, those of exchange_series excepted. In no order of time
  // but with on_op.
  std::function<void(const MessageSeen& message)> on_message;
  // When set: every kernel and copy that a rank launched, those of a lane in order. It can end after all ranks.
  std::function<void(const DeviceSeen& device)> on_device;
  // When set: every copy over links whose data have come, of one that goes both ways each of them. It can end after all ranks.
  std::function<void(const CopySeen& copy)> on_copy;
  // Called where a replay begins anew: what on_region and on_message have told is void. Not set: those that might are not
  // tried where one of the two is (direct/direct_replay.hpp).
  std::function<void()> on_again;
};

// Error (kUsage), which calls it `called`: no number from 0 on.
[[nodiscard]] Result<void> check_compute_scale(double scale, std::string_view called = "compute_scale");

// Errors: bad trace (kBadInput), unreachable host, unknown model or algorithm, an option out of its range (kUsage). A deadlock is not
// an error: the result says finished = false.
[[nodiscard]] Result<ReplayResult> replay(traces::TraceReader& trace, const topology::Platform& platform,
                                          const std::vector<HostId>& placement, const ReplayOptions& options);

}  // namespace weft::replay
