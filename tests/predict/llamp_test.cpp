// Makespan, slope and latency tolerance against LLAMP's linear programs (tests/oracle/data/llamp; SOURCE.txt says how they
// were solved). Its model is Weft's without contention: o at either end, a latency, s G a message.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "predict/sensitivity.hpp"
#include "tests/replay/microseconds.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/needs.hpp"
#include "traces/formats.hpp"

namespace weft::predict::llamp_test {
namespace {

constexpr double kNanosecond = 1000;  // in picoseconds
constexpr double kBaseLatency = 2505;

struct Program {
  std::string path;
  topology::Platform platform =
      topology::load_platform("crossbar:n=8,bw=200MB/s,lat=0").value();  // G = 5 ns a byte
  replay::ReplayOptions options;

  explicit Program(std::string file) : path(std::move(file)) {
    platform.mpi.send_overhead = platform.mpi.recv_overhead = Duration(1'500'000);
    platform.mpi.eager_limit = Bytes(1'000'000'000);
    options.model = "contention-free";
  }
  [[nodiscard]] Result<std::unique_ptr<traces::TraceReader>> open() const {
    return traces::open_trace({path});
  }
  [[nodiscard]] replay::ReplayResult at(double latency_ns) const {
    auto o = options;
    o.critical_path = true;
    o.what_if.latency = Duration(std::llround(latency_ns * kNanosecond));
    auto trace = open();
    EXPECT_TRUE(trace) << (trace ? "" : trace.error().message());
    return replay::replayed(**trace, platform, o);
  }
  // The largest latency, the base's included, within `ratio` of the makespan at kBaseLatency.
  [[nodiscard]] double buffer(double ratio) const {
    Program from_base(path);
    from_base.platform = topology::load_platform("crossbar:n=8,bw=200MB/s,lat=1252.5ns").value();
    from_base.platform.mpi = platform.mpi;
    const auto base = from_base.at(0);
    const std::vector<HostId> placement = testing::first_hosts(static_cast<std::uint32_t>(base.ranks.size()));
    const auto found = tolerance_of(
        {from_base.platform, placement, from_base.options, base, [&] { return from_base.open(); }}, ratio);
    EXPECT_TRUE(found && found->latency);
    return found && found->latency ? kBaseLatency + static_cast<double>(found->latency->count()) / kNanosecond
                                   : 0;
  }
};

struct Compared {
  std::size_t times = 0, tolerances = 0;
};
// The answers on programs of `folder`: those on LLAMP's own, or all others.
Compared compare(const std::string& folder, bool own) {
  Compared n;
  std::ifstream in(support::oracle_dir() + "/llamp/answers.tsv");
  EXPECT_TRUE(in);
  for (std::string line; std::getline(in, line);) {
    SCOPED_TRACE(line);
    std::istringstream words(line);
    std::string name, what;
    double x = 0, answer = 0, slope = 0;
    EXPECT_TRUE(words >> name >> what >> x >> answer);
    if ((name == "blocking") != own) continue;
    const Program program(folder + name + ".goal");
    if (what == "buffer") {
      EXPECT_NEAR(program.buffer(x), answer, 2e-3);
      ++n.tolerances;
      continue;
    }
    EXPECT_TRUE(what == "at" && words >> slope);
    const auto r = program.at(x);
    EXPECT_NEAR(static_cast<double>(r.makespan.count()) / kNanosecond, answer, 1e-3);
    EXPECT_EQ(static_cast<double>(r.path.trips), slope);
    ++n.times;
  }
  return n;
}

TEST(Llamp, GivesRandomProgramsTheSameTimesSlopesAndTolerances) {
  const Compared n = compare(support::oracle_dir() + "/llamp/", false);
  EXPECT_EQ(n.times, 80u);
  EXPECT_EQ(n.tolerances, 24u);
}

TEST(Llamp, GivesItsBlockingGraphTheSameTimesSlopesAndTolerances) {
  const std::string folder = support::shared_dir() + "/traces/goal_samples/llamp/";
  WEFT_NEEDS(std::ifstream(folder + "blocking.goal"), folder << " is not here");
  const Compared n = compare(folder, true);
  EXPECT_EQ(n.times, 10u);
  EXPECT_EQ(n.tolerances, 3u);
}

}  // namespace
}  // namespace weft::predict::llamp_test
