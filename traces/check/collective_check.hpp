// Do the members of a communicator agree on its collectives? Used by the trace doctor (check.hpp).
//
// The k-th collective (or communicator creation) of each member on a communicator is instance k: all members
// must name the same kind, root and sizes. Memory: the instances that some member has reached and another has
// not left.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/trace.hpp"

namespace weft::traces {

class CollectiveCheck {
 public:
  explicit CollectiveCheck(const std::vector<Communicator>& communicators)
      : communicators_(communicators), states_(communicators.size()) {}

  struct Fault {
    std::string text;
    std::uint32_t other_rank;  // whom it disagrees with
    std::uint64_t other_op;
  };
  struct Arrival {
    std::uint64_t instance = 0;
    bool wakes_all = false;            // everybody may be able to leave now
    std::vector<std::uint32_t> wakes;  // else these world ranks
    std::vector<Fault> faults;
  };
  // Rank of a world rank in a communicator, -1 if it is not a member. O(1) after the first call.
  [[nodiscard]] std::int64_t position(CommId comm, std::uint32_t rank);
  // Precondition: `rank` is a member of op.comm.
  Arrival arrive(const Op& op, std::uint32_t rank, std::uint64_t index, std::span<const std::int64_t> list);
  // May `rank` leave instance `k` of op.comm? Buffered: once the data it needs can have come. Synchronous:
  // once all members are there.
  [[nodiscard]] bool may_leave(const Op& op, std::uint32_t rank, std::uint64_t k, bool synchronous);
  // The first member, by rank in the communicator, that `rank` waits for; none: for nobody.
  [[nodiscard]] std::optional<std::uint32_t> missing(const Op& op, std::uint32_t rank, std::uint64_t k,
                                                     bool synchronous);
  // Instances that some members never reached.
  [[nodiscard]] std::vector<Fault> unfinished() const;

 private:
  struct Instance {
    OpKind kind{};
    std::int32_t root = 0;
    std::int64_t amount = 0;
    std::uint32_t first_rank = 0;
    std::uint64_t first_op = 0;
    std::size_t arrived = 0;
    std::vector<bool> here;                        // by position
    std::vector<std::int64_t> amounts;             // by position, of vector and neighbourhood collectives
    std::vector<std::vector<std::int64_t>> lists;  // by position
    std::vector<std::size_t> sources_here;  // by position, of a neighbourhood: so many of its first sources
    std::uint64_t sent_less_expected = 0;   // sum of hashes, of an alltoallv of very many
    std::size_t below = 0;                  // all positions below this one are here
    bool disagreed = false;
  };
  struct State {
    std::unordered_map<std::uint32_t, std::uint32_t> position;  // world rank -> rank in the communicator
    std::vector<std::uint64_t> next;  // by position: instance of its next collective
    std::deque<Instance> open;        // instances base, base + 1, ...
    std::uint64_t base = 0;
  };
  State& state(CommId comm);
  // Whether all sources of position `me` in a neighbourhood collective are here.
  static bool has_sources(const State& s, Instance& i, std::size_t me);
  Instance* find(State& s, std::uint64_t k) { return k < s.base ? nullptr : &s.open[k - s.base]; }
  void compare_vectors(const State& s, const Instance& i, const Communicator& comm,
                       std::vector<Fault>& faults) const;
  void compare_neighbors(const State& s, const Instance& i, const Communicator& comm,
                         std::vector<Fault>& faults) const;
  const std::vector<Communicator>& communicators_;
  std::vector<State> states_;
};

}  // namespace weft::traces
