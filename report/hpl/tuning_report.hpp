// What a search for the fastest HPL.dat found (predict/hpl_tuning.hpp), for people and tools.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "hpl_gen/hpl_search.hpp"
#include "report/assumed.hpp"

namespace weft::report {

// Pointers are borrowed and never null; the ranking is not empty.
struct TuningFacts {
  std::string platform;    // its name
  std::string label;       // that it was given; empty: none
  std::string_view model;  // that shared the links
  double accuracy = 0;     // of it; 0: exact
  std::string pivots;      // where they come from, as it was asked
  int evaluations = 0;     // that the search might spend
  bool drawn = false;      // another seed gives other rates
  const hpl_gen::SearchSpace* space = nullptr;
  const hpl_gen::SearchResult* result = nullptr;
  std::vector<std::string> chosen;  // predict::ChosenDat::chosen
  Assumed assumed;
  std::vector<std::string> warnings;  // of the predictions
  std::string hpl_dat;                // the best one's text
  std::string hpl_dat_file;           // where it is written; empty: nowhere
  std::string error;                  // why this is not the whole result; empty: it is
};

// One sentence: the best, and what it gains over the base.
[[nodiscard]] std::string tuning_answer(const TuningFacts& facts);
// The answer, how it was found, warnings, and a table of the best. Without the HPL.dat.
[[nodiscard]] std::string tuning_text(const TuningFacts& facts, std::size_t width);
[[nodiscard]] nlohmann::ordered_json tuning_json(const TuningFacts& facts);
// The ranking, a line each.
[[nodiscard]] std::string tuning_csv(const hpl_gen::SearchResult& result);

}  // namespace weft::report
