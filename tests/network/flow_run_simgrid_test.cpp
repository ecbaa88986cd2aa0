// Finish times of random flows against SimGrid 3.32 (CM02 without factors, network/optim Full, precision
// 1e-12), on SimGrid's own routes. Recorded offline: tests/oracle/data.
#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>

#include "core/rng.hpp"
#include "network/flow_run.hpp"
#include "tests/support/checkout.hpp"
#include "topology/platform/platform.hpp"
#include "topology/routing/route_cache.hpp"

namespace weft::network {
namespace {

// Every file of the archive, by base name.
std::map<std::string, std::string> read_archive(const std::string& path) {
  std::map<std::string, std::string> files;
  archive* a = archive_read_new();
  archive_read_support_filter_zstd(a);
  archive_read_support_format_tar(a);
  if (archive_read_open_filename(a, path.c_str(), 1 << 16) == ARCHIVE_OK) {
    archive_entry* entry = nullptr;
    while (archive_read_next_header(a, &entry) == ARCHIVE_OK) {
      std::string text(static_cast<std::size_t>(archive_entry_size(entry)), '\0');
      if (!text.empty()) (void)archive_read_data(a, text.data(), text.size());
      files[std::filesystem::path(archive_entry_pathname(entry)).filename().string()] = std::move(text);
    }
  }
  archive_read_free(a);
  return files;
}

struct Recording {
  const char* file;      // in flows_finish.tar.zst
  const char* platform;  // routes file
  const char* latency;
  std::uint32_t flows;
  bool rtt;
};

class SimGridFlows : public ::testing::TestWithParam<Recording> {};

TEST_P(SimGridFlows, FinishTimesAgreeTo1em9OrTwoTicks) {
  const Recording& r = GetParam();
  const std::string archive = support::oracle_dir() + "/flows_finish.tar.zst";
  const std::string routes_path = support::oracle_dir() + "/routes/" + r.platform + ".txt.zst";
  const auto files = read_archive(archive);
  ASSERT_TRUE(files.contains(r.file));

  auto platform = topology::load_platform(fmt::format("routes:path={},lat={}", routes_path, r.latency));
  ASSERT_TRUE(platform.has_value()) << platform.error().message();
  const topology::Fabric& fabric = platform->fabric;
  for (const char* model : {"max-min", "max-min-component"}) {
    auto made = FlowRun::create(model, fabric.links().capacity);
    ASSERT_TRUE(made.has_value());
    FlowRun run = std::move(made).value();
    topology::RouteCache routes(fabric);
    Rng rng(1);
    const std::uint32_t n = fabric.host_count();
    for (std::uint32_t i = 0; i < r.flows; ++i) {
      const auto s = static_cast<std::uint32_t>(rng.next() % n);
      auto d = static_cast<std::uint32_t>(rng.next() % (n - 1));
      if (d >= s) ++d;
      const auto bytes = static_cast<std::int64_t>(1000000 + rng.next() % 9000001);
      const auto route = routes.find(HostId(s), HostId(d));
      ASSERT_TRUE(route.reachable);
      run.add(route.links, Bytes(bytes), kTimeZero, route.latency, r.rtt ? rtt_weight(route.latency) : 1.0);
    }
    ASSERT_TRUE(run.run(false).has_value());

    std::istringstream lines(files.at(r.file));
    std::uint32_t flow = 0;
    double want = 0;
    double worst = 0;
    double worst_s = 0;
    std::uint32_t off = 0;
    std::uint32_t read = 0;
    while (lines >> flow >> want) {
      const double difference = std::abs(to_seconds(run.finish(flow)) - want);
      worst = std::max(worst, difference / want);
      worst_s = std::max(worst_s, difference);
      // Instants are whole picoseconds here and doubles there: a tick of 1e-4 s is 1e-8 of it.
      off += difference > std::max(1e-9 * want, 2e-12);
      ++read;
    }
    EXPECT_EQ(read, r.flows);
    EXPECT_EQ(off, 0u) << r.file << " " << model;
    const auto& s = run.stats();
    fmt::print("{} {}: largest difference {:.1e} relative, {:.2f} ps; {} solves, {:.1f} flows a solve\n",
               r.file, model, worst, worst_s * 1e12, s.solves,
               static_cast<double>(s.flows_solved) / static_cast<double>(s.solves));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Recorded, SimGridFlows,
    ::testing::Values(Recording{"crossbar_lat0_F1000_seed1.txt", "crossbar", "0s", 1000, false},
                      Recording{"crossbar_lat1us_F1000_seed1.txt", "crossbar", "1us", 1000, false},
                      Recording{"fattree_lat0_F1000_seed1.txt", "fattree", "0s", 1000, false},
                      Recording{"fattree_lat0_F3000_seed1.txt", "fattree", "0s", 3000, false},
                      Recording{"fattree_taper_lat0_F1000_seed1.txt", "fattree_taper", "0s", 1000, false},
                      Recording{"dragonfly_lat0_F1000_seed1.txt", "dragonfly", "0s", 1000, false},
                      Recording{"torus_lat0_F1000_seed1.txt", "torus", "0s", 1000, false},
                      Recording{"fattree_lat1us_F1000_seed1.txt", "fattree", "1us", 1000, true},
                      Recording{"fattree_taper_lat1us_F1000_seed1.txt", "fattree_taper", "1us", 1000, true},
                      Recording{"dragonfly_lat1us_F1000_seed1.txt", "dragonfly", "1us", 1000, true},
                      Recording{"torus_lat1us_F1000_seed1.txt", "torus", "1us", 1000, true}),
    [](const auto& recording) {
      std::string name = recording.param.file;
      return name.substr(0, name.find("_seed1"));
    });

}  // namespace
}  // namespace weft::network
