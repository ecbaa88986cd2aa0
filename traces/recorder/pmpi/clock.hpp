// The recorder's clock: CPU time of the calling thread, cheap enough for a loop of polls.
//
// Why CPU time: on an oversubscribed machine (16 ranks on 2 cores) wall time between two calls contains the
// turns of the other ranks. Why not simply CLOCK_THREAD_CPUTIME_ID: it is a system call (about 250 ns),
// CLOCK_MONOTONIC is not (about 25 ns). So both ends of a stretch are stamped with the wall clock, and the
// CPU clock is read only when the stretch is long enough to hide a turn of another process; a shorter one was
// all ours and is taken as it is. Error: below kTrust per stretch, and never more than the wall time of the
// stretch.
//
// Both totals are kept whatever the trace is made of, so that a program that sleeps is told from one that
// computes. With the wall clock the CPU clock is only for that: it is read for long stretches (kCoarse), and
// short stays in MPI are taken to have used no CPU, so that time outside is never called asleep by mistake.
#pragma once

#include <time.h>

#include <cstdint>

namespace weft::recorder {

// Time outside MPI by both clocks, nanoseconds. 0 <= cpu <= wall.
struct Stretch {
  std::int64_t cpu = 0;
  std::int64_t wall = 0;
  std::int64_t end = 0;  // CLOCK_MONOTONIC at its end
};

class ThreadClock {
 public:
  // Shortest wall time that a process can lose its core for (a switch away and back), with a margin.
  static constexpr std::int64_t kTrust = 1500;  // ns
  // With the wall clock: two readings of the CPU clock cost less than 3 % of this.
  static constexpr std::int64_t kCoarse = 20000;  // ns

  [[nodiscard]] bool started() const { return started_; }

  // Entering MPI: time since leave(). 0 at the first call of a thread. `cpu`: the trace takes the CPU time.
  Stretch enter(bool cpu) {
    const std::int64_t wall = read(CLOCK_MONOTONIC);
    Stretch gap;
    gap.wall = started_ ? wall - wall_ : 0;
    gap.cpu = gap.wall;
    gap.end = wall;
    if (!started_ || gap.wall > (cpu ? kTrust : kCoarse)) {
      const std::int64_t now = read(CLOCK_THREAD_CPUTIME_ID);
      if (started_ && now - cpu_ < gap.wall) gap.cpu = now > cpu_ ? now - cpu_ : 0;
      cpu_ = now;
    } else {
      cpu_ += gap.cpu;
    }
    wall_ = wall;
    started_ = true;
    return gap;
  }
  // Leaving MPI.
  void leave(bool cpu) {
    const std::int64_t wall = read(CLOCK_MONOTONIC);
    if (wall - wall_ > (cpu ? kTrust : kCoarse)) {
      cpu_ = read(CLOCK_THREAD_CPUTIME_ID);
    } else if (cpu) {
      cpu_ += wall - wall_;
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
  std::int64_t cpu_ = 0;  // of the CPU clock at leave(); with the wall clock a lower bound
  bool started_ = false;
};

}  // namespace weft::recorder
