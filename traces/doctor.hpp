// The untimed run of all ranks behind check_trace (check.hpp): one Doctor, one run.
//
// step() takes one operation of one rank as far as MPI lets it; a rank that must wait is left and woken by
// what it waits for. doctor.cpp runs and matches, doctor_findings.cpp says what is wrong with the state in
// which it all ended.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/check.hpp"
#include "traces/collective_check.hpp"

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
  std::uint32_t waiter;  // request slot, kCurrent, or kNobody: who waits for the match
  static constexpr std::uint32_t kNobody = 0xfffffffeu;
};
struct Posted {
  std::int32_t tag;  // or kAnyTag
  std::int64_t bytes;
  std::uint64_t op;
  std::uint32_t slot;  // or kCurrent
};
// Messages from one rank to another in one communicator.
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
  bool wildcard = false;       // any source: matched when it is completed
  std::uint64_t instance = 0;  // of a non-blocking collective
};

struct Rank {
  OpBlock block;
  std::size_t at = 0;  // in block
  bool ended = false;
  bool blocked = false;
  bool queued = false;
  bool issued = false;        // the operation at `at` has done its first part
  bool current_done = false;  // ... and what it waited for has come
  std::uint64_t instance = 0;
  std::size_t in_flight = 0;  // unreceived messages that it sent
  std::size_t wild_posted = 0;
  std::unordered_map<std::uint32_t, Request> requests;
  std::vector<std::uint32_t> region_stack;
  [[nodiscard]] std::uint64_t index() const { return block.first_op + at; }
};

class Doctor {
 public:
  Doctor(TraceReader& trace, Findings& findings, bool synchronous)
      : trace_(trace),
        find_(findings),
        synchronous_(synchronous),
        ranks_(trace.header().ranks),
        collectives_(trace.communicators()) {}

  Result<void> run();
  [[nodiscard]] bool deadlocked() const { return deadlocked_; }

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
  void post(std::uint32_t r, Rank& me, const Op& op);
  void activate(std::uint32_t r, Rank& me, Request& q, std::uint32_t slot, std::uint64_t index);
  void request_op(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);

  Channel& channel(CommId comm, std::uint32_t src, std::uint32_t dst) {
    auto [it, fresh] =
        channel_of_.try_emplace({comm.index(), src, dst}, static_cast<std::uint32_t>(channels_.size()));
    if (fresh) channels_.push_back({src, dst, comm, {}, {}});
    return channels_[it->second];
  }
  Channel* find_channel(CommId comm, std::uint32_t src, std::uint32_t dst) {
    const auto it = channel_of_.find({comm.index(), src, dst});
    return it == channel_of_.end() ? nullptr : &channels_[it->second];
  }
  void deliver(std::uint32_t src, const Op& op, std::uint64_t index, std::uint32_t waiter);
  // Takes the first message that matches; false if there is none.
  bool take(Channel& c, std::int64_t tag, std::int64_t posted_bytes, std::uint64_t recv_index);
  bool take_from_any(std::uint32_t r, CommId comm, std::int64_t source, std::int64_t tag, std::int64_t bytes,
                     std::uint64_t index);
  void matched(const Channel& c, const Message& m, std::int64_t posted_bytes, std::uint64_t recv_index);
  void notify(std::uint32_t rank, std::uint32_t slot);
  void wake(std::uint32_t rank) {
    Rank& k = ranks_[rank];
    if (!k.blocked || k.queued) return;
    k.queued = true;
    ready_.push_back(rank);
  }
  void error(std::uint32_t r, std::uint64_t index, const Op& op, std::string text) {
    find_.add(wild_guess_ ? Severity::kWarning : Severity::kError, r, index, op_name(op.kind),
              std::move(text));
  }
  bool member(std::uint32_t r, const Op& op, std::int32_t who, const char* role, std::uint64_t index);
  void finish();
  void report_blocked();
  // One rank that `r`, which is blocked, waits for; nullopt if none that is blocked too. `what` describes the
  // wait.
  std::optional<std::uint32_t> waits_for(std::uint32_t r, std::string& what);

  TraceReader& trace_;
  Findings& find_;
  bool synchronous_;
  std::vector<Rank> ranks_;
  std::unordered_map<Key, std::uint32_t, Hash> channel_of_;
  std::deque<Channel> channels_;  // stable references, in order of first use
  CollectiveCheck collectives_;
  std::deque<std::uint32_t> ready_;
  std::deque<std::uint32_t> throttled_;
  bool wild_guess_ =
      false;  // a wildcard without a recorded match was guessed: what follows may be our guess's fault
  bool deadlocked_ = false;
};

}  // namespace weft::traces::doctor
