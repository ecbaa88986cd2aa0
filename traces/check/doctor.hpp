// The untimed run of all ranks behind check_trace (check.hpp): one Doctor, one run.
//
// step() takes one operation of one rank as far as MPI lets it; a rank that must wait is left and woken by
// what it waits for. doctor.cpp runs the operations, doctor_matching.cpp matches, doctor_findings.cpp says what is
// wrong with the state in which it all ended.
//
// Matching follows MPI's progress rule: what is posted matches whether or not its rank is in a call.
//  1. A receive whose source is known (its argument, or the match that was recorded) stands in the queue of its
//     channel. Messages of a channel take the receives in order.
//  2. A receive from any source without a recorded match is a *wildcard*. Which message takes it is a choice of the
//     network, so it is made last, when no rank can go on without it: then every message that can be there is there
//     (Vakkalanka et al., "Dynamic verification of MPI programs with reductions in presence of split operations and
//     relaxed orderings", CAV 2008). Until then a message that it accepts is held back from receives posted later.
//  3. A run follows a Script: which of the options each choice takes. The first run takes option 0 everywhere; where it
//     ends in a deadlock after a real choice, check.cpp runs the other scripts (up to a limit).
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
#include "traces/check/rank_program.hpp"

namespace weft::traces::doctor {

inline constexpr std::uint32_t kCurrent =
    0xffffffffu;  // "the operation the rank stands at" instead of a request slot

// Collects findings up to the limit, counts all.
class Findings {
 public:
  Findings(const TraceReader& trace, CheckReport& report, std::size_t limit)
      : trace_(trace), report_(report), limit_(limit) {}
  void add(Severity s, std::uint32_t rank, std::uint64_t op, std::string_view what, std::string text) {
    auto& n = s == Severity::kError ? report_.errors : report_.warnings;
    if (n++ >= limit_) return;
    report_.findings.push_back(
        {s, rank, static_cast<std::int64_t>(op),
         fmt::format("{}: rank {} {}: {}", trace_.position(RankId(rank), op), rank, what, text)});
  }
  void add_global(Severity s, std::int64_t rank, std::int64_t op, std::string text) {
    auto& n = s == Severity::kError ? report_.errors : report_.warnings;
    if (n++ >= limit_) return;
    report_.findings.push_back({s, rank, op, std::move(text)});
  }

 private:
  const TraceReader& trace_;
  CheckReport& report_;
  std::size_t limit_;
};

struct Message {
  std::int32_t tag;
  std::int64_t bytes;
  std::uint64_t op;      // index of the send in its rank's program
  std::uint32_t waiter;  // request slot, kCurrent, kPair or kNobody: who waits for the match
  static constexpr std::uint32_t kNobody = 0xfffffffeu;
  static constexpr std::uint32_t kPair = 0xfffffffdu;  // the send half of the rank's sendrecv
};
struct Posted {
  std::int32_t tag;  // or kAnyTag
  std::int64_t bytes;
  std::uint64_t op;
  std::uint32_t slot;   // kCurrent, or kNobody of a request that was freed
  std::uint64_t order;  // among all receives of the rank
  [[nodiscard]] bool accepts(std::int32_t message_tag) const { return tag == kAnyTag || tag == message_tag; }
};
struct Wildcard : Posted {
  CommId comm;
};
// Messages from one rank to another in one communicator. A message and a receive that fit stand here together only
// while an earlier wildcard holds the message.
struct Channel {
  std::uint32_t src;
  std::uint32_t dst;
  CommId comm;
  std::vector<Message> unexpected;  // short: a deque of each would cost a kilobyte a channel
  std::vector<Posted> posted;
};

struct Request {
  Op op;
  std::uint64_t index = 0;
  bool active = false;
  bool done = false;
  bool persistent = false;
  std::int32_t source = kAnySource;  // of a receive: where it is matched, kAnySource while it is a wildcard
  std::int32_t tag = kAnyTag;
  std::optional<Message> guess;  // the message of `source` that a choice gave to it
  std::uint64_t instance = 0;    // of a non-blocking collective
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
  bool pair_open = false;     // the send half of the sendrecv that it is in is not matched yet
  bool choosing = false;      // stands in the queue of choices
  std::int32_t pair_peer = 0;
  std::uint64_t instance = 0;
  std::uint64_t next_order = 0;  // of the next receive
  std::size_t in_flight = 0;     // unreceived messages that it sent
  std::vector<Wildcard> wild;    // posted and not matched, in order
  std::unordered_map<std::uint32_t, Request> requests;
  std::vector<std::uint32_t> region_stack;
  RankProgram program;
  [[nodiscard]] std::uint64_t index() const { return block.first_op + at; }
};

// The choices of one run: which option each one takes, how many it had.
struct Script {
  struct Choice {
    std::uint32_t taken = 0;
    std::uint32_t options = 1;
  };
  std::vector<Choice> choices;  // empty: option 0 everywhere
  // Turns to the next script in order of depth first; false if this was the last.
  [[nodiscard]] bool advance() {
    while (!choices.empty() && choices.back().taken + 1 == choices.back().options) choices.pop_back();
    if (choices.empty()) return false;
    ++choices.back().taken;
    return true;
  }
};

struct RunOptions {
  bool synchronous = false;
  Script* script = nullptr;  // follow and extend it; null: option 0 everywhere
  bool certain = false;      // no other order of arrival would end better: findings are errors
  std::uint64_t most_ops = UINT64_MAX;
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
        collectives_(trace.communicators()) {}

  Result<void> run();
  [[nodiscard]] bool deadlocked() const { return deadlocked_; }
  // Another order of arrival might have ended differently.
  [[nodiscard]] bool uncertain() const;
  // Errors, and what would be one if it were certain.
  [[nodiscard]] std::uint64_t faults() const { return faults_; }
  // The run was given up after RunOptions::most_ops; nothing else is known of it.
  [[nodiscard]] bool given_up() const { return given_up_; }
  [[nodiscard]] std::uint64_t ops_done() const { return ops_done_; }

 private:
  struct Key {
    std::uint32_t comm, src, dst;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const noexcept {
      std::uint64_t h = (std::uint64_t{k.src} << 32 | k.dst) * 0x9e3779b97f4a7c15ULL;
      h = (h ^ h >> 29 ^ k.comm) * 0xbf58476d1ce4e5b9ULL;
      return h ^ h >> 32;
    }
  };

  // One operation of rank r. True if it is done, false if the rank must wait.
  bool step(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);
  bool send(std::uint32_t r, Rank& me, const Op& op);
  bool receive(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);
  bool probe(std::uint32_t r, Rank& me, const Op& op, std::int64_t source, std::int64_t tag);
  bool complete(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);
  bool collective(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);
  void post(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);
  void activate(std::uint32_t r, Rank& me, Request& q, std::uint32_t slot, std::uint64_t index,
                std::span<const std::int64_t> list);
  void request_op(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);

  // ---- doctor_matching.cpp
  Channel& channel(CommId comm, std::uint32_t src, std::uint32_t dst);
  Channel* find_channel(CommId comm, std::uint32_t src, std::uint32_t dst) {
    const auto it = channel_of_.find({comm.index(), src, dst});
    return it == channel_of_.end() ? nullptr : &channels_[it->second];
  }
  void deliver(std::uint32_t src, const Op& op, std::uint64_t index, std::uint32_t waiter);
  // A receive of rank r is there; notify() tells when it is matched, which may be at once.
  void post_from(std::uint32_t r, CommId comm, std::int32_t source, const Posted& p);
  void post_wildcard(std::uint32_t r, const Wildcard& w);
  // The source and tag that the completion of `slot` names, if it stands in the block that is read.
  static std::optional<std::pair<std::int32_t, std::int32_t>> match_ahead(const Rank& me, std::uint32_t slot);
  // The completion of a wildcard says what it matched: source and tag.
  void recorded_match(std::uint32_t r, Rank& me, std::uint32_t slot, Request& q, std::int32_t source,
                      std::int32_t tag);
  void withdraw(std::uint32_t r, Rank& me, std::uint32_t slot, const Request& q);
  [[nodiscard]] bool held(const Rank& k, CommId comm, std::int32_t tag, std::uint64_t order) const;
  void match_channel(Channel& c);
  void match_all(std::uint32_t r, CommId comm);
  void may_choose(std::uint32_t r) {
    Rank& k = ranks_[r];
    if (k.choosing) return;
    k.choosing = true;
    choices_.push_back(r);
  }
  // Messages that the first wildcard of rank r that has any accepts, as channels in order of members.
  struct Option {
    std::uint32_t rank;
    std::size_t wild;
    std::uint32_t channel;
    std::size_t message;
  };
  void add_options(std::uint32_t r, std::vector<Option>& out);
  // Makes one choice; false if there is none to make.
  bool choose();
  void matched(const Channel& c, const Message& m, const Posted& p);
  void notify(std::uint32_t rank, std::uint32_t slot);
  void wake(std::uint32_t rank) {
    Rank& k = ranks_[rank];
    if (!k.blocked || k.queued) return;
    k.queued = true;
    ready_.push_back(rank);
  }
  void error(std::uint32_t r, std::uint64_t index, const Op& op, std::string text) {
    fault(r, index, op_name(op.kind), std::move(text));
  }
  // What no other order of arrival would mend.
  void tell(std::uint32_t r, std::vector<RankProgram::Fault>& faults) {
    for (auto& f : faults) find_.add(Severity::kError, r, f.op, op_name(f.kind), std::move(f.text));
    faults.clear();
  }
  void fault(std::uint32_t r, std::uint64_t index, std::string_view what, std::string text) {
    ++faults_;
    find_.add(severity(), r, index, what, std::move(text));
  }
  // After a choice that could have been another one, what is wrong may be our choice's fault.
  [[nodiscard]] Severity severity() const { return uncertain() ? Severity::kWarning : Severity::kError; }
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
  std::unordered_map<Key, std::uint32_t, Hash> channel_of_;
  std::deque<Channel> channels_;  // stable references, in order of first use
  CollectiveCheck collectives_;
  std::deque<std::uint32_t> ready_;
  std::deque<std::uint32_t> throttled_;
  std::deque<std::uint32_t> choices_;  // ranks with wildcards that a message may take
  std::vector<Option> options_here_;
  std::vector<RankProgram::Fault> program_faults_;
  std::size_t choices_made_ = 0;
  bool real_choice_ = false;  // a choice had two options
  // Receivers (communicator, rank) for which a choice had one option while other choices stood open: a real choice if
  // a second source sends there at any time.
  std::unordered_map<std::uint64_t, std::uint32_t> sources_;  // (comm, receiver) -> channels to it
  std::unordered_set<std::uint64_t> lone_choices_;            // keys of sources_
  std::uint64_t faults_ = 0;
  std::uint64_t ops_done_ = 0;
  bool given_up_ = false;
  bool deadlocked_ = false;
};

}  // namespace weft::traces::doctor
