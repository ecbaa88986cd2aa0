// Regions, time and the queue; messages, requests and collectives: translate_calls.cpp.
#include "traces/formats/otf2/translator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/byte_sum.hpp"
#include "traces/formats/otf2/limits.hpp"
#include "traces/op_rules.hpp"
#include "traces/recorded_time.hpp"

namespace weft::traces::otf2 {
namespace {

// Values of the lists of a block before it ends, whatever its operations.
constexpr std::size_t kBlockListValues = 1u << 17;

}  // namespace

bool Translator::fail(std::string what, std::string got, std::string expected) {
  error_ = bad_input({}, std::move(what), std::move(got), std::move(expected));
  return false;
}

void Translator::lose(Lost group) {
  if (losses_ != nullptr) ++losses_->calls[{group, calls_.empty() ? kUndefined32 : calls_.back().region}];
}

// A record in a call that talks to nobody: it is one that no table has.
void Translator::see_unknown_call() {
  if (losses_ == nullptr || local_.region == kUndefined32) return;
  if (local_.told || local_.inside != calls_.size()) return;
  local_.told = true;
  ++losses_->unknown[local_.region];
}

// --- time ---

std::int64_t Translator::picoseconds(std::uint64_t ticks) const {
  if (ps_per_tick_ != 0)
    return ticks > static_cast<std::uint64_t>(kMostPs) / ps_per_tick_
               ? kMostPs
               : static_cast<std::int64_t>(ticks * ps_per_tick_);
  const auto ps = static_cast<unsigned __int128>(ticks) * 1'000'000'000'000u / definitions_.ticks_per_second;
  return ps > static_cast<unsigned __int128>(kMostPs) ? kMostPs : static_cast<std::int64_t>(ps);
}

// What was not computed ends at `time`.
void Translator::advance(std::uint64_t time) {
  if (clock_known_ && time < last_) {
    if (losses_ != nullptr) ++losses_->backwards;
    return;
  }
  last_ = time;
  clock_known_ = true;
}

void Translator::compute_until(std::uint64_t time) {
  call_gap_ps_ = 0;
  if (clock_known_ && time > last_) {
    call_gap_ps_ = picoseconds(time - last_);
    gap_ps_ += call_gap_ps_;
  }
  advance(time);
}

void Translator::flush_compute() {
  waiting_ps_ += gap_ps_;
  total_ps_ += gap_ps_;
  gap_ps_ = call_gap_ps_ = 0;
  if (waiting_ps_ < kMinComputePs) return;
  Queued q;
  q.op = {.kind = OpKind::compute_time, .amount = waiting_ps_};
  waiting_ps_ = 0;
  append(std::move(q));
}

// --- queue ---

void Translator::count(const Op& op) {
  ++totals_.ops;
  if (!is_send(op.kind) || op.peer < 0) return;
  ++totals_.messages;
  totals_.bytes = add_bytes(totals_.bytes, static_cast<std::uint64_t>(op.amount));
}

// Where it stands since the start of the rank.
std::uint64_t Translator::append(Queued q) {
  if (q.state == State::ready) count(q.op);
  if (losses_ == nullptr) {
    queued_values_ += q.list.size();
    queue_.push_back(std::move(q));
  }
  return pushed_++;
}

void Translator::push(const Op& op, std::span<const std::int64_t> list, bool has_list) {
  flush_compute();
  Queued q;
  q.op = op;
  q.has_list = has_list;
  q.list.assign(list.begin(), list.end());
  append(std::move(q));
}

bool Translator::full(std::size_t most) const {
  return queue_.size() >= most || queued_values_ >= kBlockListValues;
}

void Translator::drain(std::size_t most, OpBlock& out) {
  while (!queue_.empty() && queue_.front().state != State::hole && out.ops.size() < most &&
         out.lists.size() < kBlockListValues) {
    Queued& q = queue_.front();
    if (q.state == State::ready) {
      if (q.has_list) q.op.extra = out.add_list(q.list);
      out.ops.push_back(q.op);
    }
    queued_values_ -= q.list.size();
    queue_.pop_front();
    ++drained_;
  }
}

// --- regions ---

void Translator::enter_call(const Call& entered, std::uint64_t time) {
  if (calls_.empty()) compute_until(time);
  calls_.push_back(entered);
  const MpiCall& call = entered.call;
  switch (call.cls) {
    case CallClass::init:
      push({.kind = OpKind::init});
      break;
    case CallClass::finalize:
      push({.kind = OpKind::finalize});
      break;
    case CallClass::probe:
      // A poll of a spinning program is no computation, nor is the time before it.
      if (call_gap_ps_ < kSpinGapNs * 1000) gap_ps_ -= call_gap_ps_;
      call_gap_ps_ = 0;
      if (losses_ != nullptr) ++losses_->probes[entered.region];
      break;
    case CallClass::lost:
      lose(call.group);
      break;
    default:
      break;
  }
}

const Translator::Known* Translator::region_of(std::uint32_t ref) {
  Known& known = recent_[ref % recent_.size()];
  if (known.open == nullptr || known.ref != ref) {
    const auto it = definitions_.regions.find(ref);
    if (it == definitions_.regions.end()) return nullptr;
    known = {ref, &it->second.call, &open_[ref]};
  }
  return &known;
}

bool Translator::enter(const Event& e) {
  const Known* const region = region_of(e.region);
  if (region == nullptr)
    return fail("a region is entered that is not defined", std::to_string(e.region),
                "a region of the archive");
  const MpiCall& call = *region->call;
  if (!clock_known_) advance(e.time);
  if (call.cls == CallClass::local) {
    local_ = {e.region, calls_.size(), false};
    return true;
  }
  Open& open = *region->open;
  ++open.times;
  if (call.cls != CallClass::user) {
    enter_call({e.region, call, &open}, e.time);
  } else if (!calls_.empty()) {
    ++open.inside;
  } else {
    mark(OpKind::region_begin, e);
  }
  return true;
}

// A region of the program begins or ends: they may overlap, and need not nest.
void Translator::mark(OpKind kind, const Event& e) {
  compute_until(e.time);
  std::int64_t id = 0;
  if (losses_ != nullptr)
    used_.regions.insert(e.region);
  else
    id = used_.region_ids.at(e.region);
  push({.kind = kind, .amount = id});
}

bool Translator::leave(const Event& e) {
  const Known* const region = region_of(e.region);
  if (region == nullptr)
    return fail("a region is left that is not defined", std::to_string(e.region), "a region of the archive");
  const CallClass cls = region->call->cls;
  if (cls == CallClass::local) {
    if (local_.region == e.region) local_ = {};
    return true;
  }
  Open& open = *region->open;
  if (open.times == 0) {
    if (losses_ != nullptr) ++losses_->unbalanced;
    return true;
  }
  if (cls == CallClass::user) {
    --open.times;
    if (open.inside > 0)
      --open.inside;
    else if (calls_.empty())
      mark(OpKind::region_end, e);
    return true;
  }
  // Calls nest: those that were made inside of this one end with it.
  for (bool found = false; !found;) {
    found = calls_.back().region == e.region;
    if (!found && losses_ != nullptr) ++losses_->unbalanced;
    if (!finish_call()) return false;
    --calls_.back().open->times;
    calls_.pop_back();
  }
  if (calls_.empty()) advance(e.time);
  return true;
}

// --- events ---

bool Translator::dispatch(const Event& e) {
  switch (e.type) {
    case EventType::enter:
      return enter(e);
    case EventType::leave:
      return leave(e);
    case EventType::buffer_flush:
      if (calls_.empty() && e.received > e.time) {
        compute_until(e.time);
        advance(e.received);
      }
      if (losses_ != nullptr) ++losses_->flushes;
      return true;
    case EventType::measurement_off:
      if (losses_ != nullptr) ++losses_->off;
      return true;
    case EventType::measurement_on:
    case EventType::other:
      return true;
    default:
      break;
  }
  // Messages and collectives. Outside of a region of MPI, each is a call of its own that takes no time.
  if (calls_.empty()) compute_until(e.time);
  see_unknown_call();
  if (in_call(CallClass::lost)) return true;
  bool ok = true;
  switch (e.type) {
    case EventType::send:
    case EventType::isend:
      ok = send(e);
      break;
    case EventType::recv:
      ok = receive(e);
      break;
    case EventType::irecv_request:
      ok = post(e, Request::Kind::receive);
      break;
    case EventType::icollective_request:
      ok = post(e, Request::Kind::collective);
      break;
    case EventType::isend_complete:
    case EventType::irecv:
    case EventType::icollective_complete:
      ok = complete(e);
      break;
    case EventType::request_test:
      if (Request* r = oldest(e.request); r != nullptr && r->slot != kNoRequest) asked_.push_back(r->slot);
      break;
    case EventType::request_cancelled:
      ok = cancel(e);
      break;
    case EventType::collective_end:
      ok = collective(e);
      break;
    case EventType::comm_create:
      if (!in_call(CallClass::init)) made_ = e.comm;
      return true;  // the collective that made it comes next
    case EventType::comm_destroy:
      ok = free_comm(e);
      break;
    default:
      break;
  }
  return ok && (!calls_.empty() || finish_call());
}

std::optional<Error> Translator::add(const Event& e) {
  if (!dispatch(e)) return std::move(error_);
  if (total_ps_ + gap_ps_ >= kMostPs)
    return bad_input({}, "the time between calls is out of range", {}, "less than 26 days of computation");
  return {};
}

std::optional<Error> Translator::finish() {
  if (losses_ != nullptr)
    for (const auto& [ref, open] : open_) losses_->unbalanced += open.times;
  while (!calls_.empty()) {
    if (!finish_call()) return std::move(error_);
    calls_.pop_back();
  }
  flush_compute();
  // What nothing completed never was.
  for (Queued& q : queue_)
    if (q.state == State::hole) q.state = State::dead;
  if (losses_ == nullptr) return {};
  const auto never_done = [this](const Request& r) {
    if (r.kind != Request::Kind::send) {
      found_.far.push_back({r.ordinal, true, {}, kUndefined32});
      ++(r.kind == Request::Kind::receive ? losses_->never_received
                                          : losses_->calls[{Lost::collective, kUndefined32}]);
    } else if (r.slot != kNoRequest) {
      found_.unfinished.push_back(r.ordinal);
      ++totals_.ops;  // MPI_Request_free after it
      ++losses_->never_sent;
    }
  };
  for (const auto& [id, request] : requests_) never_done(request);
  for (const auto& [id, later] : same_) std::ranges::for_each(later, never_done);
  std::ranges::sort(found_.unfinished);
  std::ranges::sort(found_.far, {}, &Ahead::Far::ordinal);
  std::unordered_map<std::uint32_t, std::int64_t> me;
  for (const auto& [ref, here] : here_) me[ref] = here.me;
  vectors_.finish(vector_cursor_, rank_, me);
  return {};
}

}  // namespace weft::traces::otf2
