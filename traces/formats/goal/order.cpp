#include "traces/formats/goal/ordering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "traces/op_rules.hpp"

namespace weft::traces::goal {
namespace {

constexpr std::size_t kListAtOnce = 1u << 16;  // requests of one waitall
constexpr std::uint32_t kAtStart = Dependency::kAtStart;

// Files name the dependencies of an operation after it, so mostly they are in order, or are but for those of one operation.
template <class Order>
void sort_dependencies(std::vector<Dependency>& all, Order order) {
  if (std::ranges::is_sorted(all, order)) return;
  if (!std::ranges::is_sorted(all, {}, &Dependency::later)) {
    std::ranges::sort(all, order);
    return;
  }
  for (auto from = all.begin(); from != all.end();) {
    const auto end =
        std::find_if(from, all.end(), [&](const Dependency& d) { return d.later != from->later; });
    std::sort(from, end, order);
    from = end;
  }
}

}  // namespace

// From an operation that never started, back along what never started, one comes round.
Error circle(const std::vector<Operation>& ops, const Ends& earlier, const Place& place,
             const std::function<bool(std::uint32_t)>& never) {
  std::uint32_t v = 0;
  while (!never(v)) ++v;
  std::vector<bool> seen(ops.size(), false);
  while (!seen[v]) {
    seen[v] = true;
    for (const std::uint32_t e : earlier.of(v))
      if (never(e & ~kAtStart)) {
        v = e & ~kAtStart;
        break;
      }
  }
  return bad_input(place(ops[v]), "the operation requires, along others, itself", {},
                   "dependencies without a circle");
}

void drop_doubles(std::vector<Dependency>& all) {
  const auto key = [](const Dependency& d) {
    return static_cast<std::uint64_t>(d.later) << 32 | (d.earlier << 1 | d.earlier >> 31);
  };
  const auto order = [key](const Dependency& a, const Dependency& b) { return key(a) < key(b); };
  sort_dependencies(all, order);
  const auto same = [key](const Dependency& a, const Dependency& b) { return key(a) >> 1 == key(b) >> 1; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
}

void Ordering::may_start(std::uint32_t v) {
  if (lacks_[v] == 0) return make_ready(v);
  state_[v] = State::kLacking;
  ++lacking_count_;
  ++lacking_on_[ops_[v].cpu];
  lacking_.emplace(lacks_[v], v);
  each_lacked(v, [this](std::uint32_t e) { ++asked_[e]; });
  if (watcher_ != nullptr) watcher_->lacking(v);
}

void Ordering::make_ready(std::uint32_t v) {
  state_[v] = State::kReady;
  switch (ops_[v].kind) {
    case Kind::kRecv:
      return receives_.push(v);
    case Kind::kSend:
      stopped_ = stopped_ || (stops_ && sending_ && !computations_.empty());
      return sends_.push(v);
    case Kind::kCalc:
      if (ops_[v].size == 0) return passes_.push(v);
      ++computing_on_[ops_[v].cpu];
      return computations_.push(v);
  }
}

// The next ready operation that takes no processor time but that of a call; kNone: there is none.
std::uint32_t Ordering::take_call() {
  for (LeastFirst<std::uint32_t>* const ready : {&passes_, &receives_, &sends_})
    if (!ready->empty()) {
      const std::uint32_t v = ready->top();
      ready->pop();
      return v;
    }
  return kNone;
}

void Ordering::start_call(std::uint32_t v) {
  if (is_message(v)) return post(v);
  start_computation(v);
  finish(v);
}

Op Ordering::message(std::uint32_t v, bool blocking) const {
  const Operation& o = ops_[v];
  Op op{.kind = o.kind == Kind::kSend ? (blocking ? OpKind::send : OpKind::isend)
                                      : (blocking ? OpKind::recv : OpKind::irecv),
        .peer = o.peer == kAny ? kAnySource : static_cast<std::int32_t>(o.peer),
        .tag = o.tag == kAny ? kAnyTag : static_cast<std::int32_t>(o.tag),
        .amount = static_cast<std::int64_t>(o.size)};
  if (!blocking) op.request = missing_[v];
  return op;
}

void Ordering::write_held() {
  if (held_ == kNone) return;
  out_.add(message(held_, false), ops_[held_].line);
  held_ = kNone;
}

void Ordering::post(std::uint32_t v) {
  write_held();
  missing_[v] = slots_.take();
  too_many_ |= slots_.made() > kMaxRequestSlots;
  held_ = v;
  state_[v] = State::kPosted;
  ++started_;
  if (watcher_ != nullptr) watcher_->posted(v);
  sending_ = ops_[v].kind == Kind::kSend;
  for (const std::uint32_t e : later_.of(v)) {
    const std::uint32_t w = e & ~kAtStart;
    if ((e & kAtStart) == 0) ++lacks_[w];
    one_less(w);
  }
  sending_ = false;
}

// The end of a message, or of a computation, which was started before.
void Ordering::finish(std::uint32_t v) {
  const bool was_posted = state_[v] == State::kPosted;
  state_[v] = State::kFinished;
  if (was_posted) slots_.give(missing_[v]);
  for (const std::uint32_t w : later_.of(v)) {
    if ((w & kAtStart) != 0) continue;
    if (!was_posted) {
      one_less(w);
      continue;
    }
    --lacks_[w];
    if (state_[w] != State::kLacking) continue;
    if (lacks_[w] > 0) {
      lacking_.emplace(lacks_[w], w);
      continue;
    }
    --lacking_count_;
    --lacking_on_[ops_[w].cpu];
    make_ready(w);
  }
}

// Waits for `posted`, in the order of the file.
void Ordering::write_waits(std::vector<std::uint32_t>& posted, std::uint32_t line) {
  if (posted.size() == 1 && posted[0] == held_) {
    out_.add(message(held_, true), ops_[held_].line);
    held_ = kNone;
  } else {
    write_held();
    std::ranges::sort(posted);
    if (posted.size() == 1) {
      Op op{.kind = OpKind::wait, .peer = kAnySource, .tag = kAnyTag, .request = missing_[posted[0]]};
      if (ops_[posted[0]].kind == Kind::kRecv) {
        const Op received = message(posted[0], false);
        op.peer = received.peer;
        op.tag = received.tag;
        op.amount = received.amount;
      }
      out_.add(op, line);
    }
    for (std::size_t at = 0; posted.size() > 1 && at < posted.size(); at += kListAtOnce) {
      list_.clear();
      for (std::size_t i = at; i < std::min(at + kListAtOnce, posted.size()); ++i)
        list_.push_back(missing_[posted[i]]);
      out_.add({.kind = OpKind::waitall}, list_, line);
    }
  }
  for (const std::uint32_t v : posted) finish(v);
}

void Ordering::start_computation(std::uint32_t v) {
  ++started_;
  for (const std::uint32_t e : later_.of(v))
    if ((e & kAtStart) != 0) one_less(e & ~kAtStart);
}

Result<void> Ordering::compute(std::uint32_t v) {
  const Operation& o = ops_[v];
  if (stops_ && !computations_.empty())
    return stop(not_supported("computations in the order in which they came"));
  --computing_on_[o.cpu];
  start_computation(v);
  // What its start lets go on other cpus goes before it; what is on its own cpu has to wait anyway.
  waits_.clear();
  for (std::uint32_t w = take_call(); w != kNone; w = take_call()) {
    if (ops_[w].cpu == o.cpu)
      waits_.push_back(w);
    else
      start_call(w);
  }
  for (const std::uint32_t w : waits_) make_ready(w);
  if (lacking_count_ != lacking_on_[o.cpu] || computations_.size() != computing_on_[o.cpu])
    return stop(side_by_side(v));
  if (lacking_count_ > 0) WEFT_TRY(note_open(v));
  write_held();
  out_.add({.kind = OpKind::compute_time, .amount = static_cast<std::int64_t>(o.size) * 1000}, o.line);
  finish(v);
  return {};
}

std::uint32_t Ordering::lacks_fewest() {
  while (lacking_.top().first != lacks_[lacking_.top().second] || !is_lacking(lacking_.top().second))
    lacking_.pop();
  return lacking_.top().second;
}

Result<void> Ordering::wait_for(std::uint32_t v) {
  waits_.clear();
  bool all_ask = true;
  each_lacked(v, [&](std::uint32_t e) {
    waits_.push_back(e);
    all_ask = all_ask && asked_[e] == lacking_count_;
  });
  if (!all_ask) {
    if (lacking_count_ != lacking_on_[ops_[v].cpu]) return stop(side_by_side(v));
    WEFT_TRY(note_open(v));
  }
  write_waits(waits_, ops_[v].line);
  return {};
}

Error Ordering::side_by_side(std::uint32_t v) const {
  for (std::uint32_t w = 0; w < ops_.size(); ++w) {
    if (w == v || ops_[w].cpu == ops_[v].cpu || (state_[w] != State::kLacking && state_[w] != State::kReady))
      continue;
    Error e =
        not_supported(fmt::format("operations of one rank that run side by side on cpu {} and on cpu {} ({})",
                                  ops_[v].cpu, ops_[w].cpu, place_(ops_[w])),
                      "cpus whose operations dependencies put in order");
    e.where = place_(ops_[v]);
    return e;
  }
  WEFT_CHECK(false, "nothing runs side by side");
}

void Ordering::begin() {
  for (std::uint32_t v = 0; v < ops_.size(); ++v)
    if (missing_[v] == 0) may_start(v);
}

Result<bool> Ordering::start_all() {
  for (;;) {
    if (stopped_) return not_supported("sends in the order in which they came");
    if (too_many_) {
      Error e = not_supported("more than 4,194,304 messages of a rank under way at once");
      e.where = place_(ops_[held_]);
      return e;
    }
    if (const std::uint32_t call = take_call(); call != kNone) {
      start_call(call);
    } else if (!computations_.empty()) {
      const std::uint32_t v = computations_.top();
      computations_.pop();
      WEFT_TRY(compute(v));
    } else {
      return lacking_count_ > 0;
    }
  }
}

Result<Open> Ordering::end() {
  if (started_ != ops_.size())
    return circle(ops_, earlier_, place_, [this](std::uint32_t v) { return state_[v] == State::kBlocked; });
  waits_.clear();
  for (std::uint32_t v = 0; v < ops_.size(); ++v)
    if (state_[v] == State::kPosted) waits_.push_back(v);
  if (!waits_.empty()) write_waits(waits_, ops_.back().line);
  out_.flush();
  return open_;
}

namespace {

Result<Open> go_through(Ordering& order) {
  order.begin();
  for (;;) {
    WEFT_ASSIGN(const bool waits, order.start_all());
    if (!waits) return order.end();
    WEFT_TRY(order.wait_for(order.lacks_fewest()));
  }
}

}  // namespace

Result<Open> put_in_order(Schedule& schedule, const Place& place, Program& out) {
  if (schedule.ops.empty()) return Open{};
  drop_doubles(schedule.dependencies);
  Ordering order(schedule, place, out);
  return go_through(order);
}

Result<bool> put_in_its_order(Schedule& schedule, const Place& place, Program& out) {
  if (schedule.ops.empty()) return true;
  drop_doubles(schedule.dependencies);
  Ordering order(schedule, place, out);
  order.stop_where_open();
  const auto done = go_through(order);
  if (order.stopped()) return false;
  if (!done) return done.error();
  return true;
}

}  // namespace weft::traces::goal
