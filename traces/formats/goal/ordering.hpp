// The order of a rank's operations while it is made (order.hpp), wait by wait: what is waited for next is the caller's choice
// among the operations that lack messages.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "traces/formats/goal/order.hpp"
#include "traces/formats/goal/program.hpp"
#include "traces/formats/goal/schedule.hpp"
#include "traces/formats/request_slots.hpp"

namespace weft::traces::goal {

template <class T>
using LeastFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;

// Who stands at the other end of each dependency of each operation. An end is the other operation, with kAtStart where
// a start is enough.
class Ends {
 public:
  Ends(const std::vector<Dependency>& all, std::size_t operations, bool of_later) : from_(operations + 1, 0) {
    const auto key = [of_later](const Dependency& d) {
      return of_later ? d.later : d.earlier & ~Dependency::kAtStart;
    };
    for (const Dependency& d : all) ++from_[key(d) + 1];
    for (std::size_t i = 1; i < from_.size(); ++i) from_[i] += from_[i - 1];
    ends_.resize(all.size());
    std::vector<std::uint32_t> next(from_.begin(), from_.end() - 1);
    for (const Dependency& d : all)
      ends_[next[key(d)]++] = of_later ? d.earlier : d.later | (d.earlier & Dependency::kAtStart);
  }
  [[nodiscard]] std::span<const std::uint32_t> of(std::uint32_t v) const {
    return {ends_.data() + from_[v], ends_.data() + from_[v + 1]};
  }

 private:
  std::vector<std::uint32_t> from_;
  std::vector<std::uint32_t> ends_;
};

// That dependencies go round in a circle: `never` tells of each operation whether it could not start. REQUIRES: one could not.
[[nodiscard]] Error circle(const std::vector<Operation>& ops, const Ends& earlier, const Place& place,
                           const std::function<bool(std::uint32_t)>& never);

// Who wants to know what an Ordering does.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // Message v was posted.
  virtual void posted(std::uint32_t v) = 0;
  // v lacks messages only, which were posted.
  virtual void lacking(std::uint32_t v) = 0;
};

class Ordering {
 public:
  // `s` keeps its operations and loses its dependencies: their memory is free before the rest is needed. All of them, and
  // `watcher` if there is one, outlive it.
  Ordering(Schedule& s, const Place& place, Program& out, Watcher* watcher = nullptr)
      : ops_(s.ops),
        place_(place),
        out_(out),
        watcher_(watcher),
        later_(s.dependencies, s.ops.size(), false),
        earlier_(s.dependencies, s.ops.size(), true),
        missing_(s.ops.size(), 0),
        lacks_(s.ops.size(), 0),
        asked_(s.ops.size(), 0),
        state_(s.ops.size(), State::kBlocked) {
    for (const Dependency& d : s.dependencies) ++missing_[d.later];
    std::vector<Dependency>().swap(s.dependencies);
  }
  // Before begin(): it stops, with an error that is nobody's, at the first place where the schedule leaves open what is next or cpus
  // would have to compute side by side; also where a cpu has a choice among what is ready at different instants, which tasks have
  // in the order in which they came (replay/ranks/tasks.hpp): computations, and sends after others beside them.
  void stop_where_open() { stops_ = true; }
  [[nodiscard]] bool stopped() const { return stopped_; }
  // Once, before all else: what depends on nothing may start.
  void begin();
  // Starts everything that may start. True: operations lack messages, so a wait is next; false: all was started.
  Result<bool> start_all();
  // The operation that lacks fewest messages. REQUIRES: start_all() said that a wait is next.
  [[nodiscard]] std::uint32_t lacks_fewest();
  [[nodiscard]] bool is_lacking(std::uint32_t v) const { return state_[v] == State::kLacking; }
  // visit(message) for each that v lacks. REQUIRES: is_lacking(v).
  template <class F>
  void each_lacked(std::uint32_t v, F visit) const {
    for (const std::uint32_t e : earlier_.of(v))
      if ((e & Dependency::kAtStart) == 0 && state_[e] == State::kPosted) visit(e);
  }
  // visit(operation) for each that requires the end of v.
  template <class F>
  void each_requiring(std::uint32_t v, F visit) const {
    for (const std::uint32_t e : later_.of(v))
      if ((e & Dependency::kAtStart) == 0) visit(e);
  }
  // Waits for what v lacks. REQUIRES: is_lacking(v).
  Result<void> wait_for(std::uint32_t v);
  // When all was started: waits for what is left.
  Result<Open> end();

 private:
  enum class State : std::uint8_t {
    kBlocked,  // something it depends on was not started
    kLacking,  // all of that was started, but not all of it is over
    kReady,
    kPosted,    // a send or receive that nobody has waited for
    kFinished,  // computed, or waited for
  };
  [[nodiscard]] bool is_message(std::uint32_t v) const { return ops_[v].kind != Kind::kCalc; }
  // One thing that v depends on was started (a computation: has ended).
  void one_less(std::uint32_t v) {
    if (--missing_[v] == 0) may_start(v);
  }
  void may_start(std::uint32_t v);
  void make_ready(std::uint32_t v);
  [[nodiscard]] std::uint32_t take_call();
  void start_call(std::uint32_t v);
  void post(std::uint32_t v);
  void start_computation(std::uint32_t v);
  Result<void> compute(std::uint32_t v);
  void finish(std::uint32_t v);
  void write_held();
  void write_waits(std::vector<std::uint32_t>& posted, std::uint32_t line);
  [[nodiscard]] Op message(std::uint32_t v, bool blocking) const;
  Result<void> note_open(std::uint32_t v) {
    if (stops_) return stop(not_supported("an order that is open"));
    if (open_.places++ == 0) open_.first = ops_[v];
    return {};
  }
  Error stop(Error e) {
    stopped_ = stops_;
    return e;
  }
  [[nodiscard]] Error side_by_side(std::uint32_t v) const;

  const std::vector<Operation>& ops_;
  const Place& place_;
  Program& out_;
  Watcher* watcher_;
  Ends later_, earlier_;
  std::vector<std::uint32_t> missing_;  // by operation; once it is posted its request
  std::vector<std::uint32_t> lacks_;    // messages that are under way and that it requires
  std::vector<std::uint32_t> asked_;    // of a message: how many lacking operations require it
  std::vector<State> state_;

  LeastFirst<std::uint32_t> passes_, receives_, sends_,
      computations_;                                             // ready; passes: computations of no time
  LeastFirst<std::pair<std::uint32_t, std::uint32_t>> lacking_;  // (lacks, operation); some are out of date
  std::uint64_t lacking_count_ = 0;
  std::array<std::uint64_t, 256> lacking_on_{}, computing_on_{};  // by cpu; ready computations
  RequestSlots slots_;
  static constexpr std::uint32_t kNone = 0xffffffffu;
  std::uint32_t held_ = kNone;  // posted, but not written: it may turn out to be waited for at once
  std::uint64_t started_ = 0;
  std::vector<std::uint32_t> waits_;
  std::vector<std::int64_t> list_;
  Open open_;
  bool too_many_ = false;
  bool stops_ = false, stopped_ = false;
  bool sending_ = false;  // what becomes ready does so through the start of a send
};

}  // namespace weft::traces::goal
