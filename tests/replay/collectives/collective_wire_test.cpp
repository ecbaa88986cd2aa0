// What the libraries send: every pair of ranks, messages and bytes, of each collective against recordings of the layers
// below them (tests/oracle/data/collectives/SOURCE.txt).
#include <gtest/gtest.h>
#include <zstd.h>

#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "replay/collectives/rules.hpp"
#include "tests/support/checkout.hpp"

namespace weft::replay {
namespace {

using traces::OpKind;

using Pairs = std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::int64_t, std::int64_t>>;

std::string unpacked(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream packed;
  packed << in.rdbuf();
  const std::string bytes = packed.str();
  std::string out(ZSTD_getFrameContentSize(bytes.data(), bytes.size()), '\0');
  EXPECT_EQ(ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size()), out.size());
  return out;
}

// One line: "collective ranks root bytes from>to:messages:bytes...".
struct Recorded {
  std::string name;
  OpKind kind{};
  bool nonblocking = false;
  std::uint32_t ranks = 0;
  std::uint32_t root = 0;
  std::int64_t bytes = 0;
  Pairs pairs;
};

Recorded parsed(const std::string& line) {
  Recorded r;
  std::istringstream words(line);
  EXPECT_TRUE(words >> r.name >> r.ranks >> r.root >> r.bytes) << line;
  r.nonblocking = r.name[0] == 'i';
  const auto kind = find_collective_kind(r.nonblocking ? r.name.substr(1) : r.name);
  EXPECT_TRUE(kind) << r.name;
  r.kind = *kind;
  std::string pair;
  while (words >> pair) {
    std::istringstream parts(pair);
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    char mark = 0;
    auto& sum = (parts >> from >> mark >> to, r.pairs[{from, to}]);
    EXPECT_TRUE(parts >> mark >> sum.first >> mark >> sum.second) << pair;
  }
  return r;
}

// The same of our schedule.
Pairs scheduled(const CollectiveRules& rules, const Recorded& r, const NodeShape* nodes,
                std::string_view& algorithm) {
  Pairs ours;
  for (std::uint32_t me = 0; me < r.ranks; ++me) {
    std::vector<std::int64_t> list;
    const bool at_root = r.kind == OpKind::gatherv || r.kind == OpKind::scatterv;
    if (r.kind == OpKind::alltoallv) list.assign(1 + 2 * std::size_t{r.ranks}, r.bytes), list[0] = r.ranks;
    if (r.kind == OpKind::allgatherv || r.kind == OpKind::reduce_scatter || (at_root && me == r.root))
      list.assign(r.ranks, r.bytes);
    CollectiveCall call{.kind = r.kind, .ranks = r.ranks, .root = r.root, .bytes = r.bytes, .counts = list};
    call.nonblocking = r.nonblocking;
    call.nodes = nodes;
    EXPECT_TRUE(check_collective(call, me, "wire"));
    RankSchedule s;
    algorithm = build_chosen(rules, call, me, s).name;
    for (const auto& m : s.messages) {
      if (!m.send) continue;
      auto& sum = ours[{me, m.peer}];
      ++sum.first;
      sum.second += m.bytes;
    }
  }
  return ours;
}

// What of MPICH's recordings is not compared.
bool is_known_difference(const Recorded& r, bool nodes) {
  // The counter does not see how long a derived datatype is: blocks of 1 KiB and more travel as one up the tree.
  if (r.kind == OpKind::gather && r.ranks >= 4 && r.bytes >= 1024) return true;
  // Eight ranks send to all others at once where the tuning file says Bruck; not understood.
  if (r.kind == OpKind::alltoall && r.ranks == 8 && r.bytes <= (r.nonblocking ? 2048 : 256)) return true;
  // Ibcast's scatter: an inner rank of the tree sends on more than it was sent (ibcast_utils.c, curr_size).
  return !nodes && r.name == "ibcast" && r.ranks == 8 && r.bytes > 12288;
}

// Returns how many calls were compared, by collective.
std::map<std::string, int> compare(const char* file, const char* rules_name, bool odd_and_even) {
  const auto rules = *open_collective_rules(rules_name);
  std::istringstream in(unpacked(support::oracle_dir() + "/collectives/" + file));
  std::map<std::string, int> calls;
  std::string line;
  while (std::getline(in, line)) {
    const Recorded r = parsed(line);
    if (rules_name[0] == 'm' && is_known_difference(r, odd_and_even)) continue;
    std::optional<NodeShape> nodes;
    if (odd_and_even) {
      std::vector<std::uint32_t> hosts(r.ranks);
      for (std::uint32_t k = 0; k < r.ranks; ++k) hosts[k] = k % 2;
      nodes.emplace(hosts);
    }
    std::string_view algorithm;
    const Pairs ours = scheduled(*rules, r, nodes ? &*nodes : nullptr, algorithm);
    EXPECT_EQ(ours, r.pairs) << r.name << ' ' << r.ranks << " ranks, root " << r.root << ", " << r.bytes
                             << " B: " << algorithm;
    ++calls[r.name];
  }
  return calls;
}

TEST(CollectiveWire, EveryPairsMessagesAndBytesAreThoseOfOpenMpi) {
  const auto calls = compare("openmpi_wire.txt.zst", "openmpi4", false);
  EXPECT_EQ(calls.size(), 26u);
  EXPECT_EQ(calls.at("bcast"), 7 * 2 * 9) << "2 to 8 ranks, two roots, 9 sizes";
}

TEST(CollectiveWire, EveryPairsMessagesAndBytesAreThoseOfMpich) {
  const auto calls = compare("mpich_wire.txt.zst", "mpich", false);
  EXPECT_EQ(calls.size(), 26u);
  EXPECT_EQ(calls.at("bcast"), 7 * 2 * 9);
  int all = 0;
  for (const auto& [name, count] : calls) all += count;
  EXPECT_EQ(all, 2156 - 2 * 5 * 12 - 2 - 4 - 8);
}

// Odd ranks on one node, even ones on the other.
TEST(CollectiveWire, WithNodesToo) {
  const auto calls = compare("mpich_nodes_wire.txt.zst", "mpich", true);
  EXPECT_EQ(calls.size(), 26u);
  EXPECT_EQ(calls.at("bcast"), 5 * 2 * 9) << "4 to 8 ranks";
  int all = 0;
  for (const auto& [name, count] : calls) all += count;
  EXPECT_EQ(all, 1540 - 2 * 5 * 12 - 2 - 4);
}

}  // namespace
}  // namespace weft::replay
