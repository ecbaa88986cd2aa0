// weft generate hpl: a run of High-Performance Linpack.
#include <memory>

#include "cli/flags/hpl_flags.hpp"
#include "cli/verbs/generate.hpp"

namespace weft::cli::generator_hpl {
namespace {

struct GenerateHplOptions {
  CommonOptions common;
  HplFlags hpl;
  std::string output;
};

Result<void> generate_hpl(const GenerateHplOptions& o) {
  WEFT_ASSIGN(const auto dat, hpl_dat_of(o.hpl));
  WEFT_TRY(check_split(o.hpl, dat.grids));
  hpl_gen::HplTraceOptions options;
  WEFT_TRY(set_pivots(o.hpl, o.common.seed, options));
  WEFT_ASSIGN(const auto trace, hpl_gen::HplTrace::create(dat, options));
  return write_generated(*trace, "hpl", o.output, o.common);
}

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<GenerateHplOptions>();
  add_common(app, o->common);
  add_hpl_flags(app, o->hpl);
  add_trace_output(app, o->common, o->output, "the .weft file to write (- = stdout)");
  return with_outputs(o->common, [o] { return generate_hpl(*o); });
}

}  // namespace weft::cli::generator_hpl
