// Which operations belong to the body of a poll's hit: whatever poll a body runs at, the program must stay one that MPI allows.
#include "traces/conditional_steps.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "core/rng.hpp"
#include "tests/support/seed.hpp"

namespace weft::traces {
namespace {

// A program of one rank, with what its polls are told.
struct PollingProgram {
  std::vector<Op> ops;
  std::vector<std::vector<std::int64_t>> lists;
  std::map<std::size_t, std::size_t> hit_of;  // of a poll that missed
  std::map<std::size_t, std::size_t> body;    // of a hit: how many operations

  void add(OpKind kind, std::uint32_t request, std::int32_t peer = kAnySource,
           std::vector<std::int64_t> list = {}, std::uint8_t flags = 0) {
    Op op;
    op.kind = kind;
    op.request = request;
    op.peer = peer;
    op.flags = flags;
    ops.push_back(op);
    lists.push_back(std::move(list));
  }
  void find_bodies() {
    ConditionalSteps steps(
        {[this](std::uint64_t miss, std::uint64_t distance) { hit_of[miss] = miss + distance; },
         [this](std::uint64_t hit, std::uint64_t length) { body[hit] = length; }});
    for (std::size_t i = 0; i < ops.size(); ++i) steps.add(i, i, ops[i], lists[i]);
    steps.finish();
  }
};

// The order of a run where polls that missed find their message if `early` says so.
template <class Early>
std::vector<std::size_t> order(const PollingProgram& p, Early early) {
  std::vector<std::size_t> all;
  std::map<std::size_t, bool> done;
  for (std::size_t i = 0; i < p.ops.size(); ++i) {
    all.push_back(i);
    if (const auto hit = p.hit_of.find(i); hit != p.hit_of.end() && !done[hit->second] && early()) {
      done[hit->second] = true;
      for (std::size_t j = 1; j <= p.body.at(hit->second); ++j) all.push_back(hit->second + j);
    } else if (const auto body = p.body.find(i); body != p.body.end() && done[i]) {
      i += body->second;
    }
  }
  return all;
}

// MPI's rule (4.0, 3.7): a request is in use from its start to its completion. The first operation that breaks it.
std::optional<std::size_t> misuse(const PollingProgram& p, const std::vector<std::size_t>& order) {
  std::set<std::int64_t> active;
  for (const std::size_t i : order) {
    const Op& op = p.ops[i];
    switch (op.kind) {
      case OpKind::isend:
      case OpKind::irecv:
        if (!active.insert(op.request).second) return i;
        break;
      case OpKind::wait:
      case OpKind::test:
      case OpKind::request_free:
        if (active.erase(op.request) == 0) return i;
        break;
      case OpKind::waitall:
        for (const std::int64_t slot : p.lists[i])
          if (active.erase(slot) == 0) return i;
        break;
      case OpKind::waitany: {
        const std::vector<std::int64_t>& list = p.lists[i];
        for (std::size_t k = 1; k < list.size(); ++k)
          if (!active.contains(list[k])) return i;
        active.erase(list.back());
        break;
      }
      default:
        break;
    }
  }
  return {};
}

// Sends, receives and their ends between polls of three ranks, slots as the recorder gives them: the one that was freed last.
PollingProgram random_program(Rng& rng) {
  PollingProgram p;
  std::vector<std::uint32_t> free{7, 6, 5, 4, 3, 2, 1, 0};
  std::vector<std::int64_t> used;
  const auto start = [&](OpKind kind, std::int32_t peer) {
    if (free.empty()) return;
    p.add(kind, free.back(), peer);
    used.push_back(free.back());
    free.pop_back();
  };
  const auto end_one = [&](OpKind kind) {
    if (used.empty()) return;
    const std::size_t at = rng.below(used.size());
    const std::int64_t slot = used[at];
    if (kind == OpKind::waitany) {
      std::vector<std::int64_t> list{static_cast<std::int64_t>(used.size())};
      list.insert(list.end(), used.begin(), used.end());
      list.push_back(slot);
      p.add(kind, kNoRequest, kAnySource, list);
    } else {
      p.add(kind, static_cast<std::uint32_t>(slot));
    }
    used.erase(used.begin() + static_cast<std::ptrdiff_t>(at));
    free.push_back(static_cast<std::uint32_t>(slot));
  };
  for (int n = 0; n < 60; ++n) {
    const auto peer = static_cast<std::int32_t>(rng.below(8));
    const auto polled = static_cast<std::int32_t>(rng.below(3));
    switch (rng.below(10)) {
      case 0:
      case 1:
        start(OpKind::isend, peer);
        break;
      case 2:
        start(OpKind::irecv, peer);
        break;
      case 3:
        end_one(OpKind::wait);
        break;
      case 4:
        end_one(rng.below(2) == 0 ? OpKind::test : OpKind::request_free);
        break;
      case 5:
        end_one(OpKind::waitany);
        break;
      case 6:
        p.add(OpKind::waitall, kNoRequest, kAnySource, used);
        for (const std::int64_t slot : used) free.push_back(static_cast<std::uint32_t>(slot));
        used.clear();
        break;
      case 7: {
        p.add(OpKind::iprobe, kNoRequest, polled, {0, 0, polled, 0, 8}, kHit);
        if (rng.below(2) == 0)
          p.add(OpKind::recv, kNoRequest, polled);
        else
          start(OpKind::irecv, polled);
        break;
      }
      default:
        p.add(OpKind::iprobe, kNoRequest, polled);
    }
  }
  p.find_bodies();
  return p;
}

TEST(ConditionalSteps, RequestsAreSoundWhereverBodiesRun) {
  std::size_t moved = 0;
  for (const std::uint64_t seed : support::seeds_to(2000)) {
    Rng rng(seed);
    const PollingProgram p = random_program(rng);
    const auto recorded = order(p, [] { return false; });
    ASSERT_FALSE(misuse(p, recorded)) << "seed " << seed;
    for (int attempt = 0; attempt < 10; ++attempt) {
      const auto run = order(p, [&] { return rng.below(3) == 0; });
      moved += run != recorded ? 1 : 0;
      ASSERT_EQ(run.size(), recorded.size()) << "seed " << seed;
      const auto at = misuse(p, run);
      ASSERT_FALSE(at) << "seed " << seed << ": " << op_name(p.ops[*at].kind) << " at operation " << *at;
    }
  }
  EXPECT_GT(moved, 5000u) << "bodies of requests in slots of their own stay";
}

// Programs of several ranks that one order of their messages ends, each taken when it is sent. Tags tell messages apart.
struct PollingRanks {
  std::vector<PollingProgram> ranks;
  std::vector<std::uint32_t> slots;  // used so far: each request has its own

  explicit PollingRanks(std::size_t n) : ranks(n), slots(n) {}
  Op& add(std::size_t rank, OpKind kind, std::size_t peer, std::int32_t tag, std::uint32_t comm) {
    PollingProgram& p = ranks[rank];
    p.add(kind, kNoRequest, static_cast<std::int32_t>(peer));
    p.ops.back().tag = tag;
    p.ops.back().comm = CommId(comm);
    return p.ops.back();
  }
};

PollingRanks random_ranks(Rng& rng) {
  constexpr std::size_t kRanks = 4;
  PollingRanks all(kRanks);
  struct Message {
    std::size_t from, to;
    std::int32_t tag;
    std::uint32_t comm;
  };
  std::vector<Message> polled;
  std::vector<std::pair<std::size_t, std::uint32_t>> open;  // rank and slot
  std::int32_t tags = 0;
  const auto message = [&] {
    const std::size_t from = rng.below(kRanks), to = (from + 1 + rng.below(kRanks - 1)) % kRanks;
    return Message{from, to, tags++, static_cast<std::uint32_t>(rng.below(2))};
  };
  const auto one_side = [&](std::size_t rank, OpKind blocking, OpKind started, std::size_t peer,
                            const Message& m) {
    if (rng.below(2) == 0) {
      all.add(rank, blocking, peer, m.tag, m.comm);
    } else {
      all.add(rank, started, peer, m.tag, m.comm).request = all.slots[rank];
      open.emplace_back(rank, all.slots[rank]++);
    }
  };
  const auto send = [&](const Message& m) { one_side(m.from, OpKind::ssend, OpKind::issend, m.to, m); };
  const auto receive = [&](const Message& m) { one_side(m.to, OpKind::recv, OpKind::irecv, m.from, m); };
  const auto take = [&](auto& from) {
    std::swap(from[rng.below(from.size())], from.back());
    const auto one = from.back();
    from.pop_back();
    return one;
  };
  for (int n = 0; n < 60; ++n) {
    switch (rng.below(8)) {
      case 0:
        if (rng.below(8) != 0) break;
        for (std::size_t r = 0; r < kRanks; ++r) all.add(r, OpKind::barrier, 0, tags, 0);
        ++tags;
        break;
      case 1:
        if (polled.size() < 4) polled.push_back(message());
        [[fallthrough]];
      case 2:
        if (!polled.empty()) {
          const Message& m = polled[rng.below(polled.size())];
          all.add(m.to, OpKind::iprobe, m.from, m.tag, m.comm);
        }
        break;
      case 3:
        if (!polled.empty()) {
          const Message m = take(polled);
          send(m);
          Op& hit = all.add(m.to, OpKind::iprobe, m.from, m.tag, m.comm);
          hit.flags = kHit;
          all.ranks[m.to].lists.back() = {0, 0, hit.peer, hit.tag, 8};
          receive(m);
        }
        break;
      case 4:
      case 5:
        if (!open.empty()) {
          const auto [rank, slot] = take(open);
          all.add(rank, OpKind::wait, 0, 0, 0).request = slot;
        }
        break;
      default: {
        const Message m = message();
        send(m);
        receive(m);
      }
    }
  }
  for (PollingProgram& p : all.ranks) p.find_bodies();
  return all;
}

// Runs them in a random order, each poll that missed at whatever its rank can find there. Whether all come to their ends.
class RandomRun {
 public:
  RandomRun(const PollingRanks& all, Rng& rng, bool early)
      : all_(all), rng_(rng), early_(early), at_(all.ranks.size()) {}
  bool ends() {
    for (;;) {
      std::vector<std::size_t> order;
      for (std::size_t r = 0; r < at_.size(); ++r) order.push_back(r);
      rng_.shuffle(std::span<std::size_t>(order));
      bool stuck = true;
      const std::size_t posted = sent_.size() + received_.size();
      for (const std::size_t r : order)
        for (std::uint64_t steps = 1 + rng_.below(10); steps > 0 && step(r); --steps) stuck = false;
      if (stuck && posted == sent_.size() + received_.size()) break;
    }
    for (std::size_t r = 0; r < at_.size(); ++r)
      if (at_[r].op < all_.ranks[r].ops.size()) return false;
    return true;
  }
  [[nodiscard]] std::size_t moved() const { return moved_; }

 private:
  struct Place {
    std::size_t op = 0, back = 0,
                end = SIZE_MAX;  // of a body that runs early: where the rank goes on, where it ends
    std::set<std::size_t> done;  // hits
  };
  using Key = std::pair<std::int32_t, std::int32_t>;  // tag, receiver
  [[nodiscard]] bool complete(const Key& key) const { return sent_.contains(key) && received_.contains(key); }

  bool step(std::size_t r) {
    const PollingProgram& p = all_.ranks[r];
    Place& at = at_[r];
    if (at.op == p.ops.size()) return false;
    const Op& op = p.ops[at.op];
    const auto me = static_cast<std::int32_t>(r);
    const Key to_me{op.tag, me}, key = is_send(op.kind) ? Key{op.tag, op.peer} : to_me;
    if (is_send(op.kind)) sent_.insert(key);
    if (is_receive(op.kind)) received_.insert(key);
    if (op.request != kNoRequest && op.kind != OpKind::wait) requests_[{r, op.request}] = key;
    switch (op.kind) {
      case OpKind::ssend:
      case OpKind::recv:
        if (!complete(key)) return false;
        break;
      case OpKind::wait:
        if (!complete(requests_.at({r, op.request}))) return false;
        break;
      case OpKind::barrier:
        arrived_[op.tag].insert(r);
        if (arrived_[op.tag].size() < at_.size()) return false;
        break;
      case OpKind::iprobe:
        if (const auto hit = p.hit_of.find(at.op); hit != p.hit_of.end()) {
          if (early_ && !at.done.contains(hit->second) && p.body.at(hit->second) > 0 &&
              sent_.contains(to_me)) {
            at.done.insert(hit->second);
            at.back = at.op + 1;
            at.op = hit->second + 1;
            at.end = at.op + p.body.at(hit->second);
            ++moved_;
            return true;
          }
        } else if ((op.flags & kHit) != 0) {
          if (at.done.contains(at.op))
            at.op += p.body.at(at.op);
          else if (!sent_.contains(to_me))
            return false;
        }
        break;
      default:
        break;
    }
    if (++at.op == at.end) {
      at.op = at.back;
      at.end = SIZE_MAX;
    }
    return true;
  }

  const PollingRanks& all_;
  Rng& rng_;
  bool early_;  // polls that missed may find their messages
  std::vector<Place> at_;
  std::set<Key> sent_, received_;
  std::map<std::pair<std::size_t, std::uint32_t>, Key> requests_;
  std::map<std::int32_t, std::set<std::size_t>> arrived_;
  std::size_t moved_ = 0;
};

TEST(ConditionalSteps, RanksThatEndedEndWhereverBodiesRun) {
  std::size_t moved = 0;
  for (const std::uint64_t seed : support::seeds_to(2000)) {
    Rng rng(seed);
    const PollingRanks all = random_ranks(rng);
    for (int attempt = 0; attempt < 10; ++attempt) {
      RandomRun run(all, rng, attempt > 0);
      ASSERT_TRUE(run.ends()) << "seed " << seed << ", attempt " << attempt;
      moved += run.moved();
    }
  }
  EXPECT_GT(moved, 5000u);
}

}  // namespace
}  // namespace weft::traces
