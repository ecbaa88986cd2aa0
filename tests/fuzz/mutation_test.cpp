// Seeded mutations of small valid inputs through every reader of files that users hand us: an answer or an
// error, never a crash, a hang or a large allocation. WEFT_SEED chooses the mutations, WEFT_FUZZ_ROUNDS how
// many.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "core/rng.hpp"
#include "replay/flow_list.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/fuzz/trace_fuzz.hpp"
#include "tests/support/checkout.hpp"
#include "topology/platform.hpp"
#include "topology/platform_source.hpp"

namespace weft {
namespace {

std::uint64_t number_of(const char* variable, std::uint64_t fallback) {
  const char* s = std::getenv(variable);
  return s != nullptr ? std::strtoull(s, nullptr, 10) : fallback;
}

// One to four edits: a byte, a cut, an insertion from `words`, a repeat of a part, a truncation.
std::string mutate(std::string s, Rng& rng, const std::vector<std::string>& words) {
  for (std::uint64_t k = 1 + rng.below(4); k > 0; --k) {
    if (s.empty()) s = "0";
    const std::size_t at = rng.below(s.size());
    switch (rng.below(6)) {
      case 0:
        s[at] = static_cast<char>(rng.below(256));
        break;
      case 1:
        s[at] = static_cast<char>(s[at] ^ (1 << rng.below(8)));
        break;
      case 2:
        s.erase(at, 1 + rng.below(8));
        break;
      case 3:
        s.insert(at, words[rng.below(words.size())]);
        break;
      case 4:
        s.insert(rng.below(s.size()), s.substr(at, 1 + rng.below(40)));
        break;
      default:
        if (rng.below(4) == 0) s.resize(at);
        break;
    }
  }
  return s;
}

// Runs `one` on mutations of each seed; true of `one` = the input was accepted. Prints the round that hangs
// or dies through the trace of gtest, and how many were accepted: all or none would mean that nothing is
// tested.
template <class F>
void sweep(const std::vector<std::string>& seeds, const std::vector<std::string>& words, std::uint64_t rounds,
           const F& one) {
  for (const auto& s : seeds) EXPECT_TRUE(one(s)) << "the seed itself is not valid:\n" << s;
  const std::uint64_t seed = number_of("WEFT_SEED", 11);
  std::uint64_t accepted = 0;
  rounds = number_of("WEFT_FUZZ_ROUNDS", rounds);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    Rng rng(seed * 1'000'003 + i);
    const std::string input = mutate(seeds[i % seeds.size()], rng, words);
    const auto begin = std::chrono::steady_clock::now();
    accepted += one(input);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    ASSERT_LT(took.count(), 20.0) << "WEFT_SEED=" << seed << " round " << i << " took too long:\n" << input;
  }
  EXPECT_GT(accepted, 0u);
  EXPECT_LT(accepted, rounds);
}

const std::vector<std::string> kNumbers = {"0",          "-1",    "1e308",      "99999999999999999999",
                                           "4294967296", "65536", ".",          "\n",
                                           "nan",        "1e-9",  "2147483647", " ",
                                           ",",          "-555",  "e",          "\"",
                                           "#",          "\t",    ":",          "{",
                                           "}"};

TEST(Mutation, SimGridText) {
  auto words = kNumbers;
  for (const char* w : {"0 send 1 5 8 0\n", "1 waitall\n", "0 wait 0 1 5\n", "1 comm_split\n",
                        "0 test 0 1 5\n", "0 irecv 1 -444 8\n", "0 barrier\n"})
    words.emplace_back(w);
  sweep({traces::ti_seed()}, words, 600, [](const std::string& s) { return traces::fuzz_one(s); });
}

TEST(Mutation, WeftFiles) {
  const std::string path =
      std::filesystem::path(::testing::TempDir()) / ("weft_seed_" + std::to_string(::getpid()));
  const std::string file = traces::weft_seed(path);
  std::filesystem::remove(path);
  sweep({file}, {std::string(4, '\xff'), std::string(8, '\0'), "WRFM"}, 300,
        [](const std::string& s) { return traces::fuzz_one(s); });
}

TEST(Mutation, MessagesInsideWeftFiles) {
  using traces::format::FrameType;
  std::string prefix[5];
  for (char m = 1; m <= 4; ++m)
    prefix[static_cast<int>(m)] = std::string{m, static_cast<char>(traces::block_seed().ops.size())};
  const std::vector<std::string> varints = {std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                                            std::string(1, '\0'),
                                            "\x80\x80\x80\x08",
                                            "\xff\xff\xff\xff\x0f",
                                            "\x7f",
                                            "\x12\x02\x08\x28"};
  for (const auto& [type, message] :
       {std::pair<FrameType, std::string>{FrameType::kHeader, traces::kHeaderMessageSeed},
        {FrameType::kDefinitions, std::string(traces::kDefinitionsMessageSeed)},
        {FrameType::kOps, traces::block_message_seed()}}) {
    SCOPED_TRACE(static_cast<int>(type));
    sweep({message}, varints, 300, [t = type, &prefix](const std::string& s) {
      return traces::fuzz_bytes(prefix[static_cast<int>(t)] + s);
    });
  }
  // No index of a file without blocks is right, so nothing here is accepted but by salvage.
  Rng rng(number_of("WEFT_SEED", 11));
  for (int i = 0; i < 300; ++i)
    (void)traces::fuzz_bytes(prefix[4] + mutate(std::string(traces::kIndexMessageSeed), rng, varints));
}

TEST(Mutation, PlatformFiles) {
  std::vector<std::string> seeds;
  for (const char* name : {"dragonfly-18", "torus-16", "fat-tree-taper-16", "frontera"}) {
    std::ifstream in(support::source_dir() + "/platforms/" + name + ".textproto");
    std::stringstream s;
    s << in.rdbuf();
    seeds.push_back(s.str());
  }
  auto words = kNumbers;
  for (const char* w : {"set: \"k=100000\"\n", "set: \"n=4294967295\"\n", "mpi {}\n", "host {", "Gbps",
                        "family: \"xgft\"\n", "100000,"})
    words.emplace_back(w);
  sweep(seeds, words, 300, [](const std::string& s) {
    const auto source = topology::parse_textproto("F", s);
    return source && topology::build_platform(*source).has_value();
  });
}

TEST(Mutation, RoutesFiles) {
  const std::string path =
      std::filesystem::path(::testing::TempDir()) / ("weft_routes_" + std::to_string(::getpid()));
  auto words = kNumbers;
  for (const char* w :
       {"R 0 1 0 2\n", "L 5 x 1e9 0\n", "R 4000000000 0 1\n", "L 4000000000 y 1 1\n", "shared"})
    words.emplace_back(w);
  sweep({"# comment\nL 0 up0 1e9 1e-6 shared\nL 2 down1 2e9 2e-6 shared\nL 1 spare 3e9 0\nL 3 up1 4e9 "
         "1e-6\nR 0 1 0 2\nR 1 0 3 1\n"},
        words, 500, [&path](const std::string& s) {
          std::ofstream(path, std::ios::binary) << s;
          return topology::load_platform("routes:path=" + path).has_value();
        });
  std::filesystem::remove(path);
}

TEST(Mutation, FlowLists) {
  const auto platform = topology::load_platform("crossbar:n=16,bw=100Gbps,lat=1us");
  ASSERT_TRUE(platform);
  auto words = kNumbers;
  for (const char* w : {"KiB", "us", "\"\"", "node-3", "bytes_B", "\r\n"}) words.emplace_back(w);
  sweep({"src,dst,bytes,start\n0,1,300MiB,1us\r\n\n node-2 , \"node-3\" ,64KiB,0\n",
         "start_s,bytes_B,dst,src\n1.5e-6,65536,1,0"},
        words, 1000, [&](const std::string& s) {
          return replay::parse_flow_list(s, "F.csv", platform->fabric).has_value();
        });
}

}  // namespace
}  // namespace weft
