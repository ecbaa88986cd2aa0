// The recorder's clock: CPU time of the calling thread, cheap enough for a loop of polls.
//
// Why CPU time: on an oversubscribed machine (16 ranks on 2 cores) wall time between two calls contains the
// turns of the other ranks. Why not simply CLOCK_THREAD_CPUTIME_ID: it is a system call (about 250 ns),
// CLOCK_MONOTONIC is not (about 25 ns). So both ends of a stretch are stamped with the wall clock, and the
// CPU clock is read only when the stretch is long enough to hide a turn of another process; a shorter one was
// all ours and is taken as it is. Error: below kTrust per stretch, and never more than the wall time of the
// stretch.
#pragma once

#include <time.h>

#include <cstdint>

namespace weft::recorder {

class ThreadClock {
 public:
  // Shortest wall time that a process can lose its core for (a switch away and back), with a margin.
  static constexpr std::int64_t kTrust = 1500;  // ns

  // Entering MPI: nanoseconds since leave(), by CPU or wall clock. 0 at the first call of a thread.
  std::int64_t enter(bool cpu) {
    const std::int64_t wall = read(CLOCK_MONOTONIC);
    std::int64_t gap = started_ ? wall - wall_ : 0;
    if (cpu && (!started_ || gap > kTrust)) {
      const std::int64_t now = read(CLOCK_THREAD_CPUTIME_ID);
      if (started_ && now - cpu_ < gap) gap = now > cpu_ ? now - cpu_ : 0;
      cpu_ = now;
    } else {
      cpu_ += gap;
    }
    wall_ = wall;
    started_ = true;
    return gap;
  }
  // Leaving MPI.
  void leave(bool cpu) {
    const std::int64_t wall = read(CLOCK_MONOTONIC);
    if (cpu) {
      if (wall - wall_ > kTrust) {
        cpu_ = read(CLOCK_THREAD_CPUTIME_ID);
      } else {
        cpu_ += wall - wall_;
      }
    }
    wall_ = wall;
  }

 private:
  static std::int64_t read(clockid_t id) {
    timespec t{};
    ::clock_gettime(id, &t);
    return std::int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
  }
  std::int64_t wall_ = 0;
  std::int64_t cpu_ = 0;
  bool started_ = false;
};

}  // namespace weft::recorder
