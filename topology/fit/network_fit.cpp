#include "topology/fit/network_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "topology/fit/median.hpp"

namespace weft::topology::fit {
namespace {

constexpr double kMaxBytes = 1e15;
constexpr double kLeastTime = 1e-15;  // s; no call and no message takes nothing
// What grows slower than this part of the one-way time is noise of the calls taken away, not a bandwidth.
constexpr double kLeastSlope = 0.1;
constexpr double kRounding = 1e-9;  // relative

using Points = std::map<std::string, std::vector<DataPoint>>;  // by experiment

Result<void> add_csv(const Measurements& d, const NetworkFitOptions& o, Points& points) {
  const auto size = d.find({"msg_size", "size", "bytes"}), time = d.find({"duration", "seconds", "time"});
  if (!size || !time)
    return bad_input(d.file() + ":1:1", "columns of no known kind",
                     fmt::format("{}", fmt::join(d.columns(), ",")),
                     "experiment,msg_size,duration [,cluster] or size,duration (copies within a host)");
  const auto experiment = d.find({"experiment", "function"}), cluster = d.find({"cluster"});
  std::set<std::string> clusters;
  for (std::size_t r = 0; r < d.rows(); ++r) {
    if (cluster) {
      clusters.emplace(d.text(r, *cluster));
      if (!o.cluster.empty() && d.text(r, *cluster) != o.cluster) continue;
    }
    WEFT_ASSIGN(const double x, d.number(r, *size, 0, kMaxBytes));
    WEFT_ASSIGN(const double y, d.number(r, *time, kLeastTime, 1e6));
    std::string name = experiment ? std::string(d.text(r, *experiment)) : "local";
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    if (name.starts_with("mpi_")) name.erase(0, 4);
    points[name].push_back({x, name == "pingpong" ? y / 2 : y});
  }
  if (cluster && o.cluster.empty() && clusters.size() > 1)
    return bad_input(d.file(), "measurements of several clusters", {},
                     fmt::format("--cluster NAME with one of {}", fmt::join(clusters, ", ")));
  if (cluster && !o.cluster.empty() && clusters.count(o.cluster) == 0)
    return bad_input(d.file(), "no such cluster", o.cluster,
                     fmt::format("one of {}", fmt::join(clusters, ", ")));
  return {};
}

Result<Points> points_of(const std::vector<Measurements>& data, const NetworkFitOptions& o) {
  Points points;
  for (const Measurements& d : data) {
    if (d.format() == Measurements::Format::kCsv) {
      WEFT_TRY(add_csv(d, o, points));
      continue;
    }
    for (std::size_t r = 0; r < d.rows(); ++r) {
      WEFT_ASSIGN(const double size, d.number(r, 0, 0, kMaxBytes));
      // A rate may be so small that it is printed as 0.
      const bool rate = d.format() == Measurements::Format::kOsuBandwidth;
      WEFT_ASSIGN(const double value, d.number(r, 1, rate ? 0 : kLeastTime * 1e6, 1e15));
      if (rate) {
        if (size > 0 && value > 0) points["stream"].push_back({size, size / (value * 1e6)});
      } else {
        points["pingpong"].push_back({size, value * 1e-6});
      }
    }
  }
  return points;
}

std::vector<DataPoint> part(const std::vector<DataPoint>& all, double lo, double hi) {
  std::vector<DataPoint> out;
  for (const DataPoint& p : all)
    if (p.x >= lo && p.x < hi) out.push_back(p);
  return out;
}

// Largest measured size whose call is shorter than half a transfer; -1 if every call is short. Of repeated calls the
// median counts. Error: no call is short, not even the smallest.
Result<std::int64_t> find_eager_limit(const char* call, const std::vector<DataPoint>& calls,
                                      std::span<const LineSegment> one_way, const std::string& file) {
  std::map<double, std::vector<double>> seconds;  // by size
  for (const DataPoint& p : calls) seconds[p.x].push_back(p.y);
  std::int64_t waits = -1;  // the smallest size from which on every call waits
  for (auto at = seconds.rbegin(); at != seconds.rend(); ++at) {
    const auto size = static_cast<std::int64_t>(at->first);
    if (median(at->second) < 0.5 * evaluate(one_way, at->first)) return waits < 0 ? -1 : size;
    waits = size;
  }
  return bad_input(file,
                   fmt::format("every {} takes at least half of its message: no eager limit is seen", call),
                   fmt::format("{} B and larger", waits), "--eager-limit BYTES, or smaller messages");
}

// "from: ..." of a segment, and its line. What a replay takes is 0 where that is lower: a flat one is written so.
std::string segment_text(std::string_view name, const LineSegment& s, double lowered_by) {
  std::string out = fmt::format("  {} {{ ", name);
  if (s.from > 0) out += fmt::format("from: \"{:.0f}B\" ", std::ceil(s.from));
  const double lowered = s.intercept - lowered_by, intercept = s.slope > 0 ? lowered : std::max(0.0, lowered);
  out += fmt::format("intercept: \"{:.5g}us\"", intercept == 0 ? 0.0 : intercept * 1e6);  // which may be -0
  if (s.slope != 0) out += fmt::format(" per_byte: \"{:.5g}ps\"", s.slope * 1e12);
  return out + " }\n";
}

}  // namespace

std::string NetworkFit::textproto() const {
  std::string s;
  if (!transfer.empty() && bandwidth_unknown)
    s += fmt::format(
        "# The factors are of a route with {:.5g} us latency in all. The messages were too small to show its "
        "bandwidth.\n",
        options.latency * 1e6);
  else if (!transfer.empty())
    s += fmt::format(
        "# The factors are of a route with {:.5g} us latency in all and {:.5g} GB/s at its narrowest link.\n",
        options.latency * 1e6, options.bandwidth / 1e9);
  else if (!stream.empty())
    s += fmt::format(
        "# Measured between two hosts: the narrowest link of the route has set: \"bw={:.5g}GB/s\" (in "
        "topology {{ }}).\n",
        options.bandwidth / 1e9);
  s += "mpi {\n";
  const bool limited = options.eager_limit >= 0;
  if (limited) s += fmt::format("  eager_limit: \"{}B\"\n", options.eager_limit);
  // Beyond the limit a blocking call waits for its message, which the transfer accounts for.
  const auto calls = [&](std::string_view name, const std::vector<LineSegment>& list, double lowered_by) {
    const double end = limited ? static_cast<double>(options.eager_limit) + 1 : kMaxBytes;
    for (const LineSegment& c : list)
      if (c.from < end) s += segment_text(name, c, lowered_by);
    if (limited && !list.empty())
      s += fmt::format("  {} {{ from: \"{:.0f}B\" intercept: \"0\" }}\n", name, end);
  };
  calls("send_cost", send, 0);
  for (const LineSegment& c : isend) s += segment_text("isend_cost", c, 0);
  calls("recv_cost", recv, recv_lowered_by);
  for (const LineSegment& t : transfer) {
    s += "  transfer { ";
    if (t.from > 0) s += fmt::format("from: \"{:.0f}B\" ", std::ceil(t.from));
    s += fmt::format(
        "latency_factor: \"{:.5g}\" bandwidth_factor: \"{:.5g}\" }}\n", t.intercept / options.latency,
        t.slope > 0 && !bandwidth_unknown ? std::min(1.0, 1 / (t.slope * options.bandwidth)) : 1.0);
  }
  for (const LineSegment& c : local) s += segment_text("local_transfer", c, 0);
  const double first = limited ? static_cast<double>(options.eager_limit) + 1 : 0;
  const auto under_load = [&](std::string_view name, const std::vector<LineSegment>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i + 1 < list.size() && list[i + 1].from <= first) continue;
      LineSegment c = list[i];
      c.from = std::max(c.from, first);
      // The wait for a poll is a replay's own; what is below 0 shortens the transfer.
      if (c.intercept <= options.poll_interval) c.intercept = std::min(c.intercept, 0.0);
      s += segment_text(name, c, 0);
    }
  };
  under_load("loaded_transfer", loaded);
  under_load("loaded_local_transfer", loaded_local);
  return s + "}\n";
}

Result<NetworkFit> fit_network(const std::vector<Measurements>& data, const NetworkFitOptions& options,
                               const std::vector<Measurements>& loaded) {
  NetworkFit out;
  out.options = options;
  const auto has_cluster = [](const Measurements& d) { return d.find({"cluster"}).has_value(); };
  if (!options.cluster.empty() && std::ranges::none_of(data, has_cluster) &&
      std::ranges::none_of(loaded, has_cluster))
    return bad_input(data.empty() ? "" : data.front().file(), "rows have no cluster to choose by",
                     options.cluster, "a column cluster");
  WEFT_ASSIGN(Points points, points_of(data, options));
  if (points.empty())
    return bad_input(data.empty() ? "" : data.front().file(), "no measurement of a message", {}, "rows");
  for (const auto& [name, list] : points) {
    const bool known = name == "pingpong" || name == "send" || name == "isend" || name == "recv" ||
                       name == "local" || name == "stream";
    if (known)
      out.read.emplace_back(name, list.size());
    else
      out.ignored.push_back(name);
  }
  SegmentOptions how;
  how.max_segments = options.max_segments;
  how.min_intercept = 0;
  const auto segments_of = [&](const std::string& name, double below) -> Result<std::vector<LineSegment>> {
    const auto at = points.find(name);
    if (at == points.end()) return std::vector<LineSegment>();
    auto r = fit_segments(part(at->second, 0, below), how);
    if (!r) r.error().where = name;
    return r;
  };
  const double all = std::numeric_limits<double>::infinity();
  WEFT_ASSIGN(out.local, segments_of("local", all));
  WEFT_ASSIGN(out.one_way, segments_of("pingpong", all));
  WEFT_ASSIGN(out.isend, segments_of("isend", all));
  WEFT_ASSIGN(out.stream, segments_of("stream", all));
  if (!loaded.empty()) {
    WEFT_ASSIGN(Points under_load, points_of(loaded, options));
    const auto line = [&](const char* name) -> Result<std::vector<LineSegment>> {
      const auto at = under_load.find(name);
      if (at == under_load.end()) return std::vector<LineSegment>();
      SegmentOptions free = how;
      free.min_intercept = -1e300;  // the largest messages are slower than a line through small ones says
      auto r = fit_segments(at->second, free);
      if (!r) r.error().where = std::string("loaded ") + name;
      return r;
    };
    WEFT_ASSIGN(out.loaded, line("pingpong"));
    WEFT_ASSIGN(out.loaded_local, line("local"));
    if (out.loaded.empty() && out.loaded_local.empty())
      return bad_input(loaded.front().file(), "no message under load", {},
                       "experiments pingpong or local (size,duration: copies within a host)");
  }
  if (out.options.bandwidth == 0)
    for (const DataPoint& p : points["stream"])
      out.options.bandwidth = std::max(out.options.bandwidth, p.x / p.y);
  if (out.one_way.empty()) {
    if (points.count("send") + points.count("isend") + points.count("recv") > 0)
      return bad_input(data.front().file(), "calls without a ping-pong", {},
                       "experiment pingpong too, or OSU latency or IMB PingPong output");
    return out;
  }
  // A receive measured alone shows the limit as a send does: beyond it, it waits for all of its message.
  for (const char* call : {"send", "recv"})
    if (out.options.eager_limit < 0 && points.count(call) > 0) {
      WEFT_ASSIGN(out.options.eager_limit,
                  find_eager_limit(call, points[call], out.one_way, data.front().file()));
      out.found_eager_limit = true;
    }
  const double limit = out.options.eager_limit >= 0 ? static_cast<double>(out.options.eager_limit) + 1 : all;
  out.send_as_isend = points.count("send") == 0 && points.count("isend") > 0;
  WEFT_ASSIGN(out.send, segments_of(out.send_as_isend ? "isend" : "send", limit));
  WEFT_ASSIGN(out.recv, segments_of("recv", limit));

  // What is left of the one-way time on either side of the limit.
  const std::vector<DataPoint>& one_way = points["pingpong"];
  const auto rest = [&](double lo, double hi, double lowered_by) -> Result<std::vector<LineSegment>> {
    std::vector<DataPoint> left = part(one_way, lo, hi);
    std::vector<double> reference;
    for (DataPoint& p : left) {
      reference.push_back(p.y);
      if (lo > 0) continue;
      if (!out.send.empty()) p.y -= evaluate(out.send, p.x);
      if (!out.recv.empty()) p.y -= std::max(0.0, evaluate(out.recv, p.x) - lowered_by);
    }
    SegmentOptions mine = how;
    mine.reference = reference;
    mine.min_intercept = out.options.latency;
    mine.min_slope = out.options.bandwidth > 0 ? 1 / out.options.bandwidth : 0;
    for (const double b : options.breaks)
      if (b > lo && b < hi) mine.breaks.push_back(b);
    // Breaks were given, none of them on this side: one line.
    if (!options.breaks.empty() && mine.breaks.empty()) mine.max_segments = 1;
    auto r = fit_segments(std::move(left), mine);
    if (!r) r.error().where = lo > 0 ? "pingpong beyond the eager limit" : "pingpong up to the eager limit";
    return r;
  };
  const bool two_sides = limit != all && !part(one_way, limit, all).empty();
  const bool small_side = !part(one_way, 0, limit).empty();
  const auto fit_transfer = [&]() -> Result<void> {
    out.transfer.clear();
    out.recv_lowered_by = 0;
    if (small_side) {
      if (!out.recv.empty() && out.options.latency > 0) {
        // The intercept that the data ask for, unconstrained.
        const double asked = out.options.latency;
        out.options.latency = -1e300;
        WEFT_ASSIGN(const auto unbound, rest(0, limit, 0));
        out.options.latency = asked;
        const double per_byte = out.options.bandwidth > 0 ? 1 / out.options.bandwidth : 0;
        double missing = 0;
        for (const LineSegment& u : unbound)
          missing = std::max(missing, asked + per_byte * u.from - evaluate({&u, 1}, u.from));
        if (missing > kRounding * std::ranges::min(one_way, {}, &DataPoint::y).y) {
          double most = 0;  // a receive may not fall below nothing anywhere
          for (const LineSegment& r : out.recv) most = std::max(most, r.intercept + r.slope * r.from);
          out.recv_lowered_by = std::min(missing, most);
        }
      }
      WEFT_ASSIGN(out.transfer, rest(0, limit, out.recv_lowered_by));
    }
    if (two_sides) {
      WEFT_ASSIGN(auto large, rest(limit, all, 0));
      if (small_side) large.front().from = limit;
      out.transfer.insert(out.transfer.end(), large.begin(), large.end());
    }
    return {};
  };
  WEFT_TRY(fit_transfer());
  for (const DataPoint& p : one_way) out.largest = std::max(out.largest, p.x);
  if (out.options.bandwidth == 0) {
    const LineSegment& last = out.one_way.back();
    if (out.largest * last.slope >= last.intercept)
      for (const LineSegment& t : out.transfer)
        if (t.slope > kLeastSlope * last.slope)
          out.options.bandwidth = std::max(out.options.bandwidth, 1 / t.slope);
    out.bandwidth_unknown = out.options.bandwidth == 0;
    // No line is flatter than a link of that bandwidth; with its slope at the bound it has another intercept.
    const double least = out.bandwidth_unknown ? 0 : (1 - kRounding) / out.options.bandwidth;
    if (std::ranges::any_of(out.transfer, [&](const LineSegment& t) { return t.slope < least; }))
      WEFT_TRY(fit_transfer());
  }
  if (out.options.latency == 0) {
    double least = all;
    for (const LineSegment& t : out.transfer)
      if (t.intercept > 0) least = std::min(least, t.intercept);
    out.options.latency = least == all ? 1e-9 : least;
  }
  return out;
}

}  // namespace weft::topology::fit
