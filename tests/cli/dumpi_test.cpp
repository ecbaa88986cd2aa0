// DUMPI traces as a user has them: a folder, given to any verb.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/run_weft.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/dumpi_writer.hpp"
#include "tests/support/needs.hpp"

namespace weft::testing::dumpi_test {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;

ordered_json json_of(const Workspace& w, const std::string& line, int exit_code = 0) {
  const Outcome o = w.weft(line + " --json - --quiet");
  EXPECT_EQ(o.exit_code, exit_code) << line << "\n" << o.err;
  return o.out.empty() ? ordered_json{} : ordered_json::parse(o.out);
}

// Rank 0 sends to rank 1; 10 us of computation before each call, reduced by all at the end.
std::vector<DumpiWriter> small_program() {
  std::vector<DumpiWriter> r(2);
  for (DumpiWriter& w : r) w.init();
  r[0].send(1000, kDumpiByte, 1, 5);
  r[1].recv(1000, kDumpiByte, 0, 5, {{1000, 0, 5}});
  for (DumpiWriter& w : r) w.finalize();
  return r;
}

// Two ranks send 16 messages of 2^59 bytes, or one 17: 2^64 bytes, and more.
TEST(Dumpi, AnImportTellsNoTotalThatIsNone) {
  const Workspace w;
  for (const int more : {-1, 0, 1}) {
    std::vector<DumpiWriter> r(2);
    for (int rank = 0; rank < 2; ++rank) {
      r[rank].init();
      r[rank].type_contiguous(1 << 27, kDumpiDouble, 40);
      for (int i = 0; i < 16 + rank * more; ++i) r[rank].send(1 << 29, 40, 1 - rank, 1);
      r[rank].finalize();
    }
    write_dumpi(w.path() + "/large", r);
    const Outcome o = w.weft("import large -o large.weft --json -");
    EXPECT_EQ(o.exit_code, more < 0 ? 0 : 3) << o.err;
    if (more < 0)
      EXPECT_THAT(o.out, HasSubstr(std::to_string(std::uint64_t{31} << 59)));
    else
      EXPECT_EQ(o.err, "large: error: more bytes in all than 64 bits hold; got \"messages\"\n");
    std::filesystem::remove_all(w.path() + "/large");
  }
}

TEST(Dumpi, AFolderIsReplayedInTheTimeThatItsProgramTakes) {
  const Workspace w;
  write_dumpi(w.path() + "/d", small_program());
  // 10 us, then the message: two links of 1 us, 1000 B at 1 GB/s; then 10 us more.
  const std::string on = " --on crossbar:n=2,bw=8Gbps,lat=1us --raw=eager";
  for (const char* trace :
       {"d", "d/run.meta", "d/run-0001.bin", "d/run-0000.bin d/run-0001.bin --from dumpi"}) {
    if (std::string(trace).find(' ') != std::string::npos) {
      EXPECT_EQ(w.weft(std::string("import ") + trace + " -o several.weft").exit_code, 0);
      trace = "several.weft";
    }
    const auto j = json_of(w, std::string("replay ") + trace + on);
    EXPECT_DOUBLE_EQ(j["makespan_s"].get<double>(), 23e-6) << trace;
    EXPECT_EQ(j["trace"]["messages"], 1);
    EXPECT_EQ(j["trace"]["bytes"], 1000);
  }
  // What is imported is the same program.
  ASSERT_EQ(w.weft("import d -o d.weft").exit_code, 0);
  EXPECT_EQ(json_of(w, "replay d" + on)["fingerprint"], json_of(w, "replay d.weft" + on)["fingerprint"]);
  const Outcome a = w.weft("export d --to text -o -"), b = w.weft("export d.weft --to text -o -");
  EXPECT_EQ(a.out, b.out);
  EXPECT_THAT(a.out, HasSubstr("\n0 compute - 1e-05s - -\n0 send 1 1000 5 world\n"));
  EXPECT_EQ(json_of(w, "check d")["ok"], true);
  EXPECT_EQ(json_of(w, "compare d --on crossbar:n=2 --on torus:dims=2x1")["rows"].size(), 2u);
}

TEST(Dumpi, WhatIsLostIsToldAndWhatIsBrokenIsRefused) {
  const Workspace w;
  auto r = small_program();
  r[0].call(146).u8(0).h(1);  // MPI_Win_fence after MPI_Finalize: it counts all the same
  write_dumpi(w.path() + "/lossy", r);
  const auto info = json_of(w, "info lossy");
  EXPECT_THAT(info["warnings"].dump(),
              HasSubstr("1 call of one-sided communication (MPI_Win_fence 1) is not in the trace"));
  EXPECT_EQ(json_of(w, "check lossy", 1)["ok"], false);

  write_dumpi(w.path() + "/cut", small_program());
  std::filesystem::resize_file(w.path() + "/cut/run-0001.bin", 500);
  for (const char* verb : {"info cut", "check cut", "replay cut --on crossbar:n=2", "import cut -o x.weft"}) {
    const Outcome o = w.weft(verb);
    EXPECT_EQ(o.exit_code, 3) << verb;
    EXPECT_THAT(o.err,
                HasSubstr("run-0001.bin@byte 0x1f4: error: the file ends without an index: it is cut off"));
  }
  EXPECT_EQ(w.weft("info cut --salvage").exit_code, 3);

  std::vector<DumpiWriter> old(1, DumpiWriter({0, 6, 6}));
  old[0].init().isend(1, kDumpiByte, 0, 1, 9).isend(1, kDumpiByte, 0, 1, 9).finalize();
  write_dumpi(w.path() + "/old", old);
  const Outcome o = w.weft("info old");
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_THAT(o.err, HasSubstr("(record 2, rank 0): error: not supported: MPI_Isend: request 9 is in use"));
}

// Every recorded trace at hand, on four networks.
TEST(Dumpi, RecordedTracesAreRightProgramsAndReplayEverywhere) {
  std::error_code ec;
  std::vector<std::string> traces;
  for (const auto& e : std::filesystem::recursive_directory_iterator(support::shared_dir() + "/traces", ec))
    if (e.path().extension() == ".meta") traces.push_back(e.path().parent_path().string());
  WEFT_NEEDS(!traces.empty(), "no recorded traces beside the checkout");
  std::sort(traces.begin(), traces.end());
  const Workspace w;
  for (const std::string& t : traces) {
    SCOPED_TRACE(t);
    const auto check = json_of(w, "check '" + t + "'");
    EXPECT_EQ(check["ok"], true);
    EXPECT_TRUE(check["findings"].empty());
    for (const char* on : {"crossbar:n=16", "fat-tree-16", "dragonfly:p=2,a=4,h=2", "torus:dims=4x4"}) {
      const auto j = json_of(w, "replay '" + t + "' --on " + on);
      // No less than the computation of the rank that computes most, no more than twice all of it.
      double most = 0, all = 0;
      for (const auto& rank : j["ranks"]) {
        most = std::max(most, rank["compute_s"].get<double>());
        all += rank["compute_s"].get<double>();
      }
      EXPECT_GE(j["makespan_s"].get<double>(), most) << on;
      EXPECT_LE(j["makespan_s"].get<double>(), 2 * all) << on;
    }
  }
}

}  // namespace
}  // namespace weft::testing::dumpi_test
