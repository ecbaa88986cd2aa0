// Helpers of the trace tests: temporary files, whole-trace reading, random well-formed operations.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/rng.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/files.hpp"
#include "tests/support/seed.hpp"
#include "traces/kernel.hpp"
#include "traces/op_rules.hpp"
#include "traces/tasks.hpp"
#include "traces/trace.hpp"
#include "traces/weft/writer.hpp"

namespace weft::traces::testing {

namespace fs = std::filesystem;

using support::slurp;
using support::TempDir;

// One operation with its list made explicit, so that two traces compare whatever their block limits are.
struct PlainOp {
  Op op;
  bool has_list = false;
  std::vector<std::int64_t> list;
  friend bool operator==(const PlainOp& a, const PlainOp& b) {
    Op x = a.op;
    Op y = b.op;
    x.extra = y.extra = kNoList;
    return x == y && a.has_list == b.has_list && a.list == b.list;
  }
};
inline void PrintTo(const PlainOp& p, std::ostream* os) {
  *os << op_name(p.op.kind) << "(" << int(p.op.kind) << ") flags " << int(p.op.flags) << " comm "
      << p.op.comm.index() << " peer " << p.op.peer << " tag " << p.op.tag << " amount " << p.op.amount
      << " request " << p.op.request << " list[" << (p.has_list ? std::to_string(p.list.size()) : "none")
      << "]";
}

inline std::vector<PlainOp> plain(const OpBlock& b) {
  std::vector<PlainOp> out;
  for (const Op& op : b.ops) {
    const auto l = b.list(op);
    out.push_back({op, op.extra != kNoList, {l.begin(), l.end()}});
  }
  return out;
}

inline Result<std::vector<PlainOp>> read_rank(TraceReader& t, std::uint32_t rank) {
  std::vector<PlainOp> out;
  OpBlock b;
  while (true) {
    WEFT_ASSIGN(const bool more, t.next_block(RankId(rank), b));
    if (!more) return out;
    EXPECT_EQ(b.first_op, out.size());
    EXPECT_EQ(b.rank, RankId(rank));
    for (auto& p : plain(b)) out.push_back(std::move(p));
  }
}

// Folders of the recorded HPL runs: trace.tar.zst, HPL.dat, counts.txt. Four that every clone has, and the one of 256
// ranks where it is.
inline std::vector<std::string> hpl_traces() {
  std::vector<std::string> out;
  for (const char* name : {"2x2_500_64", "4x4_2000_64", "4x4_2000_64_b4", "8x8_4000_64"})
    out.push_back(support::oracle_dir() + "/" + name);
  if (const std::string large = support::shared_dir() + "/traces/hpl_ti_flops/16x16_4000_64";
      fs::exists(large))
    out.push_back(large);
  return out;
}

using support::seed_or;

// A random operation that op_rules.hpp accepts, every field exercised.
inline Op random_op(Rng& rng, OpKind kind, const OpLimits& limits, OpBlock& block) {
  Op op;
  op.kind = kind;
  const KindRules rules = rules_of(kind);
  op.comm = CommId(static_cast<std::uint32_t>(rng.below(limits.communicators->size())));
  const auto rank = [&] { return static_cast<std::int32_t>(rng.below(limits.ranks)); };
  op.peer = rules.least_peer < 0 && rng.below(8) == 0 ? kProcNull : rank();
  if (rules.least_peer < 0 && !is_send(kind) && !is_send_init(kind) && rng.below(8) == 0)
    op.peer = kAnySource;
  op.tag = static_cast<std::int32_t>(rng.below(1u << (1 + rng.below(30))));
  if (rules.least_tag < 0 && rng.below(8) == 0) op.tag = kAnyTag;
  op.request = rules.needs_request || rng.below(3) == 0
                   ? static_cast<std::uint32_t>(rng.below(rng.below(4) == 0 ? kMaxRequestSlots : 4))
                   : kNoRequest;
  switch (rules.amount) {
    case AmountUnit::kFlops:
      op.amount = std::bit_cast<std::int64_t>(rng.below(2) == 0 ? static_cast<double>(rng.below(1ull << 53))
                                                                : rng.unit() * 1e12);
      break;
    case AmountUnit::kComm:
      op.amount = static_cast<std::int64_t>(rng.below(limits.communicators->size() + 1)) - 1;
      break;
    case AmountUnit::kRegion:
      op.amount = static_cast<std::int64_t>(rng.below(limits.regions));
      break;
    case AmountUnit::kNone:
      op.amount = static_cast<std::int64_t>(rng.next());
      break;
    default:
      op.amount = static_cast<std::int64_t>(rng.next() >> (1 + rng.below(62)));
      break;
  }
  std::vector<std::int64_t> list;
  const auto big = [&] { return static_cast<std::int64_t>(rng.next() >> (1 + rng.below(62))); };
  const auto slot = [&] { return static_cast<std::int64_t>(rng.below(kMaxRequestSlots)); };
  const std::size_t n = (*limits.communicators)[op.comm.index()].members.size();
  bool with = list_required(kind, 0);
  switch (blocking_form(kind)) {
    case OpKind::compute_kernel:
    case OpKind::launch:
      list = {static_cast<std::int64_t>(rng.below(kKernelCount)), big(), big(), big()};
      break;
    case OpKind::recv:
    case OpKind::probe:
    case OpKind::mprobe:
      with = rng.below(2) == 0;
      list = {rank(), static_cast<std::int64_t>(rng.below(100000)), big()};
      break;
    case OpKind::iprobe:
    case OpKind::improbe:
      with = rng.below(2) == 0;
      if (rng.below(2) == 0) {
        op.flags = kHit;
        with = true;
        list = {0, static_cast<std::int64_t>(rng.below(50)), rank(), 5, big()};
      } else {
        list = {1 + static_cast<std::int64_t>(rng.below(1000))};
      }
      break;
    case OpKind::startall:
    case OpKind::waitall:
    case OpKind::testall:
      for (std::uint64_t i = rng.below(6); i > 0; --i) list.push_back(slot());
      break;
    case OpKind::waitany:
    case OpKind::waitsome:
    case OpKind::testany:
    case OpKind::testsome: {
      const auto asked = static_cast<std::int64_t>(rng.below(5));
      list.push_back(asked);
      for (std::int64_t i = 0; i < asked; ++i) list.push_back(slot());
      if (asked > 0) list.push_back(list[1]);
      break;
    }
    case OpKind::gatherv:
    case OpKind::scatterv:
      with = rng.below(2) == 0;
      [[fallthrough]];
    case OpKind::allgatherv:
    case OpKind::reduce_scatter:
      for (std::size_t i = 0; i < n; ++i) list.push_back(big());
      break;
    case OpKind::alltoallv:
    case OpKind::alltoallw:
      list.push_back(static_cast<std::int64_t>(n));
      for (std::size_t i = 0; i < 2 * n; ++i) list.push_back(big());
      break;
    case OpKind::neighbor_allgather:
    case OpKind::neighbor_alltoall:
      list = {2, rank(), rank(), 1, rank()};
      break;
    case OpKind::neighbor_allgatherv:
    case OpKind::neighbor_alltoallv:
    case OpKind::neighbor_alltoallw:
      list = {1, rank(), 2, rank(), rank(), big(), big(), big()};
      break;
    case OpKind::task_compute:
    case OpKind::task_send:
    case OpKind::task_recv:
      list.push_back(static_cast<std::int64_t>(rng.below(kMaxCpus)));
      for (std::uint64_t i = rng.below(4); i > 0; --i)
        list.push_back((1 + static_cast<std::int64_t>(rng.below(kMaxTasks))) * (rng.below(3) == 0 ? -1 : 1));
      break;
    case OpKind::exchange_series:
      list = {
          big() >> 30, 1 + static_cast<std::int64_t>(rng.below(9)), 1, 1, 4, 100, -3, 8, 0, 1, 0, 1, 0, 0};
      break;
    default:
      break;
  }
  if (kind == OpKind::recv && rng.below(2) == 0) op.flags = kPairedRecv;
  if (with) op.extra = block.add_list(list);
  return op;
}

}  // namespace weft::traces::testing
