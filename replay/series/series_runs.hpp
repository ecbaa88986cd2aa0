// SeriesRuns: series of exchanges (exchange_series.hpp) that some members of a communicator have come to.
//
// A member blocks when it comes to its series; the last one to come times the exchanges of all of them, each wakes at
// its own end. When a member came is its Rank::op_start, which may lie in the future of the agenda, never in its past.
// Invariants: a communicator has one series at a time, since its members block in it; no end is before the last arrival.
// Complexity: arrive() O(1), the last one O(exchanges x (kernels + P log P)); memory P a communicator.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "network/network.hpp"
#include "replay/agenda.hpp"
#include "replay/communicators.hpp"
#include "replay/message_cost.hpp"
#include "replay/messages/traffic.hpp"
#include "replay/ranks/compute_times.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/series/exchange_series.hpp"
#include "replay/why/cause_book.hpp"
#include "replay/why/hindsight.hpp"
#include "topology/routing/route_cache.hpp"
#include "topology/routing/socket_routes.hpp"
#include "traces/exchange_series.hpp"

namespace weft::replay {

class SeriesRuns {
 public:
  // What its messages cross and cost; all outlive it.
  struct Ways {
    topology::RouteCache& routes;
    network::Network& network;
    const MessageCost& cost;
    Traffic& traffic;
    const topology::Fabric& fabric;
    const std::vector<HostId>& placement;
  };
  SeriesRuns(const Ways& ways, const Communicators& comms, Ranks& ranks, ComputeTimes& compute,
             CauseBook& causes, Hindsight& hindsight, Agenda& agenda)
      : ways_(ways),
        comms_(comms),
        ranks_(ranks),
        compute_(compute),
        causes_(causes),
        hindsight_(hindsight),
        agenda_(agenda),
        sockets_(ways.fabric, ways.placement),
        gathered_(comms.count()) {}

  // Rank r comes to `op`, the operation that it is at, and blocks until a kRankTimer of its own: posted when all
  // members are there. What cannot be fails the replay.
  void arrive(std::uint32_t r, const traces::Op& op);

  // For the deadlock report: calls f(rank that waits, rank that it waits for), by communicator.
  template <class F>
  void for_each_wait(F f) const {
    for (std::uint32_t c = 0; c < gathered_.size(); ++c) {
      if (gathered_[c].count == 0) continue;
      const auto& members = comms_.members(c);
      for (std::size_t i = 0; i < members.size(); ++i)
        for (std::size_t j = 0; j < members.size(); ++j)
          if (gathered_[c].here[i] != 0 && gathered_[c].here[j] == 0)
            f(static_cast<std::uint32_t>(members[i]), static_cast<std::uint32_t>(members[j]));
    }
  }

 private:
  struct Gathered {
    std::uint32_t count = 0;
    std::vector<std::uint8_t> here;  // by member
  };
  // What all members must agree on.
  struct Terms {
    std::size_t root = 0;
    std::int64_t exchanges = 0, candidate = 0, row = 0;
    friend bool operator==(const Terms&, const Terms&) = default;
  };
  // One that takes part, at its distance from the root.
  struct Member {
    std::uint32_t rank = 0;
    traces::SeriesSegment segment;
    std::int64_t step = 0;  // of the segment
    traces::SeriesCursor cursor;
    std::int64_t exchanges = 0;  // so far
    double computed = 0;
    double idle = 0;                       // until its last kernels: waits and overheads
    double since = 0;                      // in times_: its last kernels were over, or it came
    Elapsed booked_computed, booked_idle;  // in its Rank already
    std::array<double, kCauseCount> waited{};
  };

  void run(std::uint32_t comm);
  [[nodiscard]] Terms terms_of(std::uint32_t comm, std::uint32_t rank, const traces::Op& op) const;
  // What the members agree on; false: they do not, or it cannot be, and the replay failed. To count the exchanges of all is to walk
  // through all lists, so it is left until their ends unless `counted`.
  [[nodiscard]] bool agree(std::uint32_t comm, Terms& terms, bool counted);
  // Brings the members to their places and `times_` to their arrivals; returns the earliest of them.
  [[nodiscard]] Instant place(std::uint32_t comm, const Terms& terms);
  // Costs of the messages of `pattern_`; false: the replay failed.
  [[nodiscard]] bool price(std::int64_t exchanges);
  [[nodiscard]] bool price(std::uint32_t src, std::uint32_t dst, std::int64_t bytes,
                           SeriesMessage::Cost& out);
  // Books what a member has computed and waited until now.
  void book(Member& m);
  void compute(std::size_t distance);
  void book_waits(std::int64_t exchanges);
  void wake(std::size_t distance, Instant base, std::uint32_t comm, std::uint32_t last, std::uint32_t past);

  Ways ways_;
  const Communicators& comms_;
  Ranks& ranks_;
  ComputeTimes& compute_;
  CauseBook& causes_;
  Hindsight& hindsight_;
  Agenda& agenda_;
  topology::SocketRoutes sockets_;
  std::vector<Gathered> gathered_;  // by communicator
  // Of the series that is being timed; kept for their memory.
  SeriesPattern pattern_;
  std::vector<Member> column_;           // by distance from the root
  std::vector<double> times_, scratch_;  // seconds, by distance
};

}  // namespace weft::replay
