// Seeded mutations of small valid inputs through every reader of files that users hand us: an answer or an
// error, never a crash, a hang or a full memory. WEFT_SEED chooses the mutations, WEFT_FUZZ_ROUNDS how many.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <set>
#include <string_view>

#include "core/rng.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/seed.hpp"
#include "traces/formats.hpp"
#include "traces/trace.hpp"

// How gcc and clang tell: the sanitizer holds memory back.
#if defined(__SANITIZE_ADDRESS__)
#define WEFT_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_ADDRESS_SANITIZER
#endif
#endif

namespace weft::fuzz {
namespace {

const std::vector<std::string> kNumbers = {"0",          "-1",    "1e308",      "99999999999999999999",
                                           "4294967296", "65536", ".",          "\n",
                                           "nan",        "1e-9",  "2147483647", " ",
                                           ",",          "-555",  "e",          "\"",
                                           "#",          "\t",    ":",          "{",
                                           "}"};

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

class Mutation : public ::testing::TestWithParam<Target> {};

// How many were accepted: all or none would mean that nothing is tested.
TEST_P(Mutation, EndsInAnAnswerOrAnErrorAndCostsLittle) {
  const Target& target = GetParam();
  const auto seeds = target.seeds();
  std::uint64_t valid = 0;
  for (const auto& s : seeds) valid += target.run(s);
  EXPECT_GE(valid + 1, seeds.size()) << "more than one seed is not accepted";
  auto words = kNumbers;
  words.insert(words.end(), target.words.begin(), target.words.end());
  const std::uint64_t seed = support::seed_or(11);
  const std::uint64_t rounds = support::number_in("WEFT_FUZZ_ROUNDS").value_or(target.rounds);
  std::printf("WEFT_SEED=%llu, %llu rounds\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(rounds));
  std::uint64_t accepted = 0;
  double longest = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    Rng rng(seed * 1'000'003 + i);
    const std::string input = mutate(seeds[i % seeds.size()], rng, words);
    const auto begin = std::chrono::steady_clock::now();
    accepted += target.run(input);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    longest = std::max(longest, took.count());
    ASSERT_LT(took.count(), 10.0) << "WEFT_SEED=" << seed << " round " << i << " took too long:\n" << input;
  }
  EXPECT_GT(accepted, 0u);
  EXPECT_LT(accepted, rounds);
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  std::printf("%llu accepted, the longest took %.3f s, %ld MB\n", static_cast<unsigned long long>(accepted),
              longest, used.ru_maxrss / 1024);
#if !defined(WEFT_ADDRESS_SANITIZER)
  EXPECT_LT(used.ru_maxrss / 1024, 512) << "MB";
#endif
}

TEST(Targets, EveryTraceFormatIsOne) {
  std::set<std::string_view> names;
  for (const Target& t : all_targets()) EXPECT_TRUE(names.insert(t.name).second) << t.name << " twice";
  const MemFile no_trace("neither this nor that\n");
  for (const traces::FormatName& row : traces::trace_formats()) {
    const auto opened = traces::open_trace({no_trace.path()}, std::string(row.name));
    const bool built_without =
        !opened && opened.error().message().find("built without its library") != std::string::npos;
    EXPECT_TRUE(built_without || names.contains(row.name)) << row.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Readers, Mutation, ::testing::ValuesIn(all_targets()),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace

// For the names of failing cases.
void PrintTo(const Target& t, std::ostream* os);
void PrintTo(const Target& t, std::ostream* os) { *os << t.name; }

}  // namespace weft::fuzz
