// A trace whose receives and probes from any source, or of any tag, ask for what they got in the recording, where the
// trace says what that was (docs/trace-format.md, lists), and whose cancels that came too late are gone. All else is as in the
// trace.
//
// A receive with wildcards that was withdrawn takes nothing: it is from no process.
//
// What a receive got stands in its own list, or in the wait or test that completes it and no other. That is looked up ahead, as
// far as BlocksAhead reads beyond the block at hand, and only by ranks that have such receives, or cancels. What a persistent
// receive got is another message at each start, so it is the start that has the list, and asks for it (kNarrowed).
//
// Memory: the blocks ahead, and persistent receives with wildcards. O(1) an operation; where a block has something to look up,
// O(operations and lists of it and of the blocks ahead).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "traces/recorded/blocks_ahead.hpp"
#include "traces/trace.hpp"

namespace weft::traces {

// Where source, tag and bytes of what `op` took begin in its list of `size` values; none: the list does not say. The list of a
// persistent receive is that of its start, which does not say what the receive asks for.
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
  // How many receives came out that take what comes, because nothing says what they got; none if there are none.
  [[nodiscard]] std::optional<std::string> warning() const;

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
    changed_ = open_receives_ = 0;
    ranks_.clear();
    trace_.rewind();
  }
  [[nodiscard]] std::string position(RankId rank, std::uint64_t index) const override {
    return trace_.position(rank, index);
  }

 private:
  // How a request is completed.
  struct Completion {
    bool over = false;            // by an operation that was read
    bool alone = false;           // which completes no other, and says what it got
    bool cancelled = false;       // between it and that
    std::optional<Envelope> got;  // none: nothing, if it is alone
    [[nodiscard]] bool withdrawn() const { return over && alone && !got; }
  };
  struct Rank {
    BlocksAhead blocks;
    std::unordered_set<std::uint32_t> told;  // slots of receives whose own lists say what they got
    std::unordered_map<std::uint32_t, Envelope> persistent;  // receives with wildcards, by slot
  };
  // An operation whose receive may stand in a completion that follows.
  struct Question {
    std::size_t at;  // in the block
    std::uint32_t slot;
    bool told = false;  // its own list says it
    Completion end{};
  };
  void ask(RankId rank, OpBlock& block);
  [[nodiscard]] bool answer(const Rank& state, const OpBlock& block);
  void narrow(Op& op, const Envelope& asked, const std::optional<Envelope>& got);

  TraceReader& trace_;
  std::unordered_map<std::uint32_t, Rank> ranks_;  // those that look ahead, or have such receives
  std::uint64_t changed_ = 0;
  std::uint64_t open_receives_ = 0;
  std::vector<Question> questions_;  // of the block at hand, in its order
  // What completes the request of a slot after a place in the program.
  std::unordered_map<std::uint32_t, Completion> completed_;
};

}  // namespace weft::traces
