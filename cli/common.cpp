#include <fmt/format.h>

#include <cstdio>

#include "cli/verb.hpp"
#include "core/atomic_file.hpp"

namespace weft::cli {

ProgressMode CommonOptions::progress_mode() const {
  if (quiet || progress == "off") return ProgressMode::kOff;
  return progress == "on" ? ProgressMode::kOn : ProgressMode::kAuto;
}

void CommonOptions::print(const std::string& text) const {
  if (quiet || json == "-" || csv == "-") return;
  std::fwrite(text.data(), 1, text.size(), stdout);
}

Result<void> CommonOptions::write_json(const std::string& text) const {
  if (json.empty()) return {};
  return write_output(json, text);
}

Result<void> CommonOptions::write_csv(const std::string& text) const {
  if (csv.empty()) return {};
  return write_output(csv, text);
}

void add_common(CLI::App& app, CommonOptions& common) {
  app.add_option("--json", common.json, "write JSON to FILE (- = stdout)")->type_name("FILE");
  app.add_option("--csv", common.csv, "write CSV to FILE (- = stdout)")->type_name("FILE");
  app.add_flag("--quiet", common.quiet, "no text output");
  app.add_option("--progress", common.progress, "auto: on a terminal, after 2 s")
      ->check(CLI::IsMember({"auto", "on", "off"}))
      ->type_name("auto|on|off");
  app.add_option("--seed", common.seed, "seed of everything random [0]")->type_name("N");
  app.add_option("--threads", common.threads, "worker threads; the result does not depend on it [1]")
      ->check(CLI::Range(1u, 1024u))
      ->type_name("N");
}

}  // namespace weft::cli
