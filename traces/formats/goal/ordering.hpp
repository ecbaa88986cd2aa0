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
#include "traces/formats/goal/graph.hpp"
#include "traces/formats/goal/order.hpp"
#include "traces/formats/goal/posts.hpp"
#include "traces/formats/goal/program.hpp"
#include "traces/formats/goal/schedule.hpp"

namespace weft::traces::goal {

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
  // All of them, and `watcher` if there is one, outlive it.
  Ordering(const std::vector<Operation>& ops, const Graph& graph, const Place& place, Program& out,
           Watcher* watcher = nullptr)
      : ops_(ops),
        graph_(graph),
        place_(place),
        out_(out),
        posts_(ops, missing_, out),
        watcher_(watcher),
        missing_(graph.required),
        lacks_(ops.size(), 0),
        asked_(ops.size(), 0),
        state_(ops.size(), State::kBlocked) {}
  // Before begin(): it stops, with an error that is nobody's, at the first place where the schedule leaves open what is next or cpus
  // would have to compute side by side; also where a cpu has a choice among what is ready at different instants, which tasks have
  // in the order in which they came (replay/ranks/tasks.hpp): computations, sends after others beside them, what became ready while one
  // computed; and where messages are posted while something lacks others.
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
    for (const std::uint32_t e : graph_.earlier.of(v))
      if ((e & Dependency::kAtStart) == 0 && state_[e] == State::kPosted) visit(e);
  }
  // visit(operation) for each that requires the end of v.
  template <class F>
  void each_requiring(std::uint32_t v, F visit) const {
    for (const std::uint32_t e : graph_.later.of(v))
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
  void wait(std::uint32_t line);
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
  const Graph& graph_;
  const Place& place_;
  Program& out_;
  Posts posts_;
  Watcher* watcher_;
  std::vector<std::uint32_t> missing_;  // by operation; once it is posted its request
  std::vector<std::uint32_t> lacks_;    // messages that are under way and that it requires
  std::vector<std::uint32_t> asked_;    // of a message: how many lacking operations require it
  std::vector<State> state_;

  LeastFirst<std::uint32_t> passes_, receives_, sends_,
      computations_;                                             // ready; passes: computations of no time
  LeastFirst<std::pair<std::uint32_t, std::uint32_t>> lacking_;  // (lacks, operation); some are out of date
  std::uint64_t lacking_count_ = 0;
  std::array<std::uint64_t, 256> lacking_on_{}, computing_on_{};  // by cpu; ready computations
  static constexpr std::uint32_t kNone = 0xffffffffu;
  std::uint64_t started_ = 0;
  std::vector<std::uint32_t> waits_;
  Open open_;
  bool stops_ = false, stopped_ = false;
  bool sent_ =
      false;  // a send was started since the last wait or computation: what becomes ready does so later
};

}  // namespace weft::traces::goal
