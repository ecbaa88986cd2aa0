// What is wrong with the program of one rank whatever the others do: polls whose hit is not where they say, a request that
// one call completes twice. Used by the trace doctor (check.hpp).
//
// Memory: the hits that polls wait for. O(log polls) a poll, O(list x log) a list of requests, else O(1).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "traces/op.hpp"
#include "traces/request_book.hpp"

namespace weft::traces {

class RankProgram {
 public:
  struct Fault {
    std::uint64_t op;  // index in the rank's program
    OpKind kind;
    std::string text;
  };

  // Operation `index` of the rank, which is well formed; each once, in order.
  void add(std::uint64_t index, const Op& op, std::span<const std::int64_t> list,
           std::vector<Fault>& faults) {
    const bool poll = op.kind == OpKind::iprobe || op.kind == OpKind::improbe;
    if (poll || index >= next_hit_) see_polls(index, op, list, faults);
    if (is_completion(op.kind) && list.size() > 1) see_requests(index, op, list, faults);
  }
  // The program has `ops` operations.
  void finish(std::uint64_t ops, std::vector<Fault>& faults) const;

 private:
  struct Miss {
    std::uint64_t op;
    Op poll;
  };
  void see_polls(std::uint64_t index, const Op& op, std::span<const std::int64_t> list,
                 std::vector<Fault>& faults);
  void see_requests(std::uint64_t index, const Op& op, std::span<const std::int64_t> list,
                    std::vector<Fault>& faults);

  std::map<std::uint64_t, Miss> hits_;  // where they must be, each with the first poll that names it
  std::uint64_t next_hit_ = UINT64_MAX;
  struct Body {
    std::uint64_t hit = 0, end = 0;  // end: its last operation
    OpKind kind{};
  };
  Body body_;  // the one that reaches furthest
  std::vector<std::int64_t> sorted_;
};

}  // namespace weft::traces
