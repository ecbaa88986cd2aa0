// Tasks: operations that begin when others are over, where a program is a graph and not a line (GOAL schedules, docs/goal.md).
//
// A rank comes to a task and goes on at once. The task begins when those that it names are over, on one of the rank's cpus: a
// computation and the processor time of a message have the cpu for themselves, those of different cpus run side by side. Its
// list is {cpu, after...}: each `after` names a task by how many tasks further up it stands, 1 for the one right before;
// negative, if it is enough that that one has begun. Only tasks since the last task_wait can be named: those before it are over.
#pragma once

#include <cstdint>
#include <span>

#include "traces/op.hpp"

namespace weft::traces {

inline constexpr std::int64_t kMaxCpus = 256;       // of a rank
inline constexpr std::int64_t kMaxTasks = 1 << 30;  // of a rank between two task_waits

struct TaskList {
  std::uint32_t cpu = 0;
  std::span<const std::int64_t> after;
};

// REQUIRES: of a task that is well formed.
[[nodiscard]] inline TaskList task_list(std::span<const std::int64_t> list) {
  return {static_cast<std::uint32_t>(list[0]), list.subspan(1)};
}

// Null, or what is wrong with the list of a task whatever stands before it.
[[nodiscard]] inline const char* task_fault(std::span<const std::int64_t> list) {
  if (list.empty() || list[0] < 0 || list[0] >= kMaxCpus)
    return "the list of a task must begin with a cpu, 0 to 255";
  for (const std::int64_t d : list.subspan(1))
    if (d == 0 || d < -kMaxTasks || d > kMaxTasks)
      return "the list of a task must say how far up the tasks stand that it is after";
  return nullptr;
}

}  // namespace weft::traces
