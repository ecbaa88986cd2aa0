// A replay result written by hand: 4 ranks on a crossbar of 1 GB/s and 1 us, 2 ms long.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "predict/run_facts.hpp"

namespace weft::report {

struct HandMade {
  topology::Platform platform;
  replay::ReplayOptions options;
  replay::ReplayResult result;

  static Duration us(double v) { return from_seconds(v * 1e-6); }

  explicit HandMade(const std::string& spec = "crossbar:n=4,bw=8Gbps,lat=1us,speed=10Gflops") {
    auto p = topology::load_platform(spec);
    EXPECT_TRUE(p) << (p ? "" : p.error().message());
    platform = std::move(*p);
    options.raw = replay::RawMode::kEager;
    result.makespan = us(2000);
    result.fingerprint = 0xab;
    for (int r = 0; r < 4; ++r) {
      replay::RankTimes t;
      t.finish = us(2000 - 100 * r);
      t.compute = us(1000);
      t.send = us(100);
      t.recv = us(300 - 100 * r);
      t.wait = us(400);
      t.collective = us(200);
      using replay::Cause;
      t.causes[static_cast<std::size_t>(Cause::kSendOverhead)] = us(20);
      t.causes[static_cast<std::size_t>(Cause::kRecvOverhead)] = us(25);
      t.causes[static_cast<std::size_t>(Cause::kLatency)] = us(5);
      t.causes[static_cast<std::size_t>(Cause::kTransfer)] = us(250);
      t.causes[static_cast<std::size_t>(Cause::kContention)] = us(100);
      t.causes[static_cast<std::size_t>(Cause::kLateSender)] = us(590 - 100 * r);
      t.causes[static_cast<std::size_t>(Cause::kLateReceiver)] = us(10);
      result.ranks.push_back(t);
    }
    result.links.resize(platform.fabric.link_count());
    result.links[0] = {500000, us(700), 2, us(300)};
    result.links[5] = {1000000, us(1100), 3, us(100)};
    result.links[2] = {500000, us(600), 1, us(0)};
    result.network = {10, 1000000, 20, us(20), us(1000), us(400), us(300), us(50)};
    result.point_to_point = {4, 400000, 12, us(8), us(400), us(0), us(100), us(50)};
    result.regions.push_back({"panel, \"k\"", 8, us(3000), false, Duration{0}, Duration{0}, {}});
    result.engine.events = 77;
  }
  // Every rank takes that much longer, for that cause (none: computation).
  void slow(double microseconds, std::optional<replay::Cause> cause) {
    const Duration d = us(microseconds);
    result.makespan += d;
    for (auto& t : result.ranks) {
      t.finish += d;
      (cause ? t.wait : t.compute) += d;
      if (cause) t.causes[static_cast<std::size_t>(*cause)] += d;
    }
  }
  [[nodiscard]] predict::RunFacts facts(const std::string& trace = "t.weft") const {
    predict::RunFacts f;
    f.trace = trace;
    f.map = "block";
    f.routing = std::string(platform.fabric.routing().name());
    f.ranks = static_cast<std::uint32_t>(result.ranks.size());
    f.totals = {40, 4, 400000};
    f.platform = &platform;
    f.options = &options;
    f.result = &result;
    f.wall_s = 0.25;
    f.peak_rss_bytes = 4096;
    return f;
  }
};

}  // namespace weft::report
