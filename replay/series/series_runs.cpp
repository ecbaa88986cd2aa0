#include "replay/series/series_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/byte_sum.hpp"
#include "topology/routing/no_route.hpp"

namespace weft::replay {

using traces::Op;
using traces::OpKind;

void SeriesRuns::arrive(std::uint32_t r, const Op& op) {
  const std::uint32_t comm = op.comm.index();
  const std::int64_t me = comms_.rank_in(comm, r);
  if (me < 0 || comms_.rank_in(comm, static_cast<std::uint32_t>(op.peer)) < 0)
    return agenda_.fail(ranks_.bad_operation(
        r, fmt::format("exchange_series with root {} on communicator {} (\"{}\"): both must be members",
                       op.peer, comm, comms_.name(comm))));
  Gathered& g = gathered_[comm];
  g.here.resize(comms_.members(comm).size(), 0);
  g.here[static_cast<std::size_t>(me)] = 1;
  if (++g.count < g.here.size()) return;
  run(comm);
  g.count = 0;
  std::fill(g.here.begin(), g.here.end(), std::uint8_t{0});
}

void SeriesRuns::run(std::uint32_t comm) {
  Terms terms;
  if (!agree(comm, terms, false)) return;
  const Instant base = place(comm, terms);
  pattern_.build(static_cast<std::uint32_t>(column_.size()), terms.candidate, terms.row);
  if (!price(terms.exchanges)) return;
  for (std::int64_t e = 0; e < terms.exchanges; ++e) {
    for (std::size_t d = 0; d < column_.size(); ++d) compute(d);
    pattern_.exchange(times_, scratch_);
  }
  bool as_many = true;
  for (std::size_t d = 0; d < column_.size(); ++d) {
    compute(d);
    as_many = as_many && column_[d].exchanges == terms.exchanges;
  }
  if (!as_many && !agree(comm, terms, true)) return;
  book_waits(terms.exchanges);
  std::uint32_t last = column_.front().rank;
  for (const Member& m : column_)
    if (ranks_[m.rank].op_start > ranks_[last].op_start) last = m.rank;
  const std::uint32_t past = hindsight_.series_begins(last);
  for (std::size_t d = 0; d < column_.size(); ++d) wake(d, base, comm, last, past);
  hindsight_.series_told(past);
}

SeriesRuns::Terms SeriesRuns::terms_of(std::uint32_t comm, std::uint32_t rank, const Op& op) const {
  const Rank& k = ranks_[rank];
  const auto list = k.program.list(k.pc, op);
  return {static_cast<std::size_t>(comms_.rank_in(comm, static_cast<std::uint32_t>(op.peer))), 0, op.amount,
          list[0]};
}

bool SeriesRuns::agree(std::uint32_t comm, Terms& terms, bool counted) {
  const auto& members = comms_.members(comm);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto rank = static_cast<std::uint32_t>(members[i]);
    Rank& k = ranks_[rank];
    auto at = k.program.at(k.pc);
    if (!at) {
      agenda_.fail(std::move(at).error());
      return false;
    }
    Terms own = terms_of(comm, rank, **at);
    if (counted || i == 0)
      own.exchanges = traces::series_exchanges(k.program.list(k.pc, **at));
    else
      own.exchanges = terms.exchanges;
    if (i == 0) terms = own;
    if (own == terms) continue;
    agenda_.fail(ranks_.bad_operation(
        rank,
        fmt::format("exchange_series disagrees with rank {} on {}: {} exchanges of {} and {} bytes, not "
                    "{} of {} and {}, or another root",
                    members[0], comms_.name(comm), own.exchanges, own.candidate, own.row, terms.exchanges,
                    terms.candidate, terms.row)));
    return false;
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (terms.candidate > kMost || terms.row > kMost) {
    agenda_.fail(ranks_.bad_operation(static_cast<std::uint32_t>(members[terms.root]),
                                      "an exchange of more than 2^40 bytes"));
    return false;
  }
  return true;
}

Instant SeriesRuns::place(std::uint32_t comm, const Terms& terms) {
  const auto& members = comms_.members(comm);
  const std::size_t p = members.size();
  Instant base = Instant::never();
  for (const std::int32_t m : members) base = std::min(base, ranks_[static_cast<std::uint32_t>(m)].op_start);
  column_.assign(p, Member{});
  times_.resize(p);
  for (std::size_t d = 0; d < p; ++d) {
    Member& m = column_[d];
    m.rank = static_cast<std::uint32_t>(members[(terms.root + d) % p]);
    Rank& k = ranks_[m.rank];
    m.cursor = traces::SeriesCursor(k.program.list(k.pc, **k.program.at(k.pc)));
    times_[d] = m.since = (k.op_start - base).seconds();
  }
  return base;
}

// What one message costs that meets nobody.
bool SeriesRuns::price(std::uint32_t src, std::uint32_t dst, std::int64_t bytes, SeriesMessage::Cost& out) {
  const HostId a = ways_.placement[src], b = ways_.placement[dst];
  MessageCost::Path path;
  path.local = a == b;
  if (const LinkId link = sockets_.link(src, dst); link.valid()) {
    path.between_sockets = true;
    path.capacity = ways_.network.narrowest({&link, 1});
  }
  if (!path.local) {
    if (ways_.cost.protocol_of(OpKind::send, bytes) != Protocol::kEager)
      path.latency_back = ways_.routes.find(b, a).latency;
    const auto route = ways_.routes.find(a, b);
    if (!route.reachable) {
      agenda_.fail(topology::no_route(ways_.fabric, a, b));
      return false;
    }
    path.latency = route.latency;
    path.capacity = ways_.network.narrowest(route.links);
  }
  const MessageCost::Parts parts = ways_.cost.uncontended(bytes, path);
  out.send_overhead = parts.send_cpu.seconds();
  out.request = parts.request.seconds();
  out.permission = parts.permission.seconds();
  out.latency = parts.latency.seconds();
  out.transfer = parts.transfer.seconds();
  out.recv_overhead = parts.recv_cpu.seconds();
  out.waits = parts.protocol != Protocol::kEager;
  out.send_waits = parts.protocol == Protocol::kRendezvous;
  return true;
}

bool SeriesRuns::price(std::int64_t exchanges) {
  const auto n = static_cast<std::uint64_t>(exchanges);
  Costs sums;
  for (SeriesMessage& m : pattern_.messages) {
    const std::uint32_t from = column_[m.from].rank, to = column_[m.to].rank;
    if (!price(from, to, m.bytes, m.cost)) return false;
    sums.count += n;
    sums.bytes = add_bytes(sums.bytes, times_bytes(n, static_cast<std::uint64_t>(m.bytes)));
    const SeriesMessage::Cost& c = m.cost;
    sums.latency += Elapsed::of_seconds(static_cast<double>(n) * (c.request + c.permission + c.latency));
    sums.transfer += Elapsed::of_seconds(static_cast<double>(n) * c.transfer);
    if (sockets_.is_copy(from, to)) continue;
    const auto route = ways_.routes.at(sockets_.id(ways_.routes, from, to));
    if (!route.in_host()) sums.hops += n * route.links.size();
    ways_.network.count_bytes(route.links,
                              times_bytes(n, static_cast<std::uint64_t>(ways_.cost.size(m.bytes))));
  }
  ways_.traffic.add_series(sums);
  return true;
}

void SeriesRuns::book(Member& m) {
  Rank& k = ranks_[m.rank];
  const Elapsed computed = Elapsed::of_seconds(m.computed), idle = Elapsed::of_seconds(m.idle);
  k.spend(Part::kCompute, computed - m.booked_computed);
  k.spend(Part::kCollective, idle - m.booked_idle);
  m.booked_computed = computed;
  m.booked_idle = idle;
}

// Runs a member's kernels up to its next exchange, or to the end.
void SeriesRuns::compute(std::size_t distance) {
  Member& m = column_[distance];
  m.idle += times_[distance] - m.since;
  // The clock of its core goes by that, as it does where messages go one by one.
  if (compute_.go_by_waits()) book(m);
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
      if (!traces::is_empty(shape)) took += compute_.kernel_seconds(m.rank, shape);
    }
    ++m.step;
    if (m.segment.exchange) {
      ++m.exchanges;
      break;
    }
  }
  m.computed += took;
  times_[distance] += took;
  m.since = times_[distance];
}

void SeriesRuns::book_waits(std::int64_t exchanges) {
  const auto n = static_cast<double>(exchanges);
  for (const SeriesMessage& m : pattern_.messages) {
    const auto add = [&](std::uint32_t member, Cause c, double s) {
      column_[member].waited[static_cast<std::size_t>(c)] += s;
    };
    add(m.from, Cause::kSendOverhead, n * m.cost.send_overhead);
    add(m.to, Cause::kRecvOverhead, n * m.cost.recv_overhead);
    add(m.to, Cause::kTransfer, m.waits.transfer);
    add(m.to, Cause::kLatency, m.waits.latency);
    add(m.to, Cause::kHandshake, m.waits.handshake);
    add(m.to, Cause::kSendOverhead, m.waits.send_overhead);
    add(m.to, Cause::kLateSender, m.waits.late_sender);
    if (!m.cost.send_waits) continue;
    add(m.from, Cause::kHandshake, n * (m.cost.request + m.cost.permission));
    add(m.from, Cause::kLatency, n * m.cost.latency);
    add(m.from, Cause::kTransfer, n * m.cost.transfer);
    add(m.from, Cause::kLateReceiver, m.waits.late_receiver);
  }
}

void SeriesRuns::wake(std::size_t distance, Instant base, std::uint32_t comm, std::uint32_t last,
                      std::uint32_t past) {
  Member& m = column_[distance];
  Rank& k = ranks_[m.rank];
  const Instant done = base + Elapsed::of_seconds(times_[distance]);
  // Never before the last member came: without exchanges nothing holds a member back, but its end is told here.
  const Instant end = std::max(ranks_[last].op_start, done);
  // Seconds are rounded. Where clocks go by waits, what they make up for is computed: nothing is left that looks like one.
  const Elapsed computed = compute_.go_by_waits() ? std::max(kNoTime, (done - k.op_start) - m.booked_idle)
                                                  : Elapsed::of_seconds(m.computed);
  k.spend(Part::kCompute, computed - m.booked_computed);
  // Its wait books the whole time from its arrival to its end.
  k.spend(Part::kCollective, kNoTime - computed - m.booked_idle);
  m.waited[static_cast<std::size_t>(Cause::kLateSender)] += (end - base).seconds() - times_[distance];
  causes_.waited_for_series(m.rank, m.waited, (end - k.op_start) - computed);
  hindsight_.series_over(m.rank, last, past, end, computed, m.waited);
  hindsight_.in_series(m.rank, comm, last, end, computed);
  ways_.traffic.happened(m.rank, end);
  agenda_.post(end, EventKind::kRankTimer, m.rank);
}

}  // namespace weft::replay
