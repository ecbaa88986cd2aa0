// Ctrl-C during a long verb: the first one asks it to stop and say what it has, the second one is the system's again.
#pragma once

#include <atomic>
#include <csignal>
#include <initializer_list>

namespace weft::cli {

// While it lives, each of the signals sets the flag once. One at a time in a process.
class Interrupt {
 public:
  explicit Interrupt(std::initializer_list<int> signals = {SIGINT});
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] const std::atomic<bool>* flag() const;
  [[nodiscard]] bool raised() const { return flag()->load(std::memory_order_relaxed); }
};

// The program ends by the signal that came, once the verb has said what it has: a shell sees 130 after Ctrl-C and 143
// after SIGTERM, and a loop of it stops. Without a signal nothing happens.
void end_by_interrupt();
// Ends the program if end_by_interrupt() was called. Called once, by main(), when all is written.
void end_if_interrupted();

}  // namespace weft::cli
