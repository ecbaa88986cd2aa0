// What each member of a collective with counts of its own (gatherv, scatterv, allgatherv, alltoallv, alltoallw,
// reduce_scatter) sent and received in all. OTF2 has no counts for each peer: they are made of the sums of all members.
//
// The n-th blocking call of such a kind on a communicator is one call of all its members, and so is the n-th non-blocking
// one. Memory: 16 bytes for each call of each member.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/op.hpp"

namespace weft::traces::otf2 {

class VectorSizes {
 public:
  struct Sum {
    std::int64_t sent = 0, received = 0;
  };
  // Where one rank stands: how many calls on each communicator it has made.
  struct Cursor {
    std::unordered_map<std::uint32_t, std::uint64_t> blocking;
    std::map<std::uint64_t, std::pair<std::uint32_t, Sum>> later;  // survey: non-blocking ones by ordinal
  };

  // Survey.
  void add(std::uint32_t comm, std::int64_t me, Sum sum) { blocking_[comm][me].push_back(sum); }
  void add_later(Cursor& at, std::uint64_t ordinal, std::uint32_t comm, Sum sum) {
    at.later[ordinal] = {comm, sum};
  }
  // At the end of the rank.
  void finish(Cursor& at, std::uint32_t rank, const std::unordered_map<std::uint32_t, std::int64_t>& me_in);

  // Second pass: the sums of all members of one call, by rank in the communicator. A member that never made it has 0.
  void blocking(Cursor& at, std::uint32_t comm, std::int64_t members, std::vector<Sum>& out) const;
  void later(std::uint32_t rank, std::uint64_t ordinal, std::uint32_t comm, std::int64_t members,
             std::vector<Sum>& out) const;

 private:
  using Members = std::map<std::int64_t, std::vector<Sum>>;  // rank in the communicator -> its calls
  static void collect(const Members& of, std::uint64_t call, std::int64_t members, std::vector<Sum>& out);
  std::unordered_map<std::uint32_t, Members> blocking_, later_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> call_of_;  // (rank, ordinal) -> which call
};

// The list of such an operation (docs/trace-format.md) and its amount, for member `me`. `root`: rank in the communicator.
// allgatherv and reduce_scatter: in place or not (sums.hpp) is found once for all members, by what all of them
// recorded.
// Where only sums are known (alltoallv), what i sends to j is in proportion to what i sends and to what j receives in
// all, rounded so that sums are kept and both sides have the same number.
[[nodiscard]] std::vector<std::int64_t> vector_list(OpKind kind, const std::vector<VectorSizes::Sum>& sums,
                                                    std::int64_t me, std::int64_t root, std::int64_t& amount);

}  // namespace weft::traces::otf2
