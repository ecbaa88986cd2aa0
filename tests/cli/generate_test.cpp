// generate, several jobs, compare on many threads and the place of a flip, through the built program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "tests/cli/run_weft.hpp"
#include "traces/formats.hpp"
#include "traces/weft/writer.hpp"

namespace weft::testing::generate_test {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

TEST(Generate, EveryPatternWritesATraceThatTheDoctorPasses) {
  const Workspace w;
  for (const char* line :
       {"halo --dims 3x3 --periodic", "stencil --dims 4x2", "alltoall --ranks 5 --how spread",
        "collective --ranks 6 --op bcast --root 2", "ring --ranks 4", "permutation --ranks 8",
        "random --ranks 8 --messages 20", "neighbor --ranks 6", "fft --grid 2x3 --cells 12x12x12",
        "sweep --grid 2x2 --angles 4 --groups 2"}) {
    const Outcome made = w.weft("generate " + std::string(line) + " -o t.weft --seed 4");
    ASSERT_EQ(made.exit_code, 0) << line << made.err;
    const Outcome checked = w.weft("check t.weft");
    EXPECT_EQ(checked.exit_code, 0) << line << checked.out;
  }
}

TEST(Generate, TheSameSeedMakesTheSameFileAndMistakesAreUsageErrors) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate random --ranks 8 -o a.weft --seed 4").exit_code, 0);
  ASSERT_EQ(w.weft("generate random --ranks 8 -o b.weft --seed 4").exit_code, 0);
  ASSERT_EQ(w.weft("generate random --ranks 8 -o c.weft --seed 5").exit_code, 0);
  EXPECT_EQ(w.read("a.weft"), w.read("b.weft"));
  EXPECT_NE(w.read("a.weft"), w.read("c.weft"));
  const Outcome unknown = w.weft("generate gossip -o d.weft");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("halo"));
  EXPECT_EQ(w.weft("generate ring --ranks 1 -o d.weft").exit_code, 2);
  EXPECT_EQ(w.weft("generate ring --ranks 4 --bytes 12 -o d.weft").exit_code, 2);
}

TEST(SeveralJobs, AreToldTheirSlowdownAgainstTheSameHostsAlone) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate permutation --ranks 4 --bytes 10MB --iterations 4 -o a.weft").exit_code, 0);
  // Two leaves joined by two cables; both jobs cross, each direction of a cable is shared by 2 + 2 flows.
  const std::string on = " --on xgft:h=2,m=4x2,w=1x2,bw=8Gbps,lat=0";
  const Outcome r = w.weft("replay a.weft --with a.weft --map strided:2 --json -" + on);
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const Json j = Json::parse(r.out);
  ASSERT_EQ(j["jobs"].size(), 2u);
  for (const Json& job : j["jobs"]) {
    EXPECT_EQ(job["ranks"], 4);
    EXPECT_EQ(job["hosts"], 4);
    EXPECT_GE(job["slowdown"].get<double>(), 1.0);
    EXPECT_NEAR(job["slowdown"].get<double>(), job["makespan_s"].get<double>() / job["alone_s"].get<double>(),
                1e-12);
  }
  EXPECT_EQ(j["trace"]["ranks"], 8);
  // One thread or three: the same answer, apart from what the engine says of this machine.
  Json parallel =
      Json::parse(w.weft("replay a.weft --with a.weft --map strided:2 --threads 3 --json -" + on).out);
  Json serial = j;
  serial.erase("engine");
  parallel.erase("engine");
  EXPECT_EQ(serial, parallel);
  EXPECT_EQ(w.weft("replay a.weft --with a.weft --on crossbar:n=7").exit_code, 3) << "no room for both";
  EXPECT_EQ(
      w.weft("replay a.weft --with a.weft --with-map block --with-map block --on crossbar:n=8").exit_code, 2);
}

TEST(SeveralJobs, AreToldAllTheLinksThatTheyShareWhereAllLinksAreAskedFor) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate alltoall --ranks 16 --bytes 10kB --iterations 1 -o a.weft").exit_code, 0);
  const std::string line = "replay a.weft --with a.weft --map random --on xgft:h=2,m=4x8,w=1x4";
  const auto shared = [&](const std::string& flags) {
    return Json::parse(w.weft(line + flags + " --json -").out)["shared_links"];
  };
  const auto told = [&](const std::string& flags) {
    const std::string out = w.weft(line + flags).out;
    const std::string table = out.substr(out.find("links of several jobs"));
    const std::string rows = table.substr(0, table.find("\n\n"));
    return static_cast<std::size_t>(std::count(rows.begin(), rows.end(), '\n'));
  };
  const Json some = shared(""), all = shared(" --all-links");
  EXPECT_EQ(some.size(), 20u);
  ASSERT_GT(all.size(), 20u);
  for (std::size_t i = 0; i < some.size(); ++i) EXPECT_EQ(all[i], some[i]);
  for (const Json& link : all)
    for (const Json& bytes : link["by_job"]) EXPECT_GT(bytes, 0);
  EXPECT_EQ(told(""), 5u);
  EXPECT_EQ(told(" --all-links"), all.size());
}

TEST(SeveralJobs, ThatHangHaveNoSlowdownBesideOthersThatEnd) {
  const Workspace w;
  w.write("ends.txt",
          "0 init\n1 init\n0 compute 1e9\n0 send 1 7 1000 6\n1 recv 0 7 1000 6\n0 finalize\n1 finalize\n");
  w.write("hangs.txt", "0 init\n1 init\n1 compute 1e6\n0 recv 1 7 1000 6\n0 finalize\n1 finalize\n");
  const std::string line =
      "replay hangs.txt --with ends.txt --with hangs.txt --on crossbar:n=6,speed=1Gflops";
  const Outcome told = w.weft(line);
  EXPECT_EQ(told.exit_code, 1) << told.err;
  EXPECT_THAT(told.out, HasSubstr("hangs.txt  block      2      2  deadlock  deadlock         -\n"));
  EXPECT_THAT(told.out, HasSubstr("     1.000\n"));
  const Json jobs = Json::parse(w.weft(line + " --json -").out)["jobs"];
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_TRUE(jobs[0]["slowdown"].is_null());
  EXPECT_EQ(jobs[1]["slowdown"], 1.0);
  EXPECT_TRUE(jobs[2]["slowdown"].is_null());
}

TEST(SeveralJobs, OfOneFolderAndFileAreToldApart) {
  const Workspace w;
  w.write("x/runs/t.txt", "0 init\n0 compute 1e6\n0 finalize\n");
  w.write("y/runs/t.txt", "0 init\n0 compute 1e6\n0 finalize\n");
  const Outcome told = w.weft("replay x/runs/t.txt --with y/runs/t.txt --on crossbar:n=2,speed=1Gflops");
  EXPECT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("\nx/runs/t.txt  block "));
  EXPECT_THAT(told.out, HasSubstr("\ny/runs/t.txt  block "));
}

TEST(SeveralJobs, HaveTheNoiseAloneThatTheyHaveBesideOthers) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate hpl --n 600 --nb 64 --p 2 --q 2 -o a.weft").exit_code, 0);
  ASSERT_EQ(w.weft("generate hpl --n 200 --nb 64 --p 1 --q 3 -o b.weft").exit_code, 0);
  // All hosts of Dahu are at one switch, each with links of its own.
  const Outcome r =
      w.weft("replay a.weft --with b.weft --with a.weft --map cyclic --on dahu --noise --seed 3 --json -");
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const Json j = Json::parse(r.out);
  EXPECT_TRUE(j["shared_links"].empty());
  ASSERT_EQ(j["jobs"].size(), 3u);
  for (const Json& job : j["jobs"]) EXPECT_EQ(job["slowdown"], 1.0) << job;
  EXPECT_NE(j["jobs"][0]["makespan_s"], j["jobs"][2]["makespan_s"]) << "no draws of its own";
}

// A copy of a trace of one communicator, as if it had been recorded with that library.
void record_with(const std::string& mpi_version, const std::string& from, const std::string& to) {
  auto source = traces::open_trace({from});
  ASSERT_TRUE(source);
  traces::TraceHeader header = (*source)->header();
  header.mpi_version = mpi_version;
  auto out = traces::TraceWriter::create(to, header);
  ASSERT_TRUE(out);
  traces::OpBlock block;
  for (std::uint32_t r = 0; r < header.ranks; ++r)
    for (auto more = (*source)->next_block(RankId(r), block); more && *more;
         more = (*source)->next_block(RankId(r), block))
      out->append(block);
  ASSERT_TRUE(out->finish());
}

TEST(SeveralJobs, TakeTheCollectivesOfTheirLibraryTogetherAndAlone) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate collective --op allgather --ranks 6 --bytes 2MB -o a.weft").exit_code, 0);
  record_with("Open MPI v5.0.3, package: x", w.path() + "/a.weft", w.path() + "/o.weft");
  record_with("Open MPI v5.0.1, package: y", w.path() + "/a.weft", w.path() + "/p.weft");
  const std::string on = " --on crossbar:n=16,bw=12.5GB/s,lat=1us --json -";
  const auto makespan = [&](const std::string& line) {
    return Json::parse(w.weft("replay " + line + on).out)["makespan_s"].get<double>();
  };
  const double open_mpi = makespan("a.weft --collectives openmpi5"), by_default = makespan("a.weft");
  EXPECT_NE(open_mpi, by_default);
  for (const auto& [line, takes, warns] : std::vector<std::tuple<std::string, double, bool>>{
           {"o.weft --with p.weft", open_mpi, false},
           {"o.weft --with a.weft", by_default, true},
           {"a.weft --with o.weft --collectives openmpi5", open_mpi, false}}) {
    const Json j = Json::parse(w.weft("replay " + line + on).out);
    for (const Json& job : j["jobs"]) {
      EXPECT_EQ(job["makespan_s"], takes) << line;
      EXPECT_EQ(job["alone_s"], takes) << line;
    }
    EXPECT_EQ(j["warnings"].dump().find("several MPI libraries") != std::string::npos, warns) << line;
  }
}

TEST(Compare, ManyThreadsGiveTheSameBytesAsOne) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate halo --dims 4x4 --bytes 100kB -o h.weft").exit_code, 0);
  ASSERT_EQ(w.weft("generate random --ranks 16 --messages 40 -o r.weft").exit_code, 0);
  const std::string line =
      "compare h.weft r.weft --on fat-tree:m=4,n=3 --on torus:dims=4x4 --on dragonfly:p=2,a=4,h=2,g=9 --on "
      "crossbar:n=16 --map block --map random --map switch --map hpl-cols:4x4 --seed 3 --quiet";
  ASSERT_EQ(w.weft(line + " --json one.json --csv one.csv").exit_code, 0);
  ASSERT_EQ(w.weft(line + " --json many.json --csv many.csv --threads 7").exit_code, 0);
  EXPECT_EQ(w.read("one.json"), w.read("many.json"));
  EXPECT_EQ(w.read("one.csv"), w.read("many.csv"));
  const Json j = Json::parse(w.read("one.json"));
  EXPECT_EQ(j["rows"].size(), 2u * 4 * 4);
  for (const Json& row : j["rows"]) {
    ASSERT_FALSE(row["worst_link_pairs"].is_null());
    double shown = 0;
    for (const Json& pair : row["worst_link_pairs"]["most"]) shown += pair["share"].get<double>();
    EXPECT_LE(shown, 1 + 1e-9);
  }
}

TEST(Sweep, TheFlipBetweenTwoBandwidthsIsFound) {
  const Workspace w;
  // 8 MB between two leaves, two messages each way. The crossbar takes 2 ms of latency and 8 MB / bw; the tree 4 us,
  // and its one cable is shared: 16 MB / bw. Equal at 8 MB / 1.996 ms.
  ASSERT_EQ(w.weft("generate ring --ranks 4 --stride 2 --bytes 8MB --iterations 1 -o r.weft").exit_code, 0);
  const std::string line =
      "sweep r.weft --on crossbar:n=4,lat=1ms --on xgft:h=2,m=2x2,w=1x1,lat=1us --set bw=1GB/s,10GB/s --raw "
      "--json - ";
  for (const char* bisect : {"", "--bisect 20"}) {
    const Outcome r = w.weft(line + bisect);
    ASSERT_EQ(r.exit_code, 0) << r.err;
    const Json flips = Json::parse(r.out)["flips"];
    ASSERT_EQ(flips.size(), 1u);
    EXPECT_EQ(flips[0]["how"], *bisect == 0 ? "interpolated" : "bisected");
    EXPECT_NEAR(flips[0]["at"].get<double>(), 8e6 / 1.996e-3, 4e3);
  }
}

}  // namespace
}  // namespace weft::testing::generate_test
