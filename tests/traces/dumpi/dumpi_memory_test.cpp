// DUMPI streams are read, not kept: measured with a limit on the address space of a child process.
//
// WEFT_DUMPI_DIR=DIR WEFT_DUMPI_MB=1024 keeps the trace, in the size that docs/performance.md speaks of.
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/traces/address_limit.hpp"
#include "tests/traces/dumpi/dumpi_testing.hpp"
#include "traces/info.hpp"

namespace weft::traces {
namespace {

using namespace testing;

constexpr int kRanks = 16;

// A 4 x 4 halo exchange with polls, a reduction each step and a communicator now and then, about `bytes` in all.
std::string halo(const std::string& dir, std::size_t bytes) {
  fs::create_directories(dir);
  std::ofstream(dir + "/run.meta") << "numprocs=" << kRanks << "\nfileprefix=run\n";
  for (int me = 0; me < kRanks; ++me) {
    DumpiWriter w;
    w.init().cart_create(kDumpiWorld, {4, 4}, false, 4);
    const int row = me / 4 * 4;
    const int beside[] = {row + (me + 1) % 4, row + (me + 3) % 4, (me + 4) % 16, (me + 12) % 16};
    Rng rng(static_cast<std::uint64_t>(me));
    for (std::size_t step = 0; w.size() < bytes / kRanks; ++step) {
      w.gap_ns = static_cast<std::int64_t>(rng.below(100'000));
      for (int i = 0; i < 4; ++i) w.irecv(1000, kDumpiDouble, i == 0 ? -1 : beside[i], 10 + i, 2 + i, 4);
      for (int i = 0; i < 4; ++i) w.isend(1000, kDumpiDouble, beside[i], 10 + (i ^ 1), 6 + i, 4);
      w.waitall({2, 3, 4, 5, 6, 7, 8, 9}, {{8000, beside[0], 10},
                                           {8000, beside[1], 11},
                                           {8000, beside[2], 12},
                                           {8000, beside[3], 13},
                                           {},
                                           {},
                                           {},
                                           {}});
      w.iprobe(-1, 99, false, {}, 4).allreduce(1, kDumpiDouble, 4);
    }
    w.finalize();
    char name[32];
    std::snprintf(name, sizeof name, "/run-%04d.bin", me);
    std::ofstream(dir + name, std::ios::binary) << w.file();
  }
  return dir;
}

TEST(DumpiMemory, AStreamIsReadInABlockPerRank) {
  WEFT_NEEDS_ADDRESS_LIMIT();
  const TempDir temporary;
  const char* keep = std::getenv("WEFT_DUMPI_DIR");
  const char* megabytes = std::getenv("WEFT_DUMPI_MB");
  const std::size_t bytes = (megabytes != nullptr ? std::strtoull(megabytes, nullptr, 10) : 64) << 20;
  const std::string dir = halo(keep != nullptr ? keep : temporary.path("halo"), bytes);
  // A receive with a wildcard is 24 bytes, a poll place 4: one of each in 700 bytes here.
  const std::size_t room = (16u << 20) + bytes / 16;
  EXPECT_TRUE(within(room, [&] {
    auto t = open_trace({dir});
    if (!t) return false;
    std::vector<OpBlock> blocks(kRanks);
    std::uint64_t ops = 0;
    for (bool more = true; more;) {
      more = false;
      for (std::uint32_t r = 0; r < kRanks; ++r) {
        const auto got = (*t)->next_block(RankId(r), blocks[r]);
        if (!got) return false;
        more = more || *got;
        ops += blocks[r].ops.size();
      }
    }
    return ops == (*t)->totals().ops && ops * 80 > bytes;
  }));
}

}  // namespace
}  // namespace weft::traces
