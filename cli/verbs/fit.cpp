// weft fit dgemm|network FILE...: measurements to the coefficients of a platform file, with their residuals.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/flags/values.hpp"
#include "cli/text_width.hpp"
#include "cli/verb.hpp"
#include "core/counted.hpp"
#include "core/files/atomic_file.hpp"
#include "core/of_flag.hpp"
#include "core/quantity_text.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"
#include "topology/fit/kernel_fit.hpp"
#include "topology/fit/network_fit.hpp"
#include "topology/platform/compute_reader.hpp"
#include "traces/kernel.hpp"

namespace weft::cli::verb_fit {
namespace {

namespace fit = topology::fit;
using nlohmann::ordered_json;
using Align = report::Table::Align;

constexpr std::size_t kRowsForPeople = 80;
constexpr double kMisfit = 2;  // so many times the scatter is worth a word

struct Options {
  CommonOptions common;
  std::string what;
  std::vector<std::string> files;
  std::string output;
  std::string cluster;
  // dgemm
  std::string kernel = "dgemm", model = "linear", from_date, to_date;
  bool mean = false;
  std::vector<std::string> parts;
  // network
  std::string latency, bandwidth, eager_limit, poll_interval;
  std::vector<std::string> loaded;
  std::vector<std::string> breaks;
  std::size_t segments = fit::NetworkFitOptions{}.max_segments;
};

Result<void> deliver(const Options& o, const std::string& text, const std::string& fragment,
                     ordered_json json, const std::string& csv) {
  o.common.print(text);
  if (o.output.empty())
    o.common.print("\n" + fragment);
  else
    WEFT_TRY(o.common.outputs->write("--output", fragment));
  json["textproto"] = fragment;
  if (!o.common.json.empty()) WEFT_TRY(o.common.write_json(report::json_text(json)));
  if (!o.common.csv.empty()) WEFT_TRY(o.common.write_csv(csv));
  return {};
}

std::string date_of(double unix_seconds) {
  const std::chrono::sys_days day{std::chrono::days(static_cast<int>(std::floor(unix_seconds / 86400)))};
  const std::chrono::year_month_day d{day};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(d.year()), static_cast<unsigned>(d.month()),
                     static_cast<unsigned>(d.day()));
}

// What a CPU's fit is in JSON and CSV: name and value, in one order.
std::vector<std::pair<std::string, double>> numbers_of(const fit::CpuFit& c) {
  std::vector<std::pair<std::string, double>> out;
  out.reserve(16);
  for (const auto& term : topology::KernelPolynomial::kTerms)
    out.emplace_back(fmt::format("{}_s", term.name), c.time.*term.coefficient);
  out.emplace_back("s_per_flop", c.per_flop);
  for (const auto& term : topology::KernelPolynomial::kTerms)
    out.emplace_back(fmt::format("noise_{}_s", term.name), c.noise_time.*term.coefficient);
  out.insert(out.end(), {{"noise", c.noise},
                         {"r2", c.r2},
                         {"mean_relative_residual", c.mean_relative},
                         {"max_relative_residual", c.max_relative},
                         {"spread", c.spread},
                         {"scatter", c.scatter},
                         {"misfit", c.misfit}});
  return out;
}

// "128:96-191", or "128" alone for just that k.
Result<fit::FitPart> part_of(const std::string& text) {
  const std::string flag = "--for-k";
  const auto colon = text.find(':');
  fit::FitPart p;
  WEFT_ASSIGN(
      p.k, of_flag(parse_integer(std::string_view(text).substr(0, colon), 1, std::int64_t{1} << 40, flag)));
  p.bounds = {p.k, p.k};
  if (colon == std::string::npos) return p;
  WEFT_ASSIGN(p.bounds, of_flag(topology::parse_size_range(text.substr(colon + 1), flag)));
  if (!p.bounds.holds(p.k)) return usage_error(flag, text, "bounds that hold K");
  return p;
}

// What the fit is off by, where that is not the scatter of the calls.
std::string misfit_text(const fit::KernelFit& f) {
  std::string text;
  const auto add = [&](const fit::CpuFit& c, std::string_view which) {
    if (c.repeated == 0) {
      text += fmt::format(
          "every shape{} was called once: what is left of the fit ({} rms) may be misfit, so no noise is "
          "written; call "
          "each shape several times\n",
          which, show_percent(c.misfit));
      return;
    }
    text += fmt::format("calls of one shape{} scatter by {}, the fit is off by {} (rms over {} shapes){}\n",
                        which, show_percent(c.scatter), show_percent(c.misfit), c.shapes,
                        c.misfit > kMisfit * c.scatter ? ": misfit, which is not written as noise" : "");
    if (c.misfit <= kMisfit * c.scatter) return;
    for (const fit::ShapeMiss& w : f.cpus.front().worst)
      if (&c == &f.mean)
        text += fmt::format("  {:.0f} x {:.0f} x {:.0f}: {:+.1f} %\n", w.m, w.n, w.k, 100 * w.deviation);
  };
  for (const fit::CpuFit& part : f.mean.parts) add(part, " with k of " + topology::text_of(part.bounds.k));
  add(f.mean, f.mean.parts.empty() ? "" : " with other k");
  return text;
}

ordered_json json_of(const fit::CpuFit& c) {
  ordered_json out = {
      {"node", c.node}, {"cpu", c.cpu}, {"host", c.host}, {"socket", c.socket}, {"rows", c.rows}};
  for (const auto& [name, value] : numbers_of(c)) out[name] = value;
  if (!c.bounds.all()) {
    out["from_k"] = c.bounds.k.from;
    if (c.bounds.k.to != topology::ShapeBounds::kUnbounded) out["to_k"] = c.bounds.k.to;
  }
  for (const fit::CpuFit& part : c.parts) out["parts"].push_back(json_of(part));
  return out;
}

// The dimensions that flops or bytes of a kernel depend on.
std::string dimensions_of(traces::Kernel kernel) {
  const auto work = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    const traces::KernelShape s{kernel, m, n, k};
    return std::pair(traces::kernel_flops(s), traces::kernel_bytes(s));
  };
  const auto base = work(20, 20, 20);
  std::string out;
  if (work(30, 20, 20) != base) out += 'm';
  if (work(20, 30, 20) != base) out += 'n';
  if (work(20, 20, 30) != base) out += 'k';
  return out;
}

// Flops over m n k of a call, in which dimensions that the kernel has not are 1; 0 where it depends on the call.
double flops_per_mnk(const fit::KernelFitOptions& how) {
  constexpr double kSize = 1e3;
  constexpr double kTerms = 0.01;  // of the flops may grow with fewer dimensions
  const auto size = [&](char name, char twice) {
    if (how.dimensions.find(name) == std::string::npos) return 1.0;
    return name == twice ? 2 * kSize : kSize;
  };
  const auto ratio = [&](char twice) {
    const double m = size('m', twice), n = size('n', twice), k = size('k', twice);
    return how.flops(m, n, k) / (m * n * k);
  };
  const double base = ratio(0);
  for (const char twice : how.dimensions)
    if (std::fabs(ratio(twice) - base) > kTerms * base) return 0;
  return base;
}

Result<void> fit_kernel(const Options& o) {
  fit::KernelFitOptions how;
  how.kernel = o.kernel;
  std::size_t k = 0;
  while (k < traces::kKernelCount && traces::kKernelNames[k] != o.kernel) ++k;
  if (k == traces::kKernelCount)
    return usage_error("--kernel is unknown", o.kernel,
                       fmt::format("one of {}", fmt::join(traces::kKernelNames, ", ")));
  const auto kernel = static_cast<traces::Kernel>(k);
  how.flops = [kernel](double m, double n, double d) {
    return traces::kernel_flops(
        {kernel, static_cast<std::int64_t>(m), static_cast<std::int64_t>(n), static_cast<std::int64_t>(d)});
  };
  how.dimensions = dimensions_of(kernel);
  how.model = o.model == "full"   ? fit::KernelModel::kFull
              : o.model == "rate" ? fit::KernelModel::kRate
                                  : fit::KernelModel::kLinear;
  if (how.model == fit::KernelModel::kRate && how.flops(20, 20, 20) == 0)
    return usage_error(fmt::format("{} has no flops", o.kernel), "--model rate", "--model linear");
  how.cluster = o.cluster;
  how.mean = o.mean;
  for (const std::string& text : o.parts) {
    WEFT_ASSIGN(const fit::FitPart p, part_of(text));
    if (!how.parts.empty() && p.bounds.from <= how.parts.back().bounds.to)
      return usage_error("--for-k overlap or do not ascend", text, "bounds in ascending order");
    how.parts.push_back(p);
  }
  if (!o.from_date.empty()) {
    WEFT_ASSIGN(how.from_time, of_flag(fit::parse_date(o.from_date, "--from-date")));
  }
  if (!o.to_date.empty()) {
    WEFT_ASSIGN(how.to_time, of_flag(fit::parse_date(o.to_date, "--to-date")));
    how.to_time += 86400;
  }
  if (o.files.size() != 1)
    return usage_error("weft fit dgemm takes one file", fmt::format("{}", o.files.size()), "1");
  WEFT_ASSIGN(const auto data, fit::Measurements::read(o.files.front()));
  WEFT_ASSIGN(const auto f, fit::fit_kernel(data, how));
  if (f.from_regressions)
    WEFT_TRY(refuse_unused(*o.common.app, {"--for-k", "--model"}, "fit dgemm of regressions",
                           "calls: m,n,k,seconds"));
  else
    WEFT_TRY(refuse_unused(*o.common.app, {"--mean"}, "fit dgemm of calls", "regressions: intercept,mnk"));

  // Rates are shown without the intercept: what a large call tends to.
  const bool by_mnk = f.from_regressions || how.model != fit::KernelModel::kRate;
  const double flops = by_mnk ? flops_per_mnk(how) : 1;
  const auto rate = [&](const fit::CpuFit& c) {
    const double s = by_mnk ? c.time.mnk : c.per_flop;
    return s > 0 ? flops / s : 0;
  };
  std::vector<report::Table::Column> columns{{"host"},      {"socket"},  {"rows"},
                                             {"intercept"}, {"per mnk"}, {"rate"}};
  if (!by_mnk) columns[4].title = "per flop";
  const bool parts = !how.parts.empty();
  if (parts) columns.insert(columns.begin() + 2, {"k"});
  if (f.named_nodes) columns.insert(columns.begin(), {"node"});
  if (f.from_regressions) {
    columns.insert(columns.end(), {{"over rows"}, {"noise/mnk"}});
  } else {
    columns.insert(columns.end(), {{"R2"}, {"mean |rel|"}, {"max |rel|"}, {"scatter"}});
  }
  report::Table table(columns);
  const auto add_one = [&](const fit::CpuFit& c, const std::string& host, const std::string& socket) {
    std::vector<std::string> row{host,
                                 socket,
                                 fmt::format("{}", c.rows),
                                 show_seconds(c.time.intercept),
                                 fmt::format("{:.5g} ps", 1e12 * (by_mnk ? c.time.mnk : c.per_flop)),
                                 flops > 0 ? show(FlopRate(rate(c))) : "-"};
    if (f.from_regressions) {
      row.push_back(show_percent(c.spread));
      row.push_back(c.time.mnk > 0 ? show_percent(c.noise_time.mnk / c.time.mnk) : "-");
    } else {
      row.push_back(fmt::format("{:.5f}", c.r2));
      row.push_back(show_percent(c.mean_relative));
      row.push_back(show_percent(c.max_relative));
      row.push_back(c.repeated > 0 ? show_percent(c.scatter) : "-");
    }
    if (parts) row.insert(row.begin() + 2, c.bounds.all() ? "others" : topology::text_of(c.bounds.k));
    if (f.named_nodes) row.insert(row.begin(), socket.empty() ? "" : fmt::format("{}", c.node));
    table.add(std::move(row));
  };
  const auto add = [&](const fit::CpuFit& c, const std::string& host, const std::string& socket) {
    for (fit::CpuFit part : c.parts) {
      part.node = c.node;
      add_one(part, host, socket);
    }
    add_one(c, host, socket);
  };
  double slowest = 1e300, fastest = 0, sum = 0, squares = 0;
  ordered_json cpus = ordered_json::array();
  std::vector<std::string> line{"host", "socket", "rows"};
  for (const auto& [name, value] : numbers_of(f.mean)) line.push_back(name);
  line.insert(line.end(), {"node", "cpu"});
  std::string csv = report::csv_line(line);
  for (std::size_t i = 0; i < f.cpus.size(); ++i) {
    const fit::CpuFit& c = f.cpus[i];
    if (i < kRowsForPeople && f.per_cpu) add(c, fmt::format("{}", c.host), fmt::format("{}", c.socket));
    const double r = rate(c);
    slowest = std::min(slowest, r);
    fastest = std::max(fastest, r);
    sum += r;
    squares += r * r;
    cpus.push_back(json_of(c));
    line = {fmt::format("{}", c.host), fmt::format("{}", c.socket), fmt::format("{}", c.rows)};
    for (const auto& [name, value] : numbers_of(c)) line.push_back(fmt::format("{}", value));
    line.insert(line.end(), {fmt::format("{}", c.node), fmt::format("{}", c.cpu)});
    csv += report::csv_line(line);
  }
  add(f.mean, "mean", "");
  const auto n = static_cast<double>(f.cpus.size());
  const double mean = sum / n,
               spread = mean > 0 ? std::sqrt(std::max(0.0, squares / n - mean * mean)) / mean : 0;
  std::string text =
      fmt::format("{} from {}: {} rows used, {} left out", o.kernel, data.file(), f.rows, f.left_out);
  if (f.last_time > 0) text += fmt::format(", {} to {}", date_of(f.first_time), date_of(f.last_time));
  text += f.from_regressions
              ? fmt::format("; {} of the regressions of each CPU\n\n", o.mean ? "mean" : "median")
              : "; least squares of relative errors\n\n";
  text += table.text(text_width());
  if (f.cpus.size() > kRowsForPeople && f.per_cpu)
    text += fmt::format("... {} CPUs more; --json FILE lists all\n", f.cpus.size() - kRowsForPeople);
  text += fmt::format("{} on {}: ", counted(f.cpus.size(), "CPU"), counted(f.hosts, "host"));
  text += flops > 0
              ? fmt::format("{} a rank on average, {} to {}, standard deviation {}\n", show(FlopRate(mean)),
                            show(FlopRate(slowest)), show(FlopRate(fastest)), show_percent(spread))
              : fmt::format("no rate, the flops of {} are not proportional to m n k\n", o.kernel);
  text +=
      f.from_regressions
          ? "noise is the file's residual columns; what the regressions missed is in them and cannot be told "
            "from scatter\n"
          : misfit_text(f);
  ordered_json json = {{"schema", "weft.fit/1"}, {"kind", "kernel"},        {"kernel", o.kernel},
                       {"rows", f.rows},         {"left_out", f.left_out},  {"mean_flops", mean},
                       {"spread", spread},       {"mean", json_of(f.mean)}, {"cpus", cpus},
                       {"warnings", f.warnings}};
  for (const std::string& w : f.warnings) text += "warning: " + w + "\n";
  return deliver(o, text, f.textproto(), std::move(json), csv);
}

// Ping-pongs do not say up to which size messages leave at once; where their time jumps may be it.
std::string unknown_eager_limit(const std::vector<LineSegment>& one_way, bool calls_measured) {
  constexpr double kJump = 0.1;
  double at = 0, before = 0, behind = 0;
  for (std::size_t i = 1; i < one_way.size(); ++i) {
    const auto time = [&](const LineSegment& s) { return s.intercept + s.slope * one_way[i].from; };
    const double was = time(one_way[i - 1]), is = time(one_way[i]);
    const double most = at > 0 ? behind / before : 1 + kJump;
    if (is > most * was) at = one_way[i].from, before = was, behind = is;
  }
  const std::string jump = at > 0 ? fmt::format("; the one-way time jumps at {:.0f} B, from {} to {}", at,
                                                show_seconds(before), show_seconds(behind))
                                  : std::string();
  return fmt::format(
      "{}, so the eager limit is not known and left out: replays take {} B{}; --eager-limit BYTES",
      calls_measured ? "no call that was measured waits for its message" : "no send or receive was measured",
      topology::MpiParameters{}.eager_limit.value(), jump);
}

Result<void> fit_network(const Options& o) {
  if (o.loaded.empty())
    WEFT_TRY(refuse_unused(*o.common.app, {"--poll-interval"}, "fit network without --loaded",
                           "--loaded FILE, of which it is"));
  fit::NetworkFitOptions how;
  how.cluster = o.cluster;
  how.max_segments = o.segments;
  if (!o.latency.empty()) {
    WEFT_ASSIGN(const Duration d, of_flag(parse_duration(o.latency, "--latency")));
    how.latency = to_seconds(d);
  }
  if (!o.bandwidth.empty()) {
    WEFT_ASSIGN(const Bandwidth b, of_flag(parse_bandwidth(o.bandwidth, "--bandwidth")));
    how.bandwidth = b.value();
  }
  if (!o.eager_limit.empty()) {
    WEFT_ASSIGN(const Bytes b, of_flag(parse_bytes(o.eager_limit, "--eager-limit")));
    how.eager_limit = b.value();
  }
  for (const std::string& text : o.breaks) {
    WEFT_ASSIGN(const Bytes b, of_flag(parse_bytes(text, "--breaks")));
    if (!how.breaks.empty() && static_cast<double>(b.value()) <= how.breaks.back())
      return usage_error("--breaks do not ascend", text, "sizes in ascending order");
    how.breaks.push_back(static_cast<double>(b.value()));
  }
  if (!o.poll_interval.empty()) {
    WEFT_ASSIGN(const Duration d, of_flag(parse_duration(o.poll_interval, "--poll-interval")));
    how.poll_interval = to_seconds(d);
  }
  std::vector<fit::Measurements> data, loaded;
  for (const auto& [files, list] : {std::pair(&o.files, &data), std::pair(&o.loaded, &loaded)})
    for (const std::string& file : *files) {
      WEFT_ASSIGN(auto one, fit::Measurements::read(file));
      list->push_back(std::move(one));
    }
  WEFT_ASSIGN(const auto f, fit::fit_network(data, how, loaded));
  std::vector<std::string> warnings;
  for (const auto* list : {&data, &loaded})
    for (const fit::Measurements& d : *list)
      if (!d.left_out().empty())
        warnings.push_back(fmt::format("{}: left out {}: only PingPong is the time of a lone message",
                                       d.file(), fmt::join(d.left_out(), ", ")));

  if (!f.transfer.empty() && f.options.eager_limit < 0)
    warnings.push_back(unknown_eager_limit(f.one_way, f.found_eager_limit));

  report::Table table({{"what", Align::kLeft},
                       {"from"},
                       {"intercept"},
                       {"per byte"},
                       {"rate"},
                       {"points"},
                       {"R2"},
                       {"mean |rel|"},
                       {"max |rel|"}});
  ordered_json lists = ordered_json::object();
  std::string csv = report::csv_line({"what", "from", "intercept_s", "per_byte_s", "points", "r2",
                                      "mean_relative_residual", "max_relative_residual"});
  const auto add = [&](const std::string& name, const std::vector<LineSegment>& list) {
    ordered_json rows = ordered_json::array();
    for (const LineSegment& s : list) {
      table.add({name, fmt::format("{:.0f} B", s.from), show_seconds(s.intercept),
                 fmt::format("{:.4g} ps", s.slope * 1e12), s.slope > 0 ? show(Bandwidth(1 / s.slope)) : "-",
                 fmt::format("{}", s.points), fmt::format("{:.4f}", s.r2), show_percent(s.mean_relative),
                 show_percent(s.max_relative)});
      csv +=
          report::csv_line({name, fmt::format("{}", s.from), fmt::format("{}", s.intercept),
                            fmt::format("{}", s.slope), fmt::format("{}", s.points), fmt::format("{}", s.r2),
                            fmt::format("{}", s.mean_relative), fmt::format("{}", s.max_relative)});
      rows.push_back({{"from", s.from},
                      {"intercept_s", s.intercept},
                      {"per_byte_s", s.slope},
                      {"points", s.points},
                      {"r2", s.r2},
                      {"mean_relative_residual", s.mean_relative},
                      {"max_relative_residual", s.max_relative}});
    }
    if (!list.empty()) lists[name] = std::move(rows);
  };
  add("one_way", f.one_way);
  add("send", f.send);
  add("isend", f.isend);
  add("recv", f.recv);
  add("transfer", f.transfer);
  add("local", f.local);
  add("stream", f.stream);
  add("loaded", f.loaded);
  add("loaded_local", f.loaded_local);
  std::string text;
  for (const auto& [name, rows] : f.read)
    text += fmt::format("{}{} x {}", text.empty() ? "read " : ", ", rows, name);
  if (!f.ignored.empty()) text += fmt::format("; not used: {}", fmt::join(f.ignored, ", "));
  text += "\n\n" + table.text(text_width());
  if (!f.transfer.empty()) {
    text += fmt::format("transfer = one_way less the calls; factors are of {}{}\n",
                        show_seconds(f.options.latency),
                        f.bandwidth_unknown ? "" : " and " + show(Bandwidth(f.options.bandwidth)));
    if (f.bandwidth_unknown)
      text += fmt::format(
          "the bandwidth cannot be known: the largest message ({}) spends less than half of its time in its "
          "bytes; "
          "measure larger ones, add a bandwidth test, or give --bandwidth\n",
          show(Bytes(static_cast<std::int64_t>(f.largest))));
    if (f.send_as_isend) text += "send was not measured: its call is taken as isend's\n";
    if (f.recv_lowered_by > 0)
      text += fmt::format("recv lowered by {}: with all of it the latency would fall below the route's\n",
                          show_seconds(f.recv_lowered_by));
    if (f.options.eager_limit >= 0)
      text += fmt::format(
          "eager limit {} B{}\n", f.options.eager_limit,
          f.found_eager_limit ? ": the largest size whose call is shorter than half its message" : "");
  } else if (!f.stream.empty()) {
    text += fmt::format("link bandwidth {}; the latency cannot be known: it needs a ping-pong too\n",
                        show(Bandwidth(f.options.bandwidth)));
  }
  ordered_json json = {
      {"schema", "weft.fit/1"},
      {"kind", "network"},
      {"latency_s", f.options.latency > 0 ? ordered_json(f.options.latency) : ordered_json()},
      {"bandwidth_Bps", f.options.bandwidth > 0 ? ordered_json(f.options.bandwidth) : ordered_json()},
      {"eager_limit", f.options.eager_limit},
      {"recv_lowered_by_s", f.recv_lowered_by},
      {"segments", lists},
      {"warnings", warnings}};
  for (const std::string& w : warnings) text += "warning: " + w + "\n";
  return deliver(o, text, f.textproto(), std::move(json), csv);
}

// What only one of the two kinds of fit looks at.
const std::vector<std::string> kKernelFlags{"--kernel",  "--model", "--from-date",
                                            "--to-date", "--mean",  "--for-k"};
const std::vector<std::string> kNetworkFlags{"--latency",  "--bandwidth", "--eager-limit",  "--breaks",
                                             "--segments", "--loaded",    "--poll-interval"};

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("WHAT", o->what, "dgemm: times of a kernel; network: times of messages and calls")
      ->check(word({"dgemm", "network"}))
      ->type_name("dgemm|network")
      ->required();
  app.add_option(
         "FILE", o->files,
         "dgemm: CSV m,n,k,seconds[,node,cpu] or regressions intercept,mnk,...; network: CSV "
         "experiment,msg_size,duration or size,duration, OSU latency and bandwidth output, IMB PingPong")
      ->required();
  add_output(app, o->common, "-o,--output", o->output, "write the platform fragment to FILE (- = stdout)");
  app.add_option("--cluster", o->cluster, "use the rows of this cluster [all]")->type_name("NAME");
  app.add_option("--kernel", o->kernel,
                 with_default("dgemm: name of the kernel that was measured", o->kernel))
      ->type_name("NAME");
  app.add_option(
         "--model", o->model,
         with_default(
             "dgemm: linear = intercept + mnk; full = + mn + mk + nk; rate = intercept + flops / rate",
             o->model))
      ->check(word({"linear", "full", "rate"}))
      ->type_name("linear|full|rate");
  app.add_option("--from-date", o->from_date,
                 "dgemm: first day of the rows to use, by their column start_time [all]")
      ->type_name("YYYY-MM-DD");
  app.add_option("--to-date", o->to_date, "dgemm: last day, likewise [all]")->type_name("YYYY-MM-DD");
  app.add_flag("--mean", o->mean, "dgemm: mean of the regressions of a CPU, not their median");
  app.add_option("--for-k", o->parts,
                 "dgemm: calls with k = K are fitted alone, for all calls with k from FROM to TO [none]")
      ->type_name("K[:FROM-TO],...")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option(
         "--loaded", o->loaded,
         "network: messages measured while all cores compute and poll, experiments pingpong and local")
      ->type_name("FILE");
  app.add_option(
         "--poll-interval", o->poll_interval,
         with_default("network: of that measurement; intercepts up to it are waiting for a poll, left out",
                      fmt::format("{:g}us", fit::NetworkFitOptions{}.poll_interval * 1e6)))
      ->type_name("TIME");
  app.add_option("--latency", o->latency, "network: latency of the platform's route [what the data show]")
      ->type_name("TIME");
  app.add_option("--bandwidth", o->bandwidth, "network: its narrowest bandwidth [what the data show]")
      ->type_name("BANDWIDTH");
  app.add_option("--eager-limit", o->eager_limit,
                 "network: largest eager payload [found from send or recv, else not known]")
      ->type_name("BYTES");
  app.add_option("--breaks", o->breaks, "network: sizes at which a segment of the transfer starts [found]")
      ->type_name("BYTES,...")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--segments", o->segments,
                 with_default("network: at most so many segments of each time, of the transfer on either "
                              "side of the eager limit",
                              o->segments))
      ->transform(count(1, 64));
  add_common(app, o->common);
  return with_outputs(o->common, [o, &app]() -> Result<void> {
    const bool kernel = o->what == "dgemm";
    WEFT_TRY(refuse_unused(app, kernel ? kNetworkFlags : kKernelFlags, "fit " + o->what));
    return kernel ? fit_kernel(*o) : fit_network(*o);
  });
}

}  // namespace weft::cli::verb_fit
