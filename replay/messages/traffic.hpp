// Traffic: sums over all messages of a replay, and its fingerprint.
//
// Two sums: messages that the trace has as point-to-point, and all that cross the network, with collectives and series
// of exchanges expanded. Kept are the sum of all and that of the expanded ones, which most traces have few of. Latency counts when the data leave, everything else when they have come.
//
// The fingerprint adds up hashes of who sent to whom and when the data had come, message by message, and mixes when each rank was
// done: two replays with the same fingerprint went the same way. Complexity: O(1) a message.
#pragma once

#include <cstdint>

#include "core/byte_sum.hpp"
#include "replay/messages/message.hpp"
#include "replay/results.hpp"
#include "replay/time.hpp"

namespace weft::replay {

// MessageCosts while they add up.
struct Costs {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t hops = 0;
  Elapsed latency, transfer, contention, late_sender, late_receiver;
  [[nodiscard]] MessageCosts rounded() const {
    return {count,
            bytes,
            hops,
            latency.rounded_sum(),
            transfer.rounded_sum(),
            contention.rounded_sum(),
            late_sender.rounded_sum(),
            late_receiver.rounded_sum()};
  }
};

class Traffic {
 public:
  // The data of m left and wait out the rest of `latency`, that of its links and of its handshake.
  void left(const Message& m, Elapsed latency) {
    all_.latency += latency;
    if ((m.state & kCollective) != 0) expanded_.latency += latency;
  }
  // The data of m have come.
  void arrived(const Message& m, Instant now) {
    const Elapsed took = m.flow.valid() ? now - m.flow_start : kNoTime;
    add(all_, m, took);
    if ((m.state & kCollective) != 0) add(expanded_, m, took);
    happened((static_cast<std::uint64_t>(m.src) << 32) | m.dst, now);
  }
  // Something that the fingerprint is to tell apart, in whatever order it is heard of.
  void happened(std::uint64_t who, Instant at) {
    const auto when = static_cast<std::uint64_t>(at.rounded().time_since_epoch().count());
    std::uint64_t k = (who * 0x9e3779b97f4a7c15ULL) ^ when;
    k = (k ^ (k >> 32)) * 0xd6e8feb86659fd93ULL;
    happened_ += k ^ (k >> 29);
  }
  // Messages that were timed together, of no contention.
  void add_series(const Costs& sums) {
    for (Costs* const c : {&all_, &expanded_}) {
      c->count += sums.count;
      c->bytes = add_bytes(c->bytes, sums.bytes);
      c->hops += sums.hops;
      c->latency += sums.latency;
      c->transfer += sums.transfer;
    }
  }
  // The same of things that have an order.
  void mix(std::uint64_t value) { fingerprint_ = (fingerprint_ ^ value) * 0x100000001b3ULL; }

  [[nodiscard]] Costs point_to_point() const {
    Costs c = all_;
    c.count -= expanded_.count;
    c.bytes -= expanded_.bytes;
    c.hops -= expanded_.hops;
    c.latency = c.latency - expanded_.latency;
    c.transfer = c.transfer - expanded_.transfer;
    c.contention = c.contention - expanded_.contention;
    return c;
  }
  [[nodiscard]] const Costs& all() const { return all_; }
  [[nodiscard]] std::uint64_t fingerprint() const {
    const std::uint64_t k = (fingerprint_ ^ happened_) * 0x100000001b3ULL;
    return k ^ (k >> 32);
  }

 private:
  static void add(Costs& c, const Message& m, Elapsed took) {
    ++c.count;
    c.bytes = add_bytes(c.bytes, static_cast<std::uint64_t>(m.bytes));
    c.hops += m.hops;
    c.transfer += m.ideal;
    if (took > m.ideal) c.contention += took - m.ideal;
  }

  Costs all_, expanded_;
  std::uint64_t fingerprint_ = 0x9e3779b97f4a7c15ULL;
  std::uint64_t happened_ = 0;  // the part of it that has no order
};

}  // namespace weft::replay
