// Threads that may not all start: a machine's limits (address space, number of tasks) are no reason to stop, since no
// result of Weft depends on how many threads there are.
//
// When a thread cannot be started, half of those that were are sent home before any of them works: their stacks are
// what the work itself needs then. Nobody begins before all that can be started are.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace weft {

class Workers {
 public:
  // Calls work(1) ... work(started()) on a thread each, at most `wanted`. `work` must not throw.
  Workers(unsigned wanted, std::function<void(unsigned)> work);
  ~Workers() { join(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void join();
  [[nodiscard]] unsigned started() const { return working_; }

 private:
  void wait_and_work(unsigned index);
  std::function<void(unsigned)> work_;
  std::mutex mutex_;
  std::condition_variable decided_;
  bool go_ = false;
  unsigned working_ = 0;  // threads 1 .. working_ work, the others go home
  std::vector<std::thread> threads_;
};

}  // namespace weft
