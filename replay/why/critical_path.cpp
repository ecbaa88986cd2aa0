#include "replay/why/critical_path.hpp"

#include <algorithm>
#include <utility>

#include "replay/messages/flow_terms.hpp"

namespace weft::replay {

namespace {

constexpr std::uint32_t kRoot = 0;

constexpr std::array<PathPart, 5> kOwnParts{PathPart::kCompute, PathPart::kSendOverhead,
                                            PathPart::kRecvOverhead, PathPart::kPolls, PathPart::kOther};
constexpr std::array<PathPart, 5> kWireParts{PathPart::kHandshake, PathPart::kLatency, PathPart::kTransfer,
                                             PathPart::kContention, PathPart::kInOrder};

Elapsed of(const CauseBook::Account& a, Cause c) { return a[static_cast<std::size_t>(c)]; }

}  // namespace

CriticalPath::CriticalPath(bool on, const MessageCost& cost, const Ranks& ranks, CauseBook& causes,
                           const Agenda& agenda)
    : on_(on), cost_(cost), ranks_(ranks), causes_(causes), agenda_(agenda) {
  if (!on_) return;
  nodes_.emplace_back();
  nodes_[kRoot].holders = ranks.count() + 1;
  heads_.resize(ranks.count());
}

std::uint32_t CriticalPath::take() {
  if (free_.empty()) {
    nodes_.emplace_back();
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  const std::uint32_t node = free_.back();
  free_.pop_back();
  nodes_[node] = Node{};
  return node;
}

// Gives back all that only this hold kept.
void CriticalPath::drop(std::uint32_t& node) {
  std::uint32_t n = std::exchange(node, kNone);
  while (n != kNone && --nodes_[n].holders == 0) {
    free_.push_back(n);
    n = nodes_[n].parent;
  }
}

void CriticalPath::remember(std::uint32_t rank, Instant since) {
  const Rank& k = ranks_[rank];
  const CauseBook::Account& a = causes_.of(rank);
  Head& h = heads_[rank];
  h.since = since;
  h.op = k.pc;
  h.computed = k.total(Part::kCompute);
  h.sends = of(a, Cause::kSendOverhead);
  h.receives = of(a, Cause::kRecvOverhead);
  h.polls = of(a, Cause::kPolls);
  h.slept = kNoTime;
}

std::uint32_t CriticalPath::cut(std::uint32_t rank, Instant now) {
  Head& h = heads_[rank];
  if (now == h.since) return h.node;
  const CauseBook::Account& a = causes_.of(rank);
  std::array<Elapsed, 5> parts;
  parts[kCompute] = ranks_[rank].total(Part::kCompute) - h.computed;
  parts[kSend] = of(a, Cause::kSendOverhead) - h.sends;
  parts[kRecv] = of(a, Cause::kRecvOverhead) - h.receives;
  parts[kPoll] = of(a, Cause::kPolls) - h.polls;
  parts[kOther] = (now - h.since) - (parts[kCompute] + parts[kSend] + parts[kRecv] + parts[kPoll]);
  const Node& before = nodes_[h.node];
  const bool joins = h.node != kRoot && !before.is_message && before.rank == rank &&
                     before.region == h.region && before.holders == 1;
  if (!joins) {
    const std::uint32_t node = take();
    Node& n = nodes_[node];
    n.op = h.op;
    n.rank = rank;
    n.region = h.region;
    n.parent = h.node;
    n.holders = 1;
    h.node = node;
  }
  Node& n = nodes_[h.node];
  for (std::size_t i = 0; i < parts.size(); ++i) n.parts[i] += parts[i];
  n.slept += h.slept;
  n.end = now;
  remember(rank, now);
  return h.node;
}

std::uint32_t CriticalPath::message(const Message& m, bool sender, bool envelope) {
  const bool eager = m.protocol == Protocol::kEager, held = (m.state & kHeldBack) != 0;
  // A probe waits for the request of a message alone; its data come later, and are what counts. Those of an eager message that
  // waited for its turn had come before.
  const bool request = envelope || (m.state & kStarted) == 0 || (leaves_at_once(m.protocol) && held);
  if (request && held && nodes_[m.path].end == agenda_.now()) return hold(m.path);
  CauseBook::Account a{};
  causes_.explain(a, m, sender, nodes_[m.path].end, agenda_.now());
  const std::uint32_t parent = hold(m.path);
  const std::uint32_t node = take();
  Node& n = nodes_[node];
  n.parts[kHand] = of(a, Cause::kHandshake);
  n.parts[kLat] = of(a, Cause::kLatency);
  n.parts[kMove] = of(a, Cause::kTransfer);
  n.parts[kShare] = of(a, Cause::kContention);
  n.parts[kTurn] = of(a, Cause::kInOrder) + of(a, Cause::kLateSender) + of(a, Cause::kLateReceiver);
  n.end = agenda_.now();
  n.is_request = request;
  n.op = n.is_request ? 0 : static_cast<std::uint64_t>(m.bytes);
  n.rank = m.src;
  n.receiver = m.dst;
  n.sender_waits = sender;
  n.region = heads_[sender ? m.src : m.dst].region;
  n.parent = parent;
  n.holders = 1;
  n.held_by = m.held_by;
  n.is_message = true;
  n.own_pace = m.flow.valid() ? at_own_pace(cost_, m) : m.hops == 0;
  if (m.hops > 0) {
    const bool asks = !eager && !cost_.known_at_once();
    const int first = (request || asks) && !held ? 1 : 0;  // the way of its request, or of its first byte
    const int permission = !request && asks && cost_.has_permission() ? 1 : 0;
    n.trips = static_cast<std::uint8_t>(first + permission + (request ? 0 : 1));
    const double ways = first * cost_.envelope_latencies() + permission +
                        (request ? 0 : cost_.data_latencies(m.bytes, eager));
    n.link_latencies = ways * m.hops;
  }
  return node;
}

void CriticalPath::go_on(std::uint32_t rank, std::uint32_t node) {
  drop(heads_[rank].node);
  heads_[rank].node = node;
  remember(rank, agenda_.now());
}

void CriticalPath::run_begins(std::uint32_t run, std::uint32_t rank) {
  if (!on_) return;
  if (run >= runs_.size()) runs_.resize(run + std::size_t{1}, kNone);
  runs_[run] = hold(cut(rank, agenda_.now()));
}

void CriticalPath::run_woken(std::uint32_t run, const Message& m, bool sender) {
  if (!on_) return;
  const std::uint32_t node = message(m, sender);
  drop(runs_[run]);
  runs_[run] = node;
}

void CriticalPath::run_paid(std::uint32_t run, std::uint32_t rank, Cause cause) {
  if (!on_) return;
  const std::uint32_t node = take();
  Node& n = nodes_[node];
  n.end = agenda_.now();
  n.parts[cause == Cause::kRecvOverhead ? kRecv : kSend] = n.end - nodes_[runs_[run]].end;
  n.op = ranks_[rank].pc;
  n.rank = rank;
  n.region = heads_[rank].region;
  n.parent = runs_[run];  // whose hold it takes over
  n.holders = 1;
  runs_[run] = node;
}

void CriticalPath::run_ends(std::uint32_t run) {
  if (on_) drop(runs_[run]);
}

void CriticalPath::task_comes(std::uint32_t task, std::uint32_t rank) {
  if (!on_) return;
  if (task >= tasks_.size()) tasks_.resize(task + std::size_t{1}, kNone);
  tasks_[task] = hold(cut(rank, agenda_.now()));
}

void CriticalPath::task_worked(std::uint32_t task, std::uint32_t rank, std::uint64_t op,
                               std::optional<Cause> cause, std::uint32_t& before) {
  if (!on_) return;
  const std::uint32_t node = take();
  Node& n = nodes_[node];
  n.end = agenda_.now();
  n.parts[!cause                           ? kCompute
          : *cause == Cause::kRecvOverhead ? kRecv
                                           : kSend] = n.end - nodes_[tasks_[task]].end;
  n.op = op;
  n.rank = rank;
  n.region = heads_[rank].region;
  n.parent = tasks_[task];  // whose hold it takes over
  n.holders = 2;
  tasks_[task] = node;
  drop(before);
  before = node;
}

void CriticalPath::launched(std::uint32_t rank, std::uint32_t& since) {
  if (!on_) return;
  const std::uint32_t node = hold(cut(rank, agenda_.now()));
  drop(since);
  since = node;
}

void CriticalPath::woken_by_kernel(std::uint32_t rank, std::uint32_t since) {
  if (!on_) return;
  const std::uint32_t parent = hold(since);
  // The wait counts as computation, which is booked when the rank goes on.
  const Elapsed waited = agenda_.now() - ranks_[rank].blocked_since;
  if (nodes_[parent].end == agenda_.now()) {  // a copy, which has its node
    go_on(rank, parent);
    heads_[rank].computed += waited;
    return;
  }
  const std::uint32_t node = take();
  Node& n = nodes_[node];
  n.end = agenda_.now();
  n.parts[kCompute] = n.end - nodes_[parent].end;
  n.op = ranks_[rank].pc;
  n.rank = rank;
  n.region = heads_[rank].region;
  n.parent = parent;
  n.holders = 1;
  go_on(rank, node);
  heads_[rank].computed += waited;
}

void CriticalPath::copied(std::uint32_t rank, std::uint32_t& since, const Copy& copy) {
  if (!on_) return;
  const Instant begin = nodes_[since].end;
  // Takes over the hold of what comes before.
  const auto follow = [&](Instant end) -> Node& {
    const std::uint32_t node = take();
    Node& n = nodes_[node];
    n.end = end;
    n.op = ranks_[rank].pc;
    n.rank = rank;
    n.region = heads_[rank].region;
    n.parent = since;
    n.holders = 1;
    since = node;
    return n;
  };
  if (copy.before > kNoTime) follow(begin + copy.before).parts[kCompute] = copy.before;
  Node& n = follow(agenda_.now());
  n.parts[kLat] = copy.latency;
  const Elapsed data = (n.end - begin) - copy.before - copy.latency;
  n.parts[kMove] = std::min(copy.alone, data);
  n.parts[kShare] = data - n.parts[kMove];
  n.op = copy.bytes;
  n.receiver = rank;
  n.held_by = copy.held_by;
  n.is_message = n.is_copy = true;
  n.own_pace = copy.own_pace;
}

// The exchanges are timed at once, so which member waited for which is not kept: after the last one came, `rank` computes,
// and what is left is divided as its waits were.
void CriticalPath::series_over(std::uint32_t rank, std::uint32_t last, std::uint32_t past, Instant end,
                               Elapsed computed, const std::array<double, kCauseCount>& seconds) {
  if (!on_) return;
  const Elapsed total = end - agenda_.now();
  const std::uint32_t own = take();
  const std::uint32_t wire = take();
  Node& c = nodes_[own];
  c.parts[kCompute] = std::min(std::max(computed, kNoTime), total);
  c.end = agenda_.now() + c.parts[kCompute];
  c.op = ranks_[rank].pc;
  c.rank = rank;
  c.region = heads_[rank].region;
  c.parent = hold(past);
  c.holders = 1;
  Node& w = nodes_[wire];
  const std::array<double, 5> share{seconds[static_cast<std::size_t>(Cause::kHandshake)],
                                    seconds[static_cast<std::size_t>(Cause::kLatency)],
                                    seconds[static_cast<std::size_t>(Cause::kTransfer)], 0.0, 0.0};
  const double sum = share[kHand] + share[kLat] + share[kMove];
  Elapsed left = total - c.parts[kCompute];
  for (const std::size_t i : {std::size_t{kHand}, std::size_t{kLat}}) {
    if (!(sum > 0)) break;
    w.parts[i] = std::min(left, Elapsed::of_seconds(left.seconds() * share[i] / sum));
  }
  w.parts[kMove] = left - w.parts[kHand] - w.parts[kLat];
  w.end = end;
  w.rank = last;
  w.receiver = rank;
  w.region = heads_[rank].region;
  w.parent = own;
  w.holders = 1;
  w.is_message = true;
  // Who came last and does nothing but compute waits for nobody.
  w.is_series = rank != last || left.rounded() > Duration(0);
  go_on(rank, wire);
  heads_[rank].since = end;
}

void CriticalPath::enters(std::uint32_t rank, std::uint32_t region) {
  if (!on_) return;
  cut(rank, agenda_.now());
  heads_[rank].region = region;
}

PathResult CriticalPath::path() {
  std::uint32_t last = 0;
  for (std::uint32_t r = 1; r < ranks_.count(); ++r)
    if (ranks_[r].finish > ranks_[last].finish) last = r;
  PathResult out;
  out.known = true;
  std::vector<std::uint32_t> chain;
  if (ranks_.count() > 0)
    for (std::uint32_t n = cut(last, ranks_[last].finish); n != kRoot; n = nodes_[n].parent)
      chain.push_back(n);
  std::reverse(chain.begin(), chain.end());
  out.segments.reserve(chain.size());
  Elapsed slept;
  Elapsed sum;  // rounded as a whole, so that parts add up
  Duration before{0};
  const auto add = [&](Elapsed d, PathPart part, PathSegment& s) {
    sum += d;
    const Duration rounded = sum.rounded() - before;
    before = sum.rounded();
    s.parts[static_cast<std::size_t>(part)] += rounded;
    out.parts[static_cast<std::size_t>(part)] += rounded;
    return rounded;
  };
  for (const std::uint32_t i : chain) {
    const Node& n = nodes_[i];
    const bool goes_on = !n.is_message && !out.segments.empty() && !out.segments.back().is_message() &&
                         out.segments.back().rank.index() == n.rank &&
                         out.segments.back().region == (n.region == kNone ? RegionId() : RegionId(n.region));
    if (!goes_on) {
      PathSegment& s = out.segments.emplace_back();
      s.from = SimTime(before);
      s.rank = RankId(n.rank);
      if (n.region != kNone) s.region = RegionId(n.region);
      if (n.is_message) {
        s.receiver = RankId(n.receiver);
        s.bytes = n.op;
        s.held_by = n.held_by;
        s.copy = n.is_copy;
        s.sender_waited = n.sender_waits;
        (n.is_copy ? out.copies : out.messages) += n.is_request ? 0 : 1;
        (n.is_copy ? out.copied : out.bytes) += n.op;
        if (n.own_pace) out.own_pace_bytes += n.op;
        if (!n.is_copy && !n.is_request && !n.own_pace && !n.is_series)
          out.header_bytes += static_cast<std::uint64_t>(cost_.size(0));
        out.trips += n.trips;
        out.link_latencies += n.link_latencies;
        out.series += n.is_series ? 1 : 0;
      } else {
        s.op = n.op;
      }
    }
    PathSegment& s = out.segments.back();
    const auto& names = n.is_message ? kWireParts : kOwnParts;
    for (std::size_t p = 0; p < names.size(); ++p) {
      const Duration added = add(n.parts[p], names[p], s);
      if (n.own_pace && names[p] == PathPart::kTransfer) out.own_pace += added;
    }
    s.to = SimTime(before);
    slept += n.slept;
  }
  out.slept = slept.rounded();
  return out;
}

}  // namespace weft::replay
