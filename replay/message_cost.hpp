// MessageCost: the protocol of point-to-point messages. What a message costs the two processors, when its data may
// leave and how they cross an idle route, in every mode. The engine and closed forms that skip it (series of exchanges,
// the predictor's closed forms) ask here, so that they agree exactly where links are idle.
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
// A message that its receiver polls for after a computation (Found::kAtPoll) travels while the cores beside it compute:
// where the platform has loaded segments for its size, its data wait their intercept on top of the latency and
// need per_byte*s at least, within a host intercept + per_byte*s.
// Within a host: local_transfer, or local_latency + s / local_bandwidth; a rendezvous' handshake takes two
// local_latency more, and none where local_transfer says it all. Over a link between two sockets (Fabric::join_sockets) the
// same is split in two: what does not grow with s is waited out, then the data flow at no more than the rest allows.
// On the ideal network (ReplayOptions::ideal_network) no message takes any time; the order of matching is the same.
// Raw: processors, handshakes and data within a host take no time; L(s) is the latency of the route, the rate that of
// its narrowest link.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>

#include "replay/engine.hpp"
#include "replay/time.hpp"
#include "topology/platform/platform.hpp"
#include "traces/op.hpp"

namespace weft::replay {

// When the data of a message leave, and when its send is over.
enum class Protocol : std::uint8_t {
  kEager,      // at the send, which is over at once
  kExpected,   // after the handshake, as the receive was posted before; the send is over when all has arrived
  kDetached,   // when both sides are there; the send is over at once
  kRendezvous  // when both sides are there; the send is over when all has arrived
};
// Whoever the receiver is busy with.
[[nodiscard]] constexpr bool leaves_at_once(Protocol p) { return p <= Protocol::kExpected; }

// What sends of a collective have besides the protocol of their bytes.
enum class SendForm : std::uint8_t {
  kAsAny,
  kPaced,    // over when all has come, whatever the protocol
  kExpected  // the receiver has posted its receive by then, so the data do not wait for it
};

// How its receiver came to a message: by a receive, or by a poll and more than copies computed since its last message.
enum class Found : std::uint8_t { kWaitedFor, kAtPoll };

class MessageCost {
 public:
  // Where a message goes. Within a host only `local` matters, and `capacity` where it goes over a link between sockets.
  struct Path {
    Duration latency{0};  // of the route
    double capacity = 0;  // narrowest link, bytes/s
    bool local = false;
    std::optional<Duration> latency_back{};  // of the route of the permission; unset: as `latency`
    bool between_sockets = false;            // local, over a link: of `capacity`
  };
  // A message over an idle path. Its data leave `permission` after both its request and its receive are there.
  struct Parts {
    Protocol protocol = Protocol::kEager;
    Elapsed send_cpu, recv_cpu;
    Elapsed request;     // unless eager: from the send until the receiver knows
    Elapsed permission;  // unless eager: from there until the data leave
    Elapsed latency;     // which the data wait out
    Elapsed transfer;    // bytes at the flow's rate
    // Its receive posted in time.
    [[nodiscard]] Elapsed one_way() const {
      return send_cpu + request + permission + latency + transfer + recv_cpu;
    }
  };

  // `mpi` outlives it. Of the options: the raw modes and the header.
  explicit MessageCost(const topology::MpiParameters& mpi, const ReplayOptions& options = {});

  [[nodiscard]] Protocol protocol_of(traces::OpKind kind, std::int64_t bytes) const {
    return protocols_[static_cast<std::size_t>(kind)][bytes <= short_];
  }
  // Raw: both sides know of a message when it is sent, no envelope crosses the network and none has to wait for those
  // of earlier messages. Only probes see it when an envelope would be there.
  [[nodiscard]] bool known_at_once() const { return raw_ != RawMode::kOff; }
  // What crosses the links: payload and header.
  [[nodiscard]] std::int64_t size(std::int64_t bytes) const { return ideal_ ? 0 : bytes + header_; }

  [[nodiscard]] bool has_cpu_costs() const { return has_cpu_; }
  [[nodiscard]] Elapsed send(std::int64_t bytes) const { return send_.of(bytes); }
  [[nodiscard]] Elapsed isend(std::int64_t bytes) const { return isend_.of(bytes); }
  [[nodiscard]] Elapsed recv(std::int64_t bytes) const { return recv_.of(bytes); }
  // One poll that found nothing; a test that said yes.
  [[nodiscard]] Elapsed poll() const { return Elapsed(mpi_->iprobe_cost); }
  [[nodiscard]] Elapsed test() const { return Elapsed(mpi_->test_cost); }

  // From the send of a message that is not eager until probes see it, between hosts: its envelope's way.
  [[nodiscard]] Elapsed envelope(Duration route_latency) const { return way(scaled(route_latency, 0)); }
  // A rendezvous waits for its permission to come back.
  [[nodiscard]] bool has_permission() const { return mpi_->transfer.empty() && !known_at_once() && !ideal_; }
  // From the match to the departure of the data, which then wait out data_latency().
  [[nodiscard]] Elapsed permission(Duration route_latency) const {
    return has_permission() ? way(Elapsed(route_latency)) : kNoTime;
  }
  [[nodiscard]] Elapsed data_latency(std::int64_t bytes, Duration route_latency, bool eager,
                                     Found found = Found::kWaitedFor) const {
    if (plain_ && found == Found::kWaitedFor) [[likely]]
      return Elapsed(route_latency);
    return other_latency(bytes, route_latency, eager, found);
  }
  // What the envelope and the data wait out, in latencies of the route.
  [[nodiscard]] double envelope_latencies() const { return latency_factor(0); }
  [[nodiscard]] double data_latencies(std::int64_t bytes, bool eager) const {
    if (mpi_->transfer.empty() || eager) return latency_factor(bytes);
    return std::max(0.0, latency_factor(bytes) - latency_factor(0));
  }
  // Largest rate of one message, bytes/s; infinity = as fast as the links allow.
  [[nodiscard]] double rate_cap(std::int64_t bytes, double capacity, Found found = Found::kWaitedFor) const {
    if (plain_ && found == Found::kWaitedFor) [[likely]]
      return std::numeric_limits<double>::infinity();
    return other_rate_cap(bytes, capacity, found);
  }
  // The part of it that no link has to do with: of a message under load.
  [[nodiscard]] double loaded_rate(std::int64_t bytes, Found found) const {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    const topology::CostSegment* const s =
        found == Found::kAtPoll ? loaded(mpi_->loaded_transfer, bytes) : nullptr;
    if (s == nullptr) return kNone;
    // An intercept below 0 makes the message as a whole faster: its time is that of the line.
    const double n = static_cast<double>(bytes), time = s->per_byte * n + std::min(s->intercept, 0.0);
    return time > 0 ? n / time : kNone;
  }

  // Within a host: one leg of a handshake, and the data.
  [[nodiscard]] Elapsed local_leg() const {
    return mpi_->local_transfer.empty() ? Elapsed(mpi_->local_latency) : kNoTime;
  }
  [[nodiscard]] Elapsed local_data(std::int64_t bytes, Found found = Found::kWaitedFor) const {
    if (const topology::CostSegment* const s = local_segment(bytes, found)) return cost(*s, bytes);
    Elapsed d(mpi_->local_latency);
    if (mpi_->local_bandwidth > 0)
      d += Elapsed::of_seconds(static_cast<double>(bytes) / mpi_->local_bandwidth);
    return d;
  }

  // The two parts of local_data() for data that go over a link between sockets: what they wait out, and the largest rate
  // of their flow, bytes/s; infinity = as fast as the link allows.
  [[nodiscard]] Elapsed socket_latency(std::int64_t bytes, Found found = Found::kWaitedFor) const {
    return Elapsed::of_seconds(local_line(bytes, found).latency);
  }
  [[nodiscard]] double socket_rate(std::int64_t bytes, Found found = Found::kWaitedFor) const {
    const double time = local_line(bytes, found).time;
    return time > 0 ? static_cast<double>(bytes) / time : std::numeric_limits<double>::infinity();
  }

  // The whole of a message on an idle path, sent by an operation of `kind`: what the engine gives a lone message.
  [[nodiscard]] Parts uncontended(std::int64_t bytes, const Path& path,
                                  traces::OpKind kind = traces::OpKind::send,
                                  Found found = Found::kWaitedFor) const;

 private:
  template <class Segment>
  [[nodiscard]] static const Segment& segment(const std::vector<Segment>& list, std::int64_t bytes) {
    std::size_t i = list.size() - 1;
    while (i > 0 && list[i].from > bytes) --i;
    return list[i];
  }
  [[nodiscard]] static Elapsed cost(const std::vector<topology::CostSegment>& list, std::int64_t bytes) {
    return cost(segment(list, bytes), bytes);
  }
  [[nodiscard]] static Elapsed cost(const topology::CostSegment& c, std::int64_t bytes) {
    const double s = c.intercept + c.per_byte * static_cast<double>(bytes);
    return s > 0 ? Elapsed::of_seconds(s) : kNoTime;
  }
  // Processor time of one side of a message: by segments if the platform has some, else a line.
  struct CpuCost {
    const std::vector<topology::CostSegment>* segments = nullptr;  // none: null
    Elapsed fixed;
    double per_byte = 0;  // seconds
    [[nodiscard]] bool any() const { return segments != nullptr || fixed != kNoTime || per_byte != 0; }
    [[nodiscard]] Elapsed of(std::int64_t bytes) const {
      if (segments != nullptr) return cost(*segments, bytes);
      if (per_byte == 0) return fixed;
      return fixed + Elapsed::of_seconds(per_byte * static_cast<double>(bytes));
    }
  };
  // What a copy within a host costs; null: the platform has no segments, its local_latency and local_bandwidth count.
  [[nodiscard]] const topology::CostSegment* local_segment(std::int64_t bytes, Found found) const {
    if (found == Found::kAtPoll)
      if (const topology::CostSegment* const s = loaded(mpi_->loaded_local_transfer, bytes)) return s;
    return mpi_->local_transfer.empty() ? nullptr : &segment(mpi_->local_transfer, bytes);
  }
  // local_data(), in seconds: the part of every message and the part of its bytes. An intercept below 0 shortens the latter.
  struct LocalLine {
    double latency = 0, time = 0;
  };
  [[nodiscard]] LocalLine local_line(std::int64_t bytes, Found found) const {
    const auto n = static_cast<double>(bytes);
    double intercept = to_seconds(mpi_->local_latency),
           per_byte = mpi_->local_bandwidth > 0 ? 1 / mpi_->local_bandwidth : 0;
    if (const topology::CostSegment* const s = local_segment(bytes, found)) {
      intercept = s->intercept;
      per_byte = s->per_byte;
    }
    const double all = std::max(0.0, intercept + per_byte * n), latency = std::clamp(intercept, 0.0, all);
    return {latency, all - latency};
  }
  // Its segment for a message under load; null: none, as without load.
  [[nodiscard]] static const topology::CostSegment* loaded(const std::vector<topology::CostSegment>& list,
                                                           std::int64_t bytes) {
    return list.empty() || bytes < list.front().from ? nullptr : &segment(list, bytes);
  }
  [[nodiscard]] Elapsed loaded_intercept(std::int64_t bytes) const {
    const topology::CostSegment* const s = loaded(mpi_->loaded_transfer, bytes);
    return s != nullptr && s->intercept > 0 ? Elapsed::of_seconds(s->intercept) : kNoTime;
  }
  [[nodiscard]] double latency_factor(std::int64_t bytes) const {
    return mpi_->transfer.empty() ? 1 : segment(mpi_->transfer, bytes).latency_factor;
  }
  [[nodiscard]] Elapsed scaled(Duration latency, std::int64_t bytes) const {
    if (ideal_) return kNoTime;
    if (mpi_->transfer.empty()) return Elapsed(latency);
    return Elapsed::of_seconds(to_seconds(latency) * latency_factor(bytes));
  }

  // protocol_of(), of messages as long as `short_` or shorter and of others.
  [[nodiscard]] Protocol rule(traces::OpKind kind, bool is_short) const;
  // rate_cap() and data_latency() where platform, poll or what-if has a say.
  [[nodiscard]] double other_rate_cap(std::int64_t bytes, double capacity, Found found) const {
    const double own = loaded_rate(bytes, found);
    if (own < std::numeric_limits<double>::infinity() || mpi_->transfer.empty()) return own;
    return segment(mpi_->transfer, bytes).bandwidth_factor * capacity;
  }
  [[nodiscard]] Elapsed other_latency(std::int64_t bytes, Duration route_latency, bool eager,
                                      Found found) const {
    if (ideal_) return kNoTime;
    const Elapsed more = found == Found::kAtPoll ? loaded_intercept(bytes) : kNoTime;
    if (mpi_->transfer.empty()) return way(Elapsed(route_latency)) + more;
    const Elapsed all = scaled(route_latency, bytes);
    if (eager) return way(all) + more;
    const Elapsed sent = scaled(route_latency, 0);
    return way(all > sent ? all - sent : kNoTime) + more;
  }

  // A way between hosts that takes `d` as things are.
  [[nodiscard]] Elapsed way(Elapsed d) const {
    if (!changed_) return d;
    if (what_if_.no_latency || ideal_) return kNoTime;
    return std::max(kNoTime, d + Elapsed(what_if_.latency));
  }

  const topology::MpiParameters* mpi_;  // raw, ideal: those of a platform where nothing takes time
  bool ideal_;
  RawMode raw_;
  std::optional<Bytes> raw_switch_;
  Bytes eager_limit_;
  std::int64_t header_;
  CpuCost send_, isend_, recv_;
  bool has_cpu_;
  WhatIf what_if_;
  bool changed_;
  bool plain_;              // the data of messages wait out the latency of their routes as it is
  std::int64_t short_ = 0;  // bytes
  std::array<std::array<Protocol, 2>, traces::kOpKindCount> protocols_{};  // by kind and length: rule()
};

}  // namespace weft::replay
