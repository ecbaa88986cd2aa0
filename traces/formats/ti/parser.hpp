// TI text to operations, line by line: what each action means, and which request a wait completes.
//
//   1 isend 0 6 50 1      rank 1: isend to rank 0, tag 6, 50 elements of datatype 1 (int, 4 bytes)
//   |   |   fields of the action
//   |   action: actions.hpp has one row for each, with a line of it
//   rank that does it; in a file of one rank lines of others are passed over, as in SimGrid
//
// Blanks separate fields, "#" begins a line that says nothing. A rank's lines are in program order; those of several
// ranks may mix. Without a datatype a count is in the rank's default: bytes, or doubles after `init` with a field.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/formats/rank_text.hpp"
#include "traces/formats/request_table.hpp"
#include "traces/formats/ti/actions.hpp"
#include "traces/formats/ti/fields.hpp"
#include "traces/memory_trace.hpp"

namespace weft::traces::ti {

// One rank's state while its lines come in.
struct RankState {
  OpBlock block;
  std::vector<std::uint32_t> lines;
  RequestTable requests;
  int default_bytes = 1;  // BYTE until an init says otherwise
  std::uint32_t source = 0;
  std::uint32_t any_requests = 0;  // outstanding receives with a wildcard
};

// Lines, in any interleaving of ranks, to operations. feed() takes text in pieces of any size.
class Parser {
 public:
  Parser(const RankText& input, std::uint32_t ranks, MemoryTrace& out)
      : input_(input), out_(out), block_ops_(block_ops_for(ranks)), states_(ranks) {
    context_.ranks = ranks;
    for (const auto& p : input.parts()) (void)out.add_source(p.name);
  }

  Result<void> feed(std::size_t part, std::string_view text, bool last);
  void finish();
  // Lines with one, whether or not it became an operation.
  [[nodiscard]] std::uint64_t actions() const { return actions_; }

 private:
  Result<void> lines(std::string_view text);
  bool line(const char* begin, const char* end);
  bool rank_of(TiFields& l, bool& other);
  void forget_rank() {
    rank_bytes_ = 1;
    rank_mask_ = 0;
  }

  // How the fields of an action are read, to become an operation of that kind: one for each column of actions.hpp. Each
  // has read the line to its end when it returns true; false: the error is in the context.
  using Reader = bool(RankState& s, TiFields& l, OpKind kind);
  struct Row {
    Reader Parser::*read;
    OpKind kind;
  };
  static const Row kRows[];  // by Action

  // ---- actions.cpp
  Reader init, finalize, communicator, location, compute, sleep, message, send_recv, wait, waitall;
  bool message_count(TiFields& l, bool receive, std::int64_t& n);
  bool open_request(RankState& s, TiFields& l, Op& op);
  void push_wait(RankState& s, std::int64_t src, std::int64_t dst, std::int64_t tag);
  void push_waitall(RankState& s);
  void wait_for_the_rest(RankState& s);

  // ---- collective_actions.cpp
  Reader barrier, bcast, reduction, exchange, alltoallv, allgatherv, gatherv, reduce_scatter;
  // Where the first field of a collective stands; nothing of it is in list_ yet.
  const char* open_collective(TiFields& l) {
    list_.clear();
    l.skip_blanks();
    return l.here();
  }
  bool counts(TiFields& l, const char* field);
  bool pass_over_zeros(TiFields& l, double work);
  void uneven(TiFields& l, const char* at, std::int64_t sent, std::int64_t received, std::int64_t taken);
  bool scale(TiFields& l, const char* at, std::size_t first, int type_bytes, std::int64_t& sum);
  bool close_collective(RankState& s, TiFields& l, const char* at, Op op, double work = 0);

  [[gnu::always_inline]] void push(RankState& s, const Op& op) {
    s.block.ops.push_back(op);
    s.lines.push_back(context_.line);
    if (s.block.ops.size() >= block_ops_) flush(s);
  }
  void flush(RankState& s) {
    if (s.block.ops.empty()) return;
    out_.append(s.block, s.source, s.lines);
    s.block.clear();
    s.lines.clear();
  }
  // The rank has no more lines.
  void end_rank(RankState& s) {
    wait_for_the_rest(s);
    flush(s);
  }
  void push_flops(RankState& s, double f) {
    if (f > 0) push(s, Op{.kind = OpKind::compute_flops, .amount = std::bit_cast<std::int64_t>(f)});
  }

  const RankText& input_;
  MemoryTrace& out_;
  TiFields::Context context_;
  std::size_t block_ops_;
  std::vector<std::unique_ptr<RankState>> states_;
  std::size_t part_ = ~std::size_t{0};
  std::uint32_t rank_ = 0;
  // How a line of rank_ begins: its digits and the blank after them. Without a mask none does.
  std::uint64_t rank_bytes_ = 1, rank_mask_ = 0;
  std::ptrdiff_t rank_length_ = 0;  // digits
  std::string carry_;
  std::vector<std::int64_t> list_;
  std::uint64_t actions_ = 0;
  std::uint64_t completed_waits_ = 0;
  std::uint64_t tests_ = 0;
  std::uint64_t left_to_the_end_ = 0;  // requests that no wait names
  std::uint64_t unsure_sources_ = 0;   // irecvs from any source, or from no process
  std::uint64_t lost_sizes_ = 0;       // reducescatter lines with more zeros than ranks
  std::uint64_t comm_actions_ = 0;
  std::uint64_t uneven_ = 0;  // collectives whose two sizes differ
  std::string first_uneven_;
  std::uint64_t others_ = 0;  // lines of other ranks in files of one rank
  std::string first_other_;
  std::optional<Error> only_others_;  // what a file with such lines only is refused with
};

}  // namespace weft::traces::ti
