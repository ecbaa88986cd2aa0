#include "cli/flags/report_flag.hpp"

namespace weft::cli {

CLI::Option* ReportFlag::add(CLI::App& app, CommonOptions& common, const std::string& flags) {
  common_ = &common;
  flag_ = flags.substr(flags.rfind(',') + 1);
  return add_output(app, common, flags, path_,
                    "write a page to look at to FILE: one HTML file that needs no network (- = stdout)");
}

Result<void> ReportFlag::write(report::Page page) const {
  page.command = common_->command;
  page.version = WEFT_VERSION;
  return common_->outputs->write(flag_, report::page_html(page));
}

}  // namespace weft::cli
