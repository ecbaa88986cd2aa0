// What a rank of HPL computes at best: efficiencies and the roofline are shares of it, of all ranks that the run's hosts
// hold, whether it uses them or not.
//
// It is the speed that the platform gives. Where it gives none but has a dgemm of its own, the default speed means
// nothing: then it is the rate of that dgemm, in an update of 10^6 rows and columns or the run's first, whichever is
// faster. (An entry that is a share of the speed is no rate of its own.)
#pragma once

#include <span>
#include <string>
#include <vector>

#include "hpl_gen/hpl_dat.hpp"
#include "replay/kernel_time.hpp"
#include "topology/platform/platform.hpp"
#include "traces/kernel.hpp"

namespace weft::predict {

// Of the update: an accelerator's, or the host's.
[[nodiscard]] traces::Kernel dgemm_of(const hpl_gen::HplConfig& config);

// Whether the entry that the run's dgemm takes, its own, that of the kernel that it is a kind of or that of all others, is
// not of the speed.
[[nodiscard]] bool has_dgemm(const topology::ComputeClass& c, const hpl_gen::HplConfig& config);

class HplPeak {
 public:
  // `platform` and `clock`, which is the platform's, outlive it.
  HplPeak(const topology::Platform& platform, const replay::KernelClock& clock,
          const hpl_gen::HplConfig& config);
  // flop/s of a rank on `host`, mean over all that fit there.
  [[nodiscard]] double rank(HostId host) const;
  // ... of all that fit on these hosts.
  [[nodiscard]] double on(std::span<const HostId> hosts) const;

 private:
  const topology::Platform* platform_;
  const replay::KernelClock* clock_;
  std::vector<double> of_dgemm_;  // by class; 0 = the speed counts. Empty: it does everywhere
};

// Each host of a placement once, in their order.
[[nodiscard]] std::vector<HostId> hosts_of(const std::vector<HostId>& placement);

// That the peak is a dgemm's, or that a speed that was given is less than the platform's dgemm does, so that a run may
// be more efficient than 100 %. With the figures of the class and the NB where that is most.
[[nodiscard]] std::vector<std::string> peak_warnings(const topology::Platform& platform,
                                                     const std::vector<hpl_gen::HplConfig>& configs);

}  // namespace weft::predict
