// weft search halo --grid 4x2 --on PLATFORM: the order of a halo exchange's messages that finishes soonest, and
// how sure that is.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/flags/journal_flags.hpp"
#include "cli/flags/model_flag.hpp"
#include "cli/flags/platform_flags.hpp"
#include "cli/flags/report_flag.hpp"
#include "cli/flags/values.hpp"
#include "cli/interrupt.hpp"
#include "cli/search_points.hpp"
#include "cli/verb.hpp"
#include "core/counted.hpp"
#include "core/files/atomic_file.hpp"
#include "core/files/input_file.hpp"
#include "core/of_flag.hpp"
#include "core/quantity_text.hpp"
#include "core/units.hpp"
#include "network/sharing.hpp"
#include "report/search_report.hpp"
#include "schedule/placement.hpp"
#include "schedule/search.hpp"
#include "topology/placement/placement.hpp"
#include "topology/platform/platform.hpp"

namespace weft::cli::verb_search {
namespace {

struct Options {
  CommonOptions common;
  ReportFlag report;
  std::string kind;
  std::string grid;
  std::string pattern;
  std::string platform;
  PlatformFlags flags;
  JournalFlags journal;
  std::string map;  // empty: the default
  std::string place = "given";
  std::string mode = "async";
  std::string model;
  std::string bytes = "300MiB";
  std::string edge_bytes;
  std::string corner_bytes;
  std::string svg;
  std::string histogram;
  bool periodic = false;
  bool diagonals = false;
  bool exhaustive = false;
  std::optional<std::uint64_t> evaluations;
  std::optional<std::uint64_t> nodes;
};

struct Pattern {
  schedule::Exchange exchange;
  std::string name;
};

Result<Pattern> read_pattern(const Options& o) {
  Pattern p;
  if (!o.pattern.empty()) {
    WEFT_TRY(refuse_unused(
        *o.common.app, {"--grid", "--periodic", "--diagonals", "--bytes", "--edge-bytes", "--corner-bytes"},
        "search --pattern, which says who sends what to whom,", "either --grid with its flags or --pattern"));
    WEFT_ASSIGN(const std::string text, read_text(o.pattern));
    WEFT_ASSIGN(p.exchange, schedule::parse_pattern(text, o.pattern));
    p.name = "pattern " + o.pattern;
    return p;
  }
  if (o.grid.empty()) return usage_error("no exchange", "", "--grid XxY[xZ] or --pattern FILE.csv");
  WEFT_ASSIGN(schedule::Grid grid, of_flag(schedule::parse_grid(o.grid, "--grid")));
  grid.periodic = o.periodic;
  grid.diagonals = o.diagonals;
  // "64KiBx128KiB": x never occurs in a unit.
  std::string_view rest = o.bytes;
  std::uint32_t given = 0;
  while (true) {
    const std::size_t end = std::min(rest.find('x'), rest.size());
    if (given == grid.dimensions)
      return usage_error("--bytes: more sizes than dimensions", o.bytes,
                         fmt::format("1 or {}", grid.dimensions));
    WEFT_ASSIGN(grid.face[given++], of_flag(parse_bytes(rest.substr(0, end), "--bytes")));
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  if (given == 1) {
    grid.face.fill(grid.face[0]);
  } else if (given != grid.dimensions) {
    return usage_error("--bytes: fewer sizes than dimensions", o.bytes,
                       fmt::format("1 or {}", grid.dimensions));
  }
  grid.edge = grid.face[0];
  grid.corner = grid.face[0];
  if (!o.edge_bytes.empty()) {
    WEFT_ASSIGN(grid.edge, of_flag(parse_bytes(o.edge_bytes, "--edge-bytes")));
  }
  if (!o.corner_bytes.empty()) {
    WEFT_ASSIGN(grid.corner, of_flag(parse_bytes(o.corner_bytes, "--corner-bytes")));
  }
  if ((!o.edge_bytes.empty() || !o.corner_bytes.empty()) && !o.diagonals)
    return usage_error("--edge-bytes and --corner-bytes are of messages that only --diagonals adds", "",
                       "--diagonals");
  if (!o.edge_bytes.empty() && grid.dimensions < 2)
    return usage_error("--edge-bytes: a line of ranks has no edges", o.edge_bytes, "--bytes");
  if (!o.corner_bytes.empty() && grid.dimensions < 3)
    return usage_error("--corner-bytes: a grid of fewer than three dimensions has no corners", o.corner_bytes,
                       "--edge-bytes, which are its diagonals");
  p.exchange = schedule::halo_exchange(grid);
  if (p.exchange.messages.empty())
    return usage_error("--grid: a grid without neighbours", o.grid, "two ranks or more");
  p.name = fmt::format("halo {}{}{}", o.grid, o.periodic ? " periodic" : "",
                       o.diagonals ? " with edges and corners" : "");
  return p;
}

// All that the result of a search depends on.
predict::KeyMaker key_of(const Options& o, const schedule::Exchange& e,
                         const schedule::PlacementOptions& options, const predict::PointsPlan& plan) {
  const auto& [mode, exhaustive, exhaustive_limit, seed, given_evaluations, given_nodes, given_sample] =
      options.search;
  const auto [evaluations, nodes, sample] = schedule::search_limits(options.search, e);
  predict::KeyMaker key("search/6", plan.journal->version(), plan.journal->files());
  key.add("ranks", std::uint64_t{e.ranks});
  for (const schedule::Message& m : e.messages)
    key.add("message", fmt::format("{} {} {}", m.src, m.dst, m.bytes.value()));
  predict::add_platform(key, o.platform, o.flags.changes(o.common.seed));
  key.add_map(o.map).add("place", o.place).add("model", options.model);
  key.add("mode", static_cast<std::uint64_t>(mode)).add("exhaustive", std::uint64_t{exhaustive});
  key.add("limit", exhaustive_limit).add("seed", seed).add("evaluations", evaluations);
  key.add("nodes", nodes).add("sample", sample);
  return key;
}

// Which limits are less than usual, though nobody asked for that. Empty: none.
std::string lowered_limits(const schedule::SearchOptions& o, const schedule::Exchange& e) {
  const schedule::SearchLimits used = schedule::search_limits(o, e);
  const schedule::SearchLimits usual;
  std::vector<std::string> limits;
  std::vector<std::string> flags;
  if (!o.evaluations && used.evaluations < usual.evaluations) {
    limits.push_back(fmt::format("annealing tried at most {}, not {}", counted(used.evaluations, "schedule"),
                                 show_count(static_cast<double>(usual.evaluations))));
    flags.emplace_back("--evaluations");
  }
  if (!o.nodes && used.nodes < usual.nodes) {
    limits.push_back(fmt::format("branch and bound at most {}, not {}", counted(used.nodes, "node"),
                                 show_count(static_cast<double>(usual.nodes))));
    flags.emplace_back("--nodes");
  }
  if (limits.empty()) return {};
  return fmt::format("a large exchange ({}, {}): {}, so that the search takes minutes; {} {} for more",
                     counted(e.messages.size(), "message"), counted(e.ranks, "rank"),
                     fmt::join(limits, ", and "), fmt::join(flags, " and "),
                     flags.size() == 1 ? "asks" : "ask");
}

// One route for each pair of hosts. What hosts with several network cards do is no part of the routing's name: it is to blame
// where cards by pair would leave one route.
Result<void> check_routes(const topology::Platform& platform, const Options& o) {
  const topology::Routing& routing = platform.fabric.routing();
  if (routing.scope() == topology::RouteScope::kPair) return {};
  topology::PlatformChanges by_pair = o.flags.changes(o.common.seed);
  std::erase_if(by_pair.set, [](const std::string& s) { return s.starts_with("nic="); });
  by_pair.set.emplace_back("nic=pair");
  const auto paired = topology::load_platform(o.platform, by_pair);
  if (paired && paired->fabric.routing().scope() == topology::RouteScope::kPair)
    return not_supported(fmt::format("a search under nic={}",
                                     routing.scope() == topology::RouteScope::kLoad ? "adaptive" : "message"),
                         "nic=pair, one network card for each pair of hosts");
  return not_supported(fmt::format("a search under routing {}", routing.name()),
                       "a routing with one route for each pair of hosts");
}

Result<void> search(Options& o) {
  const auto begin = std::chrono::steady_clock::now();
  if (o.kind != "halo") return usage_error("unknown kind of search", o.kind, "one of: halo");
  WEFT_ASSIGN(const Pattern pattern, read_pattern(o));
  WEFT_ASSIGN(const topology::Platform platform,
              topology::load_platform(o.platform, o.flags.changes(o.common.seed)));
  const topology::Fabric& fabric = platform.fabric;
  const schedule::Exchange& e = pattern.exchange;
  WEFT_TRY(check_routes(platform, o));
  if (fabric.sockets_joined())
    return not_supported("a search where the sockets of a host share links",
                         "hosts without socket_bandwidth");
  if (e.most_sends() > 64)
    return not_supported(fmt::format("a rank with {} messages", e.most_sends()),
                         "at most 64 messages of one rank");

  schedule::PlacementOptions options;
  options.search.mode = o.mode == "barrier" ? schedule::Mode::kBarrier : schedule::Mode::kAsync;
  options.search.exhaustive = o.exhaustive;
  options.search.seed = o.common.seed;
  options.search.evaluations = o.evaluations;
  options.search.nodes = o.nodes;
  options.every_class = o.exhaustive;
  const std::string model(network::model_name(o.model, fabric));
  options.model = model;
  if (o.exhaustive && e.schedules() > 4e9)
    return not_supported(
        fmt::format("enumeration of {:.3g} schedules", e.schedules()),
        "at most 4e9 with --exhaustive; without it the search proves by bounds where it can");

  const bool placing = o.place == "search";
  if (placing && !o.map.empty())
    return usage_error("--map with --place search, which finds where the ranks run", o.map,
                       "--place given, or no --map");
  if (placing && platform.ranks_per_host > 1)
    return not_supported(fmt::format("--place search with {} ranks on a host", platform.ranks_per_host),
                         "--place given with a --map, or --set host.ranks=1");
  if (!o.svg.empty() && fabric.pcie() == nullptr)
    return not_supported("--svg: a picture of a platform without PCIe trees",
                         "cs-storm or another PCIe node");
  const auto takes_no_time = usage_error("no message takes any time there: every order is as good",
                                         o.platform, "messages with bytes between ranks on several hosts");
  if (std::ranges::all_of(e.messages, [](const schedule::Message& m) { return m.bytes.value() == 0; }))
    return takes_no_time;
  const bool all = o.exhaustive || e.schedules() <= options.search.exhaustive_limit;
  if (all)
    WEFT_TRY(refuse_unused(*o.common.app, {"--evaluations", "--nodes"},
                           o.exhaustive ? "search --exhaustive" : "search of few enough schedules to try all",
                           "a search by annealing and bounds"));
  if (o.journal.divided() && !placing && !all)
    return not_supported("a search by bounds over processes, of which each step needs those before",
                         "--exhaustive or --place search, or one process");
  WEFT_TRY(o.journal.open(o.common, o.report.wanted() || !o.svg.empty() || !o.histogram.empty()));
  Progress progress(o.common.progress_mode(), "search", 0, placing ? "classes" : "schedules");
  schedule::Control control;
  control.threads = o.common.threads;
  std::optional<Interrupt> interrupt;
  std::optional<SearchPoints> kept;
  if (o.journal.wanted()) {
    control.stop = o.journal.plan().stop;
    control.kept = &kept.emplace(o.journal.plan(), key_of(o, e, options, o.journal.plan())).pieces();
  } else {
    control.stop = interrupt.emplace().flag();
  }
  control.on_threads = tell_fewer_threads;
  control.progress = [&](double done, double, double best_s) {
    progress.update(static_cast<std::uint64_t>(done), fmt::format("best {}", show_seconds(best_s)));
  };
  std::unique_ptr<Progress> counted;
  if (!placing && all) {
    counted = std::make_unique<Progress>(o.common.progress_mode(), "search",
                                         static_cast<std::uint64_t>(e.schedules()), "schedules");
    control.progress = [&](double done, double, double best_s) {
      counted->update(static_cast<std::uint64_t>(done), fmt::format("best {}", show_seconds(best_s)));
    };
  }

  report::SearchFacts facts;
  facts.pattern = pattern.name;
  facts.model = model;
  facts.mode = options.search.mode;
  facts.platform = &platform;
  schedule::Workload workload;
  schedule::SearchResult result;
  schedule::PlacementResult placement;
  if (placing) {
    WEFT_ASSIGN(placement, schedule::search_placement(e, fabric, fabric.rank_hosts(), options, control));
    facts.placement = &placement;
    facts.workload = &placement.workload;
    facts.result = &placement.search;
    facts.host = placement.classes[placement.best].host;
  } else {
    WEFT_ASSIGN(
        topology::Placement placed,
        topology::place(platform, e.ranks, o.map.empty() ? topology::kDefaultMap : o.map, o.common.seed));
    facts.host = std::move(placed.hosts);
    facts.warnings = std::move(placed.notes);
    WEFT_ASSIGN(workload, schedule::place_exchange(e, fabric, facts.host, schedule::messages_share(model)));
    if (report::message_time(workload) == 0) return takes_no_time;
    WEFT_ASSIGN(const auto oracle, schedule::make_rate_oracle(model, workload, fabric));
    result = schedule::search_schedule(workload, *oracle, options.search, control);
    facts.workload = &workload;
    facts.result = &result;
  }
  interrupt.reset();
  progress.finish();
  if (counted) counted->finish();
  if (kept) WEFT_TRY(kept->outcome());
  if (o.journal.silent()) {
    o.common.print(o.journal.shard_text(kept->done()));
    if (kept->done().interrupted) return interrupted(o.journal.stopped(kept->done()));
    return {};
  }
  const auto ended = [&](std::string why) {
    if (!kept) return interrupted(std::move(why));
    return interrupted(fmt::format("{}; journal {} keeps {} pieces for the same command", why,
                                   o.journal.plan().journal->folder(), kept->finished()));
  };
  const bool proven = placing ? placement.proven : result.proof != schedule::Proof::kNone;
  const bool stopped = facts.result->interrupted || (placing && placement.interrupted);
  if (facts.result->best.empty()) return ended("interrupted before the first schedule");
  if (from_seconds(facts.result->best_s) == Duration::max())
    return bad_input({}, "the shortest schedule would end beyond the range of simulated time", o.platform,
                     "messages that arrive within 106 days");
  WEFT_ASSIGN(const auto oracle, schedule::make_rate_oracle(model, *facts.workload, fabric));
  schedule::Evaluator evaluator(*facts.workload, *oracle);
  facts.best = evaluator.timeline(facts.result->best, facts.mode);
  std::optional<Error> why;
  if (stopped)
    why = ended(proven ? "interrupted after the proof: not all that was asked for was looked at"
                       : "interrupted: the best schedule so far is not the answer");
  if (why) facts.error = why->what;
  const bool unproven = placing
                            ? std::ranges::any_of(placement.classes,
                                                  [](const schedule::PlacementClass& c) {
                                                    return c.searched && c.proof == schedule::Proof::kNone;
                                                  })
                            : !proven;
  if (std::string lowered = lowered_limits(options.search, e); unproven && !all && !why && !lowered.empty())
    facts.warnings.push_back(std::move(lowered));
  facts.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();

  std::string text = report::search_text(facts);
  for (const std::string& w : facts.warnings) text += "warning: " + w + "\n";
  o.common.print(text);
  if (!o.common.json.empty()) WEFT_TRY(o.common.write_json(report::search_json(facts)));
  if (!o.common.csv.empty()) WEFT_TRY(o.common.write_csv(report::search_csv(facts)));
  if (o.report.wanted())
    WEFT_TRY(o.report.write(report::page_of_document(
        "search", {std::string(report::last_line(report::search_text(facts)))}, report::search_json(facts))));
  if (!o.histogram.empty()) WEFT_TRY(o.common.outputs->write("--histogram", report::histogram_csv(facts)));
  if (!o.svg.empty()) {
    WEFT_ASSIGN(const std::string picture, report::search_svg(facts));
    WEFT_TRY(o.common.outputs->write("--svg", picture));
  }
  if (why) return *std::move(why);
  return {};
}

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("KIND", o->kind, "what is exchanged: halo, a message to each neighbour of a rank")
      ->required()
      ->type_name("halo");
  app.add_option("--grid", o->grid,
                 "ranks of a regular grid: 4x2, 2x2x2; rank = x + X y + X Y z [or --pattern]")
      ->type_name("XxY[xZ]");
  app.add_option("--pattern", o->pattern,
                 "instead of a grid: CSV with a header line src,dst,bytes (64KiB) or src,dst,bytes_B")
      ->type_name("FILE");
  app.add_flag("--periodic", o->periodic, "the grid wraps around");
  app.add_flag("--diagonals", o->diagonals, "edges and corners too: 8 neighbours in 2-D, 26 in 3-D");
  app.add_option("--bytes", o->bytes,
                 with_default("size of a face, or one per dimension: 64KiBx128KiB", o->bytes))
      ->type_name("SIZE");
  app.add_option("--edge-bytes", o->edge_bytes, "size of an edge [that of the first face]")
      ->type_name("SIZE");
  app.add_option("--corner-bytes", o->corner_bytes, "size of a corner [that of the first face]")
      ->type_name("SIZE");
  app.add_option("--on", o->platform, "platform: .textproto, built-in name or family:key=value,...")
      ->required()
      ->type_name("PLATFORM");
  o->flags.add(app);
  app.add_option("--mode", o->mode,
                 with_default("async: a rank sends its next message when the one before has arrived; "
                              "barrier: all ranks wait for each other",
                              o->mode))
      ->check(word({"async", "barrier"}))
      ->type_name("async|barrier");
  add_model(app, o->model);
  app.add_option("--map", o->map, with_default(topology::kMaps, topology::kDefaultMap))->type_name("MAP");
  app.add_option("--place", o->place,
                 with_default("given: as --map says; search: the best placement too", o->place))
      ->check(word({"given", "search"}))
      ->type_name("given|search");
  app.add_flag("--exhaustive", o->exhaustive,
               "all schedules whatever it takes; with --place search, every class");
  const schedule::SearchLimits usual;
  app.add_option(
         "--evaluations", o->evaluations,
         with_default("schedules that annealing may try; fewer for large exchanges", usual.evaluations))
      ->transform(count(1))
      ->type_name("N");
  app.add_option("--nodes", o->nodes,
                 with_default("nodes of each branch and bound; fewer for large exchanges", usual.nodes))
      ->transform(count(1))
      ->type_name("N");
  add_output(app, o->common, "--svg", o->svg,
             "picture of the PCIe trees with the congested links of each step (- = stdout)");
  add_output(app, o->common, "--histogram", o->histogram,
             "CSV of the distinct times and how many schedules take each (- = stdout)");
  o->journal.add(app);
  o->report.add(app, o->common);
  add_common(app, o->common);
  return with_outputs(o->common, [o] { return search(*o); });
}

}  // namespace weft::cli::verb_search
