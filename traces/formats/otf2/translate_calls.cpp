// Messages, requests and collectives of the translator.
#include <fmt/format.h>
#include <otf2/otf2.h>

#include <algorithm>

#include "traces/formats/otf2/limits.hpp"
#include "traces/formats/otf2/sums.hpp"
#include "traces/formats/otf2/translator.hpp"
#include "traces/op_rules.hpp"
#include "traces/recorded_time.hpp"

namespace weft::traces::otf2 {
namespace {

// barrier ... exscan by OTF2's numbers.
constexpr OpKind kCollectives[] = {OpKind::barrier,
                                   OpKind::bcast,
                                   OpKind::gather,
                                   OpKind::gatherv,
                                   OpKind::scatter,
                                   OpKind::scatterv,
                                   OpKind::allgather,
                                   OpKind::allgatherv,
                                   OpKind::alltoall,
                                   OpKind::alltoallv,
                                   OpKind::alltoallw,
                                   OpKind::allreduce,
                                   OpKind::reduce,
                                   OpKind::reduce_scatter,
                                   OpKind::scan,
                                   OpKind::exscan,
                                   OpKind::reduce_scatter_block};
static_assert(OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK + 1 == std::size(kCollectives));
static_assert(OTF2_COLLECTIVE_OP_ALLTOALLW == 10 && OTF2_COLLECTIVE_OP_EXSCAN == 15);

OpKind nonblocking(OpKind k) {
  return static_cast<OpKind>(static_cast<int>(k) - static_cast<int>(OpKind::barrier) +
                             static_cast<int>(OpKind::ibarrier));
}

}  // namespace

// --- communicators ---

// What a communicator is, when this rank uses it first.
bool Translator::describe(std::uint32_t ref, Here& h) {
  const auto def = definitions_.comms.find(ref);
  if (def == definitions_.comms.end())
    return fail("the communicator is not defined", std::to_string(ref), "a communicator of the archive");
  h.def = &def->second;
  if (h.def->kind == CommKind::broken || h.def->kind == CommKind::not_mpi)
    return fail("the communicator is not one of MPI", std::to_string(ref),
                "a communicator with a group of ranks of MPI");
  if (h.def->kind == CommKind::normal) {
    const auto& members = *h.def->members;
    const auto at = std::ranges::find(members, static_cast<std::int32_t>(rank_));
    if (at == members.end())
      return fail(fmt::format("the rank is not in communicator {}", ref), std::to_string(rank_),
                  fmt::format("one of its {} members", members.size()));
    h.size = static_cast<std::int64_t>(members.size());
    h.me = at - members.begin();
    if (losses_ != nullptr)
      used_.comms.insert(ref);
    else
      h.id = used_.comm_ids.at(ref);
  } else if (h.def->kind == CommKind::self) {
    if (losses_ != nullptr)
      used_.selves.insert({ref, rank_});
    else
      h.id = used_.self_ids.at({ref, rank_});
  }
  return true;
}

// `lost`: nothing that is done on it has an operation.
bool Translator::find_comm(std::uint32_t ref, const Here*& here, bool& lost) {
  lost = false;
  if (last_here_.second == nullptr || last_here_.first != ref) {
    const auto [it, fresh] = here_.try_emplace(ref);
    last_here_ = {ref, &it->second};
    if (fresh && !describe(ref, it->second)) return false;
  }
  here = last_here_.second;
  if (here->def == nullptr) return fail("the communicator is not defined", std::to_string(ref));
  if (here->def->kind == CommKind::inter) {
    lost = true;
    lose(Lost::inter);
  }
  return true;
}

bool Translator::peer_in(const Here& here, std::uint32_t peer, std::int32_t& world) const {
  if (static_cast<std::int64_t>(peer) >= here.size) return false;
  world = here.def->kind == CommKind::self ? static_cast<std::int32_t>(rank_) : (*here.def->members)[peer];
  return true;
}

// Communicator, peer, tag and size of a message.
bool Translator::message(const Event& e, const char* peer, Op& op, bool& lost) {
  const Here* here = nullptr;
  if (!find_comm(e.comm, here, lost)) return false;
  if (lost) return true;
  if (!peer_in(*here, e.peer, op.peer))
    return fail(fmt::format("the {} is not a rank of communicator {}", peer, e.comm), std::to_string(e.peer),
                fmt::format("0 to {}", here->size - 1));
  if (e.tag > INT32_MAX)
    return fail("tag is out of range", std::to_string(e.tag), fmt::format("0 to {}", INT32_MAX));
  if (e.bytes > kMostBytes)
    return fail("the message is too large", fmt::format("{} bytes", e.bytes), "at most 2^60 bytes");
  op.comm = here->id;
  op.tag = static_cast<std::int32_t>(e.tag);
  op.amount = static_cast<std::int64_t>(e.bytes);
  return true;
}

// --- point-to-point ---

bool Translator::send(const Event& e) {
  Op op{.kind = e.type == EventType::send ? OpKind::send : OpKind::isend};
  if (in_call(CallClass::send)) {
    const OpKind mode = calls_.back().call.kind;
    if (is_blocking_send(mode) == (e.type == EventType::send)) op.kind = mode;
  }
  bool lost = false;
  if (!message(e, "destination", op, lost)) return false;
  if (e.type == EventType::send) {
    if (lost) return true;
    if (!in_call(CallClass::sendrecv)) {
      push(op);
    } else {
      op.kind = OpKind::sendrecv;
      send_half_ = op;
    }
    return true;
  }
  if (in_call(CallClass::start) && losses_ != nullptr) ++losses_->persistent;
  Request r;
  r.kind = Request::Kind::send;
  r.ordinal = ordinal_++;
  r.comm = op.comm;
  if (!lost) {
    r.slot = slots_.take();
    op.request = r.slot;
    push(op);
    if (ahead_ != nullptr) {
      const auto& all = ahead_->unfinished;
      while (next_unfinished_ < all.size() && all[next_unfinished_] < r.ordinal) ++next_unfinished_;
      if (next_unfinished_ < all.size() && all[next_unfinished_] == r.ordinal) {
        push({.kind = OpKind::request_free, .comm = op.comm, .request = r.slot});
        slots_.give(r.slot);
        r.slot = kNoRequest;
      }
    }
  }
  return register_request(e.request, r);
}

bool Translator::receive(const Event& e) {
  Op op{.kind = OpKind::recv};
  bool lost = false;
  if (!message(e, "source", op, lost)) return false;
  if (lost) return true;
  if (losses_ != nullptr) ++losses_->receives;
  if (in_call(CallClass::sendrecv))
    recv_half_ = op;
  else
    push(op);
  return true;
}

// --- requests ---

bool Translator::register_request(std::uint64_t id, Request r) {
  if (outstanding_ >= kMaxRequestSlots)
    return fail("too many requests at a time", std::to_string(outstanding_ + 1),
                fmt::format("at most {}", kMaxRequestSlots));
  ++outstanding_;
  bool fresh = false;
  if (spare_.empty()) {
    fresh = requests_.try_emplace(id, r).second;
  } else {
    spare_.back().key() = id;
    spare_.back().mapped() = r;
    auto done = requests_.insert(std::move(spare_.back()));
    fresh = done.inserted;
    spare_.back() = std::move(done.node);
    if (fresh) spare_.pop_back();
  }
  if (!fresh) {
    if (losses_ != nullptr) ++losses_->shared_requests;
    same_[id].push_back(r);
  }
  return true;
}

Translator::Request* Translator::oldest(std::uint64_t id) {
  const auto it = requests_.find(id);
  return it == requests_.end() ? nullptr : &it->second;
}

void Translator::remove(std::uint64_t id) {
  const auto it = requests_.find(id);
  if (it->second.slot != kNoRequest) free_later_.push_back(it->second.slot);
  --outstanding_;
  const auto later = same_.empty() ? same_.end() : same_.find(id);
  if (later == same_.end()) {
    spare_.push_back(requests_.extract(it));
    return;
  }
  it->second = later->second.front();
  later->second.pop_front();
  if (later->second.empty()) same_.erase(later);
}

// A receive or a collective whose completion will say what it is.
bool Translator::post(const Event& e, Request::Kind kind) {
  if (in_call(CallClass::start) && losses_ != nullptr) ++losses_->persistent;
  Request r;
  r.kind = kind;
  r.ordinal = ordinal_++;
  call_recorded_ = true;
  if (in_call(CallClass::icollective)) r.form = calls_.back().call.kind;
  flush_compute();
  const Ahead::Far* far = nullptr;
  if (ahead_ != nullptr) {
    const auto& all = ahead_->far;
    while (next_far_ < all.size() && all[next_far_].ordinal < r.ordinal) ++next_far_;
    if (next_far_ < all.size() && all[next_far_].ordinal == r.ordinal) far = &all[next_far_];
  }
  r.posted = pushed_;
  Queued q;
  q.state = State::dead;  // keeps its place, so that both passes count alike
  if (far == nullptr || !far->never) {
    r.slot = slots_.take();
    q.state = State::hole;
    q.op.kind = kind == Request::Kind::receive ? OpKind::irecv : r.form;
    q.op.request = r.slot;
  }
  const std::uint64_t place = append(std::move(q));
  if (r.slot != kNoRequest) r.hole = place;
  if (far != nullptr && !far->never && !fill(r, far->completion, far->made)) return false;
  return register_request(e.request, r);
}

// The hole of a request: what it is, is known now.
bool Translator::fill(Request& r, const Event& e, std::uint32_t made) {
  Op op{.kind = OpKind::irecv, .request = r.slot};
  std::vector<std::int64_t> list;
  bool has_list = false, lost = false;
  if (r.kind == Request::Kind::receive) {
    if (!message(e, "source", op, lost)) return false;
  } else if (!collective_op(e, false, r.ordinal, made, op, list, has_list, lost)) {
    return false;
  }
  if (is_comm_create(op.kind) && !lost) op.request = kNoRequest;
  r.comm = op.comm;
  if (losses_ == nullptr) {
    Queued& q = queue_[static_cast<std::size_t>(r.hole - drained_)];
    q.state = lost ? State::dead : State::ready;
    q.op = op;
    q.has_list = has_list;
    q.list = std::move(list);
    queued_values_ += q.list.size();
  }
  if (!lost) count(op);
  r.hole = UINT64_MAX;
  if ((lost || op.request == kNoRequest) && r.slot != kNoRequest) {
    free_later_.push_back(r.slot);
    r.slot = kNoRequest;
  }
  return true;
}

bool Translator::complete(const Event& e) {
  Request* r = oldest(e.request);
  const std::uint32_t made = made_;
  made_ = kUndefined32;
  const auto fits = [&] {
    switch (e.type) {
      case EventType::isend_complete:
        return r->kind == Request::Kind::send;
      case EventType::irecv:
        return r->kind == Request::Kind::receive;
      default:
        return r->kind == Request::Kind::collective;
    }
  };
  if (r == nullptr) {
    if (losses_ != nullptr) ++losses_->unknown_requests;
    return true;
  }
  if (!fits())
    return fail("the request is not what its completion says", std::to_string(e.request),
                "a send for MpiIsendComplete, a receive for MpiIrecv, a collective for its completion");
  if (r->kind != Request::Kind::send) {
    if (losses_ != nullptr && pushed_ - r->posted > kWindow)
      found_.far.push_back({r->ordinal, false, e, made});
    if (r->kind == Request::Kind::receive && losses_ != nullptr) ++losses_->receives;
    // Of those that the survey found it is known already.
    if (r->hole != UINT64_MAX && !fill(*r, e, made)) return false;
  }
  if (r->slot != kNoRequest) {
    done_.push_back(r->slot);
    asked_.push_back(r->slot);
    done_op_ = {.comm = r->comm, .peer = kAnySource, .tag = kAnyTag, .request = r->slot};
    if (r->kind == Request::Kind::receive) {
      bool lost = false;
      Op got;
      if (!message(e, "source", got, lost)) return false;
      done_op_.peer = got.peer;
      done_op_.tag = got.tag;
      done_op_.amount = got.amount;
    }
  }
  remove(e.request);
  return true;
}

bool Translator::cancel(const Event& e) {
  Request* r = oldest(e.request);
  if (r == nullptr) {
    if (losses_ != nullptr) ++losses_->unknown_requests;
    return true;
  }
  if (losses_ != nullptr) ++losses_->cancelled;
  if (r->kind == Request::Kind::send) {
    // The send was made; its cancelling completes it.
    if (r->slot != kNoRequest) {
      done_.push_back(r->slot);
      asked_.push_back(r->slot);
      done_op_ = {.comm = r->comm, .peer = kAnySource, .tag = kAnyTag, .request = r->slot};
    }
  } else if (losses_ != nullptr) {
    if (pushed_ - r->posted > kWindow) found_.far.push_back({r->ordinal, true, {}, kUndefined32});
  } else if (r->hole != UINT64_MAX) {
    queue_[static_cast<std::size_t>(r->hole - drained_)].state = State::dead;
  }
  remove(e.request);
  return true;
}

void Translator::forget_call() {
  done_.clear();
  asked_.clear();
  for (const std::uint32_t slot : free_later_) slots_.give(slot);
  free_later_.clear();
  send_half_.reset();
  recv_half_.reset();
  made_ = kUndefined32;
  call_recorded_ = false;
}

// What the call did that only its end tells: completions, both halves of a sendrecv.
bool Translator::finish_call() {
  if (send_half_ && recv_half_) {
    recv_half_->flags = kPairedRecv;
    push(*send_half_);
    push(*recv_half_);
  } else if (send_half_) {
    send_half_->kind = OpKind::send;
    push(*send_half_);
  } else if (recv_half_) {
    push(*recv_half_);
  }
  if (!call_recorded_ && losses_ != nullptr && !calls_.empty()) {
    const CallClass cls = calls_.back().call.cls;
    if (cls == CallClass::collective || cls == CallClass::icollective) lose(Lost::collective);
    if (cls == CallClass::comm_make || cls == CallClass::comm_free) ++losses_->unmade[calls_.back().region];
  }
  const bool known = in_call(CallClass::complete);
  OpKind kind = known ? calls_.back().call.kind : OpKind::wait;
  if (done_.empty()) {
    // A test that said no: time of a spinning program counts for nothing.
    if (known && kind >= OpKind::test && kind <= OpKind::testsome && call_gap_ps_ < kSpinGapNs * 1000) {
      gap_ps_ -= call_gap_ps_;
      call_gap_ps_ = 0;
    }
    forget_call();
    return true;
  }
  if (done_.size() > 1) {
    if (kind == OpKind::wait) kind = OpKind::waitall;
    if (kind == OpKind::test) kind = OpKind::testall;
    if (kind == OpKind::waitany) kind = OpKind::waitsome;
    if (kind == OpKind::testany) kind = OpKind::testsome;
  }
  Op op{.kind = kind, .peer = kAnySource, .tag = kAnyTag};
  std::vector<std::int64_t> list;
  if (kind == OpKind::wait || kind == OpKind::test) {
    op = done_op_;
    op.kind = kind;
  } else if (kind == OpKind::waitall || kind == OpKind::testall) {
    list = done_;
  } else {
    if (losses_ != nullptr && asked_.size() == done_.size()) ++losses_->waits_of_some;
    list.push_back(static_cast<std::int64_t>(asked_.size()));
    list.insert(list.end(), asked_.begin(), asked_.end());
    list.insert(list.end(), done_.begin(), done_.end());
  }
  if (list.size() > kMaxListValues)
    return fail("too many requests in one call", std::to_string(list.size()),
                fmt::format("at most {}", kMaxListValues));
  push(op, list, !list.empty());
  forget_call();
  return true;
}

// --- collectives ---

// The operation of a collective's record. `ordinal`: of a non-blocking one's request.
bool Translator::collective_op(const Event& e, bool blocking, std::uint64_t ordinal, std::uint32_t made,
                               Op& op, std::vector<std::int64_t>& list, bool& has_list, bool& lost) {
  const Here* here = nullptr;
  if (!find_comm(e.comm, here, lost)) return false;
  if (lost) return true;
  op.comm = here->id;
  if (e.op == OTF2_COLLECTIVE_OP_CREATE_HANDLE && (made != kUndefined32 || in_call(CallClass::comm_make))) {
    op.kind = in_call(CallClass::comm_make) ? calls_.back().call.kind : OpKind::comm_dup;
    op.amount = -1;
    if (made != kUndefined32) {
      const Here* child = nullptr;
      if (!find_comm(made, child, lost)) return false;
      op.amount = child->id.index();
    }
    return true;
  }
  if (e.op >= std::size(kCollectives)) {
    lost = true;  // windows and files
    lose(e.op <= OTF2_COLLECTIVE_OP_DESTROY_HANDLE ? Lost::io : Lost::rma);
    return true;
  }
  const OpKind kind = kCollectives[e.op];
  op.kind = blocking ? kind : nonblocking(kind);
  op.peer = kAnySource;
  const bool rooted = is_rooted(kind);
  if (rooted && !peer_in(*here, e.peer, op.peer))
    return fail(fmt::format("the root is not a rank of communicator {}", e.comm),
                e.peer == kUndefined32 ? "none" : std::to_string(e.peer),
                fmt::format("0 to {}", here->size - 1));
  if (e.bytes > kMostBytes || e.received > kMostBytes)
    return fail("the message is too large", fmt::format("{} bytes", std::max(e.bytes, e.received)),
                "at most 2^60 bytes");
  const Sums sums{here->size, here->me, rooted && e.peer == here->me, static_cast<std::int64_t>(e.bytes),
                  static_cast<std::int64_t>(e.received)};
  const Part part = part_of(kind, sums);
  op.amount = part.bytes;
  if (losses_ != nullptr && part.plain) ++losses_->plain_sums;
  if (!has_size_of_each(kind)) return true;
  if (losses_ != nullptr) {
    ++losses_->vectors;
    const VectorSizes::Sum sum{sums.sent, sums.received};
    if (blocking)
      vectors_.add(e.comm, here->me, sum);
    else
      vectors_.add_later(vector_cursor_, ordinal, e.comm, sum);
    return true;
  }
  if (static_cast<std::size_t>(here->size) * 2 + 1 > kMaxListValues) {
    error_ = not_supported("a collective with sizes for each of so many ranks", "at most 799,999 ranks");
    return false;
  }
  std::vector<VectorSizes::Sum> all;
  if (blocking)
    vectors_.blocking(vector_cursor_, e.comm, here->size, all);
  else
    vectors_.later(rank_, ordinal, e.comm, here->size, all);
  list = vector_list(kind, all, here->me, rooted ? static_cast<std::int64_t>(e.peer) : -1, op.amount);
  has_list = !list.empty();
  return true;
}

bool Translator::collective(const Event& e) {
  const std::uint32_t made = made_;
  made_ = kUndefined32;
  call_recorded_ = true;
  // MPI_Init makes the world, MPI_Comm_free frees what MpiCommDestroy names.
  if (in_call(CallClass::init) || in_call(CallClass::finalize)) return true;
  if (e.op == OTF2_COLLECTIVE_OP_DESTROY_HANDLE) return true;
  Op op;
  std::vector<std::int64_t> list;
  bool has_list = false, lost = false;
  if (!collective_op(e, true, 0, made, op, list, has_list, lost)) return false;
  if (!lost) push(op, list, has_list);
  return true;
}

bool Translator::free_comm(const Event& e) {
  call_recorded_ = true;
  if (in_call(CallClass::finalize)) return true;
  const Here* here = nullptr;
  bool lost = false;
  if (!find_comm(e.comm, here, lost)) return false;
  if (!lost) push({.kind = OpKind::comm_free, .comm = here->id});
  return true;
}

}  // namespace weft::traces::otf2
