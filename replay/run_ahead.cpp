// Computations one after the other, with polls between them that find nothing, as one event.
//
// While a rank computes and polls, nothing that it does concerns others, and nothing of others concerns it but the
// message that it polls for. So its operations up to the next one of another kind are taken at once; if the message
// becomes visible meanwhile (poke_run), the run is cut short at the first poll from then on. Times are those of one
// event an operation, to the tick: durations add up the same. HPL's look-ahead has some sixty polls a panel.
//
// Which kernel calls are pieces of one is not decided here but by CallWindow (call_window.hpp), and holds as well where
// operations are taken one by one.
#include <algorithm>

#include "replay/simulation.hpp"

namespace weft::replay {

using traces::kProcNull;
using traces::OpKind;

Elapsed Simulation::compute_time(std::uint32_t r, const Rank& k, std::uint64_t pc, const Op& op) {
  switch (op.kind) {
    case OpKind::compute_time: {
      const Elapsed d{Duration(op.amount)};
      return options_.compute_scale == 1.0 ? d : Elapsed::of_seconds(d.seconds() * options_.compute_scale);
    }
    case OpKind::sleep:
      return Elapsed(Duration(op.amount));
    case OpKind::compute_kernel: {
      const auto list = k.program.list(pc, op);
      if (list.size() < 4 || list[0] < 0 || list[0] >= static_cast<std::int64_t>(traces::kKernelCount)) {
        bad_op(k, r, "a kernel that this version does not know");
        return kNoTime;
      }
      return Elapsed::of_seconds(
          kernel_seconds(r, {static_cast<traces::Kernel>(list[0]), list[1], list[2], list[3]}));
    }
    default:
      return Elapsed::of_seconds(op.flops() / compute_[r].speed);
  }
}

// The body that a poll of a run triggers ran at an earlier one: the program polls no more.
bool Simulation::poll_is_over(const Rank& k, std::uint64_t pc, const Op& op) const {
  std::uint64_t hit = pc;
  if ((op.flags & traces::kHit) == 0) {
    const auto list = k.program.list(pc, op);
    if (list.empty() || list[0] <= 0) return false;
    hit += static_cast<std::uint64_t>(list[0]);
  }
  return std::find(k.hits_done.begin(), k.hits_done.end(), hit) != k.hits_done.end();
}

// A poll of a run that never hit in the recording.
bool Simulation::poll_never_hits(const Rank& k, std::uint64_t pc, const Op& op) const {
  const auto list = k.program.list(pc, op);
  return list.empty() || list[0] <= 0;
}

namespace {

traces::KernelShape shape_of(const ProgramCursor& program, std::uint64_t pc, const traces::Op& op) {
  const auto list = program.list(pc, op);  // a known kernel: it was checked when it was read
  return {static_cast<traces::Kernel>(list[0]), list[1], list[2], list[3]};
}

// A poll that takes no time and decides nothing.
bool no_poll(const traces::Op& op, bool in_detour) { return in_detour || op.peer == kProcNull; }

}  // namespace

bool Simulation::computes_more_than_copies(const ProgramCursor& program, std::uint64_t pc, const Op& op) {
  return op.kind != OpKind::compute_kernel || traces::kernel_flops(shape_of(program, pc, op)) > 0;
}

// How long the kernel call at k.pc takes: with all later pieces of it, or not at all if it is one of those.
Elapsed Simulation::call_time(std::uint32_t r, Rank& k, const Op& op) {
  JoinedCalls& joined = joined_[r];
  if (!joined.holds(k.pc)) {
    CallWindow window;
    std::uint64_t i = k.pc;
    for (; !(k.in_detour && i >= k.detour_end); ++i) {
      const auto at = k.program.at(i);
      if (!at) {
        fail(std::move(at).error());
        return kNoTime;
      }
      if (*at == nullptr) break;
      const Op& next = **at;
      if (next.kind == OpKind::compute_kernel) {
        if (window.add(i, shape_of(k.program, i, next)) == CallWindow::Added::kFull) break;
        continue;
      }
      if (next.kind != OpKind::iprobe || (next.flags & traces::kHit) != 0) break;
      if (no_poll(next, k.in_detour)) continue;
      if (!poll_is_over(k, i, next)) break;
      window.pass_poll_that_is_over();
    }
    if (!window.joining()) return compute_time(r, k, k.pc, op);
    joined.end = i;
    joined.calls.clear();
    while (!window.empty()) joined.calls.push_back(window.pop());
  }
  for (const CallWindow::Call& c : joined.calls)
    if (c.first == k.pc) return Elapsed::of_seconds(kernel_seconds(r, c.shape));
  return kNoTime;
}

// Takes the operations from k.pc on; false if there are not two of them.
bool Simulation::run_ahead(std::uint32_t r, Rank& k) {
  if (joined_[r].holds(k.pc)) return false;
  RunAhead& run = runs_[r];
  RankCompute& clock = compute_[r];
  run.first = k.pc;
  run.poll = kNoPoll;
  run.polled = kNoTime;
  run.calls = clock.call;
  run.computes = false;
  Elapsed total;
  CallWindow window;
  bool joined = false;      // a poll that is over was passed
  bool unfinished = false;  // what the window holds may go on where this run cannot
  const auto take_call = [&] { total += Elapsed::of_seconds(kernel_seconds(r, window.pop().shape)); };
  const auto take_calls = [&] {
    while (!window.empty()) take_call();
  };
  std::uint64_t i = k.pc;
  for (; k.program.in_current_block(i) && !(k.in_detour && i >= k.detour_end); ++i) {
    const Op& op = **k.program.at(i);
    if (op.kind == OpKind::compute_kernel) {
      const traces::KernelShape shape = shape_of(k.program, i, op);
      run.computes |= traces::kernel_flops(shape) > 0;
      if (window.add(i, shape) == CallWindow::Added::kFull) {
        if (window.joining())
          take_calls();
        else
          take_call();
        (void)window.add(i, shape);
      }
      continue;
    }
    if (traces::is_compute(op.kind)) {
      run.computes = true;
      take_calls();
      total += compute_time(r, k, i, op);
      if (error_) return false;
      continue;
    }
    if (op.kind != OpKind::iprobe || (op.flags & traces::kHit) != 0) break;
    if (no_poll(op, k.in_detour)) continue;
    if (poll_is_over(k, i, op)) {
      if (run.poll != kNoPoll) {  // poke_run() takes operations one by one
        unfinished = true;
        break;
      }
      joined = true;
      window.pass_poll_that_is_over();
      continue;
    }
    if (joined) break;  // pieces again
    take_calls();
    if (poll_never_hits(k, i, op)) {
      // It takes its time, and that is all.
    } else if (run.poll == kNoPoll) {
      if (probe_hits(r, op)) break;
      run.poll = i;
    } else {
      const Op& first = **k.program.at(run.poll);
      if (op.peer != first.peer || op.tag != first.tag || op.comm != first.comm) break;
    }
    total += poll_time(op);
    run.polled += poll_time(op);
  }
  if (unfinished || !k.program.in_current_block(i)) {
    if (!window.empty()) i = window.front().first;
  } else {
    take_calls();
  }
  if (i - k.pc < 2) {
    clock.call = run.calls;
    return false;
  }
  run.end = i;
  run.at_poll = false;
  run.calls_after = clock.call;
  k.part = Part::kCompute;
  k.blocked_since = now_;
  k.state = RankState::kRunning;
  run.sequence = sequence_;
  post_event(now_ + total, EventKind::kRunEnd, r);
  return true;
}

void Simulation::end_run(std::uint32_t r, std::uint64_t sequence) {
  const RunAhead& run = runs_[r];
  Rank& k = ranks_[r];
  if (k.state != RankState::kRunning || run.sequence != sequence) return;
  k.spent[static_cast<int>(Part::kCompute)] += (now_ - k.blocked_since) - run.polled;
  k.spent[static_cast<int>(Part::kRecv)] += run.polled;
  causes_.add(r, Cause::kPolls, run.polled);
  k.computed |= run.computes;
  ops_done_ += run.end - run.first;
  k.pc = run.end;
  compute_[r].call = run.calls_after;
  // A poll that ended the run has taken its time and looks now.
  k.stage = run.at_poll ? Stage::kOverheadPaid : Stage::kFresh;
  k.blocked_since = now_;
  k.op_start = now_;
  k.op_length = 1;
  make_ready(r);
}

// A message to rank r became visible: if its run polls for it, the run ends at the first poll from now on.
void Simulation::poke_run(std::uint32_t r) {
  RunAhead& run = runs_[r];
  Rank& k = ranks_[r];
  if (run.poll == kNoPoll || !probe_hits(r, **k.program.at(run.poll))) return;
  RankCompute& clock = compute_[r];
  clock.call = run.calls;
  Instant at = k.blocked_since;
  Elapsed polled;
  bool computes = false;
  for (std::uint64_t i = run.first; i < run.end; ++i) {
    const Op& op = **k.program.at(i);
    if (traces::is_compute(op.kind)) {
      at = at + compute_time(r, k, i, op);
      computes |= computes_more_than_copies(k.program, i, op);
      continue;
    }
    if (no_poll(op, k.in_detour)) continue;
    at = at + poll_time(op);
    polled += poll_time(op);
    if (at < now_ || poll_never_hits(k, i, op)) continue;
    run.end = i;
    run.at_poll = true;
    run.computes = computes;
    run.polled = polled;
    run.calls_after = clock.call;
    run.poll = kNoPoll;
    run.sequence = sequence_;
    return post_event(at, EventKind::kRunEnd, r);
  }
  clock.call = run.calls_after;
  run.poll = kNoPoll;
}

}  // namespace weft::replay
