#include "traces/formats/goal/ordering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace weft::traces::goal {
namespace {

constexpr std::uint32_t kAtStart = Dependency::kAtStart;

}  // namespace

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
      stopped_ = stopped_ || (stops_ && sent_ && !computations_.empty());
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

void Ordering::post(std::uint32_t v) {
  // What lacks a message may be ready before those that are posted are through, or at the same instant.
  stopped_ = stopped_ || (stops_ && lacking_count_ > 0);
  posts_.post(v);
  state_[v] = State::kPosted;
  ++started_;
  if (watcher_ != nullptr) watcher_->posted(v);
  sent_ = sent_ || ops_[v].kind == Kind::kSend;
  for (const std::uint32_t e : graph_.later.of(v)) {
    const std::uint32_t w = e & ~kAtStart;
    if ((e & kAtStart) == 0) ++lacks_[w];
    one_less(w);
  }
}

// The end of a message, or of a computation, which was started before.
void Ordering::finish(std::uint32_t v) {
  const bool was_posted = state_[v] == State::kPosted;
  state_[v] = State::kFinished;
  for (const std::uint32_t w : graph_.later.of(v)) {
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

// Waits for waits_, for what stands in that line.
void Ordering::wait(std::uint32_t line) {
  posts_.wait(waits_, line);
  sent_ = false;
  for (const std::uint32_t v : waits_) finish(v);
}

void Ordering::start_computation(std::uint32_t v) {
  ++started_;
  for (const std::uint32_t e : graph_.later.of(v))
    if ((e & kAtStart) != 0) one_less(e & ~kAtStart);
}

Result<void> Ordering::compute(std::uint32_t v) {
  const Operation& o = ops_[v];
  if (stops_ && !computations_.empty())
    return stop(not_supported("computations in the order in which they came"));
  --computing_on_[o.cpu];
  sent_ = false;
  start_computation(v);
  // What its start lets go on other cpus goes before it; what is on its own cpu has to wait anyway.
  waits_.clear();
  for (std::uint32_t w = take_call(); w != kNone; w = take_call()) {
    if (ops_[w].cpu == o.cpu)
      waits_.push_back(w);
    else
      start_call(w);
  }
  // What waits for its cpu since the start goes before what does since the end.
  if (stops_ && (!computations_.empty() || std::ranges::any_of(waits_, [this](std::uint32_t w) {
        return ops_[w].kind == Kind::kSend;
      })))
    return stop(not_supported("what became ready while something was computed"));
  for (const std::uint32_t w : waits_) make_ready(w);
  if (lacking_count_ != lacking_on_[o.cpu] || computations_.size() != computing_on_[o.cpu])
    return stop(side_by_side(v));
  if (lacking_count_ > 0) WEFT_TRY(note_open(v));
  posts_.compute(v);
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
  wait(ops_[v].line);
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
    if (posts_.too_many()) {
      Error e = not_supported("more than 4,194,304 messages of a rank under way at once");
      e.where = place_(ops_[posts_.last()]);
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
    return circle(ops_, graph_, place_, [this](std::uint32_t v) { return state_[v] == State::kBlocked; });
  waits_.clear();
  for (std::uint32_t v = 0; v < ops_.size(); ++v)
    if (state_[v] == State::kPosted) waits_.push_back(v);
  if (!waits_.empty()) wait(ops_.back().line);
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
  const Graph graph(schedule);
  Ordering order(schedule.ops, graph, place, out);
  return go_through(order);
}

Result<bool> put_in_its_order(const std::vector<Operation>& ops, const Graph& graph, const Place& place,
                              Program& out) {
  if (ops.empty()) return true;
  Ordering order(ops, graph, place, out);
  order.stop_where_open();
  const auto done = go_through(order);
  if (order.stopped()) return false;
  if (!done) return done.error();
  return true;
}

}  // namespace weft::traces::goal
