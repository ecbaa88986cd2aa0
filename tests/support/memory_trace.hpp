// A trace in memory, for tests: written by hand operation by operation, or copied from any reader with its
// operations changed on the way. Replays of it cost no parsing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "traces/trace.hpp"

namespace weft::testing {

class MemoryTrace final : public traces::TraceReader {
 public:
  explicit MemoryTrace(std::uint32_t ranks);

  // Copies a whole trace; `change` may rewrite every operation (not add or drop).
  [[nodiscard]] static Result<MemoryTrace> copy(traces::TraceReader& source,
                                                const std::function<void(traces::Op&)>& change = {});

  CommId add_comm(const std::string& name, std::vector<std::int32_t> members);
  RegionId add_region(const std::string& name);
  // Appends to rank's program; `list` becomes the operation's list if not empty.
  void add(std::uint32_t rank, traces::Op op, const std::vector<std::int64_t>& list = {});

  // Shorthands for hand-written programs.
  void compute(std::uint32_t rank, Duration d);
  void flops(std::uint32_t rank, double f);
  void p2p(std::uint32_t rank, traces::OpKind kind, std::int32_t peer, std::int32_t tag, std::int64_t bytes,
           CommId comm = CommId(0), std::uint32_t request = traces::kNoRequest);
  void wait(std::uint32_t rank, std::uint32_t request);
  // Begins or ends one.
  void region(std::uint32_t rank, traces::OpKind kind, RegionId region);
  void collective(std::uint32_t rank, traces::OpKind kind, std::int32_t root, std::int64_t bytes,
                  CommId comm);

  [[nodiscard]] const traces::TraceHeader& header() const override { return header_; }
  [[nodiscard]] const traces::TraceTotals& totals() const override { return totals_; }
  [[nodiscard]] const std::vector<traces::Communicator>& communicators() const override { return comms_; }
  [[nodiscard]] const std::vector<std::string>& regions() const override { return regions_; }
  [[nodiscard]] std::uint64_t ops_of(RankId rank) const override { return counts_[rank.index()]; }
  [[nodiscard]] Result<bool> next_block(RankId rank, traces::OpBlock& out) override;
  void rewind() override;
  [[nodiscard]] std::string position(RankId rank, std::uint64_t index) const override;

 private:
  traces::TraceHeader header_;
  traces::TraceTotals totals_;
  std::vector<traces::Communicator> comms_;
  std::vector<std::string> regions_;
  std::vector<std::vector<traces::OpBlock>> blocks_;  // by rank
  std::vector<std::uint64_t> counts_;                 // by rank
  std::vector<std::size_t> next_;                     // by rank
};

}  // namespace weft::testing
