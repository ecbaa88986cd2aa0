#include "traces/formats/dimemas/translator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

namespace weft::traces::dimemas {
namespace {

constexpr std::int64_t kMostPicoseconds = std::int64_t{9} * 1000 * 1000 * 1000 * 1000 * 1000 * 1000;

// By their number in records of today's prv2dim. Up to 12 all versions have these; of others the call of MPI that the record is in
// says more.
constexpr OpKind kOperations[] = {OpKind::barrier,
                                  OpKind::bcast,
                                  OpKind::gather,
                                  OpKind::gatherv,
                                  OpKind::scatter,
                                  OpKind::scatterv,
                                  OpKind::allgather,
                                  OpKind::allgatherv,
                                  OpKind::alltoall,
                                  OpKind::alltoallv,
                                  OpKind::reduce,
                                  OpKind::allreduce,
                                  OpKind::reduce_scatter,
                                  OpKind::reduce_scatter_block,
                                  OpKind::scan,
                                  OpKind::alltoallw,
                                  OpKind::ibarrier,
                                  OpKind::ibcast,
                                  OpKind::igather,
                                  OpKind::igatherv,
                                  OpKind::iscatter,
                                  OpKind::iscatterv,
                                  OpKind::iallgather,
                                  OpKind::iallgatherv,
                                  OpKind::ialltoall,
                                  OpKind::ialltoallv,
                                  OpKind::ireduce,
                                  OpKind::iallreduce,
                                  OpKind::ireduce_scatter,
                                  OpKind::ireduce_scatter_block,
                                  OpKind::iscan,
                                  OpKind::ialltoallw};
constexpr std::int32_t kLastOfAllVersions = 12;
// Of mpi2dim and old prv2dim, whose records end with the sizes.
constexpr std::int32_t kOldScan = 13, kOldReduceScatterBlock = 14;

constexpr OpKind nonblocking_form(OpKind k) {
  if (is_nonblocking_collective(k)) return k;
  return static_cast<OpKind>(static_cast<int>(k) - static_cast<int>(OpKind::barrier) +
                             static_cast<int>(OpKind::ibarrier));
}

bool is_neighbor(OpKind k) {
  return blocking_form(k) >= OpKind::neighbor_allgather && blocking_form(k) <= OpKind::neighbor_alltoallw;
}

// What one rank has of a collective whose record has sums over all ranks, too. In place its own part is not told.
std::int64_t own_bytes(OpKind blocking, const Record& r, std::int64_t ranks) {
  switch (blocking) {
    case OpKind::barrier:
      return 0;
    case OpKind::gather:
    case OpKind::allgather:
    case OpKind::alltoall:
      return r.sent > 0 ? r.sent : r.received / ranks;
    case OpKind::scatter:
      return r.received > 0 ? r.received : r.sent / ranks;
    case OpKind::reduce_scatter_block:
      return r.received > 0 && r.received != r.sent ? r.received : r.sent / ranks;
    default:
      return std::max(r.sent, r.received);
  }
}

}  // namespace

void Translator::flush_compute(OpBlock& out) {
  if (compute_ps_ > 0) out.ops.push_back({.kind = OpKind::compute_time, .amount = compute_ps_});
  compute_ps_ = 0;
}

void Translator::flush_waits(OpBlock& out) {
  for (std::size_t at = 0; at < waits_.size(); at += kMostWaits) {
    const auto some = std::span(waits_).subspan(at, std::min(kMostWaits, waits_.size() - at));
    Op op{.kind = OpKind::waitall};
    if (some.size() == 1)
      op = {.kind = OpKind::wait,
            .peer = kAnySource,
            .tag = kAnyTag,
            .request = static_cast<std::uint32_t>(some[0])};
    else
      op.extra = out.add_list(some);
    out.ops.push_back(op);
  }
  waits_.clear();
}

void Translator::push(Op op, OpBlock& out) {
  flush_waits(out);
  flush_compute(out);
  out.ops.push_back(op);
}

bool Translator::post(Op& op, const RequestTable::Key& key, bool receive, Fields& f) {
  if (requests_.size() >= kMaxRequestSlots)
    return f.fail_at(kTaskField, "the task has too many requests at once",
                     fmt::format("at most {}", kMaxRequestSlots));
  op.request = requests_.add(key, receive, op.amount);
  return true;
}

bool Translator::send(const Record& r, Fields& f, OpBlock& out) {
  message_seen_ = true;
  const CommId comm = shared_.channels.communicator(r);
  if (losses_ != nullptr && comm == CommId(0)) shared_.channels.count(r, true);
  Op op{.kind = r.immediate ? OpKind::isend : OpKind::send,
        .comm = comm,
        .peer = r.partner,
        .tag = comm == CommId(0) ? shared_.channels.tag(r, true) : r.tag,
        .amount = r.bytes};
  if (call_ != nullptr && type_ != kCollectives && is_send(call_->kind)) op.kind = call_->kind;
  if (r.started_as != 0) op.kind = find_mpi_call(r.started_as)->kind;
  if (!is_nonblocking_send(op.kind)) {
    push(op, out);
    return true;
  }
  if (r.request) {
    if (!named_request(r, op, f, out)) return false;
    push(op, out);
    return true;
  }
  // No other request has this key, so it is given back at once.
  const RequestTable::Key key{-2, 0, 0};
  flush_waits(out);
  if (!post(op, key, false, f)) return false;
  (void)requests_.take(key);
  push(op, out);
  push({.kind = OpKind::request_free, .request = op.request}, out);
  if (losses_ != nullptr) ++losses_->unwaited_sends;
  return true;
}

bool Translator::receive(const Record& r, Fields& f, OpBlock& out) {
  message_seen_ = true;
  const CommId comm = shared_.channels.communicator(r);
  const auto posted = [&](OpKind kind) {
    if (losses_ != nullptr && comm == CommId(0)) shared_.channels.count(r, false);
    return Op{.kind = kind,
              .comm = comm,
              .peer = r.partner,
              .tag = comm == CommId(0) ? shared_.channels.tag(r, false) : r.tag,
              .amount = r.bytes};
  };
  if (r.receive == ReceiveHow::receive) {
    push(posted(OpKind::recv), out);
    return true;
  }
  if (r.receive == ReceiveHow::post) {
    flush_waits(out);
    Op op = posted(OpKind::irecv);
    if (!post(op, key_of(r), true, f)) return false;
    push(op, out);
    return true;
  }
  // A wait has the source and the tag of what came, also where the receive had any.
  auto request = requests_.take(key_of(r));
  for (const auto& [source, tag] :
       {std::pair(kAnySource, r.tag), std::pair(r.partner, kAnyTag), std::pair(kAnySource, kAnyTag)}) {
    if (request) break;
    Record any = r;
    any.partner = source, any.tag = tag;
    request = requests_.take(key_of(any));
  }
  if (!request) {
    if (losses_ != nullptr) ++losses_->unposted;
    push(posted(OpKind::recv), out);
    return true;
  }
  if (is_in_waits()) {
    flush_compute(out);
    waits_.push_back(request->slot);
    return true;
  }
  push({.kind = OpKind::wait,
        .comm = comm,
        .peer = r.partner,
        .tag = comm == CommId(0) ? shared_.channels.tag(r, false) : r.tag,
        .amount = r.bytes,
        .request = request->slot},
       out);
  return true;
}

bool Translator::kind_of(const Record& r, Fields& f, OpKind& out) const {
  const bool inside = type_ == kCollectives && call_ != nullptr && call_->role == CallRole::collective;
  const bool all_versions = r.operation >= 0 && r.operation <= kLastOfAllVersions;
  if (inside && !all_versions) {
    out = call_->kind;
  } else if (!r.says_how && (r.operation == kOldScan || r.operation == kOldReduceScatterBlock)) {
    out = r.operation == kOldScan ? OpKind::scan : OpKind::reduce_scatter_block;
  } else if (r.operation >= 0 && r.operation < static_cast<std::int32_t>(std::size(kOperations))) {
    out = kOperations[r.operation];
  } else {
    (void)f.fail_at(kOperationField, {});
    return f.refuse(fmt::format("global operation {} of {}", r.operation, shared_.format),
                    fmt::format("0 to {}", std::size(kOperations) - 1));
  }
  if (r.how == CollectiveHow::post) out = nonblocking_form(out);
  if (!is_neighbor(out)) return true;
  (void)f.fail_at(kOperationField, {});
  return f.refuse(
      fmt::format("{} of {}, which does not say who the neighbours are", op_name(out), shared_.format),
      "collectives of all tasks of a communicator");
}

bool Translator::wait_for_collective(const Record& r, OpBlock& out) {
  const auto request = requests_.take({-3, static_cast<std::int32_t>(r.communicator), r.operation});
  if (!request) {
    if (losses_ != nullptr) ++losses_->unknown_waits;
    return true;
  }
  push({.kind = OpKind::wait, .peer = kAnySource, .tag = kAnyTag, .request = request->slot}, out);
  return true;
}

// A request whose number is used again was never waited for.
bool Translator::named_request(const Record& r, Op& op, Fields& f, OpBlock& out) {
  flush_waits(out);
  const RequestTable::Key key = key_of_request(*r.request);
  if (const auto before = requests_.take(key))
    push({.kind = OpKind::request_free, .request = before->slot}, out);
  return post(op, key, false, f);
}

void Translator::end_request(const Record& r, OpBlock& out) {
  const auto request = requests_.take(key_of_request(*r.request));
  if (!request) return;  // made before the trace
  if (is_in_waits()) {
    flush_compute(out);
    waits_.push_back(request->slot);
    return;
  }
  if (call_ != nullptr && call_->role == CallRole::frees)
    return push({.kind = OpKind::request_free, .request = request->slot}, out);
  push({.kind = OpKind::wait, .peer = kAnySource, .tag = kAnyTag, .request = request->slot}, out);
}

bool Translator::make_comm(const Record& r, Fields& f, OpBlock& out) {
  made_seen_ = true;
  const auto of = shared_.groups.find(r.communicator);
  const auto made = r.made != 0 ? shared_.groups.find(r.made) : std::nullopt;
  if (!of || (r.made != 0 && !made))
    return f.fail_at(kCommunicatorField, "a communicator that is not defined", "one of those above");
  if (!shared_.groups.rank_in(*of, task_) || (made && !shared_.groups.rank_in(*made, task_)))
    return f.fail_at(kCommunicatorField, "a communicator that the task is not in", "one of its own");
  const std::int64_t id = made ? std::int64_t{made->index()} : -1;
  push({.kind = call_->kind, .comm = *of, .amount = id}, out);
  return true;
}

bool Translator::collective(const Record& r, std::uint64_t line, Fields& f, OpBlock& out) {
  if (r.how == CollectiveHow::wait) return wait_for_collective(r, out);
  collective_seen_ = true;
  Op op{.peer = kAnySource};
  if (!kind_of(r, f, op.kind)) return false;
  const auto comm = shared_.groups.find(r.communicator);
  if (!comm) return f.fail_at(kCommunicatorField, "a communicator that is not defined", "one of those above");
  const auto rank = shared_.groups.rank_in(*comm, task_);
  if (!rank) return f.fail_at(kCommunicatorField, "a communicator that the task is not in", "one of its own");
  op.comm = *comm;
  const OpKind blocking = blocking_form(op.kind);
  op.amount = own_bytes(blocking, r, std::ssize(shared_.groups.all()[comm->index()].members));
  flush_waits(out);
  if (is_nonblocking_collective(op.kind) &&
      !(r.request ? named_request(r, op, f, out)
                  : post(op, {-3, static_cast<std::int32_t>(r.communicator), r.operation}, false, f)))
    return false;
  flush_compute(out);
  if (CollectiveLog::keeps(blocking)) {
    const std::uint64_t n = calls_[comm->index()]++;
    if (losses_ != nullptr) {
      if (const char* fault = shared_.collectives.add(*comm, n, blocking, *rank, r, line))
        return f.fail_at(kOperationField, fault, "the calls of the tasks before");
      if (is_rooted(op.kind)) op.peer = 0;
    } else if (!shared_.collectives.complete(*comm, n, *rank, op, out)) {
      return f.fail_at(kOperationField, "the file changed while it was read");
    }
  }
  push(op, out);
  return true;
}

// The end of a call.
void Translator::leave(OpBlock& out) {
  flush_waits(out);
  if (call_ != nullptr && losses_ != nullptr) {
    if (call_->role == CallRole::collective && !collective_seen_) ++losses_->collectives[call_->name];
    if (call_->role == CallRole::message && !message_seen_) ++losses_->messages[call_->name];
    if (call_->role == CallRole::makes_comm && !made_seen_) ++losses_->makes_comm;
  }
  if (call_ == nullptr && type_ == kCollectives && !collective_seen_ && losses_ != nullptr)
    ++losses_->collectives["unknown"];
  if (losses_ != nullptr && (type_ == kOneSided || type_ == kFileIo)) ++losses_->calls[type_];
  call_ = nullptr;
  type_ = 0;
  message_seen_ = collective_seen_ = made_seen_ = false;
}

void Translator::event(const Record& r, OpBlock& out) {
  if (!is_mpi_event(r.type)) {
    // Type 0 is Dimemas' own: time that is idle.
    if (losses_ != nullptr && r.type != 0 && !is_about_mpi(r.type)) ++losses_->events;
    return;
  }
  if (r.value == 0) {
    leave(out);
    return;
  }
  call_ = r.type <= kOtherCalls ? find_mpi_call(r.value) : nullptr;
  type_ = r.type;
  if (call_ == nullptr) return;
  if (call_->role == CallRole::finalize) wait_for_the_rest(out);
  if (call_->role == CallRole::init || call_->role == CallRole::finalize) push({.kind = call_->kind}, out);
}

bool Translator::add(const Record& r, std::uint64_t line, Fields& f, OpBlock& out) {
  switch (r.kind) {
    case RecordKind::nothing:
      return true;
    case RecordKind::burst:
      if (r.picoseconds > 0) flush_waits(out);
      if (compute_ps_ > kMostPicoseconds - r.picoseconds) flush_compute(out);
      compute_ps_ += r.picoseconds;
      return true;
    case RecordKind::send:
      return send(r, f, out);
    case RecordKind::receive:
      return receive(r, f, out);
    case RecordKind::collective:
      return collective(r, line, f, out);
    case RecordKind::event:
      event(r, out);
      return true;
    case RecordKind::ends_request:
      end_request(r, out);
      return true;
    case RecordKind::makes_comm:
      return make_comm(r, f, out);
  }
  return true;
}

void Translator::wait_for_the_rest(OpBlock& out) {
  flush_waits(out);
  flush_compute(out);
  // Of those that the trace names it says who waits: nobody.
  for (const RequestTable::Request& r : requests_.take_all())
    if (r.key.src != kNamedRequest) waits_.push_back(r.slot);
  if (losses_ != nullptr) losses_->left_to_the_end += waits_.size();
  flush_waits(out);
}

void Translator::finish(OpBlock& out) {
  leave(out);
  wait_for_the_rest(out);
}

}  // namespace weft::traces::dimemas
