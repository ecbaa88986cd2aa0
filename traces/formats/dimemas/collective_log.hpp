// What one record of a collective does not say and those of all tasks do: who is the root, and who has how much.
//
// The n-th such call on a communicator of each of its tasks is one collective, as in MPI. A record has a root, of which translators
// have made different things: 1 on the root and 0 elsewhere, the task that is the root, or its rank. What was sent and received
// tells it, too. Of calls with a size for each rank there are sums only: gatherv, scatterv, allgatherv and reduce_scatter have
// one size a rank, and these are all there; of alltoallv each task has what it sends and receives in all, and pairs are given
// shares of that in proportion to what the receivers get, rounded so that all of it is sent.
//
// Memory: 24 bytes for each record of a call with sizes, 72 for each rooted collective.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.hpp"
#include "traces/formats/dimemas/head.hpp"
#include "traces/formats/dimemas/record.hpp"
#include "traces/op.hpp"

namespace weft::traces::dimemas {

class CollectiveLog {
 public:
  explicit CollectiveLog(const Groups& groups) : groups_(&groups), calls_(groups.all().size()) {}

  // Whether what one record says of a blocking kind is not all.
  [[nodiscard]] static bool keeps(OpKind blocking);

  // Call `n`, of those that are kept, of a rank of the communicator. Null, or what is wrong.
  [[nodiscard]] const char* add(CommId comm, std::uint64_t n, OpKind blocking, std::uint32_t rank,
                                const Record& r, std::uint64_t line);
  // Once all are there. Errors: kBadInput.
  [[nodiscard]] Result<void> settle(const std::string& file);
  // Collectives whose sizes between pairs are made up of sums.
  [[nodiscard]] std::uint64_t shared_out() const { return shared_out_; }

  // Makes root, amount and list of `op`, a call of a rank. False: there is no such call, so the file is another one now.
  [[nodiscard]] bool complete(CommId comm, std::uint64_t n, std::uint32_t rank, Op& op, OpBlock& out);

 private:
  struct Part {
    std::uint32_t rank;
    std::int64_t sent, received;
  };
  struct Call {
    OpKind kind{};
    bool same = true;  // all have said the same root
    std::uint32_t calls = 0;
    std::uint32_t ones = 0, one = 0;         // ranks that have said 1; the last of them
    std::uint32_t by_size = 0, of_size = 0;  // ranks whose sizes are those of a root; the last of them
    std::int32_t said = 0;                   // the root
    std::int32_t root = 0;                   // a task
    std::uint64_t line = 0;                  // of the first
    std::vector<Part> parts;                 // by rank, once it is settled
  };
  [[nodiscard]] Error fault(const std::string& file, const Call& call, std::string what,
                            std::string expected) const;
  [[nodiscard]] bool find_root(const Communicator& comm, CommId id, Call& call) const;
  void pairs(const Call& call, std::uint32_t rank);
  const Groups* groups_;
  std::vector<std::vector<Call>> calls_;  // by communicator
  std::vector<std::int64_t> list_;
  std::uint64_t shared_out_ = 0;
};

}  // namespace weft::traces::dimemas
