#include "predict/sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::predict {
namespace {

using replay::PathPart;

constexpr std::array<double, 3> kRatios{0.01, 0.02, 0.05};
constexpr double kStep = 0.01;
constexpr std::uint32_t kMostReplays = 60;

Duration part(const replay::PathResult& path, PathPart p) { return path.parts[static_cast<std::size_t>(p)]; }
Duration times(double factor, Duration d) {
  return Duration(std::llround(factor * static_cast<double>(d.count())));
}

// None: the program does not end, in a deadlock (wildcards may find other messages) or within the time that a replay has.
Result<std::optional<replay::ReplayResult>> again(const Question& q, const topology::Platform& platform,
                                                  const replay::ReplayOptions& options) {
  WEFT_ASSIGN(const auto trace, q.open());
  auto result = replay::replay(*trace, platform, q.placement, options);
  if (!result && result.error().what == replay::kPastTheEnd) return std::optional<replay::ReplayResult>();
  if (!result) return std::move(result).error();
  if (!result->finished) return std::optional<replay::ReplayResult>();
  return std::optional(std::move(result).value());
}

std::optional<Duration> makespan_of(const std::optional<replay::ReplayResult>& r) {
  return r ? std::optional(r->makespan) : std::nullopt;
}

// What the time of computation or of data would be `factor` times as long.
topology::Platform with_slower_links(const topology::Platform& platform, double factor) {
  topology::Platform p = platform;
  for (std::uint32_t l = 0; l < p.fabric.link_count(); ++l) p.fabric.scale_link(LinkId(l), 1 / factor);
  return p;
}

// One of the replays of a slope: with the time of `what` longer by `step`, which may be negative.
Result<std::optional<Duration>> changed(const Question& q, std::size_t what, double step,
                                        Duration latency_step) {
  auto options = q.options;
  options.critical_path = options.wait_states = false;
  if (what == 1) {
    WEFT_ASSIGN(const auto r, again(q, with_slower_links(q.platform, 1 + step), options));
    return makespan_of(r);
  }
  if (what == 0)
    options.what_if.latency = step > 0 ? latency_step : -latency_step;
  else
    options.what_if.compute = 1 + step;
  WEFT_ASSIGN(const auto r, again(q, q.platform, options));
  return makespan_of(r);
}

// 1 % of what a latency takes, on the path or else on the whole; at least a picosecond.
Duration latency_step(const replay::ReplayResult& base) {
  Duration mean{0};
  if (base.path.trips > 0 && base.path.has_slopes())
    mean = (part(base.path, PathPart::kLatency) + part(base.path, PathPart::kHandshake)) /
           static_cast<std::int64_t>(base.path.trips);
  else if (base.network.count > 0)
    mean = from_seconds(to_seconds(base.network.latency) / static_cast<double>(base.network.count));
  return std::max(Duration(1), times(kStep, mean));
}

}  // namespace

replay::ReplayOptions without_contention(replay::ReplayOptions options) {
  options.model = "contention-free";
  options.accuracy = 0;
  return options;
}

Result<Tolerance> tolerance_of(const Question& q, double ratio) {
  Tolerance out;
  out.ratio = ratio;
  const auto limit = times(1 + ratio, q.base.makespan);
  struct At {
    std::int64_t latency;
    std::optional<Duration> makespan;  // none: it does not end
    std::int64_t slope;
  };
  const auto fits = [limit](const At& a) { return a.makespan && *a.makespan <= limit; };
  const auto at = [&](std::int64_t latency) -> Result<At> {
    auto options = q.options;
    options.critical_path = true;
    options.what_if.latency = Duration(latency);
    ++out.replays;
    WEFT_ASSIGN(const auto r, again(q, q.platform, options));
    return r ? At{latency, r->makespan, static_cast<std::int64_t>(r->path.trips)} : At{latency, {}, 0};
  };
  At low{0, q.base.makespan, static_cast<std::int64_t>(q.base.path.trips)};
  // One latency of that length on any path is too much already.
  WEFT_ASSIGN(At high, at(limit.count() + 1));
  if (fits(high)) return out;
  // Tangents of a convex function meet the limit beyond the answer from either side: the steps from above never pass
  // it. Every third step halves, in case it is not convex.
  while (high.latency - low.latency > 1 && out.replays < kMostReplays) {
    std::int64_t next = low.latency + (high.latency - low.latency) / 2;
    if (out.replays % 3 != 0 && high.makespan) {
      const std::int64_t over = (*high.makespan - limit).count();
      const std::int64_t down =
          high.slope > 0 ? high.latency - std::max<std::int64_t>(1, over / high.slope) : low.latency;
      const std::int64_t up =
          low.slope > 0 ? low.latency + std::max<std::int64_t>(1, (limit - *low.makespan).count() / low.slope)
                        : high.latency;
      // The nearer of the two: both are beyond the answer, or at it.
      const std::int64_t nearer = std::min(up, down > low.latency ? down : high.latency);
      if (nearer < high.latency) next = nearer;
    }
    WEFT_ASSIGN(const At found, at(next));
    (fits(found) ? low : high) = found;
  }
  out.latency = Duration(low.latency);
  out.ends = high.makespan.has_value();
  return out;
}

Result<Sensitivity> sensitivity_of(const Question& q, unsigned threads,
                                   const OnFewerThreads& on_fewer_threads) {
  Sensitivity out;
  const replay::PathResult& path = q.base.path;
  const Duration step = latency_step(q.base);
  out.tolerances.resize(kRatios.size());
  out.slopes.resize(3);
  const auto told = [&](Duration longer) { return path.has_slopes() ? std::optional(longer) : std::nullopt; };
  out.slopes[0] = {"latency", told(step * static_cast<std::int64_t>(path.trips)), {}, {}};
  out.slopes[1] = {"bandwidth", told(times(kStep, path.on_links())), {}, {}};
  out.slopes[2] = {"computation", told(times(kStep, path.computed())), {}, {}};
  const auto& links = q.platform.fabric.links();
  std::vector<std::size_t> classes;
  for (std::size_t c = 0; c < links.class_names.size(); ++c) {
    FasterClass f{links.class_names[c], 0, {}};
    bool used = false;
    for (std::size_t l = 0; l < links.size(); ++l) {
      if (links.link_class[l] != c) continue;
      ++f.links;
      used |= q.base.links[l].bytes > 0;
    }
    if (!used) continue;
    classes.push_back(c);
    out.classes.push_back(std::move(f));
  }
  const std::size_t tolerances = out.tolerances.size(), slopes = 2 * out.slopes.size();
  WEFT_TRY(run_parallel(
      tolerances + slopes + classes.size(), threads,
      [&](std::size_t i) -> Result<void> {
        if (i < tolerances) {
          WEFT_ASSIGN(out.tolerances[i], tolerance_of(q, kRatios[i]));
          return {};
        }
        i -= tolerances;
        if (i < slopes) {
          Slope& s = out.slopes[i / 2];
          WEFT_ASSIGN(const auto t, changed(q, i / 2, i % 2 == 0 ? kStep : -kStep, step));
          if (t) (i % 2 == 0 ? s.more : s.less) = i % 2 == 0 ? *t - q.base.makespan : q.base.makespan - *t;
          return {};
        }
        i -= slopes;
        topology::Platform p = q.platform;
        for (std::uint32_t l = 0; l < p.fabric.link_count(); ++l)
          if (links.link_class[l] == classes[i]) p.fabric.scale_link(LinkId(l), 2);
        auto options = q.options;
        options.critical_path = options.wait_states = false;
        WEFT_ASSIGN(const auto r, again(q, p, options));
        out.classes[i].makespan = makespan_of(r);
        return {};
      },
      on_fewer_threads));
  return out;
}

}  // namespace weft::predict
