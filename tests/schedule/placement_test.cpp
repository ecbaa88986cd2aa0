// Searches of placements against placements that are searched one by one.
#include "schedule/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/rng.hpp"
#include "tests/congestion/cases.hpp"
#include "topology/platform/platform.hpp"

namespace weft::schedule::placement_test {
namespace {

topology::Platform load(const std::string& spec) {
  auto p = topology::load_platform(spec);
  EXPECT_TRUE(p) << (p ? "" : p.error().message());
  return std::move(*p);
}

// The best time on these hosts, by looking at all schedules.
double best_on(const topology::Platform& p, const Exchange& e, const std::vector<HostId>& host,
               std::string_view model, Mode mode) {
  const auto w = place_exchange(e, p.fabric, host, messages_share(model));
  EXPECT_TRUE(w) << (w ? "" : w.error().message());
  const auto oracle = make_rate_oracle(model, *w, p.fabric);
  EXPECT_TRUE(oracle);
  SearchOptions o;
  o.mode = mode;
  o.exhaustive = true;
  return search_schedule(*w, **oracle, o, {}).best_s;
}

std::vector<HostId> random_hosts(std::uint32_t ranks, std::uint32_t hosts, Rng& rng) {
  std::vector<HostId> host;
  for (std::uint32_t h = 0; h < hosts; ++h) host.emplace_back(h);
  for (std::uint32_t r = 0; r < ranks; ++r) std::swap(host[r], host[r + rng.below(hosts - r)]);
  host.resize(ranks);
  return host;
}

// `most` sends of each rank at most, to any other.
Exchange random_exchange(std::uint32_t ranks, std::uint32_t most, Rng& rng) {
  std::vector<Message> messages;
  for (std::uint32_t r = 0; r < ranks; ++r)
    for (std::uint64_t k = 0, n = 1 + rng.below(most); k < n; ++k)
      messages.push_back({r, static_cast<std::uint32_t>((r + 1 + rng.below(ranks - 1)) % ranks),
                          Bytes((1 + rng.below(2)) * 1'000'000)});
  return make_exchange(ranks, messages);
}

// No schedule on any hosts is below lower_s, whether the placements are listed or annealed, the best proven or not.
TEST(Placement, NoPlacementIsSoonerThanTheBoundForAll) {
  const std::uint64_t seed = congestion::problems::base_seed(67);
  Rng rng(seed);
  const std::vector<topology::Platform> platforms = [] {
    std::vector<topology::Platform> out;
    out.push_back(load("pcie:tree=rc(switch(2*gpu) switch(2*gpu) gpu)"));
    out.push_back(load("cs-storm-16"));
    return out;
  }();
  int open = 0;
  for (int round = 0; round < 120; ++round) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed) + ", round " + std::to_string(round));
    const bool listed = round % 2 == 0;
    const topology::Platform& p = platforms[listed ? 0 : 1];
    const Exchange e = random_exchange(5, 2, rng);
    PlacementOptions o;
    o.search.mode = round % 4 < 2 ? Mode::kBarrier : Mode::kAsync;
    o.search.exhaustive_limit = listed ? 0 : o.search.exhaustive_limit;
    o.search.evaluations = 3;
    o.search.nodes = 1;
    o.moves = 300;
    const auto r = search_placement(e, p.fabric, p.fabric.rank_hosts(), o, {});
    ASSERT_TRUE(r) << r.error().message();
    ASSERT_EQ(r->enumerated, listed);
    EXPECT_LE(r->lower_s, r->search.best_s);
    EXPECT_GE(r->lower_s, r->port_s * (1 - 1e-9));
    EXPECT_EQ(r->proven, !sooner(r->lower_s, r->search.best_s));
    open += r->proven ? 0 : 1;
    double least = r->search.best_s;
    for (int k = 0; k < 40; ++k)
      least =
          std::min(least, best_on(p, e, random_hosts(5, p.fabric.rank_hosts(), rng), "pcie", o.search.mode));
    EXPECT_LE(r->lower_s, least * (1 + 1e-9));
  }
  EXPECT_GT(open, 10) << "searches that prove nothing";
}

// Nine GPUs on three switches, more placements of eight ranks than are listed unasked: no symmetry of the tree but the
// identity leaves one as it is, so classes are 9! / (3!^3 3!) as many.
TEST(Placement, EveryClassIsSearchedWhereThatIsAskedFor) {
  const auto p = load("pcie:tree=rc(3*switch(3*gpu))");
  std::vector<Message> messages;
  for (std::uint32_t r = 0; r < 8; ++r) messages.push_back({r, (r + 1) % 8, Bytes((1 + r % 3) * 1'000'000)});
  const Exchange e = make_exchange(8, messages);
  PlacementOptions o;
  const auto some = search_placement(e, p.fabric, 9, o, {});
  ASSERT_TRUE(some);
  EXPECT_FALSE(some->enumerated);
  o.every_class = true;
  const auto all = search_placement(e, p.fabric, 9, o, {});
  ASSERT_TRUE(all) << all.error().message();
  EXPECT_TRUE(all->enumerated);
  EXPECT_TRUE(all->proven);
  EXPECT_EQ(all->host_classes, 280u);
  EXPECT_EQ(all->classes.size(), 280u) << "the messages differ, so they have no symmetry of their own";
  std::uint64_t members = 0;
  for (const PlacementClass& c : all->classes) {
    EXPECT_TRUE(c.searched);
    members += c.members;
  }
  EXPECT_EQ(members, 362880u);
  EXPECT_LE(all->search.best_s, some->search.best_s * (1 + 1e-9));
  const auto too_many = search_placement(e, load("cs-storm-16").fabric, 16, o, {});
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().code, ErrorCode::kNotSupported);
}

// The classes of placements on nine GPUs of three switches are the partitions of the ranks to switches, 280 of eight ranks. One
// message has the say, beside which others differ and weigh nothing, so that annealing goes everywhere.
TEST(Placement, AnnealingKeepsOnePlacementOfEachClass) {
  const auto p = load("pcie:tree=rc(3*switch(3*gpu))");
  std::vector<Message> messages{{0, 1, Bytes(1'000'000'000)}};
  for (std::uint32_t r = 1; r < 8; ++r) messages.push_back({r, (r + 1) % 8, Bytes(100 + r)});
  PlacementOptions o;
  o.tries = 1000;
  const auto r = search_placement(make_exchange(8, messages), p.fabric, 9, o, {});
  ASSERT_TRUE(r) << r.error().message();
  ASSERT_FALSE(r->enumerated);
  EXPECT_EQ(r->classes.size(), 280u);
  std::set<std::set<std::set<std::uint32_t>>> partitions;
  for (const PlacementClass& c : r->classes) {
    std::vector<std::set<std::uint32_t>> on(3);
    for (std::uint32_t rank = 0; rank < 8; ++rank) on[c.host[rank].index() / 3].insert(rank);
    partitions.insert({on.begin(), on.end()});
  }
  EXPECT_EQ(partitions.size(), 280u);
  // Here all are one: annealing ends though it never has as many as it may keep.
  const auto one = load("crossbar:n=9,bw=10GB/s");
  EXPECT_EQ(search_placement(make_exchange(8, messages), one.fabric, 9, o, {})->classes.size(), 1u);
}

// Two pairs of ranks are alike among six that all send to each other: annealing finds as many classes as are listed, which the
// symmetries of hosts and exchange tell, also where capacities are tied. Only 1 GB of one message has the say.
TEST(Placement, AnnealingFindsTheClassesThatAreListed) {
  const std::array<std::uint32_t, 6> kind{0, 1, 2, 3, 2, 3};
  std::vector<Message> messages;
  for (std::uint32_t a = 0; a < 6; ++a)
    for (std::uint32_t b = 0; b < 6; ++b)
      if (a != b)
        messages.push_back(
            {a, b,
             Bytes(a + b == 1 && a == 0 ? 1'000'000'000
                                        : 100 + 7 * kind[a] + kind[b] + (a / 2 == b / 2 ? 50 : 0))});
  const Exchange e = make_exchange(6, messages);
  for (const char* tree :
       {"rc(3*switch(3*gpu))", "rc(2*switch(2*gpu) 5*gpu)", "rc(3*switch(3*gpu)),both_bw=12GB/s"}) {
    const auto p = load(std::string("pcie:bw=10GB/s,tree=") + tree);
    PlacementOptions o;
    o.model = "max-min";
    o.tries = 100'000;
    o.search.evaluations = o.search.nodes = 1;
    o.search.sample = 0;
    const auto annealed = search_placement(e, p.fabric, 9, o, {});
    o.every_class = true;
    const auto listed = search_placement(e, p.fabric, 9, o, {});
    ASSERT_TRUE(annealed && listed);
    EXPECT_FALSE(annealed->enumerated);
    EXPECT_LT(listed->classes.size(), listed->host_classes);
    EXPECT_EQ(annealed->classes.size(), listed->classes.size()) << tree;
  }
}

// Ranks in order are looked at whatever their link bound, so a search is no worse than none.
TEST(Placement, ASearchIsNeverWorseThanRanksInOrder) {
  const std::uint64_t seed = congestion::problems::base_seed(71);
  Rng rng(seed);
  int in_order = 0;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed) + ", round " + std::to_string(round));
    const auto p = load(round % 2 == 0 ? "crossbar:n=5,node=hd-pex" : "pcie:switches=2,cards=5,gpus=1");
    const Exchange e = random_exchange(7, 2, rng);
    PlacementOptions o;
    o.search.mode = round % 4 < 2 ? Mode::kBarrier : Mode::kAsync;
    o.tries = 1;
    o.moves = 1;
    const auto r = search_placement(e, p.fabric, p.fabric.rank_hosts(), o, {});
    ASSERT_TRUE(r) << r.error().message();
    ASSERT_FALSE(r->enumerated);
    std::vector<HostId> host;
    for (std::uint32_t k = 0; k < 7; ++k) host.emplace_back(k);
    EXPECT_LE(r->search.best_s, best_on(p, e, host, "pcie", o.search.mode) * (1 + 1e-9));
    in_order += r->classes[r->best].host == host ? 1 : 0;
  }
  EXPECT_GT(in_order, 5);
}

}  // namespace
}  // namespace weft::schedule::placement_test
