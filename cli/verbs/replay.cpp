// weft replay T... --on PLATFORM [--with OTHER...]: one trace, or several jobs side by side, on one platform.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/flags/export_flag.hpp"
#include "cli/flags/replay_flags.hpp"
#include "cli/flags/report_flag.hpp"
#include "cli/flags/values.hpp"
#include "cli/text_width.hpp"
#include "cli/verb.hpp"
#include "core/threads/parallel.hpp"
#include "predict/path_details.hpp"
#include "predict/sensitivity.hpp"
#include "replay/collective_calls.hpp"
#include "replay/collectives/rules.hpp"
#include "report/html/run_collector.hpp"
#include "report/jobs.hpp"
#include "report/replay_json.hpp"
#include "report/replay_text.hpp"
#include "report/why/brief.hpp"
#include "topology/placement/placement.hpp"
#include "traces/joined_trace.hpp"

namespace weft::cli::verb_replay {
namespace {

struct Options {
  CommonOptions common;
  ReplayFlags flags;
  std::vector<std::string> traces;
  std::string on;
  std::string map{topology::kDefaultMap};
  std::vector<std::string> with, with_map;
  bool all_links = false;
  bool per_rank = false;
  bool critical_path = false;
  bool wait_states = false;
  bool sensitivity = false;
  bool explain = false;
  bool verify = false;
  std::string rank_links = "utilization";
  ReportFlag report;
  std::shared_ptr<ExportFlag> exported = std::make_shared<ExportFlag>();
};

// The progress of several replays as one line, whichever threads they run on.
class TogetherDone {
 public:
  TogetherDone(ProgressMode mode, std::uint64_t ops) : ops_(ops), line_(mode, "replay", ops, "ops") {}
  void expect_more(std::uint64_t ops) {
    const std::lock_guard lock(mutex_);
    line_.expect(ops_ += ops);
  }
  // Of one of them.
  [[nodiscard]] std::function<void(std::uint64_t, std::uint64_t)> on_progress() {
    const std::lock_guard lock(mutex_);
    return [this, &mine = each_.emplace_back()](std::uint64_t done, std::uint64_t) {
      const std::lock_guard one_at_a_time(mutex_);
      line_.update(done_ += mine.more(done));
    };
  }
  void finish() { line_.finish(); }

 private:
  std::mutex mutex_;
  std::uint64_t ops_, done_ = 0;
  std::deque<Furthest> each_;  // where they are
  Progress line_;
};

// One job: its trace and where it runs.
struct Job {
  Job(std::vector<std::string> of, std::string where) : paths(std::move(of)), map(std::move(where)) {}
  std::vector<std::string> paths;
  std::string map;
  std::uint32_t first_rank = 0, ranks = 0;  // its first one among those of all jobs
  topology::Placement placement;
  replay::ReplayResult alone;
  std::unique_ptr<traces::TraceReader> opened;  // by place_jobs(), for the run of all together
  std::string mpi_version;                      // of its header
  [[nodiscard]] std::string_view rules() const { return replay::rules_of_library(mpi_version); }
};

// Places the jobs one after the other, each on hosts that those before it left free.
Result<void> place_jobs(const Options& o, const topology::Platform& platform, std::deque<Job>& jobs) {
  std::vector<bool> taken;  // empty: no job is placed yet
  std::uint32_t ranks = 0;  // of the jobs before
  for (Job& job : jobs) {
    WEFT_ASSIGN(job.opened, traces::open_trace(job.paths, o.flags.from));
    job.first_rank = ranks;
    job.ranks = job.opened->header().ranks;
    ranks += job.ranks;
    job.mpi_version = job.opened->header().mpi_version;
    WEFT_ASSIGN(job.placement, topology::place(platform, job.ranks, job.map, o.common.seed, taken));
    taken.resize(platform.fabric.host_count(), false);
    for (const HostId h : job.placement.hosts) taken[h.index()] = true;
  }
  return {};
}

// "hpl.weft", or of several "hpl + halo".
std::string name_of(const std::deque<Job>& jobs) {
  if (jobs.size() == 1) return jobs.front().paths.front();
  std::string out;
  for (const Job& job : jobs)
    out += (out.empty() ? "" : " + ") + std::string(predict::short_path(job.paths.front()));
  return out;
}

// What went wrong, with what was replayed where nothing says at which place.
template <class T>
Result<T> named(Result<T> result, const std::string& trace, const topology::Platform& platform) {
  if (!result && result.error().where.empty())
    result.error().where = fmt::format("{} on {}", trace, predict::platform_label(platform));
  return result;
}

// `rules`: those that choose the algorithms of collectives of all jobs together. With others the times would not compare.
Result<void> replay_alone(const Options& o, const topology::Platform& platform,
                          const replay::ReplayOptions& options, const std::string& rules, TogetherDone& done,
                          Job& job) {
  WEFT_ASSIGN(const auto trace, traces::open_trace(job.paths, o.flags.from));
  auto mine = options;
  mine.on_progress = done.on_progress();
  mine.collective_rules = rules.empty() ? "default" : rules;
  mine.first_rank = job.first_rank;
  WEFT_ASSIGN(job.alone, named(replay::replay(*trace, platform, job.placement.hosts, mine), job.paths.front(),
                               platform));
  return {};
}

// Whether the collectives of all go by the same library's rules, unless others are asked for.
bool of_one_library(const std::deque<Job>& jobs) {
  return std::ranges::all_of(jobs, [&](const Job& job) { return job.rules() == jobs.front().rules(); });
}

// A single job is replayed as it is; several are joined. `open(job)`: its trace.
template <class Jobs, class Open>
Result<std::unique_ptr<traces::TraceReader>> join_jobs(Jobs& jobs, Open open) {
  if (jobs.size() == 1) return open(jobs.front());
  std::vector<traces::JobTrace> parts;
  for (auto& job : jobs) {
    WEFT_ASSIGN(auto trace, open(job));
    parts.push_back({fmt::format("job {}", parts.size() + 1), std::move(trace)});
  }
  std::string library = of_one_library(jobs) ? jobs.front().mpi_version : "";
  WEFT_ASSIGN(auto joined, traces::JoinedTrace::join(std::move(parts), std::move(library)));
  return std::unique_ptr<traces::TraceReader>(std::move(joined));
}

Result<std::unique_ptr<traces::TraceReader>> open_jobs(const Options& o, const std::deque<Job>& jobs) {
  return join_jobs(jobs, [&](const Job& job) { return traces::open_trace(job.paths, o.flags.from); });
}

// The replay once more as it is without checks: what they cost, and whether it comes out the same.
Result<void> compare_plain(const Options& o, const std::deque<Job>& jobs, const predict::Question& question,
                           double wall_s, report::VerifiedRun& verified) {
  WEFT_ASSIGN(const auto again, open_jobs(o, jobs));
  const auto start = std::chrono::steady_clock::now();
  WEFT_ASSIGN(const auto plain,
              replay::replay(*again, question.platform, question.placement, question.options));
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  if (wall.count() > 0) verified.time_ratio = wall_s / wall.count();
  if (plain.makespan == question.base.makespan) return {};
  ++verified.checks.wrong;
  verified.checks.told.push_back(fmt::format("without --verify the makespan is {} ps, with it {} ps",
                                             plain.makespan.count(), question.base.makespan.count()));
  return {};
}

// What was replayed for one answer.
struct Runs {
  replay::ReplayResult result;  // of all jobs together
  std::optional<report::VerifiedRun> verified;
  std::chrono::duration<double> wall{0};  // of that run
  // Makespans on networks that have less to wait for: an ideal one, one without contention, one without that and latency.
  std::array<std::optional<Duration>, 3> less;
  std::vector<Duration> ideal_regions;
};

// Number `which` of Runs::less.
Result<void> replay_with_less(const Options& o, const topology::Platform& platform,
                              const std::vector<HostId>& placement, const replay::ReplayOptions& options,
                              const std::deque<Job>& jobs, std::size_t which, TogetherDone& done, Runs& out) {
  WEFT_ASSIGN(const auto trace, open_jobs(o, jobs));
  auto without = which == 0 ? options : predict::without_contention(options);
  without.on_progress = done.on_progress();
  without.ideal_network = which == 0;
  without.what_if.no_latency = which == 2;
  WEFT_ASSIGN(const auto found, replay::replay(*trace, platform, placement, without));
  if (found.finished) out.less[which] = found.makespan;
  if (which == 0)
    for (const auto& g : found.regions) out.ideal_regions.push_back(g.longest);
  return {};
}

// Whether the ideal network needs a replay of its own, which is known when the main one gives up or is over.
class IdealWanted {
 public:
  // `wanted` stays, whoever tells otherwise later.
  void tell(bool wanted) {
    int unknown = kUnknown;
    state_.compare_exchange_strong(unknown, wanted ? kYes : kNo);
    state_.notify_all();
  }
  [[nodiscard]] bool wait() const {
    state_.wait(kUnknown);
    return state_ == kYes;
  }

  // At its end the main replay is over, however it ends: nobody waits for ever.
  class Over {
   public:
    explicit Over(IdealWanted& wanted) : wanted_(wanted) {}
    ~Over() { wanted_.tell(false); }
    Over(const Over&) = delete;
    Over& operator=(const Over&) = delete;

   private:
    IdealWanted& wanted_;
  };

 private:
  static constexpr int kUnknown = 0, kYes = 1, kNo = 2;
  std::atomic<int> state_ = kUnknown;
};

// The run of all together comes first, then each job alone, if there are several, then `less` of those to compare with, the
// ideal network last: the first run knows it, most times.
Result<void> replay_all(const Options& o, const topology::Platform& platform,
                        const std::vector<HostId>& placement, const replay::ReplayOptions& options,
                        const replay::ReplayOptions& together, traces::TraceReader& trace,
                        std::deque<Job>& jobs, std::size_t less, Runs& out) {
  if (o.verify) out.verified.emplace();
  const std::size_t alone = jobs.size() > 1 ? jobs.size() : 0;
  // Whether the ideal network is replayed is not known yet.
  const std::uint64_t ops = trace.totals().ops;
  TogetherDone done(o.common.progress_mode(), ops * (1 + (alone > 0 ? 1 : 0) + (less > 0 ? less - 1 : 0)));
  const auto rules =
      replay::name_of_rules(options.collective_rules, platform.mpi.collective_rules, trace.header());
  IdealWanted ideal;
  WEFT_TRY(run_parallel(
      1 + alone + less, o.common.threads,
      [&](std::size_t i) -> Result<void> {
        if (i == alone + less && less > 0) {
          if (!ideal.wait()) return {};
          done.expect_more(ops);
        }
        if (i > alone)
          return replay_with_less(o, platform, placement, options, jobs, alone + less - i, done, out);
        if (i > 0) return replay_alone(o, platform, options, rules.name, done, jobs[i - 1]);
        const IdealWanted::Over over(ideal);
        auto mine = together;
        mine.on_no_ideal = [&] { ideal.tell(true); };
        mine.on_progress = done.on_progress();
        const auto start = std::chrono::steady_clock::now();
        if (out.verified) {
          WEFT_ASSIGN(out.result,
                      named(replay::replay_verified(trace, platform, placement, mine, out.verified->checks),
                            name_of(jobs), platform));
        } else {
          WEFT_ASSIGN(out.result,
                      named(replay::replay(trace, platform, placement, mine), name_of(jobs), platform));
        }
        out.wall = std::chrono::steady_clock::now() - start;
        mine.on_progress(ops, ops);
        if (out.result.ideal.known) {
          out.less[0] = out.result.ideal.makespan;
          out.ideal_regions = out.result.ideal.regions;
        }
        return {};
      },
      tell_fewer_threads));
  // The main one was tried again, where there was no memory beside others.
  if (less > 0 && out.result.finished && !out.less[0])
    WEFT_TRY(replay_with_less(o, platform, placement, options, jobs, 0, done, out));
  done.finish();
  if (!of_one_library(jobs) && rules.from == replay::RulesFrom::kDefault)
    out.result.warnings.push_back(
        "the jobs were recorded with several MPI libraries, or not all with one: the default algorithms are "
        "taken for the collectives of all, together and alone; --collectives names others");
  for (const Job& job : jobs)
    out.result.warnings.insert(out.result.warnings.end(), job.placement.notes.begin(),
                               job.placement.notes.end());
  return {};
}

std::vector<report::JobFacts> facts_of(const std::deque<Job>& jobs) {
  std::vector<report::JobFacts> out;
  for (const Job& job : jobs) {
    const std::set<HostId> hosts(job.placement.hosts.begin(), job.placement.hosts.end());
    out.push_back({job.paths.front(), job.map, job.first_rank, job.ranks,
                   static_cast<std::uint32_t>(hosts.size()), &job.alone});
  }
  return out;
}

// What the terminal shows, and --json and --csv. `several`: null for a job that is alone.
Result<void> tell(const Options& o, const predict::RunFacts& facts, const Runs& runs,
                  const std::vector<report::JobFacts>* several) {
  const auto order =
      o.rank_links == "waited" ? predict::LinkOrder::kWaited : predict::LinkOrder::kUtilization;
  if (o.explain && several != nullptr)
    o.common.print(report::brief_text(facts, text_width()) + "\n" +
                   report::jobs_text(facts, *several, false, text_width()));
  else
    o.common.print(o.explain ? report::brief_text(facts, text_width())
                             : report::replay_text(facts, {o.all_links, order, text_width(), several}));
  const report::VerifiedRun* const checked = runs.verified ? &*runs.verified : nullptr;
  if (checked != nullptr) o.common.print(report::verification_text(*checked));
  if (!o.common.json.empty())
    WEFT_TRY(
        o.common.write_json(report::replay_json(facts, {o.all_links, order, o.per_rank, several, checked})));
  return o.common.csv.empty() ? Result<void>() : o.common.write_csv(report::replay_csv(runs.result));
}

// What shows in the JSON, or in tables that --explain leaves out.
Result<void> refuse_unseen(const Options& o) {
  if (!o.common.json.empty()) return {};
  WEFT_TRY(refuse_unused(*o.common.app, {"--per-rank"}, "replay without --json", "--json FILE"));
  if (!o.explain) return {};
  return refuse_unused(*o.common.app, {"--all-links", "--rank-links"}, "replay --explain without --json",
                       "--json FILE, or no --explain");
}

Result<void> run(const Options& o) {
  WEFT_TRY(refuse_unseen(o));
  if (!o.with_map.empty() && o.with_map.size() != o.with.size())
    return usage_error("--with-map must be given once for each --with, or not at all",
                       std::to_string(o.with_map.size()), std::to_string(o.with.size()));
  WEFT_ASSIGN(auto options, o.flags.options(o.common.seed));
  WEFT_ASSIGN(const auto platform, topology::load_platform(o.on, o.flags.changes(o.common.seed)));
  std::deque<Job> jobs;
  jobs.emplace_back(o.traces, o.map);
  for (std::size_t i = 0; i < o.with.size(); ++i)
    jobs.emplace_back(std::vector{o.with[i]}, o.with_map.empty() ? o.map : o.with_map[i]);
  WEFT_TRY(place_jobs(o, platform, jobs));
  // What place_jobs() opened: to open a text is to parse all of it.
  WEFT_ASSIGN(const auto trace, join_jobs(jobs, [](Job& job) -> Result<std::unique_ptr<traces::TraceReader>> {
                return std::move(job.opened);
              }));
  std::vector<HostId> placement;
  for (const Job& job : jobs)
    placement.insert(placement.end(), job.placement.hosts.begin(), job.placement.hosts.end());

  const bool in_detail = o.explain || o.sensitivity || o.report.wanted();
  auto together = options;
  together.critical_path = o.critical_path || in_detail;
  together.wait_states = o.wait_states || o.report.wanted();
  WEFT_TRY(o.exported->open(together, platform.fabric, placement));
  std::optional<report::RunCollector> seen;
  if (o.report.wanted())
    seen.emplace(*trace, platform, placement, together, report::PageBudget{}).attach(together);
  // The path's efficiencies need the ideal network; parts of transfers the others, too.
  Runs runs;
  const std::size_t less = in_detail ? runs.less.size() : o.critical_path ? 1 : 0;
  WEFT_TRY(replay_all(o, platform, placement, options, together, *trace, jobs, less, runs));

  // Each of its replays opens the trace, on a thread of its own.
  std::mutex counting;
  std::uint64_t begun = 0;
  Progress asked(o.common.progress_mode(), "replay with changes", 0, "replays");
  const predict::Question question{platform, placement, options, runs.result, [&] {
                                     {
                                       const std::lock_guard lock(counting);
                                       asked.update(++begun);
                                     }
                                     return open_jobs(o, jobs);
                                   }};
  if (runs.verified) WEFT_TRY(compare_plain(o, jobs, question, runs.wall.count(), *runs.verified));
  std::optional<predict::PathDetails> details;
  if (in_detail && runs.result.finished) {
    WEFT_ASSIGN(details, predict::path_details(question));
  }
  std::optional<predict::Sensitivity> sensitivity;
  if (o.sensitivity && runs.result.finished) {
    WEFT_ASSIGN(sensitivity, predict::sensitivity_of(question, o.common.threads, tell_fewer_threads));
  }
  asked.finish();

  predict::RunFacts facts;
  facts.map = o.map;
  facts.trace = name_of(jobs);
  facts.joined = jobs.size() > 1;
  facts.routing = std::string(platform.fabric.routing().name());
  facts.changes = o.flags.told(o.common.seed);
  facts.ranks = trace->header().ranks;
  facts.totals = trace->totals();
  facts.platform = &platform;
  facts.options = &options;
  facts.result = &runs.result;
  facts.ideal = runs.less[0];
  facts.ideal_regions = std::move(runs.ideal_regions);
  facts.uncontended = runs.less[1];
  facts.without_latency = runs.less[2];
  if (details) facts.path_details = &*details;
  if (sensitivity) facts.sensitivity = &*sensitivity;
  facts.wall_s = runs.wall.count();
  facts.peak_rss_bytes = peak_rss_bytes();

  const std::vector<report::JobFacts> job_facts = facts_of(jobs);
  const auto* several = jobs.size() > 1 ? &job_facts : nullptr;
  // Before the result is told, which has what exports warn of; it is told even if one of them fails.
  std::vector<std::string> of_exports;
  const Result<void> exported = o.exported->write(*trace, facts, placement, of_exports);
  runs.result.warnings.insert(runs.result.warnings.end(), of_exports.begin(), of_exports.end());
  WEFT_TRY(tell(o, facts, runs, several));
  WEFT_TRY(exported);
  if (seen) {
    std::vector<report::PageRun> shown(1);
    WEFT_ASSIGN(shown.front(), seen->finish(*trace, facts));
    shown.front().jobs = several;
    WEFT_TRY(o.report.write(report::page_of("replay", std::move(shown))));
  }
  if (std::string found = runs.result.finding(); !found.empty())
    return Error{ErrorCode::kFinding, facts.trace, std::move(found), {}, {}};
  if (std::string found = runs.verified ? runs.verified->checks.finding() : ""; !found.empty())
    return Error{ErrorCode::kFinding, facts.trace, std::move(found), {}, {}};
  return {};
}

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("TRACE", o->traces, "a trace: one file, or all files of a format with one file per rank")
      ->required();
  app.add_option("--on", o->on, "platform: .textproto file, built-in name or family:key=value,...")
      ->type_name("PLATFORM")
      ->required();
  add_map(app, o->map);
  app.add_option(
         "--with", o->with,
         "another job that starts at the same time on hosts that are still free; once for each. Every job is "
         "also replayed alone on its hosts, and its slowdown is told")
      ->type_name("TRACE")
      ->allow_extra_args(false);
  app.add_option("--with-map", o->with_map,
                 "placement of the other job, once for each --with [that of --map]")
      ->type_name("MAP")
      ->allow_extra_args(false);
  o->flags.add(app);
  o->flags.add_routing(app);
  app.add_flag("--all-links", o->all_links,
               "all links, not only the first of the ranking; likewise those that several jobs cross");
  app.add_option(
         "--rank-links", o->rank_links,
         with_default("which links come first: those used most, or those that messages waited for longest",
                      o->rank_links))
      ->check(CLI::IsMember({"utilization", "waited"}))
      ->type_name("utilization|waited");
  app.add_flag(
      "--critical-path", o->critical_path,
      "why it takes that long: the chain of computations and messages that makes the makespan, in parts that "
      "add up to it; what would shorten it; efficiencies, by one more replay, on an ideal network, where "
      "what ranks do "
      "depends on when messages come");
  app.add_flag(
      "--explain", o->explain,
      "why it takes that long in a few sentences instead of tables (with --critical-path in the JSON, and by "
      "three more replays computation by kernel, contention by whose messages, and what of transfer is "
      "contention and latency); with --wait-states and --sensitivity theirs, too");
  app.add_flag(
      "--sensitivity", o->sensitivity,
      "what the makespan depends on, with all of --critical-path and --explain: how much more latency a "
      "message costs 1, 2 and "
      "5 %, what 1 % more latency, bandwidth and computation do, and each class of links at twice the "
      "speed; by some twenty to sixty more replays");
  app.add_flag("--wait-states", o->wait_states,
               "where ranks waited for others that were late, by rank and region, and whose delays in what "
               "region that is due to, directly and handed on by ranks that waited themselves");
  app.add_flag("--verify", o->verify,
               "checks while it replays, by accounts of its own: the rates of every solve against the "
               "conditions of the "
               "sharing model, every message's bytes against its rates, every link's sum, matching, and the "
               "order of events; "
               "tells what it checked and how much longer that took (one more replay)");
  o->exported->add(app, o->common);
  o->report.add(app, o->common);
  app.add_flag("--per-rank", o->per_rank, "times of every rank in the JSON, even of more than 4096");
  add_common(app, o->common);
  return with_outputs(o->common, [o] { return run(*o); });
}

}  // namespace weft::cli::verb_replay
