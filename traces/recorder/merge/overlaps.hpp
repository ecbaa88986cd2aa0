// Which blocking calls of a job's threads were really under way when another thread of their rank called MPI.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "core/id.hpp"
#include "traces/recorder/merge/spool_reader.hpp"

namespace weft::recorder {

// Only these are written as a start and a wait (program.hpp). A collective is one on all its ranks or on none: no rank
// may answer with an MPI_Barrier to another's MPI_Ibarrier, whoever's threads made it so.
struct Overlaps {
  // By rank: offsets of the records that another thread's record falls into, ascending.
  std::vector<std::vector<std::uint64_t>> calls;
  // (communicator, how many collectives its ranks called on it before).
  std::set<std::pair<std::uint32_t, std::uint64_t>> collectives;
};

// The number of each collective on its communicator, counted as a rank calls them: MPI wants one order on all ranks,
// threads or not (MPI 3.1, 12.4.3).
class CollectiveNumbers {
 public:
  std::uint64_t next(CommId comm) {
    if (comm.index() >= next_.size()) next_.resize(comm.index() + 1);
    return next_[comm.index()]++;
  }

 private:
  std::vector<std::uint64_t> next_;  // by communicator
};

// Looks at one rank; `comms` as in RankContext. O(records x log).
void find_overlaps(std::size_t rank, const SpoolReader& spool, const std::vector<CommId>& comms,
                   std::uint64_t end, Overlaps& out);

// Threads of that process were inside MPI at once.
[[nodiscard]] inline bool overlap(const SpoolHeader& h) { return h.threads > 1 && h.concurrent > 0; }

}  // namespace weft::recorder
