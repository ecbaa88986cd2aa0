// Progress of a long task on stderr: fraction, rate and time left. Silent for the first two seconds, never printed
// where nobody looks (not a terminal) unless asked for. Reads the wall clock: never used by a simulation itself,
// only by the loop that drives it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

enum class ProgressMode { kAuto, kOn, kOff };

class Progress {
 public:
  // `total` = 0: unknown, no time left shown. `unit` names what is counted ("ops", "schedules").
  Progress(ProgressMode mode, std::string label, std::uint64_t total, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap when nothing is printed: one comparison most of the time. `note` is appended as it is.
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
  std::uint32_t calls_ = 0;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace weft
