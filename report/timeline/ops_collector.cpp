#include "report/timeline/ops_collector.hpp"

#include <utility>

namespace weft::report {

void OpsCollector::attach(replay::ReplayOptions& options, bool matches) {
  options.on_op = [this, before = std::move(options.on_op)](RankId rank, std::uint64_t op, SimTime begin,
                                                            SimTime end) {
    if (before) before(rank, op, begin, end);
    of(rank).add(op, {begin.time_since_epoch().count(), end.time_since_epoch().count()});
  };
  if (!matches) return;
  options.on_match = [this, before = std::move(options.on_match)](const replay::MatchSeen& m) {
    if (before) before(m);
    of(m.rank).matches.push_back(
        {m.op, m.request, static_cast<std::int32_t>(m.source.index()), m.tag, m.bytes});
  };
  options.on_device = [this, before = std::move(options.on_device)](const replay::DeviceSeen& d) {
    if (before) before(d);
    of(d.rank).devices.push_back({d.begin.time_since_epoch().count(), d.end.time_since_epoch().count(),
                                  d.kernel, static_cast<std::uint8_t>(d.lane)});
  };
}

}  // namespace weft::report
