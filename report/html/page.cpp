#include "report/html/page.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "report/html/bundle.hpp"
#include "report/replay_json.hpp"
#include "report/replay_text.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

// The result as `replay --json` has it, without what the machine that ran it adds and the path's segments one by one.
Json result_json(const predict::RunFacts& facts) {
  Json j = Json::parse(replay_json(facts, {}));
  j.erase("engine");
  if (j.contains("critical_path")) j["critical_path"].erase("segments");
  return j;
}

Json run_json(const PageRun& run) {
  Json j{{"name", predict::platform_label(*run.facts.platform)}, {"result", result_json(run.facts)}};
  if (run.timeline) j["timeline"] = to_json(*run.timeline);
  if (run.traffic) j["traffic"] = to_json(*run.traffic, run.facts.platform->fabric);
  if (run.drawing) j["drawing"] = to_json(*run.drawing, run.facts);
  return j;
}

}  // namespace

Page page_of(std::string verb, std::vector<PageRun> runs) {
  Page page;
  page.verb = std::move(verb);
  std::vector<predict::RunFacts> facts;
  facts.reserve(runs.size());
  for (const PageRun& run : runs) facts.push_back(run.facts);
  page.ranking = rank_runs(facts);
  page.answer = runs.size() == 1 ? std::vector<std::string>{replay_answer(facts.front())}
                                 : compare_answers(page.ranking);
  page.runs = std::move(runs);
  return page;
}

std::string page_json(const Page& page) {
  Json j;
  j["schema"] = "weft.report/1";
  j["verb"] = page.verb;
  j["command"] = page.command;
  j["version"] = page.version;
  j["answer"] = page.answer;
  j["rows"] = Json::array();
  for (const CompareRow& row : page.ranking) {
    j["rows"].push_back(compare_row_json(row));
    j["rows"].back()["run"] = row.run;
  }
  j["runs"] = Json::array();
  for (const PageRun& run : page.runs) j["runs"].push_back(run_json(run));
  j["warnings"] = all_warnings(page.ranking);
  return j.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string script_safe(std::string json) {
  std::string out;
  out.reserve(json.size() + 64);
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else
      out += c;
  }
  return out;
}

std::string page_html(const Page& page) {
  const std::string_view bundle = page_bundle();
  const std::size_t place = bundle.find(kDataPlace);
  WEFT_CHECK(place != std::string_view::npos, "the page has no place for its data");
  std::string out(bundle.substr(0, place));
  out += script_safe(page_json(page));
  out += bundle.substr(place + kDataPlace.size());
  return out;
}

}  // namespace weft::report
