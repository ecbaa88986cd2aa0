// Copies between accelerators and hosts that go over links, in tests about something else.
#pragma once

#include <string>

#include "tests/support/memory_trace.hpp"
#include "topology/platform/platform.hpp"
#include "traces/kernel.hpp"

namespace weft::testing {

// `spec` with such copies: a PCIe tree with mem=on.
inline topology::Platform with_link_copies(const std::string& spec) {
  auto p = topology::load_platform(spec).value();
  for (const char* const kernel : {"copy_to_host", "copy_to_device"}) {
    topology::KernelCost c;
    c.kernel = kernel;
    c.where = spec;
    c.over_links = true;
    p.compute.classes[0].kernels.push_back(c);
  }
  return p;
}

// `bytes`, a multiple of 8, one way, or so many each way.
inline void copy_over_links(MemoryTrace& t, std::uint32_t rank, traces::Kernel kernel, std::int64_t bytes,
                            bool both_ways = false) {
  t.add(rank, {.kind = traces::OpKind::compute_kernel},
        {static_cast<std::int64_t>(kernel), bytes / 8, 1, both_ways ? 2 : 1});
}
inline void launch_over_links(MemoryTrace& t, std::uint32_t rank, traces::Kernel kernel, std::int64_t bytes,
                              std::uint32_t request) {
  t.add(rank, {.kind = traces::OpKind::launch, .request = request},
        {static_cast<std::int64_t>(kernel), bytes / 8, 1, 1});
}

}  // namespace weft::testing
