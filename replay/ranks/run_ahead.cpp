#include "replay/ranks/run_ahead.hpp"

#include <cstddef>
#include <cstring>
#include <utility>

#include "replay/ranks/detours.hpp"

namespace weft::replay {

using traces::kProcNull;
using traces::Op;
using traces::OpKind;

namespace {

traces::KernelShape shape_of(const ProgramCursor& program, std::uint64_t pc, const Op& op) {
  const auto list = program.list(pc, op);  // a known kernel: it was checked when it was read
  return {static_cast<traces::Kernel>(list[0]), list[1], list[2], list[3]};
}

// A poll that takes no time and decides nothing.
bool no_poll(const Op& op, bool in_detour) { return in_detour || op.peer == kProcNull; }

// A poll of a run of polls that never hit in the recording.
bool never_hits(const Rank& k, std::uint64_t pc, const Op& op) {
  const auto list = k.program.list(pc, op);
  return list.empty() || list[0] <= 0;
}

// Is operation j, which is in the selected block, the one `period` before it once more? Then so is its time without noise.
bool is_again(const ProgramCursor& program, std::uint64_t j, const Op& op, std::uint64_t period,
              const Op& before) {
  // All but the lists, as whole words.
  static_assert(offsetof(Op, extra) + sizeof(Op::extra) == sizeof(Op));
  if (std::memcmp(&op, &before, offsetof(Op, extra)) != 0) return false;
  if (traces::is_compute(op.kind)) {
    if (op.extra == before.extra) return true;
    const auto a = program.list(j, op), b = program.list(j - period, before);
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  if (op.kind != OpKind::iprobe || op.flags != 0) return false;
  const auto a = program.list(j, op), b = program.list(j - period, before);
  if (a.empty() || b.empty()) return a.empty() && b.empty();
  return a[0] > 0 && a[0] + static_cast<std::int64_t>(period) == b[0];  // of the same hit
}

// Nothing after the rank's operation may belong to it. False: or it is the last one of its block.
bool stands_alone(const Rank& k) {
  const Op* const next = k.program.here(k.pc + 1);
  return next != nullptr && !traces::is_compute(next->kind) && next->kind != OpKind::iprobe;
}

}  // namespace

bool RunAhead::look_ahead(std::uint32_t r, const Rank& k, ProgramCursor& program, CallWindow& window,
                          std::uint64_t& end) {
  for (end = k.pc; !(k.in_detour && end >= k.detour_end); ++end) {
    auto at = program.at(end);
    if (!at) {
      agenda_.fail(std::move(at).error());
      return false;
    }
    if (*at == nullptr) break;
    const Op& next = **at;
    if (next.kind == OpKind::compute_kernel) {
      if (compute_.over_links(r, shape_of(program, end, next))) break;
      if (window.add(end, shape_of(program, end, next)) == CallWindow::Added::kFull) break;
      continue;
    }
    if (next.kind != OpKind::iprobe || (next.flags & traces::kHit) != 0) break;
    if (no_poll(next, k.in_detour)) continue;
    if (!poll_is_over(k, end, next)) break;
    window.pass_poll_that_is_over();
  }
  return true;
}

Elapsed RunAhead::call_time(std::uint32_t r, const Op& op) {
  Rank& k = ranks_[r];
  JoinedCalls& joined = joined_[r];
  if (!joined.holds(k.pc)) {
    if (stands_alone(k)) return compute_.of(r, k.pc, op);
    CallWindow window;
    std::uint64_t end = 0;
    if (!look_ahead(r, k, k.program, window, end)) return kNoTime;
    if (!window.joining()) return compute_.of(r, k.pc, op);
    joined.end = end;
    joined.calls.clear();
    while (!window.empty()) joined.calls.push_back(window.pop());
  }
  for (const CallWindow::Call& c : joined.calls)
    if (c.first == k.pc) return Elapsed::of_seconds(compute_.kernel_seconds(r, c.shape));
  return kNoTime;
}

// What was found for the beginning of a run holds when it is cut short, and when its pieces join.
std::uint64_t RunAhead::times_again(std::uint32_t r, std::uint64_t first, std::uint64_t period) {
  Run& run = runs_[r];
  const ProgramCursor& program = ranks_[r].program;
  const std::uint64_t from = first + period;
  if (run.again_period != period || from < run.again_from || from > run.again_end) {
    const std::span<const Op> ops = program.rest_of_block(first);
    std::uint64_t j = period;
    while (j < ops.size() && is_again(program, first + j, ops[j], period, ops[j - period])) ++j;
    run.again_from = from;
    run.again_end = first + j;
    run.again_period = period;
  }
  return (run.again_end - from) / period;
}

RunAhead::Take RunAhead::take_poll(std::uint32_t r, std::uint64_t i, const Op& op, Stretch& s) {
  Rank& k = ranks_[r];
  Run& run = runs_[r];
  if (no_poll(op, k.in_detour)) return Take::kTaken;
  if (poll_is_over(k, i, op)) {
    if (run.poll != kNoPoll) {  // poke() takes operations one by one
      s.unfinished = true;
      return Take::kEnds;
    }
    s.joined = true;
    s.window.pass_poll_that_is_over();
    return Take::kTaken;
  }
  if (s.joined) return Take::kEnds;  // pieces again
  take_calls(r, s);
  if (never_hits(k, i, op)) {
    // It takes its time, and that is all.
  } else if (run.poll == kNoPoll) {
    if (probes_.hits(r, op)) return Take::kEnds;
    run.poll = i;
  } else {
    const Op& first = **k.program.at(run.poll);
    if (op.peer != first.peer || op.tag != first.tag || op.comm != first.comm) return Take::kEnds;
  }
  s.take(poll_time(op));
  run.polled += poll_time(op);
  return Take::kTaken;
}

std::uint64_t RunAhead::take_again(std::uint32_t r, std::uint64_t i, const LastPoll& last, Stretch& s) {
  const ProgramCursor& program = ranks_[r].program;
  Run& run = runs_[r];
  const std::uint64_t first = last.at + 1, period = i - last.at;
  if (s.joined ? !s.window.joining() : compute_.draws()) return 0;
  const std::uint64_t times = times_again(r, first, period);
  if (times == 0) return 0;
  if (!s.joined) {
    // Nothing is in the window behind a poll, so each time takes what the last one took.
    const Elapsed more =
        Elapsed::of_ticks((s.total - last.total).ticks() * static_cast<network::Ticks>(times));
    s.total += more;
    s.last += more;
    run.polled += Elapsed::of_ticks((run.polled - last.polled).ticks() * static_cast<network::Ticks>(times));
    return times * period;
  }
  CallWindow window = s.window;
  for (std::uint64_t j = first; j < i; ++j) {
    const Op& op = **ranks_[r].program.at(j);
    if (op.kind == OpKind::iprobe) continue;
    if (op.kind != OpKind::compute_kernel ||
        !window.join_all(shape_of(program, j, op), static_cast<std::int64_t>(times)))
      return 0;
  }
  s.window = window;
  return times * period;
}

std::optional<Elapsed> RunAhead::take(std::uint32_t r, Instant start) {
  Rank& k = ranks_[r];
  if (stands_alone(k)) return {};
  if (joined_[r].holds(k.pc)) return {};
  Run& run = runs_[r];
  run.first = k.pc;
  run.poll = kNoPoll;
  run.polled = kNoTime;
  run.calls = compute_.calls(r);
  run.computes = false;
  Stretch s;
  LastPoll last;
  std::uint64_t i = k.pc;
  for (; k.program.in_current_block(i) && !(k.in_detour && i >= k.detour_end); ++i) {
    const Op& op = **k.program.at(i);
    if (op.kind == OpKind::compute_kernel) {
      const traces::KernelShape shape = shape_of(k.program, i, op);
      if (compute_.over_links(r, shape)) break;
      run.computes = run.computes || ComputeTimes::more_than_copies(shape);
      take_kernel(r, i, shape, s);
    } else if (traces::is_compute(op.kind) && op.kind != OpKind::sleep) {  // which is told apart
      run.computes = true;
      take_calls(r, s);
      s.take(compute_.of(r, i, op));
      if (agenda_.failed()) return {};
    } else if (op.kind != OpKind::iprobe || (op.flags & traces::kHit) != 0 ||
               take_poll(r, i, op, s) == Take::kEnds) {
      break;
    } else if (!no_poll(op, k.in_detour)) {
      if (last.at != kNoPoll) i += take_again(r, i, last, s);
      last = {i, s.total, run.polled};
      if (run.poll != kNoPoll && ++s.polls == kPollsWithNoise && compute_.draws()) {
        ++i;
        break;
      }
    }
  }
  if (s.unfinished || !k.program.in_current_block(i)) {
    if (!s.window.empty()) i = s.window.front().first;
  } else {
    take_calls(r, s);
  }
  if (i - k.pc < 2) {
    compute_.set_calls(r, run.calls);
    return {};
  }
  run.end = i;
  run.at_poll = run.came_up = false;
  run.calls_after = compute_.calls(r);
  run.since = s.takes_time ? start + s.last : k.since;
  k.blocked_since = start;
  return s.total;
}

void RunAhead::post(std::uint32_t r, Elapsed total) {
  Rank& k = ranks_[r];
  k.part = Part::kCompute;
  ranks_.look(r, RankState::kRunning);
  runs_[r].sequence = agenda_.next_sequence();
  agenda_.post(k.blocked_since + total, EventKind::kRunEnd, r);
}

bool RunAhead::begin(std::uint32_t r, Instant start) {
  const auto total = take(r, start);
  if (total) post(r, *total);
  return total.has_value();
}

void RunAhead::over(std::uint32_t r, Instant at) {
  const Run& run = runs_[r];
  Rank& k = ranks_[r];
  k.spend(Part::kCompute, (at - k.blocked_since) - run.polled);
  k.spend(Part::kPoll, run.polled);
  causes_.add(r, Cause::kPolls, run.polled);
  k.computed |= run.computes;
  ranks_.count_ops(run.end - run.first);
  k.pc = run.end;
  compute_.set_calls(r, run.calls_after);
  // A poll that ended the run has taken its time and looks now.
  k.stage = run.at_poll ? Stage::kOverheadPaid : Stage::kFresh;
  k.since = run.since;
  k.blocked_since = at;
  k.op_start = at;
}

bool RunAhead::end(std::uint32_t r, std::uint64_t sequence, bool more) {
  Run& run = runs_[r];
  if (ranks_[r].state != RankState::kRunning || run.sequence != sequence) return false;
  if (run.poll != kNoPoll) {
    if (!run.came_up && (more || probes_.may_come(r, **ranks_[r].program.at(run.poll)))) {
      run.came_up = true;
      run.sequence = agenda_.post_last(EventKind::kRunEnd, r);
      return false;
    }
    poke(r);
    if (run.sequence != sequence) return false;
  }
  over(r, agenda_.now());
  ranks_.make_ready(r);
  return true;
}

void RunAhead::poke(std::uint32_t r) {
  Run& run = runs_[r];
  const Rank& k = ranks_[r];
  ProgramCursor& program = ranks_[r].program;
  if (run.poll == kNoPoll || !probes_.hits(r, **program.at(run.poll))) return;
  compute_.set_calls(r, run.calls);
  Instant at = k.blocked_since;
  Elapsed polled;
  bool computes = false;
  std::uint64_t last = kNoPoll;  // the poll before, and its time
  Instant last_at;
  Instant began = k.since;  // of what the rank did last
  const auto pass = [&](Elapsed d) {
    if (d > kNoTime) began = at;
    at = at + d;
  };
  for (std::uint64_t i = run.first; i < run.end; ++i) {
    const Op& op = **program.at(i);
    if (traces::is_compute(op.kind)) {
      pass(compute_.of(r, i, op));
      computes |= ComputeTimes::more_than_copies(program, i, op);
      continue;
    }
    if (no_poll(op, k.in_detour)) continue;
    pass(poll_time(op));
    polled += poll_time(op);
    if (at < agenda_.now() && last != kNoPoll && !compute_.draws()) {
      // What comes again up to the last poll before now.
      const Elapsed each = at - last_at;
      const Elapsed left = (agenda_.now() - at) - Elapsed::of_ticks(1);
      const std::uint64_t period = i - last;
      std::uint64_t most = (run.end - 1 - i) / period;
      if (each > kNoTime) most = std::min(most, static_cast<std::uint64_t>(left.ticks() / each.ticks()));
      const std::uint64_t times = most == 0 ? 0 : std::min(most, times_again(r, last + 1, period));
      at = at + Elapsed::of_ticks(each.ticks() * static_cast<network::Ticks>(times));
      polled += Elapsed::of_ticks(poll_time(op).ticks() * static_cast<network::Ticks>(times));
      i += times * period;
    }
    last = i;
    last_at = at;
    if (at < agenda_.now() || never_hits(k, i, op)) continue;
    if (at == agenda_.now() && !probes_.finds(r, op, began)) continue;
    run.end = i;
    run.at_poll = true;
    run.since = began;
    run.computes = computes;
    run.polled = polled;
    run.calls_after = compute_.calls(r);
    run.poll = kNoPoll;
    run.sequence = agenda_.next_sequence();
    return agenda_.post(at, EventKind::kRunEnd, r);
  }
  compute_.set_calls(r, run.calls_after);
  run.poll = kNoPoll;
}

}  // namespace weft::replay
