// The page's data: what the verbs' JSON holds, safe inside a script element, whatever things are called.
#include <gmock/gmock.h>

#include "report/html/bundle.hpp"
#include "report/html/page.hpp"
#include "report/replay_json.hpp"
#include "tests/report/hand_made.hpp"

namespace weft::report {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::string_view kOpen = "<script id=\"data\" type=\"application/json\">";

std::size_t count(std::string_view text, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t p = text.find(what); p != std::string_view::npos; p = text.find(what, p + 1)) ++n;
  return n;
}

// What a browser takes for the data: up to the first end tag.
std::string data_of(const std::string& html) {
  const std::size_t begin = html.find(kOpen) + kOpen.size();
  return html.substr(begin, html.find("</script", begin) - begin);
}

TEST(Page, HoldsTheRowsAndResultsOfTheJson) {
  HandMade slow, fast;
  slow.slow(500, {});
  Page page = page_of("compare", {{slow.facts()}, {fast.facts()}});
  page.command = "weft compare";
  page.version = "1.2.3";
  const auto j = ordered_json::parse(page_json(page));
  EXPECT_EQ(j["schema"], "weft.report/1");
  EXPECT_EQ(j["verb"], "compare");
  EXPECT_EQ(j["command"], "weft compare");
  EXPECT_EQ(j["version"], "1.2.3");
  ASSERT_EQ(j["answer"].size(), 1u);
  EXPECT_THAT(j["answer"][0].get<std::string>(), HasSubstr("fastest"));
  // Ranked by time; each row knows its run.
  const auto rows = ordered_json::parse(compare_json(rank_runs({slow.facts(), fast.facts()})))["rows"];
  ASSERT_EQ(j["rows"].size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    auto row = j["rows"][i];
    EXPECT_EQ(row["run"], 1 - i);
    EXPECT_EQ(row["makespan_s"], j["runs"][1 - i]["result"]["makespan_s"]);
    row.erase("run");
    EXPECT_EQ(row.dump(), rows[i].dump());
  }
  auto result = ordered_json::parse(replay_json(slow.facts(), {}));
  result.erase("engine");
  EXPECT_EQ(j["runs"][0]["result"].dump(), result.dump());
  EXPECT_THAT(page_json(page), Not(HasSubstr("wall_s"))) << "two runs of one command give one page";
}

TEST(Page, OfOneRunAnswersAsReplayDoes) {
  const HandMade h;
  const auto j = ordered_json::parse(page_json(page_of("replay", {{h.facts()}})));
  EXPECT_EQ(j["answer"][0],
            "t.weft: 4 ranks take 2 ms on crossbar:n=4,bw=8Gbps,lat=1us,speed=10Gflops; "
            "54 % compute, 22 % wait, 11 % collective, 8 % receive, 5 % send");
}

TEST(Page, NamesCannotEndTheDataBlock) {
  HandMade h;
  const std::string hostile = "</script><script>x()</script><!--<script>]]>&lt;\xe2\x80\xa8\xff\"\\u003c";
  h.platform.label = hostile;
  h.result.regions[0].name = hostile;
  h.result.warnings.push_back(hostile);
  Page page = page_of("replay", {{h.facts("dir/" + hostile)}});
  page.command = hostile;
  const std::string json = page_json(page), html = page_html(page);
  const std::string data = data_of(html);
  EXPECT_EQ(data.find_first_of("<>"), std::string::npos);
  EXPECT_EQ(ordered_json::parse(data).dump(), ordered_json::parse(json).dump());
  std::string shown = hostile;  // a byte that is no UTF-8 is replaced
  shown.replace(shown.find('\xff'), 1, "\xef\xbf\xbd");
  EXPECT_EQ(ordered_json::parse(data)["command"], shown);
  // A name is as sentences have it: bytes that are no UTF-8 are escaped.
  EXPECT_EQ(ordered_json::parse(data)["runs"][0]["name"], predict::platform_label(h.platform));
  EXPECT_EQ(count(html, "<script"), count(page_bundle(), "<script"));
  EXPECT_EQ(count(html, "<!--"), count(page_bundle(), "<!--"));
}

TEST(Page, TheBundleAsksNoNetwork) {
  const std::string_view bundle = page_bundle();
  EXPECT_EQ(count(bundle, kDataPlace), 1u);
  EXPECT_LE(bundle.size(), 250'000u);
  EXPECT_EQ(count(bundle, "default-src 'none'"), 1u);
  EXPECT_EQ(count(bundle, "script-src 'sha256-"), 1u);
  for (const std::string_view outside : {"<link", "src=\"", "@import", "url(", "innerHTML", "fetch("})
    EXPECT_EQ(count(bundle, outside), 0u) << outside;
}

}  // namespace
}  // namespace weft::report
