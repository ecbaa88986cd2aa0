#include "traces/synthetic/rank_grid.hpp"

#include <fmt/format.h>

namespace weft::traces {

Result<RankGrid> read_rank_grid(const PatternArgs& args) {
  WEFT_ASSIGN(auto dims, args.extents("dims", 1, 4, kMaxPatternRanks));
  WEFT_ASSIGN(const bool periodic, args.on_off("periodic"));
  double ranks = 1;
  for (const auto e : dims) ranks *= static_cast<double>(e);
  if (ranks > kMaxPatternRanks)
    return usage_error("--dims has too many ranks", fmt::format("{:.0f}", ranks),
                       fmt::format("at most {}", kMaxPatternRanks));
  return RankGrid(std::move(dims), periodic);
}

}  // namespace weft::traces
