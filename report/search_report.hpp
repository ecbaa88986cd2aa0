// What a schedule search found, for people (text), for programs (JSON, CSV) and as a picture of the PCIe trees
// with the congested links of each step (SVG).
#pragma once

#include <string>
#include <vector>

#include "schedule/placement.hpp"
#include "schedule/search.hpp"
#include "topology/platform/platform.hpp"

namespace weft::report {

struct SearchFacts {
  std::string pattern;  // "halo 4x2, not periodic"
  std::string model;
  schedule::Mode mode = schedule::Mode::kAsync;
  const topology::Platform* platform = nullptr;
  const schedule::Workload* workload = nullptr;
  const schedule::SearchResult* result = nullptr;
  const schedule::PlacementResult* placement = nullptr;  // null: not searched
  std::vector<HostId> host;                              // by rank
  std::vector<schedule::Phase> best;                     // timeline of result->best
  std::vector<std::string> warnings;
  std::string error;  // why this is not the whole result; empty: it is
  double wall_s = 0;
};

// Seconds of the longest message alone: the unit T of times in the text.
[[nodiscard]] double message_time(const schedule::Workload& workload);

// With barriers what is between two of them, which may be several phases; else one phase.
struct Step {
  std::uint32_t step = 0;  // from 1
  double from_s = 0;
  double to_s = 0;
  // By message, ascending.
  std::vector<std::uint32_t> messages;
  std::vector<double> rate_Bps;          // mean while it is on its way
  std::vector<double> bytes;             // that it moves
  std::vector<std::uint32_t> congested;  // dense links, ascending: congested_links() of any of its time
};
[[nodiscard]] std::vector<Step> steps_of(const SearchFacts& facts);

// Links that carry two messages or more and are full, by dense link.
[[nodiscard]] std::vector<std::uint32_t> congested_links(const schedule::Workload& workload,
                                                         const schedule::Phase& phase);

[[nodiscard]] std::string search_text(const SearchFacts& facts);
[[nodiscard]] std::string search_json(const SearchFacts& facts);
// The schedule: one line per message.
[[nodiscard]] std::string search_csv(const SearchFacts& facts);
// The distribution: one line per distinct time.
[[nodiscard]] std::string histogram_csv(const SearchFacts& facts);
// Error (kNotSupported): a platform without PCIe trees.
[[nodiscard]] Result<std::string> search_svg(const SearchFacts& facts);

}  // namespace weft::report
