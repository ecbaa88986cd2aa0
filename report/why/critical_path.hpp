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
struct Efficiency {
  double parallel = 0, load_balance = 0, communication = 0, serialisation = 0, transfer = 0;
};
// `ideal`: the makespan on the ideal network. Nothing where nobody computes, or nothing takes time.
[[nodiscard]] std::optional<Efficiency> efficiency(const replay::ReplayResult& result, Duration ideal);

// REQUIRES of both: run.result->path.known.
[[nodiscard]] std::string critical_path_text(const predict::RunFacts& run, std::size_t width);
// Adds the keys critical_path, sensitivity and efficiency to `to`.
void add_critical_path_json(nlohmann::ordered_json& to, const predict::RunFacts& run);

}  // namespace weft::report
