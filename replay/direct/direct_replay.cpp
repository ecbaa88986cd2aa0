#include "replay/direct/direct_replay.hpp"

#include <algorithm>
#include <utility>

#include "core/check.hpp"
#include "network/sharing.hpp"
#include "replay/event_loop.hpp"
#include "replay/sums.hpp"

namespace weft::replay {

bool DirectReplay::possible(const topology::Platform& platform, const ReplayOptions& options) {
  const bool watched = (options.on_region || options.on_message) && !options.on_again;
  return options.ranks_ahead && !options.critical_path && !options.wait_states && !options.on_op &&
         !options.on_match && !watched && platform.fabric.routing().scope() == topology::RouteScope::kPair;
}

// What a flow gets alone must be what the model gives it, and what it meets must be on its links.
DirectReplay::Flows DirectReplay::first_try(const topology::Platform& platform,
                                            const ReplayOptions& options) {
  if (platform.fabric.pcie() != nullptr || !platform.fabric.port_shares().empty()) return Flows::kShared;
  if (!network::shares_links(options.model, platform.fabric)) return Flows::kFree;
  const std::string_view model = network::model_name(options.model, platform.fabric);
  const bool max_min = model == "max-min" || model == "max-min-component";
  return max_min && !options.rtt_weights && options.accuracy == 0 ? Flows::kAlone : Flows::kShared;
}

DirectReplay::DirectReplay(traces::TraceReader& trace, const topology::Platform& platform,
                           const std::vector<HostId>& placement, const ReplayOptions& options,
                           std::unique_ptr<congestion::SharingModel> model, CollectiveChoices choices,
                           KernelClock kernels, Flows flows, Ranks::Programs programs)
    : trace_(trace),
      options_(options),
      placement_(placement),
      flows_(flows),
      ranks_(trace, std::move(programs)),
      lanes_(ranks_.count()),
      comms_(trace.communicators()),
      choices_(std::move(choices)),
      network_(platform.fabric.links().capacity, std::move(model)),
      routes_(platform.fabric),
      sockets_(platform.fabric, placement),
      starts_(messages_, network_),
      channels_(messages_, ranks_.count(), [this](std::uint32_t source) { return sends_from(source); }),
      calendar_(flows == Flows::kAlone ? platform.fabric.link_count() : 0),
      loads_(flows == Flows::kFree ? platform.fabric.link_count() : 0),
      cost_(platform.mpi, options),
      causes_(ranks_.count(), cost_.known_at_once()),
      compute_(std::move(kernels), placement, platform.fabric.host_count(), options, ranks_, agenda_),
      regions_(trace.regions().size(), ranks_.count(), options.ideal_network),
      hindsight_({}, cost_, comms_, ranks_, causes_, agenda_),
      run_ahead_(ranks_, compute_, *this, causes_, agenda_, cost_,
                 !cost_.known_at_once() && options.join_computations),
      series_({routes_, network_, cost_, traffic_, platform.fabric, placement}, comms_, ranks_, compute_,
              causes_, hindsight_, agenda_),
      overheads_(cost_.has_cpu_costs()),
      test_cost_(cost_.test()),
      next_report_(options.on_progress ? 0 : kNoReport),
      next_forget_(flows == Flows::kShared ? kBeyond : 0) {}

// Takes computations and polls that miss as one. True: a message may cut that short, so the rank waits for the network.
bool DirectReplay::run_ahead(std::uint32_t r, Lane& l) {
  const auto total = run_ahead_.take(r, l.clock);
  if (agenda_.failed()) {
    give_up();
    return true;
  }
  if (!total) return false;
  const traces::Op* const poll = run_ahead_.poll_of(r);
  if (poll == nullptr) {
    l.clock = l.clock + *total;
    run_ahead_.over(r, l.clock);
    return false;
  }
  if (flows_ != Flows::kShared) {
    contended_ = true;  // what came first is known there only
    give_up();
    return true;
  }
  // What was sent before the run began comes first where both are due at one instant.
  if (poll->peer >= 0) expect(r, *poll);
  run_ahead_.post(r, *total);
  return true;
}

// Where no events do: of links' flows.
void DirectReplay::forget_past() {
  Instant least = Instant::never();
  for (std::uint32_t r = 0; r < ranks_.count(); ++r) least = std::min(least, sends_from(r));
  calendar_.forget_before(least);
  loads_.forget_before(least);
  // Of operations and of rounds: one operation may be a collective of thousands.
  next_forget_ = ranks_.ops_done() + rounds_ + std::uint64_t{16} * ranks_.count();
}

void DirectReplay::look() {
  const std::uint64_t done = ranks_.ops_done() + rounds_;
  if (done >= next_report_) {
    options_.on_progress(ranks_.ops_done(), trace_.totals().ops);
    next_report_ = done + kReportEvery;
  }
  if (done >= next_forget_) forget_past();
  next_look_ = std::min(next_report_, next_forget_);
}

void DirectReplay::audit(const Audits& audits) {
  WEFT_CHECK(!audits.any() || flows_ == Flows::kShared,
             "a replay without events has nothing to tell an audit");
  audits_ = audits;
  if (audits.flows != nullptr) network_.audit(audits.flows);
}

bool DirectReplay::run_without_events() {
  run_ready();
  return !given_up_;
}

std::optional<ReplayResult> DirectReplay::run() {
  const bool done = flows_ == Flows::kShared ? run_shared() : run_without_events();
  if (!done || ranks_.left() > 0) return std::nullopt;
  for (std::uint32_t r = 0; r < ranks_.count(); ++r)
    if (lanes_[r].clock.past_the_end()) return std::nullopt;
  if (counted_past_the_end(traffic_, network_)) return std::nullopt;  // that with events tells
  return collect();
}

ReplayResult DirectReplay::collect() {
  ReplayResult out;
  Instant end;
  for (std::uint32_t r = 0; r < ranks_.count(); ++r) {
    RankTimes t = times_of_rank(ranks_[r], r, causes_, true);
    out.makespan = std::max(out.makespan, t.finish);
    traffic_.mix(static_cast<std::uint64_t>(t.finish.count()));
    out.ranks.push_back(t);
    end = std::max(end, lanes_[r].clock);
  }
  if (options_.on_message)
    messages_.for_each_live([&](const Message& m) {
      if ((m.state & kArrived) != 0 && (m.state & kMatched) == 0) see(m);
    });
  tell_traffic(traffic_, causes_, out);
  out.used_speed = compute_.used_speed();
  out.regions = regions_.totals(trace_.regions());
  out.collectives = choices_.used();
  if (flows_ == Flows::kFree)
    loads_.finish([&](LinkId link, Elapsed busy, std::uint32_t peak) { network_.used(link, busy, peak); });
  out.links = network_.link_use(std::max(end, agenda_.now()));
  const auto& s = network_.solver_stats();
  out.engine = {events_,
                s.solves,
                network_.flows_started(),
                s.flows_solved,
                s.links_touched + links_entered_,
                s.certificates,
                s.max_component,
                0};
  out.way = flows_ == Flows::kShared ? ReplayWay::kAhead : ReplayWay::kAlone;
  out.unmatched_messages = channels_.waiting_messages();
  out.unmatched_receives = channels_.waiting_receives();
  tell_warnings(trace_.header(), options_.noise && !compute_.has_noise(), truncated_, out);
  return out;
}

}  // namespace weft::replay
