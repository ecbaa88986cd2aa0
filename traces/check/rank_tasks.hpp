// The tasks of one rank in an untimed run (doctor.hpp): which have begun, which are over, who comes after whom. A message of a task is a
// request of its own, beyond those that programs have.
// Memory: 72 bytes a task and 4 a dependency, until the next task_wait.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "traces/op_rules.hpp"
#include "traces/tasks.hpp"

namespace weft::traces::doctor {

class RankTasks {
 public:
  struct Task {
    Op op;
    std::uint64_t index = 0;  // operation
    std::uint32_t lacks = 0;  // tasks that it is after
    bool begun = false, over = false;
    std::vector<std::uint32_t> at_end, at_start;  // who is after it
  };

  [[nodiscard]] static bool is_slot(std::uint32_t slot) {
    return slot >= kMaxRequestSlots && slot < kMaxRequestSlots + kMaxTasks;
  }
  [[nodiscard]] static std::uint32_t slot_of(std::uint32_t task) { return kMaxRequestSlots + task; }

  // The rank comes to a task. False: its list names one that does not stand before it.
  [[nodiscard]] bool add(const Op& op, std::uint64_t index, std::span<const std::int64_t> after) {
    const auto number = static_cast<std::uint32_t>(tasks_.size());
    tasks_.push_back({.op = op, .index = index, .at_end = {}, .at_start = {}});
    ++left_;
    bool known = true;
    for (const std::int64_t d : after) {
      const auto up = static_cast<std::uint64_t>(d < 0 ? -d : d);
      known = known && up <= number;
      if (up > number) continue;
      Task& earlier = tasks_[number - up];
      if (d < 0 ? earlier.begun : earlier.over) continue;
      (d < 0 ? earlier.at_start : earlier.at_end).push_back(number);
      ++tasks_[number].lacks;
    }
    if (tasks_[number].lacks == 0) ready_.push(number);
    return known;
  }
  // The message of that request is over.
  void came(std::uint32_t slot) { came_.push(slot - kMaxRequestSlots); }
  // Begins what may, ends what is over, until there is no more: begin(number, task) posts the message of a task, if it has one, and says
  // whether it is over; ends(number) of one whose message has come.
  template <class Begin, class Ends>
  void go_on(Begin begin, Ends ends) {
    while (!ready_.empty() || !came_.empty()) {
      if (!came_.empty()) {
        const std::uint32_t n = came_.top();
        came_.pop();
        ends(n);
        end(n);
        continue;
      }
      const std::uint32_t n = ready_.top();
      ready_.pop();
      tasks_[n].begun = true;
      release(tasks_[n].at_start);
      if (begin(n, tasks_[n])) end(n);
    }
  }
  [[nodiscard]] bool any_may_go_on() const { return !ready_.empty() || !came_.empty(); }
  [[nodiscard]] std::size_t left() const { return left_; }
  // The last one since the last task_wait; null: there is none.
  [[nodiscard]] const Task* last() const { return tasks_.empty() ? nullptr : &tasks_.back(); }
  // REQUIRES: left() == 0.
  void forget() { tasks_.clear(); }

 private:
  void end(std::uint32_t n) {
    tasks_[n].over = true;
    --left_;
    release(tasks_[n].at_end);
  }
  void release(std::vector<std::uint32_t>& list) {
    for (const std::uint32_t n : list)
      if (--tasks_[n].lacks == 0) ready_.push(n);
    std::vector<std::uint32_t>().swap(list);
  }
  std::vector<Task> tasks_;  // since the last task_wait
  // In the order of the program, as a replay has what becomes ready at one instant.
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready_, came_;
  std::size_t left_ = 0;
};

}  // namespace weft::traces::doctor
