#include "replay/ranks/ranks.hpp"

#include <fmt/format.h>

namespace weft::replay {

Ranks::Ranks(traces::TraceReader& trace)
    : trace_(trace), rows_(trace.header().ranks), left_(trace.header().ranks) {
  for (std::uint32_t r = 0; r < rows_.size(); ++r) {
    rows_[r].program.attach(trace, RankId(r));
    ready_.push_back(r);
  }
}

std::string Ranks::position(std::uint32_t r) const { return trace_.position(RankId(r), rows_[r].pc); }

Error Ranks::bad_operation(std::uint32_t r, std::string_view what) const {
  return bad_input(position(r), fmt::format("rank {}: {}", r, what));
}

}  // namespace weft::replay
