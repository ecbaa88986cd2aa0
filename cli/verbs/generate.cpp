// weft generate KIND ... -o T.weft: synthetic traces.
#include "cli/verbs/generate.hpp"

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/summary.hpp"
#include "cli/verbs/generate_pattern.hpp"
#include "core/counted.hpp"
#include "core/quantity_text.hpp"
#include "core/suggest.hpp"
#include "traces/weft/copy.hpp"

namespace weft::cli {

Result<void> write_generated(traces::TraceReader& trace, const std::string& kind, const std::string& path,
                             const CommonOptions& common) {
  const auto start = std::chrono::steady_clock::now();
  Progress progress(common.progress_mode(), "generate", 0, "ops");
  WEFT_ASSIGN(const std::uint64_t size,
              traces::copy_to_weft(trace, path, [&](std::uint64_t done) { progress.update(done); }));
  progress.finish();
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto& t = trace.totals();
  const auto ops = static_cast<double>(t.ops);
  std::string text =
      fmt::format("{}: {}, {}, {}, {}; file {}, {} ops/s\n", path, counted(trace.header().ranks, "rank"),
                  counted(t.ops, "op"), counted(t.messages, "message"), show_bytes(t.bytes), show_bytes(size),
                  show_count(ops / std::max(wall, 1e-9)));
  for (const auto& n : trace.header().notes) text += "note: " + n + "\n";
  common.print(text);
  const nlohmann::ordered_json j = {{"schema", "weft.generate/1"},
                                    {"kind", kind},
                                    {"output", path},
                                    {"ranks", trace.header().ranks},
                                    {"ops", t.ops},
                                    {"messages", t.messages},
                                    {"bytes", t.bytes},
                                    {"file_bytes", size},
                                    {"notes", trace.header().notes},
                                    {"engine", {{"wall_s", wall}}}};
  return write_summary(common, j);
}

}  // namespace weft::cli

namespace weft::cli::verb_generate {

Action setup(CLI::App& app) {
  auto actions = std::make_shared<std::map<const CLI::App*, Action>>();
  std::vector<std::string> known;
#define WEFT_GENERATOR(id, name, summary)              \
  {                                                    \
    CLI::App* sub = app.add_subcommand(name, summary); \
    (*actions)[sub] = generator_##id::setup(*sub);     \
    known.emplace_back(name);                          \
  }
#include "cli/verbs/generators.def"
#undef WEFT_GENERATOR
  std::vector<std::pair<const CLI::App*, Action>> patterns;
  add_pattern_commands(app, patterns);
  for (auto& [sub, action] : patterns) {
    known.push_back(sub->get_name());
    (*actions)[sub] = std::move(action);
  }
  app.allow_extras();
  return [&app, actions, known](const std::vector<std::string>& words) -> Result<void> {
    for (const auto& [sub, action] : *actions)
      if (sub->parsed()) return action(words);
    const auto rest = app.remaining();
    const std::string kind = rest.empty() ? "" : rest.front();
    return usage_error("generate: which kind of trace?", kind, one_of(kind, known));
  };
}

}  // namespace weft::cli::verb_generate
