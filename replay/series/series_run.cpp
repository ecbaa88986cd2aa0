// Series of exchanges: the last member to arrive times all of them (exchange_series.hpp), each wakes at its own end.
#include <fmt/format.h>

#include <algorithm>

#include "replay/simulation.hpp"

namespace weft::replay {

using traces::OpKind;

Simulation::Step Simulation::do_series(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kCollective;
  if (k.stage == Stage::kFinishing) return Step::kDone;
  const std::uint32_t comm = op.comm.index();
  const std::int64_t me = rank_in(comm, r);
  if (me < 0 || rank_in(comm, static_cast<std::uint32_t>(op.peer)) < 0) {
    bad_op(k, r,
           fmt::format("exchange_series with root {} on communicator {} (\"{}\"): both must be members",
                       op.peer, comm, comms_[comm].name));
    return Step::kBlocked;
  }
  if (series_.size() < comms_.size()) series_.resize(comms_.size());
  Series& s = series_[comm];
  s.here.resize(comms_[comm].members.size(), 0);
  s.here[static_cast<std::size_t>(me)] = 1;
  k.stage = Stage::kFinishing;
  if (++s.arrived == s.here.size()) {
    run_series(comm);
    s.arrived = 0;
    std::fill(s.here.begin(), s.here.end(), std::uint8_t{0});
  }
  return Step::kBlocked;
}

// What one message costs that meets nobody.
SeriesMessage::Cost Simulation::series_cost(std::uint32_t src, std::uint32_t dst, std::int64_t bytes) {
  const HostId a = placement_[src], b = placement_[dst];
  MessageCost::Path path;
  path.local = a == b;
  if (!path.local) {
    if (cost_.protocol_of(OpKind::send, bytes) != Protocol::kEager)
      path.latency_back = router_.between(b, a).latency;
    const auto route = router_.between(a, b);
    if (!route.reachable) {
      fail(bad_input({}, "no route", platform_.fabric.host_name(a) + " to " + platform_.fabric.host_name(b)));
      return {};
    }
    path.latency = route.latency;
    path.capacity = network_.narrowest(route.links);
  }
  const MessageCost::Parts parts = cost_.uncontended(bytes, path);
  SeriesMessage::Cost c;
  c.send_overhead = parts.send_cpu.seconds();
  c.request = parts.request.seconds();
  c.permission = parts.permission.seconds();
  c.latency = parts.latency.seconds();
  c.transfer = parts.transfer.seconds();
  c.recv_overhead = parts.recv_cpu.seconds();
  c.waits = parts.protocol != Protocol::kEager;
  c.send_waits = parts.protocol == Protocol::kRendezvous;
  return c;
}

// Members are at their places; the clock is at the arrival of the last one.
void Simulation::run_series(std::uint32_t comm) {
  const auto& members = comms_[comm].members;
  const std::size_t p = members.size();
  struct Member {
    std::uint32_t rank = 0;
    std::span<const std::int64_t> list;
    traces::SeriesSegment segment;
    std::int64_t step = 0;
    traces::SeriesCursor cursor;
    double computed = 0;
  };
  std::vector<Member> column(p);
  std::vector<double> time(p), scratch;
  std::int64_t exchanges = 0, candidate = 0, row = 0;
  std::size_t root = 0;
  Instant base = now_;
  for (std::size_t i = 0; i < p; ++i)
    base = std::min(base, ranks_[static_cast<std::uint32_t>(members[i])].op_start);
  for (std::size_t i = 0; i < p; ++i) {
    const auto world = static_cast<std::uint32_t>(members[i]);
    Rank& k = ranks_[world];
    auto at = k.program.at(k.pc);
    if (!at) return fail(std::move(at).error());
    const Op& op = **at;
    const auto list = k.program.list(k.pc, op);
    const auto own_root = static_cast<std::size_t>(rank_in(comm, static_cast<std::uint32_t>(op.peer)));
    const std::int64_t own_exchanges = traces::series_exchanges(list);
    if (i == 0) {
      root = own_root;
      exchanges = own_exchanges;
      candidate = op.amount;
      row = list[0];
    } else if (own_root != root || own_exchanges != exchanges || op.amount != candidate || list[0] != row) {
      return bad_op(
          k, world,
          fmt::format("exchange_series disagrees with rank {} on {}: {} exchanges of {} and {} bytes, not "
                      "{} of {} and {}, or another root",
                      members[0], comms_[comm].name, own_exchanges, op.amount, list[0], exchanges, candidate,
                      row));
    }
  }
  for (std::size_t d = 0; d < p; ++d) {
    Member& m = column[d];
    m.rank = static_cast<std::uint32_t>(members[(root + d) % p]);
    Rank& k = ranks_[m.rank];
    m.list = k.program.list(k.pc, **k.program.at(k.pc));
    m.cursor = traces::SeriesCursor(m.list);
    time[d] = (k.op_start - base).seconds();
  }
  if (candidate > (std::int64_t{1} << 40) || row > (std::int64_t{1} << 40))
    return bad_op(ranks_[column[0].rank], column[0].rank, "an exchange of more than 2^40 bytes");

  pattern_.build(static_cast<std::uint32_t>(p), candidate, row);
  Costs sums;
  for (SeriesMessage& m : pattern_.messages) {
    const std::uint32_t from = column[m.from].rank, to = column[m.to].rank;
    m.cost = series_cost(from, to, m.bytes);
    if (error_) return;
    const auto n = static_cast<std::uint64_t>(exchanges);
    sums.count += n;
    sums.bytes += n * static_cast<std::uint64_t>(m.bytes);
    const HostId a = placement_[from], b = placement_[to];
    if (a == b) continue;
    const auto route = router_.between(a, b);
    sums.hops += n * route.links.size();
    sums.latency += Elapsed::of_seconds(static_cast<double>(n) * m.cost.latency);
    sums.transfer += Elapsed::of_seconds(static_cast<double>(n) * m.cost.transfer);
    network_.count_bytes(route.links, n * static_cast<std::uint64_t>(cost_.size(m.bytes)));
  }
  all_.count += sums.count;
  all_.bytes += sums.bytes;
  all_.hops += sums.hops;
  all_.latency += sums.latency;
  all_.transfer += sums.transfer;

  // Runs a member's kernels up to its next exchange, or to the end.
  const auto compute = [&](std::size_t d) {
    Member& m = column[d];
    double took = 0;
    while (true) {
      if (m.step == m.segment.steps) {
        m.step = 0;
        if (!m.cursor.next(m.segment)) {
          m.segment.steps = 0;
          break;
        }
      }
      for (std::size_t i = 0; i < m.segment.size(); ++i) {
        const traces::KernelShape shape = m.segment.kernel(i).at(m.step);
        if (!traces::is_empty(shape)) took += kernel_seconds(m.rank, shape);
      }
      ++m.step;
      if (m.segment.exchange) break;
    }
    m.computed += took;
    time[d] += took;
  };
  for (std::int64_t e = 0; e < exchanges; ++e) {
    for (std::size_t d = 0; d < p; ++d) compute(d);
    pattern_.exchange(time, scratch);
  }
  std::vector<std::array<double, kCauseCount>> waited(p);
  for (const SeriesMessage& m : pattern_.messages) {
    const auto add = [&](std::uint32_t member, Cause c, double s) {
      waited[member][static_cast<std::size_t>(c)] += s;
    };
    const auto n = static_cast<double>(exchanges);
    add(m.from, Cause::kSendOverhead, n * m.cost.send_overhead);
    add(m.to, Cause::kRecvOverhead, n * m.cost.recv_overhead);
    add(m.to, Cause::kTransfer, m.waits.transfer);
    add(m.to, Cause::kLatency, m.waits.latency);
    add(m.to, Cause::kHandshake, m.waits.handshake);
    add(m.to, Cause::kLateSender, m.waits.late_sender);
    if (!m.cost.send_waits) continue;
    add(m.from, Cause::kHandshake, n * (m.cost.request + m.cost.permission));
    add(m.from, Cause::kLatency, n * m.cost.latency);
    add(m.from, Cause::kTransfer, n * m.cost.transfer);
    add(m.from, Cause::kLateReceiver, m.waits.late_receiver);
  }
  for (std::size_t d = 0; d < p; ++d) {
    compute(d);
    Rank& k = ranks_[column[d].rank];
    // Never before the last member came: without exchanges nothing holds a member back, but its end is told here.
    const Instant end = std::max(now_, base + Elapsed::of_seconds(time[d]));
    const Elapsed computed = Elapsed::of_seconds(column[d].computed);
    k.spent[static_cast<int>(Part::kCompute)] += computed;
    k.spent[static_cast<int>(Part::kCollective)] += kNoTime - computed;
    waited[d][static_cast<std::size_t>(Cause::kLateSender)] += (end - base).seconds() - time[d];
    CauseBook::explain_series(causes_.of(column[d].rank), waited[d], (end - k.op_start) - computed);
    fingerprint_ = (fingerprint_ ^ static_cast<std::uint64_t>(end.rounded().time_since_epoch().count())) *
                   0x100000001b3ULL;
    post_event(end, EventKind::kRankTimer, column[d].rank);
  }
}

}  // namespace weft::replay
