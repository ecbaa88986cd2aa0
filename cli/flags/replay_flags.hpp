// The flags that say how a trace is replayed: shared by every verb that replays.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/flags/collective_flags.hpp"
#include "cli/flags/platform_flags.hpp"
#include "core/result.hpp"
#include "replay/engine.hpp"

namespace weft::cli {

inline constexpr const char* kRecordedMatchesHelp =
    "receives from any source or of any tag take what they took in the recording";

struct ReplayFlags : PlatformFlags, CollectiveFlags {
  std::string raw;  // empty: not raw
  std::string raw_switch, header, weights = "none", model, accuracy, compute_scale;
  std::string from;
  bool noise = false, recorded_matches = false;

  void add(CLI::App& app);
  // Errors: kUsage with what was wrong and the known names.
  [[nodiscard]] Result<replay::ReplayOptions> options(std::uint64_t seed) const;
  // Every flag that is not at its default, as a user would type it; `seed` is that of the common flags.
  [[nodiscard]] std::vector<std::string> told(std::uint64_t seed) const;
};

// High-water mark of this process's memory.
[[nodiscard]] std::uint64_t peak_rss_bytes();

}  // namespace weft::cli
