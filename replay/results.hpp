// What a replay tells: times per rank, region and link, where the time went, and what stopped it if it did.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/id.hpp"
#include "core/units.hpp"
#include "network/link_use.hpp"
#include "replay/collectives/use.hpp"

namespace weft::replay {

// Why time passed inside MPI: what the processor did, or what the operation that ended a wait was doing meanwhile. A
// wait counts for its last message, from that message's end backwards: contention, data alone, latency, handshake, and
// before that whoever was not there yet. Collectives count by the messages that they are made of, round by round.
enum class Cause : std::uint8_t {
  kSendOverhead,  // processor time of sends, a rank's own and that of senders that it waits for
  kRecvOverhead,  // ... of receives
  kPolls,         // ... of probes and tests
  kHandshake,     // request and permission of a rendezvous are under way
  kLatency,
  kTransfer,      // data move, as fast as they would alone
  kContention,    // what that takes longer because links are shared
  kLateSender,    // the other side has not called its send
  kLateReceiver,  // ... its receive
  kInOrder,       // the message is there but not one that was sent before it
  kNever,         // until the end, for what never came (deadlock)
};
inline constexpr std::size_t kCauseCount = 11;
// Keys of reports, in the order of the enumeration.
inline constexpr std::array<std::string_view, kCauseCount> kCauseNames{
    "send_overhead", "recv_overhead", "polls",         "handshake", "latency", "transfer",
    "contention",    "late_sender",   "late_receiver", "in_order",  "never"};

// The five parts add up to `finish`.
struct RankTimes {
  Duration finish{0};
  Duration compute{0};                         // computation and sleep, waits for launched kernels
  Duration send{0};                            // inside blocking sends, and send overheads
  Duration recv{0};                            // inside blocking receives and probes, and receive overheads
  Duration wait{0};                            // inside wait*, test*
  Duration collective{0};                      // inside collectives and communicator operations
  std::array<Duration, kCauseCount> causes{};  // add up to send + recv + wait + collective
  Duration device{0};                          // its accelerator worked, hidden behind the rest or not
  Duration device_hidden{0};                   // of that, while the rank did not wait for the accelerator
  [[nodiscard]] Duration cause(Cause c) const { return causes[static_cast<std::size_t>(c)]; }
};

struct RegionTimes {
  std::string name;
  std::uint64_t count = 0;
  TimeSum total;  // over all ranks
  // Where ranks are told apart (regions.hpp): largest time of a rank in it; what all computed there, and the most of one.
  bool by_rank = false;
  Duration longest{0}, most_computed{0};
  TimeSum computed;
};

// Why messages took the time that they took: sums over all network messages.
struct MessageCosts {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  // without headers
  std::uint64_t hops = 0;   // links crossed, summed
  TimeSum latency;          // paid for links and handshakes
  TimeSum transfer;         // bytes / narrowest link of the route: what the data would take alone
  TimeSum contention;       // beyond that: waiting for a share of links
  TimeSum late_sender;      // ranks waited for a send that was not called yet
  TimeSum late_receiver;    // ... for a receive
};

struct EngineStats {
  std::uint64_t events = 0;
  std::uint64_t solves = 0;
  std::uint64_t flows = 0;
  std::uint64_t flows_solved = 0;
  std::uint64_t links_touched = 0;
  std::uint64_t certificates = 0;
  std::uint32_t max_component = 0;
  std::uint64_t warnings = 0;
};

// A rank that waits for ever, and for what.
struct BlockedRank {
  RankId rank;
  std::uint64_t op_index = 0;
  std::string op;                 // "recv from 3 tag 7 on world"
  std::string position;           // place in the trace
  std::vector<RankId> waits_for;  // ascending; none: any rank, or nothing that another could do
  // "rank 0 in recv from 3 tag 7 on world (operation 5, t.weft@...) waits for rank 3"; names the first ranks of many.
  [[nodiscard]] std::string text() const;
};
struct DeadlockReport {
  std::vector<BlockedRank> blocked;  // all of them, by rank
  std::vector<std::size_t>
      cycle;  // indices into `blocked`: each waits for the next, the last for the first; empty if none
  [[nodiscard]] std::string summary() const;  // one line
};

// What the makespan is made of, along the critical path (critical_path.hpp).
enum class PathPart : std::uint8_t {
  kCompute,
  kSendOverhead,
  kRecvOverhead,
  kPolls,
  kHandshake,  // of messages on the path, as Cause has them
  kLatency,
  kTransfer,
  kContention,
  kInOrder,
  kOther,  // time of a rank that no account holds: in tests that nobody answered (ranks/unanswered_tests.hpp)
};
inline constexpr std::size_t kPathPartCount = 10;
inline constexpr std::array<std::string_view, kPathPartCount> kPathPartNames{
    "compute", "send_overhead", "recv_overhead", "polls",    "handshake",
    "latency", "transfer",      "contention",    "in_order", "other"};
using PathParts = std::array<Duration, kPathPartCount>;

// A stretch of one rank's own time, or the life of a message as far as it counts. Each begins where the one before ends.
struct PathSegment {
  SimTime from, to;
  PathParts parts{};        // add up to `to` - `from`
  RankId rank;              // whose time; of a message: its sender
  RankId receiver;          // of a message; otherwise invalid
  RegionId region;          // that the rank, or who waited for the message, was in; may be invalid
  std::uint64_t op = 0;     // own time: the first operation
  std::uint64_t bytes = 0;  // of a message
  LinkId held_by;           // the link that held the message back last, if one did
  bool copy =
      false;  // a copy over links between a rank's accelerator and its host, told as a message of the rank to itself
  bool sender_waited = false;  // for the end of the message, not its receiver
  [[nodiscard]] bool is_message() const { return receiver.valid(); }
  // Whose time it is, or who waited for the message.
  [[nodiscard]] RankId waiter() const { return is_message() && !sender_waited ? receiver : rank; }
};

struct PathResult {
  bool known = false;
  PathParts parts{};                  // add up to the makespan
  std::vector<PathSegment> segments;  // from 0 to the makespan
  std::uint64_t messages = 0;         // whose data are on it
  std::uint64_t bytes = 0;            // of them
  std::uint64_t copies = 0;           // over links between accelerators and hosts
  std::uint64_t copied = 0;           // bytes of them, the longer way
  Duration slept{0};                  // of kCompute: sleep, which no speed changes
  // Of kTransfer: what no faster link makes shorter, as copies within a host and flows slower than their links.
  Duration own_pace{0};
  std::uint64_t own_pace_bytes = 0;          // of `bytes` and `copied`
  std::uint64_t header_bytes = 0;            // which links carry with those of `bytes` that they make shorter
  [[nodiscard]] Duration computed() const {  // what faster hosts make shorter
    return parts[static_cast<std::size_t>(PathPart::kCompute)] - slept;
  }
  [[nodiscard]] Duration on_links() const {  // what faster links make shorter
    return parts[static_cast<std::size_t>(PathPart::kTransfer)] - own_pace +
           parts[static_cast<std::size_t>(PathPart::kContention)];
  }
  // Without contention dT / dG, G the time of a byte on links.
  [[nodiscard]] std::uint64_t bytes_on_links() const {
    return bytes + copied + header_bytes - own_pace_bytes;
  }
  // Latencies paid: one a message sent eagerly, three a rendezvous (request, permission, data), fewer where the receive
  // was late. Without contention it is dT / dL, L the latency of a message; `link_latencies` of a link, of which a message
  // may pay a multiple (latency_factor).
  std::uint64_t trips = 0;
  double link_latencies = 0;
  // Stretches in a series of exchanges, where members may have waited for each other's messages or computation in any
  // order: with one of them the path has no slopes.
  std::uint64_t series = 0;
  [[nodiscard]] bool has_slopes() const { return series == 0; }
};

// The same replay on an ideal network, where it follows from this one (ideal_clocks.hpp).
struct IdealResult {
  bool known = false;
  Duration makespan{0};
  std::vector<Duration> regions;  // by RegionId: longest time of a rank in it, as RegionTimes::longest
};

// Where ranks waited for others that were late (wait_states.hpp): Scalasca's kinds, by what the program called.
enum class WaitKind : std::uint8_t {
  kLateSender,    // in a receive or its wait, before the send is called
  kLateReceiver,  // in a rendezvous or its wait, before the receive is called
  kBarrier,       // before the last one comes
  kNxN,  // allreduce, alltoall..., communicator operations, series of exchanges: before the last one comes
  kLateBroadcast,  // bcast, scatter: before the root comes
  kEarlyReduce,    // reduce, gather: the root, before the first of the others comes
  kEarlyScan,      // scan, exscan: before all ranks below have come
};
inline constexpr std::size_t kWaitKindCount = 7;
inline constexpr std::array<std::string_view, kWaitKindCount> kWaitKindNames{
    "late_sender",    "late_receiver", "wait_at_barrier", "wait_at_nxn",
    "late_broadcast", "early_reduce",  "early_scan"};
// Of a rank, or of a region.
struct WaitTimes {
  std::array<TimeSum, kWaitKindCount> kinds{};  // waited there
  TimeSum direct, propagated;                   // waiting, anywhere, that delays there cost
  RankId longest_for;                           // of a rank: whom it waited for longest; may be invalid
  Duration longest{0};
  [[nodiscard]] TimeSum waited() const;
};
// What a rank did more of, in a region, than those that then waited for it; and what that cost in waiting: of those ranks,
// and of others to which they handed it on.
struct DelayCost {
  RankId rank;
  RegionId region;             // may be invalid
  bool communication = false;  // not computation
  TimeSum direct, propagated;
  [[nodiscard]] TimeSum cost() const { return direct + propagated; }
};
struct WaitResult {
  bool known = false;
  std::uint64_t count = 0;
  WaitTimes all;                   // direct + propagated = waited()
  std::vector<WaitTimes> ranks;    // add up to `all`
  std::vector<WaitTimes> regions;  // by RegionId, then what is in none; add up to `all`
  std::vector<DelayCost> delays;   // the most costly first; their costs add up to those of `all`
};

// How a replay was made: its results are the same.
enum class ReplayWay : std::uint8_t {
  kEvents,  // an event for everything that happens (simulation.hpp)
  kAhead,   // ranks went ahead of each other, flows started and ended by events (direct/direct_replay.hpp)
  kAlone,   // without events: no two flows met, or flows do not slow each other
};

struct ReplayResult {
  Duration makespan{0};
  std::uint64_t fingerprint = 0;
  std::vector<RankTimes> ranks;
  std::vector<RegionTimes> regions;
  std::vector<CollectiveUse> collectives;  // which algorithms they took
  RulesName collective_rules;              // ... and whose rules chose them
  std::vector<network::LinkUse> links;     // by LinkId
  MessageCosts point_to_point;             // messages written in the trace as point-to-point
  MessageCosts network;                    // all, with collectives expanded
  EngineStats engine;
  ReplayWay way = ReplayWay::kEvents;
  PathResult path;         // when asked for, and finished
  IdealResult ideal;       // with `path`, unless some rank's doings depend on when messages come
  WaitResult wait_states;  // likewise
  bool finished = true;
  bool used_speed = false;  // some computation took the time that the speed of its host says
  DeadlockReport deadlock;  // when !finished
  // When finished: messages that no receive took, receives that no message came for.
  std::uint64_t unmatched_messages = 0;
  std::uint64_t unmatched_receives = 0;
  // What the trace does not hold (traces/trace_warnings.hpp), then counted oddities; one line each.
  std::vector<std::string> warnings;
  // What is wrong with the program, in one line: a deadlock, unmatched messages; empty if nothing is.
  [[nodiscard]] std::string finding() const;
};

}  // namespace weft::replay
