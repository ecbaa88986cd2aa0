// What Open MPI sends: every pair of ranks, messages and bytes, of each collective against a recording of the library's
// point-to-point layer (tests/oracle/data/collectives/SOURCE.txt).
#include <gtest/gtest.h>
#include <zstd.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "replay/collectives/rules.hpp"
#include "tests/support/checkout.hpp"

namespace weft::replay {
namespace {

using traces::OpKind;

std::string unpacked(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream packed;
  packed << in.rdbuf();
  const std::string bytes = packed.str();
  std::string out(ZSTD_getFrameContentSize(bytes.data(), bytes.size()), '\0');
  EXPECT_EQ(ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size()), out.size());
  return out;
}

TEST(OpenMpiWire, EveryPairsMessagesAndBytesAreThoseOfTheLibrary) {
  const auto rules = *open_collective_rules("openmpi4");
  std::istringstream in(unpacked(support::oracle_dir() + "/collectives/openmpi_wire.txt.zst"));
  std::string line;
  std::map<std::string, int> calls;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string name, pair;
    std::uint32_t ranks = 0;
    std::uint32_t root = 0;
    std::int64_t bytes = 0;
    ASSERT_TRUE(words >> name >> ranks >> root >> bytes) << line;
    using Pairs = std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::int64_t, std::int64_t>>;
    Pairs recorded;
    while (words >> pair) {
      std::istringstream parts(pair);
      std::uint32_t from = 0;
      std::uint32_t to = 0;
      char mark = 0;
      std::int64_t messages = 0;
      std::int64_t sum = 0;
      ASSERT_TRUE(parts >> from >> mark >> to >> mark >> messages >> mark >> sum) << pair;
      recorded[{from, to}] = {messages, sum};
    }
    const bool nonblocking = name[0] == 'i';
    const auto kind = find_collective_kind(nonblocking ? name.substr(1) : name);
    ASSERT_TRUE(kind) << name;
    Pairs ours;
    std::string_view algorithm;
    for (std::uint32_t me = 0; me < ranks; ++me) {
      std::vector<std::int64_t> list;
      if (*kind == OpKind::alltoallv) list.assign(1 + 2 * std::size_t{ranks}, bytes), list[0] = ranks;
      if (*kind == OpKind::allgatherv || *kind == OpKind::reduce_scatter ||
          (*kind == OpKind::gatherv && me == root) || (*kind == OpKind::scatterv && me == root))
        list.assign(ranks, bytes);
      const CollectiveCall call{.kind = *kind,
                                .ranks = ranks,
                                .root = root,
                                .bytes = bytes,
                                .counts = list,
                                .nonblocking = nonblocking};
      ASSERT_TRUE(check_collective(call, me, "wire"));
      RankSchedule s;
      algorithm = build_chosen(*rules, call, me, s).name;
      for (const auto& m : s.messages) {
        if (!m.send) continue;
        auto& sum = ours[{me, m.peer}];
        ++sum.first;
        sum.second += m.bytes;
      }
    }
    EXPECT_EQ(ours, recorded) << name << ' ' << ranks << " ranks, root " << root << ", " << bytes
                              << " B: " << algorithm;
    ++calls[name];
  }
  EXPECT_EQ(calls.size(), 26u);
  EXPECT_EQ(calls["bcast"], 7 * 2 * 9) << "2 to 8 ranks, two roots, 9 sizes";
}

}  // namespace
}  // namespace weft::replay
