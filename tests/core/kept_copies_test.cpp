// Copies between runs: found by what they were made of, or not at all.
#include "core/files/kept_copies.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/environment.hpp"
#include "tests/support/files.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;
using support::slurp;
using support::TempDir;
using support::Variable;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::StartsWith;

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

std::optional<std::string> found(const KeptCopy& copy) {
  const auto bytes = copy.find();
  if (!bytes) return std::nullopt;
  return std::string(bytes->begin(), bytes->end());
}

TEST(KeptCopies, AreFoundByPurposeAndInput) {
  const TempDir dir;
  const Variable here("WEFT_CACHE_DIR", dir.path("made/later"));
  const KeptCopy copy("twice", "abc");
  EXPECT_EQ(found(copy), std::nullopt);
  copy.keep("abcabc");
  EXPECT_THAT(found(KeptCopy("twice", "abc")), Optional(std::string("abcabc")));
  EXPECT_EQ(found(KeptCopy("twice", "abd")), std::nullopt);
  EXPECT_EQ(found(KeptCopy("thrice", "abc")), std::nullopt);
  copy.keep("");
  EXPECT_THAT(found(copy), Optional(std::string()));
}

TEST(KeptCopies, ADamagedOneCountsAsNone) {
  const TempDir dir;
  const Variable here("WEFT_CACHE_DIR", dir.path());
  const KeptCopy copy("p", "input");
  copy.keep("made of it");
  const std::string whole = slurp(copy.path());
  ASSERT_FALSE(whole.empty());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string other = whole;
    other[i] = static_cast<char>(other[i] ^ 0x10);
    (void)dir.write(fs::path(copy.path()).filename(), other);
    EXPECT_EQ(found(copy), std::nullopt) << "byte " << i;
    (void)dir.write(fs::path(copy.path()).filename(), whole.substr(0, i));
    EXPECT_EQ(found(copy), std::nullopt) << "cut off at " << i;
  }
  fs::remove(copy.path());
  fs::create_directory(copy.path());
  EXPECT_EQ(found(copy), std::nullopt);
}

TEST(KeptCopies, StandWhereTheEnvironmentSays) {
  const TempDir dir;
  const Variable home("HOME", dir.path());
  {
    const Variable nowhere("WEFT_CACHE_DIR", "");
    const KeptCopy none("p", "input");
    none.keep("made");
    EXPECT_THAT(none.path(), IsEmpty());
    EXPECT_EQ(found(none), std::nullopt);
    EXPECT_EQ(files_in(dir.path()), 0u);
  }
  const Variable unset("WEFT_CACHE_DIR", "");
  ::unsetenv("WEFT_CACHE_DIR");
  const Variable xdg("XDG_CACHE_HOME", dir.path("xdg"));
  EXPECT_THAT(KeptCopy("p", "input").path(), StartsWith(dir.path("xdg/weft/p-")));
  const Variable relative("XDG_CACHE_HOME", "xdg");
  EXPECT_THAT(KeptCopy("p", "input").path(), StartsWith(dir.path(".cache/weft/p-")));
}

TEST(KeptCopies, WhoCannotKeepThemGoesOnWithout) {
  const TempDir dir;
  (void)dir.write("file", "not a folder");
  const Variable here("WEFT_CACHE_DIR", dir.path("file"));
  const KeptCopy copy("p", "input");
  copy.keep("made");
  EXPECT_EQ(found(copy), std::nullopt);
}

TEST(KeptCopies, AFolderKeepsTheLatest) {
  const TempDir dir;
  const Variable here("WEFT_CACHE_DIR", dir.path());
  (void)dir.write("other", "not ours");
  for (std::size_t i = 0; i < KeptCopy::kMostCopies + 3; ++i) {
    const KeptCopy copy("p", std::to_string(i));
    copy.keep("made");
    fs::last_write_time(copy.path(), fs::file_time_type::clock::now() - std::chrono::hours(1000 - i));
  }
  EXPECT_EQ(files_in(dir.path()), KeptCopy::kMostCopies + 1);
  EXPECT_EQ(found(KeptCopy("p", "2")), std::nullopt);
  EXPECT_THAT(found(KeptCopy("p", "3")), Optional(std::string("made")));
  EXPECT_EQ(slurp(dir.path("other")), "not ours");
}

}  // namespace
}  // namespace weft
