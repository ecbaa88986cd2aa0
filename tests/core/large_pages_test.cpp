// The heap on large pages, as the system tells it (proc_pid_smaps(5)).
#include "core/containers/large_pages.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace weft {
namespace {

constexpr std::uintptr_t kPage = std::uintptr_t{2} << 20;

struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  std::uint64_t resident_kb = 0;
};

// The largest mapping for which large pages are asked.
std::optional<Mapping> advised() {
  std::ifstream smaps("/proc/self/smaps");
  std::optional<Mapping> largest;
  Mapping m;
  for (std::string line; std::getline(smaps, line);) {
    if (unsigned long long begin = 0, end = 0; std::sscanf(line.c_str(), "%llx-%llx ", &begin, &end) == 2)
      m = {begin, end, 0};
    else if (line.starts_with("Rss:"))
      m.resident_kb = std::stoull(line.substr(4));
    else if (line.starts_with("VmFlags:") && (line + ' ').find(" hg ") != std::string::npos &&
             (!largest || m.end - m.begin > largest->end - largest->begin))
      largest = m;
  }
  return largest;
}

// In a process of its own: what is asked of the heap stays. Exits with 0 if all is as it should be.
[[noreturn]] void ask() {
  const auto fail = [](const char* what) {
    std::fputs(what, stderr);
    std::exit(1);
  };
  prefer_large_pages();
  const auto fresh = advised();
  if (!fresh) fail("no mapping for large pages");
  if (fresh->begin % kPage != 0) fail("the first page is not whole");
  if (fresh->end - fresh->begin < std::uintptr_t{1} << 29) fail("less than half a gigabyte");
  // A large page on which anything was touched before the advice stays a small one among 511 others.
  if (fresh->resident_kb != 0) fail("touched before it was asked for");
  // What is too large for the rest before it stands on it.
  auto* const block = static_cast<char*>(std::malloc(4 * kPage));
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  if (block == nullptr || at < fresh->begin - kPage / 4 || at + 4 * kPage > fresh->end)
    fail("the heap grows elsewhere");
  std::memset(block, 1, 4 * kPage);
  if (advised()->resident_kb < 3 * kPage / 1024) fail("another mapping was touched");
  std::exit(0);
}

TEST(LargePages, StandUntouchedWhereTheHeapGrows) {
#if defined(__SANITIZE_ADDRESS__) || !defined(__GLIBC__)
  GTEST_SKIP() << "a heap of another library";
#endif
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage"))
    GTEST_SKIP() << "this system has no large pages";
  GTEST_FLAG_SET(death_test_style,
                 "threadsafe");  // a new process, whose heap is as at the start of a program
  EXPECT_EXIT(ask(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft
