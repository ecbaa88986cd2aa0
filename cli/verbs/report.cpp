// weft report T... --on P... -o FILE: a comparison as a page to look at.
#include <memory>

#include "cli/flags/comparison.hpp"

namespace weft::cli::verb_report {

Action setup(CLI::App& app) {
  auto o = std::make_shared<Comparison>();
  o->add(app);
  o->report.add(app, o->common, "-o,--output")->required();
  add_common(app, o->common);
  return with_outputs(o->common, [o] { return o->run("report"); });
}

}  // namespace weft::cli::verb_report
