#include "replay/simulation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/counted.hpp"
#include "traces/trace_warnings.hpp"

namespace weft::replay {

Simulation::Simulation(traces::TraceReader& trace, const topology::Platform& platform,
                       const std::vector<HostId>& placement, const ReplayOptions& options,
                       std::unique_ptr<congestion::SharingModel> model,
                       std::vector<const CollectiveAlgorithm*> chosen, KernelClock kernels)
    : trace_(trace),
      platform_(platform),
      placement_(placement),
      options_(options),
      comms_(trace.communicators()),
      chosen_(std::move(chosen)),
      network_(platform.fabric.links().capacity, std::move(model)),
      matcher_(messages_, trace.header().ranks),
      router_(platform.fabric, placement, network_, messages_, matcher_),
      ranks_(trace.header().ranks),
      kernels_(std::move(kernels)),
      cost_(platform.mpi, options),
      ranks_left_(trace.header().ranks),
      causes_(trace.header().ranks, cost_.known_at_once()) {
  std::vector<std::uint32_t> on_host(platform.fabric.host_count(), 0);
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    ranks_[r].program.attach(trace_, RankId(r));
    RankCompute c;
    c.row = kernels_.row_of(placement_[r], on_host[placement_[r].index()]++);
    c.speed = kernels_.speed(c.row);
    compute_.push_back(c);
    ready_.push_back(r);
  }
  comm_ranks_.resize(comms_.size());
  for (std::size_t c = 0; c < comms_.size(); ++c) {
    const auto& members = comms_[c].members;
    bool identity = true;
    for (std::size_t i = 0; i < members.size() && identity; ++i)
      identity = members[i] == static_cast<std::int64_t>(i);
    comm_ranks_[c].identity = identity;
    if (identity) continue;
    for (std::size_t i = 0; i < members.size(); ++i)
      comm_ranks_[c].by_world.emplace_back(static_cast<std::uint32_t>(members[i]),
                                           static_cast<std::uint32_t>(i));
    std::sort(comm_ranks_[c].by_world.begin(), comm_ranks_[c].by_world.end());
  }
  region_total_.resize(trace.regions().size());
  region_count_.resize(trace.regions().size());
  look_ahead_ = ranks_.size() >= kManyRanks;
  overheads_ = cost_.has_cpu_costs();
  poll_cost_ = cost_.poll();
  test_cost_ = cost_.test();
  // Raw messages can be seen before they are there; timelines want every operation.
  run_ahead_ = !cost_.known_at_once() && !options_.on_op && options_.join_computations;
  runs_.resize(ranks_.size());
  joined_.resize(ranks_.size());
}

void Simulation::fail(Error e) {
  if (!error_) error_ = std::move(e);
}

void Simulation::make_ready(std::uint32_t r) {
  ranks_[r].state = RankState::kReady;
  ready_.push_back(r);
}

// A completion that somebody waits for, or will ask for later.
void Simulation::notify(std::uint32_t rank, Target t, std::int64_t bytes, const Ending& by) {
  if (t.value == Target::kNobody) return;
  if ((t.value & Target::kActivity) != 0) {
    const std::uint32_t a = t.value & ~Target::kActivity;
    if (--activities_[a].pending != 0) return;
    if (by.message != nullptr) explain_round(activities_[a], *by.message, by.sender);
    ready_.push_back(a | kReadyActivity);
    return;
  }
  Rank& k = ranks_[rank];
  if (t.value != Target::kBlocking) {
    Slot& s = k.slots[t.value];
    s.state = SlotState::kComplete;
    s.bytes = bytes;
    if (!s.awaited) return;
    s.awaited = false;
  }
  if (--k.pending > 0 || k.state != RankState::kBlocked) return;
  if (by.message != nullptr)
    causes_.explain(causes_.of(rank), *by.message, by.sender, k.blocked_since, now_);
  else if (t.value != Target::kBlocking && by.activity != nullptr && by.activity->window == k.blocked_since)
    causes_.add(rank, by.activity->causes);
  make_ready(rank);
}

void Simulation::finish_rank(Rank& k) {
  k.state = RankState::kDone;
  k.finish = now_;
  --ranks_left_;
}

void Simulation::run_rank(std::uint32_t r) {
  Rank& k = ranks_[r];
  if (k.stage != Stage::kFresh) k.spent[static_cast<int>(k.part)] += now_ - k.blocked_since;
  while (!error_) {
    if (k.in_detour && k.pc >= k.detour_end) {
      k.pc = k.return_pc;
      k.in_detour = false;
    }
    const Op* op = k.program.here(k.pc);
    if (op == nullptr) [[unlikely]] {
      if (!k.in_detour) k.program.release_before(k.pc);
      auto fetched = k.program.at(k.pc);
      if (!fetched) return fail(std::move(fetched).error());
      op = *fetched;
      if (op == nullptr) return finish_rank(k);
    }
    if (k.stage == Stage::kFresh) {
      k.op_start = now_;
      k.op_length = 1;
    }
    if (run_ahead_ && k.stage == Stage::kFresh && traces::is_compute(op->kind) && run_ahead(r, k)) return;
    const Step step = execute(r, k, *op);
    if (step == Step::kBlocked) {
      if (k.state == RankState::kReady) k.state = RankState::kBlocked;
      k.blocked_since = now_;
      return;
    }
    k.stage = Stage::kFresh;
    if (step == Step::kSkip) continue;
    if (options_.on_op) options_.on_op(RankId(r), k.pc, k.op_start.rounded(), now_.rounded());
    ops_done_ += k.op_length;
    k.pc += k.op_length;
  }
}

void Simulation::run_ready() {
  while (ready_head_ < ready_.size() && !error_) {
    const std::uint32_t item = ready_[ready_head_++];
    if ((item & kReadyActivity) != 0)
      advance(item & ~kReadyActivity);
    else
      run_rank(item);
    if (ready_head_ == ready_.size()) {
      ready_.clear();
      ready_head_ = 0;
    }
  }
}

void Simulation::handle(const network::Event<EventKind>& e) {
  ++event_count_;
  switch (e.kind) {
    case EventKind::kRankTimer:
      return make_ready(e.index);
    case EventKind::kTransferStart:
      return start_flow(e.index);
    case EventKind::kEnvelope:
      return envelope_arrived(e.index);
    case EventKind::kMessageDone:
      return arrive(e.index);
    case EventKind::kProbeWake:
      return poke_prober(e.index);
    case EventKind::kActivityTimer:
      explain_overheads(activities_[e.index]);
      ready_.push_back(e.index | kReadyActivity);
      return;
    case EventKind::kRunEnd:
      return end_run(e.index, e.sequence);
  }
}

// Asks for the memory of what comes next while the present goes on. With thousands of ranks nothing stays in a fast
// cache from one event of a rank to its next, and each event waits for some five lines of memory, one after the other.
// The first of the queue is known but for what is posted meanwhile; the second is among its four children.
void Simulation::prefetch_next() {
  const std::span<const network::Event<EventKind>> next = events_.next_few();
  for (std::size_t i = 1; i < next.size(); ++i) {
    const network::Event<EventKind>& e = next[i];
    const char* const row = by_rank(e.kind)      ? reinterpret_cast<const char*>(&ranks_[e.index])
                            : by_message(e.kind) ? reinterpret_cast<const char*>(&messages_[e.index])
                                                 : nullptr;
    if (row == nullptr) continue;
    __builtin_prefetch(row);
    __builtin_prefetch(row + 64);
    __builtin_prefetch(row + 128);
  }
  if (!next.empty()) {
    const network::Event<EventKind>& e = next[0];
    if (by_rank(e.kind)) {
      const Rank& k = ranks_[e.index];
      __builtin_prefetch(k.slots.data());
      k.program.prefetch(k.pc);
    } else if (by_message(e.kind)) {
      const Message& m = messages_[e.index];
      if (e.kind == EventKind::kEnvelope) matcher_.prefetch(m);
      router_.prefetch(m);
    }
  }
  network_.prefetch_next(messages_, ranks_);
}

Result<ReplayResult> Simulation::run() {
  const std::uint64_t total_ops = trace_.totals().ops;
  while (true) {
    run_ready();
    if (error_) return std::move(*error_);
    if (look_ahead_) prefetch_next();
    // Everything of this instant comes before the solve; the solve may add completions at this very instant.
    const bool event_now = !events_.empty() && events_.top().time == now_;
    const bool completion_now = !network_.idle() && network_.next_completion().time == now_;
    if (event_now || completion_now) {
      if (event_now && (!completion_now || events_.top().sequence < network_.next_completion().sequence)) {
        const network::Event<EventKind> e = events_.top();
        events_.pop();
        handle(e);
      } else {
        ++event_count_;
        arrive(network_.finish_top(now_));
      }
      continue;
    }
    if (network_.dirty()) {
      network_.settle(now_, sequence_);
      continue;
    }
    if (events_.empty() && network_.idle()) break;
    Instant next;
    if (events_.empty())
      next = network_.next_completion().time;
    else if (network_.idle())
      next = events_.top().time;
    else
      next = std::min(events_.top().time, network_.next_completion().time);
    if (next.past_the_end())
      return bad_input({}, "simulated time runs past its end", {}, "a run shorter than 106 days");
    now_ = next;
    if (options_.on_progress && ops_done_ >= next_report_) {
      options_.on_progress(ops_done_, total_ops);
      next_report_ = ops_done_ + 65536;
    }
  }
  return collect();
}

ReplayResult Simulation::collect() {
  ReplayResult out;
  out.finished = ranks_left_ == 0;
  if (!out.finished) out.deadlock = explain_deadlock();
  for (Rank& k : ranks_) {
    RankTimes t;
    if (k.state != RankState::kDone) {
      k.finish = now_;
      if (k.stage != Stage::kFresh) k.spent[static_cast<int>(k.part)] += now_ - k.blocked_since;
    }
    t.finish = k.finish.rounded().time_since_epoch();
    // Rounding the running sum, not each part, keeps the parts' sum equal to the finish.
    Duration* const parts[5] = {&t.compute, &t.send, &t.recv, &t.wait, &t.collective};
    Elapsed sum;
    Duration before{0};
    for (int i = 0; i < 5; ++i) {
      sum += k.spent[i];
      *parts[i] = sum.rounded() - before;
      before = sum.rounded();
    }
    causes_.round(t, static_cast<std::uint32_t>(&k - ranks_.data()),
                  k.spent[static_cast<int>(Part::kCompute)], k.state == RankState::kDone);
    out.makespan = std::max(out.makespan, t.finish);
    fingerprint_ = (fingerprint_ ^ static_cast<std::uint64_t>(t.finish.count())) * 0x100000001b3ULL;
    out.ranks.push_back(t);
  }
  out.fingerprint = fingerprint_ ^ (fingerprint_ >> 32);
  for (std::size_t i = 0; i < region_total_.size(); ++i)
    out.regions.push_back({trace_.regions()[i], region_count_[i], region_total_[i].rounded()});
  out.links = network_.link_use(now_);
  out.point_to_point = p2p_.rounded();
  all_.late_sender += causes_.sum(Cause::kLateSender);
  all_.late_receiver += causes_.sum(Cause::kLateReceiver);
  out.network = all_.rounded();
  const auto& s = network_.solver_stats();
  out.engine = {event_count_,    s.solves,       network_.flows_started(), s.flows_solved,
                s.links_touched, s.certificates, s.max_component,          0};
  out.warnings = traces::trace_warnings(trace_.header());
  if (truncated_ > 0)
    out.warnings.push_back(fmt::format("{} longer than the receive that takes {} (MPI would stop)",
                                       counted(truncated_, "message") + (truncated_ == 1 ? " is" : " are"),
                                       truncated_ == 1 ? "it" : "them"));
  if (out.finished) {
    out.unmatched_messages = matcher_.unexpected();
    out.unmatched_receives = matcher_.receives().live();
    if (std::string text = out.finding(); !text.empty()) out.warnings.push_back(std::move(text));
  }
  out.engine.warnings = out.warnings.size();
  return out;
}

}  // namespace weft::replay
