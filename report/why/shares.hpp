// What the tables that say why have in common.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "core/id.hpp"
#include "core/units.hpp"
#include "predict/run_facts.hpp"

namespace weft::report {

inline constexpr std::size_t kTextRows = 5;  // of a table; JSON has them all

// "12.5 %"; "-" of nothing.
[[nodiscard]] inline std::string share(TimeSum d, TimeSum of) {
  return of.count() > 0 ? fmt::format("{:.1f} %", 100 * to_seconds(d) / to_seconds(of)) : "-";
}

[[nodiscard]] inline std::string region_name(const predict::RunFacts& run, RegionId region) {
  const auto& names = run.result->regions;
  return region.valid() && region.index() < names.size() ? names[region.index()].name : "outside regions";
}

}  // namespace weft::report
