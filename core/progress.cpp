#include "core/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "core/quantity_text.hpp"

namespace weft {
namespace {
constexpr std::chrono::seconds kSilence{2};
constexpr std::chrono::milliseconds kInterval{250};
}  // namespace

Progress::Progress(ProgressMode mode, std::string label, std::uint64_t total, std::string unit)
    : enabled_(mode == ProgressMode::kOn || (mode == ProgressMode::kAuto && ::isatty(STDERR_FILENO) == 1)),
      label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      start_(std::chrono::steady_clock::now()),
      last_(mode == ProgressMode::kOn ? start_ - kInterval : start_ + kSilence - kInterval) {}

Progress::~Progress() { finish(); }

void Progress::update(std::uint64_t done, std::string_view note) {
  if (!enabled_ || done == 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kInterval) return;
  last_ = now;
  print(done, note);
}

void Progress::print(std::uint64_t done, std::string_view note) {
  const double elapsed = std::chrono::duration<double>(last_ - start_).count();
  const double rate = elapsed > 0 ? static_cast<double>(done) / elapsed : 0;
  std::string line = fmt::format("\r\033[K{}: {} {}", label_, show_count(static_cast<double>(done)), unit_);
  if (total_ > 0)
    line += fmt::format(" of {} ({:.0f} %)", show_count(static_cast<double>(total_)),
                        100.0 * static_cast<double>(done) / static_cast<double>(total_));
  line += fmt::format(", {}/s", show_count(rate));
  if (total_ > done && rate > 0)
    line += fmt::format(", {} left", show_seconds(static_cast<double>(total_ - done) / rate));
  if (!note.empty()) line += fmt::format(", {}", note);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  shown_ = true;
}

void Progress::finish() {
  if (!shown_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace weft
