#include "traces/formats/goal/schedule_maker.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "traces/tasks.hpp"

namespace weft::traces::goal {
Error ScheduleMaker::refuse(const std::string& what) const { return not_supported("GOAL: " + what); }

// Its receive stands in the schedule and would wait for ever.
Error ScheduleMaker::withdrawn(std::uint64_t cancel) const {
  Error e = refuse("a receive that was cancelled before a message came");
  e.where = trace_.position(rank_, cancel);
  return e;
}

Result<void> ScheduleMaker::finish() const {
  if (!tasks_.empty())
    return bad_input({}, fmt::format("rank {}: the program ends before its last task", rank_.index()), {},
                     "a task_wait behind them");
  if (const auto cancel = cancelled_.open()) return withdrawn(*cancel);
  return {};
}

Result<std::uint32_t> ScheduleMaker::start(const Operation& op, const Ends& after) {
  const std::uint64_t v = first_ + schedule_.ops.size();
  if (v >= kMaxOperations) return refuse("more than 2^31 operations of a rank");
  if (op.kind != Kind::kCalc && op.size > kMaxBytes) return refuse("a message of more than 2^62 bytes");
  schedule_.ops.push_back(op);
  for (const std::uint32_t e : after) schedule_.dependencies.push_back({static_cast<std::uint32_t>(v), e});
  return static_cast<std::uint32_t>(v);
}

Result<void> ScheduleMaker::go_on_after(Result<std::uint32_t> operation, bool at_start) {
  if (!operation) return std::move(operation).error();
  after_.assign(1, *operation | (at_start ? Dependency::kAtStart : 0));
  return {};
}

Result<void> ScheduleMaker::received(std::uint32_t comm, std::int32_t tag) {
  const auto taken = contexts_.receive(comm, tag, index_);
  if (!taken) return {};
  Error e = refuse(ReceivedContexts::refusal());
  e.where = trace_.position(rank_, *taken);
  return e;
}

Result<std::uint32_t> ScheduleMaker::message(const Op& op, bool send, const Ends& after) {
  Operation o{.size = static_cast<std::uint64_t>(op.amount), .kind = send ? Kind::kSend : Kind::kRecv};
  o.peer = op.peer == kAnySource ? kAny : static_cast<std::uint32_t>(op.peer);
  if (!send) WEFT_TRY(received(op.comm.index(), op.tag));
  if (op.tag == kAnyTag) {
    o.tag = kAny;
    return start(o, after);
  }
  const auto tag = tags_.message(op.comm.index(), static_cast<std::uint32_t>(op.tag));
  if (!tag)
    return refuse(fmt::format("the tag {} on communicator {}: it has too many tags from {} on", op.tag,
                              op.comm.index(), tags_.large(op.comm.index())));
  o.tag = *tag;
  return start(o, after);
}

Result<void> ScheduleMaker::compute(std::int64_t picoseconds) {
  if (picoseconds / 1000 >= static_cast<std::int64_t>(kMaxNanoseconds))
    return refuse("a computation of more than 53 days");
  rest_ += picoseconds;
  const std::int64_t nanoseconds = (rest_ + 500) / 1000;
  if (nanoseconds <= 0) return {};
  rest_ -= nanoseconds * 1000;
  return go_on_after(start({.size = static_cast<std::uint64_t>(nanoseconds), .kind = Kind::kCalc}, after_),
                     false);
}

// A non-blocking message; the chain goes on when it has started.
Result<void> ScheduleMaker::post(const Op& op, std::uint32_t slot, std::span<const std::int64_t> list) {
  const bool send = !is_receive_request(op.kind);
  if (const auto cancel = cancelled_.open(slot)) return withdrawn(*cancel);
  cancelled_.posted(slot, list);
  if (op.peer == kProcNull) {
    if (slot != kNoRequest) under_way_.erase(slot);
    return {};
  }
  WEFT_ASSIGN(const std::uint32_t v, message(op, send, after_));
  // A buffered send is over when it has started, so its wait has nothing to wait for.
  const bool buffered = op.kind == OpKind::ibsend || op.kind == OpKind::bsend_init;
  if (slot != kNoRequest) under_way_[slot] = {buffered ? Ends{} : Ends{v}, !send};
  return go_on_after(v, true);
}

Result<void> ScheduleMaker::collective(const Op& op, std::span<const std::int64_t> list) {
  if (options_.collectives == nullptr)
    return refuse("collectives without somebody who knows their algorithms");
  std::uint32_t comm = op.comm.index();
  if (op.kind == OpKind::comm_create_group) {
    // Only the members of the new communicator take part.
    if (op.amount < 0) return {};
    comm = static_cast<std::uint32_t>(op.amount);
  }
  messages_.clear();
  WEFT_TRY(options_.collectives->find(rank_, op, list, messages_));
  if (comm >= calls_.size()) calls_.resize(comm + std::size_t{1}, 0);
  const std::uint32_t tag = tags_.collective(comm, calls_[comm]++);
  Ends before = after_, round;
  for (std::size_t i = 0; i < messages_.size();) {
    const std::uint32_t number = messages_[i].round;
    round.clear();
    std::size_t end = i;
    while (end < messages_.size() && messages_[end].round == number) ++end;
    // Receives are there before anything is sent.
    for (const bool send : {false, true})
      for (std::size_t k = i; k < end; ++k) {
        const CollectiveMessage& m = messages_[k];
        if (m.send != send) continue;
        if (!send) WEFT_TRY(received(ReceivedContexts::kCollectives, 0));
        paced_sends_ += send && m.paced ? 1 : 0;
        WEFT_ASSIGN(const std::uint32_t v, start({.size = static_cast<std::uint64_t>(m.bytes),
                                                  .peer = static_cast<std::uint32_t>(m.peer),
                                                  .tag = tag,
                                                  .kind = send ? Kind::kSend : Kind::kRecv},
                                                 before));
        round.push_back(v);
      }
    before = round;
    i = end;
  }
  if (is_nonblocking_collective(op.kind)) {
    if (op.request != kNoRequest)
      under_way_[op.request] = {messages_.empty() ? Ends{} : std::move(before), false};
  } else {
    after_ = std::move(before);
  }
  return {};
}

Result<void> ScheduleMaker::wait(const Op& op, std::span<const std::int64_t> list) {
  std::int64_t one = 0;
  for (const std::int64_t slot : completed_requests(op, list, one)) {
    requests_.complete(static_cast<std::uint32_t>(slot));
    const auto it = under_way_.find(static_cast<std::uint32_t>(slot));
    if (it == under_way_.end()) continue;
    if (const auto cancel = cancelled_.complete(op, it->first)) return withdrawn(*cancel);
    for (const std::uint32_t v : it->second.ends) {
      if (!after_.empty() && after_.front() == (v | Dependency::kAtStart)) after_.erase(after_.begin());
      after_.push_back(v);  // the first time: an operation belongs to one request, which ends once
    }
    under_way_.erase(it);
  }
  return {};
}

// It starts after what it names, and when the program has come to it; to MPI_PROC_NULL it only orders others.
Result<void> ScheduleMaker::task(const Op& op, std::span<const std::int64_t> list) {
  if (options_.computation)
    return refuse("the times of tasks in a replay: the trace itself can be exported, with its own");
  const TaskList t = task_list(list);
  Ends after = after_;
  for (const std::int64_t d : t.after) {
    const auto up = static_cast<std::uint64_t>(d < 0 ? -d : d);
    if (up > tasks_.size()) return bad_input({}, "a task after one that does not stand before it");
    after.push_back(tasks_[tasks_.size() - up] | (d < 0 ? Dependency::kAtStart : 0));
  }
  const std::size_t at = schedule_.ops.size();
  const bool computes = op.kind == OpKind::task_compute;
  if (computes && op.amount / 1000 >= static_cast<std::int64_t>(kMaxNanoseconds))
    return refuse("a computation of more than 53 days");
  auto v = computes || op.peer == kProcNull
               ? start({.size = computes ? static_cast<std::uint64_t>(op.amount + 500) / 1000 : 0,
                        .kind = Kind::kCalc},
                       after)
               : message(op, op.kind == OpKind::task_send, after);
  if (!v) return std::move(v).error();
  schedule_.ops[at].cpu = static_cast<std::uint8_t>(t.cpu);
  tasks_.push_back(*v);
  return {};
}

void ScheduleMaker::wait_for_tasks() {
  after_.insert(after_.end(), tasks_.begin(), tasks_.end());
  tasks_.clear();
  many_after_ = after_.size() > 1;
}

// One computation of no time for all that the next operations require.
Result<void> ScheduleMaker::join() {
  many_after_ = false;
  return go_on_after(start({.kind = Kind::kCalc}, after_), false);
}

Result<void> ScheduleMaker::write(const Op& op, std::span<const std::int64_t> list) {
  switch (op.kind) {
    case OpKind::sleep:
      return compute(op.amount);
    case OpKind::compute_time:
      return compute(options_.computation ? options_.computation(rank_, index_) : op.amount);
    case OpKind::compute_flops:
    case OpKind::compute_kernel:
      if (options_.computation) return compute(options_.computation(rank_, index_));
      return refuse("computation in flops: its times are nanoseconds");
    case OpKind::launch:
      return refuse("accelerators");
    case OpKind::exchange_series:
      return refuse("exchange series of generated HPL");
    case OpKind::task_compute:
    case OpKind::task_send:
    case OpKind::task_recv:
      return task(op, list);
    case OpKind::task_wait:
      wait_for_tasks();
      return {};
    case OpKind::cancel:
      // A send that was made goes on.
      if (const auto it = under_way_.find(op.request); it != under_way_.end() && it->second.receive)
        cancelled_.cancel(op.request, index_);
      return {};
    case OpKind::send:
    case OpKind::ssend:
    case OpKind::rsend:
    case OpKind::bsend:
      if (op.peer == kProcNull) return {};
      return go_on_after(message(op, true, after_), op.kind == OpKind::bsend);
    case OpKind::sendrecv:
      before_half_ = after_;
      half_open_ = true;
      if (op.peer == kProcNull) return {};
      return go_on_after(message(op, true, after_), false);
    case OpKind::recv: {
      // Both halves of a sendrecv begin together, and it is over with the later one.
      const bool half = half_open_ && (op.flags & kPairedRecv) != 0;
      half_open_ = false;
      if (op.peer == kProcNull) return {};
      if (!half) return go_on_after(message(op, false, after_), false);
      WEFT_ASSIGN(const std::uint32_t v, message(op, false, before_half_));
      if (after_ == before_half_) after_.clear();
      after_.push_back(v);
      return {};
    }
    case OpKind::start: {
      if (const auto* e = requests_.find(op.request)) WEFT_TRY(post(started(e->op, op), op.request, list));
      requests_.start(op.request);
      return {};
    }
    case OpKind::startall:
      for (const std::int64_t r : list) {
        const auto slot = static_cast<std::uint32_t>(r);
        if (const auto* e = requests_.find(slot)) WEFT_TRY(post(e->op, slot, {}));
        requests_.start(slot);
      }
      return {};
    case OpKind::request_free:
      if (const auto cancel = cancelled_.open(op.request)) return withdrawn(*cancel);
      requests_.free(op.request);
      under_way_.erase(op.request);
      return {};
    default:
      if (is_collective(op.kind) || is_comm_create(op.kind)) return collective(op, list);
      if (op.kind <= OpKind::irecv && op.kind >= OpKind::isend) return post(op, op.request, list);
      if (makes_request(op.kind)) {
        if (op.request != kNoRequest) requests_.post(op, index_);
        return {};
      }
      if (is_completion(op.kind)) return wait(op, list);
      return {};  // init, finalize, probes, regions: nothing that takes time or sends
  }
}

Result<void> ScheduleMaker::add(const Op& op, std::span<const std::int64_t> list, std::uint64_t index) {
  index_ = index;
  const bool writes = op.kind < OpKind::init || op.kind > OpKind::region_end;
  auto joined = many_after_ && writes ? join() : Result<void>();
  auto written = joined ? write(op, list) : std::move(joined);
  if (!written && written.error().where.empty()) written.error().where = trace_.position(rank_, index);
  return written;
}

}  // namespace weft::traces::goal
