// Which HPL run: an HPL.dat, or its lines as flags, or both (a flag replaces the file's line). Shared by the verbs
// that deal with HPL.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "hpl_gen/hpl_dat.hpp"
#include "hpl_gen/hpl_trace.hpp"
#include "predict/hpl_choices.hpp"

namespace weft::cli {

struct HplFlags {
  std::string dat;  // path of an HPL.dat; empty = the defaults
  // As typed; empty = not given. Lists are joined by commas, names or HPL's numbers.
  std::string n, nb, p, q, pmap, pfact, nbmin, ndiv, rfact, bcast, depth, swap, swap_threshold, l1, u, equil,
      align, threshold;
  std::string program, split, local_p, local_q, device_memory;
  std::string pivots = "random";
  std::optional<std::int64_t> matrix_seed;  // none: HPL's
};

// `for_platform`: hpl_dat_for() completes what is not given, so that defaults are others.
void add_hpl_flags(CLI::App& app, HplFlags& flags, bool for_platform = false);
// The file with the flags on top. Errors: kBadInput (file), kUsage (flag).
[[nodiscard]] Result<hpl_gen::HplDat> hpl_dat_of(const HplFlags& flags);
// The same, completed for a platform: N (also where it is "auto"), NB and the grid are chosen where neither file nor
// flag says them; of --p or --q alone, without a file, the other is what is left of all ranks. `map` and `seed` place
// the ranks.
[[nodiscard]] Result<predict::ChosenDat> hpl_dat_for(const HplFlags& flags,
                                                     const topology::Platform& platform, std::string_view map,
                                                     std::uint64_t seed);
// kUsage where --split is given and none of the grids, all that a verb runs on, has two process rows: with one nothing is split.
[[nodiscard]] Result<void> check_split(const HplFlags& flags, std::span<const hpl_gen::Grid> grids);
// --pivots and --matrix-seed; `seed` is the common --seed. Errors: kUsage, with the known ways.
[[nodiscard]] Result<void> set_pivots(const HplFlags& flags, std::uint64_t seed,
                                      hpl_gen::HplTraceOptions& options);
// What the trace that recorded pivots are from does not hold.
[[nodiscard]] std::vector<std::string> pivot_warnings(const hpl_gen::HplTraceOptions& options);

}  // namespace weft::cli
