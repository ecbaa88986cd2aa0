// The page of `weft report` and --report: one HTML file that holds everything, opens from a disk and asks no network.
//
// The page is the built bundle of report/web (report/html/page.html, embedded in the program) around one JSON object,
// "weft.report/1", in a data block. The object holds what the verbs' JSON holds (rows of a comparison, results of
// replays), under the same keys, and per run what only a picture needs, one struct a section.
// Nothing that a user named can end the data block: every '<' and '>' of the JSON is written as an escape, and the page
// takes texts as text. Same runs, same page: nothing of the machine that replayed is in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "predict/run_facts.hpp"
#include "report/compare.hpp"
#include "report/html/drawing.hpp"
#include "report/html/panel_section.hpp"
#include "report/html/timeline_section.hpp"
#include "report/html/traffic_section.hpp"
#include "report/jobs.hpp"

namespace weft::report {

// A run that is shown in full: its result, and what was collected while it was replayed (run_collector.hpp), if it was.
struct PageRun {
  predict::RunFacts facts;                      // what it points at must outlive the page
  const std::vector<JobFacts>* jobs = nullptr;  // several jobs on one fabric; borrowed
  std::optional<TimelineSection> timeline{};
  std::optional<TrafficSection> traffic{};
  PanelSection panels{};
  std::optional<Drawing> drawing{};  // of a network that is small enough
  // All of this as text, where it was made when the run ended, so that of hundreds of runs not everything is kept;
  // what it depends on comes later.
  std::string text{};
};

struct Page {
  std::string verb;                 // "replay", "compare"...
  std::string command, version;     // to repeat it
  std::vector<std::string> answer;  // sentences, one a trace
  std::vector<CompareRow> ranking;  // CompareRow::run: index into `runs`
  std::vector<PageRun> runs;
  std::string document;  // instead of ranking and runs: the object of the verb's --json, as text
};

// What is collected of the run becomes its text, and goes.
void make_text(PageRun& run);

// The object of the page, and the page around it.
[[nodiscard]] std::string page_json(const Page& page);
[[nodiscard]] std::string page_html(const Page& page);

// The ranking and answers of `runs`, which must be in the order in which they were asked for, and of several what those depend on of
// which it is known. `by_path`: as rank_runs() takes it.
[[nodiscard]] Page page_of(std::string verb, std::vector<PageRun> runs, bool by_path = false);

// Of a verb whose own JSON is what there is to draw: "sweep", "predict", "tune", "search".
[[nodiscard]] Page page_of_document(std::string verb, std::vector<std::string> answer, std::string json);
// The answer of a text for people, which its first or last line is.
[[nodiscard]] std::string_view first_line(std::string_view text);
[[nodiscard]] std::string_view last_line(std::string_view text);
// A width at which sentences are not wrapped.
inline constexpr std::size_t kUnwrapped = 1u << 20;

}  // namespace weft::report
