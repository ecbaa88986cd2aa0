// --report FILE of a verb, and -o of `weft report`: the page to look at (report/html).
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/verb.hpp"
#include "report/html/page.hpp"

namespace weft::cli {

class ReportFlag {
 public:
  // `flags`: as the verb calls it. `common` must live as long as this.
  CLI::Option* add(CLI::App& app, CommonOptions& common, const std::string& flags = "--report");
  [[nodiscard]] bool wanted() const { return !path_.empty(); }
  // Writes the page, with the command that it was made by.
  [[nodiscard]] Result<void> write(report::Page page) const;

 private:
  CommonOptions* common_ = nullptr;
  std::string flag_, path_;
};

}  // namespace weft::cli
