#include "tests/replay/slow_replay.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <set>
#include <tuple>

namespace weft::testing {
namespace {

using Time = long double;
constexpr Time kNever = std::numeric_limits<Time>::infinity();

template <class Segment>
const Segment& segment_of(const std::vector<Segment>& list, std::int64_t bytes) {
  const Segment* found = &list.front();
  for (const Segment& s : list)
    if (s.from <= bytes) found = &s;
  return *found;
}

Time piecewise(const std::vector<topology::CostSegment>& list, std::int64_t bytes) {
  const auto& s = segment_of(list, bytes);
  return std::max(Time{0}, static_cast<Time>(s.intercept + s.per_byte * static_cast<double>(bytes)));
}

Time seconds(Duration d) { return static_cast<Time>(d.count()) * 1e-12L; }

struct Packet {
  std::uint32_t src = 0, dst = 0, context = 0;
  std::int32_t tag = 0;
  std::int64_t bytes = 0;
  std::uint32_t send_request = 0, recv_request = 0;
  bool eager = false, sender_waits = false;
  bool envelope_here = false;  // envelope
  bool in_turn = false;        // all earlier ones of the channel were handed over, so was it
  bool matched = false, arrived = false;
  bool undecided = false;  // came at this instant, and a receive from any source may take it
  Time sent = 0;
  bool between_sockets = false;
  std::vector<LinkId> route;
  double cap = 0;
  Time left = 0, rate = 0;
};

struct Posted {
  std::int32_t source, tag;
  std::uint32_t context, request;
};

struct Request {
  bool over = false;
  std::int64_t bytes = 0;
};

struct Process {
  std::size_t at = 0;
  bool paid = false;  // the delay of action `at` is over
  bool done = false;
  Time finish = 0;
  std::vector<Request> requests;
  std::list<Posted> posted;
  std::list<Packet*> unexpected;
};

class Slow {
 public:
  Slow(const std::vector<std::vector<Action>>& programs, const topology::Platform& platform,
       const std::vector<HostId>& placement, std::int64_t header, bool share)
      : programs_(programs),
        mpi_(platform.mpi),
        fabric_(platform.fabric),
        placement_(placement),
        header_(header),
        share_(share),
        ranks_(programs.size()),
        load_(platform.fabric.link_count(), 0) {
    std::map<std::uint32_t, std::uint32_t> before;
    const topology::SocketRule& rule = fabric_.socket_rule();
    for (const HostId h : placement) {
      const std::uint32_t r = before[h.index()]++, all = fabric_.ranks_on_sockets();
      const std::uint32_t s = rule.cyclic ? r % rule.sockets : all > 0 ? r * rule.sockets / all : 0;
      socket_.push_back(std::min(s, rule.sockets - 1));
    }
  }

  SlowResult run() {
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) go_[next_go_++] = r;
    while (true) {
      if (!go_.empty()) {
        const std::uint32_t r = go_.begin()->second;
        go_.erase(go_.begin());
        step(r);
        continue;
      }
      Time next = timers_.empty() ? kNever : timers_.begin()->first.first;
      if (next > now_ && !undecided_.empty()) {
        decide();
        continue;
      }
      if (next > now_) share_links();
      Packet* first = nullptr;
      for (Packet* p : flows_) {
        const Time end = now_ + p->left / p->rate;
        if (end < next) {
          next = end;
          first = p;
        }
      }
      if (next == kNever) break;
      for (Packet* p : flows_) p->left = std::max(Time{0}, p->left - p->rate * (next - now_));
      now_ = next;
      if (first != nullptr) {
        flows_.remove(first);
        arrive(*first);
      } else {
        const auto f = timers_.begin()->second;
        timers_.erase(timers_.begin());
        f();
      }
    }
    SlowResult out;
    out.finished = std::all_of(ranks_.begin(), ranks_.end(), [](const Process& p) { return p.done; });
    for (const Process& p : ranks_) out.finish.push_back(p.finish);
    out.waited_for_order = waited_;
    return out;
  }

 private:
  void after(Time delay, std::function<void()> f) {
    timers_.emplace(std::pair(now_ + delay, number_++), std::move(f));
  }
  void wake(std::uint32_t r) {
    for (const auto& [n, who] : go_)
      if (who == r) return;
    go_[next_go_++] = r;
  }

  // ---- ranks
  void step(std::uint32_t r) {
    Process& p = ranks_[r];
    while (p.at < programs_[r].size()) {
      const Action& a = programs_[r][p.at];
      if (!act(r, p, a)) return;
      ++p.at;
      p.paid = false;
    }
    if (!p.done) p.finish = now_;
    p.done = true;
  }
  bool act(std::uint32_t r, Process& p, const Action& a) {
    switch (a.kind) {
      case Action::Kind::kCompute:
        return delay_once(r, p, a.seconds);
      case Action::Kind::kPaySend:
        return delay_once(r, p, send_cost(a.bytes));
      case Action::Kind::kPayIsend:
        return delay_once(r, p, isend_cost(a.bytes));
      case Action::Kind::kPayFixed:
        return delay_once(r, p, recv_cost(a.bytes));
      case Action::Kind::kPay: {
        Time sum = 0;
        for (const std::uint32_t q : a.requests) sum += recv_cost(request(p, q).bytes);
        return delay_once(r, p, sum);
      }
      case Action::Kind::kSend:
        send(r, a);
        return true;
      case Action::Kind::kReceive:
        receive(r, a);
        return true;
      case Action::Kind::kWait:
        return std::all_of(a.requests.begin(), a.requests.end(),
                           [&](std::uint32_t q) { return request(p, q).over; });
      case Action::Kind::kProbe:
        return can_see(p, a);
    }
    return true;
  }
  // Begins the delay at the first call; later calls before its end (a wake by a message) change nothing.
  bool delay_once(std::uint32_t r, Process& p, Time d) {
    if (p.paid || d <= 0) return true;
    if (!delayed_.insert(r).second) return false;
    after(d, [this, r] {
      delayed_.erase(r);
      ranks_[r].paid = true;
      wake(r);
    });
    return false;
  }
  static Request& request(Process& p, std::uint32_t q) {
    if (q >= p.requests.size()) p.requests.resize(q + 1);
    return p.requests[q];
  }
  void complete(std::uint32_t r, std::uint32_t q, std::int64_t bytes) {
    request(ranks_[r], q) = {true, bytes};
    wake(r);
  }

  // ---- costs (docs/model.md, "Protocol")
  Time send_cost(std::int64_t n) const {
    if (!mpi_.send_cost.empty()) return piecewise(mpi_.send_cost, n);
    return seconds(mpi_.send_overhead) +
           static_cast<Time>(mpi_.send_overhead_per_byte * static_cast<double>(n));
  }
  Time isend_cost(std::int64_t n) const {
    return mpi_.isend_cost.empty() ? send_cost(n) : piecewise(mpi_.isend_cost, n);
  }
  Time recv_cost(std::int64_t n) const {
    if (!mpi_.recv_cost.empty()) return piecewise(mpi_.recv_cost, n);
    return seconds(mpi_.recv_overhead) +
           static_cast<Time>(mpi_.recv_overhead_per_byte * static_cast<double>(n));
  }
  Time copy_within_host(std::int64_t n) const {
    if (!mpi_.local_transfer.empty()) return piecewise(mpi_.local_transfer, n);
    const Time copy = mpi_.local_bandwidth > 0 ? static_cast<Time>(n) / mpi_.local_bandwidth : 0;
    return seconds(mpi_.local_latency) + copy;
  }
  // What of a copy does not grow with its bytes, and the rate of the rest; none: as fast as the link.
  std::pair<Time, double> socket_terms(std::int64_t n) const {
    Time latency = seconds(mpi_.local_latency);
    if (!mpi_.local_transfer.empty())
      latency = std::clamp(static_cast<Time>(segment_of(mpi_.local_transfer, n).intercept), Time{0},
                           copy_within_host(n));
    const Time rest = copy_within_host(n) - latency;
    return {latency, rest > 0 ? static_cast<double>(static_cast<Time>(n) / rest)
                              : std::numeric_limits<double>::infinity()};
  }
  Time leg_within_host() const { return mpi_.local_transfer.empty() ? seconds(mpi_.local_latency) : 0; }
  Time latency(const std::vector<LinkId>& route) const {
    Duration sum{0};
    for (const LinkId l : route) sum += fabric_.links().latency[l.index()];
    return seconds(sum);
  }
  Time typical_latency(HostId a, HostId b) const {
    std::vector<LinkId> route;
    (void)fabric_.routing().route(a, b, route);
    return latency(route);
  }
  // L(n) of a route whose links add up to `links`.
  Time scaled(Time links, std::int64_t n) const {
    if (mpi_.transfer.empty()) return links;
    return links * static_cast<Time>(segment_of(mpi_.transfer, n).latency_factor);
  }

  // ---- messages
  void send(std::uint32_t r, const Action& a) {
    packets_.emplace_back();
    Packet* const p = &packets_.back();
    p->src = r;
    p->dst = static_cast<std::uint32_t>(a.peer);
    p->context = a.context;
    p->tag = a.tag;
    p->bytes = a.bytes;
    p->send_request = a.request;
    p->sent = now_;
    p->eager = a.mode != Action::Mode::kSynchronous && a.bytes <= mpi_.eager_limit.value();
    p->sender_waits = !p->eager && a.mode != Action::Mode::kBuffered;
    request(ranks_[r], a.request) = {!p->sender_waits, 0};
    channels_[{p->dst, p->src, p->context}].push_back(p);
    if (p->eager) return leave(*p, 0);
    const HostId from = placement_[p->src], to = placement_[p->dst];
    after(from == to ? leg_within_host() : scaled(typical_latency(from, to), 0), [this, p] { envelope(*p); });
  }
  // The data are released: their route is chosen now, they set out after `before`.
  void leave(Packet& packet, Time before) {
    Packet* const p = &packet;
    const HostId from = placement_[p->src], to = placement_[p->dst];
    if (from == to && fabric_.sockets_joined() && socket_[p->src] != socket_[p->dst]) {
      p->between_sockets = true;
      p->route = {fabric_.socket_link(from, socket_[p->src], socket_[p->dst])};
      ++load_[p->route[0].index()];
      const Time wait = before + socket_terms(p->bytes).first;
      if (wait <= 0) return flow(*p);
      after(wait, [this, p] { flow(*p); });
      return;
    }
    if (from == to) {
      after(before + copy_within_host(p->bytes), [this, p] { arrive(*p); });
      return;
    }
    if (fabric_.routing().scope() == topology::RouteScope::kPair)
      (void)fabric_.routing().route(from, to, p->route);
    else {
      const auto counter = fabric_.routing().counter(from, to);
      (void)fabric_.routing().route_message(from, to, counter ? routed_by_[*counter]++ : routed_++, load_,
                                            p->route);
    }
    for (const LinkId l : p->route) ++load_[l.index()];
    const Time links = latency(p->route);
    Time wait = scaled(links, p->bytes);
    // The handshake of a large message is part of what a ping-pong measures: its request took L(0) already.
    if (!mpi_.transfer.empty() && !p->eager) wait = std::max(Time{0}, wait - scaled(links, 0));
    if (before + wait <= 0) return flow(*p);  // at once: others that leave now see what it leaves behind
    after(before + wait, [this, p] { flow(*p); });
  }
  void flow(Packet& p) {
    if (p.eager) envelope(p);
    p.left = static_cast<Time>(p.bytes + header_);
    if (p.left == 0) return arrive(p);
    p.cap = std::numeric_limits<double>::infinity();
    for (const LinkId l : p.route) p.cap = std::min(p.cap, fabric_.links().capacity[l.index()]);
    if (p.between_sockets)
      p.cap = std::min(p.cap, socket_terms(p.bytes).second);
    else if (!mpi_.transfer.empty())
      p.cap *= segment_of(mpi_.transfer, p.bytes).bandwidth_factor;
    flows_.push_back(&p);
  }
  void arrive(Packet& p) {
    if (p.eager && !p.envelope_here) envelope(p);  // within a host
    p.arrived = true;
    for (const LinkId l : p.route) --load_[l.index()];
    if (p.sender_waits) complete(p.src, p.send_request, 0);
    if (p.matched) complete(p.dst, p.recv_request, p.bytes);
    wake(p.dst);  // it may probe
  }

  // ---- matching: a channel's messages are handed over in the order of their sends
  void envelope(Packet& packet) {
    packet.envelope_here = true;
    auto& channel = channels_[{packet.dst, packet.src, packet.context}];
    for (Packet* p : channel) {
      if (p->in_turn) continue;
      if (!p->envelope_here) {
        if (p != &packet && !packet.in_turn) ++waited_;
        break;
      }
      p->in_turn = true;
      hand_over(*p);
    }
  }
  static bool fits(std::uint32_t context, std::int32_t source, std::int32_t tag, const Packet& p) {
    return p.context == context && (source < 0 || static_cast<std::uint32_t>(source) == p.src) &&
           (tag < 0 || tag == p.tag);
  }
  // Who certainly takes what does so at once; receives from any source choose when all of an instant has come.
  void hand_over(Packet& p) {
    Process& me = ranks_[p.dst];
    const auto r = taker(me, p);
    if (r != me.posted.end() && r->source >= 0 &&
        std::none_of(me.unexpected.begin(), me.unexpected.end(),
                     [&](const Packet* m) { return fits(r->context, r->source, r->tag, *m); }))
      return take(me, r, p);
    p.undecided = true;
    undecided_.push_back(&p);
    me.unexpected.push_back(&p);
  }
  static std::list<Posted>::iterator taker(Process& me, const Packet& p) {
    return std::find_if(me.posted.begin(), me.posted.end(),
                        [&](const Posted& r) { return fits(r.context, r.source, r.tag, p); });
  }
  void take(Process& me, std::list<Posted>::iterator r, Packet& p) {
    p.recv_request = r->request;
    me.posted.erase(r);
    match(p);
  }
  void decide() {
    std::vector<Packet*> all;
    all.swap(undecided_);
    std::stable_sort(all.begin(), all.end(), [](const Packet* a, const Packet* b) {
      return std::tuple(a->dst, a->sent, a->src) < std::tuple(b->dst, b->sent, b->src);
    });
    for (Packet* p : all) {
      if (!p->undecided) continue;  // a receive from one source took it
      p->undecided = false;
      Process& me = ranks_[p->dst];
      me.unexpected.erase(std::find(me.unexpected.begin(), me.unexpected.end(), p));
      if (const auto r = taker(me, *p); r != me.posted.end()) {
        take(me, r, *p);
        continue;
      }
      me.unexpected.push_back(p);
      wake(p->dst);
    }
  }
  void receive(std::uint32_t r, const Action& a) {
    Process& me = ranks_[r];
    request(me, a.request) = {};
    for (auto m = me.unexpected.begin(); m != me.unexpected.end(); ++m) {
      Packet& p = **m;
      if (!fits(a.context, a.peer, a.tag, p) || (a.peer < 0 && p.undecided)) continue;
      if (p.undecided && taker(me, p) != me.posted.end()) break;
      me.unexpected.erase(m);
      p.undecided = false;
      p.recv_request = a.request;
      return match(p);
    }
    me.posted.push_back({a.peer, a.tag, a.context, a.request});
  }
  void match(Packet& packet) {
    Packet* const p = &packet;
    p->matched = true;
    if (p->arrived) return complete(p->dst, p->recv_request, p->bytes);
    if (p->eager) return;
    const HostId from = placement_[p->src], to = placement_[p->dst];
    Time permission = 0;
    if (from == to)
      permission = leg_within_host();
    else if (mpi_.transfer.empty())
      permission = typical_latency(to, from);
    leave(*p, permission);
  }
  // An eager message can be seen when its data have come, any other when its envelope has; the earliest of each
  // sender only.
  bool can_see(const Process& me, const Action& a) const {
    std::vector<std::uint32_t> passed;
    for (const Packet* p : me.unexpected) {
      if (p->undecided || !fits(a.context, a.peer, a.tag, *p)) continue;
      if (std::find(passed.begin(), passed.end(), p->src) != passed.end()) continue;
      if (!p->eager || p->arrived) return true;
      passed.push_back(p->src);
    }
    return false;
  }

  // ---- rates: all flows rise together; who is at its own cap or on the link that fills first stops there
  void share_links() {
    if (!share_) {
      for (Packet* p : flows_) p->rate = static_cast<Time>(p->cap);
      return;
    }
    std::map<std::uint32_t, std::pair<Time, int>> links;  // what is left, flows still rising
    for (Packet* p : flows_) {
      p->rate = -1;
      for (const LinkId l : p->route) {
        auto& [left, rising] =
            links.try_emplace(l.index(), static_cast<Time>(fabric_.links().capacity[l.index()]), 0)
                .first->second;
        ++rising;
      }
    }
    std::size_t rising = flows_.size();
    while (rising > 0) {
      Time lowest = kNever;
      std::uint32_t full = 0;
      bool at_cap = false;
      for (const auto& [l, s] : links)
        if (s.second > 0 && s.first / s.second < lowest) {
          lowest = s.first / s.second;
          full = l;
        }
      for (const Packet* p : flows_)
        if (p->rate < 0 && static_cast<Time>(p->cap) <= lowest) {
          lowest = static_cast<Time>(p->cap);
          at_cap = true;
        }
      for (Packet* p : flows_) {
        if (p->rate >= 0) continue;
        const bool crosses =
            std::any_of(p->route.begin(), p->route.end(), [&](LinkId l) { return l.index() == full; });
        if (at_cap ? static_cast<Time>(p->cap) > lowest : !crosses) continue;
        p->rate = lowest;
        --rising;
        for (const LinkId l : p->route) {
          links[l.index()].first -= lowest;
          --links[l.index()].second;
        }
      }
    }
  }

  const std::vector<std::vector<Action>>& programs_;
  const topology::MpiParameters& mpi_;
  const topology::Fabric& fabric_;
  const std::vector<HostId>& placement_;
  std::int64_t header_;
  bool share_;
  std::vector<Process> ranks_;
  std::vector<std::uint32_t> socket_;  // by rank
  std::vector<std::uint32_t> load_;
  std::uint64_t routed_ = 0;
  std::map<std::uint32_t, std::uint64_t> routed_by_;  // by counter
  std::deque<Packet> packets_;                        // addresses stay
  std::list<Packet*> flows_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::vector<Packet*>> channels_;
  std::map<std::pair<Time, std::uint64_t>, std::function<void()>> timers_;
  std::map<std::uint64_t, std::uint32_t> go_;
  std::vector<Packet*> undecided_;
  std::set<std::uint32_t> delayed_;  // ranks in a delay
  std::uint64_t next_go_ = 0, number_ = 0, waited_ = 0;
  Time now_ = 0;
};

}  // namespace

SlowResult slow_replay(const std::vector<std::vector<Action>>& programs, const topology::Platform& platform,
                       const std::vector<HostId>& placement, std::int64_t header, bool share) {
  return Slow(programs, platform, placement, header, share).run();
}

}  // namespace weft::testing
