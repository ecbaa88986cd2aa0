#include "report/html/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "report/html/bundle.hpp"
#include "report/replay_json.hpp"
#include "report/replay_text.hpp"
#include "report/why/sensitivity.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

// Without what the machine that ran it adds.
void drop_machine(Json& j) {
  if (j.is_object())
    for (const char* key : {"engine", "wall_s", "peak_rss_bytes"}) j.erase(key);
  for (Json& below : j)
    if (below.is_structured()) drop_machine(below);
}

constexpr std::size_t kDelays = 200;

// The result as `replay --json` has it, without the path's segments one by one and without delays that cost little.
Json result_json(const PageRun& run) {
  Json j = replay_document(run.facts, {.jobs = run.jobs, .most_segments = 0, .most_delays = kDelays});
  drop_machine(j);
  if (j.contains("wait_states") && run.facts.ranks > kMaxListedRanks) j["wait_states"].erase("by_rank");
  return j;
}

Json run_json(const PageRun& run) {
  Json j{{"name", predict::platform_label(*run.facts.platform)}, {"result", result_json(run)}};
  if (run.timeline) j["timeline"] = to_json(*run.timeline);
  if (run.traffic) j["traffic"] = to_json(*run.traffic, run.facts.platform->fabric);
  if (run.panels.panels > 0 || !run.panels.none.empty()) j["panels"] = to_json(run.panels);
  if (run.drawing) j["drawing"] = to_json(*run.drawing, run.facts);
  return j;
}

std::string text_of(const Json& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string run_text(const PageRun& run) {
  if (run.text.empty()) return text_of(run_json(run));
  if (run.facts.sensitivity == nullptr) return run.text;
  Json j = Json::parse(run.text);
  add_sensitivity_json(j["result"], run.facts);
  return text_of(j);
}

// JSON as it may stand in a <script> element: no '<', no '>'.
void add_script_safe(std::string& out, std::string_view json) {
  out.reserve(out.size() + json.size() + json.size() / 64);
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else
      out += c;
  }
}

}  // namespace

void make_text(PageRun& run) {
  run.text = text_of(run_json(run));
  run.text.shrink_to_fit();  // it grew by doubling
  run.timeline.reset();
  run.traffic.reset();
  run.drawing.reset();
  run.panels = {};
}

Page page_of(std::string verb, std::vector<PageRun> runs, bool by_path) {
  Page page;
  page.verb = std::move(verb);
  std::vector<predict::RunFacts> facts;
  facts.reserve(runs.size());
  for (const PageRun& run : runs) facts.push_back(run.facts);
  page.ranking = rank_runs(facts, by_path);
  page.answer = runs.size() == 1 ? std::vector<std::string>{replay_answer(facts.front())}
                                 : compare_answers(page.ranking);
  const PlatformNames names = platforms_of(page.ranking, PlatformNames::LongNames::kWhole);
  for (const CompareRow& row : page.ranking) {
    const predict::RunFacts& run = facts[row.run];
    if (runs.size() == 1 || run.sensitivity == nullptr) continue;
    std::string told = sensitivity_sentences(run);
    while (told.ends_with('\n')) told.pop_back();
    std::replace(told.begin(), told.end(), '\n', ' ');
    page.answer.push_back(fmt::format("What if, on {} ({} of the ranking): {}",
                                      names.of(row.label, row.platform),
                                      &row == page.ranking.data() ? "first" : "next", told));
  }
  page.runs = std::move(runs);
  return page;
}

Page page_of_document(std::string verb, std::vector<std::string> answer, std::string json) {
  Page page;
  page.verb = std::move(verb);
  page.answer = std::move(answer);
  page.document = std::move(json);
  return page;
}

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

std::string_view last_line(std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  return text.substr(text.rfind('\n') + 1);
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
  // Run by run: the objects of hundreds of runs at once take many times their text.
  std::string out = text_of(j);
  std::size_t size = out.size();
  for (const PageRun& run : page.runs) size += run.text.size() + 1;
  out.reserve(size);
  out.pop_back();
  out += ",\"runs\":[";
  for (const PageRun& run : page.runs) {
    if (&run != page.runs.data()) out += ',';
    out += run_text(run);
  }
  out += "],";
  j = Json::object();
  j["warnings"] = all_warnings(page.ranking);
  if (!page.document.empty()) {
    Json document = Json::parse(page.document);
    drop_machine(document);
    if (document.contains("warnings")) j["warnings"] = document["warnings"];
    document.erase("warnings");
    j["document"] = std::move(document);
  }
  return out += std::string_view(text_of(j)).substr(1);
}

std::string page_html(const Page& page) {
  const std::string_view bundle = page_bundle();
  const std::size_t place = bundle.find(kDataPlace);
  WEFT_CHECK(place != std::string_view::npos, "the page has no place for its data");
  std::string out(bundle.substr(0, place));
  add_script_safe(out, page_json(page));
  out += bundle.substr(place + kDataPlace.size());
  return out;
}

}  // namespace weft::report
