// A trace whose receives and probes from any source, or of any tag, ask for what they got in the recording, where the
// trace says what that was (docs/trace-format.md, lists). All else is as in the trace.
//
// Memory: nothing of its own. O(1) an operation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "traces/trace.hpp"

namespace weft::traces {

// Where source, tag and bytes of what `op` took begin in its list of `size` values; none: the list does not say.
[[nodiscard]] std::optional<std::size_t> match_place(const Op& op, std::size_t size);

// What a receive or probe asks for, and, where its list says what it got, that in the place of wildcards.
struct Envelope {
  std::int32_t source = kAnySource, tag = kAnyTag;
};
[[nodiscard]] Envelope asked_or_got(const Op& op, std::span<const std::int64_t> list);
// Its list says that it got what it did not ask for: one of the two is wrong.
[[nodiscard]] bool contradicts_itself(const Op& op, std::span<const std::int64_t> list);

class RecordedMatches final : public TraceReader {
 public:
  // `trace` outlives it, and nobody else reads it meanwhile.
  explicit RecordedMatches(TraceReader& trace) : trace_(trace) {}

  // How many operations came out changed so far.
  [[nodiscard]] std::uint64_t changed() const { return changed_; }

  [[nodiscard]] const TraceHeader& header() const override { return trace_.header(); }
  [[nodiscard]] const TraceTotals& totals() const override { return trace_.totals(); }
  [[nodiscard]] const std::vector<Communicator>& communicators() const override {
    return trace_.communicators();
  }
  [[nodiscard]] const std::vector<std::string>& regions() const override { return trace_.regions(); }
  [[nodiscard]] std::uint64_t ops_of(RankId rank) const override { return trace_.ops_of(rank); }
  [[nodiscard]] Result<bool> next_block(RankId rank, OpBlock& out) override;
  [[nodiscard]] bool well_formed() const override { return trace_.well_formed(); }
  void rewind() override {
    changed_ = 0;
    trace_.rewind();
  }
  [[nodiscard]] std::string position(RankId rank, std::uint64_t index) const override {
    return trace_.position(rank, index);
  }

 private:
  TraceReader& trace_;
  std::uint64_t changed_ = 0;
};

}  // namespace weft::traces
