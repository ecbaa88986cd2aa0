// What to know beside predictions of HPL on a platform, whatever made them: a replay, closed forms, a search.
#pragma once

#include <string>
#include <vector>

#include "hpl_gen/hpl_dat.hpp"
#include "predict/hpl_prediction.hpp"
#include "topology/platform/platform.hpp"

namespace weft::predict {

// One sentence each, for `configs` together:
//  - what the platform does not say of the kernels of a program on accelerators, which then cost what others do
//    or nothing;
//  - that it gives no speed and no dgemm;
//  - where widths of blocks are compared, that its dgemm is as fast at each, so that the smallest looks best;
//  - a matrix that does not fit (memory_warnings());
//  - noise that is asked for and not there;
//  - what the placements of the ranks note.
[[nodiscard]] std::vector<std::string> hpl_warnings(const topology::Platform& platform,
                                                    const std::vector<hpl_gen::HplConfig>& configs,
                                                    const PredictOptions& options);

// predict::assumed_of() of runs of HPL.
[[nodiscard]] std::vector<std::string> hpl_assumed(const topology::Platform& platform);

// Whether another seed gives `configs` other rates: pivots are drawn, kernels vary or the placement is random.
[[nodiscard]] bool is_drawn(const topology::Platform& platform,
                            const std::vector<hpl_gen::HplConfig>& configs, const PredictOptions& options);

}  // namespace weft::predict
