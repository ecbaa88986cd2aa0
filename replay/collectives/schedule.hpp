// Collectives as point-to-point messages. An algorithm is a pure function: (call, my rank) -> my rounds.
//
// In a round a rank posts all of its sends and receives at once and goes on to the next round when all of them are
// over. Together the ranks' rounds form a DAG of messages; within one (source, destination) pair messages match in the
// order in which both sides post them.
//
// Ranks here are communicator ranks 0..p-1. Blocks: the payload is cut into logical blocks so that tests can follow
// the data: `first_block`/`blocks` say which blocks a message carries (meaning: see each algorithm). Replay reads only
// peer and bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "traces/op.hpp"

namespace weft::replay {

struct CollectiveCall {
  traces::OpKind kind{};       // blocking form
  std::uint32_t ranks = 1;     // p
  std::uint32_t root = 0;
  std::int64_t bytes = 0;      // as Op::amount of the kind
  // Per-rank bytes of the v-variants, as the kind's list says (empty otherwise). For gatherv/scatterv known on the root
  // only: elsewhere the own contribution is `bytes`.
  std::span<const std::int64_t> counts;
};

struct ScheduleMessage {
  std::uint32_t round = 0;   // ascending
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
  void next_round() { ++rounds; }
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
[[nodiscard]] const CollectiveAlgorithm& default_collective(const CollectiveCall& call);

}  // namespace weft::replay
