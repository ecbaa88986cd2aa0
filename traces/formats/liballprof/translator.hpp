// One rank's lines to operations of the trace: the second reading of its file.
//
// Rules that are the recorder's, too (docs/recording.md): computation is the time between calls, with that of local calls; tests
// that say no leave nothing; requests that nothing started, and communicators that are not known, leave their calls out.
// Memory: the requests that are outstanding, the addresses that requests were posted to, and communicators.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "traces/formats/liballprof/communicators.hpp"
#include "traces/formats/liballprof/follow.hpp"
#include "traces/op.hpp"

namespace weft::traces::allprof {

class Translator {
 public:
  // Values of the lists of a block before it should end, whatever its operations.
  static constexpr std::size_t kBlockListValues = 1u << 17;

  Translator(std::uint32_t rank, const Communicators& comms, Ahead ahead, Losses& losses)
      : rank_(rank), comms_(comms), ahead_(std::move(ahead)), losses_(losses) {
    for (const Ahead::Done& d : ahead_.done) successes_.push_back(d.call);
    std::ranges::sort(successes_);
  }

  // Appends what the line means to `out`. `parser` says where it stands.
  [[nodiscard]] Result<void> add(const Line& line, const LineParser& parser, OpBlock& out);
  // At the end of the rank.
  void finish(OpBlock& out);

 private:
  // time
  void enter();
  void push_compute(std::int64_t ps, OpBlock& out);
  void push(const Op& op, OpBlock& out);
  void idle_poll();

  // arguments: false with error_ set if they cannot be
  [[nodiscard]] bool fail(std::size_t arg, std::string what, std::string expected);
  [[nodiscard]] bool refuse(std::string what, std::string expected);
  [[nodiscard]] bool bytes_of(std::int64_t count, std::int64_t size, std::size_t arg, std::int64_t& bytes);
  [[nodiscard]] bool peer_of(std::size_t arg, bool receive, Op& op);
  [[nodiscard]] bool tag_of(std::size_t arg, bool receive, Op& op);
  [[nodiscard]] bool root_of(std::size_t arg, Op& op);
  [[nodiscard]] bool list_of(std::size_t counts, std::size_t type);
  // Whether the communicator of the line is one of the trace; counts the calls on others.
  [[nodiscard]] bool heard();
  [[nodiscard]] std::int64_t value(std::size_t arg) const { return line_->arg[arg].value; }

  [[nodiscard]] bool dispatch(OpBlock& out);
  bool send(OpKind kind, OpBlock& out);
  bool receive(OpKind kind, OpBlock& out);
  bool sendrecv(OpBlock& out);
  bool probe(OpBlock& out);
  bool receive_probed(OpBlock& out);
  bool post(Op op, bool has_operation, OpBlock& out);
  bool start(OpBlock& out);
  bool give_up(OpBlock& out);
  void wait(OpBlock& out);
  void unsure(OpBlock& out);
  void take_copies(const Naming& naming, std::int64_t found);
  [[nodiscard]] bool is_foreign(const Naming& array) const;
  void wait_for_the_rest(OpBlock& out);
  // Takes a request out of those that are under way, into ended_.
  void end(std::uint64_t address);
  // What completes ended_; asked_: those that were asked for by calls that want any or some.
  void push_completion(OpKind kind, OpBlock& out);
  bool collective(OpBlock& out);
  bool push_collective(OpKind kind, Op op, bool list, OpBlock& out);
  void make_comm(OpBlock& out);
  void free_comm(OpBlock& out);
  [[nodiscard]] bool is_cancelled(std::uint64_t ordinal) const;
  [[nodiscard]] std::uint64_t done_by(std::uint64_t ordinal) const;

  const std::uint32_t rank_;
  const Communicators& comms_;
  const Ahead ahead_;
  std::vector<std::uint64_t>
      successes_;  // calls that completed something, of those that do not say so; sorted
  Losses& losses_;
  CommTable table_;
  Requests requests_;
  // Requests under way that no call names where they were posted: their handle was copied. The oldest first.
  std::deque<Request> copied_;
  std::set<std::uint64_t> posted_;  // addresses
  std::vector<Request> ended_;
  std::vector<std::int64_t> asked_;
  std::unordered_map<std::uint64_t, Op> probed_;  // by the address of a message's handle: what looked for it

  const Line* line_ = nullptr;  // of the line that is read
  const LineParser* parser_ = nullptr;
  Followed followed_;
  CommHere here_;
  const std::vector<std::int32_t>* members_ = nullptr;
  std::uint32_t width_ = 8;
  Wildcards wildcards_{-1, -2};
  std::optional<Error> error_;
  std::vector<std::int64_t> list_;

  std::uint64_t ordinal_ = 0, calls_ = 0;
  std::optional<std::int64_t> last_ns_;
  std::int64_t gap_ps_ = 0, carried_ps_ = 0, waiting_ps_ = 0;
  bool finalized_ = false;
};

}  // namespace weft::traces::allprof
