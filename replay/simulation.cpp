#include "replay/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/byte_sum.hpp"
#include "core/prefetch.hpp"
#include "replay/deadlock.hpp"
#include "replay/event_loop.hpp"
#include "replay/ranks/detours.hpp"
#include "replay/sums.hpp"

namespace weft::replay {

Simulation::Simulation(traces::TraceReader& trace, const topology::Platform& platform,
                       const std::vector<HostId>& placement, const ReplayOptions& options,
                       std::unique_ptr<congestion::SharingModel> model, CollectiveChoices choices,
                       KernelClock kernels, std::vector<DeviceCopies::Ends> copies, Ranks::Programs programs)
    : trace_(trace),
      options_(options),
      ranks_(trace, std::move(programs)),
      comms_(trace.communicators()),
      network_(platform.fabric.links().capacity, std::move(model)),
      starts_(messages_, network_),
      matcher_(messages_, ranks_.count()),
      router_(platform.fabric, placement, network_, messages_, matcher_),
      cost_(platform.mpi, options),
      causes_(ranks_.count(), cost_.known_at_once()),
      hindsight_({options.critical_path, options.wait_states, trace.regions().size(), options.on_no_ideal},
                 cost_, comms_, ranks_, causes_, agenda_),
      waits_(ranks_, causes_, hindsight_, agenda_),
      compute_(std::move(kernels), placement, platform.fabric.host_count(), options, ranks_, agenda_),
      devices_(ranks_.count(), options, waits_, hindsight_, agenda_),
      copies_(std::move(copies), options, messages_, router_, network_, starts_, waits_, hindsight_, agenda_),
      probes_(messages_, matcher_, ranks_, causes_, hindsight_, network_, agenda_),
      // Raw messages can be seen before they are there; timelines want every operation.
      run_ahead_(ranks_, compute_, probes_, causes_, agenda_, cost_,
                 !cost_.known_at_once() && !options.on_op && options.join_computations),
      collectives_(comms_, std::move(choices), cost_, ranks_, waits_, causes_, hindsight_, agenda_),
      tasks_(cost_, compute_, ranks_, causes_, hindsight_, options, agenda_),
      transfers_(
          {messages_, matcher_, router_, network_, starts_, cost_, traffic_, platform.fabric, placement},
          {ranks_, waits_, collectives_, tasks_, probes_, run_ahead_, hindsight_}, options, agenda_),
      series_({router_.pairs(), network_, cost_, traffic_, platform.fabric, placement}, comms_, ranks_,
              compute_, causes_, hindsight_, agenda_),
      regions_(trace.regions().size(), ranks_.count(), options.critical_path || options.ideal_network),
      unanswered_tests_(ranks_, transfers_, waits_, causes_, hindsight_, agenda_),
      operations_({ranks_, transfers_, collectives_, tasks_, series_, probes_, run_ahead_, compute_, devices_,
                   copies_, regions_, causes_, hindsight_, cost_, network_},
                  options, agenda_),
      next_report_(options.on_progress ? 0 : kNoReport) {}

void Simulation::audit(const Audits& audits) {
  network_.audit(audits.flows);
  transfers_.audit(audits.matches);
  clock_audit_ = audits.clock;
}

void Simulation::run_rank(std::uint32_t r) {
  Rank& k = ranks_[r];
  if (k.stage != Stage::kFresh && agenda_.now() != k.blocked_since) {
    k.spend(k.part, agenda_.now() - k.blocked_since);
    k.since = k.blocked_since;
  }
  while (!agenda_.failed()) {
    if (!k.program.at_hand(k.pc)) [[unlikely]] {
      auto fetched = fetch(k);
      if (!fetched) return agenda_.fail(std::move(fetched).error());
      if (*fetched == nullptr) {
        if (const auto last = tasks_.unawaited(r)) {
          k.pc = *last;
          return agenda_.fail(
              ranks_.bad_operation(r, "the program ends before this task: no task_wait stands behind it"));
        }
        return ranks_.finish(k, agenda_.now());
      }
    }
    const traces::Op* const op = k.program.here(k.pc);
    if (k.stage == Stage::kFresh) {
      k.op_start = agenda_.now();
      if (run_ahead_.enabled() && traces::is_compute(op->kind) && run_ahead_.begin(r, agenda_.now())) {
        if (transfers_.undecided(r)) transfers_.may_be_seen(r);
        return;
      }
    }
    const Step step = operations_.run(r, k, *op);
    if (step == Step::kBlocked) {
      if (k.state == RankState::kReady) k.state = RankState::kBlocked;
      k.blocked_since = agenda_.now();
      return;
    }
    k.stage = Stage::kFresh;
    hindsight_.op_over(r);
    if (step == Step::kSkip) continue;
    if (options_.on_op) options_.on_op(RankId(r), k.pc, k.op_start.rounded(), agenda_.now().rounded());
    const auto over = static_cast<std::uint64_t>(step);
    ranks_.count_ops(over);
    k.pc += over;
  }
}

void Simulation::run_ready() {
  while (ranks_.any_ready() && !agenda_.failed()) {
    const Ranks::Runnable next = ranks_.take_ready();
    if (next.is_rank())
      run_rank(next.index());
    else if (next.is_tasks())
      tasks_.advance(next.index(), transfers_);
    else
      collectives_.advance(next.index(), transfers_);
  }
}

// False: of a run that was cut short, so nothing happened.
bool Simulation::handle(const Agenda::Event& e) {
  switch (e.kind) {
    case EventKind::kRankTimer:
      ranks_.make_ready(e.index);
      break;
    case EventKind::kTransferStart:
      transfers_.start_flow(e.index);
      break;
    case EventKind::kEnvelope:
      transfers_.envelope_arrived(e.index);
      break;
    case EventKind::kMessageDone:
      transfers_.arrive(e.index);
      break;
    case EventKind::kProbeWake:
      transfers_.may_be_seen(e.index);
      break;
    case EventKind::kActivityTimer:
      collectives_.overheads_over(e.index);
      break;
    case EventKind::kRunEnd:
      return run_ahead_.end(e.index, e.sequence, due_now(agenda_, network_) || matcher_.undecided(e.index));
    case EventKind::kLaunchEnd:
      devices_.ended(e.index);
      break;
    case EventKind::kTaskTimer:
      tasks_.timer(e.index);
      break;
    case EventKind::kTaskTurns:
      tasks_.turns(e.index);
      break;
    case EventKind::kCopyStart:
      copies_.start_flow(e.index);
      break;
  }
  return true;
}

void Simulation::enter_network(std::uint32_t owner) {
  if (copies_.any() && copies_.has(owner)) return copies_.enter_network(owner);
  transfers_.enter_network(owner);
}

void Simulation::flow_over(std::uint32_t owner) {
  if (copies_.any() && copies_.has(owner)) return copies_.arrive(owner);
  transfers_.arrive(owner);
}

// All else of this instant has happened: first receives and probes choose among what came, then polls and cancels look.
void Simulation::instant_over() {
  if (transfers_.instant_over()) return;
  agenda_.take_last([this](const Agenda::Event& e) {
    ++event_count_;
    if (handle(e)) last_ = agenda_.now();
  });
}

namespace {

bool by_rank(EventKind k) { return k == EventKind::kRankTimer || k == EventKind::kRunEnd; }
bool by_message(EventKind k) {
  return k == EventKind::kTransferStart || k == EventKind::kEnvelope || k == EventKind::kMessageDone;
}

}  // namespace

// Asks for the memory of what comes next while the present goes on. With thousands of ranks nothing stays in a fast
// cache from one event of a rank to its next, and each event waits for some five lines of memory, one after the other.
// The first of the queue is known but for what is posted meanwhile; the second is among its four children.
void Simulation::prefetch_next() {
  bool first = true;
  agenda_.next_few([&](const Agenda::Event& e) {
    if (!std::exchange(first, false)) {
      if (by_rank(e.kind)) ranks_[e.index].prefetch();
      if (by_message(e.kind)) prefetch_row(messages_[e.index]);
    } else if (by_rank(e.kind)) {
      const Rank& k = ranks_[e.index];
      k.requests.prefetch();
      k.program.prefetch(k.pc);
    } else if (by_message(e.kind)) {
      const Message& m = messages_[e.index];
      if (e.kind == EventKind::kEnvelope) matcher_.prefetch(m);
      router_.prefetch(m);
    }
  });
  network_.prefetch_next(messages_, [this](std::uint32_t r, std::uint32_t stage) {
    const Rank& k = ranks_[r];
    if (stage == 0) k.prefetch();
    if (stage == 1) k.program.prefetch(k.pc);
  });
}

void Simulation::report_progress() {
  options_.on_progress(ranks_.ops_done(), trace_.totals().ops);
  next_report_ = event_count_ + kReportEvery;
}

// Whose doing comes next.
std::string Simulation::next_in_words() const {
  const auto message = [this](std::uint32_t i) {
    return copies_.any() && copies_.has(i)
               ? std::string("a copy")
               : fmt::format("a message from rank {} to rank {}", messages_[i].src, messages_[i].dst);
  };
  if (network_.next_time() < agenda_.next_time()) return message(network_.next_owner());
  const Agenda::Event& e = agenda_.top();
  if (by_rank(e.kind)) return fmt::format("operation {} of rank {}", ranks_[e.index].pc, e.index);
  if (e.kind == EventKind::kTaskTimer) return fmt::format("a task of rank {}", tasks_.rank_of(e.index));
  return by_message(e.kind) ? message(e.index) : std::string();
}

Result<ReplayResult> Simulation::run() {
  const auto looks = [&, many = ranks_.many()] {
    if (many) prefetch_next();
    // By events: an operation may be a collective of millions of messages.
    if (event_count_ >= next_report_) [[unlikely]]
      report_progress();
  };
  while (true) {
    if (ranks_.any_ready()) run_ready();
    if (agenda_.failed()) return agenda_.take_error();
    const Next next = next_of(agenda_, network_, starts_, clock_audit_, looks);
    if (next == Next::kNothing) {
      if (ranks_.left() > 0 && unanswered_tests_.let_go()) continue;
      if (counted_past_the_end(traffic_, network_))
        return bad_input({}, kBytesPastTheEnd, {}, "messages of fewer than 2^64 bytes together");
      return collect();
    }
    if (next == Next::kFlowStarts) {
      for (starts_.order(); starts_.any();) enter_network(starts_.take());
      network_.settle(agenda_.now(), agenda_.sequence());
      continue;
    }
    if (next == Next::kInstantOver) {
      instant_over();
      continue;
    }
    if (next == Next::kTooLate)
      return bad_input({}, kPastTheEnd, next_in_words(), "a run shorter than 106 days");
    ++event_count_;
    if (next == Next::kEvent) {
      if (!handle(agenda_.take())) continue;
    } else {
      flow_over(network_.finish_top(agenda_.now()));
    }
    last_ = agenda_.now();
  }
}

void Simulation::collect_ranks(ReplayResult& out) {
  for (std::uint32_t r = 0; r < ranks_.count(); ++r) {
    Rank& k = ranks_[r];
    const bool finished = k.state == RankState::kDone;
    if (!finished) {
      k.finish = last_;
      if (k.stage != Stage::kFresh) {
        k.spend(k.part, last_ - k.blocked_since);
        tasks_.show_rest(r);
        if (options_.on_hang) options_.on_hang(RankId(r), k.pc, k.op_start.rounded(), last_.rounded());
      }
    }
    RankTimes t = times_of_rank(k, r, causes_, finished);
    t.device = devices_.busy(r).rounded();
    t.device_hidden = devices_.hidden(r).rounded();
    out.makespan = std::max(out.makespan, t.finish);
    traffic_.mix(static_cast<std::uint64_t>(t.finish.count()));
    out.ranks.push_back(t);
  }
}

ReplayResult Simulation::collect() {
  ReplayResult out;
  out.finished = ranks_.left() == 0;
  std::vector<std::string> of_deadlock;
  if (!out.finished)
    out.deadlock = explain_deadlock(
        {ranks_, matcher_, comms_, messages_, waits_, tasks_, collectives_, series_}, of_deadlock);
  collect_ranks(out);
  if (hindsight_.path().on() && out.finished) out.path = hindsight_.path().path();
  if (hindsight_.ideal().on() && out.finished) out.ideal = hindsight_.ideal().result(trace_.regions());
  if (hindsight_.wait_states().on() && out.finished)
    out.wait_states = hindsight_.wait_states().result(trace_.regions().size());
  tell_traffic(traffic_, causes_, out);
  out.used_speed = compute_.used_speed();
  out.regions = regions_.totals(trace_.regions());
  out.collectives = collectives_.algorithms_used();
  out.links = network_.link_use(agenda_.now());
  const auto& s = network_.solver_stats();
  out.engine = {event_count_,    s.solves,       network_.flows_started(), s.flows_solved,
                s.links_touched, s.certificates, s.max_component,          0};
  if (out.finished) {
    out.unmatched_messages = matcher_.unexpected();
    out.unmatched_receives = matcher_.receives().live();
  }
  tell_warnings(trace_.header(), options_.noise && !compute_.has_noise(), transfers_.truncated(), out);
  if (auto text = unanswered_tests_.warning()) out.warnings.push_back(std::move(*text));
  for (std::string& text : of_deadlock) out.warnings.push_back(std::move(text));
  out.engine.warnings = out.warnings.size();
  return out;
}

}  // namespace weft::replay
