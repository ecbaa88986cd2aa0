#include "cli/flags/export_flag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/tell.hpp"
#include "core/of_flag.hpp"
#include "core/printable.hpp"
#include "core/quantity_text.hpp"
#include "topology/placement/locality.hpp"

namespace weft::cli {

using report::ReplayExport;

// "FORMAT:OUT" as it is parsed, before outputs are opened; what is wrong with it, or nothing.
std::string ExportFlag::take(const std::string& spec) {
  const std::size_t colon = spec.find(':');
  const std::string format = spec.substr(0, colon);
  std::string place = colon == std::string::npos ? "" : spec.substr(colon + 1);
  if (place.empty()) return fmt::format("no place in \"{}\"; expected FORMAT:OUT", spec);
  auto made = report::make_replay_export(format, std::move(place));
  if (!made) return fmt::format("unknown format \"{}\"; expected {}", format, made.error().expected);
  exports_.push_back(std::move(made).value());
  for (std::string& file : exports_.back()->places())
    common_->outputs->add("--export " + format, &places_.emplace_back(std::move(file)),
                          Outputs::Opened::kByVerb);
  return {};
}

void ExportFlag::add(CLI::App& app, CommonOptions& common) {
  common_ = &common;
  // CLI11 calls the check as it parses, before the outputs are opened.
  auto* const exported =
      app.add_option("--export", given_,
                     "the replay in its own time, for other tools, once for each output: " +
                         traces::described_names(report::replay_exports()) + " [none]")
          ->type_name("FORMAT:OUT")
          ->allow_extra_args(false)
          ->check([this](const std::string& spec) { return take(spec); });
  app.add_option("--ranks", ranks_, "only these ranks for viewers: 0-15,32 [all]")
      ->type_name("SET")
      ->needs(exported);
  app.add_option("--from-time", from_time_, "... without what ended before [0]")
      ->type_name("TIME")
      ->needs(exported);
  app.add_option("--to-time", to_time_, "... without what began after [the end]")
      ->type_name("TIME")
      ->needs(exported);
}

Result<report::TimelineOptions> ExportFlag::chosen(std::uint32_t ranks) const {
  report::TimelineOptions t;
  if (!ranks_.empty()) {
    WEFT_ASSIGN(t.ranks, report::parse_rank_set(ranks_, ranks, "--ranks"));
  }
  if (!from_time_.empty()) {
    WEFT_ASSIGN(const Duration d, of_flag(parse_duration(from_time_, "--from-time")));
    t.from = SimTime(d);
  }
  if (!to_time_.empty()) {
    WEFT_ASSIGN(const Duration d, of_flag(parse_duration(to_time_, "--to-time")));
    t.to = SimTime(d);
  }
  if (t.to < t.from)
    return usage_error("--to-time is before --from-time", to_time_, "a time after " + from_time_);
  return t;
}

Result<void> ExportFlag::open(replay::ReplayOptions& options, const topology::Fabric& fabric,
                              const std::vector<HostId>& placement) {
  const auto ranks = static_cast<std::uint32_t>(placement.size());
  const auto some = [this](ReplayExport::Shows what) {
    return std::ranges::any_of(exports_, [what](const auto& e) { return e->shows() == what; });
  };
  const auto chooses =
      std::ranges::find_if(exports_, [](const auto& e) { return e->shows() <= ReplayExport::Shows::kCalls; });
  if (chooses != exports_.end()) {
    WEFT_ASSIGN(auto which, chosen(ranks));
    which.calls = some(ReplayExport::Shows::kCalls);
    which.beside = (*chooses)->places().front();
    collector_.emplace(ranks, std::move(which), fabric, placement, options);
    collector_->attach(options);
  } else if (!ranks_.empty() || !from_time_.empty() || !to_time_.empty()) {
    return not_supported(fmt::format("--ranks, --from-time and --to-time for --export {}", given_.front()),
                         "an export for a viewer, such as perfetto:FILE or paraver:NAME");
  }
  const bool matches = some(ReplayExport::Shows::kEverything);
  if (matches || some(ReplayExport::Shows::kTimes)) ops_.attach(options, matches);
  for (const auto& e : exports_) WEFT_TRY(e->open());
  return {};
}

Result<report::Timeline> ExportFlag::timeline(traces::TraceReader& trace, Duration makespan) {
  if (!collector_) return report::Timeline();
  trace.rewind();
  WEFT_ASSIGN(report::Timeline t, collector_->finish(trace, makespan));
  if (!t.load.unknown.empty()) tell("note: the export has no load of links: {}\n", t.load.unknown);
  if (t.load.left_out > 0)
    tell("note: the export has the load of the {} busiest links; {} more carried something\n",
         t.load.links.size(), show_count(static_cast<double>(t.load.left_out)));
  return t;
}

Result<void> ExportFlag::write(traces::TraceReader& trace, const predict::RunFacts& facts,
                               const std::vector<HostId>& placement, std::vector<std::string>& warnings) {
  if (exports_.empty()) return {};
  WEFT_ASSIGN(report::Timeline drawn, timeline(trace, facts.result->makespan));
  report::add_path(drawn, facts.result->path);
  const std::vector<std::uint32_t> node_of_rank = topology::nodes_of(facts.platform->fabric, placement);
  std::vector<std::string> found;
  const report::Replayed run{
      trace,
      fmt::format("{} on {}", predict::trace_label(facts), predict::platform_label(*facts.platform)),
      node_of_rank,
      drawn,
      ops_.ops(),
      facts,
      &found};
  for (const auto& e : exports_) {
    found.clear();
    WEFT_TRY(e->write(run));
    const std::string place = e->places().front();
    for (const std::string& w : found)
      warnings.push_back(fmt::format("{}: {}", is_standard_output(place) ? "stdout" : place, w));
  }
  if (common_->outputs->take_standard_output() && !common_->quiet)
    for (const std::string& w : warnings) tell("weft replay: warning: {}\n", printable(w));
  return {};
}

}  // namespace weft::cli
