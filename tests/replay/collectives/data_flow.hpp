// A collective run on paper: the oracle of the tests of algorithms.
//
// Every rank's rounds are taken through a network in which a send waits for its receive. The data are followed block by
// block (for reductions: sets of contributors) without knowing the algorithm, except where Bruck's all-to-all forwards
// a set of blocks that is no range, and how each algorithm cuts a vector into blocks. Algorithms that are made of others
// (their parts number their blocks each in its own way) are followed by contributions alone.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/rng.hpp"
#include "replay/collectives/rules.hpp"

namespace weft::replay {

inline void PrintTo(const CollectiveAlgorithm& a, std::ostream* os) {
  *os << traces::op_name(a.kind) << "=" << a.name;
}

namespace data_flow {

using traces::OpKind;

inline std::uint64_t seed() {
  const char* s = std::getenv("WEFT_SEED");
  return s == nullptr ? 20260101 : std::strtoull(s, nullptr, 10);
}

inline bool is_v(OpKind k) {
  return k == OpKind::gatherv || k == OpKind::scatterv || k == OpKind::allgatherv || k == OpKind::alltoallv ||
         k == OpKind::alltoallw || k == OpKind::reduce_scatter || k == OpKind::neighbor_allgatherv ||
         k == OpKind::neighbor_alltoallv || k == OpKind::neighbor_alltoallw;
}
inline bool is_alltoall(OpKind k) {
  return k == OpKind::alltoall || k == OpKind::alltoallv || k == OpKind::alltoallw;
}
inline bool is_neighbor(OpKind k) {
  return k >= OpKind::neighbor_allgather && k <= OpKind::neighbor_alltoallw;
}
inline bool is_scan(OpKind k) { return k == OpKind::scan || k == OpKind::exscan; }
inline bool has_root(OpKind k) {
  return k == OpKind::bcast || k == OpKind::reduce || (k >= OpKind::gather && k <= OpKind::scatterv);
}
inline bool is_scatter(OpKind k) { return k == OpKind::scatter || k == OpKind::scatterv; }
inline bool is_gather(OpKind k) { return k == OpKind::gather || k == OpKind::gatherv; }
inline bool is_allgather(OpKind k) { return k == OpKind::allgather || k == OpKind::allgatherv; }
inline bool is_reduce_scatter(OpKind k) {
  return k == OpKind::reduce_scatter || k == OpKind::reduce_scatter_block;
}
inline bool sums(OpKind k) {
  return k == OpKind::reduce || k == OpKind::allreduce || is_reduce_scatter(k) || is_scan(k);
}

// Made of collectives that the rules choose; or forwarding what came, not the sum that it went into; or blocks out of order or in pieces.
inline bool is_composed(const CollectiveAlgorithm& a) {
  static const char* const kComposed[] = {"allreduce=openmpi.nonoverlapping",
                                          "allgather=openmpi.linear",
                                          "allgatherv=openmpi.default",
                                          "reduce_scatter=openmpi.non_overlapping",
                                          "reduce_scatter_block=openmpi.basic_linear",
                                          "reduce_scatter_block=openmpi.recursive_doubling",
                                          "reduce_scatter_block=openmpi.butterfly"};
  if (a.asks_for_nodes || (a.kind == OpKind::allgatherv && a.name == "mpich.ring")) return true;
  const std::string name = std::string(traces::op_name(a.kind)) + "=" + std::string(a.name);
  return std::find(std::begin(kComposed), std::end(kComposed), name) != std::end(kComposed);
}
// Cut into segments of that size.
inline std::int64_t segment_of(const CollectiveAlgorithm& a, std::int64_t bytes) {
  if (a.name != "libnbc.chain") return 0;
  return a.kind == traces::OpKind::bcast && bytes >= 524288 ? 32768 : 8192;
}
inline bool is_for_two(const CollectiveAlgorithm& a) { return a.name.ends_with(".two_proc"); }

// Bytes of block b of n of a vector, as the libraries' sources say. An element has 8 bytes if 8 divides the vector's,
// else 4, else 1.
inline std::int64_t vector_block(const CollectiveAlgorithm& a, std::int64_t bytes, std::uint32_t p,
                                 std::uint32_t b, std::uint32_t n) {
  const std::int64_t element = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 1;
  const std::int64_t count = bytes / element;
  if (n == 1) return bytes;
  if (const std::int64_t segment = segment_of(a, bytes); segment > 0)
    return std::clamp<std::int64_t>(bytes - segment * b, 0, segment);
  if (a.name.starts_with("mpich.scatter_")) {  // bytes, not elements
    const std::int64_t each = (bytes + p - 1) / p;
    return std::clamp<std::int64_t>(bytes - each * b, 0, each);
  }
  if (a.name.find('.') == std::string_view::npos) return bytes / n + (b < bytes % n ? 1 : 0);
  if (a.name == "openmpi.scatter_allgather" || a.name == "openmpi.scatter_allgather_ring") {
    const std::int64_t each = (count + p - 1) / p;
    return std::clamp<std::int64_t>(count - each * b, 0, each) * element;
  }
  if (a.name == "openmpi.rabenseifner" ||
      a.name == "libnbc.rabenseifner") {  // by halves, the lower one rounded down
    std::int64_t size = count;
    for (std::uint32_t half = n / 2; half > 0; half /= 2) size = (b & half) == 0 ? size / 2 : size - size / 2;
    return size * element;
  }
  if (a.name == "openmpi.split_binary_tree") return (b == 0 ? count - count / 2 : count / 2) * element;
  return (count / n + (b < count % n ? 1 : 0)) * element;  // rings, MPICH's halves
}

// One call of p ranks: sizes of what goes between whom, and each rank's view of it.
struct Job {
  OpKind kind{};
  std::uint32_t p = 1;
  std::uint32_t root = 0;
  std::int64_t bytes = 0;
  std::int64_t segment = 0;                              // asked for, a multiple of an element; 0: none
  std::vector<std::int64_t> sizes;                       // by rank, or by s p + d
  std::vector<std::vector<std::uint32_t>> destinations;  // neighbourhoods
  std::vector<std::vector<std::int64_t>> lists;          // by rank
  const NodeShape* nodes = nullptr;
  const CollectiveRules* rules = nullptr;  // of the parts

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
    c.segment = segment;
    c.nodes = nodes;
    c.rules = rules;
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

// The same schedule by windows of `least` messages, one after the other, is `whole`. Returns the most messages of one.
inline std::size_t expect_windows_are(const RankSchedule& whole, const CollectiveAlgorithm& a,
                                      const CollectiveCall& call, std::uint32_t me, std::uint32_t least) {
  RankSchedule s;
  s.clear();
  s.window(least);
  std::size_t at = 0, most = 0;
  bool more = true;
  while (more) {
    a.build(call, me, s);
    EXPECT_LE(at + s.messages.size(), whole.messages.size());
    for (const ScheduleMessage& m : s.messages) {
      if (at == whole.messages.size()) break;
      const ScheduleMessage& w = whole.messages[at++];
      EXPECT_TRUE(m.round == w.round && m.send == w.send && m.peer == w.peer && m.bytes == w.bytes &&
                  m.first_block == w.first_block && m.blocks == w.blocks)
          << "message " << at - 1 << " of rank " << me << ", windows of " << least;
    }
    most = std::max(most, s.messages.size());
    more = s.more() && !s.messages.empty();
    if (more) s.go_on();
  }
  EXPECT_EQ(at, whole.messages.size()) << "rank " << me << ", windows of " << least;
  EXPECT_EQ(s.rounds, whole.rounds);
  return most;
}

inline constexpr std::int64_t kAlpha =
    1'000'000'000;  // a message takes alpha + its bytes, from when both sides are there

class Simulation {
 public:
  Simulation(const Job& job, const CollectiveAlgorithm& a) : job_(job), algorithm_(a), ranks_(job.p) {
    for (std::uint32_t me = 0; me < job.p; ++me) {
      EXPECT_TRUE(check_collective(job.call(me), me, "test"));
      a.build(job.call(me), me, ranks_[me].schedule);
      for (const std::uint32_t window : {1u, 16u})
        expect_windows_are(ranks_[me].schedule, a, job.call(me), me, window);
      std::uint32_t round = 0;
      for (auto& m : ranks_[me].schedule.messages) {
        EXPECT_TRUE(m.round == round || m.round == round + 1) << "rounds ascend without a gap";
        round = m.round;
        EXPECT_LT(m.peer, job.p);
        EXPECT_NE(m.peer, me);
        EXPECT_GE(m.bytes, 0);
        if (composed())
          m.first_block = 0, m.blocks = 1;
        else if (!bruck())
          block_count_ = std::max(block_count_, m.first_block + m.blocks);
      }
      EXPECT_EQ(ranks_[me].schedule.rounds, ranks_[me].schedule.messages.empty() ? 0 : round + 1);
    }
    if (composed()) {
      start_with_oneself();
      return;
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
    if (composed()) {
      for (std::uint32_t me = 0; me < job_.p; ++me) {
        const bool everything = job_.kind != OpKind::reduce && job_.kind != OpKind::gather;
        if (is_scan(job_.kind)) {
          const std::uint64_t below = (std::uint64_t{2} << me) - 1;
          EXPECT_EQ(ranks_[me].have[0] & below, below) << "rank " << me;
        } else if (job_.kind == OpKind::bcast || is_scatter(job_.kind)) {
          EXPECT_NE(ranks_[me].have[0] & (std::uint64_t{1} << job_.root), 0u) << "rank " << me;
        } else if ((everything || me == job_.root) && (!is_reduce_scatter(job_.kind) || job_.sizes[me] > 0)) {
          EXPECT_EQ(ranks_[me].have[0] & contributors(all), contributors(all)) << "rank " << me;
        }
        EXPECT_GE(ranks_[me].got, wanted(me)) << "rank " << me;
      }
      return;
    }
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
    std::int64_t got = 0;  // bytes
  };
  struct Posted {
    std::uint32_t rank;
    ScheduleMessage message;
    std::int64_t at;
    Payload payload;  // of a send
  };

  [[nodiscard]] bool composed() const { return is_composed(algorithm_); }
  void start_with_oneself() {
    block_count_ = 1;
    for (std::uint32_t me = 0; me < job_.p; ++me) ranks_[me].have.assign(1, std::uint64_t{1} << me);
  }
  // Who has something to contribute.
  [[nodiscard]] std::uint64_t contributors(std::uint64_t all) const {
    if (!is_allgather(job_.kind)) return all;
    std::uint64_t some = 0;
    for (std::uint32_t r = 0; r < job_.p; ++r)
      if (job_.sizes[r] > 0) some |= std::uint64_t{1} << r;
    return some;
  }
  // Bytes that rank `me` must have got.
  [[nodiscard]] std::int64_t wanted(std::uint32_t me) const {
    if (job_.p == 1 || job_.kind == OpKind::barrier) return 0;
    if (job_.kind == OpKind::bcast || is_scatter(job_.kind)) return me == job_.root ? 0 : job_.call(me).bytes;
    if (job_.kind == OpKind::reduce) return me == job_.root ? job_.bytes : 0;
    if (is_scan(job_.kind)) return me == 0 ? 0 : job_.bytes;
    std::int64_t others = 0;
    for (std::uint32_t r = 0; r < job_.p; ++r) others += r == me ? 0 : job_.sizes[r];
    if (is_gather(job_.kind)) return me == job_.root ? others : 0;
    if (is_allgather(job_.kind)) return others;
    return is_reduce_scatter(job_.kind) ? 0 : job_.bytes;
  }
  [[nodiscard]] bool bruck() const {
    return job_.kind == OpKind::alltoall && algorithm_.name.find("bruck") != std::string_view::npos;
  }
  [[nodiscard]] std::int64_t block_bytes(std::uint32_t b) const {
    if (is_gather(job_.kind) || is_scatter(job_.kind)) return job_.sizes[(job_.root + b) % job_.p];
    if (is_allgather(job_.kind) || is_reduce_scatter(job_.kind) || is_alltoall(job_.kind) ||
        is_neighbor(job_.kind))
      return job_.sizes[b];
    if (job_.kind == OpKind::barrier) return 0;
    if (job_.segment > 0 && job_.kind != OpKind::allreduce)  // down and up trees
      return std::clamp<std::int64_t>(job_.bytes - job_.segment * b, 0, job_.segment);
    if (job_.segment == 0 || job_.p == 1 || block_count_ == job_.p)
      return vector_block(algorithm_, job_.bytes, job_.p, b, block_count_);
    // A block of each rank, each in as many pieces.
    const std::uint32_t pieces = block_count_ / job_.p;
    return vector_block(algorithm_, vector_block(algorithm_, job_.bytes, job_.p, b / pieces, job_.p), pieces,
                        b % pieces, pieces);
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
    if (composed()) return {{0, r.have[0]}};
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
    if (composed()) {
      r.have[0] |= from.second.at(0);
      return;
    }
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
    ranks_[received.rank].got += sent.message.bytes;
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

inline Outcome play(OpKind kind, std::string_view name, std::uint32_t p, std::uint32_t root,
                    std::int64_t bytes, std::uint64_t with_seed = seed(), const NodeShape* nodes = nullptr,
                    const CollectiveRules* rules = nullptr, std::int64_t segment = 0) {
  Rng rng(with_seed);
  const auto found = find_collective(kind, name);
  EXPECT_TRUE(found);
  Job job(kind, p, root, bytes, rng);
  job.nodes = nodes;
  job.rules = rules;
  job.segment = segment;
  SCOPED_TRACE(std::string(traces::op_name(kind)) + "=" + std::string((*found)->name) +
               " p=" + std::to_string(p) + " root=" + std::to_string(root) +
               " bytes=" + std::to_string(bytes) + " WEFT_SEED=" + std::to_string(with_seed));
  Simulation s(job, **found);
  const Outcome o = s.run();
  if (bytes > 0 || kind == OpKind::barrier) {
    s.expect_what_mpi_says();
  } else if (!is_neighbor(kind) && !(is_alltoall(kind) && is_v(kind) && name.ends_with("pairwise"))) {
    EXPECT_EQ(o.messages, 0u) << "a call without bytes sends nothing";
  }
  return o;
}

}  // namespace data_flow
}  // namespace weft::replay
