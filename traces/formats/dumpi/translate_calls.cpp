// Which call is what; completions and collectives: translator.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "traces/formats/dumpi/translator.hpp"

namespace weft::traces::dumpi {

#define WEFT_AT(call, name) field<k##call, name>
#define WEFT_V(call, name) r_->value[field<k##call, name>]

bool Translator::dispatch(OpBlock& out) {
  const auto one_request = [this](std::size_t f) {
    return std::span(&(list32_[0] = static_cast<std::int32_t>(r_->value[f])), 1);
  };
  switch (r_->call) {
    case kSend:
      return send(OpKind::send, out);
    case kBsend:
      return send(OpKind::bsend, out);
    case kSsend:
      return send(OpKind::ssend, out);
    case kRsend:
      return send(OpKind::rsend, out);
    case kIsend:
      return send(OpKind::isend, out);
    case kIbsend:
      return send(OpKind::ibsend, out);
    case kIssend:
      return send(OpKind::issend, out);
    case kIrsend:
      return send(OpKind::irsend, out);
    case kSend_init:
      return send(OpKind::send_init, out);
    case kBsend_init:
      return send(OpKind::bsend_init, out);
    case kSsend_init:
      return send(OpKind::ssend_init, out);
    case kRsend_init:
      return send(OpKind::rsend_init, out);
    case kRecv:
      return receive(OpKind::recv, out);
    case kIrecv:
      return receive(OpKind::irecv, out);
    case kRecv_init:
      return receive(OpKind::recv_init, out);
    case kSendrecv:
      return sendrecv(false, out);
    case kSendrecv_replace:
      return sendrecv(true, out);
    case kProbe:
      return probe(out);
    case kIprobe:
      return iprobe(out);
    case kWait:
      return complete(OpKind::wait, one_request(WEFT_AT(Wait, "request")), out);
    case kTest:
      return complete(OpKind::test, one_request(WEFT_AT(Test, "request")), out);
    case kWaitany:
      return complete(OpKind::waitany, r_->array(WEFT_AT(Waitany, "requests")), out);
    case kTestany:
      return complete(OpKind::testany, r_->array(WEFT_AT(Testany, "requests")), out);
    case kWaitall:
      return complete(OpKind::waitall, r_->array(WEFT_AT(Waitall, "requests")), out);
    case kTestall:
      return complete(OpKind::testall, r_->array(WEFT_AT(Testall, "requests")), out);
    case kWaitsome:
      return complete(OpKind::waitsome, r_->array(WEFT_AT(Waitsome, "requests")), out);
    case kTestsome:
      return complete(OpKind::testsome, r_->array(WEFT_AT(Testsome, "requests")), out);
    case kRequest_get_status:
      idle_poll();  // completes nothing: a later wait or test does
      return true;
    case kStart:
      return start(one_request(WEFT_AT(Start, "request")), false, out);
    case kStartall:
      return start(r_->array(WEFT_AT(Startall, "requests")), true, out);
    case kCancel:
    case kRequest_free:
      return give_up(out);
    case kGrequest_start:
      return post({.kind = OpKind::isend}, WEFT_V(Grequest_start, "request"), false, false, out);
    case kInit:
    case kInit_thread:
      if (r_->call == kInit_thread && losses_ != nullptr)
        losses_->thread_level =
            std::max(losses_->thread_level,
                     static_cast<std::uint32_t>(std::min<std::int64_t>(WEFT_V(Init_thread, "provided"), 4)));
      push({.kind = OpKind::init}, out);
      return true;
    case kFinalize:
      push({.kind = OpKind::finalize}, out);
      return true;
    case kComm_dup:
    case kComm_split:
    case kComm_create:
    case kCart_create:
    case kGraph_create:
    case kCart_sub:
      return make_comm(out);
    case kComm_free:
      return free_comm(out);
    case kIntercomm_create:
    case kIntercomm_merge:
      lose(Left::inter);
      bind_comm(r_->call == kIntercomm_create ? WEFT_V(Intercomm_create, "newcomm")
                                              : WEFT_V(Intercomm_merge, "newcomm"),
                Kin::inter);
      return true;
    default:
      break;
  }
  const CallClass cls = r_->layout().cls;
  if (cls == CallClass::op) return collective(out);
  lose(cls == CallClass::rma ? Left::rma : cls == CallClass::io ? Left::io : Left::dynamic);
  // What such a call makes is known, and what is done with it counts as left out.
  if (const std::size_t f = find_field(r_->call, "newcomm"); f < kMaxFields && r_->value[f] > 3)
    bind_comm(r_->value[f], Kin::inter);
  if (const std::size_t f = find_field(r_->call, "request"); f < kMaxFields && r_->value[f] > kNullRequest)
    return post({.kind = OpKind::isend}, r_->value[f], false, false, out);
  return true;
}

// --- requests ---

bool Translator::start(std::span<const std::int32_t> ids, bool several, OpBlock& out) {
  if (several && WEFT_V(Startall, "count") != static_cast<std::int64_t>(ids.size()))
    return fail("the count is not the number of requests", std::to_string(WEFT_V(Startall, "count")),
                std::to_string(ids.size()));
  list_.clear();
  std::vector<const Request*> started;
  for (const std::int32_t id : ids) {
    Request* r = requests_.find(id);
    if (r == nullptr || !r->persistent) {
      if (losses_ != nullptr) ++losses_->unknown_requests;
      continue;
    }
    if (r->active) return fail("the request is active already", std::to_string(id), "an inactive request");
    r->active = true;
    if (r->receive) r->ordinal = ordinal_++;
    if (r->slot == kNoRequest) {
      if (losses_ != nullptr) ++losses_->calls[{Left::unknown_comm, r_->call}];
      continue;
    }
    if (is_cancelled(r->ordinal)) {
      r->withdrawn = true;
      if (losses_ != nullptr) ++losses_->cancelled;
      continue;
    }
    started.push_back(r);
  }
  if (!several) {
    if (!started.empty()) push_start(*started[0], out);
    return true;
  }
  // As in a recording: a startall posts its receives first, so those with wildcards have their starts before it.
  const auto open = [](const Request* r) {
    return r->receive && (r->op.peer == kAnySource || r->op.tag == kAnyTag);
  };
  const auto starts = static_cast<std::size_t>(std::ranges::count_if(started, open));
  if (starts > 0 && starts <= kMostStarts) {
    std::stable_partition(started.begin(), started.end(), [](const Request* r) { return r->receive; });
    for (const Request* r : started) {
      if (open(r)) {
        push_startall(out);
        push_start(*r, out);
      } else {
        list_.push_back(r->slot);
      }
    }
  } else {
    for (const Request* r : started) list_.push_back(r->slot);
  }
  push_startall(out);
  return true;
}

void Translator::push_start(const Request& r, OpBlock& out) {
  Op op{.kind = OpKind::start, .comm = r.op.comm, .request = r.slot};
  if (r.receive) {
    if (const Ahead::Matched* m = matched(r.ordinal)) {
      const std::int64_t got[] = {m->source, m->tag, m->bytes};
      op.extra = out.add_list(got);
    }
  }
  push(op, out);
}

// Of the requests in list_.
void Translator::push_startall(OpBlock& out) {
  if (list_.empty()) return;
  Op op{.kind = OpKind::startall};
  op.extra = out.add_list(list_);
  push(op, out);
  list_.clear();
}

// MPI_Cancel, MPI_Request_free.
bool Translator::give_up(OpBlock& out) {
  static_assert(WEFT_AT(Cancel, "request") == WEFT_AT(Request_free, "request"));
  const bool free = r_->call == kRequest_free;
  const std::int64_t id = WEFT_V(Cancel, "request");
  Request* r = requests_.find(id);
  if (r == nullptr) {
    if (id != kNullRequest && losses_ != nullptr) ++losses_->unknown_requests;
    return true;
  }
  // A persistent request between its starts has nothing to cancel.
  if (!free) r->cancelled = r->active;
  const std::uint32_t slot = r->slot;
  if (free && r->active) learn(*r, nullptr);
  if (free ? slot != kNoRequest : r->active && r->has_operation()) {
    push({.kind = free ? OpKind::request_free : OpKind::cancel, .comm = r->op.comm, .request = slot}, out);
  }
  if (free) requests_.remove_oldest(id);
  return true;
}

// At the completion of a request, in the first pass: what its start could not know.
void Translator::learn(const Request& r, const Status* s) {
  if (losses_ == nullptr || !r.receive || !r.has_operation()) return;
  if (r.cancelled && (s == nullptr || s->cancelled)) {
    found_.cancelled.push_back(r.ordinal);
    if (s == nullptr) ++losses_->cancelled_assumed;
    return;
  }
  const bool wildcard = r.op.peer == kAnySource || r.op.tag == kAnyTag;
  if (!wildcard && (!tells(s, r.op) || s->bytes == r.op.amount)) return;  // the receive says all of it
  const bool none =
      !r.persistent && r.op.peer == kAnySource && s != nullptr && s->source == -1 && s->bytes == 0;
  if (none || tells(s, r.op)) {
    found_.matched.push_back({r.ordinal, s->source, s->has_tag ? s->tag : r.op.tag, s->bytes});
  } else if (r.op.peer == kAnySource) {
    ++losses_->any_or_none;
  }
}

// Wait, Test and their forms for several requests.
bool Translator::complete(OpKind kind, std::span<const std::int32_t> ids, OpBlock& out) {
  const auto n = static_cast<std::int64_t>(ids.size());
  std::int64_t count = n, index = -1, done = 0;  // done: of the some forms
  bool yes = true, any = false, some = false;
  std::span<const std::int32_t> indices;
  switch (kind) {
    case OpKind::test:
      yes = WEFT_V(Test, "flag") != 0;
      break;
    case OpKind::waitall:
      count = WEFT_V(Waitall, "count");
      break;
    case OpKind::testall:
      count = WEFT_V(Testall, "count");
      yes = WEFT_V(Testall, "flag") != 0;
      break;
    case OpKind::waitany:
      count = WEFT_V(Waitany, "count");
      index = WEFT_V(Waitany, "index");
      any = true;
      break;
    case OpKind::testany:
      count = WEFT_V(Testany, "count");
      index = WEFT_V(Testany, "index");
      yes = WEFT_V(Testany, "flag") != 0 && index >= 0;
      any = true;
      break;
    case OpKind::waitsome:
    case OpKind::testsome:
      static_assert(WEFT_AT(Waitsome, "indices") == WEFT_AT(Testsome, "indices"));
      count = WEFT_V(Waitsome, "count");
      done = std::max<std::int64_t>(WEFT_V(Waitsome, "outcount"), 0);  // MPI_UNDEFINED is negative
      indices = r_->array(WEFT_AT(Waitsome, "indices"));
      yes = kind == OpKind::waitsome || done > 0;
      some = true;
      break;
    default:
      break;
  }
  if (count != n)
    return fail("the count is not the number of requests", std::to_string(count), std::to_string(n));
  if (!yes) {
    idle_poll();
    return true;
  }
  if (index >= n)
    return fail("the index is not one of a request", std::to_string(index), fmt::format("below {}", n));
  if (done > static_cast<std::int64_t>(indices.size()))
    return fail("more requests are complete than there are indices", std::to_string(done),
                fmt::format("at most {}", indices.size()));

  // What is asked for. `asked_` goes by position in the call; a request that is not there, or not active, is none.
  ++call_;
  asked_.assign(ids.size(), {});
  list_.clear();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == kNullRequest) continue;
    const auto r = requests_.claim(ids[i], call_);
    if (!r) {
      if (losses_ != nullptr) ++losses_->unknown_requests;
      continue;
    }
    if ((*r)->persistent && !(*r)->active) continue;
    asked_[i] = r;
    if ((*r)->has_operation()) list_.push_back((*r)->slot);
  }
  if (any || some) list_.insert(list_.begin(), static_cast<std::int64_t>(list_.size()));
  const std::size_t asked = list_.size();
  Op op{.kind = kind, .peer = kAnySource, .tag = kAnyTag};

  const auto finish_one = [&](std::size_t i, const Status* s) {
    if (!asked_[i]) return;
    const Requests::Handle r = *std::exchange(asked_[i], std::nullopt);
    if (r->has_operation()) {
      learn(*r, s);
      if (any || some) list_.push_back(r->slot);
      if (kind == OpKind::wait || kind == OpKind::test) {
        op.comm = r->op.comm;
        op.request = r->slot;
        if (r->receive && r->op.peer != kProcNull) {
          op.peer = r->op.peer;
          op.tag = r->op.tag;
          op.amount = r->op.amount;
          if (tells(s, r->op)) {
            op.peer = s->source;
            if (s->has_tag) op.tag = s->tag;
            op.amount = s->bytes;
          }
        }
      }
    }
    if (r->persistent) {
      r->active = r->cancelled = r->withdrawn = false;
    } else {
      requests_.remove(ids[i], r);
    }
  };
  if (any) {
    if (index >= 0) finish_one(static_cast<std::size_t>(index), status_at(0));
  } else if (some) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(done); ++i) {
      if (indices[i] < 0 || indices[i] >= n)
        return fail("the index is not one of a request", std::to_string(indices[i]),
                    fmt::format("0 to {}", n - 1));
      finish_one(static_cast<std::size_t>(indices[i]), status_at(i));
    }
  } else {
    for (std::size_t i = 0; i < ids.size(); ++i) finish_one(i, status_at(i));
  }
  // Nothing that has an operation was complete.
  if (any || some ? list_.size() == asked : list_.empty()) return true;
  if (kind != OpKind::wait && kind != OpKind::test) op.extra = out.add_list(list_);
  push(op, out);
  return true;
}

// --- collectives ---

bool Translator::sizes_of(std::span<const std::int32_t> counts, std::int64_t type) {
  for (const std::int32_t c : counts) {
    std::int64_t bytes = 0;
    if (!size_of(c, type, bytes)) return false;
    list_.push_back(bytes);
  }
  return true;
}

// `root` -1: has none. `list`: list_ is its list.
bool Translator::push_collective(OpKind kind, std::int64_t comm, std::int64_t root, std::int64_t amount,
                                 bool list, OpBlock& out) {
  Op op{.kind = kind, .peer = static_cast<std::int32_t>(root), .amount = amount};
  LocalComm local = 0;
  if (!comm_of(comm, local)) return false;
  if (!heard(local)) return true;
  op.comm = CommId(local);
  if (list) op.extra = out.add_list(list_);
  push(op, out);
  return true;
}

// Of two sizes that MPI wants to be the same, the one that MPI_IN_PLACE leaves alone is taken.
bool Translator::collective(OpBlock& out) {
  std::int64_t bytes = 0;
  list_.clear();
  constexpr std::int64_t kNoRoot = -1;
#define WEFT_ROOT(call)         \
  if (WEFT_V(call, "root") < 0) \
  return fail("the root is not a rank", std::to_string(WEFT_V(call, "root")), "a rank of the communicator")
#define WEFT_VECTOR(call, kind, root)                                         \
  case k##call:                                                               \
    return size_of(WEFT_V(call, "count"), WEFT_V(call, "datatype"), bytes) && \
           push_collective(OpKind::kind, WEFT_V(call, "comm"), root, bytes, false, out)
  switch (r_->call) {
    case kBarrier:
      return push_collective(OpKind::barrier, WEFT_V(Barrier, "comm"), kNoRoot, 0, false, out);
    case kBcast:
      WEFT_ROOT(Bcast);
      return size_of(WEFT_V(Bcast, "count"), WEFT_V(Bcast, "datatype"), bytes) &&
             push_collective(OpKind::bcast, WEFT_V(Bcast, "comm"), WEFT_V(Bcast, "root"), bytes, false, out);
    case kReduce:
      WEFT_ROOT(Reduce);
      return size_of(WEFT_V(Reduce, "count"), WEFT_V(Reduce, "datatype"), bytes) &&
             push_collective(OpKind::reduce, WEFT_V(Reduce, "comm"), WEFT_V(Reduce, "root"), bytes, false,
                             out);
      WEFT_VECTOR(Allreduce, allreduce, kNoRoot);
      WEFT_VECTOR(Scan, scan, kNoRoot);
      WEFT_VECTOR(Exscan, exscan, kNoRoot);
    case kGather: {
      WEFT_ROOT(Gather);
      const bool root = WEFT_V(Gather, "commrank") == WEFT_V(Gather, "root");
      return (root ? size_of(WEFT_V(Gather, "recvcount"), WEFT_V(Gather, "recvtype"), bytes)
                   : size_of(WEFT_V(Gather, "sendcount"), WEFT_V(Gather, "sendtype"), bytes)) &&
             push_collective(OpKind::gather, WEFT_V(Gather, "comm"), WEFT_V(Gather, "root"), bytes, false,
                             out);
    }
    case kScatter: {
      WEFT_ROOT(Scatter);
      const bool root = WEFT_V(Scatter, "commrank") == WEFT_V(Scatter, "root");
      return (root ? size_of(WEFT_V(Scatter, "sendcount"), WEFT_V(Scatter, "sendtype"), bytes)
                   : size_of(WEFT_V(Scatter, "recvcount"), WEFT_V(Scatter, "recvtype"), bytes)) &&
             push_collective(OpKind::scatter, WEFT_V(Scatter, "comm"), WEFT_V(Scatter, "root"), bytes, false,
                             out);
    }
    case kGatherv: {
      WEFT_ROOT(Gatherv);
      const bool root = WEFT_V(Gatherv, "commrank") == WEFT_V(Gatherv, "root");
      return (root ? sizes_of(r_->array(WEFT_AT(Gatherv, "recvcounts")), WEFT_V(Gatherv, "recvtype"))
                   : size_of(WEFT_V(Gatherv, "sendcount"), WEFT_V(Gatherv, "sendtype"), bytes)) &&
             push_collective(OpKind::gatherv, WEFT_V(Gatherv, "comm"), WEFT_V(Gatherv, "root"), bytes, root,
                             out);
    }
    case kScatterv: {
      WEFT_ROOT(Scatterv);
      const bool root = WEFT_V(Scatterv, "commrank") == WEFT_V(Scatterv, "root");
      return (root ? sizes_of(r_->array(WEFT_AT(Scatterv, "sendcounts")), WEFT_V(Scatterv, "sendtype"))
                   : size_of(WEFT_V(Scatterv, "recvcount"), WEFT_V(Scatterv, "recvtype"), bytes)) &&
             push_collective(OpKind::scatterv, WEFT_V(Scatterv, "comm"), WEFT_V(Scatterv, "root"), bytes,
                             root, out);
    }
    case kAllgather:
      return size_of(WEFT_V(Allgather, "recvcount"), WEFT_V(Allgather, "recvtype"), bytes) &&
             push_collective(OpKind::allgather, WEFT_V(Allgather, "comm"), kNoRoot, bytes, false, out);
    case kAlltoall:
      return size_of(WEFT_V(Alltoall, "recvcount"), WEFT_V(Alltoall, "recvtype"), bytes) &&
             push_collective(OpKind::alltoall, WEFT_V(Alltoall, "comm"), kNoRoot, bytes, false, out);
    case kAllgatherv:
      return sizes_of(r_->array(WEFT_AT(Allgatherv, "recvcounts")), WEFT_V(Allgatherv, "recvtype")) &&
             push_collective(OpKind::allgatherv, WEFT_V(Allgatherv, "comm"), kNoRoot, 0, true, out);
    case kReduce_scatter:
      return sizes_of(r_->array(WEFT_AT(Reduce_scatter, "recvcounts")), WEFT_V(Reduce_scatter, "datatype")) &&
             push_collective(OpKind::reduce_scatter, WEFT_V(Reduce_scatter, "comm"), kNoRoot, 0, true, out);
    case kAlltoallv: {
      const auto received = r_->array(WEFT_AT(Alltoallv, "recvcounts"));
      auto sent = r_->array(WEFT_AT(Alltoallv, "sendcounts"));
      const bool in_place = sent.empty() && !received.empty();
      if (in_place) sent = received;
      list_.push_back(static_cast<std::int64_t>(received.size()));
      return sizes_of(sent, in_place ? WEFT_V(Alltoallv, "recvtype") : WEFT_V(Alltoallv, "sendtype")) &&
             sizes_of(received, WEFT_V(Alltoallv, "recvtype")) &&
             push_collective(OpKind::alltoallv, WEFT_V(Alltoallv, "comm"), kNoRoot, 0, true, out);
    }
    case kAlltoallw: {
      const auto pairs = [this](std::span<const std::int32_t> counts, std::span<const std::int32_t> types) {
        if (counts.size() != types.size())
          return fail("there are not as many datatypes as counts", std::to_string(types.size()),
                      std::to_string(counts.size()));
        for (std::size_t i = 0; i < counts.size(); ++i)
          if (!sizes_of(counts.subspan(i, 1), types[i])) return false;
        return true;
      };
      const auto received = r_->array(WEFT_AT(Alltoallw, "recvcounts"));
      const auto received_types = r_->array(WEFT_AT(Alltoallw, "recvtypes"));
      auto sent = r_->array(WEFT_AT(Alltoallw, "sendcounts"));
      auto sent_types = r_->array(WEFT_AT(Alltoallw, "sendtypes"));
      if (sent.empty()) sent = received, sent_types = received_types;
      list_.push_back(static_cast<std::int64_t>(received.size()));
      return pairs(sent, sent_types) && pairs(received, received_types) &&
             push_collective(OpKind::alltoallw, WEFT_V(Alltoallw, "comm"), kNoRoot, 0, true, out);
    }
    default:
      WEFT_CHECK(false, "a call of the class op is not translated");
  }
  return false;
}

}  // namespace weft::traces::dumpi
