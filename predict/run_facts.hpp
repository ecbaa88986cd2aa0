// RunFacts: one replay and what was asked for, as the reports need it; and the numbers that several reports
// derive.
//
// Units: seconds as double where a figure goes straight into a file or a sentence, strong types elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "network/link_use.hpp"
#include "predict/link_sharers.hpp"
#include "replay/engine.hpp"
#include "replay/results.hpp"
#include "replay/verification.hpp"
#include "topology/platform/platform.hpp"
#include "traces/trace.hpp"

namespace weft::predict {

// Sums over the ranks.
struct TimeSums {
  double finish = 0, compute = 0, send = 0, recv = 0, wait = 0, collective = 0;
  std::array<double, replay::kCauseCount> causes{};  // add up to blocked()
  [[nodiscard]] double blocked() const { return send + recv + wait + collective; }
  [[nodiscard]] double cause(replay::Cause c) const { return causes[static_cast<std::size_t>(c)]; }
};
[[nodiscard]] TimeSums time_sums(const replay::ReplayResult& result);

struct UsedLink {
  LinkId link;  // invalid: there is none
  network::LinkUse use;
};
// Links that held messages of a critical path back, from the one that did so longest.
struct PathLink {
  LinkId link;
  Duration contention{0};
  std::uint64_t messages = 0;
};
[[nodiscard]] std::vector<PathLink> contention_on_path(const replay::PathResult& path);
// What comparisons ask of a critical path.
struct PathDigest {
  replay::PathParts parts{};  // add up to the makespan
  LinkId most_contended;      // invalid: no link held a message of the path back
};
// What comparisons ask of the ranks and links of a run: of one size whatever the machine's, so that it can be kept for
// thousands of runs and written down.
struct RunDigest {
  std::uint64_t ranks = 0;
  TimeSums sums;
  UsedLink worst;                  // most used, as busiest_links() orders
  UsedLink most_waited;            // on which messages lost most, if they lost anything
  std::uint64_t waited_alike = 0;  // links on which they lost about as much, itself included
  double narrowest_used = 0;  // smallest bandwidth among links that carried something, bytes/s; 0 if none did
  std::optional<PathDigest> path{};  // where it was asked for
};
// A link is waited for "about as much" from this share of the most on.
inline constexpr double kWaitedAlike = 0.9;

struct Sensitivity;  // sensitivity.hpp
struct PathDetails;  // path_details.hpp

// Pointers are borrowed; never null but where it says so.
struct RunFacts {
  std::string trace;                 // as the user named it; of several jobs their names, which are short
  std::string map;                   // "block"...
  std::string routing;               // name of the routing in force
  std::vector<std::string> changes;  // flags that are not at their defaults, as they were typed
  std::uint32_t ranks = 0;
  bool joined = false;  // of several jobs
  traces::TraceTotals totals;
  const topology::Platform* platform = nullptr;
  const replay::ReplayOptions* options = nullptr;
  // Makespans where they were asked for: on the ideal network; without contention; without contention and latency.
  std::optional<Duration> ideal{}, uncontended{}, without_latency{};
  std::vector<Duration>
      ideal_regions{};  // longest time of a rank in each region on the ideal network; may be empty
  const Sensitivity* sensitivity = nullptr;   // null: not asked for
  const PathDetails* path_details = nullptr;  // likewise
  // Its ranks and links are empty where a digest stands for them.
  const replay::ReplayResult* result = nullptr;
  std::optional<RunDigest> digest{};
  std::optional<replay::Verification> verified{};  // where it was asked for
  // In one line: what the replay found (deadlock, unmatched messages), or what is wrong with it. Empty: nothing.
  [[nodiscard]] std::string finding() const;
  LinkSharers worst_link_sharers;  // of the most used link, where they were asked for
  // The machine that ran the replay, not the one that was simulated.
  double wall_s = 0;
  std::uint64_t peak_rss_bytes = 0;
};

// bytes / (bandwidth x makespan); 0 for a makespan of 0. A fatpipe counts as many times as it had flows at once at most.
[[nodiscard]] double utilization(const RunFacts& run, const UsedLink& link);
[[nodiscard]] double utilization(const RunFacts& run, LinkId link);
// What puts one link before another: utilization, or the time that messages lost on it.
enum class LinkOrder : std::uint8_t { kUtilization, kWaited };
// Links that carried something, the first of the order first, ties by LinkId; at most `limit`. Fatpipes, on which nobody
// is in anybody's way, come behind all others. O(links log limit).
[[nodiscard]] std::vector<LinkId> busiest_links(const RunFacts& run, std::size_t limit,
                                                LinkOrder order = LinkOrder::kUtilization);
// The digest of a run: its own, or made from its ranks and links. O(ranks + links).
[[nodiscard]] RunDigest digest_of(const RunFacts& run);
// Its path alone. REQUIRES: it was asked for. O(segments).
[[nodiscard]] PathDigest path_digest_of(const RunFacts& run);
// Mean links per message written in the trace; of all messages if there are only collectives; 0 if there are
// none.
[[nodiscard]] double mean_hops(const RunFacts& run);

// What of the platform is a default that nobody gave and that a run went by: bw and lat of links, speed if `used_speed`
// (ReplayResult), parameters of MPI if `by_mpi`, which raw modes don't ask for.
[[nodiscard]] std::vector<std::string> assumed_of(const topology::Platform& platform, bool used_speed,
                                                  bool by_mpi = true);
[[nodiscard]] std::vector<std::string> assumed_of(const RunFacts& run);

[[nodiscard]] std::string_view raw_name(replay::RawMode mode);  // "off", "eager"...

// What the trace is called in text: on one line, whatever its path has.
[[nodiscard]] std::string trace_label(const RunFacts& run);

// What the platform is called in text, likewise: its label, or its name.
[[nodiscard]] std::string platform_label(const topology::Platform& platform);

// Error (kUsage) if two platforms of a list, which `--on A --on B` gave, are called the same in its rows.
[[nodiscard]] Result<void> told_apart(std::string_view on_a, const topology::Platform& a,
                                      std::string_view on_b, const topology::Platform& b);

// The last folder and the file of a path: a trace as people read it.
[[nodiscard]] std::string_view short_path(std::string_view path);

// A platform as people read it, paths in it as short_path() has them
// ("routes:path=/a/b/torus.txt,lat=0" -> "routes:path=b/torus.txt,lat=0").
[[nodiscard]] std::string short_name(std::string_view name);

// Shortest text that reads back as the same double.
[[nodiscard]] std::string exact_number(double v);

}  // namespace weft::predict
