#include "cli/flags/export_flag.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <utility>

#include "core/quantity_text.hpp"

namespace weft::cli {

// "FORMAT:OUT" as it is parsed, before outputs are opened; what is wrong with it, or nothing.
std::string ExportFlag::take(const std::string& spec) {
  const std::size_t colon = spec.find(':');
  const std::string format = spec.substr(0, colon),
                    place = colon == std::string::npos ? "" : spec.substr(colon + 1);
  if (place.empty()) return fmt::format("no place in \"{}\"; expected FORMAT:OUT", spec);
  if (format == "perfetto") {
    perfetto_ = place;
  } else if (format == "paraver") {
    const std::string name = place.ends_with(".prv") ? place.substr(0, place.size() - 4) : place;
    prv_ = name + ".prv";
    pcf_ = name + ".pcf";
    row_ = name + ".row";
  } else {
    if (!place_.empty() && format != format_)
      return "one format for other tools at a time beside perfetto and paraver";
    format_ = format;
    place_ = place;
  }
  return {};
}

void ExportFlag::add(CLI::App& app, CommonOptions& common) {
  common_ = &common;
  // CLI11 calls the check as it parses, before the outputs are opened.
  auto* const exported = app.add_option("--export", given_,
                                        "the replay in its own time, for other tools, once for each format: "
                                        "perfetto (FILE for ui.perfetto.dev), "
                                        "paraver (NAME.prv, .pcf, .row), " +
                                            traces::described_names(traces::timed_exports()) + " [none]")
                             ->type_name("FORMAT:OUT")
                             ->allow_extra_args(false)
                             ->check([this](const std::string& spec) { return take(spec); });
  for (const auto& [flag, path] :
       {std::pair("--export perfetto", &perfetto_), std::pair("--export paraver", &prv_),
        std::pair("--export paraver (.pcf)", &pcf_), std::pair("--export paraver (.row)", &row_)})
    common.outputs->add(flag, path);
  app.add_option("--ranks", ranks_, "only these ranks for perfetto and paraver: 0-15,32 [all]")
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
    WEFT_ASSIGN(const Duration d, parse_duration(from_time_, "--from-time"));
    t.from = SimTime(d);
  }
  if (!to_time_.empty()) {
    WEFT_ASSIGN(const Duration d, parse_duration(to_time_, "--to-time"));
    t.to = SimTime(d);
  }
  if (t.to < t.from)
    return usage_error("--to-time is before --from-time", to_time_, "a time after " + from_time_);
  return t;
}

Result<void> ExportFlag::open(replay::ReplayOptions& options, std::uint32_t ranks) {
  if (!perfetto_.empty() || !prv_.empty()) {
    WEFT_ASSIGN(auto which, chosen(ranks));
    collector_.emplace(ranks, std::move(which));
    collector_->attach(options);
  } else if (!ranks_.empty() || !from_time_.empty() || !to_time_.empty()) {
    return usage_error("--ranks, --from-time and --to-time choose for perfetto and paraver alone",
                       given_.front(), "--export perfetto:FILE or paraver:NAME");
  }
  if (place_.empty()) return {};
  WEFT_ASSIGN(out_, traces::open_timed_export(format_, place_));
  options.on_op = [this, drawn = std::move(options.on_op)](RankId rank, std::uint64_t op, SimTime begin,
                                                           SimTime end) {
    if (drawn) drawn(rank, op, begin, end);
    if (times_.size() <= rank.index()) times_.resize(rank.index() + std::size_t{1});
    auto& of_rank = times_[rank.index()];
    if (of_rank.size() <= op) of_rank.resize(op + 1);
    of_rank[op] = {begin.time_since_epoch().count(), end.time_since_epoch().count()};
  };
  return {};
}

Result<void> ExportFlag::write_timeline(traces::TraceReader& trace, const predict::RunFacts& facts,
                                        const std::vector<HostId>& placement) {
  trace.rewind();
  WEFT_ASSIGN(const report::Timeline timeline, collector_->finish(trace, facts.result->makespan));
  if (timeline.spans_left_out + timeline.messages_left_out > 0)
    std::fputs(fmt::format(
                   "note: the export holds the first {} operations and messages; {} and {} more are left out "
                   "(--ranks, --from-time and --to-time choose)\n",
                   show_count(static_cast<double>(report::TimelineOptions{}.limit)),
                   show_count(static_cast<double>(timeline.spans_left_out)),
                   show_count(static_cast<double>(timeline.messages_left_out)))
                   .c_str(),
               stderr);
  if (!perfetto_.empty())
    WEFT_TRY(common_->outputs->write(
        "--export perfetto",
        report::perfetto(timeline, fmt::format("{} on {}", predict::short_name(facts.trace),
                                               predict::platform_label(*facts.platform)))));
  if (prv_.empty()) return {};
  std::map<HostId, std::uint32_t> nodes;
  std::vector<std::uint32_t> node_of_rank;
  node_of_rank.reserve(placement.size());
  for (const HostId h : placement) node_of_rank.push_back(nodes.try_emplace(h, nodes.size()).first->second);
  const report::Paraver p = report::paraver(timeline, node_of_rank, trace.communicators());
  WEFT_TRY(common_->outputs->write("--export paraver", p.prv));
  WEFT_TRY(common_->outputs->write("--export paraver (.pcf)", p.pcf));
  return common_->outputs->write("--export paraver (.row)", p.row);
}

Result<void> ExportFlag::write(traces::TraceReader& trace, const predict::RunFacts& facts,
                               const std::vector<HostId>& placement) {
  if (collector_) WEFT_TRY(write_timeline(trace, facts, placement));
  if (out_) WEFT_TRY(out_->write(trace, times_));
  return {};
}

}  // namespace weft::cli
