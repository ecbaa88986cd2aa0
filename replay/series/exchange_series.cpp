#include "replay/series/exchange_series.hpp"

#include <algorithm>
#include <bit>

namespace weft::replay {

void SeriesPattern::build(std::uint32_t members, std::int64_t candidate_bytes, std::int64_t row_bytes) {
  messages.clear();
  rounds.clear();
  if (members < 2) return;
  const std::uint32_t power = std::bit_floor(members);
  const std::uint32_t rest = members - power;
  const auto send = [&](std::uint32_t from, std::uint32_t to, std::int64_t bytes) {
    messages.push_back({from, to, bytes, {}, {}});
  };
  std::uint32_t first = 0;
  const auto end_round = [&] {
    const auto last = static_cast<std::uint32_t>(messages.size());
    if (last > first) rounds.push_back({first, last});
    first = last;
  };
  for (std::uint32_t d = 0; d < rest; ++d) {
    send(d + power, d, candidate_bytes);
    if (d == 0) send(0, power, row_bytes);
  }
  end_round();
  for (std::uint32_t bit = 1; bit < power; bit <<= 1) {
    for (std::uint32_t d = 0; d < power; ++d)
      send(d, d ^ bit, d < bit ? candidate_bytes + row_bytes : candidate_bytes);
    end_round();
  }
  for (std::uint32_t bit = rest > 1 ? std::bit_floor(rest - 1) : 0; bit > 0; bit >>= 1) {
    for (std::uint32_t d = 0; d + bit < rest; d += 2 * bit) send(power + d, power + d + bit, row_bytes);
    end_round();
  }
  for (std::uint32_t d = 0; d < rest; ++d) send(d, d + power, candidate_bytes);
  end_round();
}

void SeriesPattern::exchange(std::vector<double>& time, std::vector<double>& scratch) {
  const std::size_t members = time.size();
  scratch.resize(members + messages.size());
  double* const sent = scratch.data();               // when the member's own send call is over
  double* const arrived = scratch.data() + members;  // when the message's data are there
  for (const SeriesRound& round : rounds) {
    // All sides have posted their receive at `time`, before they send.
    for (std::uint32_t i = round.first; i < round.last; ++i) {
      SeriesMessage& m = messages[i];
      const SeriesMessage::Cost& c = m.cost;
      double leaves = time[m.from] + c.send_overhead;
      sent[m.from] = leaves;
      if (c.waits) {
        const double ready = std::max(leaves + c.request, time[m.to]);
        if (c.send_waits) m.waits.late_receiver += ready - (leaves + c.request);
        leaves = ready + c.permission;
      }
      arrived[i] = leaves + c.latency + c.transfer;
      if (c.send_waits) sent[m.from] = arrived[i];
    }
    for (std::uint32_t i = round.first; i < round.last; ++i)
      time[messages[i].from] = std::max(time[messages[i].from], sent[messages[i].from]);
    for (std::uint32_t i = round.first; i < round.last; ++i) {
      SeriesMessage& m = messages[i];
      const SeriesMessage::Cost& c = m.cost;
      // From the end backwards, as CauseBook::explain().
      double wait = std::max(arrived[i] - time[m.to], 0.0);
      time[m.to] = std::max(arrived[i], time[m.to]) + c.recv_overhead;
      const auto part = [&wait](double length) {
        const double d = std::min(wait, length);
        wait -= d;
        return d;
      };
      m.waits.transfer += part(c.transfer);
      m.waits.latency += part(c.latency);
      m.waits.handshake += part(c.request + c.permission);
      m.waits.send_overhead += part(c.send_overhead);
      m.waits.late_sender += wait;
    }
  }
}

}  // namespace weft::replay
