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

}  // namespace
}  // namespace weft::traces
