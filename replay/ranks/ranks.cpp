#include "replay/ranks/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::replay {

Ranks::Ranks(traces::TraceReader& trace, Programs programs)
    : trace_(trace), rows_(trace.header().ranks), may_look_(rows_.size(), 0), left_(trace.header().ranks) {
  for (std::uint32_t r = 0; r < rows_.size(); ++r) {
    if (programs.empty())
      rows_[r].program.attach(trace, RankId(r));
    else
      rows_[r].program = std::move(programs[r]);
    ready_.push(r);
  }
}

Ranks::Programs Ranks::take_programs() {
  Programs programs;
  if (!std::all_of(rows_.begin(), rows_.end(), [](const Rank& k) { return k.program.from_start(); }))
    return programs;
  programs.reserve(rows_.size());
  for (Rank& k : rows_) programs.push_back(std::move(k.program));
  return programs;
}

std::string Ranks::position(std::uint32_t r) const { return trace_.position(RankId(r), rows_[r].pc); }

Error Ranks::bad_operation(std::uint32_t r, std::string_view what) const {
  return bad_input(position(r), fmt::format("rank {}: {}", r, what));
}

}  // namespace weft::replay
