// Finished pieces of a search, kept by whoever starts it (a file, a journal), so that a search that was stopped goes on
// where it was. The result is that of a search that was not.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "schedule/evaluator.hpp"
#include "schedule/time_tally.hpp"

namespace weft::schedule {

struct SearchResult;

// Some roots of an exhaustive search (exhaustive.hpp).
struct ExhaustivePiece {
  std::vector<TimeBin> times;
  std::uint64_t simulated = 0;
  double best_s = 0, worst_s = 0;
  std::uint32_t best_root = 0, worst_root = 0;
  Order best, worst;
};

// All from any thread. `find_`: false, if nobody finished that piece. `keep_`: false, if it cannot be kept: the search
// then ends as if it was stopped.
struct KeptPieces {
  std::function<bool(const std::string& piece, ExhaustivePiece& out)> find_roots;
  std::function<bool(const std::string& piece, const ExhaustivePiece& done)> keep_roots;
  std::function<bool(const std::string& piece, SearchResult& out)> find_result;
  std::function<bool(const std::string& piece, const SearchResult& done)> keep_result;
};

}  // namespace weft::schedule
