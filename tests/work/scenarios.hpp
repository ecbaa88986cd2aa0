// Named scenarios, each small and the same everywhere, with the work that it takes: solves, flows that they computed, links
// that they visited, events, operations, schedules looked at. Times differ from machine to machine, these do not: an algorithm that
// becomes slower does more of something. tests/work compares them with counts.txt, bench/scenario_bench times them.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft::work {

using Counts = std::vector<std::pair<std::string, std::uint64_t>>;

struct Scenario {
  const char* name;
  const char* what;
  Counts (*run)();
};
inline void PrintTo(const Scenario& s, std::ostream* out) { *out << s.what; }  // for gtest

[[nodiscard]] std::span<const Scenario> scenarios();

}  // namespace weft::work
