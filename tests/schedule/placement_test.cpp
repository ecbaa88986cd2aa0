// Searches of placements against placements that are searched one by one.
#include "schedule/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
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
  for (int round = 0; round < 60; ++round) {
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

}  // namespace
}  // namespace weft::schedule::placement_test
