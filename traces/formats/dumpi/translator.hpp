// One rank's records to operations, in the rank's own terms: Op::comm is a LocalComm, Op::peer a rank of it. What needs
// the other ranks (whose communicator is whose, ranks of the world) is for the reader.
//
// A Translator runs twice over a stream. The first time it counts, and notes what it cannot know where it happens:
// which message a receive with a wildcard got, which receives were cancelled, which polls belong to which hit (Ahead).
// The second time it is given that, and makes the same operations. Its memory: requests that are outstanding,
// communicators, datatypes.
//
// Rules that are the recorder's, too (docs/recording.md): computation is the time between calls, with that of local
// calls; failed polls that are close together are one place; tests that say no leave nothing; requests that nothing
// started, and communicators that nothing made, leave their calls out.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/formats/dumpi/comm_log.hpp"
#include "traces/formats/dumpi/losses.hpp"
#include "traces/formats/dumpi/record.hpp"
#include "traces/formats/dumpi/requests.hpp"
#include "traces/formats/dumpi/types.hpp"
#include "traces/op.hpp"

namespace weft::traces::dumpi {

// What only the whole stream of a rank tells.
struct Ahead {
  struct Matched {  // what the receive that was posted with this ordinal got
    std::uint64_t ordinal;
    std::int32_t source;  // -1: MPI_PROC_NULL
    std::int32_t tag;
    std::int32_t bytes;
  };
  std::vector<Matched> matched;          // by ordinal
  std::vector<std::uint64_t> cancelled;  // ordinals of receives and of starts that never were
  // By poll place: operations from a miss to its hit (0 = none), of a hit the length of its body.
  std::deque<std::uint32_t> polls;
};

// Ranks of all groups that ranges name: twelve bytes of the file can stand for any number.
[[nodiscard]] constexpr std::uint64_t most_range_ranks(std::uint64_t file_bytes) {
  return (std::uint64_t{1} << 18) + file_bytes / 4;
}

class Translator {
 public:
  // Receives with wildcards that a Startall gives a start each, which says what they got. Of more none does.
  static constexpr std::size_t kMostStarts = 32;
  // Operations that one record makes at most, but for its lists and for a Startall.
  static constexpr std::size_t kMostOps = 2 * 16 + 4;
  [[nodiscard]] static constexpr std::size_t most_ops(const Record& r) {
    return kMostOps + (r.call == kStartall ? 2 * kMostStarts : 0);
  }

  // `ahead`: of a first pass, or null. `log`, `losses`: null in a second pass.
  Translator(const RankFile& file, const Ahead* ahead, CommLog* log, Losses* losses);

  // Appends what the record means to `out`. `reader` says where it stands.
  [[nodiscard]] Result<void> add(const Record& r, const RecordReader& reader, OpBlock& out);
  // At the end of the stream.
  void finish(OpBlock& out);

  // Of a first pass, once it is finished: what a second one needs. Receives that were cancelled are found here and left
  // in: if there are new ones, a first pass has to be run again.
  [[nodiscard]] Ahead& found() { return found_; }

 private:
  struct Clock {
    bool known = false;
    std::int64_t base = 0, last = 0;  // nanoseconds
    std::int64_t unwrap(std::int64_t t);
  };
  struct Place {  // failed polls that are one
    std::int64_t before_ps;
    Op op;
  };
  enum class Kin : std::uint8_t { normal, inter, unknown };  // of a communicator

  // time
  void enter(const Record& r);
  void idle_poll();
  void miss(const Op& op, OpBlock& out);
  void flush_polls(OpBlock& out);
  void push_compute(std::int64_t ps, OpBlock& out);
  void push(const Op& op, OpBlock& out);

  // fields
  [[nodiscard]] bool fail(std::string what, std::string got = {}, std::string expected = {});
  [[nodiscard]] bool size_of(std::int64_t count, std::int64_t type, std::int64_t& bytes);
  // Appends the bytes of each count to list_.
  [[nodiscard]] bool sizes_of(std::span<const std::int32_t> counts, std::int64_t type);
  [[nodiscard]] bool tag_of(std::int64_t tag, bool receive, Op& op);
  [[nodiscard]] bool peer_of(std::int64_t peer, bool receive, const Status* status, Op& op);
  [[nodiscard]] bool comm_of(std::int64_t handle, LocalComm& comm);
  [[nodiscard]] const Status* status_at(std::size_t i) const;
  [[nodiscard]] bool tells(const Status* s, const Op& posted) const;
  void lose(Left why) { lose(why, r_->call); }
  void lose(Left why, std::uint16_t call);
  // Whether the calls on it are operations; counts those that are not.
  [[nodiscard]] bool heard(LocalComm comm);

  // calls: false with error_ set if the record cannot be
  bool dispatch(OpBlock& out);
  bool send(OpKind kind, OpBlock& out);
  bool receive(OpKind kind, OpBlock& out);
  bool sendrecv(bool replace, OpBlock& out);
  bool probe(OpBlock& out);
  bool iprobe(OpBlock& out);
  bool post(Op op, std::int64_t id, bool persistent, bool has_operation, OpBlock& out);
  bool start(std::span<const std::int32_t> ids, bool several, OpBlock& out);
  bool give_up(OpBlock& out);
  bool complete(OpKind kind, std::span<const std::int32_t> ids, OpBlock& out);
  void learn(const Request& r, const Status* s);
  bool collective(OpBlock& out);
  bool push_collective(OpKind kind, std::int64_t comm, std::int64_t root, std::int64_t amount, bool list,
                       OpBlock& out);
  bool make_comm(OpBlock& out);
  bool free_comm(OpBlock& out);
  bool define();
  [[nodiscard]] std::uint32_t group_at(std::int64_t handle);
  void bind_group(std::int64_t handle, GroupMade g);
  LocalComm bind_comm(std::int64_t handle, Kin kin);
  [[nodiscard]] bool is_cancelled(std::uint64_t ordinal) const;
  // Of the second pass; ordinals are asked for as they grow.
  [[nodiscard]] const Ahead::Matched* matched(std::uint64_t ordinal);
  void push_start(const Request& r, OpBlock& out);
  void push_startall(OpBlock& out);

  const RankFile& file_;
  const Ahead* ahead_;
  CommLog* log_;
  Losses* losses_;
  Ahead found_;
  TypeSizes types_;
  Requests requests_;
  std::unordered_map<std::int64_t, LocalComm> comms_;       // by handle
  std::vector<Kin> kin_;                                    // by LocalComm
  std::unordered_map<std::int64_t, std::uint32_t> groups_;  // by handle, of log_->groups

  const Record* r_ = nullptr;
  const RecordReader* reader_ = nullptr;
  std::optional<Error> error_;
  Clock clock_;
  std::uint8_t clock_bit_ = 0;   // kMaskWall or kMaskCpu once known
  std::int64_t gap_ns_ = 0;      // before this call
  std::int64_t carried_ps_ = 0;  // of calls without an operation
  std::int64_t waiting_ps_ = 0;  // computation that is too short
  std::int64_t total_ps_ = 0;
  std::vector<Place> places_;
  std::uint64_t ordinal_ = 0;     // requests made
  std::size_t next_matched_ = 0;  // of ahead_
  std::size_t next_poll_ = 0;
  std::uint32_t threads_ = 0;  // that called MPI
  std::uint16_t last_thread_ = 0;
  std::vector<bool> thread_seen_;
  std::uint64_t call_ = 0;  // completion calls
  std::vector<std::optional<Requests::Handle>> asked_;
  std::vector<std::int64_t> list_;
  std::int32_t list32_[1] = {};
};

}  // namespace weft::traces::dumpi
