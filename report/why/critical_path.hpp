// Why a replay took as long as it did, for people and for programs: the critical path by parts, regions and links, what the
// makespan is sensitive to, and the efficiencies that follow from it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "predict/run_facts.hpp"

namespace weft::report {

// Of one replay, as the POP centre defines them; u: time a rank computes, T: the makespan, T0: that on the ideal network.
//   parallel = mean u / T = load_balance * communication;  load_balance = mean u / max u;  communication = max u / T
//   communication = serialisation * transfer;  serialisation = max u / T0;  transfer = T0 / T
// Where the makespans without contention, Tc, and without that and latency, Tl, are known:
//   transfer = contention * latency * bandwidth;  contention = Tc / T;  latency = Tl / Tc;  bandwidth = T0 / Tl
// which depends on the order, and the last one holds the processor time of messages, too.
struct Efficiency {
  double parallel = 0, load_balance = 0, communication = 0, serialisation = 0, transfer = 0;
  struct Split {
    double contention = 0, latency = 0, bandwidth = 0;
  };
  std::optional<Split> split;
};
// Nothing where the makespan on the ideal network is not known, nobody computes, or nothing takes time.
[[nodiscard]] std::optional<Efficiency> efficiency(const predict::RunFacts& run);

// Of a region, all of whose visits count as one: u and the time in it of a rank, T and T0 the longest times of a rank in it.
// Nothing where ranks were not told apart, or nobody computes there.
[[nodiscard]] std::optional<Efficiency> efficiency(const predict::RunFacts& run, RegionId region);

// REQUIRES of both: run.result->path.known.
[[nodiscard]] std::string critical_path_text(const predict::RunFacts& run, std::size_t width);
// Adds the keys critical_path, sensitivity and efficiency to `to`. Of the segments the longest `most_segments`; 0: no such key.
void add_critical_path_json(nlohmann::ordered_json& to, const predict::RunFacts& run,
                            std::size_t most_segments);

}  // namespace weft::report
