#include "core/suggest.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/rng.hpp"

namespace weft {
namespace {

TEST(Suggest, DistancesArePublishedOnes) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("saturday", "sunday"), 3u);
  EXPECT_EQ(edit_distance("ca", "abc"), 3u) << "optimal string alignment, not the unrestricted distance (2)";
  EXPECT_EQ(edit_distance("repaly", "replay"), 1u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
}

// All texts that one edit makes of `text`, over a small alphabet.
std::set<std::string> one_edit(const std::string& text, const std::string& letters) {
  std::set<std::string> out;
  for (std::size_t i = 0; i <= text.size(); ++i)
    for (const char c : letters) out.insert(text.substr(0, i) + c + text.substr(i));
  for (std::size_t i = 0; i < text.size(); ++i) {
    out.insert(text.substr(0, i) + text.substr(i + 1));
    for (const char c : letters) out.insert(text.substr(0, i) + c + text.substr(i + 1));
    if (i + 1 < text.size()) {
      std::string swapped = text;
      std::swap(swapped[i], swapped[i + 1]);
      out.insert(swapped);
    }
  }
  out.erase(text);
  return out;
}

TEST(Suggest, DistanceOneIsExactlyWhatOneEditMakes) {
  Rng rng(17);
  for (int n = 0; n < 200; ++n) {
    std::string a, b;
    for (std::uint64_t i = rng.below(5); i > 0; --i) a += static_cast<char>('a' + rng.below(3));
    for (std::uint64_t i = rng.below(5); i > 0; --i) b += static_cast<char>('a' + rng.below(3));
    EXPECT_EQ(edit_distance(a, b) == 1, one_edit(a, "abc").contains(b)) << a << " " << b << ", seed 17";
    EXPECT_EQ(edit_distance(a, b), edit_distance(b, a));
    EXPECT_EQ(edit_distance(a, b) == 0, a == b);
  }
}

TEST(Suggest, ASlipIsFoundAndAStrangerIsNot) {
  const std::vector<std::string_view> verbs{"record", "generate", "replay", "compare",
                                            "sweep",  "flows",    "search"};
  for (const auto& [typed, meant] : std::map<std::string, std::string>{{"repaly", "replay"},
                                                                       {"REPLAY", "replay"},
                                                                       {"compar", "compare"},
                                                                       {"flow", "flows"},
                                                                       {"gen", "generate"},
                                                                       {"serach", "search"}})
    EXPECT_EQ(nearest(typed, verbs), meant) << typed;
  for (const char* stranger : {"", "x", "banana", "re", "a.out", "s"})
    EXPECT_EQ(nearest(stranger, verbs), "") << stranger;
  EXPECT_EQ(nearest(std::string(1 << 20, 'r'), verbs), "");
  EXPECT_EQ(one_of("flow", verbs),
            "one of record, generate, replay, compare, sweep, flows, search; did you mean flows?");
  EXPECT_EQ(one_of("banana", std::vector<std::string>{"a", "b"}), "one of a, b");
}

}  // namespace
}  // namespace weft
