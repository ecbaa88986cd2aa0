// The three Fortran bindings of each MPI: the same calls, the same trace.
#include <tuple>

#include "tests/recorder/recorder_testing.hpp"
#include "tests/support/needs.hpp"

namespace weft::recorder::testing {
namespace {

using Binding = std::tuple<const char*, const char*>;  // MPI, program
class RecordedFortran : public ::testing::TestWithParam<Binding> {};

TEST_P(RecordedFortran, ProgramLeavesTheSameOperationsAsC) {
  const auto [mpi, name] = GetParam();
  WEFT_USE_MPI(mpi);
  WEFT_NEEDS(fs::exists(program(name)), "NO mpifort OF " << mpi << " ON THIS MACHINE: Fortran is not tested");
  const TempDir folder;
  ASSERT_EQ(record(folder, mpirun(4) + program(name)), 0) << slurp(folder.path("err"));
  const Recorded r = read_back(folder.path("t.weft"));
  ASSERT_EQ(r.lines.size(), 4u);
  EXPECT_THAT(
      inside(r.lines[2]),
      ::testing::ElementsAreArray({"comm_split - split1 - world", "send 3 80 7 split1", "irecv 1 24 1 world",
                                   "isend 3 24 1 world", "waitall - 0 - world [0 1]",
                                   "irecv 1 24 2 world [1 2 16]", "ssend null 0 2 world", "send 3 16 2 world",
                                   "wait 1 16 2 world", "allreduce - 32 - split1",
                                   "gatherv 2 24 - world [8 16 24 32]", "comm_free - 0 - split1"}));
  EXPECT_THAT(
      inside(r.lines[3]),
      ::testing::ElementsAreArray(
          {"comm_split - split1 - world", "iprobe 2 hit 7 split1 [2 7 80]", "recv - 512 - split1 [2 7 80]",
           "irecv 2 24 1 world", "isend 0 24 1 world", "waitall - 0 - world [0 1]",
           "irecv 2 24 2 world [2 2 16]", "ssend null 0 2 world", "send 0 16 2 world", "wait 2 16 2 world",
           "allreduce - 32 - split1", "gatherv 2 32 - world", "comm_free - 0 - split1"}));
}

INSTANTIATE_TEST_SUITE_P(Bindings, RecordedFortran,
                         ::testing::Combine(::testing::Values("openmpi", "mpich"),
                                            ::testing::Values("fortran_mpifh", "fortran_mpi", "fortran_f08")),
                         [](const auto& binding) {
                           return fmt::format("{}_{}", std::get<0>(binding.param),
                                              std::get<1>(binding.param));
                         });

}  // namespace
}  // namespace weft::recorder::testing
