#include "replay/ranks/tasks.hpp"

#include <utility>

namespace weft::replay {

using traces::OpKind;

void Tasks::call(std::uint32_t r) {
  if (std::exchange(lines_[r].queued, true)) return;
  ranks_.make_tasks_ready(r);
}

void Tasks::join(std::uint32_t& list, std::uint32_t later) {
  const std::uint32_t edge = edges_.take();
  edges_[edge] = {later, std::exchange(list, edge)};
  ++tasks_[later].lacks;
}

bool Tasks::add(std::uint32_t r, const traces::Op& op, std::span<const std::int64_t> list) {
  hindsight_.depends_on_time();
  if (lines_.empty()) lines_.resize(ranks_.count());
  Line& line = lines_[r];
  const traces::TaskList l = traces::task_list(list);
  const auto number = static_cast<std::uint32_t>(line.rows.size());
  const std::uint32_t row = tasks_.take();
  hindsight_.task_comes(row, r);
  Task& t = tasks_[row];
  t = Task{};
  t.rank = r;
  t.number = number;
  t.context = op.comm.index();
  t.peer = op.peer;
  t.tag = op.tag;
  t.kind = op.kind;
  t.cpu = static_cast<std::uint8_t>(l.cpu);
  t.amount = op.amount;
  t.op = line.last_op = ranks_[r].pc;
  if (line.cpus.size() <= l.cpu) line.cpus.resize(l.cpu + std::size_t{1});
  for (const std::int64_t d : l.after) {
    const auto up = static_cast<std::uint64_t>(d < 0 ? -d : d);
    if (up > number) return false;
    const std::uint32_t earlier = line.rows[number - up];
    if (earlier == kNone) continue;
    Task& e = tasks_[earlier];
    if (d > 0)
      join(e.at_end, row);
    else if (!e.begun)
      join(e.at_start, row);
  }
  line.rows.push_back(row);
  ++line.left;
  if (t.lacks > 0) return true;
  line.ready.push_back(row);
  call(r);
  return true;
}

bool Tasks::wait(std::uint32_t r) {
  if (lines_.empty()) return false;
  Line& line = lines_[r];
  line.waits = line.left > 0;
  if (!line.waits) line.rows.clear();
  return line.waits;
}

Elapsed Tasks::time_of(const Task& t) {
  switch (t.kind) {
    case OpKind::task_compute:
      return compute_.of(t.rank, 0, {.kind = OpKind::compute_time, .amount = t.amount});
    case OpKind::task_send:
      return t.peer != traces::kProcNull ? cost_.isend(t.amount) : kNoTime;
    default:
      return cost_.recv(t.amount);
  }
}

void Tasks::release(std::uint32_t& list, std::uint32_t task) {
  for (std::uint32_t edge = std::exchange(list, kNone); edge != kNone;) {
    const Edge e = edges_[edge];
    edges_.give(edge);
    edge = e.next;
    Task& t = tasks_[e.later];
    if (--t.lacks > 0) continue;
    hindsight_.task_follows(e.later, task);
    lines_[t.rank].ready.push_back(e.later);
  }
}

void Tasks::begin(std::uint32_t task) {
  tasks_[task].begun = true;
  release(tasks_[task].at_start, task);
}

void Tasks::over(std::uint32_t task) {
  const std::uint32_t r = tasks_[task].rank;
  release(tasks_[task].at_end, task);
  Line& line = lines_[r];
  line.rows[tasks_[task].number] = kNone;
  if (--line.left == 0 && std::exchange(line.waits, false)) {
    line.rows.clear();
    show_rest(r);
    ranks_[r].pending = 0;
    hindsight_.woken_by_task(r, task);
    ranks_.make_ready(r);
  }
  hindsight_.task_ends(task);
  tasks_.give(task);
  ranks_.count_ops(1);
}

void Tasks::list(Line& line, std::uint32_t cpu) {
  if (!std::exchange(line.cpus[cpu].listed, true)) line.free_cpus.push_back(cpu);
}

std::uint64_t Tasks::turn_of(Line& line, const Cpu& cpu, const Task& t) {
  const bool posts = t.kind == OpKind::task_recv && !t.begun;
  // A send that costs nothing holds up nobody, but does not go before those who wait.
  const bool sends = t.kind == OpKind::task_send;
  const bool free = time_of(t) == kNoTime;
  if (posts || (free && (!sends || !cpu.waited_for(agenda_.now())))) return t.number;
  if (agenda_.now() != line.last) {
    line.last = agenda_.now();
    ++line.instants;
  }
  const std::uint64_t kind = free ? 0 : t.kind == OpKind::task_recv ? 1 : sends ? 2 : 3;
  static_assert(traces::kMaxTasks <= std::int64_t{1} << 30);
  return kTakesTime | std::uint64_t{line.instants} << 32 | kind << 30 | t.number;
}

void Tasks::queue_up(std::uint32_t task) {
  Task& t = tasks_[task];
  Line& line = lines_[t.rank];
  Cpu& cpu = line.cpus[t.cpu];
  t.turn = turn_of(line, cpu, t);
  if (!takes_no_time(t)) cpu.joins(agenda_.now());
  cpu.waiting.push_back(task);
  std::push_heap(cpu.waiting.begin(), cpu.waiting.end(), [this](auto a, auto b) { return later(a, b); });
  if (cpu.busy == kNone) list(line, t.cpu);
}

bool Tasks::give_turns(std::uint32_t r, Line& line) {
  std::size_t kept = 0;
  const auto first = static_cast<std::ptrdiff_t>(line.happened.size());
  for (const std::uint32_t c : line.free_cpus) {
    Cpu& cpu = line.cpus[c];
    while (cpu.busy == kNone && !cpu.waiting.empty() && takes_no_time(tasks_[cpu.waiting.front()]))
      take_turn(line, cpu);
    if (cpu.busy == kNone && !cpu.waiting.empty())
      line.free_cpus[kept++] = c;
    else
      cpu.listed = false;
  }
  line.free_cpus.resize(kept);
  // Posts of several cpus go in the order of the program, too.
  std::sort(line.happened.begin() + first, line.happened.end(), [this](const Happened& a, const Happened& b) {
    return tasks_[a.task].number < tasks_[b.task].number;
  });
  if (!line.happened.empty() || !line.ready.empty()) return true;
  if (line.free_cpus.empty()) return false;
  if (!line.may_work) {
    if (!std::exchange(line.asked, true)) agenda_.post_last(EventKind::kTaskTurns, r);
    return false;
  }
  const auto next =
      std::max_element(line.free_cpus.begin(), line.free_cpus.end(), [&](std::uint32_t a, std::uint32_t b) {
        return later(line.cpus[a].waiting.front(), line.cpus[b].waiting.front());
      });
  Cpu& cpu = line.cpus[*next];
  take_turn(line, cpu);
  if (cpu.busy == kNone) return true;  // a send that costs nothing
  *next = line.free_cpus.back();
  line.free_cpus.pop_back();
  cpu.listed = false;
  return true;
}

void Tasks::take_turn(Line& line, Cpu& cpu) {
  std::pop_heap(cpu.waiting.begin(), cpu.waiting.end(), [this](auto a, auto b) { return later(a, b); });
  const std::uint32_t task = cpu.waiting.back();
  cpu.waiting.pop_back();
  if (!takes_no_time(tasks_[task]))
    cpu.leaves(instant_of(tasks_[task]) == line.instants && line.last == agenda_.now());
  hindsight_.task_has_turn(task, cpu.before);
  const Task& t = tasks_[task];
  const bool posts = !t.begun && t.kind == OpKind::task_recv;
  if (!t.begun) begin(task);
  const Elapsed d = posts ? kNoTime : time_of(t);
  if (d == kNoTime) {
    line.happened.push_back({t.kind == OpKind::task_compute ? What::kOver : What::kPost, task});
    return;
  }
  cpu.busy = task;
  ++at_work(line, t.kind);
  agenda_.post_in_turn(d, EventKind::kTaskTimer, task);
}

void Tasks::timer(std::uint32_t task) {
  const Task& t = tasks_[task];
  book(t.rank, nullptr, false);
  Line& line = lines_[t.rank];
  Cpu& cpu = line.cpus[t.cpu];
  cpu.busy = kNone;
  --at_work(line, t.kind);
  const bool sends = t.kind == OpKind::task_send;
  std::optional<Cause> cause;
  if (t.kind != OpKind::task_compute) cause = sends ? Cause::kSendOverhead : Cause::kRecvOverhead;
  hindsight_.task_worked(task, t.rank, t.op, cause, cpu.before);
  if (!cpu.waiting.empty()) list(line, t.cpu);
  note(t.rank, sends ? What::kPost : What::kOver, task);
}

void Tasks::message_over(std::uint32_t task, std::int64_t bytes, const Message* m, bool sender) {
  Task& t = tasks_[task];
  if (task == posting_) m = nullptr;  // nobody has waited
  if (m != nullptr) {
    book(t.rank, m, sender);
    hindsight_.task_woken(task, *m, sender);
  }
  if (t.kind == OpKind::task_recv) t.amount = bytes;
  const bool pays = t.kind == OpKind::task_recv && time_of(t) > kNoTime;
  note(t.rank, pays ? What::kCame : What::kOver, task);
}

Part Tasks::part_of(OpKind kind) {
  return kind == OpKind::task_compute ? Part::kCompute
         : kind == OpKind::task_send  ? Part::kSend
                                      : Part::kRecv;
}

void Tasks::show(std::uint32_t r, Part part) {
  std::uint64_t op = ranks_[r].pc;
  for (const Cpu& cpu : lines_[r].cpus) {
    if (cpu.busy == kNone || part_of(tasks_[cpu.busy].kind) != part) continue;
    op = tasks_[cpu.busy].op;
    break;
  }
  Line& line = lines_[r];
  if (line.shown_op != op || line.shown_until != ranks_[r].blocked_since) {
    show_rest(r);
    line.shown_op = op;
    line.shown_since = ranks_[r].blocked_since;
  }
  line.shown_until = agenda_.now();
  // What it hangs in begins there.
  ranks_[r].op_start = agenda_.now();
}

void Tasks::show_rest(std::uint32_t r) {
  if (lines_.empty() || !options_.on_op) return;
  Line& line = lines_[r];
  if (line.shown_until > line.shown_since)
    options_.on_op(RankId(r), line.shown_op, line.shown_since.rounded(), line.shown_until.rounded());
  line.shown_since = line.shown_until;
}

void Tasks::book(std::uint32_t r, const Message* m, bool sender) {
  Rank& k = ranks_[r];
  const Line& line = lines_[r];
  const Instant now = agenda_.now();
  if (!line.waits || k.state != RankState::kBlocked || now == k.blocked_since) return;
  const Elapsed d = now - k.blocked_since;
  const Part part = line.computing > 0   ? Part::kCompute
                    : line.sending > 0   ? Part::kSend
                    : line.receiving > 0 ? Part::kRecv
                                         : Part::kWait;
  if (options_.on_op) show(r, part);
  k.spend(part, d);
  if (part == Part::kSend) causes_.add(r, Cause::kSendOverhead, d);
  if (part == Part::kRecv) causes_.add(r, Cause::kRecvOverhead, d);
  if (part == Part::kWait && m != nullptr) {
    causes_.waited(r, *m, sender, k.blocked_since, now);
    hindsight_.waited_for_tasks(r, *m, sender);
  }
  k.since = std::exchange(k.blocked_since, now);
}

}  // namespace weft::replay
