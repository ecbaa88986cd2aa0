// A run of compare or sweep as a point of a journal: its key, and its result as JSON and back. What is kept is what
// comparisons tell (RunDigest), not every rank and link, so a line is about two kilobytes whatever the machine.
#pragma once

#include <optional>

#include "predict/journal/journal.hpp"
#include "predict/run_facts.hpp"
#include "replay/results.hpp"

namespace weft::predict {

struct RunPoint {
  replay::ReplayResult result;  // without ranks, regions, collectives, links, engine and path
  RunDigest digest;
  LinkSharers sharers;
  std::optional<Duration> ideal;
  std::optional<replay::Verification> verified;
};

[[nodiscard]] Json run_point_json(const RunFacts& run);
[[nodiscard]] std::optional<RunPoint> run_point_of(const Json& json);

}  // namespace weft::predict
