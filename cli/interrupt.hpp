// Ctrl-C and SIGTERM during a long verb: the first one asks it to stop and say what it has, the second one is the system's again.
#pragma once

#include <atomic>
#include <csignal>
#include <string>

#include "core/result.hpp"

namespace weft::cli {

// While it lives, each of the signals sets the flag once. One at a time in a process.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] const std::atomic<bool>* flag() const;
  [[nodiscard]] bool raised() const { return flag()->load(std::memory_order_relaxed); }
};

// The error of a verb that was interrupted, to be returned once it has said what it has: the program then ends by the signal that
// came. A shell sees 130 after Ctrl-C and 143 after SIGTERM, and a loop of it stops.
[[nodiscard]] Error interrupted(std::string why);
// Ends the program if interrupted() was called and a signal came. Called once, by main(), when all is written.
void end_if_interrupted();

}  // namespace weft::cli
