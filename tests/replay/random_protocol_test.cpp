// The default protocol on random programs: the engine against a second implementation (slow_replay.hpp), rank by rank.
// Few tags and communicators and many messages of one pair, sizes on both sides of the eager limit, several ranks a
// host, links between their sockets or none, every routing: a later message often comes before an earlier one. WEFT_SEED=N runs one seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "core/rng.hpp"
#include "replay/collectives/schedule.hpp"
#include "replay/engine.hpp"
#include "tests/replay/slow_replay.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::replay {
namespace {

using testing::Action;
using testing::MemoryTrace;
using traces::kAnySource;
using traces::kAnyTag;
using traces::Op;
using traces::OpKind;
using Do = Action::Kind;

constexpr const char* kSpecs[] = {
    "crossbar:n=8,bw=10GB/s,lat=1us",
    "crossbar:n=6,bw=5GB/s,lat=0",
    "fat-tree:m=4,n=3,bw=10GB/s,lat=300ns,routing=d-mod-k",
    "fat-tree:m=4,n=3,bw=10GB/s,lat=300ns,routing=hashed",
    "fat-tree:m=4,n=3,bw=10GB/s,lat=300ns,routing=random",
    "fat-tree:m=4,n=3,bw=10GB/s,lat=300ns,routing=adaptive",
    "torus:dims=3x3,bw=10GB/s,lat=2us",
    "torus:dims=2x3,hosts_per_switch=2,cables=2x2,bw=10GB/s,lat=1us,routing=adaptive",
    "dragonfly:p=2,a=4,h=2,bw=10GB/s,lat=5us,routing=minimal",
    "dragonfly:p=2,a=4,h=2,bw=10GB/s,lat=5us,routing=valiant",
    "dragonfly:p=2,a=4,h=2,bw=10GB/s,lat=5us,routing=ugal-u",
    "hyperx:dims=3x3,bw=8GB/s,lat=3us,routing=valiant",
    "hyperx:dims=3x3,bw=8GB/s,lat=3us,routing=adaptive",
    "jellyfish:n=10,r=4,hosts_per_switch=2,bw=8GB/s,lat=2us,routing=random",
    "slim-fly:q=5,bw=8GB/s,lat=2us,routing=ecmp",
};
constexpr std::size_t kPlatforms = std::size(kSpecs);

const topology::Platform& platform(std::size_t i) {
  static const std::vector<topology::Platform> all = [] {
    std::vector<topology::Platform> p;
    for (const char* spec : kSpecs) {
      auto loaded = topology::load_platform(spec);
      EXPECT_TRUE(loaded) << spec << ": " << (loaded ? "" : loaded.error().message());
      p.push_back(std::move(loaded).value());
    }
    return p;
  }();
  return all[i];
}

topology::MpiParameters random_mpi(Rng& rng) {
  topology::MpiParameters m;
  constexpr std::int64_t limits[] = {0, 1000, 20'000, 65'536, 1 << 30};
  m.eager_limit = Bytes(limits[rng.below(std::size(limits))]);
  const auto some = [&](std::uint64_t most) {
    return rng.below(2) == 0 ? Duration(0) : Duration(static_cast<std::int64_t>(rng.below(most)));
  };
  m.send_overhead = some(5'000'000);
  m.recv_overhead = some(5'000'000);
  if (rng.below(3) == 0) m.send_overhead_per_byte = 1e-10 * rng.unit();
  if (rng.below(3) == 0) m.recv_overhead_per_byte = 1e-10 * rng.unit();
  m.local_latency = some(3'000'000);
  if (rng.below(3) != 0) m.local_bandwidth = 1e8 + 1e10 * rng.unit();
  const auto costs = [&](std::vector<topology::CostSegment>& list) {
    list = {{0, 1e-6 * rng.unit(), 0}, {2000, 3e-6 * rng.unit(), 1e-10 * rng.unit()}, {30'000, 1e-6, 1e-10}};
  };
  if (rng.below(4) == 0) costs(m.send_cost);
  if (rng.below(4) == 0) costs(m.isend_cost);
  if (rng.below(4) == 0) costs(m.recv_cost);
  if (rng.below(4) == 0) costs(m.local_transfer);
  if (rng.below(2) == 0)
    m.transfer = {{0, 0.5 + rng.unit(), 1},
                  {1000, 0.1 + 20 * rng.unit(), 0.2 + 0.8 * rng.unit()},
                  {20'000, 0.1 + 5 * rng.unit(), 0.2 + 0.8 * rng.unit()},
                  {200'000, 0.1 + rng.unit(), 0.9}};
  return m;
}

// One program, written twice: as a trace for the engine, as primitive actions for the oracle.
class Twin {
 public:
  Twin(std::uint32_t ranks, const topology::MpiParameters& mpi)
      : trace(ranks), actions(ranks), mpi_(mpi), slots_(ranks, 0), open_(ranks), calls_(ranks) {}

  void compute(std::uint32_t r, std::int64_t ps) {
    trace.compute(r, Duration(ps));
    Action a;
    a.kind = Do::kCompute;
    a.seconds = static_cast<long double>(ps) * 1e-12L;
    actions[r].push_back(a);
  }
  void send(std::uint32_t r, OpKind kind, std::uint32_t to, std::int32_t tag, std::int64_t bytes,
            CommId comm) {
    trace.p2p(r, kind, static_cast<std::int32_t>(to), tag, bytes, comm);
    const std::uint32_t q = fresh(r);
    pay(r, Do::kPaySend, bytes);
    post(r, Do::kSend, static_cast<std::int32_t>(to), tag, bytes, comm.index(), q, mode_of(kind));
    wait_for(r, {q});
  }
  void isend(std::uint32_t r, OpKind kind, std::uint32_t to, std::int32_t tag, std::int64_t bytes,
             CommId comm) {
    const std::uint32_t q = fresh(r);
    trace.p2p(r, kind, static_cast<std::int32_t>(to), tag, bytes, comm, q);
    pay(r, Do::kPayIsend, bytes);
    post(r, Do::kSend, static_cast<std::int32_t>(to), tag, bytes, comm.index(), q, mode_of(kind));
    open_[r].push_back({q, false});
  }
  void recv(std::uint32_t r, std::int32_t from, std::int32_t tag, std::int64_t bytes, CommId comm) {
    trace.p2p(r, OpKind::recv, from, tag, bytes, comm);
    const std::uint32_t q = fresh(r);
    post(r, Do::kReceive, from, tag, bytes, comm.index(), q);
    wait_for(r, {q});
    pay(r, Do::kPayFixed, bytes);
  }
  void irecv(std::uint32_t r, std::int32_t from, std::int32_t tag, CommId comm) {
    const std::uint32_t q = fresh(r);
    trace.p2p(r, OpKind::irecv, from, tag, 1 << 30, comm, q);
    post(r, Do::kReceive, from, tag, 1 << 30, comm.index(), q);
    open_[r].push_back({q, true});
  }
  void sendrecv(std::uint32_t r, std::uint32_t to, std::uint32_t from, std::int32_t tag, std::int64_t sent,
                std::int64_t received, CommId comm) {
    trace.p2p(r, OpKind::sendrecv, static_cast<std::int32_t>(to), tag, sent, comm);
    Op half;
    half.kind = OpKind::recv;
    half.flags = traces::kPairedRecv;
    half.peer = static_cast<std::int32_t>(from);
    half.tag = tag;
    half.amount = received;
    half.comm = comm;
    trace.add(r, half);
    const std::uint32_t in = fresh(r), out = fresh(r);
    // At one instant the send goes first; where its processor time comes between, the receive.
    const auto post_half = [&] { post(r, Do::kReceive, half.peer, tag, received, comm.index(), in); };
    const bool takes_time = !mpi_.send_cost.empty() || mpi_.send_overhead.count() > 0 ||
                            mpi_.send_overhead_per_byte * static_cast<double>(sent) > 0;
    if (takes_time) post_half();
    pay(r, Do::kPaySend, sent);
    post(r, Do::kSend, static_cast<std::int32_t>(to), tag, sent, comm.index(), out);
    if (!takes_time) post_half();
    wait_for(r, {in, out});
    pay(r, Do::kPayFixed, received);
  }
  void probe(std::uint32_t r, std::int32_t from, std::int32_t tag, CommId comm) {
    trace.p2p(r, OpKind::probe, from, tag, 0, comm);
    post(r, Do::kProbe, from, tag, 0, comm.index(), 0);
  }
  void waitall(std::uint32_t r) {
    if (open_[r].empty()) return;
    Op w;
    w.kind = OpKind::waitall;
    std::vector<std::int64_t> list;
    std::vector<std::uint32_t> all, received;
    for (const auto& [q, is_receive] : open_[r]) {
      list.push_back(q);
      all.push_back(q);
      if (is_receive) received.push_back(q);
    }
    trace.add(r, w, list);
    wait_for(r, all);
    Action a;
    a.kind = Do::kPay;
    a.requests = received;
    actions[r].push_back(a);
    open_[r].clear();
  }
  // Rounds as docs/model.md: the receive overheads of the round before, receives, send overheads, sends.
  void collective(OpKind kind, std::uint32_t root, std::int64_t bytes) {
    const auto ranks = static_cast<std::uint32_t>(actions.size());
    const bool rooted = kind == OpKind::bcast || kind == OpKind::gather;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      trace.collective(r, kind, rooted ? static_cast<std::int32_t>(root) : kAnySource, bytes, CommId(0));
      const CollectiveCall call{kind, ranks, rooted ? root : 0, bytes, {}};
      RankSchedule schedule;
      default_collective(call).build(call, r, schedule);
      const auto tag = static_cast<std::int32_t>(calls_[r]++);
      const auto& m = schedule.messages;
      std::vector<std::uint32_t> received;
      for (std::size_t i = 0; i < m.size();) {
        std::size_t end = i;
        while (end < m.size() && m[end].round == m[i].round) ++end;
        pay_for(r, received);
        std::vector<std::uint32_t> all;
        received.clear();
        for (const bool sends : {false, true}) {
          for (std::size_t j = i; sends && j < end; ++j)
            if (m[j].send) pay(r, Do::kPayIsend, m[j].bytes);
          for (std::size_t j = i; j < end; ++j) {
            if (m[j].send != sends) continue;
            const std::uint32_t q = fresh(r);
            all.push_back(q);
            if (!sends) received.push_back(q);
            post(r, sends ? Do::kSend : Do::kReceive, static_cast<std::int32_t>(m[j].peer), tag, m[j].bytes,
                 0x80000000u, q);
          }
        }
        i = end;
        wait_for(r, all);
      }
      pay_for(r, received);
    }
  }

  MemoryTrace trace;
  std::vector<std::vector<Action>> actions;

 private:
  static Action::Mode mode_of(OpKind kind) {
    if (kind == OpKind::ssend || kind == OpKind::issend) return Action::Mode::kSynchronous;
    if (kind == OpKind::bsend || kind == OpKind::ibsend) return Action::Mode::kBuffered;
    return Action::Mode::kStandard;
  }
  std::uint32_t fresh(std::uint32_t r) { return slots_[r]++; }
  void pay(std::uint32_t r, Do what, std::int64_t bytes) {
    Action a;
    a.kind = what;
    a.bytes = bytes;
    actions[r].push_back(a);
  }
  void pay_for(std::uint32_t r, const std::vector<std::uint32_t>& requests) {
    Action a;
    a.kind = Do::kPay;
    a.requests = requests;
    actions[r].push_back(a);
  }
  void wait_for(std::uint32_t r, std::vector<std::uint32_t> requests) {
    Action a;
    a.kind = Do::kWait;
    a.requests = std::move(requests);
    actions[r].push_back(a);
  }
  void post(std::uint32_t r, Do what, std::int32_t peer, std::int32_t tag, std::int64_t bytes,
            std::uint32_t context, std::uint32_t request, Action::Mode mode = Action::Mode::kStandard) {
    Action a;
    a.kind = what;
    a.mode = mode;
    a.peer = peer;
    a.tag = tag;
    a.bytes = bytes;
    a.context = context;
    a.request = request;
    actions[r].push_back(a);
  }

  struct Open {
    std::uint32_t request;
    bool receive;
  };
  const topology::MpiParameters& mpi_;
  std::vector<std::uint32_t> slots_;
  std::vector<std::vector<Open>> open_;
  std::vector<std::uint32_t> calls_;
};

// Queues too long to be walked (tag_index.hpp), so many flows of a pair that they are bundled (bundles.hpp).
enum class Special : std::uint8_t { kNone, kLongQueues, kCrowds };

// How a rank receives on a communicator, for the whole program, so that every message finds a receive.
enum class Taking : std::uint8_t { kExact, kOfAnyTag, kFromAny, kOfAll };

// `collectives`: not where the routing decides for every message. Ranks leave a round of a collective at the very same
// instant, and which of them a routing serves first is a matter of order that no rule of MPI fixes.
Twin random_program(Rng& rng, std::uint32_t ranks, const topology::MpiParameters& mpi, bool collectives,
                    Special special) {
  Twin t(ranks, mpi);
  std::vector<std::int32_t> members;
  for (std::uint32_t r = 0; r < ranks; ++r) members.push_back(static_cast<std::int32_t>(r));
  // Bursts on two; the third for what must find just its own message whatever the wildcards of the others take.
  const CommId comms[] = {CommId(0), t.trace.add_comm("dup", members)};
  const CommId apart = t.trace.add_comm("apart", members);
  std::vector<std::array<Taking, 2>> taking(ranks);
  for (auto& of : taking)
    for (Taking& x : of) x = static_cast<Taking>(rng.below(4));
  const auto any_size = [&] {
    switch (rng.below(4)) {
      case 0:
        return static_cast<std::int64_t>(rng.below(3));
      case 1:
        return static_cast<std::int64_t>(rng.below(300'000));
      default:
        return static_cast<std::int64_t>(rng.below(30'000));
    }
  };
  const auto pause = [&](std::uint32_t r) {
    t.compute(r, 1 + static_cast<std::int64_t>(rng.below(100'000'000)));
  };
  // Many at once: bursts of pairs, on two communicators.
  const auto messages = [&](std::uint64_t bursts, std::uint64_t most, std::uint64_t tags,
                            bool crowd = false) {
    struct Message {
      std::uint32_t src, dst;
      std::int32_t tag;
      std::size_t comm;
    };
    std::vector<Message> list;
    for (; bursts > 0; --bursts) {
      const auto src = static_cast<std::uint32_t>(rng.below(ranks)),
                 dst = static_cast<std::uint32_t>(rng.below(ranks));
      const std::size_t comm = rng.below(4) == 0 ? 1 : 0;
      for (std::uint64_t n = crowd ? most : 1 + rng.below(most); n > 0; --n)
        list.push_back({src, dst, static_cast<std::int32_t>(rng.below(tags)), comm});
    }
    std::vector<std::size_t> order(list.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    // Receives in any order, some before the sends, some after a while.
    rng.shuffle(std::span<std::size_t>(order));
    const auto receive = [&](std::size_t i) {
      const Message& m = list[i];
      const Taking how = taking[m.dst][m.comm];
      const bool any_source = how == Taking::kFromAny || how == Taking::kOfAll;
      const bool any_tag = how == Taking::kOfAnyTag || how == Taking::kOfAll;
      t.irecv(m.dst, any_source ? kAnySource : static_cast<std::int32_t>(m.src), any_tag ? kAnyTag : m.tag,
              comms[m.comm]);
    };
    const std::size_t before = rng.below(order.size() + 1);
    for (std::size_t i = 0; i < before; ++i) receive(order[i]);
    for (const Message& m : list) {
      constexpr OpKind kinds[] = {OpKind::isend, OpKind::isend, OpKind::isend, OpKind::issend,
                                  OpKind::ibsend};
      t.isend(m.src, kinds[rng.below(crowd ? 3 : std::size(kinds))], m.dst, m.tag, any_size(), comms[m.comm]);
      if (rng.below(crowd ? 100 : 4) == 0) pause(m.src);
    }
    for (std::size_t i = before; i < order.size(); ++i) {
      if (rng.below(3) == 0) pause(list[order[i]].dst);
      receive(order[i]);
    }
    for (std::uint32_t r = 0; r < ranks; ++r) t.waitall(r);
  };
  const int phases = static_cast<int>(1 + rng.below(4));
  for (int phase = 0; phase < phases; ++phase) {
    for (std::uint32_t r = 0; r < ranks; ++r) pause(r);
    switch (rng.below(6)) {
      case 0: {  // ring
        const auto shift = static_cast<std::uint32_t>(1 + rng.below(ranks - 1));
        std::vector<std::int64_t> sizes;
        for (std::uint32_t r = 0; r < ranks; ++r) sizes.push_back(any_size());
        for (std::uint32_t r = 0; r < ranks; ++r) {
          const std::uint32_t from = (r + ranks - shift) % ranks;
          t.sendrecv(r, (r + shift) % ranks, from, 5, sizes[r], sizes[from], apart);
          pause(r);
        }
        break;
      }
      case 1: {  // everybody tells one rank, which looks before it takes
        const auto root = static_cast<std::uint32_t>(rng.below(ranks));
        const std::int32_t from =
            rng.below(2) == 0 ? kAnySource : static_cast<std::int32_t>((root + 1) % ranks);
        for (std::uint32_t r = 0; r < ranks; ++r) {
          if (r == root || (from >= 0 && r != static_cast<std::uint32_t>(from))) continue;
          for (int i = 0; i < 3; ++i) t.isend(r, OpKind::isend, root, 6, any_size(), apart);
          t.waitall(r);
          pause(r);
        }
        for (std::uint32_t i = 0; i < (from >= 0 ? 3 : 3 * (ranks - 1)); ++i) {
          t.probe(root, from, 6, apart);
          t.irecv(root, from, 6, apart);
          t.waitall(root);
          pause(root);
        }
        break;
      }
      case 2:  // pairs, blocking
        for (std::uint32_t r = 0; r + 1 < ranks; r += 2) {
          constexpr OpKind kinds[] = {OpKind::send, OpKind::ssend, OpKind::bsend, OpKind::rsend};
          for (int i = 0; i < 4; ++i) {
            const std::int64_t bytes = any_size();
            t.send(r, kinds[rng.below(4)], r + 1, 7, bytes, apart);
            if (rng.below(2) == 0) pause(r);
            t.recv(r + 1, static_cast<std::int32_t>(r), 7, bytes, apart);
            if (rng.below(2) == 0) pause(r + 1);
          }
          pause(r);
          pause(r + 1);
        }
        break;
      case 3:
        if (collectives) {
          constexpr OpKind kinds[] = {OpKind::barrier, OpKind::bcast, OpKind::allreduce, OpKind::alltoall,
                                      OpKind::gather};
          t.collective(kinds[rng.below(std::size(kinds))], static_cast<std::uint32_t>(rng.below(ranks)),
                       static_cast<std::int64_t>(rng.below(40'000)));
          break;
        }
        [[fallthrough]];
      default:
        messages(1 + rng.below(ranks), 6, 2);
    }
  }
  if (special == Special::kLongQueues) messages(4, 200, 1 + rng.below(150));
  if (special == Special::kCrowds) messages(2, 200, 3, true);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    t.waitall(r);
    pause(r);
  }
  return t;
}

TEST(RandomProtocol, EveryRankEndsWhenTheSecondImplementationSays) {
  std::vector<std::uint64_t> seeds;
  const char* const one = std::getenv("WEFT_SEED");
  if (one != nullptr) {
    seeds = {std::strtoull(one, nullptr, 10)};
  } else {
    for (std::uint64_t s = 1; s <= 6000; ++s) seeds.push_back(s);
  }
  double worst = 0;
  std::size_t overtaking = 0, finished = 0;
  std::uint64_t held = 0, between_sockets = 0;
  for (const std::uint64_t seed : seeds) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed ^ 0x6f72646572ULL);
    topology::Platform p = platform(seed % kPlatforms);
    p.mpi = random_mpi(rng);
    const auto ranks = static_cast<std::uint32_t>(2 + rng.below(9));
    // Hosts drawn with repetition from few: several ranks a host.
    const std::uint64_t hosts = std::min<std::uint64_t>(p.fabric.host_count(), 2 + rng.below(12));
    const std::uint64_t stride = 1 + rng.below(p.fabric.host_count() / hosts);
    std::vector<HostId> map;
    for (std::uint32_t r = 0; r < ranks; ++r)
      map.emplace_back(static_cast<std::uint32_t>(rng.below(hosts) * stride));
    const bool by_pair = p.fabric.routing().scope() == topology::RouteScope::kPair;
    const Special special = seed % 41 == 0   ? Special::kLongQueues
                            : seed % 41 == 1 ? Special::kCrowds
                                             : Special::kNone;
    Twin twin = random_program(rng, ranks, p.mpi, by_pair, special);
    ReplayOptions o;
    o.header = Bytes(rng.below(3) == 0 ? 64 : 0);
    if (rng.below(8) == 0) o.model = "contention-free";
    // Of every three platforms one has links between sockets.
    Rng sockets(seed ^ 0x736f636b657473ULL);
    if (seed % 3 == 0) {
      const topology::SocketRule rule{static_cast<std::uint32_t>(2 + sockets.below(2)),
                                      sockets.below(2) == 0};
      ASSERT_TRUE(p.fabric.join_sockets(rule, static_cast<std::uint32_t>(1 + sockets.below(6)),
                                        Bandwidth(1e8 + 1e10 * sockets.unit())));
    }
    const auto fast = replay(twin.trace, p, map, o);
    ASSERT_TRUE(fast) << fast.error().message();
    const auto slow = testing::slow_replay(twin.actions, p, map, o.header.value(), o.model.empty());
    ASSERT_EQ(fast->finished, slow.finished) << fast->deadlock.summary();
    finished += slow.finished ? 1 : 0;
    held += slow.waited_for_order;
    overtaking += slow.waited_for_order > 0 ? 1 : 0;
    if (!slow.finished) continue;
    EXPECT_TRUE(fast->warnings.empty()) << fast->warnings.front();
    for (std::uint32_t l = p.fabric.wired_links(); l < p.fabric.link_count(); ++l)
      between_sockets += fast->links[l].peak_flows > 1 ? 1 : 0;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const double mine = to_seconds(fast->ranks[r].finish);
      const auto other = static_cast<double>(slow.finish[r]);
      // Half a picosecond is the rounding of what a replay reports.
      const double off = std::max(0.0, std::abs(mine - other) - 0.5e-12) / other;
      worst = std::max(worst, off);
      ASSERT_LE(off, 1e-9) << "rank " << r << " ends at " << mine << " s, the second implementation says "
                           << other << " s on " << kSpecs[seed % kPlatforms];
    }
  }
  std::printf("%zu programs, %zu ended, %zu with messages before their turn (%llu), worst deviation %.1e\n",
              seeds.size(), finished, overtaking, static_cast<unsigned long long>(held), worst);
  if (one == nullptr) {
    EXPECT_GT(finished, seeds.size() * 9 / 10);
    EXPECT_GT(overtaking, seeds.size() / 5);
    EXPECT_GT(between_sockets, seeds.size() / 10);  // links between sockets that were shared
  }
}

}  // namespace
}  // namespace weft::replay
