// ComputeModel: what computation costs on the hosts of a platform, as its file says it (Kernel, HostGroup, Device and
// Host in platform.proto). Data only: replay/kernel_time.hpp turns it into times, and knows which kernels exist.
//
// Hosts that compute alike share one ComputeClass; a class may be one socket of one host. Equations: docs/kernels.md.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/id.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "topology/platform/kernel_polynomial.hpp"
#include "topology/sockets.hpp"

namespace weft::topology {

// Calls by their dimensions, ends included.
struct ShapeBounds {
  static constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();
  struct Range {
    std::int64_t from = 0, to = kUnbounded;
    bool operator==(const Range&) const = default;
    [[nodiscard]] bool holds(std::int64_t v) const { return from <= v && v <= to; }
  };
  Range m, n, k;

  bool operator==(const ShapeBounds&) const = default;
  [[nodiscard]] bool all() const { return *this == ShapeBounds(); }
  [[nodiscard]] bool hold(std::int64_t vm, std::int64_t vn, std::int64_t vk) const {
    return m.holds(vm) && n.holds(vn) && k.holds(vk);
  }
};

// Whether the largest calls within `bounds`, of 10^6 in each dimension without them, take less than no time: terms below
// zero may correct a cost, not outgrow it. `more(m, n, k)`: seconds beside the polynomial.
template <class More>
[[nodiscard]] bool falls_below_zero(const KernelPolynomial& p, const ShapeBounds& bounds, More more) {
  const auto top = [](const ShapeBounds::Range& r) {
    return static_cast<double>(r.to == ShapeBounds::kUnbounded ? std::max<std::int64_t>(r.from, 1000000)
                                                               : r.to);
  };
  const double m = top(bounds.m), n = top(bounds.n), k = top(bounds.k);
  return p(m, n, k) + more(m, n, k) < 0;
}

// Cost of one call: its polynomial plus work, in seconds.
struct KernelCost {
  std::string kernel;  // "*": every kernel without an entry of its own
  std::string where;   // of the entry, for errors
  ShapeBounds bounds;  // of several entries of a kernel the first that holds a call is its cost
  KernelPolynomial polynomial;
  double rate = 0;        // flop/s; 0 = flops cost nothing beyond the polynomial
  double efficiency = 0;  // what the rate is of the host's speed, where it was given so; else 0
  double bandwidth = 0;   // bytes/s of one rank; 0 = bytes cost nothing
  // Standard deviation of a call: a polynomial plus noise*t.
  KernelPolynomial noise_polynomial;
  double noise = 0;
  bool on_device = false;
  bool over_links = false;                          // a copy whose bytes cross the PCIe tree, no duration
  double moved_mn = 0, moved_mk = 0, moved_nk = 0;  // operands over the device's link, in times their size
};

// Hosts (or sockets) that compute alike.
struct ComputeClass {
  double speed = 0;     // flop/s of a rank
  double slowdown = 1;  // multiplies every time
  double headroom = 1;  // how much faster it computes at most, where there is a power budget
  std::vector<KernelCost> kernels;
};

// Of a CPU whose cores share it (PowerBudget in platform.proto).
struct PowerBudget {
  double waiting = 1;  // power of a core that waits, of that of one that computes; 1: nothing is gained
  double time = 1;     // seconds that power is averaged over
  // Cores compute faster where others wait.
  [[nodiscard]] bool varies() const { return waiting < 1; }
};

struct DeviceLink {
  double bandwidth = 0;  // bytes/s of one device when all that share the link use it; 0 = there is no device
  double latency = 0;    // seconds per call that moves something
  bool overlap = false;
};

// What --noise is told where no kernel varies.
inline constexpr const char* kNoNoise =
    "the platform does not say how much its kernels vary: --noise changes nothing";

struct ComputeModel {
  std::vector<ComputeClass> classes;    // [0]: hosts that no group names
  std::vector<std::uint32_t> class_of;  // by host * sockets + socket; empty = all are of class 0
  std::uint32_t sockets = 1;
  bool cyclic_sockets = false;  // SocketRule::cyclic
  bool sum_roofline = false;    // flops and bytes take their sum, not the larger
  bool normal_noise = false;    // else half-normal
  DeviceLink device;
  PowerBudget power;
  double memory_bandwidth = 0;    // bytes/s of a whole host; 0 = not said
  std::int64_t memory_bytes = 0;  // of a host; 0 = not said

  // True if calls of some kernel vary.
  [[nodiscard]] bool has_noise() const {
    for (const ComputeClass& c : classes)
      for (const KernelCost& k : c.kernels)
        if (k.noise != 0 || k.noise_polynomial != KernelPolynomial()) return true;
    return false;
  }
  // True if some kernel has a model; without one, times are flops / speed.
  [[nodiscard]] bool has_kernels() const {
    for (const ComputeClass& c : classes)
      if (!c.kernels.empty()) return true;
    return false;
  }
  // The least and the most headroom of a host or socket.
  [[nodiscard]] std::pair<double, double> headrooms() const {
    if (class_of.empty()) return {classes[0].headroom, classes[0].headroom};
    std::pair<double, double> out{std::numeric_limits<double>::infinity(), 0};
    for (const std::uint32_t c : class_of) {
      out.first = std::min(out.first, classes[c].headroom);
      out.second = std::max(out.second, classes[c].headroom);
    }
    return out;
  }
  [[nodiscard]] SocketRule socket_rule() const { return {sockets, cyclic_sockets}; }
  // Class of the `local`-th of `ranks` ranks on `host`.
  [[nodiscard]] std::uint32_t class_index(HostId host, std::uint32_t local, std::uint32_t ranks) const {
    if (class_of.empty()) return 0;
    return class_of[std::size_t{host.index()} * sockets + socket_rule().of(local, ranks)];
  }
};

}  // namespace weft::topology
