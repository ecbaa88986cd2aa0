// libarchive is nine libraries: only who opens an archive loads them, and a machine may be without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/cli/run_weft.hpp"
#include "tests/support/checkout.hpp"

namespace weft::testing::archive_library_test {
namespace {

using ::testing::HasSubstr;

const std::string kArchive = support::oracle_dir() + "/2x2_500_64/trace.tar.zst";

TEST(ArchiveLibrary, IsLoadedForArchivesOnly) {
  const Workspace here;
  const auto loads = [&](const std::string& trace) {
    EXPECT_EQ(::setenv("LD_DEBUG", "libs", 1), 0);
    const Outcome o = here.weft("import " + trace + " -o " + (trace == kArchive ? "t.weft" : "again.weft"));
    ::unsetenv("LD_DEBUG");
    EXPECT_EQ(o.exit_code, 0) << o.err;
    EXPECT_THAT(o.err, HasSubstr("find library=libc.so"));
    return o.err.find("find library=" WEFT_ARCHIVE) != std::string::npos;
  };
  EXPECT_TRUE(loads(kArchive));
  EXPECT_FALSE(loads("t.weft"));
}

TEST(ArchiveLibrary, WithoutItArchivesAreNotSupported) {
  const Workspace here;
  here.write(WEFT_ARCHIVE, "no library");
  ASSERT_EQ(::setenv("LD_LIBRARY_PATH", here.path().c_str(), 1), 0);
  const Outcome o = here.weft("import " + kArchive + " -o t.weft");
  ::unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_THAT(o.err, HasSubstr("not supported: archives and compressed text without libarchive; got \"" +
                               here.path() + "/" WEFT_ARCHIVE));
  EXPECT_THAT(o.err, HasSubstr("expected the library " WEFT_ARCHIVE));
  EXPECT_EQ(here.list(), std::vector<std::string>{WEFT_ARCHIVE});
}

}  // namespace
}  // namespace weft::testing::archive_library_test
