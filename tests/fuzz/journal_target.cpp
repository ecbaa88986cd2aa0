// The journal of finished points: files that a power cut tore, that somebody edited, that another program wrote.
//
// Sums stop nearly every mutation, so each line is read twice: as it is, and with its sum set right.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <limits>

#include "predict/journal/journal.hpp"
#include "predict/journal/prediction_point.hpp"
#include "predict/journal/run_point.hpp"
#include "tests/fuzz/target.hpp"

namespace weft::fuzz {
namespace {

using predict::Json;

constexpr std::size_t kTail = 27;  // ,"sum":"0123456789abcdef"}

std::string with_sum(std::string_view body) {
  return fmt::format("{},\"sum\":\"{:016x}\"}}\n", body, predict::checksum(body));
}

// Every line, and after it the same with its own sum in place of what stands at its end.
std::string read_twice(std::string_view bytes) {
  std::string out;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size() - 1);
    const std::string_view line = bytes.substr(0, end + 1);
    bytes.remove_prefix(line.size());
    out += line;
    if (line.size() > kTail && line.back() == '\n') out += with_sum(line.substr(0, line.size() - 1 - kTail));
  }
  return out;
}

// A folder in memory, where that can be, with one file that changes.
struct JournalFolder {
  JournalFolder() {
    const char* const where = std::getenv("TMPDIR");
    path = std::string(where != nullptr ? where : "/tmp") + "/weft-fuzz-journal-XXXXXX";
    require(::mkdtemp(path.data()) != nullptr, "a temporary folder");
    file = path + "/points-fuzz.jsonl";
  }
  ~JournalFolder() {
    ::unlink(file.c_str());
    ::rmdir(path.c_str());
  }
  JournalFolder(const JournalFolder&) = delete;
  JournalFolder& operator=(const JournalFolder&) = delete;
  std::string path, file;
};

bool use_value(const Json& value) {
  bool used = false;
  if (const auto run = predict::run_point_of(value)) {
    used = true;
    (void)run->result.finding();
    predict::RunFacts facts;
    facts.result = &run->result;
    facts.digest = run->digest;
    facts.worst_link_sharers = run->sharers;
    facts.ideal = run->ideal;
    const Json again = predict::run_point_json(facts);
    const auto back = predict::run_point_of(again);
    require(back && back->result.makespan == run->result.makespan &&
                back->result.warnings == run->result.warnings,
            "a run that is written again says the same");
  }
  if (const auto p = predict::prediction_of(value)) {
    used = true;
    predict::PredictionStudy study;
    study.panels = true;
    const auto back = predict::prediction_of(predict::prediction_json(*p, study));
    require(back && back->prediction.panels.size() == p->prediction.panels.size() &&
                back->prediction.config.n == p->prediction.config.n,
            "a prediction that is written again says the same");
  }
  return used;
}

bool run_journal(std::string_view bytes) {
  static const JournalFolder folder;
  const std::string text = read_twice(bytes);
  std::ofstream(folder.file, std::ios::binary) << text;
  auto opened =
      predict::Journal::open({folder.path}, predict::Journal::Access::kRead, {"weft fuzz", ""}, "1");
  if (!opened) return false;
  predict::Journal& journal = **opened;
  (void)journal.oddities();
  bool used = false;
  std::uint64_t seen = 0;
  constexpr std::string_view kKey = "\"point\":\"";
  for (std::size_t at = 0; (at = text.find(kKey, at)) != std::string::npos; at += kKey.size()) {
    const auto key = predict::PointKey::parse(std::string_view(text).substr(at + kKey.size(), 32));
    if (!key) continue;
    if (const auto value = journal.find(*key)) {
      ++seen;
      used = use_value(*value) || used;
    }
  }
  require(journal.points() == 0 || seen > 0, "a point that is held stands in the file");
  return used;
}

std::string line_of(std::uint64_t key, const Json& value) {
  const Json point{{"point", predict::PointKey{key, 1}.text()}, {"what", "seed"}, {"value", value}};
  std::string line = point.dump();
  line.pop_back();
  return with_sum(line);
}

std::vector<std::string> journal_seeds() {
  const std::string header = with_sum(R"({"weft":"journal/1","command":"weft sweep","shard":"2/3")");
  replay::ReplayResult result;
  result.makespan = Duration(1234567);
  result.fingerprint = 99;
  result.deadlock.blocked = {{RankId(3), 7, "recv", "t:1", {RankId(1)}},
                             {RankId(1), 8, "recv", "t:2", {RankId(3)}}};
  result.deadlock.cycle = {0, 1};
  result.warnings = {"w"};
  predict::RunFacts facts;
  facts.result = &result;
  facts.digest.emplace();
  facts.digest->worst = {LinkId(1), {8, Duration(1), 9, Duration(5)}};
  facts.worst_link_sharers = {true, 2, 3, {{RankId(1), RankId(2), 3}}, 4};
  facts.ideal = Duration(17);
  predict::TimedPrediction p;
  p.prediction.gflops = 1.5;
  p.prediction.error_estimate = std::numeric_limits<double>::infinity();
  p.prediction.panels.resize(2);
  predict::PredictionStudy study;
  study.panels = true;
  return {header + line_of(1, predict::run_point_json(facts)),
          line_of(2, predict::prediction_json(p, study))};
}

}  // namespace

std::vector<Target> journal_targets() {
  return {{"journal",
           journal_seeds,
           {"null", "true", "[]", "{}", "\"nan\"", "\"-inf\"", "\"cycle\":[9]", "\"finished\":false",
            "-9223372036854775808", "18446744073709551615", "\"point\":\"",
            "\"value\":", "\"weft\":\"journal/1\"", "\"sum\":\""},
           300,
           run_journal}};
}

}  // namespace weft::fuzz
