// Ctrl-C during a long verb: the first one asks it to stop and say what it has, the second one is the system's again.
#pragma once

#include <atomic>
#include <csignal>

namespace weft::cli {

// While it lives, SIGINT sets the flag once. One at a time in a process.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] const std::atomic<bool>* flag() const;
  [[nodiscard]] bool raised() const { return flag()->load(std::memory_order_relaxed); }
};

}  // namespace weft::cli
