// DUMPI: communicators rebuilt from what each rank says of its own handles. The witness is the test's own MPI: it makes
// communicators for all ranks at once, hands out handles, and knows who belongs to what.
#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "tests/traces/dumpi/dumpi_testing.hpp"
#include "traces/check/check.hpp"
#include "traces/trace_warnings.hpp"

namespace weft::traces {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Members = std::vector<std::int32_t>;

std::vector<Members> members_of(const TraceReader& t) {
  std::vector<Members> out;
  for (const Communicator& c : t.communicators()) out.push_back(c.members);
  return out;
}

TEST(DumpiCommunicators, SplitsGoByColorAndKeyAndGetTheNamesOfTheirOrder) {
  const TempDir dir;
  auto r = dumpi_ranks(6);
  for (int me = 0; me < 6; ++me) {
    DumpiWriter& w = r[static_cast<std::size_t>(me)];
    // Rows of 3, backwards by key; rank 5 has no color.
    const bool in = me != 5;
    w.comm_split(kDumpiWorld, me / 3, -me, in ? 4 : kDumpiNull);
    if (!in) continue;
    w.comm_size(4, me < 3 ? 3 : 2).comm_rank(4, me < 3 ? 2 - me : 4 - me);
    w.barrier(4).comm_dup(4, 5).bcast(8, kDumpiByte, 0, 5);
    // Ranks in messages are those of the communicator.
    const int size = me < 3 ? 3 : 2, rank = me < 3 ? 2 - me : 4 - me;
    w.sendrecv(8, (rank + 1) % size, 0, 8, (rank + size - 1) % size, 0, {{8, (rank + size - 1) % size, 0}},
               kDumpiByte, 5);
    w.comm_free(4);
  }
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_THAT(members_of(**t), ElementsAre(Members{0, 1, 2, 3, 4, 5}, Members{2, 1, 0}, Members{4, 3},
                                           Members{2, 1, 0}, Members{4, 3}));
  EXPECT_EQ((*t)->communicators()[1].name, "split1");
  EXPECT_EQ((*t)->communicators()[3].name, "split2");
  EXPECT_THAT(shown_ops(**t, 1),
              ElementsAre("comm_split amount=1", "barrier comm=1 peer=-1", "comm_dup comm=1 amount=3",
                          "bcast comm=3 peer=2 amount=8", "sendrecv comm=3 amount=8",
                          "recv flags=1 comm=3 peer=2 amount=8", "comm_free comm=1"));
  EXPECT_THAT(shown_ops(**t, 5), ElementsAre("comm_split amount=-1"));
  (*t)->rewind();
  const auto report = check_trace(**t);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->findings.empty());
}

// The MPI of the test.
struct Comm {
  Members members;
  std::vector<int> handle;  // by member
  std::vector<int> dims;    // of a Cartesian one
};
class World {
 public:
  World(std::size_t n, Rng& rng) : rng_(rng), ranks_(dumpi_ranks(n)), next_(n, 4), next_group_(n, 3) {
    Comm w;
    w.members.resize(n);
    std::iota(w.members.begin(), w.members.end(), 0);
    w.handle.assign(n, kDumpiWorld);
    live_.push_back(w);
    all_.push_back(w.members);
  }
  DumpiWriter& of(const Comm& c, std::size_t member) {
    return ranks_[static_cast<std::size_t>(c.members[member])];
  }

  void step() {
    const std::size_t at = rng_.below(live_.size());
    const Comm parent = live_[at];
    const std::size_t n = parent.members.size();
    switch (rng_.below(6)) {
      case 0: {
        Comm made = child(parent, positions(n));
        made.dims = parent.dims;
        for (std::size_t i = 0; i < n; ++i) of(parent, i).comm_dup(parent.handle[i], made.handle[i]);
        keep(made);
        break;
      }
      case 1:
        split(parent);
        break;
      case 2:
        create(parent);
        break;
      case 3: {
        const int a = 1 + static_cast<int>(rng_.below(n)), b = static_cast<int>(n) / a;
        auto who = positions(n);
        who.resize(static_cast<std::size_t>(a * b));
        const bool reorder = rng_.below(2) == 0;
        if (reorder) shuffle(who);
        Comm made = child(parent, who);
        made.dims = {a, b};
        for (std::size_t i = 0; i < n; ++i)
          of(parent, i).cart_create(parent.handle[i], {a, b}, reorder, handle_in(made, parent.members[i]));
        // MPI_Comm_rank tells what reorder made of them.
        for (std::size_t i = 0; i < made.members.size(); ++i)
          of(made, i).comm_rank(made.handle[i], static_cast<int>(i));
        keep(made);
        break;
      }
      case 4:
        if (!parent.dims.empty()) sub(parent);
        break;
      default:
        // Freed, and its handles are given out again.
        if (at == 0 || rng_.below(2) == 0) break;
        for (std::size_t i = 0; i < n; ++i) {
          of(parent, i).comm_free(parent.handle[i]);
          free_.push_back({parent.members[i], parent.handle[i]});
        }
        live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  // One collective and a ring on every live communicator.
  void use() {
    for (const Comm& c : live_) {
      const int n = static_cast<int>(c.members.size());
      for (int i = 0; i < n; ++i) {
        DumpiWriter& w = of(c, static_cast<std::size_t>(i));
        const int h = c.handle[static_cast<std::size_t>(i)];
        w.comm_size(h, n).comm_rank(h, i).allreduce(1, kDumpiInt, h);
        w.sendrecv(n, (i + 1) % n, 3, n, (i + n - 1) % n, 3, {}, kDumpiByte, h);
      }
    }
  }
  [[nodiscard]] const std::vector<DumpiWriter>& ranks() const { return ranks_; }
  // Members of all communicators that were made, in any order.
  [[nodiscard]] std::vector<Members> all() const { return all_; }

 private:
  static std::vector<std::size_t> positions(std::size_t n) {
    std::vector<std::size_t> all(n);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  template <class T>
  void shuffle(std::vector<T>& v) {
    for (std::size_t i = v.size(); i > 1; --i) std::swap(v[i - 1], v[rng_.below(i)]);
  }
  int new_handle(std::int32_t rank) {
    for (std::size_t i = 0; i < free_.size(); ++i)
      if (free_[i].first == rank) {
        const int h = free_[i].second;
        free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
        return h;
      }
    return next_[static_cast<std::size_t>(rank)]++;
  }
  Comm child(const Comm& parent, const std::vector<std::size_t>& who) {
    Comm c;
    for (const std::size_t i : who) {
      c.members.push_back(parent.members[i]);
      c.handle.push_back(new_handle(parent.members[i]));
    }
    return c;
  }
  static int handle_in(const Comm& c, std::int32_t rank) {
    for (std::size_t i = 0; i < c.members.size(); ++i)
      if (c.members[i] == rank) return c.handle[i];
    return kDumpiNull;
  }
  void keep(Comm c) {
    if (c.members.empty()) return;
    all_.push_back(c.members);
    live_.push_back(std::move(c));
  }
  void split(const Comm& parent) {
    const std::size_t n = parent.members.size();
    std::vector<int> color(n), key(n);
    for (std::size_t i = 0; i < n; ++i) {
      color[i] = static_cast<int>(rng_.below(4)) - 1;  // -1: none
      key[i] = static_cast<int>(rng_.below(5)) - 2;
    }
    std::vector<Comm> made(3);
    for (int c = 0; c < 3; ++c) {
      std::vector<std::size_t> who;
      for (int k = -2; k < 3; ++k)
        for (std::size_t i = 0; i < n; ++i)
          if (color[i] == c && key[i] == k) who.push_back(i);
      made[static_cast<std::size_t>(c)] = child(parent, who);
    }
    for (std::size_t i = 0; i < n; ++i)
      of(parent, i).comm_split(
          parent.handle[i], color[i] < 0 ? -32766 : color[i], key[i],
          color[i] < 0 ? kDumpiNull : handle_in(made[static_cast<std::size_t>(color[i])], parent.members[i]));
    for (Comm& c : made) keep(std::move(c));
  }
  // By groups, each rank in its own way to the same group.
  void create(const Comm& parent) {
    const std::size_t n = parent.members.size();
    auto who = positions(n);
    shuffle(who);
    who.resize(rng_.below(n + 1));
    const bool ordered = rng_.below(2) == 0;
    if (ordered) std::ranges::sort(who);
    const Comm made = child(parent, who);
    DumpiInts in, out;
    for (const std::size_t i : who) in.push_back(static_cast<std::int32_t>(i));
    for (std::size_t i = 0; i < n; ++i)
      if (std::ranges::find(who, i) == who.end()) out.push_back(static_cast<std::int32_t>(i));
    for (std::size_t i = 0; i < n; ++i) {
      DumpiWriter& w = of(parent, i);
      int& g = next_group_[static_cast<std::size_t>(parent.members[i])];
      const int base = g++;
      w.comm_group(parent.handle[i], base);
      const std::uint64_t how = ordered ? rng_.below(6) : rng_.below(3);
      int group = g++;
      if (who.empty()) {
        group = 2;  // MPI_GROUP_EMPTY
      } else if (how == 0) {
        w.group_of_ranks(76, base, in, group);
      } else if (how == 1) {
        std::vector<DumpiInts> ranges;
        for (const std::int32_t k : in) ranges.push_back({k, k, 1});
        w.group_of_ranges(78, base, ranges, group);
      } else if (how == 2) {  // the first ones, and the rest
        const auto half = static_cast<std::ptrdiff_t>(in.size() / 2);
        const int a = g++, b = g++;
        w.group_of_ranks(76, base, {in.begin(), in.begin() + half}, a);
        w.group_of_ranks(76, base, {in.begin(), in.end()}, b).group_of_two(73, a, b, group);
      } else if (how == 3) {
        w.group_of_ranks(77, base, out, group);
      } else if (how == 4) {  // all without the others
        const int b = g++;
        w.group_of_ranks(76, base, out, b).group_of_two(75, base, b, group);
      } else {
        const int b = g++;
        DumpiInts backwards(in.rbegin(), in.rend());
        w.group_of_ranks(76, base, backwards, b).group_of_two(74, base, b, group);
      }
      w.comm_create(parent.handle[i], group, handle_in(made, parent.members[i]));
    }
    keep(made);
  }
  void sub(const Comm& parent) {
    const int b = parent.dims[1];
    const bool rows = rng_.below(2) == 0;  // keeps the second dimension
    std::map<int, std::vector<std::size_t>> parts;
    for (std::size_t i = 0; i < parent.members.size(); ++i)
      parts[rows ? static_cast<int>(i) / b : static_cast<int>(i) % b].push_back(i);
    std::vector<Comm> made;
    for (const auto& [fixed, who] : parts) made.push_back(child(parent, who));
    for (std::size_t i = 0; i < parent.members.size(); ++i)
      for (const Comm& c : made)
        if (const int h = handle_in(c, parent.members[i]); h != kDumpiNull)
          of(parent, i).cart_sub(parent.handle[i], rows ? DumpiInts{0, 1} : DumpiInts{1, 0}, h);
    for (Comm& c : made) keep(std::move(c));
  }

  Rng& rng_;
  std::vector<DumpiWriter> ranks_;
  std::vector<int> next_, next_group_;
  std::vector<std::pair<std::int32_t, int>> free_;
  std::vector<Comm> live_;
  std::vector<Members> all_;
};

TEST(DumpiCommunicators, ThoseOfRandomProgramsAreTheOnesThatTheirMpiMade) {
  const std::uint64_t seed = seed_or(5);
  for (std::uint64_t round = 0; round < 120; ++round) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed) + " round " + std::to_string(round));
    const TempDir dir;
    Rng rng(seed * 1000 + round);
    World world(1 + rng.below(9), rng);
    for (std::uint64_t i = rng.below(25); i > 0; --i) world.step();
    world.use();
    auto t = open_ranks(dir, world.ranks());
    ASSERT_TRUE(t) << t.error().message();
    auto got = members_of(**t), want = world.all();
    std::ranges::sort(got);
    std::ranges::sort(want);
    ASSERT_EQ(got, want);
    EXPECT_THAT(trace_warnings((*t)->header()), IsEmpty());
    // Rings and reductions on all of them fit together: every handle means what the test's MPI meant.
    const auto report = check_trace(**t);
    ASSERT_TRUE(report) << report.error().message();
    ASSERT_TRUE(report->findings.empty()) << report->findings[0].message;
  }
}

TEST(DumpiCommunicators, SelfIsOnePerRankAndThereOnlyIfUsed) {
  const TempDir dir;
  auto r = dumpi_ranks(3);
  r[1].barrier(kDumpiSelf).comm_dup(kDumpiSelf, 4).bcast(1, kDumpiByte, 0, 4);
  r[2].comm_group(kDumpiSelf, 3);
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_THAT(members_of(**t), ElementsAre(Members{0, 1, 2}, Members{1}, Members{2}, Members{1}));
  EXPECT_EQ((*t)->communicators()[1].name, "self");
  EXPECT_THAT(shown_ops(**t, 1), ElementsAre("barrier comm=1 peer=-1", "comm_dup comm=1 amount=3",
                                             "bcast comm=3 peer=1 amount=1"));
}

// MPI-3.1, 7.5.7: of a Cartesian communicator without dimensions it is one like it.
TEST(DumpiCommunicators, ACartesianOneMayHaveNoDimensions) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  for (DumpiWriter& w : r)
    w.cart_create(kDumpiWorld, {2}, false, 4).cart_sub(4, {0}, 5).cart_sub(5, {}, 6).comm_dup(6, 7);
  for (DumpiWriter& w : r) w.cart_sub(7, {}, 8).barrier(8);
  r[0].cart_create(kDumpiWorld, {}, false, 9).cart_sub(9, {}, 10);
  r[1].cart_create(kDumpiWorld, {}, false, kDumpiNull);
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  const auto all = members_of(**t);
  EXPECT_EQ(all.size(), 12u);
  EXPECT_EQ(std::ranges::count(all, Members{0, 1}), 2) << "the world and the line";
  EXPECT_EQ(std::ranges::count(all, Members{0}), 6);
  EXPECT_EQ(std::ranges::count(all, Members{1}), 4);
  (*t)->rewind();
  expect_checked(**t);
}

// A group of a communicator that other ranks' calls still have to explain.
TEST(DumpiCommunicators, GroupsMayBeOfCommunicatorsMadeOnTheWay) {
  const TempDir dir;
  auto r = dumpi_ranks(4);
  for (int me = 0; me < 4; ++me) {
    DumpiWriter& w = r[static_cast<std::size_t>(me)];
    w.comm_split(kDumpiWorld, me % 2, 0, 4).comm_dup(4, 5).comm_dup(5, 6).comm_group(6, 3);
    w.comm_create(kDumpiWorld, 3, 7).barrier(7);  // both halves at once
  }
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ((*t)->communicators().size(), 9u);
  EXPECT_EQ((*t)->communicators()[8].members, (Members{1, 3}));
}

TEST(DumpiCommunicators, AnOrderThatNothingTellsIsToldAndOneThatContradictsIsRefused) {
  const TempDir dir;
  auto r = dumpi_ranks(4);
  for (DumpiWriter& w : r) w.cart_create(kDumpiWorld, {2, 2}, true, 4).barrier(4);
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_THAT(
      trace_warnings((*t)->header()),
      ElementsAre(
          "1 communicator made with reorder, and not all members asked for their rank: the order of the "
          "ranks is taken to be that of the old one"));
  r[1].comm_rank(4, 2);
  const auto half = open_ranks(dir, r);
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().code, ErrorCode::kNotSupported);
  EXPECT_THAT(
      half.error().message(),
      HasSubstr(
          "run-0000.bin: error: not supported: MPI_Cart_create that gave other ranks, and not all members "
          "asked for theirs; expected MPI_Comm_rank of all members in the trace"));
}

TEST(DumpiCommunicators, RanksThatContradictEachOtherAreNamed) {
  const std::string world = "run-0001.bin";
  struct Case {
    std::function<void(std::vector<DumpiWriter>&)> write;
    const char* message;
  };
  const Case cases[] = {
      {[](auto& r) { r[0].comm_dup(kDumpiWorld, 4); },
       "MPI_Comm_dup: rank 1 does not make this call on communicator world; expected the same calls from all "
       "members"},
      {[](auto& r) {
         r[0].comm_dup(kDumpiWorld, 4);
         r[1].comm_split(kDumpiWorld, 0, 0, 4);
       },
       "MPI_Comm_split: rank 0 calls another function here; got \"MPI_Comm_split\"; expected MPI_Comm_dup"},
      {[](auto& r) {
         r[0].comm_dup(kDumpiWorld, 4);
         r[1].comm_dup(kDumpiWorld, kDumpiNull);
       },
       "MPI_Comm_dup: the call made no communicator for a rank that belongs to it; got \"MPI_COMM_NULL\"; "
       "expected a "
       "communicator"},
      {[](auto& r) {
         r[0].cart_create(kDumpiWorld, {1}, false, 4);
         r[1].cart_create(kDumpiWorld, {1}, false, 4);
       },
       "MPI_Cart_create: the call made a communicator for a rank that does not belong to it; expected "
       "MPI_COMM_NULL"},
      {[](auto& r) {
         r[0].cart_create(kDumpiWorld, {2}, false, 4);
         r[1].cart_create(kDumpiWorld, {1}, false, 4);
       },
       "MPI_Cart_create: the shape is not that of rank 0"},
      {[](auto& r) {
         for (auto& w : r) w.cart_create(kDumpiWorld, {1 << 30, 1 << 30, 1 << 30}, false, 4);
       },
       "MPI_Cart_create: the new communicator does not fit into the old one; expected at most 2 ranks"},
      {[](auto& r) {
         for (auto& w : r) w.cart_sub(kDumpiWorld, {1}, 4);
       },
       "MPI_Cart_sub: the communicator is not a Cartesian one"},
      {[](auto& r) {
         for (auto& w : r) w.graph_create(kDumpiWorld, 2, 4).cart_sub(4, {}, 5);
       },
       "MPI_Cart_sub: the communicator is not a Cartesian one"},
      {[](auto& r) {
         for (auto& w : r) w.cart_create(kDumpiWorld, {2}, false, 4).cart_sub(4, {}, 5);
       },
       "MPI_Cart_sub: the dimensions are not those of a Cartesian communicator; got \"0\"; expected 1"},
      {[](auto& r) {
         for (auto& w : r) w.graph_create(kDumpiWorld, 3, 4);
       },
       "MPI_Graph_create: the new communicator does not fit into the old one; expected at most 2 ranks"},
      {[](auto& r) {
         for (auto& w : r)
           w.comm_group(kDumpiWorld, 3).group_of_ranks(76, 3, {0, 2}, 4).comm_create(kDumpiWorld, 4, 4);
       },
       "MPI_Comm_create: a group names a rank that its own group does not have, or names it twice; got "
       "\"2\"; expected 0 "
       "to 1, each once"},
      {[](auto& r) {
         r[0].comm_group(kDumpiWorld, 3).comm_create(kDumpiWorld, 3, 4);
         r[1].comm_group(kDumpiSelf, 3).comm_create(kDumpiWorld, 3, 4);
       },
       "MPI_Comm_create: a rank belongs to two of the groups; got \"rank 1\""},
      {[](auto& r) { r[1].comm_size(kDumpiWorld, 5); },
       "MPI_Comm_size of rank 1 does not fit to communicator world; got \"5\"; expected 2"},
      {[](auto& r) { r[1].comm_rank(kDumpiWorld, 0); },
       "MPI_Comm_rank of rank 1 does not fit to communicator world; got \"0\"; expected 1"},
  };
  for (const Case& c : cases) {
    const TempDir dir;
    auto r = dumpi_ranks(2);
    c.write(r);
    const auto t = open_ranks(dir, r);
    ASSERT_FALSE(t) << c.message;
    EXPECT_EQ(t.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(t.error().message(), ::testing::EndsWith(std::string("error: ") + c.message));
  }
}

TEST(DumpiCommunicators, GroupsThatNothingExplainsAreRefused) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  for (DumpiWriter& w : r) w.comm_create(kDumpiWorld, 9, 4);
  const auto t = open_ranks(dir, r);
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().code, ErrorCode::kNotSupported);
  EXPECT_THAT(t.error().message(), HasSubstr("MPI_Comm_create of a group that nothing in the file makes"));
  // Each of the two halves waits for a group of the other.
  auto w = dumpi_ranks(2);
  w[0].comm_split(kDumpiWorld, 0, 0, 4).comm_group(4, 3).comm_create(kDumpiWorld, 3, 5);
  w[1].comm_split(kDumpiWorld, 0, 0, 4).comm_group(4, 3).comm_create(kDumpiWorld, 3, 5);
  EXPECT_TRUE(open_ranks(dir, w));
}

}  // namespace
}  // namespace weft::traces
