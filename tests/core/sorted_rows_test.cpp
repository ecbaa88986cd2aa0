// Rows that are sorted in little memory, against std::sort; and what becomes of them where the disk is full.
#include "core/files/sorted_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <vector>

#include "core/rng.hpp"
#include "tests/support/files.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/no_tmpfile.hpp"
#include "tests/support/seed.hpp"

namespace weft::sorted_rows_test {
namespace {

using ::testing::HasSubstr;

struct Row {
  std::uint64_t key, order;
  bool operator==(const Row&) const = default;
};
struct Before {
  bool operator()(const Row& a, const Row& b) const {
    return std::tie(a.key, a.order) < std::tie(b.key, b.order);
  }
};
using Rows = SortedRows<Row, Before>;

std::vector<Row> read(const Rows& rows) {
  std::vector<Row> out;
  auto r = rows.reader();
  for (; r.more(); r.next()) out.push_back(r.row());
  EXPECT_TRUE(r.status());
  return out;
}

// With 16 to 64 rows in memory a reader has a page of each run.
TEST(SortedRows, ComeInTheirOrderHoweverMuchMemoryThereIs) {
  const support::TempDir folder;
  const std::uint64_t seed = support::seed_or(7);
  for (const std::size_t n : {0u, 1u, 15u, 16u, 17u, 1000u, 20'000u})
    for (const std::size_t in_memory : {1u, 16u, 64u, 100'000u}) {
      SCOPED_TRACE(::testing::Message() << n << " rows, " << in_memory << " in memory, WEFT_SEED=" << seed);
      Rng rng(seed);
      Rows rows(folder.path("out"), in_memory * sizeof(Row));
      std::vector<Row> expected;
      for (std::uint64_t i = 0; i < n; ++i) {
        expected.push_back({rng.below(50), i});
        rows.add(expected.back());
      }
      std::ranges::sort(expected, Before{});
      ASSERT_TRUE(rows.finish());
      EXPECT_EQ(rows.size(), n);
      EXPECT_EQ(rows.empty(), n == 0);
      EXPECT_EQ(read(rows), expected);
      EXPECT_EQ(read(rows), expected) << "a second time";
      auto some = rows.reader(), others = rows.reader();
      for (std::size_t i = 0; i < n / 2; ++i) some.next();
      if (others.more()) {
        EXPECT_EQ(others.row(), expected[0]) << "readers know nothing of each other";
      }
      EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
    }
}

TEST(SortedRows, CanBeMovedOnceTheyAreSorted) {
  Rows rows("-", 4 * sizeof(Row));
  for (std::uint64_t i = 0; i < 100; ++i) rows.add({99 - i, i});
  ASSERT_TRUE(rows.finish());
  const Rows moved = std::move(rows);
  EXPECT_EQ(read(moved).front(), (Row{0, 99}));
  EXPECT_EQ(read(moved).size(), 100u);
}

// A process of its own: neither limit can be taken back.
template <class Do>
int in_a_child(Do&& what) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(what());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(SortedRows, SayThatTheDiskIsFullWhenTheyAreFinished) {
  const support::TempDir folder;
  EXPECT_EQ(in_a_child([&folder] {
              ::signal(SIGXFSZ, SIG_IGN);
              const rlimit most{4096, 4096};
              if (::setrlimit(RLIMIT_FSIZE, &most) != 0) return 10;
              Rows rows(folder.path("out"), 16 * sizeof(Row));
              for (std::uint64_t i = 0; i < 10'000; ++i) rows.add({i, i});
              const auto ok = rows.finish();
              if (ok || ok.error().code != ErrorCode::kBadInput) return 11;
              const std::string text = ok.error().message();
              return text == folder.path() + "/: error: cannot write a temporary file: File too large" ? 0
                                                                                                       : 12;
            }),
            0);
}

TEST(SortedRows, LeaveNothingWhereEveryFileHasAName) {
  const support::TempDir folder;
  const int code = in_a_child([&folder] {
    if (!support::forbid_nameless_files()) return 20;
    Rows rows(folder.path("out"), 16 * sizeof(Row));
    for (std::uint64_t i = 0; i < 1000; ++i) rows.add({999 - i, i});
    if (!rows.finish() || !std::filesystem::is_empty(folder.path())) return 21;
    auto r = rows.reader();
    std::uint64_t n = 0;
    for (; r.more(); r.next())
      if (r.row().key != n++) return 22;
    return n == 1000 ? 0 : 23;
  });
  WEFT_NEEDS(code != 20, "no seccomp");
  EXPECT_EQ(code, 0);
}

TEST(SpillFile, IsBesideTheOutputOrWhereTemporaryFilesGo) {
  const support::TempDir folder;
  EXPECT_TRUE(SpillFile::open(folder.path("out")));
  EXPECT_TRUE(SpillFile::open("-"));
  EXPECT_TRUE(SpillFile::open("/dev/null")) << "no file: not in /dev";
  EXPECT_TRUE(SpillFile::open(folder.path("missing/out"))) << "in /tmp";
}

TEST(SpillFile, GivesBackWhatWasAppendedAndNoMore) {
  auto file = SpillFile::open("-").value();
  const std::string text = "abcdefgh";
  ASSERT_TRUE(file.append(std::as_bytes(std::span(text))));
  ASSERT_TRUE(file.append(std::as_bytes(std::span(text))));
  EXPECT_EQ(file.size(), 16u);
  std::string back(6, ' ');
  ASSERT_TRUE(file.read(5, std::as_writable_bytes(std::span(back))));
  EXPECT_EQ(back, "fghabc");
  const auto beyond = file.read(12, std::as_writable_bytes(std::span(back)));
  ASSERT_FALSE(beyond);
  EXPECT_THAT(beyond.error().message(), HasSubstr("cannot read a temporary file"));
}

}  // namespace
}  // namespace weft::sorted_rows_test
