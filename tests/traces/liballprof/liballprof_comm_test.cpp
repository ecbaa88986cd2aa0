// Which handle of a liballprof trace is which communicator: told by MPI's rules and by what the members do on it.
#include <gmock/gmock.h>

#include <array>
#include <functional>

#include "tests/traces/liballprof/liballprof_testing.hpp"

namespace weft::traces::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string on(int handle, int rank, int size) { return fmt::format("{},{},{}", handle, rank, size); }

// Communicators of the trace: "split2 0 1".
std::vector<std::string> comms_of(const TraceReader& t) {
  std::vector<std::string> out;
  for (const Communicator& c : t.communicators())
    out.push_back(fmt::format("{} {}", c.name, fmt::join(c.members, " ")));
  return out;
}

std::unique_ptr<TraceReader> trace_of(const TempDir& dir, int n,
                                      const std::function<void(AllprofRank&, int)>& program,
                                      const std::string& world = "5641280") {
  std::vector<AllprofRank> ranks;
  for (int r = 0; r < n; ++r) {
    ranks.emplace_back(r, n, world);
    ranks.back().init();
    program(ranks.back(), r);
    ranks.back().finalize();
  }
  auto t = open_trace({write_allprof(dir, "t", ranks)});
  EXPECT_TRUE(t) << t.error().message();
  return t ? std::move(*t) : nullptr;
}

// Ranks 0 and 3 are rank 0 of 2, and rank 1 of 2, of their row as of their column: only what they say there tells which is which.
TEST(LiballprofComm, MessagesTellRowsFromColumnsOnTheDiagonal) {
  for (const bool columns_first : {false, true}) {
    SCOPED_TRACE(columns_first);
    const TempDir dir;
    const auto t = trace_of(dir, 4, [columns_first](AllprofRank& a, int r) {
      const int row = r / 2, col = r % 2;
      a.call("Comm_split", fmt::format("{}:{}:{}:800", a.world(), row, col));
      a.call("Comm_split", fmt::format("{}:{}:{}:808", a.world(), col, row));
      const auto talk = [&a](int handle, int rank, int tag) {
        if (rank == 0)
          a.send("Send", 10, 1, tag, on(handle, 0, 2));
        else
          a.recv("Recv", 10, 0, tag, on(handle, 1, 2));
      };
      const int r_handle = 7000 + r, c_handle = 9000 + r;
      // Those on the diagonal may use them in the other order: MPI does not mind.
      const bool diagonal = row == col;
      if (columns_first && diagonal) talk(c_handle, row, 6);
      talk(r_handle, col, 5);
      if (!columns_first || !diagonal) talk(c_handle, row, 6);
    });
    ASSERT_NE(t, nullptr);
    EXPECT_THAT(comms_of(*t),
                ElementsAre("world 0 1 2 3", "split1 0 1", "split1 2 3", "split2 0 2", "split2 1 3"));
    EXPECT_THAT(ops_of(*t, 0), HasSubstr("send 1 10 5 split1\n"));
    EXPECT_THAT(ops_of(*t, 0), HasSubstr("send 2 10 6 split2\n"));
    EXPECT_THAT(ops_of(*t, 3), HasSubstr("recv 2 10 5 split1\n"));
    EXPECT_THAT(ops_of(*t, 3), HasSubstr("recv 1 10 6 split2\n"));
    EXPECT_THAT(t->header().warnings, IsEmpty());
  }
}

// All use the column first. What the ranks on the diagonal do in rows and columns differs in its size alone, or not at all.
TEST(LiballprofComm, SizesOrTheOrderOfOthersTellRowsFromColumns) {
  enum class Use { message, allreduce, gather, same };
  for (const Use use : {Use::message, Use::allreduce, Use::gather, Use::same}) {
    SCOPED_TRACE(static_cast<int>(use));
    const TempDir dir;
    const auto t = trace_of(dir, 9, [use](AllprofRank& a, int r) {
      const int row = r / 3, col = r % 3;
      a.call("Comm_split", fmt::format("{}:{}:{}:800", a.world(), row, col));
      a.call("Comm_split", fmt::format("{}:{}:{}:808", a.world(), col, row));
      const auto talk = [&a, use](const std::string& comm, int rank, int count) {
        if (use == Use::message)
          a.call("Sendrecv", fmt::format("1:{}:1,4,4:{}:7:2:{}:1,4,4:{}:7:{}:0", count, (rank + 1) % 3, count,
                                         (rank + 2) % 3, comm));
        else if (use == Use::gather)
          a.call("Gather", rank == 1 ? fmt::format("1:-1:0,0,0:2:{}:1,4,4:1:{}", count, comm)
                                     : fmt::format("1:{}:1,4,4:0:0:0,0,0:1:{}", count, comm));
        else
          a.call("Allreduce", fmt::format("1:2:{}:10,8,8:3:{}", use == Use::same ? 1 : count, comm));
      };
      talk(on(9000 + r, row, 3), row, 100);
      talk(on(7000 + r, col, 3), col, 10);
    });
    ASSERT_NE(t, nullptr);
    for (std::uint32_t r = 0; r < 9; ++r) {
      SCOPED_TRACE(r);
      const std::string ops = ops_of(*t, r);
      const std::size_t column = ops.find(" split2\n"), row = ops.find(" split1\n");
      ASSERT_NE(column, std::string::npos) << ops;
      EXPECT_LT(column, row) << ops;
    }
    if (use == Use::same)
      EXPECT_THAT(t->header().warnings,
                  ElementsAre(HasSubstr("taken in the order in which other members first use theirs")));
    else
      EXPECT_THAT(t->header().warnings, IsEmpty());
  }
}

// Rows and columns in both orders, the last made used first: of no rank's handles is one certain, but what goes on in each is its own.
TEST(LiballprofComm, WhatHandlesThatAreNotToldYetCanBeCounts) {
  const TempDir dir;
  const auto t = trace_of(dir, 4, [](AllprofRank& a, int r) {
    const auto color = [r](int i) { return (r >> (i & 1)) & 1; };
    const auto key = [r](int i) { return i < 2 ? r : -r; };
    for (int i = 0; i < 4; ++i)
      a.call("Comm_split", fmt::format("{}:{}:{}:{}", a.world(), color(i), key(i), 800 + 8 * i));
    for (int i = 3; i >= 0; --i) {
      const int other = i & 1 ? r ^ 1 : r ^ 2, rank = (i < 2) == (r > other) ? 1 : 0;
      const std::string c = on(7000 + 100 * i + r, rank, 2);
      a.call("Allreduce", fmt::format("1:2:{}:10,8,8:3:{}", i + 1, c));
    }
  });
  ASSERT_NE(t, nullptr);
  for (std::uint32_t r = 0; r < 4; ++r)
    EXPECT_THAT(ops_of(*t, r), HasSubstr("allreduce -1 32 0 split4\nallreduce -1 24 0 split3\n"
                                         "allreduce -1 16 0 split2\nallreduce -1 8 0 split1\n"));
  EXPECT_THAT(t->header().warnings, IsEmpty());
}

TEST(LiballprofComm, CollectivesTellDuplicatesApart) {
  const TempDir dir;
  const auto t = trace_of(dir, 2, [](AllprofRank& a, int r) {
    a.call("Comm_dup", a.world() + ":800").call("Comm_dup", a.world() + ":808");
    const std::string one = on(7000 + r, r, 2), two = on(8000 + r, r, 2);
    // Rank 1 uses the second one first.
    if (r == 0)
      a.call("Barrier", one)
          .recv("Irecv", 1, 1, 4, two, "64")
          .call("Bcast", "1:4:1,4,4:0:" + two)
          .call("Wait", "64:0");
    else
      a.send("Isend", 1, 0, 4, two, "64")
          .call("Barrier", one)
          .call("Bcast", "1:4:1,4,4:0:" + two)
          .call("Wait", "64:0");
  });
  ASSERT_NE(t, nullptr);
  const std::string made = "comm_dup 0 1 0 world\ncomm_dup 0 2 0 world\n";
  EXPECT_EQ(ops_of(*t, 0),
            made + "barrier -1 0 0 split1\nirecv 1 1 4 split2 #0\nbcast 0 16 0 split2\nwait #0\n");
  EXPECT_EQ(ops_of(*t, 1),
            made + "isend 0 1 4 split2 #0\nbarrier -1 0 0 split1\nbcast 0 16 0 split2\nwait #0\n");
}

// A handle is given out again once its communicator was freed.
TEST(LiballprofComm, AHandleMayBeAnotherCommunicatorAfterMpiCommFree) {
  const TempDir dir;
  const auto t = trace_of(
      dir, 4,
      [](AllprofRank& a, int r) {
        const int half = r / 2;
        a.call("Comm_dup", a.world() + ":800");
        a.call("Barrier", on(7000, r, 4)).call("Comm_free", "800");
        a.call("Comm_split", fmt::format("{}:{}:{}:800", a.world(), half, -r));
        const int rank = 1 - r % 2;
        a.call("Barrier", on(7000, rank, 2)).call("Comm_free", "800");
        a.call("Comm_split", fmt::format("{}:{}:{}:800", a.world(), r == 3 ? -32766 : 1, 0));
        if (r < 3) a.call("Barrier", on(7000, r, 3));
        a.call("Comm_dup", "1140850689,0,1:900").call("Barrier", "7700,0,1");
      },
      "1140850688");
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(ops_of(*t, 1),
            "comm_dup 0 5 0 world\nbarrier -1 0 0 split1\ncomm_free 0 0 0 split1\n"
            "comm_split 0 6 0 world\nbarrier -1 0 0 split2\ncomm_free 0 0 0 split2\n"
            "comm_split 0 8 0 world\nbarrier -1 0 0 split3\ncomm_dup 0 10 0 self\nbarrier -1 0 0 split4\n");
  EXPECT_THAT(ops_of(*t, 3), HasSubstr("comm_split 0 -1 0 world\ncomm_dup 0 "));
  EXPECT_THAT(t->header().warnings, IsEmpty());
  for (const char* c : {"self 1", "split2 1 0", "split2 3 2", "split3 0 1 2"})
    EXPECT_THAT(comms_of(*t), ::testing::Contains(c));
}

// As HPC Challenge does: grids are made, looked at and freed by copies of their handles, which are given out again; one is used.
TEST(LiballprofComm, AFreeOfACopyMeansTheLastThatWasMade) {
  const TempDir dir;
  const auto t = trace_of(dir, 4, [](AllprofRank& a, int r) {
    const int row = r / 2, col = r % 2;
    const std::string all = on(7000, r, 4), rows = on(7100, col, 2), cols = on(7200, row, 2);
    for (int grid = 0; grid < 3; ++grid) {
      a.call("Comm_split", fmt::format("{}:0:{}:800", a.world(), r));
      a.call("Comm_split", fmt::format("{}:{}:{}:808", all, row, col));
      a.call("Comm_split", fmt::format("{}:{}:{}:816", all, col, row));
      for (const std::string& c : {rows, cols}) a.call("Comm_size", c + ":9");
      a.call("Barrier", a.world());
      if (grid == 2) {
        if (col == 0)
          a.send("Send", 1, 1, 3, rows);
        else
          a.recv("Recv", 1, 0, 3, rows);
        if (row == 0)
          a.send("Send", 2, 1, 3, cols);
        else
          a.recv("Recv", 2, 0, 3, cols);
      }
      for (const char* copy : {"9816", "9808", "9800"}) a.call("Comm_free", copy);
    }
  });
  ASSERT_NE(t, nullptr);
  EXPECT_THAT(ops_of(*t, 0), HasSubstr("send 1 1 3 split8\nsend 2 2 3 split9\n"));
  EXPECT_THAT(ops_of(*t, 3), HasSubstr("recv 2 1 3 split8\nrecv 1 2 3 split9\n"));
  EXPECT_THAT(t->header().warnings,
              ::testing::Contains(HasSubstr("36 communicators freed by a copy of the handle")));
}

// The first one is freed by a copy; the last one goes on.
TEST(LiballprofComm, WhatIsUsedAfterAFreeOfACopyIsNotFreed) {
  const TempDir dir;
  const auto t = trace_of(dir, 2, [](AllprofRank& a, int r) {
    a.call("Comm_dup", a.world() + ":800").call("Barrier", on(7000, r, 2));
    a.call("Comm_dup", a.world() + ":808").call("Barrier", on(7100, r, 2));
    a.call("Comm_free", "9800").call("Barrier", on(7100, r, 2));
  });
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(ops_of(*t, 1),
            "comm_dup 0 1 0 world\nbarrier -1 0 0 split1\ncomm_dup 0 2 0 world\nbarrier -1 0 0 split2\n"
            "barrier -1 0 0 split2\n");
  EXPECT_THAT(t->header().warnings, ElementsAre(HasSubstr("2 communicators freed by a copy of the handle")));
}

// Functions of the program make and free communicators: each is posted to one variable and freed by a copy, the first one first, and its
// handle is given out again.
TEST(LiballprofComm, AHandleOfAFreeOfACopyIsGivenOutAgain) {
  const TempDir dir;
  const auto t = trace_of(dir, 4, [](AllprofRank& a, int r) {
    const int half = r / 2, rank = r % 2;
    const std::string first = on(7000, r, 4), second = on(7100, rank, 2), third = on(7000, r, 4),
                      fourth = on(7100, rank, 2);
    a.call("Comm_dup", a.world() + ":800").call("Barrier", first);
    a.call("Comm_split", fmt::format("{}:{}:{}:800", a.world(), half, r)).call("Barrier", second);
    a.call("Comm_free", "9800").call("Barrier", second);  // the first one
    a.call("Comm_dup", a.world() + ":800").call("Barrier", third);
    a.call("Barrier", a.world()).call("Barrier", second);
    a.call("Comm_free", "9800").call("Barrier", third);  // the second one
    a.call("Comm_split", fmt::format("{}:{}:{}:800", third, half, r)).call("Barrier", fourth);
    a.call("Comm_free", "9800").call("Barrier", fourth).call("Barrier", a.world());
  });
  ASSERT_NE(t, nullptr);
  for (std::uint32_t r = 0; r < 4; ++r) {
    std::string ops = ops_of(*t, r), used;
    std::istringstream lines(ops);
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("barrier")) used += line.substr(15) + "\n";
    EXPECT_EQ(used, "split1\nsplit2\nsplit2\nsplit3\nworld\nsplit2\nsplit3\nsplit4\nsplit4\nworld\n") << ops;
  }
  EXPECT_THAT(t->header().warnings, ElementsAre(HasSubstr("12 communicators freed by a copy of the handle")));
}

// Grids and groups write addresses of what says who belongs to them.
TEST(LiballprofComm, RanksAndSizesTellWhoBelongsToAGridOrAGroup) {
  const TempDir dir;
  const auto t = trace_of(dir, 6, [](AllprofRank& a, int r) {
    a.call("Cart_create", a.world() + ":2:1:2:0:800");  // 2 x 3
    a.call("Cart_sub", on(7000, r, 6) + ":1:808").call("Barrier", on(7001, r % 3, 3));
    a.call("Cart_sub", on(7000, r, 6) + ":1:816").call("Barrier", on(7002, r / 3, 2));
    a.call("Comm_create", a.world() + ":55:824");
    if (r % 2 == 1) a.call("Barrier", on(7003, (5 - r) / 2, 3));
    a.call("Comm_split_type", a.world() + ":1:0:469762048:832").call("Barrier", on(7004, 0, 1));
  });
  ASSERT_NE(t, nullptr);
  const auto comms = comms_of(*t);
  for (const char* c : {"split1 0 1 2 3 4 5", "split2 0 1 2", "split2 3 4 5", "split3 0 3", "split3 1 4",
                        "split3 2 5", "split4 5 3 1", "split5 0", "split5 5"})
    EXPECT_THAT(comms, ::testing::Contains(c));
  EXPECT_THAT(ops_of(*t, 5), HasSubstr("barrier -1 0 0 split4\n"));
  EXPECT_THAT(t->header().recording.not_recorded, IsEmpty());
}

TEST(LiballprofComm, WhatMembersDoNotTellIsLeftOutAndCounted) {
  const TempDir dir;
  const auto t = trace_of(dir, 3, [](AllprofRank& a, int r) {
    a.call("Comm_create", a.world() + ":55:800");
    if (r == 1) a.send("Send", 1, 1, 4, on(7000, 0, 2));  // to whom?
    a.call("Intercomm_create", fmt::format("5641792,0,1:0:{}:1:7:808", a.world()));
    if (r == 0) a.call("Barrier", on(7007, 0, 1));
  });
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(ops_of(*t, 1), "comm_create 0 -1 0 world\n");
  std::vector<std::string> lost;
  for (const NotRecorded& n : t->header().recording.not_recorded)
    lost.push_back(fmt::format("{} {} {}", n.group, n.call, n.count));
  EXPECT_THAT(lost, ElementsAre("communication on inter-communicators MPI_Barrier 1",
                                "communication on inter-communicators MPI_Intercomm_create 3",
                                "communication on communicators that the trace does not explain MPI_Send 1"));
}

TEST(LiballprofComm, WhereNothingTellsTheFirstThatWasMadeIsTaken) {
  const TempDir dir;
  const auto t = trace_of(dir, 2, [](AllprofRank& a, int r) {
    a.call("Comm_dup", a.world() + ":800").call("Comm_dup", a.world() + ":808");
    a.call("Barrier", on(7000, r, 2)).call("Barrier", on(8000, r, 2));
  });
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(ops_of(*t, 1),
            "comm_dup 0 1 0 world\ncomm_dup 0 2 0 world\nbarrier -1 0 0 split1\nbarrier -1 0 0 split2\n");
  EXPECT_THAT(t->header().warnings,
              ElementsAre(HasSubstr("handles that more than one communicator could have")));
}

// A program in both languages has two handles for one communicator.
TEST(LiballprofComm, TheWorldMayHaveTwoHandles) {
  const TempDir dir;
  const auto t = trace_of(dir, 2, [](AllprofRank& a, int r) {
    a.call("Barrier", a.world()).call("Comm_dup", a.world() + ":800");
    a.call("Barrier", on(0, r, 2)).call("Comm_dup", on(0, r, 2) + ":808");
    a.call("Barrier", on(7000, r, 2));
  });
  ASSERT_NE(t, nullptr);
  EXPECT_THAT(
      ops_of(*t, 0),
      HasSubstr("barrier -1 0 0 world\ncomm_dup 0 1 0 world\nbarrier -1 0 0 world\ncomm_dup 0 2 0 world\n"));
}

// Random programs: rounds of messages, of a random order on each rank, and collectives on communicators that are split from each other. What
// was written comes back, call by call, whatever the handles are.
TEST(LiballprofComm, RandomProgramsComeBack) {
  const std::uint64_t base = seed_or(5);
  for (std::uint64_t seed = base; seed < base + 60; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const int n = 2 + static_cast<int>(rng.below(7));
    struct Comm {
      std::vector<int> members;
      std::vector<int> handle;  // of each member
      std::string name;
    };
    std::vector<Comm> comms(1);
    std::vector<AllprofRank> ranks;
    std::vector<std::string> want(static_cast<std::size_t>(n));
    std::vector<int> made(static_cast<std::size_t>(n), 0), next_handle(static_cast<std::size_t>(n));
    for (int r = 0; r < n; ++r) {
      ranks.emplace_back(r, n);
      ranks.back().init();
      comms[0].members.push_back(r);
      comms[0].handle.push_back(5641280);
      next_handle[static_cast<std::size_t>(r)] = 70000 + static_cast<int>(rng.below(1000)) * 8;
    }
    comms[0].name = "world";
    const auto here = [&](const Comm& c, std::size_t i) {
      return on(c.handle[i], static_cast<int>(i), static_cast<int>(c.members.size()));
    };
    for (int step = 0; step < 30; ++step) {
      const std::size_t which = rng.below(comms.size());
      const Comm c = comms[which];
      const std::size_t size = c.members.size();
      const auto rank_of = [&](std::size_t i) -> AllprofRank& {
        return ranks[static_cast<std::size_t>(c.members[i])];
      };
      const auto want_of = [&](std::size_t i) -> std::string& {
        return want[static_cast<std::size_t>(c.members[i])];
      };
      const int tag = static_cast<int>(rng.below(100)), bytes = static_cast<int>(rng.below(5000));
      switch (rng.below(6)) {
        case 0: {  // a split, of which each member uses its own at once with a barrier
          const std::uint64_t colors = 1 + rng.below(3);
          std::map<int, Comm> parts;
          std::vector<std::pair<int, int>> key(size);
          for (std::size_t i = 0; i < size; ++i)
            key[i] = {static_cast<int>(rng.below(colors)), static_cast<int>(rng.below(4))};
          std::vector<std::size_t> order(size);
          for (std::size_t i = 0; i < size; ++i) order[i] = i;
          std::ranges::stable_sort(order, {}, [&](std::size_t i) { return key[i].second; });
          for (std::size_t i = 0; i < size; ++i) {
            auto& m = made[static_cast<std::size_t>(c.members[i])];
            rank_of(i).call("Comm_split",
                            fmt::format("{}:{}:{}:{}", here(c, i), key[i].first, key[i].second, 900 + 8 * m));
            ++m;
          }
          for (const std::size_t i : order) {
            Comm& part = parts[key[i].first];
            part.members.push_back(c.members[i]);
            part.handle.push_back(next_handle[static_cast<std::size_t>(c.members[i])] +=
                                  8 * (1 + static_cast<int>(rng.below(3))));
          }
          for (auto& [color, part] : parts) {
            part.name = fmt::format("split{}", made[static_cast<std::size_t>(part.members[0])]);
            for (std::size_t k = 0; k < part.members.size(); ++k) {
              const auto r = static_cast<std::size_t>(part.members[k]);
              ranks[r].call("Barrier", here(part, k));
              want[r] += fmt::format("split\nbarrier -1 0 0 {}\n", part.name);
            }
            comms.push_back(part);
          }
          break;
        }
        case 1:
          for (std::size_t i = 0; i < size; ++i) {
            rank_of(i).call("Bcast", fmt::format("1:{}:13,1,1:{}:{}", bytes, size - 1, here(c, i)));
            want_of(i) += fmt::format("bcast {} {} 0 {}\n", c.members[size - 1], bytes, c.name);
          }
          break;
        case 2:
          for (std::size_t i = 0; i < size; ++i) {
            rank_of(i).call("Allreduce", fmt::format("1:2:{}:10,8,8:3:{}", bytes, here(c, i)));
            want_of(i) += fmt::format("allreduce -1 {} 0 {}\n", 8 * bytes, c.name);
          }
          break;
        default: {  // everybody to the one `d` further on; receives before or after
          const std::size_t d = rng.below(size);
          for (std::size_t i = 0; i < size; ++i) {
            const auto to = static_cast<int>((i + d) % size), from = static_cast<int>((i + size - d) % size);
            const std::string where = here(c, i);
            const auto send = [&] {
              rank_of(i).send("Isend", bytes, to, tag, where, "648");
              want_of(i) += fmt::format("isend {} {} {} {}\n", c.members[static_cast<std::size_t>(to)], bytes,
                                        tag, c.name);
            };
            const bool first = rng.below(2) == 0;
            if (first) send();
            rank_of(i).recv("Irecv", bytes, from, tag, where, "640");
            want_of(i) += fmt::format("irecv {} {} {} {}\n", c.members[static_cast<std::size_t>(from)], bytes,
                                      tag, c.name);
            if (!first) send();
            rank_of(i).call("Waitall", "2:640:0");
            want_of(i) += "waitall\n";
          }
        }
      }
    }
    for (AllprofRank& r : ranks) r.finalize();
    const TempDir dir;
    const auto t = open_trace({write_allprof(dir, "t", ranks)});
    ASSERT_TRUE(t) << t.error().message();
    for (int r = 0; r < n; ++r) {
      // Without slots, lists and the numbers of new communicators.
      std::string got;
      std::istringstream lines(ops_of(**t, static_cast<std::uint32_t>(r)));
      for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("comm_split")) line = "split";
        got += line.substr(0, std::min(line.find(" #"), line.find(" ["))) + "\n";
      }
      ASSERT_EQ(got, want[static_cast<std::size_t>(r)]) << "rank " << r;
    }
    EXPECT_THAT((*t)->header().warnings, IsEmpty());
  }
}

}  // namespace
}  // namespace weft::traces::testing
