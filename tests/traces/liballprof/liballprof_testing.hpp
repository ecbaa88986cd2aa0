// liballprof text made by hand, and what is read of it in a form that a test can spell out.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/traces/trace_testing.hpp"
#include "traces/request_book.hpp"

namespace weft::traces::testing {

// The lines of one rank, a microsecond each, ten between them. `world` is the handle of the world: of Open MPI an address.
class AllprofRank {
 public:
  AllprofRank(int rank, int ranks, std::string world = "5641280")
      : rank_(rank), ranks_(ranks), world_(std::move(world)) {}

  // MPI_<name>:START:<arguments>:END.
  AllprofRank& call(const std::string& name, const std::string& arguments) {
    text_ += fmt::format("MPI_{}:{}:{}{}{}\n", name, now_, arguments, arguments.empty() ? "" : ":", now_ + 1);
    now_ += 11;
    return *this;
  }
  AllprofRank& init() {
    text_ += fmt::format("MPI_Init:-:1:2:{}\n", now_);
    now_ += 10;
    return *this;
  }
  AllprofRank& finalize() {
    text_ += fmt::format("# Finalize clockdiff: 0.000000\nMPI_Finalize:{}:-\n", now_);
    return *this;
  }
  AllprofRank& pause(int us) {
    now_ += us;
    return *this;
  }
  // HANDLE,RANK,SIZE.
  [[nodiscard]] std::string world() const { return fmt::format("{},{},{}", world_, rank_, ranks_); }
  // Of bytes.
  AllprofRank& send(const std::string& name, int bytes, int dest, int tag, const std::string& comm,
                    const std::string& request = {}) {
    return call(name, fmt::format("4096:{}:13,1,1:{}:{}:{}{}{}", bytes, dest, tag, comm,
                                  request.empty() ? "" : ":", request));
  }
  AllprofRank& recv(const std::string& name, int bytes, int source, int tag, const std::string& comm,
                    const std::string& request = "0") {
    return call(name, fmt::format("4096:{}:13,1,1:{}:{}:{}:{}", bytes, source, tag, comm, request));
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("# htor's PMPI Tracer 0.9 Output File\n# time: now\n# hostname: n{}.(none)\n\n{}",
                       rank_, text_);
  }

 private:
  int rank_, ranks_;
  std::string world_;
  std::string text_;
  int now_ = 1000;
};

// A folder with a file for each.
inline std::string write_allprof(const TempDir& dir, const std::string& name,
                                 const std::vector<AllprofRank>& ranks) {
  for (std::size_t r = 0; r < ranks.size(); ++r)
    dir.write(fmt::format("{}/pmpi-trace-rank-{}.txt", name, r), ranks[r].text());
  return dir.path(name);
}

// What a rank does: "send 1 8 5 world", one a line; requests as #SLOT, lists in brackets. Without computation, init and finalize.
inline std::string ops_of(TraceReader& t, std::uint32_t rank, bool compute = false) {
  t.rewind();
  std::string out;
  const auto ops = read_rank(t, rank);
  EXPECT_TRUE(ops) << ops.error().message();
  if (!ops) return out;
  for (const PlainOp& p : *ops) {
    const Op& op = p.op;
    if (op.kind == OpKind::init || op.kind == OpKind::finalize) continue;
    if (op.kind == OpKind::compute_time) {
      if (compute) out += fmt::format("compute {}\n", op.amount);
      continue;
    }
    out += op_name(op.kind);
    if (!is_completion(op.kind) && op.kind != OpKind::startall)
      out += fmt::format(" {} {} {} {}", op.peer, op.amount, op.tag, t.communicators()[op.comm.index()].name);
    if (op.request != kNoRequest) out += fmt::format(" #{}", op.request);
    if (p.has_list) out += fmt::format(" [{}]", fmt::join(p.list, " "));
    out += '\n';
  }
  return out;
}

}  // namespace weft::traces::testing
