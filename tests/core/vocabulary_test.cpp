#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <type_traits>

#include "core/byte_sum.hpp"
#include "core/files/atomic_file.hpp"
#include "core/files/input_file.hpp"
#include "core/hash.hpp"
#include "core/id.hpp"
#include "core/result.hpp"
#include "core/rng.hpp"
#include "core/source_pos.hpp"
#include "core/units.hpp"

namespace weft {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};

// What must not compile.
static_assert(!Addable<SimTime, SimTime>);
static_assert(Addable<SimTime, Duration>);
static_assert(!Addable<Bytes, Bandwidth>);
static_assert(!Addable<Bytes, int>);
static_assert(!std::is_convertible_v<int, Bytes>);
static_assert(!std::is_convertible_v<LinkId, HostId>);
static_assert(!std::is_convertible_v<int, LinkId>);
static_assert(!std::is_constructible_v<LinkId, HostId>);

static_assert(add_bytes(kTooManyBytes - 2, 1) == kTooManyBytes - 1);
static_assert(add_bytes(kTooManyBytes - 1, 2) == kTooManyBytes);
static_assert(add_bytes(kTooManyBytes, 5) == kTooManyBytes, "and stays there");
static_assert(times_bytes(1u << 31, 1u << 31) == std::uint64_t{1} << 62);
static_assert(times_bytes(std::uint64_t{1} << 32, std::uint64_t{1} << 32) == kTooManyBytes);

TEST(Units, SecondsBecomeTheNearestPicosecondTiesToEven) {
  EXPECT_EQ(from_seconds(1 / 12.5e9).count(), 80);
  EXPECT_EQ(from_seconds(1 / 3e12).count(), 0);
  EXPECT_EQ(from_seconds(2.5e-12).count(), 2);
  EXPECT_EQ(from_seconds(3.5e-12).count(), 4);
  EXPECT_EQ(from_seconds(1e300), Duration::max());
  EXPECT_EQ(from_seconds(-1e300), Duration::min());
}

TEST(Rng, IsTheSameSequenceEverywhere) {
  Rng r(1);  // splitmix64's published first outputs for seed 1
  EXPECT_EQ(r.next(), 0x910a2dec89025cc1ULL);
  EXPECT_EQ(r.next(), 0xbeeb8da1658eec67ULL);
  Rng b(7);
  int counts[5] = {};
  for (int i = 0; i < 50000; ++i) ++counts[b.below(5)];
  for (int c : counts) EXPECT_NEAR(c, 10000, 400);
}

TEST(Result, CarriesValueOrErrorAndTheMacrosPassErrorsOn) {
  const auto half = [](int x) -> Result<int> {
    if (x % 2 != 0) return bad_input("f:1:2", "odd", std::to_string(x), "an even number");
    return x / 2;
  };
  const auto quarter = [&](int x) -> Result<int> {
    WEFT_ASSIGN(const int h, half(x));
    return half(h);
  };
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_EQ(quarter(6).error().message(), "f:1:2: error: odd; got \"3\"; expected an even number");
  EXPECT_EQ(exit_code(quarter(6).error().code), 3);
  EXPECT_EQ(exit_code(not_supported("x").code), 2);
  EXPECT_DEATH((void)quarter(6).value(), "odd");
}

TEST(SourcePos, PrintsFileLineColumnAndByteOffsets) {
  EXPECT_EQ((SourcePos{"a.txt", 3, 7}.text()), "a.txt:3:7");
  EXPECT_EQ((BytePos{"t.weft", 0x1f40, 812, 3}.text()), "t.weft@byte 0x1f40 (record 812, rank 3)");
}

TEST(AtomicFile, LeavesTheOldFileWholeUntilCommit) {
  const std::string path = testing::TempDir() + "/atomic.txt";
  ASSERT_TRUE(write_output(path, "old"));
  {
    auto f = AtomicFile::open(path);
    ASSERT_TRUE(f);
    f->write("half of the ne");
  }  // interrupted
  EXPECT_EQ(read_file(path).value(), "old");
  auto f = AtomicFile::open(path);
  f->write("new");
  ASSERT_TRUE(f->commit());
  EXPECT_EQ(read_file(path).value(), "new");
  EXPECT_FALSE(AtomicFile::open("/no/such/folder/x"));
  EXPECT_FALSE(read_file("/no/such/file"));
  EXPECT_FALSE(read_file("/"));
  EXPECT_FALSE(read_file(path, 2)) << "over the limit";
}

}  // namespace
}  // namespace weft
