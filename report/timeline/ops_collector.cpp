#include "report/timeline/ops_collector.hpp"

#include <utility>

namespace weft::report {

void OpsCollector::attach(replay::ReplayOptions& options) {
  options.on_op = [this, before = std::move(options.on_op)](RankId rank, std::uint64_t op, SimTime begin,
                                                            SimTime end) {
    if (before) before(rank, op, begin, end);
    of(rank).add(op, {begin.time_since_epoch().count(), end.time_since_epoch().count()});
  };
}

}  // namespace weft::report
