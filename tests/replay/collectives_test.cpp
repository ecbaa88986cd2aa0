// Every algorithm, for p = 1..33: its messages pair off without deadlock when every send waits for its
// receive, and the data end where MPI says. The oracle follows blocks (for reductions: sets of contributors)
// through the messages and knows no algorithm, except where Bruck's all-to-all forwards a set of blocks that
// is no range.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/rng.hpp"
#include "replay/collectives/schedule.hpp"

namespace weft::replay {

void PrintTo(const CollectiveAlgorithm& a, std::ostream* os) {
  *os << traces::op_name(a.kind) << "=" << a.name;
}

namespace {

using traces::OpKind;

std::uint64_t seed() {
  const char* s = std::getenv("WEFT_SEED");
  return s == nullptr ? 20260101 : std::strtoull(s, nullptr, 10);
}

bool is_v(OpKind k) {
  return k == OpKind::gatherv || k == OpKind::scatterv || k == OpKind::allgatherv || k == OpKind::alltoallv ||
         k == OpKind::alltoallw || k == OpKind::reduce_scatter || k == OpKind::neighbor_allgatherv ||
         k == OpKind::neighbor_alltoallv || k == OpKind::neighbor_alltoallw;
}
bool is_alltoall(OpKind k) {
  return k == OpKind::alltoall || k == OpKind::alltoallv || k == OpKind::alltoallw;
}
bool is_neighbor(OpKind k) { return k >= OpKind::neighbor_allgather && k <= OpKind::neighbor_alltoallw; }
bool is_scan(OpKind k) { return k == OpKind::scan || k == OpKind::exscan; }
bool is_rooted(OpKind k) {
  return k == OpKind::bcast || k == OpKind::reduce || (k >= OpKind::gather && k <= OpKind::scatterv);
}
bool is_scatter(OpKind k) { return k == OpKind::scatter || k == OpKind::scatterv; }
bool is_gather(OpKind k) { return k == OpKind::gather || k == OpKind::gatherv; }
bool is_allgather(OpKind k) { return k == OpKind::allgather || k == OpKind::allgatherv; }
bool is_reduce_scatter(OpKind k) { return k == OpKind::reduce_scatter || k == OpKind::reduce_scatter_block; }
bool sums(OpKind k) {
  return k == OpKind::reduce || k == OpKind::allreduce || is_reduce_scatter(k) || is_scan(k);
}

// One call of p ranks: sizes of what goes between whom, and each rank's view of it.
struct Job {
  OpKind kind{};
  std::uint32_t p = 1;
  std::uint32_t root = 0;
  std::int64_t bytes = 0;
  std::vector<std::int64_t> sizes;                       // by rank, or by s p + d
  std::vector<std::vector<std::uint32_t>> destinations;  // neighbourhoods
  std::vector<std::vector<std::int64_t>> lists;          // by rank

  Job(OpKind k, std::uint32_t ranks, std::uint32_t r, std::int64_t n, Rng& rng)
      : kind(k), p(ranks), root(r), bytes(n) {
    const bool pairs = is_alltoall(k) || is_neighbor(k);
    sizes.assign(pairs ? p * p : p, bytes);
    if (is_v(k) && bytes > 0)
      for (auto& s : sizes)
        s = rng.below(4) == 0 ? 0
                              : static_cast<std::int64_t>(rng.below(2 * static_cast<std::uint64_t>(bytes)));
    lists.resize(p);
    if (is_neighbor(k)) {
      std::vector<std::vector<std::uint32_t>> sources(p);
      destinations.resize(p);
      for (std::uint32_t s = 0; s < p; ++s)
        for (std::uint32_t d = 0; d < p; ++d)
          if (rng.below(3) == 0) {
            destinations[s].push_back(d);
            sources[d].push_back(s);
          }
      for (std::uint32_t me = 0; me < p; ++me) {
        auto& l = lists[me];
        l.push_back(static_cast<std::int64_t>(sources[me].size()) + 1);
        for (auto s : sources[me]) l.push_back(s);
        l.push_back(traces::kProcNull);
        l.push_back(static_cast<std::int64_t>(destinations[me].size()));
        for (auto d : destinations[me]) l.push_back(d);
        if (!is_v(k)) continue;
        for (auto s : sources[me]) l.push_back(sizes[s * p + me]);
        l.push_back(0);
        for (auto d : destinations[me]) l.push_back(sizes[me * p + d]);
      }
    } else if (is_alltoall(k) && is_v(k)) {
      for (std::uint32_t me = 0; me < p; ++me) {
        lists[me].push_back(p);
        for (std::uint32_t d = 0; d < p; ++d) lists[me].push_back(sizes[me * p + d]);
        for (std::uint32_t s = 0; s < p; ++s) lists[me].push_back(sizes[s * p + me]);
      }
    } else if (is_v(k)) {
      for (std::uint32_t me = 0; me < p; ++me)
        if (me == root || is_allgather(k) || is_reduce_scatter(k)) lists[me] = sizes;
    }
  }
  [[nodiscard]] CollectiveCall call(std::uint32_t me) const {
    CollectiveCall c{.kind = kind, .ranks = p, .root = root, .bytes = bytes, .counts = lists[me]};
    if (is_v(kind)) c.bytes = sizes[me];
    return c;
  }
  [[nodiscard]] std::uint32_t relative(std::uint32_t rank) const { return (rank + p - root) % p; }
};

struct Outcome {
  std::uint64_t messages = 0;
  std::int64_t bytes = 0;
  std::int64_t time = 0;
  std::vector<std::int64_t> sent;  // bytes by rank
};

constexpr std::int64_t kAlpha =
    1'000'000'000;  // a message takes alpha + its bytes, from when both sides are there

class Simulation {
 public:
  Simulation(const Job& job, const CollectiveAlgorithm& a) : job_(job), algorithm_(a), ranks_(job.p) {
    for (std::uint32_t me = 0; me < job.p; ++me) {
      EXPECT_TRUE(check_collective(job.call(me), me, "test"));
      a.build(job.call(me), me, ranks_[me].schedule);
      std::uint32_t round = 0;
      for (const auto& m : ranks_[me].schedule.messages) {
        EXPECT_TRUE(m.round == round || m.round == round + 1) << "rounds ascend without a gap";
        round = m.round;
        EXPECT_LT(m.peer, job.p);
        EXPECT_NE(m.peer, me);
        EXPECT_GE(m.bytes, 0);
        if (!bruck()) block_count_ = std::max(block_count_, m.first_block + m.blocks);
      }
      EXPECT_EQ(ranks_[me].schedule.rounds, ranks_[me].schedule.messages.empty() ? 0 : round + 1);
    }
    if (is_alltoall(job.kind) || is_neighbor(job.kind)) block_count_ = job.p * job.p;
    if (is_gather(job.kind) || is_scatter(job.kind) || is_allgather(job.kind) || is_reduce_scatter(job.kind))
      block_count_ = job.p;
    for (std::uint32_t me = 0; me < job.p; ++me) start_with(me);
  }

  Outcome run() {
    out_.sent.assign(job_.p, 0);
    for (std::uint32_t me = 0; me < job_.p; ++me) post(me);
    while (!ready_.empty()) {
      const std::uint32_t me = ready_.front();
      ready_.pop_front();
      Rank& r = ranks_[me];
      for (auto& payload : r.coming) absorb(me, payload);
      r.coming.clear();
      ++r.round;
      post(me);
    }
    for (std::uint32_t me = 0; me < job_.p; ++me) {
      EXPECT_EQ(ranks_[me].round, ranks_[me].schedule.rounds) << "rank " << me << " waits for ever";
      out_.time = std::max(out_.time, ranks_[me].now);
    }
    for (const auto& [pair, queue] : posted_)
      EXPECT_TRUE(queue.empty()) << "a message without its other half";
    return out_;
  }

  void expect_what_mpi_says() const {
    const std::uint64_t all = (job_.p == 64 ? 0 : std::uint64_t{1} << job_.p) - 1;
    for (std::uint32_t me = 0; me < job_.p; ++me) {
      const auto& have = ranks_[me].have;
      SCOPED_TRACE("rank " + std::to_string(me));
      if (is_scan(job_.kind)) {
        const std::uint64_t below = (std::uint64_t{1} << me) - 1;
        EXPECT_EQ(ranks_[me].from_below, below);
        continue;
      }
      for (std::uint32_t b = 0; b < block_count_; ++b) {
        if (block_bytes(b) == 0 && job_.kind != OpKind::barrier) continue;
        if (sums(job_.kind) || job_.kind == OpKind::barrier) {
          const bool mine =
              job_.kind == OpKind::reduce ? me == job_.root : !is_reduce_scatter(job_.kind) || b == me;
          if (mine) {
            EXPECT_EQ(have[b], all) << "block " << b;
          }
        } else if (must_hold(me, b)) {
          EXPECT_EQ(have[b], 1u) << "block " << b;
        }
      }
    }
  }

 private:
  using Payload = std::map<std::uint32_t, std::uint64_t>;
  struct Rank {
    RankSchedule schedule;
    std::vector<std::uint64_t> have;  // by block: contributors, or 1 = held
    std::uint64_t from_below = 0;     // scans: what came from lower ranks
    std::vector<std::pair<std::uint32_t, Payload>> coming;
    std::uint32_t round = 0;
    std::size_t next = 0;
    std::size_t open = 0;
    std::int64_t now = 0;
    std::int64_t round_end = 0;
  };
  struct Posted {
    std::uint32_t rank;
    ScheduleMessage message;
    std::int64_t at;
    Payload payload;  // of a send
  };

  [[nodiscard]] bool bruck() const { return job_.kind == OpKind::alltoall && algorithm_.name == "bruck"; }
  [[nodiscard]] std::int64_t block_bytes(std::uint32_t b) const {
    if (is_gather(job_.kind) || is_scatter(job_.kind)) return job_.sizes[(job_.root + b) % job_.p];
    if (is_allgather(job_.kind) || is_reduce_scatter(job_.kind) || is_alltoall(job_.kind) ||
        is_neighbor(job_.kind))
      return job_.sizes[b];
    if (job_.kind == OpKind::barrier) return 0;
    return job_.bytes / block_count_ + (b < job_.bytes % block_count_ ? 1 : 0);
  }
  [[nodiscard]] bool must_hold(std::uint32_t me, std::uint32_t b) const {
    if (is_gather(job_.kind)) return me == job_.root;
    if (is_scatter(job_.kind)) return b == job_.relative(me);
    if (is_alltoall(job_.kind)) return b % job_.p == me;
    if (is_neighbor(job_.kind)) {
      const auto& d = job_.destinations[b / job_.p];
      return b % job_.p == me && std::find(d.begin(), d.end(), me) != d.end();
    }
    return true;  // bcast, allgather
  }
  void start_with(std::uint32_t me) {
    auto& have = ranks_[me].have;
    have.assign(block_count_, 0);
    for (std::uint32_t b = 0; b < block_count_; ++b) {
      bool mine = true;
      if (job_.kind == OpKind::bcast || is_scatter(job_.kind)) mine = me == job_.root;
      if (is_gather(job_.kind)) mine = b == job_.relative(me);
      if (is_allgather(job_.kind)) mine = b == me;
      if (is_alltoall(job_.kind) || is_neighbor(job_.kind)) mine = b / job_.p == me;
      if (mine) have[b] = sums(job_.kind) || job_.kind == OpKind::barrier ? std::uint64_t{1} << me : 1;
    }
  }
  Payload snapshot(std::uint32_t me, const ScheduleMessage& m) {
    Payload carried;
    const Rank& r = ranks_[me];
    std::int64_t bytes = 0;
    if (bruck()) {
      // Blocks that have made all their shorter hops are at s + (distance mod bit).
      for (std::uint32_t b = 0; b < block_count_; ++b) {
        const std::uint32_t s = b / job_.p;
        const std::uint32_t distance = (b % job_.p + job_.p - s) % job_.p;
        if ((distance & m.first_block) == 0 || (s + distance % m.first_block) % job_.p != me) continue;
        EXPECT_EQ(r.have[b], 1u) << "forwards a block that it does not hold";
        carried[b] = 1;
        bytes += block_bytes(b);
      }
      EXPECT_EQ(carried.size(), m.blocks);
    } else {
      EXPECT_LE(m.blocks, block_count_);
      for (std::uint32_t i = 0; i < m.blocks; ++i) {
        const std::uint32_t b = (m.first_block + i) % block_count_;
        const bool matters = block_bytes(b) > 0 || job_.kind == OpKind::barrier;
        if (matters) {
          EXPECT_NE(r.have[b], 0u) << "rank " << me << " sends block " << b << " that it does not hold";
        }
        carried[b] = r.have[b];
        bytes += block_bytes(b);
      }
    }
    EXPECT_EQ(bytes, m.bytes) << "a message is as long as its blocks";
    return carried;
  }
  void absorb(std::uint32_t me, const std::pair<std::uint32_t, Payload>& from) {
    Rank& r = ranks_[me];
    for (const auto& [b, set] : from.second) {
      if (is_scan(job_.kind) && from.first < me) {
        EXPECT_EQ(r.from_below & set, 0u) << "a contribution counted twice";
        r.from_below |= set;
      }
      if (!sums(job_.kind)) {
        r.have[b] |= set;
      } else if ((r.have[b] & set) == 0) {
        r.have[b] |= set;  // added
      } else {
        EXPECT_EQ(r.have[b] & set, r.have[b]) << "a contribution counted twice";
        r.have[b] = set;  // a result that replaces the partial sum
      }
    }
  }
  void post(std::uint32_t me) {
    Rank& r = ranks_[me];
    r.now = std::max(r.now, r.round_end);
    r.round_end = r.now;
    const auto& all = r.schedule.messages;
    const std::size_t first = r.next;
    while (r.next < all.size() && all[r.next].round == r.round) ++r.next;
    r.open += r.next - first;
    for (std::size_t i = first; i < r.next; ++i) {
      const ScheduleMessage& m = all[i];
      Posted half{me, m, r.now, m.send ? snapshot(me, m) : Payload{}};
      const auto pair = m.send ? std::pair{me, m.peer} : std::pair{m.peer, me};
      auto& queue = posted_[pair];
      if (queue.empty() || queue.front().message.send == m.send)
        queue.push_back(std::move(half));
      else {
        Posted other = std::move(queue.front());
        queue.pop_front();
        if (m.send)
          match(half, other);
        else
          match(other, half);
      }
    }
  }
  void match(Posted& sent, const Posted& received) {
    EXPECT_EQ(sent.message.bytes, received.message.bytes) << "both sides agree on the size";
    EXPECT_EQ(sent.message.first_block, received.message.first_block);
    EXPECT_EQ(sent.message.blocks, received.message.blocks);
    ++out_.messages;
    out_.bytes += sent.message.bytes;
    out_.sent[sent.rank] += sent.message.bytes;
    const std::int64_t end = std::max(sent.at, received.at) + kAlpha + sent.message.bytes;
    ranks_[received.rank].coming.emplace_back(sent.rank, std::move(sent.payload));
    for (const std::uint32_t who : {sent.rank, received.rank}) {
      ranks_[who].round_end = std::max(ranks_[who].round_end, end);
      if (--ranks_[who].open == 0) ready_.push_back(who);
    }
  }

  const Job& job_;
  const CollectiveAlgorithm& algorithm_;
  std::vector<Rank> ranks_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<Posted>> posted_;
  std::deque<std::uint32_t> ready_;
  std::uint32_t block_count_ = 1;
  Outcome out_;
};

Outcome play(OpKind kind, std::string_view name, std::uint32_t p, std::uint32_t root, std::int64_t bytes,
             std::uint64_t with_seed = seed()) {
  Rng rng(with_seed);
  const auto found = find_collective(kind, name);
  EXPECT_TRUE(found);
  const Job job(kind, p, root, bytes, rng);
  SCOPED_TRACE(std::string(traces::op_name(kind)) + "=" + std::string((*found)->name) +
               " p=" + std::to_string(p) + " root=" + std::to_string(root) +
               " bytes=" + std::to_string(bytes) + " WEFT_SEED=" + std::to_string(with_seed));
  Simulation s(job, **found);
  const Outcome o = s.run();
  if (bytes > 0 || kind == OpKind::barrier) {
    s.expect_what_mpi_says();
  } else if (!is_neighbor(kind) && !(is_alltoall(kind) && is_v(kind) && name == "pairwise")) {
    EXPECT_EQ(o.messages, 0u) << "a call without bytes sends nothing";
  }
  return o;
}

class EveryAlgorithm : public testing::TestWithParam<CollectiveAlgorithm> {};

TEST_P(EveryAlgorithm, DeliversWhatMpiSaysForOneTo33Ranks) {
  const auto& a = GetParam();
  for (std::uint32_t p = 1; p <= 33; ++p) {
    std::vector<std::uint32_t> roots{0};
    if (is_rooted(a.kind))
      for (std::uint32_t r : {1u, p / 2, p - 1})
        if (r < p) roots.push_back(r);
    for (const std::uint32_t root : roots)
      for (const std::int64_t bytes : {0, 1, 5, 1000, 200001}) {
        play(a.kind, a.name, p, root, bytes);
        if (HasFailure()) return;  // the smallest failing case is the one to read
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, EveryAlgorithm,
                         testing::ValuesIn(collective_algorithms().begin(), collective_algorithms().end()),
                         [](const auto& i) {
                           return std::string(traces::op_name(i.param.kind)) + "_" +
                                  std::string(i.param.name);
                         });

TEST(Collectives, EveryMpi3CollectiveHasAnAlgorithmAndADefaultThatIsRegistered) {
  Rng rng(1);
  for (int k = static_cast<int>(OpKind::barrier); k <= static_cast<int>(OpKind::neighbor_alltoallw); ++k)
    for (const std::uint32_t p : {1u, 2u, 3u, 7u, 8u, 12u, 16u, 1000u})
      for (const std::int64_t bytes : {0L, 8L, 300L, 5000L, 100000L, 10000000L}) {
        if (p == 1000 && (is_neighbor(static_cast<OpKind>(k)) || is_alltoall(static_cast<OpKind>(k))))
          continue;
        const Job job(static_cast<OpKind>(k), p, 0, bytes, rng);
        const auto& first = default_collective(job.call(0));
        EXPECT_EQ(first.kind, static_cast<OpKind>(k));
        EXPECT_EQ(&default_collective(job.call(p - 1)), &first) << "all ranks must choose alike";
      }
}

TEST(Collectives, DefaultsFollowMpichsRules) {
  const auto pick = [](OpKind k, std::uint32_t p, std::int64_t bytes) {
    return default_collective({.kind = k, .ranks = p, .bytes = bytes}).name;
  };
  EXPECT_EQ(pick(OpKind::bcast, 7, 1 << 20), "binomial");
  EXPECT_EQ(pick(OpKind::bcast, 8, 12288), "binomial");
  EXPECT_EQ(pick(OpKind::bcast, 8, 12289), "recursive_doubling");
  EXPECT_EQ(pick(OpKind::bcast, 8, 524289), "ring");
  EXPECT_EQ(pick(OpKind::bcast, 12, 12289), "ring");
  EXPECT_EQ(pick(OpKind::allreduce, 16, 8), "recursive_doubling");
  EXPECT_EQ(pick(OpKind::allreduce, 16, 127), "recursive_doubling");
  EXPECT_EQ(pick(OpKind::allreduce, 16, 128), "rabenseifner");
  EXPECT_EQ(pick(OpKind::reduce, 16, 2048), "binomial");
  EXPECT_EQ(pick(OpKind::reduce, 16, 2049), "rabenseifner");
  EXPECT_EQ(pick(OpKind::allgather, 16, 32767), "recursive_doubling");
  EXPECT_EQ(pick(OpKind::allgather, 16, 32768), "ring");
  EXPECT_EQ(pick(OpKind::allgather, 10, 8191), "bruck");
  EXPECT_EQ(pick(OpKind::allgather, 10, 8192), "ring");
  EXPECT_EQ(pick(OpKind::alltoall, 8, 256), "bruck");
  EXPECT_EQ(pick(OpKind::alltoall, 7, 256), "scattered");
  EXPECT_EQ(pick(OpKind::alltoall, 8, 32769), "pairwise");
  EXPECT_EQ(pick(OpKind::reduce_scatter_block, 8, 65535), "recursive_halving");
  EXPECT_EQ(pick(OpKind::reduce_scatter_block, 8, 65536), "pairwise");
  EXPECT_EQ(pick(OpKind::barrier, 5, 0), "dissemination");
}

int lg(std::uint32_t p) { return std::bit_width(p - 1); }  // ceil

TEST(Collectives, MessageAndByteCountsEqualTheirClosedForms) {
  const std::int64_t m = 1000;
  for (std::uint32_t p = 2; p <= 33; ++p) {
    const std::uint64_t q = p;
    const auto counts = [&](OpKind k, std::string_view a, std::int64_t bytes) {
      const Outcome o = play(k, a, p, 0, bytes);
      return std::pair<std::uint64_t, std::uint64_t>(o.messages, o.bytes);
    };
    const auto n = static_cast<std::uint64_t>(m);
    const auto l = static_cast<std::uint64_t>(lg(p));
    using P = std::pair<std::uint64_t, std::uint64_t>;
    EXPECT_EQ(counts(OpKind::barrier, "dissemination", 0), P(q * l, 0));
    EXPECT_EQ(counts(OpKind::barrier, "linear", 0), P(2 * (q - 1), 0));
    EXPECT_EQ(counts(OpKind::barrier, "tree", 0), P(2 * (q - 1), 0));
    EXPECT_EQ(counts(OpKind::bcast, "binomial", m), P(q - 1, n * (q - 1)));
    EXPECT_EQ(counts(OpKind::bcast, "pipeline", 65536 * 3), P(3 * (q - 1), 65536 * 3 * (q - 1)));
    EXPECT_EQ(counts(OpKind::bcast, "ring", m).first, (q - 1) + q * (q - 1));
    EXPECT_EQ(counts(OpKind::reduce, "binomial", m), P(q - 1, n * (q - 1)));
    EXPECT_EQ(counts(OpKind::reduce, "linear", m), P(q - 1, n * (q - 1)));
    EXPECT_EQ(counts(OpKind::allreduce, "ring", m), P(2 * q * (q - 1), 2 * n * (q - 1)));
    EXPECT_EQ(counts(OpKind::allreduce, "reduce_bcast", m), P(2 * (q - 1), 2 * n * (q - 1)));
    EXPECT_EQ(counts(OpKind::allgather, "ring", m), P(q * (q - 1), n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::allgather, "linear", m), P(q * (q - 1), n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::allgather, "bruck", m), P(q * l, n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::alltoall, "pairwise", m), P(q * (q - 1), n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::alltoall, "scattered", m), P(q * (q - 1), n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::alltoall, "bruck", m).first, q * l);
    EXPECT_EQ(counts(OpKind::gather, "linear", m), P(q - 1, n * (q - 1)));
    EXPECT_EQ(counts(OpKind::gather, "binomial", m).first, q - 1);
    EXPECT_EQ(counts(OpKind::reduce_scatter_block, "pairwise", m), P(q * (q - 1), n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::reduce_scatter_block, "ring", m), P(q * (q - 1), n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::scan, "linear", m), P(q - 1, n * (q - 1)));
    if ((p & (p - 1)) != 0) continue;
    EXPECT_EQ(counts(OpKind::barrier, "recursive_doubling", 0), P(q * l, 0));
    EXPECT_EQ(counts(OpKind::bcast, "recursive_doubling", m).first, (q - 1) + q * l);
    EXPECT_EQ(counts(OpKind::allreduce, "recursive_doubling", m), P(q * l, n * q * l));
    EXPECT_EQ(counts(OpKind::allreduce, "rabenseifner", m), P(2 * q * l, 2 * n * (q - 1)));
    EXPECT_EQ(counts(OpKind::reduce, "rabenseifner", m).first, q * l + q - 1);
    EXPECT_EQ(counts(OpKind::allgather, "recursive_doubling", m), P(q * l, n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::alltoall, "bruck", m).second, n * q * l * q / 2);
    EXPECT_EQ(counts(OpKind::gather, "binomial", m).second, n * l * q / 2);
    EXPECT_EQ(counts(OpKind::reduce_scatter_block, "recursive_halving", m), P(q * l, n * q * (q - 1)));
    EXPECT_EQ(counts(OpKind::scan, "recursive_doubling", m), P(q * l, n * q * l));
  }
}

// alpha a message, beta = 1 a byte: the costs of Thakur, Rabenseifner, Gropp (2005) and Chan et al. (2007).
TEST(Collectives, TimesWithoutContentionEqualTheAlphaBetaModel) {
  for (std::uint32_t p = 2; p <= 32; ++p) {
    const std::int64_t l = lg(p);
    const std::int64_t q = p;
    const std::int64_t m = 4096;
    const std::int64_t n = m * q;  // divides into p blocks
    const auto time = [&](OpKind k, std::string_view a, std::int64_t bytes) {
      return play(k, a, p, 0, bytes).time;
    };
    EXPECT_EQ(time(OpKind::barrier, "dissemination", 0), l * kAlpha);
    EXPECT_EQ(time(OpKind::bcast, "binomial", n), l * (kAlpha + n));
    EXPECT_EQ(time(OpKind::bcast, "pipeline", 65536 * 40), (q - 2 + 40) * (kAlpha + 65536));
    EXPECT_EQ(time(OpKind::reduce, "binomial", n), l * (kAlpha + n));
    EXPECT_EQ(time(OpKind::allgather, "ring", m), (q - 1) * (kAlpha + m));
    EXPECT_EQ(time(OpKind::allgather, "bruck", m), l * kAlpha + (q - 1) * m);
    EXPECT_EQ(time(OpKind::alltoall, "pairwise", m), (q - 1) * (kAlpha + m));
    EXPECT_EQ(time(OpKind::allreduce, "ring", n), 2 * (q - 1) * (kAlpha + m));
    EXPECT_EQ(time(OpKind::reduce_scatter_block, "pairwise", m), (q - 1) * (kAlpha + m));
    if ((p & (p - 1)) != 0) continue;
    EXPECT_EQ(time(OpKind::bcast, "ring", n), (l + q - 1) * kAlpha + 2 * (q - 1) * m);
    EXPECT_EQ(time(OpKind::bcast, "recursive_doubling", n), 2 * l * kAlpha + 2 * (q - 1) * m);
    EXPECT_EQ(time(OpKind::allreduce, "recursive_doubling", n), l * (kAlpha + n));
    EXPECT_EQ(time(OpKind::allreduce, "rabenseifner", n), 2 * l * kAlpha + 2 * (q - 1) * m);
    EXPECT_EQ(time(OpKind::reduce, "rabenseifner", n), 2 * l * kAlpha + 2 * (q - 1) * m);
    EXPECT_EQ(time(OpKind::gather, "binomial", m), l * kAlpha + (q - 1) * m);
    EXPECT_EQ(time(OpKind::scatter, "binomial", m), l * kAlpha + (q - 1) * m);
    EXPECT_EQ(time(OpKind::alltoall, "bruck", m), l * (kAlpha + n / 2));
    EXPECT_EQ(time(OpKind::reduce_scatter_block, "recursive_halving", m), l * kAlpha + (q - 1) * m);
  }
}

TEST(Collectives, RabenseifnerAndRingAllreduceSendTheOptimalShareFromEveryRank) {
  for (const std::uint32_t p : {2u, 4u, 8u, 16u, 32u})
    for (const auto* a : {"rabenseifner", "ring"})
      for (const std::int64_t sent : play(OpKind::allreduce, a, p, 0, 1024 * p).sent)
        EXPECT_EQ(sent, 2 * 1024 * (static_cast<std::int64_t>(p) - 1)) << a;
}

TEST(Collectives, UnevenCountsFromTwentySeedsAreDelivered) {
  for (std::uint64_t s = 0; s < 20; ++s)
    for (const auto& a : collective_algorithms())
      if (is_v(a.kind))
        play(a.kind, a.name, 3 + static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(s) % 3, 50,
             seed() + s);
}

TEST(Collectives, CommunicatorOperationsReachEveryRankFromEveryRankExceptFree) {
  for (const OpKind k : {OpKind::comm_split, OpKind::comm_dup, OpKind::comm_create, OpKind::comm_create_group,
                         OpKind::cart_create, OpKind::comm_free})
    for (std::uint32_t p = 1; p <= 33; ++p) {
      std::vector<RankSchedule> s(p);
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::int64_t>> sends;
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::int64_t>> recvs;
      std::size_t messages = 0;
      for (std::uint32_t me = 0; me < p; ++me) {
        schedule_comm_operation(k, p, me, s[me]);
        messages += s[me].messages.size();
        for (const auto& m : s[me].messages)
          (m.send ? sends[{me, m.peer}] : recvs[{m.peer, me}]).push_back(m.bytes);
      }
      EXPECT_EQ(sends, recvs);
      if (k == OpKind::comm_free || p == 1) {
        EXPECT_EQ(messages, 0u);
      } else {
        EXPECT_GE(messages, 4 * (p - 1));
      }
    }
}

TEST(Collectives, UnknownNamesAreAnsweredWithTheKnownOnes) {
  const auto a = find_collective(OpKind::bcast, "rings");
  ASSERT_FALSE(a);
  EXPECT_EQ(a.error().message(),
            "error: unknown algorithm of bcast; got \"rings\"; expected binomial, linear, pipeline, ring, "
            "recursive_doubling");
  EXPECT_EQ(exit_code(a.error().code), 2);
  EXPECT_TRUE(find_collective(OpKind::ibcast, "recursive-doubling"));
  const auto k = find_collective_kind("broadcast");
  ASSERT_FALSE(k);
  EXPECT_THAT(k.error().message(), testing::HasSubstr("barrier, bcast, gather, gatherv"));
  EXPECT_EQ(*find_collective_kind("allreduce"), OpKind::allreduce);
}

TEST(Collectives, MalformedCallsAreErrorsAndNotCrashes) {
  const auto rejects = [](CollectiveCall c, std::vector<std::int64_t> list, std::uint32_t me,
                          const char* why) {
    c.counts = list;
    const auto r = check_collective(c, me, "t.weft");
    ASSERT_FALSE(r);
    EXPECT_THAT(r.error().message(),
                testing::AllOf(testing::StartsWith("t.weft: error: "), testing::HasSubstr(why)));
  };
  rejects({.kind = OpKind::bcast, .ranks = 4, .root = 4, .bytes = 1}, {}, 0, "root outside");
  rejects({.kind = OpKind::bcast, .ranks = 4, .bytes = -1}, {}, 0, "negative");
  rejects({.kind = OpKind::allgather, .ranks = 4, .bytes = INT64_MAX}, {}, 0, "2^62");
  rejects({.kind = OpKind::barrier, .ranks = 4}, {}, 4, "rank outside");
  rejects({.kind = OpKind::allgatherv, .ranks = 4, .bytes = 1}, {1, 2, 3}, 0, "3 values");
  rejects({.kind = OpKind::allgatherv, .ranks = 2, .bytes = 1}, {1, -2}, 0, "negative");
  rejects({.kind = OpKind::allgatherv, .ranks = 2, .bytes = 1}, {INT64_MAX, INT64_MAX}, 0, "2^62");
  rejects({.kind = OpKind::gatherv, .ranks = 4, .root = 2, .bytes = 1}, {}, 2, "0 values");
  rejects({.kind = OpKind::alltoallv, .ranks = 2, .bytes = 1}, {}, 0, "0 values");
  rejects({.kind = OpKind::alltoallv, .ranks = 2, .bytes = 1}, {2, 1, 1, 1}, 0, "4 values");
  rejects({.kind = OpKind::neighbor_alltoall, .ranks = 2}, {1}, 0, "cut short");
  rejects({.kind = OpKind::neighbor_alltoall, .ranks = 2}, {INT64_MAX, 1, 1}, 0, "cut short");
  rejects({.kind = OpKind::neighbor_alltoall, .ranks = 2}, {1, 1, -1}, 0, "cut short");
  rejects({.kind = OpKind::neighbor_alltoall, .ranks = 2}, {1, 2, 1, 0}, 0, "neighbour outside");
  rejects({.kind = OpKind::neighbor_alltoallv, .ranks = 2}, {1, 1, 1, 0, 8}, 0, "wrong length");
}

}  // namespace
}  // namespace weft::replay
