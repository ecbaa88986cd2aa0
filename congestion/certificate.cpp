#include "congestion/certificate.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::congestion {

std::optional<std::string> certify(const FlowTable& table, std::span<const double> capacity,
                                   std::span<const double> rate, std::span<const std::uint32_t> flows,
                                   std::uint64_t budget, double tolerance) {
  for (const std::uint32_t f : flows) {
    if (!(rate[f] > 0)) return fmt::format("flow {} has rate {:.17g}", f, rate[f]);
    if (rate[f] > table.limit(f) * (1 + tolerance))
      return fmt::format("flow {} has rate {:.17g}, above its limit {:.17g}", f, rate[f], table.limit(f));
    bool bound = rate[f] >= table.limit(f) * (1 - tolerance);
    const double level = rate[f] / table.weight(f);
    for (const LinkId link : table.route(f)) {
      const auto entries = table.flows_on(link.index());
      if (entries.size() > budget) return std::nullopt;
      budget -= entries.size();
      double load = 0;
      double highest = 0;
      for (const FlowTable::Entry e : entries) {
        load += rate[e.flow];
        highest = std::max(highest, rate[e.flow] / table.weight(e.flow));
      }
      const double c = capacity[link.index()];
      if (load > c * (1 + tolerance))
        return fmt::format("link {} carries {:.17g} of {:.17g} bytes/s in {} flows", link.index(), load, c,
                           entries.size());
      bound |= load >= c * (1 - tolerance) && level >= highest * (1 - tolerance);
    }
    if (!bound)
      return fmt::format(
          "flow {} has rate {:.17g} at weight {}: it is below its limit and no full link holds it back", f,
          rate[f], table.weight(f));
  }
  return std::nullopt;
}

}  // namespace weft::congestion
