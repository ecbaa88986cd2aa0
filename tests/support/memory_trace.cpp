#include "tests/support/memory_trace.hpp"

#include <bit>
#include <numeric>

namespace weft::testing {

using traces::Op;
using traces::OpBlock;
using traces::OpKind;

MemoryTrace::MemoryTrace(std::uint32_t ranks) : blocks_(ranks), counts_(ranks), next_(ranks) {
  header_.ranks = ranks;
  header_.recorder = "by hand";
  traces::Communicator world{"world", std::vector<std::int32_t>(ranks)};
  std::iota(world.members.begin(), world.members.end(), 0);
  comms_.push_back(std::move(world));
}

Result<MemoryTrace> MemoryTrace::copy(traces::TraceReader& source, const std::function<void(Op&)>& change) {
  MemoryTrace out(source.header().ranks);
  source.rewind();
  for (std::uint32_t r = 0; r < source.header().ranks; ++r) {
    while (true) {
      OpBlock block;
      WEFT_ASSIGN(const bool more, source.next_block(RankId(r), block));
      if (!more) break;
      if (change) {
        for (Op& op : block.ops) change(op);
      }
      out.counts_[r] += block.ops.size();
      out.blocks_[r].push_back(std::move(block));
    }
  }
  source.rewind();
  out.header_ = source.header();
  out.totals_ = source.totals();
  out.comms_ = source.communicators();
  out.regions_ = source.regions();
  return out;
}

CommId MemoryTrace::add_comm(const std::string& name, std::vector<std::int32_t> members) {
  comms_.push_back({name, std::move(members)});
  return CommId(static_cast<std::uint32_t>(comms_.size() - 1));
}

RegionId MemoryTrace::add_region(const std::string& name) {
  regions_.push_back(name);
  return RegionId(static_cast<std::uint32_t>(regions_.size() - 1));
}

void MemoryTrace::add(std::uint32_t rank, Op op, const std::vector<std::int64_t>& list) {
  auto& blocks = blocks_[rank];
  if (blocks.empty() || blocks.back().ops.size() == traces::kMaxBlockOps) {
    OpBlock block;
    block.rank = RankId(rank);
    block.first_op = counts_[rank];
    blocks.push_back(std::move(block));
  }
  if (!list.empty()) op.extra = blocks.back().add_list(list);
  blocks.back().ops.push_back(op);
  ++counts_[rank];
  ++totals_.ops;
  if (traces::is_send(op.kind)) {
    ++totals_.messages;
    totals_.bytes += static_cast<std::uint64_t>(op.amount);
  }
}

void MemoryTrace::compute(std::uint32_t rank, Duration d) {
  Op op;
  op.kind = OpKind::compute_time;
  op.amount = d.count();
  add(rank, op);
}

void MemoryTrace::flops(std::uint32_t rank, double f) {
  Op op;
  op.kind = OpKind::compute_flops;
  op.amount = std::bit_cast<std::int64_t>(f);
  add(rank, op);
}

void MemoryTrace::p2p(std::uint32_t rank, OpKind kind, std::int32_t peer, std::int32_t tag,
                      std::int64_t bytes, CommId comm, std::uint32_t request) {
  Op op;
  op.kind = kind;
  op.comm = comm;
  op.peer = peer;
  op.tag = tag;
  op.amount = bytes;
  op.request = request;
  add(rank, op);
}

void MemoryTrace::region(std::uint32_t rank, OpKind kind, RegionId region) {
  Op op;
  op.kind = kind;
  op.amount = static_cast<std::int64_t>(region.index());
  add(rank, op);
}

void MemoryTrace::wait(std::uint32_t rank, std::uint32_t request) {
  Op op;
  op.kind = OpKind::wait;
  op.request = request;
  add(rank, op);
}

void MemoryTrace::collective(std::uint32_t rank, OpKind kind, std::int32_t root, std::int64_t bytes,
                             CommId comm) {
  Op op;
  op.kind = kind;
  op.comm = comm;
  op.peer = root;
  op.amount = bytes;
  add(rank, op);
}

Result<bool> MemoryTrace::next_block(RankId rank, OpBlock& out) {
  const auto r = rank.index();
  if (next_[r] == blocks_[r].size()) return false;
  out = blocks_[r][next_[r]++];
  return true;
}

void MemoryTrace::rewind() { std::fill(next_.begin(), next_.end(), 0); }

std::string MemoryTrace::position(RankId rank, std::uint64_t index) const {
  return "by hand: rank " + std::to_string(rank.index()) + ", operation " + std::to_string(index);
}

}  // namespace weft::testing
