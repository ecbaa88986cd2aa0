#include "traces/check/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "traces/op_rules.hpp"
#include "traces/recorded/recorded_matches.hpp"
#include "traces/request_book.hpp"

namespace weft::traces::doctor {
namespace {

constexpr std::size_t kQuantum = 256;       // operations a rank runs before the next one does
constexpr std::size_t kBacklog = 4096;      // unreceived messages of a sender before others go first
constexpr std::uint64_t kReport = 1 << 12;  // operations between two reports of progress
constexpr const char* kNotAskedFor = "what it got in the recording is not what it asks for";

}  // namespace

bool Doctor::member(std::uint32_t r, const Op& op, std::int32_t who, const char* role, std::uint64_t index) {
  if (collectives_.position(op.comm, static_cast<std::uint32_t>(who)) >= 0) return true;
  error(r, index, op,
        fmt::format("{} {} is not in communicator {}", role, who,
                    trace_.communicators()[op.comm.index()].name));
  return false;
}

bool Doctor::send(std::uint32_t r, Rank& me, const Op& op) {
  if (op.peer == kProcNull) return true;
  if (!me.issued) {
    if (!member(r, op, op.peer, "destination", me.index())) return true;
    const bool waits =
        op.kind == OpKind::ssend || (synchronous_ && (op.kind == OpKind::send || op.kind == OpKind::rsend));
    me.issued = true;
    me.current_done = !waits;
    deliver(r, op, me.index(), waits ? kCurrent : Message::kNobody);
  }
  return me.current_done;
}

bool Doctor::receive(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  if (op.peer == kProcNull) return true;
  if (!me.issued) {
    const bool any = op.peer == kAnySource;
    if (!any && !member(r, op, op.peer, "source", me.index())) return true;
    me.issued = true;
    me.current_done = false;
    Posted p{op.tag, op.amount, me.index(), kCurrent, me.next_order++};
    if (!any) {
      matching_.post(op.comm, static_cast<std::uint32_t>(op.peer), r, p);
    } else if (const Envelope got = asked_or_got(op, list); got.source >= 0) {
      p.tag = got.tag;
      matching_.post(op.comm, static_cast<std::uint32_t>(got.source), r, p);
    } else {
      post_wildcard(r, {p, op.comm});
    }
  }
  return me.current_done;
}

bool Doctor::probe(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  const Envelope e = asked_or_got(op, list);
  if (e.source == kProcNull) return true;
  me.issued = true;
  return matching_.sees(op.comm, e.source, r, e.tag);
}

void Doctor::activate(std::uint32_t r, Rank& me, Request& q, std::uint32_t slot, std::uint64_t index,
                      std::span<const std::int64_t> list) {
  const Op& op = q.op;
  drop_guess(me, slot, q);
  q.active = true;
  q.index = index;
  q.done = true;
  q.recorded = q.cancelled = false;
  q.took.reset();
  q.source = op.peer;
  q.tag = op.tag;
  if (op.peer == kProcNull || op.kind == OpKind::launch) return;  // neither waits for another rank
  if (!is_receive_request(op.kind)) {
    if (!member(r, op, op.peer, "destination", index)) return;
    const bool sync = op.kind == OpKind::issend || op.kind == OpKind::ssend_init;
    const bool buffered = op.kind == OpKind::ibsend || op.kind == OpKind::bsend_init;
    q.done = !sync && (!synchronous_ || buffered);
    q.row = deliver(r, op, index, q.done ? Message::kNobody : slot);
    return;
  }
  const auto got = match_place(op, list.size());
  q.recorded = got && list[*got] >= 0;
  if (op.peer == kAnySource) {
    // Recorded with the receive, or with the completion that follows.
    if (const Envelope e = asked_or_got(op, list); e.source >= 0) {
      q.source = e.source;
      q.tag = e.tag;
    } else if (const auto ahead = RankTasks::is_slot(slot) ? std::nullopt : match_ahead(r, me, slot)) {
      std::tie(q.source, q.tag) = *ahead;
    }
  } else if (!member(r, op, op.peer, "source", index)) {
    return;
  }
  q.done = false;
  q.order = me.next_order++;
  const Posted p{q.tag, op.amount, index, slot, q.order};
  if (q.source >= 0)
    q.row = matching_.post(op.comm, static_cast<std::uint32_t>(q.source), r, p);
  else
    post_wildcard(r, {p, op.comm});
}

Request& Doctor::new_request(std::uint32_t r, Rank& me, const Op& op) {
  Request& q = me.requests[op.request];
  if (q.active || q.persistent) {
    error(r, me.index(), op,
          fmt::format("request {} is still {} the {} at operation {}", op.request,
                      q.active ? "in use by" : "that of", op_name(q.op.kind), q.index));
    if (q.active && !q.done && is_receive_request(q.op.kind)) withdraw(r, me, op.request, q);
  }
  settle_guess(r, me, op.request, q);
  q = {};
  q.op = op;
  q.index = me.index();
  return q;
}

void Doctor::post(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  Request& q = new_request(r, me, op);
  q.persistent = makes_persistent_request(op.kind);
  if (!q.persistent) activate(r, me, q, op.request, me.index(), list);
}

void Doctor::not_for_launched(std::uint32_t r, const Rank& me, const Op& op, std::int64_t slot) {
  error(r, me.index(), op,
        fmt::format("request {} is that of a launched kernel: only a wait may name it", slot));
}

void Doctor::request_op(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  const auto start = [&](std::uint32_t slot, std::span<const std::int64_t> got) {
    const auto it = me.requests.find(slot);
    if (it == me.requests.end() || !it->second.persistent)
      return error(r, me.index(), op, fmt::format("request {} is not a persistent request", slot));
    if (it->second.active)
      return error(r, me.index(), op, fmt::format("request {} is started already", slot));
    if (contradicts_itself(it->second.op, got)) error(r, me.index(), op, kNotAskedFor);
    activate(r, me, it->second, slot, me.index(), got);
  };
  if (op.kind == OpKind::start) return start(op.request, list);
  if (op.kind == OpKind::startall) {
    for (const std::int64_t s : list) start(static_cast<std::uint32_t>(s), {});
    return;
  }
  const auto it = me.requests.find(op.request);
  if (it == me.requests.end())
    return error(r, me.index(), op, fmt::format("request {} does not exist", op.request));
  Request& q = it->second;
  if (is_nonblocking_collective(q.op.kind))
    error(
        r, me.index(), op,
        fmt::format("request {} is that of the {} at operation {}: MPI lets nobody {} a collective's",
                    op.request, op_name(q.op.kind), q.index, op.kind == OpKind::cancel ? "cancel" : "free"));
  if (q.op.kind == OpKind::launch) not_for_launched(r, me, op, op.request);
  if (op.kind == OpKind::cancel) return cancel(r, me, op.request, q);
  // What was freed goes on (MPI completes it in the background); nobody waits for it any more.
  if (q.cancelled && !q.done) withdraw(r, me, op.request, q);
  if (q.active && !q.done && !is_nonblocking_collective(q.op.kind)) forget(r, q);
  settle_guess(r, me, op.request, q);
  me.requests.erase(it);
}

bool Doctor::complete(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  std::int64_t one = 0;
  const auto slots = completed_requests(op, list, one);
  // What is done stays done, so that a rank that is woken for each of its requests looks at each once.
  if (!me.issued) me.settled = 0;
  // A test is local: where a send is not buffered it says no, and its rank goes on, now without the request. The message stays.
  const bool may_say_no = synchronous_ && is_test(op.kind);
  std::size_t open = slots.size();  // the first that is not done
  for (std::size_t i = me.settled; i < slots.size(); ++i) {
    const std::int64_t s = slots[i];
    ++requests_asked_;
    const auto it = me.requests.find(static_cast<std::uint32_t>(s));
    if (it == me.requests.end()) {
      if (!me.issued) error(r, me.index(), op, fmt::format("request {} is not active", s));
      continue;
    }
    Request& q = it->second;
    if (!q.active) continue;
    if (!me.issued && q.op.kind == OpKind::launch && op.kind != OpKind::wait) not_for_launched(r, me, op, s);
    // The completion of a wildcard that was out of sight says what it was.
    if (!me.issued && q.op.peer == kAnySource && is_receive_request(q.op.kind) && op.peer >= 0 &&
        (op.kind == OpKind::wait || op.kind == OpKind::test) && (q.source < 0 || q.guess))
      recorded_match(r, me, static_cast<std::uint32_t>(s), q, op.peer, op.tag);
    if (!me.issued && q.cancelled && completes_withdrawn(op))
      withdraw(r, me, static_cast<std::uint32_t>(s), q);
    if (!q.done && is_nonblocking_collective(q.op.kind))
      q.done = collectives_.may_leave(q.op, r, q.instance, synchronous_);
    if (!q.done && may_say_no && is_send_request(q.op.kind)) {
      forget(r, q);
      q.done = true;
    }
    if (q.done) continue;
    open = std::min(open, i);
    if (me.issued) break;
  }
  me.issued = true;
  me.settled = open;
  if (open < slots.size()) return false;
  for (const std::int64_t s : slots) {
    const auto it = me.requests.find(static_cast<std::uint32_t>(s));
    if (it == me.requests.end()) continue;
    Request& q = it->second;
    q.active = false;
    settle_guess(r, me, static_cast<std::uint32_t>(s), q);
    if (!q.persistent) me.requests.erase(it);
  }
  return true;
}

bool Doctor::collective(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  if (!me.issued) {
    // comm_create_group is collective over the members of the new communicator only.
    Op on = op;
    if (op.kind == OpKind::comm_create_group) {
      if (op.amount < 0) return true;
      on.comm = CommId(static_cast<std::uint32_t>(op.amount));
    }
    if (!member(r, on, static_cast<std::int32_t>(r), "rank", me.index())) return true;
    if (is_rooted(op.kind) && !member(r, on, op.peer, "root", me.index())) return true;
    me.issued = true;
    const auto arrival = collectives_.arrive(on, r, me.index(), list);
    me.instance = arrival.instance;
    for (const auto& f : arrival.faults)
      error(r, me.index(), op,
            fmt::format("{} ({})", f.text, trace_.position(RankId(f.other_rank), f.other_op)));
    if (is_nonblocking_collective(op.kind)) {
      Request& q = new_request(r, me, op);
      q.active = true;
      q.instance = arrival.instance;
    }
    if (arrival.wakes_all)
      for (const std::int32_t m : trace_.communicators()[on.comm.index()].members)
        wake(static_cast<std::uint32_t>(m));
    for (const std::uint32_t m : arrival.wakes) wake(m);
  }
  if (is_nonblocking_collective(op.kind)) return true;
  Op on = op;
  if (op.kind == OpKind::comm_create_group) on.comm = CommId(static_cast<std::uint32_t>(op.amount));
  return collectives_.may_leave(on, r, me.instance, synchronous_);
}

bool Doctor::step(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  const OpKind k = op.kind;
  if (me.tasks.any_may_go_on()) go_on_with_tasks(r, me);
  if (is_task(k)) {
    Op on = op;
    if (op.comm.index() != 0 && !member(r, op, static_cast<std::int32_t>(r), "rank", me.index()))
      on.peer = kProcNull;
    task(r, me, on, list);
    return true;
  }
  if (k == OpKind::task_wait) return task_wait(me);
  if (!me.issued && k != OpKind::start && contradicts_itself(op, list))
    error(r, me.index(), op, kNotAskedFor);
  if (op.comm.index() != 0 && !me.issued && k >= OpKind::send && k <= OpKind::comm_free &&
      (is_send(k) || k == OpKind::recv || makes_request(k)) &&
      !member(r, op, static_cast<std::int32_t>(r), "rank", me.index()))
    return true;
  if (k ==
      OpKind::
          sendrecv) {  // its send waits in the receive half, which comes next: that may be what lets it go
    me.pair_open = false;
    me.pair_peer = op.peer;
    if (op.peer != kProcNull && member(r, op, op.peer, "destination", me.index())) {
      me.pair_open = synchronous_;
      deliver(r, op, me.index(), synchronous_ ? Message::kPair : Message::kNobody);
    }
    return true;
  }
  if (is_blocking_send(k)) return send(r, me, op);
  if (k == OpKind::recv) return receive(r, me, op, list) && ((op.flags & kPairedRecv) == 0 || !me.pair_open);
  if (is_collective(k) || is_comm_create(k)) return collective(r, me, op, list);
  if (makes_request(k)) {
    // Nobody asks for the end of a launch without a request.
    if (k != OpKind::launch || op.request != kNoRequest) post(r, me, op, list);
    return true;
  }
  if (is_completion(k)) return complete(r, me, op, list);
  if (k == OpKind::iprobe || k == OpKind::improbe) return (op.flags & kHit) == 0 || probe(r, me, op, list);
  if (k == OpKind::probe || k == OpKind::mprobe) return probe(r, me, op, list);
  if (k == OpKind::start || k == OpKind::startall || k == OpKind::request_free || k == OpKind::cancel) {
    request_op(r, me, op, list);
  } else if (k == OpKind::region_begin) {
    me.region_stack.push_back(static_cast<std::uint32_t>(op.amount));
  } else if (k == OpKind::region_end) {
    if (me.region_stack.empty() || me.region_stack.back() != static_cast<std::uint32_t>(op.amount))
      find_.add(Severity::kWarning, r, me.index(), "region_end",
                fmt::format("region {} is not the one that was begun last",
                            trace_.regions()[static_cast<std::size_t>(op.amount)]));
    else
      me.region_stack.pop_back();
  }
  return true;
}

Result<void> Doctor::run() {
  trace_.rewind();
  if (options_.script != nullptr) options_.script->begin_run();
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    ready_.push_back(r);
    ranks_[r].queued = true;
  }
  std::uint64_t reported = 0;
  while (true) {
    if (ready_.empty() && choose()) continue;
    if (repeated_) return {};
    if (ready_.empty() && throttled_.empty()) {
      // No message comes any more, so what may have been cancelled in time was.
      bool withdrawn = false;
      for (std::uint32_t r = 0; r < ranks_.size(); ++r)
        if (ranks_[r].blocked && withdraw_cancelled(r)) withdrawn = true;
      if (!withdrawn) break;
      continue;
    }
    if (steps() > options_.most_steps) {
      given_up_ = true;
      return {};
    }
    if (options_.on_progress && ops_done_ - reported >= kReport) options_.on_progress(reported = ops_done_);
    auto& queue = ready_.empty() ? throttled_ : ready_;
    const std::uint32_t r = queue.front();
    queue.pop_front();
    Rank& me = ranks_[r];
    me.queued = false;
    me.blocked = false;
    for (std::size_t n = 0; n < kQuantum && !me.ended && !me.blocked; ++n) {
      if (me.at == me.block.ops.size()) {
        WEFT_ASSIGN(const bool more, me.ahead.next_block(trace_, RankId(r), me.block));
        me.at = 0;
        if (!me.named.empty()) me.named.erase(me.named.begin());
        if (!more) {
          me.program.finish(me.seen, program_faults_);
          tell(r, program_faults_);
          if (const RankTasks::Task* const t = me.tasks.last())
            error(r, t->index, t->op, "no task_wait stands behind it");
          me.ended = true;
          (void)withdraw_cancelled(r);
          me.block = {};
          break;
        }
      }
      const Op& op = me.block.ops[me.at];
      if (me.seen == me.index()) {
        ++me.seen;
        me.program.add(me.index(), op, me.block.list(op), trace_.communicators(), program_faults_);
        if (!program_faults_.empty()) tell(r, program_faults_);
      }
      if (step(r, me, op, me.block.list(op))) {
        me.issued = me.current_done = false;
        ++me.at;
        ++ops_done_;
      } else {
        me.blocked = true;
      }
    }
    if (!me.ended && !me.blocked) {
      me.queued = true;
      (me.in_flight > kBacklog ? throttled_ : ready_).push_back(r);
    }
  }
  finish();
  return {};
}

}  // namespace weft::traces::doctor
