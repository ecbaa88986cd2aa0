// Computations one after the other, with polls between them that find nothing, as one event.
//
// While a rank computes and polls, nothing that it does concerns others, and nothing of others concerns it but the
// message that it polls for. So its operations up to the next one of another kind are taken at once; if the message
// becomes visible meanwhile (poke_run), the run is cut short at the first poll from then on. Times are those of one
// event an operation, to the tick: durations add up the same. HPL's look-ahead has some sixty polls a panel.
//
// A program that polls cuts its work in pieces only as long as it polls. So where a poll is over, because its body ran
// at an earlier one, the kernel calls before and after it are one call: shapes that differ in the dimension that is cut
// alone add up. HPL does the rest of an update in one multiplication as soon as the next panel is there; that matters
// where a call has a fixed cost or varies as a whole (noise).
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

using traces::Kernel;
using traces::KernelShape;

// Adds `more` to `call` if it goes on where that one ends.
bool join(KernelShape& call, const KernelShape& more) {
  if (call.kernel != more.kernel || call.k != more.k) return false;
  const bool by_rows = call.kernel == Kernel::dtrsm_right;
  if (by_rows ? call.n != more.n : call.m != more.m) return false;
  (by_rows ? call.m : call.n) += by_rows ? more.m : more.n;
  return true;
}

// Calls that may still grow, in order of their first piece.
struct OpenCalls {
  static constexpr std::size_t kMost = 8;
  KernelShape calls[kMost];
  std::size_t count = 0;

  // False: there is no room, or nothing to join and `joining` is over.
  bool add(const KernelShape& shape, bool joining) {
    if (joining)
      for (std::size_t i = 0; i < count; ++i)
        if (join(calls[i], shape)) return true;
    if (count == kMost) return false;
    calls[count++] = shape;
    return true;
  }
};

}  // namespace

// Takes the operations from k.pc on; false if there are not two of them.
bool Simulation::run_ahead(std::uint32_t r, Rank& k) {
  RunAhead& run = runs_[r];
  RankCompute& clock = compute_[r];
  run.first = k.pc;
  run.poll = kNoPoll;
  run.polled = kNoTime;
  run.calls = clock.call;
  Elapsed total;
  OpenCalls open;
  bool joining = false;  // a poll that is over was passed
  const auto close = [&] {
    for (std::size_t c = 0; c < open.count; ++c)
      total += Elapsed::of_seconds(kernel_seconds(r, open.calls[c]));
    open.count = 0;
  };
  std::uint64_t i = k.pc;
  for (; k.program.in_current_block(i) && !(k.in_detour && i >= k.detour_end); ++i) {
    const Op& op = **k.program.at(i);
    if (op.kind == OpKind::compute_kernel) {
      const auto list = k.program.list(i, op);  // a known kernel: it was checked when it was read
      const KernelShape shape{static_cast<Kernel>(list[0]), list[1], list[2], list[3]};
      if (!open.add(shape, joining)) {
        close();
        (void)open.add(shape, false);
      }
      continue;
    }
    if (traces::is_compute(op.kind)) {
      close();
      total += compute_time(r, k, i, op);
      if (error_) return false;
      continue;
    }
    if (op.kind != OpKind::iprobe || (op.flags & traces::kHit) != 0) break;
    if (k.in_detour || op.peer == kProcNull) continue;
    if (poll_is_over(k, i, op)) {
      if (run.poll != kNoPoll) break;
      joining = true;
      continue;
    }
    if (joining) break;  // pieces again
    close();
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
  close();
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
  book(r, Cause::kPolls, run.polled);
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
  for (std::uint64_t i = run.first; i < run.end; ++i) {
    const Op& op = **k.program.at(i);
    if (traces::is_compute(op.kind)) {
      at = at + compute_time(r, k, i, op);
      continue;
    }
    if (k.in_detour || op.peer == kProcNull) continue;
    at = at + poll_time(op);
    polled += poll_time(op);
    if (at < now_ || poll_never_hits(k, i, op)) continue;
    run.end = i;
    run.at_poll = true;
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
