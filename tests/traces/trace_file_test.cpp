// TraceFile: its views are the file's bytes, in whatever order they are asked for, with few calls of the system where that is
// the file's own.
#include "traces/trace_file.hpp"

#include <filesystem>

#include "tests/traces/trace_testing.hpp"

namespace weft::traces {
namespace {

using namespace testing;

std::string noise_of(std::size_t n, Rng& rng) {
  std::string out(n, '\0');
  for (char& c : out) c = static_cast<char>(rng.below(256));
  return out;
}

TEST(TraceFile, ViewsAreTheBytesOfTheFileInAnyOrder) {
  const std::uint64_t seed = support::seed_or(1);
  SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
  Rng rng(seed);
  const TempDir dir;
  const std::string bytes = noise_of(3 * TraceFile::kWidest + 12345, rng);
  auto file = TraceFile::open(dir.write("noise", bytes), "noise");
  ASSERT_TRUE(file);
  std::uint64_t at = 0;
  for (int i = 0; i < 5000; ++i) {
    // On from the last one, a little before or behind it, or anywhere; now and then more than a window.
    const std::uint64_t kind = rng.below(8);
    if (kind == 0) at = rng.below(bytes.size() + 1);
    if (kind == 1) at -= std::min(at, rng.below(2 * TraceFile::kFirst));
    if (kind == 2) at += rng.below(2 * TraceFile::kFirst);
    at = std::min<std::uint64_t>(at, bytes.size());
    const std::uint64_t most = rng.below(50) == 0 ? 2 * TraceFile::kWidest : 2000;
    const std::uint64_t n = std::min<std::uint64_t>(rng.below(most), bytes.size() - at);
    const auto view = file->view(at, n);
    ASSERT_TRUE(view) << view.error().message();
    ASSERT_EQ(*view, std::string_view(bytes).substr(at, n)) << at << " " << n;
    at += n;
  }
}

TEST(TraceFile, ManySmallViewsInTheOrderOfTheFileAreFewReads) {
  Rng rng(1);
  const TempDir dir;
  const std::string bytes = noise_of(4 * TraceFile::kWidest, rng);
  const std::string path = dir.write("noise", bytes);
  const std::uint64_t step = 100, views = bytes.size() / step;
  auto in_order = TraceFile::open(path, "noise");
  ASSERT_TRUE(in_order);
  for (std::uint64_t i = 0; i < views; ++i) ASSERT_TRUE(in_order->view(i * step, step));
  // Six that double, then of the widest.
  EXPECT_LE(in_order->reads(), 12u);
  // The last first: a read each.
  auto backwards = TraceFile::open(path, "noise");
  ASSERT_TRUE(backwards);
  for (std::uint64_t i = views; i-- > 0;) ASSERT_TRUE(backwards->view(i * step, step));
  EXPECT_EQ(backwards->reads(), views);
}

TEST(TraceFile, AFileThatBecameShorterSaysWhereItEnds) {
  Rng rng(2);
  const TempDir dir;
  const std::string path = dir.write("noise", noise_of(100'000, rng));
  auto file = TraceFile::open(path, "noise");
  ASSERT_TRUE(file);
  std::filesystem::resize_file(path, 50'000);
  EXPECT_TRUE(file->view(49'000, 1'000));
  const auto beyond = file->view(49'900, 300);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().where, path + "@byte 0xc350") << beyond.error().message();
  EXPECT_EQ(beyond.error().expected, "200 more bytes");
  // What it still has is there afterwards.
  EXPECT_TRUE(file->view(49'900, 100));
}

}  // namespace
}  // namespace weft::traces
