// Replays to ask about: what they depend on, what their paths are made of.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "predict/sensitivity.hpp"
#include "tests/replay/microseconds.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::predict {

// A trace in memory, replayed as often as it is asked for.
struct Asked {
  testing::MemoryTrace trace;
  topology::Platform platform;
  replay::ReplayOptions options;
  std::vector<HostId> placement;
  replay::ReplayResult base;

  Asked(testing::MemoryTrace t, topology::Platform p, const std::string& model = "contention-free")
      : trace(std::move(t)), platform(std::move(p)), placement(testing::first_hosts(trace.header().ranks)) {
    options.model = model;
    base = at(Duration(0));
  }
  replay::ReplayResult at(Duration latency) {
    auto o = options;
    o.critical_path = true;
    o.what_if.latency = latency;
    trace.rewind();
    return replay::replayed(trace, platform, o);
  }
  Question question() {
    return {platform, placement, options, base, [this]() -> Result<std::unique_ptr<traces::TraceReader>> {
              auto copy = std::make_unique<testing::MemoryTrace>(trace);
              copy->rewind();
              return std::unique_ptr<traces::TraceReader>(std::move(copy));
            }};
  }
};

}  // namespace weft::predict
