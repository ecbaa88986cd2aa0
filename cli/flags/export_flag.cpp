#include "cli/flags/export_flag.hpp"

namespace weft::cli {

void ExportFlag::add(CLI::App& app) {
  app.add_option("--export", spec_,
                 "the replay in its own time, for other tools: " +
                     traces::described_names(traces::timed_exports()) + " [none]")
      ->type_name("FORMAT:OUT");
}

Result<void> ExportFlag::open(replay::ReplayOptions& options) {
  if (!asked()) return {};
  const std::size_t colon = spec_.find(':');
  if (colon == std::string::npos || colon + 1 == spec_.size())
    return usage_error("--export needs a format and a place", spec_,
                       "FORMAT:OUT with FORMAT " + traces::supported_names(traces::timed_exports()));
  WEFT_ASSIGN(out_, traces::open_timed_export(spec_.substr(0, colon), spec_.substr(colon + 1)));
  options.on_op = [this](RankId rank, std::uint64_t op, SimTime begin, SimTime end) {
    if (times_.size() <= rank.index()) times_.resize(rank.index() + std::size_t{1});
    auto& of_rank = times_[rank.index()];
    if (of_rank.size() <= op) of_rank.resize(op + 1);
    of_rank[op] = {begin.time_since_epoch().count(), end.time_since_epoch().count()};
  };
  return {};
}

Result<void> ExportFlag::write(traces::TraceReader& trace) {
  if (!asked()) return {};
  return out_->write(trace, times_);
}

}  // namespace weft::cli
