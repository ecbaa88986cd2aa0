// Which polls of a rank belong to which hit, and how many operations belong to a hit: OpFlags::kHit, made from a
// program that has its polls as plain operations. One rule for every reader that sees polls.
//
// A run = polls of one rank with the same communicator, source and tag, up to the one that hits; a receive that could
// have taken the message, or the communicator's end, closes a run without a hit. The body of a hit = the receive of
// what was found, directly followed by point-to-point operations on the same communicator, with nothing between but
// computation of kBodyComputePs at most; completions only of requests started in the body.
//
// Memory: the polls of the runs that are open. O(log runs) an operation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "traces/op.hpp"

namespace weft::traces {

// Longest computation between two operations of a body.
inline constexpr std::int64_t kBodyComputePs = 50'000'000;

class ConditionalSteps {
 public:
  struct Sink {
    std::function<void(std::uint64_t name, std::uint64_t distance)> miss;  // of a run that hit
    std::function<void(std::uint64_t name, std::uint64_t length)> body;    // of a hit
  };
  explicit ConditionalSteps(Sink sink) : sink_(std::move(sink)) {}

  // Operation `index` of the rank; all of them, in order. Of a hit the list is {0, any, source, tag, bytes}. Communicators
  // and ranks may be those of the program or those of the trace, as long as all are the same. `name`: of a poll, what the
  // sink is to call it.
  void add(std::uint64_t index, std::uint64_t name, const Op& op, std::span<const std::int64_t> list);
  // After the last one.
  void finish() { close_body(); }

 private:
  struct Poll {
    OpKind kind;
    CommId comm;
    std::int32_t peer;
    std::int32_t tag;
    friend auto operator<=>(const Poll&, const Poll&) = default;
  };
  struct Miss {
    std::uint64_t index, name;
  };
  struct Body {
    bool open = false;
    bool first = true;  // the receive is still to come
    std::uint64_t name = 0, hit = 0, end = 0;
    CommId comm{0};
    std::int64_t source = 0, tag = 0;
    std::vector<std::uint32_t> own;  // requests started in it
  };
  [[nodiscard]] static bool could_take(const Op& recv, const Poll& poll);
  [[nodiscard]] bool in_body(const Op& op, std::span<const std::int64_t> list);
  void close_body();

  Sink sink_;
  std::map<Poll, std::vector<Miss>> runs_;
  Body body_;
};

}  // namespace weft::traces
