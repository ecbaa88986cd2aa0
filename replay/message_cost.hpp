// MessageCost: what a message costs the two processors and how its data cross an idle route. The engine and closed
// forms that skip it (the predictor's panel factorisation) share these rules, so that they agree exactly where links
// are idle.
//
// By payload size s, with the segments of the platform (MpiParameters; docs/kernels.md, "Messages"):
//   send, isend, receive: intercept + per_byte*s of processor time, each at its side.
//   latency of the data L(s) = latency_factor(s) * latency of the route
//   largest rate of the flow = bandwidth_factor(s) * narrowest capacity of the route. Only the flow is limited: the
//   links keep their whole capacity, so two messages of factor 1/2 run side by side at full speed. This is how a
//   protocol that cannot fill a link behaves; SMPI instead inflates each message's use of the link.
// Handshake of a rendezvous: without transfer segments, request and permission take the route's latency each before
// the data leave. With them, L(s) covers the handshake as a ping-pong measures it: the request takes L(0), and the
// data arrive max(L(s) - L(0), 0) + transfer after both sides are ready.
// Within a host: local_transfer, or local_latency + s / local_bandwidth; a rendezvous' handshake takes two
// local_latency more, and none where local_transfer says it all.
#pragma once

#include <limits>
#include <span>

#include "replay/time.hpp"
#include "topology/platform/platform.hpp"

namespace weft::replay {

class MessageCost {
 public:
  // Where a message goes. Within a host `capacity` does not matter.
  struct Path {
    Duration latency{0};  // of the route
    double capacity = 0;  // narrowest link, bytes/s
    bool local = false;
  };
  // A message over an idle path, its receive posted in time.
  struct Parts {
    Elapsed send_cpu, recv_cpu;
    Elapsed latency;   // handshake and latency
    Elapsed transfer;  // bytes at the flow's rate
    [[nodiscard]] Elapsed one_way() const { return send_cpu + latency + transfer + recv_cpu; }
  };

  // `platform` outlives it. Raw replays have no overheads, factors or handshakes and do not use it.
  explicit MessageCost(const topology::MpiParameters& mpi)
      : mpi_(&mpi),
        has_cpu_(mpi.send_overhead.count() != 0 || mpi.recv_overhead.count() != 0 ||
                 mpi.send_overhead_per_byte != 0 || mpi.recv_overhead_per_byte != 0 ||
                 !mpi.send_cost.empty() || !mpi.isend_cost.empty() || !mpi.recv_cost.empty()) {}

  [[nodiscard]] bool has_cpu_costs() const { return has_cpu_; }
  [[nodiscard]] bool eager(std::int64_t bytes) const { return bytes <= mpi_->eager_limit.value(); }
  [[nodiscard]] Elapsed send(std::int64_t bytes) const {
    if (!mpi_->send_cost.empty()) return cost(mpi_->send_cost, bytes);
    return Elapsed(mpi_->send_overhead) + per_byte(mpi_->send_overhead_per_byte, bytes);
  }
  [[nodiscard]] Elapsed isend(std::int64_t bytes) const {
    if (!mpi_->isend_cost.empty()) return cost(mpi_->isend_cost, bytes);
    return send(bytes);
  }
  [[nodiscard]] Elapsed recv(std::int64_t bytes) const {
    if (!mpi_->recv_cost.empty()) return cost(mpi_->recv_cost, bytes);
    return Elapsed(mpi_->recv_overhead) + per_byte(mpi_->recv_overhead_per_byte, bytes);
  }

  // From the send of a rendezvous to its envelope at the receiver, between hosts.
  [[nodiscard]] Elapsed envelope(Duration route_latency) const { return scaled(route_latency, 0); }
  // From the match to the departure of the data, which then wait out data_latency().
  [[nodiscard]] Elapsed permission(Duration route_latency) const {
    return mpi_->transfer.empty() ? Elapsed(route_latency) : kNoTime;
  }
  [[nodiscard]] Elapsed data_latency(std::int64_t bytes, Duration route_latency, bool eager) const {
    if (mpi_->transfer.empty()) return Elapsed(route_latency);
    const Elapsed all = scaled(route_latency, bytes);
    if (eager) return all;
    const Elapsed sent = scaled(route_latency, 0);
    return all > sent ? all - sent : kNoTime;
  }
  // Largest rate of one message, bytes/s; infinity = as fast as the links allow.
  [[nodiscard]] double rate_cap(std::int64_t bytes, double capacity) const {
    if (mpi_->transfer.empty()) return std::numeric_limits<double>::infinity();
    return segment(mpi_->transfer, bytes).bandwidth_factor * capacity;
  }

  // Within a host: one leg of a handshake, and the data.
  [[nodiscard]] Elapsed local_leg() const {
    return mpi_->local_transfer.empty() ? Elapsed(mpi_->local_latency) : kNoTime;
  }
  [[nodiscard]] Elapsed local_data(std::int64_t bytes) const {
    if (!mpi_->local_transfer.empty()) return cost(mpi_->local_transfer, bytes);
    Elapsed d(mpi_->local_latency);
    if (mpi_->local_bandwidth > 0)
      d += Elapsed::of_seconds(static_cast<double>(bytes) / mpi_->local_bandwidth);
    return d;
  }

  // The whole of a message on an idle path; `header` as in ReplayOptions. What the engine gives a lone message.
  [[nodiscard]] Parts uncontended(std::int64_t bytes, const Path& path, bool nonblocking_send = false,
                                  std::int64_t header = 0) const;

 private:
  template <class Segment>
  [[nodiscard]] static const Segment& segment(const std::vector<Segment>& list, std::int64_t bytes) {
    std::size_t i = list.size() - 1;
    while (i > 0 && list[i].from > bytes) --i;
    return list[i];
  }
  [[nodiscard]] static Elapsed cost(const std::vector<topology::CostSegment>& list, std::int64_t bytes) {
    const topology::CostSegment& c = segment(list, bytes);
    const double s = c.intercept + c.per_byte * static_cast<double>(bytes);
    return s > 0 ? Elapsed::of_seconds(s) : kNoTime;
  }
  [[nodiscard]] static Elapsed per_byte(double seconds, std::int64_t bytes) {
    return Elapsed::of_seconds(seconds * static_cast<double>(bytes));
  }
  [[nodiscard]] Elapsed scaled(Duration latency, std::int64_t bytes) const {
    if (mpi_->transfer.empty()) return Elapsed(latency);
    return Elapsed::of_seconds(to_seconds(latency) * segment(mpi_->transfer, bytes).latency_factor);
  }

  const topology::MpiParameters* mpi_;
  bool has_cpu_;
};

}  // namespace weft::replay
