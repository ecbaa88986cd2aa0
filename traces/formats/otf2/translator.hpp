// Events of one location -> operations of one rank.
//
// An operation stands where its call began. What a receive gets, and what a non-blocking collective is, the archive says
// only at its completion: until then its operation is a hole in the queue, and what comes after it waits there. A first
// pass (the survey) finds those that complete more than kWindow operations later, or never; the second pass knows them.
//
// Memory: kWindow operations, the requests that are outstanding, the regions that are open.
// Errors: without a position; the caller has the event's.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "traces/formats/otf2/archive.hpp"
#include "traces/formats/otf2/losses.hpp"
#include "traces/formats/otf2/vector_sizes.hpp"
#include "traces/formats/request_slots.hpp"
#include "traces/trace.hpp"

namespace weft::traces::otf2 {

// Operations between a request and its completion that the second pass holds back.
inline constexpr std::uint64_t kWindow = 4096;

// What the survey of a rank found.
struct Ahead {
  struct Far {
    std::uint64_t ordinal;  // of the request among the rank's
    bool never;             // nothing completes it
    Event completion;
    std::uint32_t made = kUndefined32;  // communicator that the completion made
  };
  std::vector<Far> far;                   // by ordinal
  std::vector<std::uint64_t> unfinished;  // sends that nothing completes, by ordinal
};

// What all surveys of an archive found, and where it went.
struct Used {
  std::set<std::uint32_t> comms;                             // normal ones
  std::set<std::pair<std::uint32_t, std::uint32_t>> selves;  // (communicator, rank)
  std::set<std::uint32_t> regions;                           // of the program
  std::unordered_map<std::uint32_t, CommId> comm_ids;        // after the surveys
  std::map<std::pair<std::uint32_t, std::uint32_t>, CommId> self_ids;
  std::unordered_map<std::uint32_t, std::int64_t> region_ids;
};

class Translator {
 public:
  // Survey: `used`, `vectors` and `losses` take what is found. Second pass: `ahead` is the survey's, `losses` is null.
  Translator(const Definitions& definitions, std::uint32_t rank, const Ahead* ahead, Used& used,
             VectorSizes& vectors, Losses* losses)
      : definitions_(definitions),
        rank_(rank),
        ahead_(ahead),
        used_(used),
        vectors_(vectors),
        losses_(losses),
        ps_per_tick_(definitions.ticks_per_second <= kPsPerSecond &&
                             kPsPerSecond % definitions.ticks_per_second == 0
                         ? kPsPerSecond / definitions.ticks_per_second
                         : 0) {}

  [[nodiscard]] std::optional<Error> add(const Event& e);
  [[nodiscard]] std::optional<Error> finish();

  // Second pass. Operations that are whole, moved behind those of `out`; at most `most` of them, and fewer where their
  // lists are long. `from`: the event of each.
  void drain(std::size_t most, OpBlock& out);
  // Whether drain() has something to do, so that reading can pause.
  [[nodiscard]] bool full(std::size_t most) const;
  [[nodiscard]] bool empty() const { return queue_.empty(); }

  // After finish() of a survey.
  [[nodiscard]] const TraceTotals& totals() const { return totals_; }
  [[nodiscard]] Ahead& found() { return found_; }

 private:
  enum class State : std::uint8_t { ready, hole, dead };
  struct Queued {
    Op op;
    State state = State::ready;
    bool has_list = false;
    std::vector<std::int64_t> list;
  };
  struct Request {
    enum class Kind : std::uint8_t { send, receive, collective } kind = Kind::send;
    std::uint64_t ordinal = 0, posted = 0;
    std::uint32_t slot = kNoRequest;  // none: no operation stands for it
    std::uint64_t hole = UINT64_MAX;  // its place since the start of the rank
    CommId comm{0};
    OpKind form = OpKind::ibarrier;  // of a collective, by its region
  };
  struct Open {
    std::uint64_t times = 0;   // that it was entered and not left
    std::uint64_t inside = 0;  // of these, of the program's regions, inside of a call: no operations
  };
  struct Call {
    std::uint32_t region;
    MpiCall call;
    Open* open;  // of the region
  };
  struct Local {                          // a call of MPI that is taken as local
    std::uint32_t region = kUndefined32;  // none
    std::size_t inside = 0;               // of so many of calls_
    bool told = false;
  };
  struct Known {  // a region that was entered or left
    std::uint32_t ref = kUndefined32;
    const MpiCall* call = nullptr;
    Open* open = nullptr;
  };
  struct Here {  // a communicator that this rank uses
    const CommDef* def = nullptr;
    std::int64_t size = 1, me = 0;
    CommId id{0};
  };

  bool fail(std::string what, std::string got = {}, std::string expected = {});
  bool dispatch(const Event& e);
  // regions and time
  // Null where the archive defines none of this number.
  [[nodiscard]] const Known* region_of(std::uint32_t ref);
  bool enter(const Event& e);
  bool leave(const Event& e);
  void mark(OpKind kind, const Event& e);
  void enter_call(const Call& entered, std::uint64_t time);
  void compute_until(std::uint64_t time);
  void advance(std::uint64_t time);
  [[nodiscard]] std::int64_t picoseconds(std::uint64_t ticks) const;
  void flush_compute();
  // operations
  void push(const Op& op, std::span<const std::int64_t> list = {}, bool has_list = false);
  std::uint64_t append(Queued q);
  void count(const Op& op);
  bool describe(std::uint32_t ref, Here& h);
  bool find_comm(std::uint32_t ref, const Here*& here, bool& lost);
  bool peer_in(const Here& here, std::uint32_t peer, std::int32_t& world) const;
  bool message(const Event& e, const char* peer, Op& op, bool& lost);
  bool send(const Event& e);
  bool receive(const Event& e);
  // requests
  bool register_request(std::uint64_t id, Request r);
  Request* oldest(std::uint64_t id);
  void remove(std::uint64_t id);
  bool post(const Event& e, Request::Kind kind);
  bool complete(const Event& e);
  bool fill(Request& r, const Event& e, std::uint32_t made);
  bool cancel(const Event& e);
  bool finish_call();
  void forget_call();
  // collectives
  bool collective(const Event& e);
  bool collective_op(const Event& e, bool blocking, std::uint64_t ordinal, std::uint32_t made, Op& op,
                     std::vector<std::int64_t>& list, bool& has_list, bool& lost);
  bool free_comm(const Event& e);
  [[nodiscard]] bool in_call(CallClass cls) const { return !calls_.empty() && calls_.back().call.cls == cls; }
  void lose(Lost group);
  void see_unknown_call();

  const Definitions& definitions_;
  const std::uint32_t rank_;
  const Ahead* ahead_;
  Used& used_;
  VectorSizes& vectors_;
  Losses* losses_;
  std::optional<Error> error_;

  // time: picoseconds of a tick where they are whole; 0: not
  static constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000;
  const std::uint64_t ps_per_tick_;

  // regions
  std::unordered_map<std::uint32_t, Open> open_;
  // Those that were asked for last, by the end of their number: most events are of a few regions.
  std::array<Known, 16> recent_{};
  std::vector<Call> calls_;  // of MPI that are under way and not local
  Local local_;              // the local one that was entered last and is not left
  // time
  std::uint64_t last_ = 0;  // computation is counted from here
  bool clock_known_ = false;
  std::int64_t gap_ps_ = 0;       // before the call that is under way, without an operation yet
  std::int64_t call_gap_ps_ = 0;  // of it: right before this call
  std::int64_t waiting_ps_ = 0;   // shorter than an operation
  std::int64_t total_ps_ = 0;
  // the call that is under way
  std::optional<Op> send_half_, recv_half_;
  std::vector<std::int64_t> done_, asked_;
  Op done_op_;  // fields of a wait
  std::vector<std::uint32_t> free_later_;
  std::uint32_t made_ = kUndefined32;
  bool call_recorded_ = false;  // a record says what a collective or a maker of communicators did
  // requests
  using Requests = std::unordered_map<std::uint64_t, Request>;
  Requests requests_;                                            // the oldest of each number
  std::vector<Requests::node_type> spare_;                       // of those that ended, for the next ones
  std::unordered_map<std::uint64_t, std::deque<Request>> same_;  // those after it: MPI uses handles again
  std::uint64_t outstanding_ = 0, ordinal_ = 0;
  RequestSlots slots_;
  std::size_t next_far_ = 0, next_unfinished_ = 0;
  // communicators
  std::unordered_map<std::uint32_t, Here> here_;
  std::pair<std::uint32_t, Here*> last_here_{kUndefined32, nullptr};
  VectorSizes::Cursor vector_cursor_;
  // queue
  std::deque<Queued> queue_;
  std::uint64_t pushed_ = 0, drained_ = 0;
  std::size_t queued_values_ = 0;
  TraceTotals totals_;
  Ahead found_;
};

}  // namespace weft::traces::otf2
