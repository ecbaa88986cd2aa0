// Workers under limits that the system sets.
#include "core/threads/workers.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <vector>

namespace weft {
namespace {

TEST(Workers, EveryOneOfThemWorksOnce) {
  std::vector<std::atomic<int>> calls(9);
  {
    Workers workers(8, [&](unsigned i) { ++calls[i]; });
    EXPECT_EQ(workers.started(), 8u);
  }
  EXPECT_EQ(calls[0], 0);
  for (std::size_t i = 1; i <= 8; ++i) EXPECT_EQ(calls[i], 1) << i;
}

TEST(Workers, NobodyIsNeeded) {
  Workers workers(0, [](unsigned) { FAIL(); });
  EXPECT_EQ(workers.started(), 0u);
}

// In a process of its own that may use 200 MB of addresses more than it does: 1,023 stacks do not fit. Those that work
// must be fewer, at least one, each called once, and leave room for the work.
TEST(Workers, FewerWorkWhereAddressesRunOut) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "address sanitizer needs the addresses itself";
#endif
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::FILE* statm = std::fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    if (statm == nullptr || std::fscanf(statm, "%lu", &pages) != 1) _exit(9);
    const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{200} << 20);
    const rlimit limit{bytes, bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(9);
    std::atomic<unsigned> calls{0};
    unsigned started = 0;
    {
      Workers workers(1023, [&](unsigned) { ++calls; });
      started = workers.started();
      std::vector<char> room(std::size_t{32} << 20, 1);
      if (room.back() != 1) _exit(8);
    }
    _exit(started >= 1 && started < 1023 && calls == started ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace weft
