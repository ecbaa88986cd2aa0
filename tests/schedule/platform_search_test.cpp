// Searches on platforms as a user names them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/rng.hpp"
#include "schedule/placement.hpp"
#include "tests/congestion/cases.hpp"
#include "tests/schedule/pieces_in_memory.hpp"
#include "tests/schedule/storm_workload.hpp"
#include "topology/platform/platform.hpp"

namespace weft::schedule {
namespace {

using weft::testing::PiecesInMemory;
using weft::testing::unit_grid;

topology::Platform load(const std::string& spec) {
  auto p = topology::load_platform(spec);
  EXPECT_TRUE(p) << (p ? "" : p.error().message());
  return std::move(*p);
}

std::vector<HostId> in_order(std::uint32_t ranks) {
  std::vector<HostId> host;
  for (std::uint32_t r = 0; r < ranks; ++r) host.emplace_back(r);
  return host;
}

SearchResult search(const topology::Platform& p, const Exchange& e, const std::vector<HostId>& host,
                    std::string_view model, Mode mode, double* unit = nullptr) {
  const auto w = place_exchange(e, p.fabric, host, messages_share(model));
  EXPECT_TRUE(w) << (w ? "" : w.error().message());
  const auto oracle = make_rate_oracle(model, *w, p.fabric);
  EXPECT_TRUE(oracle);
  if (unit != nullptr) *unit = w->seconds_on(0, w->links_of(0)[0]);
  SearchOptions o;
  o.mode = mode;
  return search_schedule(*w, **oracle, o, {});
}

TEST(PlatformSearch, TheBuiltInNodeHasTheFiguresOfTheTreeOfThePaper) {
  const auto p = load("cs-storm");
  double unit = 0;
  const auto barrier = search(p, unit_grid(4, 2), in_order(8), "pcie", Mode::kBarrier, &unit);
  EXPECT_NEAR(barrier.best_s / unit, 4, 1e-9);
  EXPECT_EQ(barrier.statistics.best_count, 6u);
  EXPECT_EQ(barrier.statistics.distinct.size(), 352u);
  EXPECT_NEAR(barrier.statistics.mean / unit, 46235188207.0 / 6038788140.0, 1e-9);
  EXPECT_EQ(barrier.symmetries, 4);
  const auto async = search(p, unit_grid(4, 2), in_order(8), "pcie", Mode::kAsync);
  EXPECT_EQ(async.statistics.best_count, 4u);
  EXPECT_EQ(async.statistics.distinct.size(), 3561u);
  EXPECT_NEAR(async.statistics.worst / unit, 4850642.0 / 527305.0, 1e-9);
}

// The arbiter asked directly and the sharing model asked through its interface.
TEST(PlatformSearch, TheArbiterAndTheSharingModelGiveTheSameRates) {
  const auto p = load("cs-storm-16");
  const Exchange e = unit_grid(4, 4);
  const auto w = place_exchange(e, p.fabric, in_order(16));
  ASSERT_TRUE(w);
  const auto direct = make_rate_oracle("pcie", *w, p.fabric);
  const auto model = make_rate_oracle("max-min", *w, p.fabric);
  ASSERT_TRUE(direct && model);
  const auto sharing = make_model_oracle("pcie", *w, p.fabric);
  ASSERT_TRUE(sharing);
  Rng rng(5);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::uint32_t> active;
    for (std::uint32_t r = 0; r < 16; ++r) {
      if (rng.below(4) != 0) active.push_back(e.first[r] + static_cast<std::uint32_t>(rng.below(e.sends(r))));
    }
    std::vector<double> a(active.size());
    std::vector<double> b(active.size());
    (*direct)->rates(active, a);
    (*sharing)->rates(active, b);
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-9 * a[i]) << round;
  }
}

TEST(PlatformSearch, SixteenGpusMeetTheLinkBoundOnTheBuiltInNode) {
  const auto p = load("cs-storm-16");
  for (const Exchange& e : {unit_grid(4, 4), unit_grid(4, 2, 2)}) {
    for (Mode mode : {Mode::kBarrier, Mode::kAsync}) {
      double unit = 0;
      const auto r = search(p, e, in_order(16), "pcie", mode, &unit);
      EXPECT_NEAR(r.best_s / unit, 8, 1e-9);
      EXPECT_EQ(r.proof, Proof::kLinkBound);
    }
  }
}

// On a crossbar a rank's cable is all there is: 3 messages one after another, or 4 into one rank.
TEST(PlatformSearch, ACrossbarIsAsFastAsItsCables) {
  const auto p = load("crossbar:n=8,bw=8Gbps,lat=0");
  const auto r = search(p, unit_grid(4, 2), in_order(8), "max-min", Mode::kAsync);
  EXPECT_NEAR(r.best_s / r.link.seconds, 1, 1e-9);
  EXPECT_EQ(r.link.messages, 3u);
}

TEST(PlatformSearch, RanksOnOneHostSendInNoTime) {
  const auto p = load("crossbar:n=2,bw=8Gbps,lat=0,ranks_per_host=2");
  const std::vector<HostId> host = {HostId(0), HostId(0), HostId(1), HostId(1)};
  const auto r = search(p, unit_grid(4, 1), host, "max-min", Mode::kAsync);
  EXPECT_NEAR(r.best_s / r.link.seconds, 1, 1e-9);  // 1 <-> 2 alone takes time
}

// Two pairs of senders that look alike by their routes alone: ranks 0 and 2 send what 12 and 14 send back to their neighbours,
// crosswise. What makes them differ is with whom they share: a capacity of both directions, a host's ports.
Exchange crossed_pairs() {
  std::vector<Message> messages;
  for (const auto& [src, dst, megabytes] : {std::array{0u, 4u, 3u},
                                            {0u, 6u, 1u},
                                            {2u, 8u, 3u},
                                            {2u, 10u, 1u},
                                            {12u, 1u, 4u},
                                            {12u, 16u, 4u},
                                            {14u, 3u, 4u},
                                            {14u, 18u, 4u}})
    messages.push_back({src, dst, Bytes(megabytes * 1'000'000)});
  return make_exchange(19, messages);
}

TEST(PlatformSearch, DirectionsThatShareACapacityAreNoSymmetryWithOthers) {
  const auto p = load("pcie:tree=rc(12*switch(2*gpu)),bw=1GB/s,both_bw=1.1GB/s");
  const auto r = search(p, crossed_pairs(), in_order(19), "max-min", Mode::kAsync);
  ASSERT_EQ(r.statistics.distinct.size(), 2u);
  EXPECT_NEAR(r.statistics.distinct[0].seconds, 8e-3, 1e-11);
  EXPECT_EQ(r.statistics.distinct[0].count, 4u);
  EXPECT_NEAR(r.statistics.distinct[1].seconds, 11.272727272e-3, 1e-11);
  EXPECT_EQ(r.statistics.distinct[1].count, 12u);
}

TEST(PlatformSearch, PortsThatCountPeersAreNoSymmetryWithThoseOfOtherHosts) {
  auto p = load("crossbar:n=12,bw=1GB/s,lat=0");
  ASSERT_TRUE(p.fabric.share_ports({{2, 0.6}}));
  std::vector<HostId> host;
  for (std::uint32_t r = 0; r < 19; ++r) host.emplace_back(r / 2);
  EXPECT_NEAR(search(p, crossed_pairs(), host, "max-min", Mode::kAsync).best_s, 8e-3, 1e-11);
}

// What symmetries say of schedules that were not simulated, against simulating all: patterns with many symmetries, on platforms
// where links share.
TEST(PlatformSearch, SymmetriesWhereLinksShareChangeNoTime) {
  const std::uint64_t seed = congestion::problems::base_seed(59);
  Rng rng(seed);
  auto ports = load("crossbar:n=6,bw=1GB/s,lat=0");
  ASSERT_TRUE(ports.fabric.share_ports({{2, 0.6}, {3, 0.5}}));
  const auto trees = load("pcie:tree=rc(6*switch(2*gpu)),bw=1GB/s,both_bw=1.2GB/s");
  int reduced = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed) + ", round " + std::to_string(round));
    const auto& p = round % 2 == 0 ? ports : trees;
    std::vector<HostId> host;
    for (std::uint32_t r = 0; r < 12; ++r) host.emplace_back(round % 2 == 0 ? r / 2 : r);
    // Whatever one rank sends, those of another host or switch or two send likewise, or nearly so.
    std::vector<Message> messages;
    for (std::uint32_t m = 0; m < 4; ++m) {
      const auto src = static_cast<std::uint32_t>(rng.below(4)),
                 dst = static_cast<std::uint32_t>(rng.below(12));
      const Bytes bytes((1 + rng.below(3)) * 1'000'000);
      for (std::uint32_t k = 0; k < 3; ++k) {
        const std::uint32_t a = (src + 4 * k) % 12, b = (dst + (rng.below(5) == 0 ? 2 : 4) * k) % 12;
        if (a != b) messages.push_back({a, b, bytes});
      }
    }
    const Exchange e = make_exchange(12, messages);
    if (e.schedules() > 5000) continue;
    const auto w = place_exchange(e, p.fabric, host);
    ASSERT_TRUE(w);
    const auto oracle = make_rate_oracle("max-min", *w, p.fabric);
    ASSERT_TRUE(oracle);
    const SymmetryGroup symmetry = workload_symmetry(*w);
    reduced += symmetry.order > 1 ? 1 : 0;
    for (const Mode mode : {Mode::kBarrier, Mode::kAsync}) {
      const auto some = search_exhaustively(*w, **oracle, mode, symmetry, {});
      const auto all = search_exhaustively(*w, **oracle, mode, {}, {});
      ASSERT_EQ(some.statistics.distinct.size(), all.statistics.distinct.size());
      for (std::size_t i = 0; i < all.statistics.distinct.size(); ++i) {
        EXPECT_NEAR(some.statistics.distinct[i].seconds, all.statistics.distinct[i].seconds, 1e-12);
        EXPECT_EQ(some.statistics.distinct[i].count, all.statistics.distinct[i].count);
      }
    }
  }
  EXPECT_GT(reduced, 10);
}

// Messages that do not share a link overlap on it: what it needs for all of them bounds nothing, what it needs for those of one
// sender does. Proofs against enumeration.
TEST(PlatformSearch, WithoutContentionProofsHold) {
  const std::uint64_t seed = congestion::problems::base_seed(53);
  Rng rng(seed);
  int proven_by_bounds = 0, overlapping = 0;
  for (int round = 0; round < 60; ++round) {
    const auto p = load(round % 2 == 0 ? "crossbar:n=6,bw=8Gbps,lat=0" : "fat-tree:m=4,n=2,bw=8Gbps,lat=0");
    std::vector<Message> messages;
    for (std::uint32_t m = 0, n = 4 + static_cast<std::uint32_t>(rng.below(6)); m < n; ++m) {
      const auto src = static_cast<std::uint32_t>(rng.below(3));
      messages.push_back({src, 3 + static_cast<std::uint32_t>(rng.below(3)), Bytes(1 + rng.below(8))});
    }
    const Exchange e = make_exchange(6, messages);
    const auto w = place_exchange(e, p.fabric, in_order(6), messages_share("contention-free"));
    ASSERT_TRUE(w);
    const auto oracle = make_rate_oracle("contention-free", *w, p.fabric);
    ASSERT_TRUE(oracle);
    for (const Mode mode : {Mode::kBarrier, Mode::kAsync}) {
      SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed) + ", round " + std::to_string(round));
      SearchOptions o;
      o.mode = mode;
      o.exhaustive = true;
      const auto all = search_schedule(*w, **oracle, o, {});
      ASSERT_EQ(all.proof, Proof::kExhaustion);
      o.exhaustive = false;
      o.exhaustive_limit = 0;
      const auto found = search_schedule(*w, **oracle, o, {});
      EXPECT_LE(found.link.seconds, all.best_s * (1 + 1e-9));
      EXPECT_LE(found.lower_s, found.best_s * (1 + 1e-9));
      ASSERT_NE(found.proof, Proof::kNone);
      EXPECT_NEAR(found.best_s, all.best_s, 1e-9 * all.best_s);
      proven_by_bounds += found.proof == Proof::kBranchAndBound ? 0 : 1;
      overlapping += all.best_s < link_bound(*place_exchange(e, p.fabric, in_order(6))).seconds * 0.99;
    }
  }
  EXPECT_GT(proven_by_bounds, 30);
  EXPECT_GT(overlapping, 20) << "cases where links are shared in time";
}

// What both directions of a link share bounds schedules where messages go both ways: against enumeration, on links of GPUs,
// switches and a memory, for each model.
TEST(PlatformSearch, BothDirectionsTogetherAreNoMoreThanAnyScheduleNeeds) {
  const std::uint64_t seed = congestion::problems::base_seed(61);
  Rng rng(seed);
  const std::array<topology::Platform, 3> platforms = {
      load("pcie:tree=rc(2*switch(2*gpu) 2*gpu),bw=1GB/s,both_bw=1.2GB/s"),
      load("pcie:tree=rc(2*switch(3*gpu)),bw=1GB/s,down_bw=0.8GB/s,both_bw=1GB/s,tau=0.3"),
      load("pcie:tree=rc(switch(2*gpu) 3*gpu mem),bw=1GB/s,mem_bw=2GB/s,mem_both_bw=2.1GB/s")};
  int both = 0, met = 0;
  for (int round = 0; round < 120; ++round) {
    const auto& p = platforms[static_cast<std::size_t>(round) % 3];
    std::vector<Message> messages;
    for (std::uint64_t m = 0, n = 3 + rng.below(6); m < n; ++m) {
      // Mostly with one rank, the memory where there is one.
      const auto a = static_cast<std::uint32_t>(rng.below(3) == 0 ? rng.below(6) : 5),
                 b = static_cast<std::uint32_t>(rng.below(5));
      if (a != b) messages.push_back({a, b, Bytes((1 + rng.below(3)) * 1'000'000)});
      if (a != b && rng.below(2) == 0) std::swap(messages.back().src, messages.back().dst);
    }
    if (messages.empty()) continue;
    const Exchange e = make_exchange(6, messages);
    if (e.schedules() > 3000) continue;
    const auto w = place_exchange(e, p.fabric, in_order(6));
    ASSERT_TRUE(w);
    for (const char* model : {"max-min", "pcie"}) {
      const auto oracle = make_rate_oracle(model, *w, p.fabric);
      ASSERT_TRUE(oracle);
      for (const Mode mode : {Mode::kBarrier, Mode::kAsync}) {
        SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed) + ", round " + std::to_string(round) + ", " + model);
        SearchOptions o;
        o.mode = mode;
        o.exhaustive = true;
        const auto all = search_schedule(*w, **oracle, o, {});
        ASSERT_EQ(all.proof, Proof::kExhaustion);
        EXPECT_LE(all.link.seconds, all.best_s * (1 + 1e-9));
        both += all.link.both ? 1 : 0;
        o.exhaustive = false;
        o.exhaustive_limit = 0;
        const auto found = search_schedule(*w, **oracle, o, {});
        ASSERT_NE(found.proof, Proof::kNone);
        EXPECT_NEAR(found.best_s, all.best_s, 1e-9 * all.best_s);
        EXPECT_LE(found.lower_s, all.best_s * (1 + 1e-9));
        met += found.link.both && found.proof == Proof::kLinkBound ? 1 : 0;
      }
    }
  }
  EXPECT_GT(both, 100);
  EXPECT_GT(met, 4) << "proven by what both directions carry";
}

TEST(Placement, TheClassesOfTheEightGpusAreCountedByTheSymmetryOfTheTree) {
  const auto p = load("cs-storm");
  PlacementOptions o;
  const auto r = search_placement(unit_grid(4, 2), p.fabric, p.fabric.rank_hosts(), o, {});
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_EQ(r->placements, 40320);
  EXPECT_EQ(r->host_classes, 315u);  // 8! / 2^7
  std::uint64_t members = 0;
  for (const auto& c : r->classes) members += c.members;
  EXPECT_EQ(members, 40320u);
  EXPECT_TRUE(r->proven);
  // No class that was left out could have been better: its link bound says so.
  for (const auto& c : r->classes) {
    EXPECT_GE(c.searched ? c.best_s : c.link_s, r->search.best_s * (1 - 1e-9));
  }
}

bool meets_ports(const PlacementResult& r) {
  return r.port_s > 0 && !r.search.best.empty() && !sooner(r.port_s, r.search.best_s);
}

// What the ports need no placement changes: classes that were not looked at take nothing from that.
TEST(Placement, AStopLeavesTheProofByThePorts) {
  const auto p = load("cs-storm");
  PlacementOptions o;
  o.every_class = true;
  const Exchange e = unit_grid(3, 1);
  const auto whole = search_placement(e, p.fabric, p.fabric.rank_hosts(), o, {});
  ASSERT_TRUE(whole);
  ASSERT_TRUE(meets_ports(*whole)) << "the middle rank's port is never idle";
  std::atomic<bool> stop{false};
  Control control;
  control.stop = &stop;
  control.progress = [&](double, double, double best_s) { stop = !sooner(whole->search.best_s, best_s); };
  const auto r = search_placement(e, p.fabric, p.fabric.rank_hosts(), o, control);
  ASSERT_TRUE(r);
  EXPECT_TRUE(r->interrupted);
  EXPECT_TRUE(r->proven);
  EXPECT_NE(r->search.proof, Proof::kNone);
  EXPECT_EQ(r->search.best_s, whole->search.best_s);
}

// As shards do it: each its classes, knowing nothing of the others. What a merge then needs is there, whatever the number
// of shards, and none that one search would not have looked at decides anything.
TEST(Placement, ClassesSearchedInPartsGiveTheAnswerOfOneSearch) {
  const auto p = load("cs-storm");
  for (const bool every : {false, true}) {
    const Exchange e = every ? unit_grid(3, 1) : unit_grid(3, 2, 1, true);
    PlacementOptions o;
    o.search.evaluations = 2000;
    o.search.nodes = 2000;
    o.search.exhaustive_limit = 1000;
    o.every_class = every;
    const auto whole = search_placement(e, p.fabric, p.fabric.rank_hosts(), o, {});
    ASSERT_TRUE(whole);
    for (const std::size_t parts : {2u, 3u}) {
      PiecesInMemory<SearchResult> kept;
      KeptPieces pieces;
      pieces.results = kept.runner();
      Control control;
      control.kept = &pieces;
      kept.parts = parts;
      kept.most = 1'000'000;
      std::map<std::string, SearchResult> all;
      for (kept.part = 0; kept.part < parts; ++kept.part) {
        kept.done.clear();
        const auto part = search_placement(e, p.fabric, p.fabric.rank_hosts(), o, control);
        ASSERT_TRUE(part);
        EXPECT_TRUE(part->interrupted) << "the classes of others are missing";
        EXPECT_EQ(part->proven, meets_ports(*part));
        all.merge(kept.done);
      }
      kept.done = all;
      kept.run_missing = false;
      const auto merged = search_placement(e, p.fabric, p.fabric.rank_hosts(), o, control);
      ASSERT_TRUE(merged);
      EXPECT_FALSE(merged->interrupted);
      EXPECT_EQ(merged->proven, whole->proven);
      EXPECT_EQ(merged->best, whole->best);
      EXPECT_EQ(merged->search.best, whole->search.best);
      EXPECT_EQ(merged->search.best_s, whole->search.best_s);
      ASSERT_EQ(merged->classes.size(), whole->classes.size());
      std::size_t searched = 0;
      for (std::size_t i = 0; i < whole->classes.size(); ++i) {
        EXPECT_EQ(merged->classes[i].searched, whole->classes[i].searched) << i;
        EXPECT_EQ(merged->classes[i].best_s, whole->classes[i].best_s) << i;
        searched += whole->classes[i].searched ? 1 : 0;
      }
      EXPECT_LE(searched, all.size());
      EXPECT_GT(searched, 1u);
      if (!every) {
        EXPECT_LT(all.size(), whole->classes.size()) << "shards leave out what cannot be better";
      }
    }
  }
}

// A pattern of four pairs: the best placement puts each pair on one card, whatever the given one is.
TEST(Placement, PairsEndUpOnOneCard) {
  std::vector<Message> messages;
  for (std::uint32_t r = 0; r < 8; ++r) messages.push_back({r, (r + 4) % 8, Bytes(1 << 20)});
  const auto p = load("cs-storm");
  const auto r = search_placement(make_exchange(8, messages), p.fabric, 8, {}, {});
  ASSERT_TRUE(r);
  EXPECT_NEAR(r->search.best_s / r->search.link.seconds, 1, 1e-9);
  EXPECT_EQ(r->search.link.messages, 1u);
  const auto& host = r->classes[r->best].host;
  for (std::uint32_t k = 0; k < 4; ++k) EXPECT_EQ(host[k].index() / 2, host[k + 4].index() / 2);
}

// The classes that are left out by their bounds are not better without contention either.
TEST(Placement, WithoutContentionTheProofHolds) {
  std::vector<Message> messages;
  for (std::uint32_t r = 0; r < 3; ++r)
    for (std::uint32_t k = 0; k < 2; ++k) messages.push_back({r, 3 + (r + k) % 2, Bytes((r + 1) << k)});
  const auto p = load("cs-storm");
  for (const Mode mode : {Mode::kBarrier, Mode::kAsync}) {
    PlacementOptions o;
    o.model = "contention-free";
    o.search.mode = mode;
    const auto some = search_placement(make_exchange(5, messages), p.fabric, 8, o, {});
    o.every_class = true;
    const auto all = search_placement(make_exchange(5, messages), p.fabric, 8, o, {});
    ASSERT_TRUE(some && all);
    EXPECT_TRUE(some->proven);
    EXPECT_EQ(some->search.best_s, all->search.best_s);
    for (const auto& c : all->classes) EXPECT_LE(c.link_s, c.best_s * (1 + 1e-9));
    EXPECT_LE(all->port_s, all->search.best_s * (1 + 1e-9));
  }
}

// Seven ranks send to one and three of them to a neighbour as well, more placements than can be listed: the busiest port is that
// of the slower direction.
TEST(Placement, WhatPortsNeedIsToldForEachDirection) {
  std::vector<Message> messages;
  for (std::uint32_t r = 1; r < 8; ++r) messages.push_back({r, 0, Bytes(1'000'000)});
  for (std::uint32_t r = 1; r < 7; r += 2) messages.push_back({r, r + 1, Bytes(1'000'000)});
  for (const auto& [bandwidths, seconds] : {std::pair{"bw=1GB/s,down_bw=4GB/s", 2e-3},  // two out of rank 1
                                            {"bw=4GB/s,down_bw=1GB/s", 7e-3}}) {        // seven into rank 0
    const auto p = load(std::string("pcie:sockets=2,") + bandwidths);
    const auto r = search_placement(make_exchange(8, messages), p.fabric, p.fabric.rank_hosts(), {}, {});
    ASSERT_TRUE(r) << r.error().message();
    EXPECT_FALSE(r->enumerated);
    EXPECT_NEAR(r->port_s, seconds, 1e-12);
    EXPECT_NEAR(r->search.best_s, seconds, 1e-12);
    EXPECT_TRUE(r->proven);
  }
}

// One message of each of four ranks, two into each of two others: wherever they run no port is sooner than two messages. Some
// placements with that bound take longer, as the worked example of the model (docs/pcie.md) does: nothing proves what they take.
TEST(Placement, AClassWithoutAProofIsNoSoonerThanItsBound) {
  const auto p = load("cs-storm");
  PlacementOptions o;
  o.search.mode = Mode::kBarrier;
  o.search.exhaustive_limit = 0;
  o.search.nodes = 1;
  o.every_class = true;
  const Bytes mb(1'000'000);
  const Exchange e = make_exchange(6, {{0, 4, mb}, {1, 5, mb}, {2, 4, mb}, {3, 5, mb}});
  const auto r = search_placement(e, p.fabric, p.fabric.rank_hosts(), o, {});
  ASSERT_TRUE(r) << r.error().message();
  int without_proof = 0;
  for (const PlacementClass& c : r->classes)
    if (c.proof == Proof::kNone && !sooner(r->search.best_s, c.link_s)) {
      EXPECT_GT(c.best_s, r->search.best_s * 1.1);
      ++without_proof;
    }
  EXPECT_GT(without_proof, 0);
  EXPECT_EQ(r->classes[r->best].proof, Proof::kLinkBound);
  EXPECT_TRUE(r->proven);
}

// Two of the last three GPUs exchange messages at the 6.615 GB/s of their links. A pair with the first GPU, of which both
// directions carry 12 GB/s together, is no sooner than 2 MB at that rate, and so not looked at.
TEST(Placement, ClassesAreBoundByBothDirectionsTogether) {
  const auto p = load("pcie:tree=rc(gpu 3*gpu@3x8),bw=10GB/s,both_bw=12GB/s");
  PlacementOptions o;
  o.model = "max-min";
  const Exchange e = make_exchange(2, {{0, 1, Bytes(1'000'000)}, {1, 0, Bytes(1'000'000)}});
  const auto r = search_placement(e, p.fabric, p.fabric.rank_hosts(), o, {});
  ASSERT_TRUE(r) << r.error().message();
  ASSERT_EQ(r->classes.size(), 2u);
  EXPECT_TRUE(r->classes[0].searched);
  EXPECT_FALSE(r->classes[1].searched);
  EXPECT_NEAR(r->classes[1].link_s, 1.0 / 6000, 1e-12);
  EXPECT_TRUE(r->proven);
}

// More placements than can be listed: every rank's port carries a message each way, wherever the rank runs. A faster port could
// be anybody's, as far as the bound knows.
TEST(Placement, WhatPortsNeedIsToldForBothDirectionsTogether) {
  std::vector<Message> messages;
  for (std::uint32_t r = 0; r < 10; ++r) messages.push_back({r, r ^ 1u, Bytes(1'000'000)});
  for (const auto& [gpus, seconds, alike] :
       {std::tuple{"10*gpu", 1.6e-3, true}, {"9*gpu gpu@3x8", 1 / 6615.0, false}}) {
    const auto p = load(std::string("pcie:bw=1GB/s,both_bw=1.25GB/s,tree=rc(") + gpus + ")");
    PlacementOptions o;
    o.model = "max-min";
    const auto r = search_placement(make_exchange(10, messages), p.fabric, p.fabric.rank_hosts(), o, {});
    ASSERT_TRUE(r) << r.error().message();
    EXPECT_FALSE(r->enumerated);
    EXPECT_NEAR(r->port_s, seconds, 1e-3 * seconds);
    EXPECT_EQ(r->proven, alike);
  }
}

// On a torus every host has four links each way: no bound, no proof by it.
TEST(Placement, HostsWithSeveralLinksHaveNoPortBound) {
  const auto p = load("torus:dims=4x4,host_links=off,bw=1GB/s,lat=0");
  PlacementOptions o;
  o.search.evaluations = 100;
  o.search.nodes = 1000;
  o.moves = 1000;
  const auto r = search_placement(unit_grid(4, 4), p.fabric, p.fabric.rank_hosts(), o, {});
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_EQ(r->port_s, 0);
  EXPECT_FALSE(r->proven);
}

TEST(Placement, MorePlacementsThanCanBeListedAreAnnealed) {
  std::vector<Message> messages;
  for (std::uint32_t r = 0; r < 16; ++r) messages.push_back({r, (r + 8) % 16, Bytes(1 << 20)});
  const auto p = load("cs-storm-16");
  PlacementOptions o;
  o.search.evaluations = 2000;
  const auto r = search_placement(make_exchange(16, messages), p.fabric, 16, o, {});
  ASSERT_TRUE(r);
  EXPECT_FALSE(r->enumerated);
  EXPECT_TRUE(r->proven) << r->search.best_s << " against " << r->port_s;
  EXPECT_NEAR(r->search.best_s, r->port_s, 1e-9 * r->port_s);
}

}  // namespace
}  // namespace weft::schedule
