// The schedule of one rank in GOAL: operations, and what each of them waits for.
//
// "A requires B": A starts when B has ended; "A irequires B": when B has started. Operations keep the order of the file.
// Memory: 24 bytes an operation, 8 a dependency.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace weft::traces::goal {

// Values of the binary format.
enum class Kind : std::uint8_t { kSend = 1, kRecv = 2, kCalc = 3 };
inline constexpr std::uint32_t kAny = 0xffffffffu;  // source or tag: -1 in text

struct Operation {
  std::uint64_t size = 0;  // bytes; of a calc nanoseconds
  std::uint32_t peer = 0;
  std::uint32_t tag = 0;
  std::uint32_t line = 0;  // in text; in binary the number of the node
  Kind kind = Kind::kCalc;
  std::uint8_t cpu = 0;
  std::uint8_t nic = 0;
  std::uint8_t column = 0;  // in text; 0: beyond 255, or not known
};
static_assert(sizeof(Operation) == 24);

// `later` starts after `earlier` has ended, or, with kAtStart, has started.
struct Dependency {
  static constexpr std::uint32_t kAtStart = 1u << 31;
  std::uint32_t later = 0;
  std::uint32_t earlier = 0;  // the operation, and kAtStart
};

struct Schedule {
  std::vector<Operation> ops;
  std::vector<Dependency> dependencies;
  void clear() {
    ops.clear();
    dependencies.clear();
  }
};

// Where an operation of a schedule stands, for errors.
using Place = std::function<std::string(const Operation&)>;

// What a reader of schedules calls: ranks(n) once, then rank(r, schedule, place) for each of the n ranks once, in the
// order of the file. What is in `schedule` is the callee's to change.
struct ScheduleSink {
  std::function<Result<void>(std::uint32_t ranks)> ranks;
  std::function<Result<void>(std::uint32_t rank, Schedule& schedule, const Place& place)> rank;
};

// Of one rank.
inline constexpr std::uint64_t kMaxOperations = Dependency::kAtStart, kMaxDependencies = 0xffffffffu;
// What fits into an operation of a trace.
inline constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62, kMaxNanoseconds = kMaxBytes / 1000;
inline constexpr std::uint32_t kMaxTag = 0x7fffffffu;

}  // namespace weft::traces::goal
