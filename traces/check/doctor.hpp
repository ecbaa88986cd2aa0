// The untimed run of all ranks behind check_trace (check.hpp): one Doctor, one run.
//
// step() takes one operation of one rank as far as MPI lets it; a rank that must wait is left and woken by
// what it waits for. doctor.cpp runs the operations, matching.cpp matches, doctor_matching.cpp says what becomes of requests and
// choices, doctor_findings.cpp what is wrong with the state in which it all ended.
//
// Matching follows MPI's progress rule: what is posted matches whether or not its rank is in a call.
//  1. A receive whose source is known (its argument, or the match that was recorded) stands in the queue of its
//     channel. Messages of a channel take the receives in order.
//  2. A receive from any source without a recorded match is a *wildcard*. Which message takes it is a choice of the
//     network, so it is made last, when no rank can go on without it: then every message that can be there is there
//     (Vakkalanka et al., "Dynamic verification of MPI programs with reductions in presence of split operations and
//     relaxed orderings", CAV 2008). Until then a message that it accepts is held back from receives posted later.
//  3. A run follows a Script: which of the options each choice takes. The first run takes the first everywhere; where a choice
//     was a real one, check.cpp runs the other scripts (up to a limit), for one that ends better, or worse.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "traces/check/check.hpp"
#include "traces/check/collective_check.hpp"
#include "traces/check/guesses.hpp"
#include "traces/check/matching.hpp"
#include "traces/check/rank_program.hpp"
#include "traces/check/rank_tasks.hpp"
#include "traces/check/script.hpp"
#include "traces/recorded/blocks_ahead.hpp"

namespace weft::traces::doctor {

inline constexpr std::uint32_t kCurrent =
    0xffffffffu;  // "the operation the rank stands at" instead of a request slot

// What is wrong with a run as far as its order of arrival goes. What that is worth is known when the run is over, if not
// after others: until then it is no finding.
struct Faults {
  std::vector<Finding> told;  // the first ones; their severity says nothing
  std::uint64_t count = 0;
};

// Collects findings up to the limit, counts all.
class Findings {
 public:
  Findings(const TraceReader& trace, CheckReport& report, std::size_t limit)
      : Findings(trace, report, limit, limit) {}
  // `faults_kept`: so many faults of a run are kept with their text.
  Findings(const TraceReader& trace, CheckReport& report, std::size_t limit, std::size_t faults_kept)
      : trace_(trace), report_(report), limit_(limit), faults_kept_(faults_kept) {}
  void add(Severity s, std::uint32_t rank, std::uint64_t op, std::string_view what, std::string_view text) {
    if (counted(s)) report_.findings.push_back(finding(s, rank, op, what, text));
  }
  void add_global(Severity s, std::int64_t rank, std::int64_t op, std::string text) {
    if (counted(s)) report_.findings.push_back({s, rank, op, std::move(text)});
  }
  void add(Severity s, Faults faults) {
    for (Finding& f : faults.told) add_global(s, f.rank, f.op, std::move(f.message));
    (s == Severity::kError ? report_.errors : report_.warnings) += faults.count - faults.told.size();
  }
  void keep(Faults& faults, std::uint32_t rank, std::uint64_t op, std::string_view what,
            std::string_view text) const {
    if (faults.count++ < faults_kept_) faults.told.push_back(finding(Severity::kError, rank, op, what, text));
  }
  void keep_global(Faults& faults, std::int64_t rank, std::int64_t op, std::string text) const {
    if (faults.count++ < faults_kept_) faults.told.push_back({Severity::kError, rank, op, std::move(text)});
  }

 private:
  // True below the limit.
  bool counted(Severity s) { return (s == Severity::kError ? report_.errors : report_.warnings)++ < limit_; }
  [[nodiscard]] Finding finding(Severity s, std::uint32_t rank, std::uint64_t op, std::string_view what,
                                std::string_view text) const {
    return {s, rank, static_cast<std::int64_t>(op),
            fmt::format("{}: rank {} {}: {}", trace_.position(RankId(rank), op), rank, what, text)};
  }
  const TraceReader& trace_;
  CheckReport& report_;
  std::size_t limit_;
  std::size_t faults_kept_;
};

// How a choice was made: of one message, of one while other choices stood open, or of several.
enum class Chosen : std::uint8_t { kForCertain, kAlone, kOfSeveral };

struct Request {
  Op op;
  std::uint64_t index = 0;
  bool active = false;
  bool done = false;
  bool persistent = false;
  bool recorded = false;             // the receive itself says what it got
  bool cancelled = false;            // a receive whose cancel came; whether in time says what completes it
  std::int32_t source = kAnySource;  // of a receive: where it is matched, kAnySource while it is a wildcard
  std::int32_t tag = kAnyTag;
  std::optional<Message> guess;         // the message of `source` that a choice gave to it
  Chosen chosen = Chosen::kForCertain;  // how
  std::optional<Message> took;          // the message that it has, of a receive that is done
  // What stands in a queue for it while it is not done: a receive from `source`, or from any source by its order, or a message.
  std::uint32_t row = kNoRow;
  std::uint64_t order = 0;
  std::uint64_t instance = 0;  // of a non-blocking collective
};

// Where operations of a block name a request, once looking for that operation by operation has gone far.
struct NamedRequests {
  std::uint64_t looked_at = 0;  // operations of it
  bool listed = false;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> where;  // in the block, ascending
};

struct Rank {
  OpBlock block;
  std::size_t at = 0;      // in block
  std::uint64_t seen = 0;  // operations that `program` has
  bool ended = false;
  bool blocked = false;
  bool queued = false;
  bool issued = false;        // the operation at `at` has done its first part
  bool current_done = false;  // ... and what it waited for has come
  std::size_t settled = 0;    // requests at the head of the list that it waits for that are done
  bool pair_open = false;     // the send half of the sendrecv that it is in is not matched yet
  bool choosing = false;      // stands in the queue of choices
  std::int32_t pair_peer = 0;
  std::uint64_t instance = 0;
  std::uint64_t next_order = 0;  // of the next receive
  std::size_t in_flight = 0;     // unreceived messages that it sent
  std::unordered_map<std::uint32_t, Request> requests;
  Guesses guesses;  // of them
  RankTasks tasks;
  BlocksAhead ahead;
  std::vector<NamedRequests> named;  // of the block and of those ahead, as far as somebody looked
  std::vector<std::uint32_t> region_stack;
  RankProgram program;
  [[nodiscard]] std::uint64_t index() const { return block.first_op + at; }
};

struct RunOptions {
  bool synchronous = false;
  Script* script = nullptr;  // follow and extend it; null: the first option everywhere
  std::uint64_t most_steps = UINT64_MAX;
  std::function<void(std::uint64_t)> on_progress;  // operations done; seldom
};

class Doctor {
 public:
  Doctor(TraceReader& trace, Findings& findings, RunOptions options)
      : trace_(trace),
        find_(findings),
        options_(std::move(options)),
        synchronous_(options_.synchronous),
        ranks_(trace.header().ranks),
        collectives_(trace.communicators()),
        matching_(
            trace.header().ranks,
            [this](CommId comm, std::uint32_t rank) { return collectives_.position(comm, rank); },
            [this](const Channel& c, const Message& m, const Posted& p) { matched(c, m, p); }) {}
  Doctor(const Doctor&) = delete;  // what matches tells this one
  Doctor& operator=(const Doctor&) = delete;

  Result<void> run();
  // Of a run with synchronous sends: the deadlocks that only buffering avoids. They are no findings of this run, in which all
  // that is wrong with the program otherwise is found again.
  [[nodiscard]] const Faults& buffering() const { return buffering_; }
  // Another order of arrival might have ended differently.
  [[nodiscard]] bool uncertain() const;
  // What another order of arrival might mend. All else that is wrong is a finding already.
  [[nodiscard]] const Faults& faults() const { return faults_; }
  // A completion told another match than a choice had made: up to there it was an order that the recording rules out.
  [[nodiscard]] bool corrected() const { return corrected_; }
  // The run was given up after RunOptions::most_steps; nothing else is known of it.
  [[nodiscard]] bool given_up() const { return given_up_; }
  // The script has had this order; nothing else is known of the run.
  [[nodiscard]] bool repeated() const { return repeated_; }
  // What it took: ranks, operations, options that a script looked at.
  [[nodiscard]] std::uint64_t steps() const { return ranks_.size() + ops_done_ + looked_at_; }
  // How often a call that completes requests asked whether one of them is done.
  [[nodiscard]] std::uint64_t requests_asked() const { return requests_asked_; }

 private:
  // One operation of rank r. True if it is done, false if the rank must wait.
  bool step(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);
  bool send(std::uint32_t r, Rank& me, const Op& op);
  bool receive(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);
  bool probe(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);
  bool complete(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);
  bool collective(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);
  // The request that `op` makes, whose slot must hold no other.
  Request& new_request(std::uint32_t r, Rank& me, const Op& op);
  void post(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);
  void activate(std::uint32_t r, Rank& me, Request& q, std::uint32_t slot, std::uint64_t index,
                std::span<const std::int64_t> list);
  void not_for_launched(std::uint32_t r, const Rank& me, const Op& op, std::int64_t slot);
  void request_op(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);

  // ---- doctor_tasks.cpp
  void task(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);
  void go_on_with_tasks(std::uint32_t r, Rank& me);
  static bool task_wait(Rank& me);

  // ---- doctor_matching.cpp
  // A message is there. Its row if it waits for a receive.
  std::uint32_t deliver(std::uint32_t src, const Op& op, std::uint64_t index, std::uint32_t waiter);
  void post_wildcard(std::uint32_t r, const Wildcard& w);
  // The operation after the rank's that names request `slot`, in its block or in those that can be read ahead; null: it is
  // out of sight.
  const Op* next_that_names(std::uint32_t r, Rank& me, std::uint32_t slot);
  // The source and tag that the completion of `slot` names, if it is in sight.
  std::optional<std::pair<std::int32_t, std::int32_t>> match_ahead(std::uint32_t r, Rank& me,
                                                                   std::uint32_t slot);
  // The completion of a wildcard says what it matched: source and tag.
  void recorded_match(std::uint32_t r, Rank& me, std::uint32_t slot, Request& q, std::int32_t source,
                      std::int32_t tag);
  // A choice gave message m of `source` to the receive of a request.
  void guess(Rank& me, std::uint32_t slot, Request& q, std::int32_t source, const Message& m);
  // It does not have it any more,
  static void drop_guess(Rank& me, std::uint32_t slot, Request& q);
  // ... or it is over and had it; only now is that held against the choice, or against the program.
  void settle_guess(std::uint32_t r, Rank& me, std::uint32_t slot, Request& q);
  void settle_guesses();
  void note_choice(std::uint32_t r, CommId comm, Chosen how);
  // ... it had another one by a choice: that goes back.
  void correct_choice(std::uint32_t r, Rank& me, std::uint32_t slot, Request& q, std::int32_t source,
                      std::int32_t tag);
  void cancel(std::uint32_t r, Rank& me, std::uint32_t slot, Request& q);
  // Takes the receive of a request out of matching; a message that it took goes back. It is done then.
  void withdraw(std::uint32_t r, Rank& me, std::uint32_t slot, Request& q);
  // Withdraws the cancelled receives of a rank that nothing came for, but those whose completion names a match. False if
  // there was none.
  bool withdraw_cancelled(std::uint32_t r);
  void forget(std::uint32_t r, const Request& q);
  void may_choose(std::uint32_t r) {
    Rank& k = ranks_[r];
    if (k.choosing) return;
    k.choosing = true;
    choices_.push_back(r);
  }
  // Makes one choice; false if there is none to make, or the script has had it.
  bool choose();
  // Which of all that can be chosen the script takes.
  std::optional<Matching::Option> choose_by_script();
  void matched(const Channel& c, const Message& m, const Posted& p);
  // The receive at operation `receive` of `dst` has that message.
  void too_large(std::uint32_t src, std::uint32_t dst, const Message& m, std::uint64_t receive,
                 std::int64_t bytes);
  void notify(std::uint32_t rank, std::uint32_t slot, const Message* received = nullptr);
  void wake(std::uint32_t rank) {
    Rank& k = ranks_[rank];
    if (!k.blocked || k.queued) return;
    k.queued = true;
    ready_.push_back(rank);
  }
  // Errors are what no other order of arrival would mend: what the rank's own program, or what all say of a collective, is
  // in each of them.
  void error(std::uint32_t r, std::uint64_t index, const Op& op, std::string_view text) {
    find_.add(Severity::kError, r, index, op_name(op.kind), text);
  }
  void tell(std::uint32_t r, std::vector<RankProgram::Fault>& faults) {
    for (auto& f : faults)
      find_.add(f.warning ? Severity::kWarning : Severity::kError, r, f.op, op_name(f.kind), f.text);
    faults.clear();
  }
  // What is wrong with who takes which message, or waits for whom. Until the first choice all orders are one.
  void fault(std::uint32_t r, std::uint64_t index, std::string_view what, std::string_view text) {
    if (choices_made_ == 0)
      find_.add(Severity::kError, r, index, what, text);
    else
      find_.keep(faults_, r, index, what, text);
  }
  bool member(std::uint32_t r, const Op& op, std::int32_t who, const char* role, std::uint64_t index);
  void finish();
  void report_blocked();
  void report_denied_communicators();
  // One rank that `r`, which is blocked, waits for; nullopt if none that is blocked too. `what` describes the
  // wait.
  std::optional<std::uint32_t> waits_for(std::uint32_t r, std::string& what);

  TraceReader& trace_;
  Findings& find_;
  RunOptions options_;
  bool synchronous_;
  std::vector<Rank> ranks_;
  CollectiveCheck collectives_;
  Matching matching_;
  std::deque<std::uint32_t> ready_;
  std::deque<std::uint32_t> throttled_;
  std::deque<std::uint32_t> choices_;  // ranks with wildcards that a message may take
  std::vector<Matching::Option> options_here_;
  std::vector<Script::Option> script_options_;
  std::vector<RankProgram::Fault> program_faults_;
  std::size_t choices_made_ = 0;
  bool real_choice_ = false;  // a choice had two options, and the recording does not say which it was
  // Receivers (communicator, rank) for which a choice had one option while other choices stood open: a real choice if
  // a second source sends there at any time.
  std::unordered_set<std::uint64_t> lone_choices_;
  Faults faults_, buffering_;
  std::uint64_t ops_done_ = 0;
  std::uint64_t looked_at_ = 0;
  std::uint64_t requests_asked_ = 0;
  bool corrected_ = false;
  bool given_up_ = false;
  bool repeated_ = false;
};

}  // namespace weft::traces::doctor
