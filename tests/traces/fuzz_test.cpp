// The quick form of tests/fuzz/trace_fuzz.cpp: seeded mutations of small valid inputs.
#include "tests/fuzz/trace_fuzz.hpp"
#include "tests/traces/trace_testing.hpp"

namespace weft::traces {
namespace {

TEST(TraceFuzz, MutatedTextNeverCrashesAReader) {
  const std::string base =
      "0 init\n1 init\n0 send 1 5 8 0\n1 recv 0 5 8 0\n0 irecv 1 6 5e1 1\n1 isend 0 6 50 1\n0 wait 1 0 6\n1 "
      "waitall\n"
      "0 alltoallv 3 1 2 3 1 2\n1 alltoallv 3 2 1 3 2 1\n0 allreduce 4 1e3\n1 allreduce 4 1e3\n0 finalize\n1 "
      "finalize\n";
  Rng rng(testing::seed_or(11));
  for (int i = 0; i < 300; ++i) {
    std::string s = base;
    for (std::uint64_t k = 1 + rng.below(4); k > 0; --k) {
      const std::size_t at = rng.below(s.size());
      switch (rng.below(3)) {
        case 0:
          s[at] = static_cast<char>(rng.below(256));
          break;
        case 1:
          s.erase(at, 1 + rng.below(5));
          break;
        default:
          s.insert(at, 1, "0123456789 \n-e"[rng.below(14)]);
          break;
      }
      if (s.empty()) s = "0";
    }
    fuzz_one(s);
  }
}

}  // namespace
}  // namespace weft::traces
