// weft compare T... --on P...: every trace x platform x routing x map, ranked.
#include <memory>

#include "cli/flags/comparison.hpp"

namespace weft::cli::verb_compare {

Action setup(CLI::App& app) {
  auto o = std::make_shared<Comparison>();
  o->add(app);
  o->journal.add(app);
  o->report.add(app, o->common);
  add_common(app, o->common);
  return with_outputs(o->common, [o] { return o->run("compare"); });
}

}  // namespace weft::cli::verb_compare
