#include "cli/flags/matrix_flags.hpp"

#include <set>
#include <string_view>

#include "cli/flags/values.hpp"
#include "topology/placement/placement.hpp"

namespace weft::cli {

void MatrixFlags::add(CLI::App& app) {
  app.add_option("TRACE", traces, "traces, one file or folder each")->required();
  app.add_option("--on", on, "platform; give the flag once for each")
      ->type_name("PLATFORM")
      ->required()
      ->allow_extra_args(false);
  app.add_option(
         "--map", maps,
         with_default("placement, once for each: " + std::string(topology::kMaps), topology::kDefaultMap))
      ->type_name("MAP")
      ->allow_extra_args(false);
  app.add_flag(
      "--critical-path", critical_path,
      "say why by the critical paths: the parts of each makespan, and of the differences, to which they "
      "add up");
  app.add_flag(
      "--verify", verify,
      "every run checks itself, by accounts of its own: rates, bytes, matching and the order of events, "
      "as replay --verify does");
}

const std::string* given_twice(const std::vector<std::string>& all) {
  std::set<std::string_view> seen;
  for (const std::string& one : all)
    if (!seen.insert(one).second) return &one;
  return nullptr;
}

Result<predict::MatrixRequest> matrix_request(const MatrixFlags& matrix, const ReplayFlags& flags,
                                              const CommonOptions& common, const ReplayFlags& told) {
  if (const std::string* twice = given_twice(matrix.traces))
    return usage_error("a trace twice", *twice, "each trace once");
  if (const std::string* twice = given_twice(matrix.maps))
    return usage_error("--map twice", *twice, "each map once");
  predict::MatrixRequest r;
  r.traces = matrix.traces;
  r.maps = matrix.maps;
  r.format = flags.from;
  WEFT_ASSIGN(r.options, flags.options(common.seed));
  r.options.critical_path = matrix.critical_path;
  r.verify = matrix.verify;
  r.kept = predict::KeptOfRuns::kDigest;
  r.seed = common.seed;
  r.threads = common.threads;
  r.changes = told.told(common.seed);
  r.on_fewer_threads = tell_fewer_threads;
  return r;
}

Result<void> run_with_progress(predict::MatrixRequest request, const char* label, const CommonOptions& common,
                               predict::Matrix& out) {
  Progress progress(common.progress_mode(), label, 0, "ops");
  request.on_progress = [&](std::uint64_t done, std::uint64_t total) {
    progress.expect(total);
    progress.update(done);
  };
  auto done = predict::run_matrix(request, out);
  progress.finish();
  return done;
}

}  // namespace weft::cli
