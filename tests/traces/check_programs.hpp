// Programs for the tests of the trace doctor, written operation by operation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/traces/trace_testing.hpp"
#include "traces/check/check.hpp"

namespace weft::traces::check_programs {

using namespace testing;
using L = std::vector<std::int64_t>;

// A program written rank by rank, stored as .weft and checked from there.
class Program {
 public:
  Program(const TempDir& dir, std::uint32_t ranks) : path_(dir.path("p.weft")), blocks_(ranks) {
    for (std::uint32_t r = 0; r < ranks; ++r) blocks_[r].rank = RankId(r);
  }
  CommId comm(std::vector<std::int32_t> members) {
    comms_.push_back({"split" + std::to_string(comms_.size() + 1), std::move(members)});
    return CommId(static_cast<std::uint32_t>(comms_.size()));
  }
  Program& add(std::uint32_t rank, Op op, std::optional<L> list = std::nullopt) {
    if (list) op.extra = blocks_[rank].add_list(*list);
    blocks_[rank].ops.push_back(op);
    return *this;
  }
  [[nodiscard]] CheckReport check(bool synchronous = false) const {
    TraceHeader h;
    h.ranks = static_cast<std::uint32_t>(blocks_.size());
    auto w = TraceWriter::create(path_, h);
    EXPECT_TRUE(w);
    for (const auto& c : comms_) (void)w->add_communicator(c);
    for (const auto& b : blocks_) {
      OpBlock part;
      part.rank = b.rank;
      for (std::size_t i = 0; i < b.ops.size(); ++i) {
        Op op = b.ops[i];
        if (op.extra != kNoList) op.extra = part.add_list(b.list(op));
        part.ops.push_back(op);
        if (part.ops.size() < kMaxBlockOps && i + 1 < b.ops.size()) continue;
        w->append(part);
        part.first_op += part.ops.size();
        part.clear();
      }
    }
    const auto done = w->finish();
    EXPECT_TRUE(done) << done.error().message();
    auto t = open_trace({path_});
    EXPECT_TRUE(t) << t.error().message();
    CheckOptions o;
    o.synchronous = synchronous;
    return *check_trace(**t, o);
  }
  // The text of all findings, positions left out, one a line: "E rank.op text".
  [[nodiscard]] std::string findings(bool synchronous = false) const {
    std::string out;
    for (const auto& f : check(synchronous).findings) {
      std::string m = f.message;
      // A position is the path up to "operation N".
      for (std::size_t at = 0; (at = m.find(path_)) != std::string::npos;) {
        const std::size_t end = m.find_first_of(":;),", m.find(", operation", at) + 11);
        m.erase(at, end - at);
      }
      out += (f.severity == Severity::kError ? "E " : "W ") + std::to_string(f.rank) + "." +
             std::to_string(f.op) + " " + m + "\n";
    }
    return out;
  }

 private:
  std::string path_;
  std::vector<OpBlock> blocks_;
  std::vector<Communicator> comms_;
};

inline Op send(std::int32_t to, std::int32_t tag, std::int64_t bytes, OpKind kind = OpKind::send) {
  return {.kind = kind, .peer = to, .tag = tag, .amount = bytes};
}
inline Op recv(std::int32_t from, std::int32_t tag, std::int64_t bytes) {
  return send(from, tag, bytes, OpKind::recv);
}
inline Op with_request(Op op, OpKind kind, std::uint32_t slot) {
  op.kind = kind;
  op.request = slot;
  return op;
}
inline Op wait(std::uint32_t slot, std::int32_t peer = kAnySource, std::int32_t tag = kAnyTag,
               std::int64_t bytes = 0) {
  return {.kind = OpKind::wait, .peer = peer, .tag = tag, .amount = bytes, .request = slot};
}
inline Op coll(OpKind kind, CommId comm, std::int32_t root, std::int64_t bytes,
               std::uint32_t slot = kNoRequest) {
  return {.kind = kind, .comm = comm, .peer = root, .amount = bytes, .request = slot};
}
inline Op on(CommId comm, Op op) {
  op.comm = comm;
  return op;
}
inline constexpr CommId kWorld{0};

}  // namespace weft::traces::check_programs
