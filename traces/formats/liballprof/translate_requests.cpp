// Requests, from their start to their end: translator.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "traces/formats/liballprof/translator.hpp"
#include "traces/op_rules.hpp"

namespace weft::traces::allprof {

namespace {

constexpr std::size_t kMostAsked = 64;

}  // namespace

// A call that makes a request.
bool Translator::post(Op op, bool has_operation, OpBlock& out) {
  const auto posting = posting_of(line_->call);
  WEFT_CHECK(posting.has_value(), "a call without a request is posted");
  const std::uint64_t address = line_->arg[posting->request].bits();
  posted_.insert(address);
  Request r;
  r.ordinal = ordinal_++;
  r.op = op;
  r.width = width_;
  r.receive = posting->receive;
  r.persistent = posting->persistent;
  r.active = !r.persistent;
  r.done_by = done_by(r.ordinal);
  if (has_operation && is_cancelled(r.ordinal)) {
    has_operation = false;
    ++losses_.cancelled;
  }
  if (has_operation) {
    if (requests_.slots_in_use() >= kMaxRequestSlots)
      return refuse("the rank has too many requests at a time", fmt::format("at most {}", kMaxRequestSlots));
    r.slot = requests_.take_slot();
    op.request = r.slot;
    push(op, out);
  }
  if (!std::ranges::binary_search(ahead_.copied, r.ordinal)) {
    requests_.put(address, r);
    return true;
  }
  // Whatever waits for it names another address.
  requests_.erase(address);
  if (r.has_operation()) copied_.push_back(r);
  return true;
}

bool Translator::start(OpBlock& out) {
  const auto naming = naming_of(*line_);
  list_.clear();
  std::size_t found = 0;
  CommId comm{0};
  requests_.in_array(naming->base, naming->count, [&](std::uint64_t, Request& r) {
    if (!r.persistent) return;
    ++found;
    r.ordinal = ordinal_++;
    r.active = true;
    r.cancelled = false;
    r.withdrawn = is_cancelled(r.ordinal);
    r.done_by = done_by(r.ordinal);
    if (r.withdrawn && r.slot != kNoRequest) ++losses_.cancelled;
    if (!r.has_operation()) return;
    comm = r.op.comm;
    list_.push_back(r.slot);
  });
  if (found == 0) ++losses_.unknown_requests;
  if (list_.empty()) return true;
  Op op{.kind = line_->call == kStart ? OpKind::start : OpKind::startall};
  if (line_->call == kStart) {
    op.comm = comm;
    op.request = static_cast<std::uint32_t>(list_[0]);
  } else {
    op.extra = out.add_list(list_);
  }
  push(op, out);
  return true;
}

// MPI_Cancel, MPI_Request_free.
bool Translator::give_up(OpBlock& out) {
  const std::uint64_t address = naming_of(*line_)->base;
  Request* r = requests_.find(address);
  if (r == nullptr) return true;
  const bool free = line_->call == kRequest_free;
  if (!free) r->cancelled = r->active;
  if (free ? r->slot != kNoRequest : r->active && r->has_operation())
    push({.kind = free ? OpKind::request_free : OpKind::cancel, .comm = r->op.comm, .request = r->slot}, out);
  if (free) {
    requests_.give_back(r->slot);
    requests_.erase(address);
  }
  return true;
}

void Translator::end(std::uint64_t address) {
  Request* r = requests_.find(address);
  ended_.push_back(*r);
  if (r->persistent) {
    r->active = r->cancelled = r->withdrawn = false;
  } else {
    requests_.erase(address);
  }
}

void Translator::push_completion(OpKind kind, OpBlock& out) {
  std::erase_if(ended_, [](const Request& r) { return !r.has_operation(); });
  if (!ended_.empty()) {
    Op op{.kind = kind, .peer = kAnySource, .tag = kAnyTag};
    if (kind == OpKind::wait || kind == OpKind::test) {
      const Request& r = ended_[0];
      op.comm = r.op.comm;
      op.request = r.slot;
      if (r.receive && r.op.peer != kProcNull) {
        op.peer = r.op.peer;
        op.tag = r.op.tag;
        op.amount = r.op.amount;
      }
    } else {
      list_.clear();
      if (kind != OpKind::waitall && kind != OpKind::testall) {
        list_.push_back(static_cast<std::int64_t>(asked_.size()));
        list_.insert(list_.end(), asked_.begin(), asked_.end());
      }
      for (const Request& r : ended_) list_.push_back(r.slot);
      op.extra = out.add_list(list_);
    }
    push(op, out);
  }
  for (const Request& r : ended_)
    if (!r.persistent) requests_.give_back(r.slot);
  ended_.clear();
  asked_.clear();
}

// Whether a request was ever posted to the array: another holds copies, or what no line says that it was posted.
bool Translator::is_foreign(const Naming& array) const {
  const auto first = posted_.lower_bound(array.base);
  return array.count > 0 && (first == posted_.end() ||
                             (*first - array.base) / width_ >= static_cast<std::uint64_t>(array.count));
}

// MPI_Wait and MPI_Waitall complete all that they name. Where nothing is, MPI_REQUEST_NULL may be, or copies.
void Translator::wait(OpBlock& out) {
  const auto naming = naming_of(*line_);
  std::vector<std::uint64_t> addresses;
  std::int64_t found = 0;
  requests_.in_array(naming->base, naming->count, [&](std::uint64_t address, const Request& r) {
    ++found;
    if (r.active) addresses.push_back(address);
  });
  take_copies(*naming, found);
  for (const std::uint64_t address : addresses) end(address);
  push_completion(line_->call == kWait ? OpKind::wait : OpKind::waitall, out);
}

// A program that posts to one variable and collects the handles elsewhere waits for them there, as one whose array is moved while it
// grows; of such an array some were posted where they are.
void Translator::take_copies(const Naming& naming, std::int64_t found) {
  const std::int64_t missing = naming.count - found;
  const auto copies = static_cast<std::int64_t>(copied_.size());
  if (missing <= 0) return;
  if (found == 0 ? !is_foreign(naming) : copies < missing) return;
  if (copies == 0) ++losses_.foreign_waits;
  for (std::int64_t n = std::min(missing, copies); n > 0; --n) {
    ended_.push_back(copied_.front());
    copied_.pop_front();
    ++losses_.copied;
  }
}

// Calls that do not say what they completed: what they name last. A wait for any or some completes one at least.
void Translator::unsure(OpBlock& out) {
  const std::uint64_t call = calls_++;
  const auto naming = naming_of(*line_);
  const bool waits = line_->call == kWaitany || line_->call == kWaitsome;
  if (!waits && !std::ranges::binary_search(successes_, call)) return idle_poll();
  std::vector<std::uint64_t> addresses;
  std::uint64_t soonest = 0, soonest_by = kNoCall, soonest_ordinal = 0;
  bool any = false;
  requests_.in_array(naming->base, naming->count, [&](std::uint64_t address, const Request& r) {
    if (!r.active) return;
    if (r.has_operation()) asked_.push_back(r.slot);
    if (r.done_by == call) addresses.push_back(address);
    if (!any || std::pair(r.done_by, r.ordinal) < std::pair(soonest_by, soonest_ordinal)) {
      any = true;
      soonest = address;
      soonest_by = r.done_by;
      soonest_ordinal = r.ordinal;
    }
  });
  if (addresses.empty() && any && waits) addresses.push_back(soonest);
  if (addresses.empty()) {
    asked_.clear();
    if (!waits) idle_poll();
    if (waits && is_foreign(*naming)) ++losses_.foreign_waits;
    return;
  }
  const bool all = addresses.size() == asked_.size();
  for (const std::uint64_t address : addresses) end(address);
  // As in a recording (docs/recording.md): of many a replay has no use for those that did not complete.
  if (asked_.size() > kMostAsked) {
    asked_.clear();
    for (const Request& r : ended_)
      if (r.has_operation()) asked_.push_back(r.slot);
  }
  losses_.unsure += ended_.size();
  OpKind kind = OpKind::testsome;
  switch (line_->call) {
    case kWaitany:
      kind = addresses.size() == 1 ? OpKind::waitany : OpKind::waitsome;
      break;
    case kWaitsome:
      kind = OpKind::waitsome;
      break;
    case kTest:
      kind = OpKind::test;
      break;
    case kTestany:
      kind = addresses.size() == 1 ? OpKind::testany : OpKind::testsome;
      break;
    case kTestall:
      kind = all ? OpKind::testall : OpKind::testsome;
      break;
    default:
      break;
  }
  push_completion(kind, out);
}

// Before MPI_Finalize.
void Translator::wait_for_the_rest(OpBlock& out) {
  ended_.assign(copied_.begin(), copied_.end());
  copied_.clear();
  std::vector<std::pair<std::uint64_t, std::uint64_t>> left;
  requests_.for_each([&](std::uint64_t address, const Request& r) {
    if (r.active && r.has_operation()) left.emplace_back(r.ordinal, address);
  });
  std::ranges::sort(left);
  for (const auto& [ordinal, address] : left) end(address);
  losses_.left_to_the_end += ended_.size();
  push_completion(OpKind::waitall, out);
}

}  // namespace weft::traces::allprof
