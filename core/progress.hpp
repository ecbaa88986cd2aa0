// Progress of a long task on stderr: fraction, rate and time left. Silent for the first two seconds, never printed
// where nobody looks (not a terminal) unless asked for. Reads the wall clock: never used by a simulation itself,
// only by the loop that drives it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

enum class ProgressMode { kAuto, kOn, kOff };

class Progress {
 public:
  // `total` = 0: unknown, no time left shown. `unit` names what is counted ("ops", "schedules").
  Progress(ProgressMode mode, std::string label, std::uint64_t total, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Where progress is shown it reads the clock, else it costs one comparison: callers call it every some thousand steps. Nothing is
  // told before something is done. `note` is appended as it is.
  void update(std::uint64_t done, std::string_view note = {});
  void expect(std::uint64_t total) { total_ = total; }  // there is more to do, or less
  void finish();                                        // clears the line

 private:
  void print(std::uint64_t done, std::string_view note);
  bool enabled_;
  bool shown_ = false;
  std::string label_;
  std::string unit_;
  std::uint64_t total_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

// How much more of something is done than ever before, though it may be begun anew.
class Furthest {
 public:
  [[nodiscard]] std::uint64_t more(std::uint64_t done) {
    const std::uint64_t before = std::exchange(most_, std::max(most_, done));
    return most_ - before;
  }

 private:
  std::uint64_t most_ = 0;
};

}  // namespace weft
