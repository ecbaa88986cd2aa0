// Collectives as point-to-point messages. An algorithm is a pure function: (call, my rank) -> my rounds.
//
// In a round a rank posts all of its sends and receives at once and goes on to the next round when all of
// them are over. Together the ranks' rounds form a DAG of messages; within one (source, destination) pair
// messages match in the order in which both sides post them.
//
// Ranks here are communicator ranks 0..p-1. Blocks: the payload is cut into logical blocks so that tests can
// follow the data: `first_block`/`blocks` say which blocks a message carries (meaning: the head comment of
// each family's file). Replay reads only peer and bytes.
//
// What is modelled: messages and their order. Reduction arithmetic and copies inside a rank take no time. A
// call that moves no bytes at all sends nothing, as in MPICH and Open MPI (a barrier always does). Operators
// count as commutative.
//
// Default choice: MPICH's rules (its generic tuning file), where a vector's element counts as 8 bytes because
// a trace holds bytes only; the table is in defaults.cpp and docs/collectives.md.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "traces/op.hpp"

namespace weft::replay {

struct CollectiveCall {
  traces::OpKind kind{};    // blocking form
  std::uint32_t ranks = 1;  // p
  std::uint32_t root = 0;
  std::int64_t bytes = 0;  // as Op::amount of the kind
  // Per-rank bytes of the v-variants, as the kind's list says (empty otherwise). For gatherv/scatterv known
  // on the root only: elsewhere the own contribution is `bytes`.
  std::span<const std::int64_t> counts = {};
};

struct ScheduleMessage {
  std::uint32_t round = 0;  // ascending
  bool send = false;
  std::uint32_t peer = 0;
  std::int64_t bytes = 0;
  std::uint32_t first_block = 0;
  std::uint32_t blocks = 0;
};

// One rank's part. Reused: build() clears it first.
struct RankSchedule {
  std::vector<ScheduleMessage> messages;
  std::uint32_t rounds = 0;
  void clear() {
    messages.clear();
    rounds = 0;
  }
  void send(std::uint32_t to, std::int64_t bytes, std::uint32_t first_block = 0, std::uint32_t blocks = 1) {
    messages.push_back({rounds, true, to, bytes, first_block, blocks});
  }
  void recv(std::uint32_t from, std::int64_t bytes, std::uint32_t first_block = 0, std::uint32_t blocks = 1) {
    messages.push_back({rounds, false, from, bytes, first_block, blocks});
  }
  // Ends the current round, if it has messages: no round is empty, and after build() `rounds` is their
  // number.
  void next_round() {
    if (!messages.empty() && messages.back().round == rounds) ++rounds;
  }
};

// Builds rank `me`'s rounds. O(messages of that rank) time and memory.
using BuildSchedule = void (*)(const CollectiveCall& call, std::uint32_t me, RankSchedule& out);

struct CollectiveAlgorithm {
  traces::OpKind kind;
  std::string_view name;     // "binomial", "ring"...
  std::string_view summary;  // one line: rounds, bytes, source
  BuildSchedule build;
};

[[nodiscard]] std::span<const CollectiveAlgorithm> collective_algorithms();
// `name` empty: the default of the kind for that call. Errors: unknown algorithm with the known ones.
[[nodiscard]] Result<const CollectiveAlgorithm*> find_collective(traces::OpKind kind, std::string_view name);
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
