// A real program: Debian's hpcc runs HPL and six more MPI benchmarks from one input file.
#include <map>
#include <tuple>

#include "tests/recorder/recorder_testing.hpp"
#include "tests/support/needs.hpp"

namespace weft::recorder::testing {
namespace {

// Debian's example with sizes that take seconds.
constexpr const char* kInput =
    "HPLinpack benchmark input file\n"
    "Weft\n"
    "HPL.out      output file name (if any)\n"
    "8            device out (6=stdout,7=stderr,file)\n"
    "1            # of problems sizes (N)\n"
    "300          Ns\n"
    "1            # of NBs\n"
    "32           NBs\n"
    "0            PMAP process mapping (0=Row-,1=Column-major)\n"
    "1            # of process grids (P x Q)\n"
    "2            Ps\n"
    "2            Qs\n"
    "16.0         threshold\n"
    "1            # of panel fact\n"
    "2            PFACTs (0=left, 1=Crout, 2=Right)\n"
    "1            # of recursive stopping criterium\n"
    "4            NBMINs (>= 1)\n"
    "1            # of panels in recursion\n"
    "2            NDIVs\n"
    "1            # of recursive panel fact.\n"
    "1            RFACTs (0=left, 1=Crout, 2=Right)\n"
    "1            # of broadcast\n"
    "1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)\n"
    "1            # of lookahead depth\n"
    "1            DEPTHs (>=0)\n"
    "2            SWAP (0=bin-exch,1=long,2=mix)\n"
    "64           swapping threshold\n"
    "0            L1 in (0=transposed,1=no-transposed) form\n"
    "0            U  in (0=transposed,1=no-transposed) form\n"
    "1            Equilibration (0=no,1=yes)\n"
    "8            memory alignment in double (> 0)\n"
    "##### This line (no. 32) is ignored (it serves as a separator). ######\n"
    "0            Number of additional problem sizes for PTRANS\n"
    "1200         values of N\n"
    "0            number of additional blocking sizes for PTRANS\n"
    "40           values of NB\n";

TEST(RecordHpcc, AllSevenBenchmarksPassAndTheTraceHoldsTheirMessages) {
  WEFT_USE_MPI("openmpi");  // what Debian builds it with
  WEFT_NEEDS(std::system("command -v hpcc >/dev/null 2>&1") == 0, "NO hpcc ON THIS MACHINE");
  const TempDir folder;
  std::ofstream(folder.path("hpccinf.txt")) << kInput;
  ASSERT_EQ(record(folder, mpirun(4) + "hpcc"), 0) << slurp(folder.path("err"));
  const std::string out = slurp(folder.path("hpccoutf.txt"));
  EXPECT_THAT(out, ::testing::HasSubstr("PASSED"));
  EXPECT_THAT(out, ::testing::Not(::testing::HasSubstr("FAILED")));
  EXPECT_THAT(out, ::testing::HasSubstr("Success=1"));
  const Recorded r = read_back(folder.path("t.weft"));
  ASSERT_EQ(r.ops.size(), 4u);
  // Every message sent is received: per (source, destination, tag, communicator), count and bytes.
  std::map<std::tuple<int, int, int, std::uint32_t>, std::pair<long, long>> balance;
  for (int rank = 0; rank < 4; ++rank) {
    for (std::size_t i = 0; i < r.ops[rank].size(); ++i) {
      const traces::Op& op = r.ops[rank][i];
      if (traces::is_send(op.kind) && op.peer >= 0) {
        auto& b = balance[{rank, op.peer, op.tag, op.comm.index()}];
        ++b.first;
        b.second += op.amount;
      }
      const auto& list = r.lists[rank][i];
      if (op.kind == traces::OpKind::recv && list.size() == 3 && list[0] >= 0) {
        auto& b = balance[{static_cast<int>(list[0]), rank, static_cast<int>(list[1]), op.comm.index()}];
        --b.first;
        b.second -= list[2];
      }
      if (op.kind == traces::OpKind::irecv && op.peer != traces::kProcNull) {
        const bool told = list.size() == 3;
        auto& b = balance[{told ? static_cast<int>(list[0]) : op.peer, rank,
                           told ? static_cast<int>(list[1]) : op.tag, op.comm.index()}];
        --b.first;
        b.second -= told ? list[2] : op.amount;
      }
    }
  }
  EXPECT_GT(balance.size(), 20u);
  for (const auto& [key, left] : balance) {
    EXPECT_EQ(left.first, 0) << std::get<0>(key) << " -> " << std::get<1>(key) << " tag " << std::get<2>(key);
    EXPECT_EQ(left.second, 0) << std::get<0>(key) << " -> " << std::get<1>(key) << " tag "
                              << std::get<2>(key);
  }
  EXPECT_EQ(shell(folder, weft() + " check t.weft"), 0) << slurp(folder.path("out"));
  // And it runs on another machine.
  EXPECT_EQ(shell(folder, weft() + " replay t.weft --on crossbar:n=4,bw=100Gbps,lat=1us"), 0)
      << slurp(folder.path("err"));
  for (const std::string& note : r.header.notes) RecordProperty("note", note);
}

}  // namespace
}  // namespace weft::recorder::testing
