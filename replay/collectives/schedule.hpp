// Collectives as point-to-point messages. An algorithm is a pure function: (call, my rank) -> my rounds.
//
// In a round a rank posts all of its sends and receives at once and goes on to the next round when all of
// them are over. Together the ranks' rounds form a DAG of messages; within one (source, destination) pair
// messages match in the order in which both sides post them. A send is over as one of the program would be: an eager one at
// once. That of a segment is *paced*: it is over when its data have come, so that segments to a peer follow one another on
// the wire, as those of a library do, and do not share it. That of a message for which the receiver posted its receive some
// rounds before it waits for it is *expected*: its data do not wait for the receiver.
//
// Ranks here are communicator ranks 0..p-1. Blocks: the payload is cut into logical blocks so that tests can
// follow the data: `first_block`/`blocks` say which blocks a message carries (meaning: the head comment of
// each family's file). Replay reads only peer and bytes.
//
// What is modelled: messages and their order. Reduction arithmetic and copies inside a rank take no time. A
// call that moves no bytes at all sends nothing, unless the rules say otherwise (a barrier always does). Operators
// count as commutative.
//
// Which algorithm a call takes: rules.hpp. Names with a dot are a library's own ("openmpi.split_binary_tree"); the
// others are textbook forms.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "traces/op.hpp"

namespace weft::replay {

class CollectiveRules;
struct NodeShape;

// Whose ranks a call runs among: those of a communicator, or, as part of an algorithm that knows nodes, those of one node,
// or the first ones of all nodes.
enum class Among : std::uint8_t { kAll, kNode, kNodeRoots };

struct CollectiveCall {
  traces::OpKind kind{};    // blocking form
  std::uint32_t ranks = 1;  // p
  std::uint32_t root = 0;
  std::int64_t bytes = 0;  // as Op::amount of the kind
  // Per-rank bytes of the v-variants, as the kind's list says (empty otherwise). For gatherv/scatterv known
  // on the root only: elsewhere the own contribution is `bytes`.
  std::span<const std::int64_t> counts = {};
  bool nonblocking = false;
  // What a rule asks of an algorithm of a library; 0: the library's own choice (whole messages, its usual fan).
  std::int64_t segment = 0;   // bytes
  std::uint32_t fan = 0;      // chains, radix
  std::uint32_t at_once = 0;  // messages under way
  std::int64_t element = 0;   // bytes of an element; 0: not known, element_of() says what is taken
  bool empties = false;       // messages of 0 bytes are sent, too (CollectiveRules::sends_empties)
  // For algorithms made of others: who decides about their parts, null: Open MPI's fixed rules; which ranks share a
  // node, null: none do.
  const CollectiveRules* rules = nullptr;
  const NodeShape* nodes = nullptr;
  Among among = Among::kAll;
};

struct ScheduleMessage {
  std::uint32_t round = 0;  // ascending
  bool send = false;
  bool paced = false;  // of a send: whatever its protocol, it is over when its data have come
  std::uint32_t peer = 0;
  std::int64_t bytes = 0;
  std::uint32_t first_block = 0;
  std::uint32_t blocks = 0;
  bool expected = false;  // of a send: its receive was posted by then, though that stands in a later round
};

// One rank's part. build() appends to it.
//
// With a window() build() stops between two rounds once it has so many messages: more() is true, and after go_on() the
// same build() appends the next ones to an empty list. It goes through the algorithm again from the start: what was there
// already is dropped, and of loops over ranks, which are steps(), passed over. So a rank of an all-to-all of thousands
// needs a few messages at a time, and algorithms whose loops are short need not know.
class RankSchedule {
 public:
  std::vector<ScheduleMessage> messages;
  std::uint32_t rounds = 0;
  std::string_view not_supported;  // why the algorithm cannot be had for this call; empty: it can

  void clear() {
    messages.clear();
    rounds = 0;
    not_supported = {};
    window_ = kAll;
    phase_ = Phase::kTakes;
    paced_ = false;
    stopped_in_ = loop_ = 0;
  }
  // Before build(), after clear().
  void window(std::uint32_t least) { window_ = least; }
  [[nodiscard]] bool more() const { return phase_ == Phase::kFull; }
  // build() was called before for this call.
  [[nodiscard]] bool goes_on() const { return stopped_in_ > 0; }
  // REQUIRES: more(). The rounds so far are done with.
  void go_on() {
    messages.clear();
    phase_ = Phase::kPasses;
    loop_ = 0;
  }

  void send(std::uint32_t to, std::int64_t bytes, std::uint32_t first_block = 0, std::uint32_t blocks = 1) {
    add({0, true, false, to, bytes, first_block, blocks});
  }
  void recv(std::uint32_t from, std::int64_t bytes, std::uint32_t first_block = 0, std::uint32_t blocks = 1) {
    add({0, false, false, from, bytes, first_block, blocks});
  }
  // While one lives that is on, what is added is paced.
  class Pace {
   public:
    Pace(RankSchedule& schedule, bool on) : schedule_(schedule), before_(schedule.paced_) {
      schedule_.paced_ = before_ || on;
    }
    Pace(const Pace&) = delete;
    Pace& operator=(const Pace&) = delete;
    ~Pace() { schedule_.paced_ = before_; }

   private:
    RankSchedule& schedule_;
    bool before_;
  };
  // In the current round, whatever m.round is.
  void add(ScheduleMessage m) {
    if (phase_ != Phase::kTakes) return;
    m.round = rounds;
    m.paced = m.paced || paced_;
    messages.push_back(m);
  }
  // Ends the current round, if it has messages: no round is empty, and after build() `rounds` is their
  // number.
  void next_round() {
    if (phase_ == Phase::kTakes && in_round()) ++rounds;
  }
  // step(k) for k = first...end - 1, which appends what belongs to k, whatever came before. Not within another.
  template <class Step>
  void steps(std::uint32_t first, std::uint32_t end, Step step) {
    ++loop_;
    if (phase_ == Phase::kFull || (phase_ == Phase::kPasses && loop_ < stopped_in_)) return;
    const std::uint32_t from = phase_ == Phase::kPasses ? stopped_at_ : first;
    phase_ = Phase::kTakes;
    for (std::uint32_t k = from; k < end; ++k) {
      if (messages.size() >= window_ && !in_round()) {
        phase_ = Phase::kFull;
        stopped_in_ = loop_;
        stopped_at_ = k;
        return;
      }
      step(k);
    }
  }

 private:
  enum class Phase : std::uint8_t {
    kTakes,   // appends
    kPasses,  // what was there before go_on()
    kFull,    // what comes after go_on()
  };
  static constexpr std::uint32_t kAll = 0xffffffffu;
  [[nodiscard]] bool in_round() const { return !messages.empty() && messages.back().round == rounds; }

  std::uint32_t window_ = kAll;  // messages
  Phase phase_ = Phase::kTakes;
  bool paced_ = false;
  std::uint32_t loop_ = 0;        // calls of steps() in this build()
  std::uint32_t stopped_in_ = 0;  // of these, the one that the window ended; 0: none yet
  std::uint32_t stopped_at_ = 0;
};

// Appends rank `me`'s rounds. O(messages of that rank, or of the window) time and memory.
using BuildSchedule = void (*)(const CollectiveCall& call, std::uint32_t me, RankSchedule& out);

struct CollectiveAlgorithm {
  traces::OpKind kind;
  std::string_view name;     // "binomial", "openmpi.binary_tree"...
  std::string_view summary;  // one line: rounds, bytes, source
  BuildSchedule build;
  std::uint8_t number = 0;      // in the list of its library; 0: not in one
  bool asks_for_nodes = false;  // of CollectiveCall::nodes
};

[[nodiscard]] std::span<const CollectiveAlgorithm> collective_algorithms();
// `name` empty: the default of the kind for that call. Errors: unknown algorithm with the known ones.
[[nodiscard]] Result<const CollectiveAlgorithm*> find_collective(traces::OpKind kind, std::string_view name);
// The algorithm `prefix` + `name`, which is in the registry.
[[nodiscard]] const CollectiveAlgorithm& library_collective(traces::OpKind kind, std::string_view prefix,
                                                            std::string_view name);
// Weft's own choice: MPICH's rules on a flat communicator, with textbook forms; docs/collectives.md has the table.
// Every rank of a call gets the same answer.
[[nodiscard]] const CollectiveAlgorithm& default_collective(const CollectiveCall& call);
// The kind with that MPI name in lower case ("bcast"). Error: unknown, with the known ones.
[[nodiscard]] Result<traces::OpKind> find_collective_kind(std::string_view name);

// Whether `call`, as rank `me` sees it, can be scheduled: root and neighbours in range, list as long as the
// kind asks, no negative count, no sum over 2^62 bytes. build() relies on it. Errors: kBadInput at `where`.
[[nodiscard]] Result<void> check_collective(const CollectiveCall& call, std::uint32_t me,
                                            std::string_view where);

// What making a communicator of, or from, `ranks` members sends: comm_split, comm_create and cart_create
// gather 8 bytes of every member (colour and key) and agree on an identifier by an 8-byte allreduce; comm_dup
// and comm_create_group only agree; comm_free sends nothing. Rank `me` of the communicator over which the
// operation is collective.
void schedule_comm_operation(traces::OpKind kind, std::uint32_t ranks, std::uint32_t me, RankSchedule& out);

}  // namespace weft::replay
