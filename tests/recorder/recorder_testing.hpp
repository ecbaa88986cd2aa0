// Running programs under `weft record`, with the MPI that a test chooses.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/recorder/recorded.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/files.hpp"
#include "tests/support/needs.hpp"

namespace weft::recorder::testing {

namespace fs = std::filesystem;
using support::slurp;
using support::TempDir;

// The MPI whose programs a test runs: "openmpi" or "mpich", and its launcher; empty if it is not on this machine.
struct Mpi {
  std::string abi;
  std::string launcher;
};
inline Mpi mpi_named(const std::string& abi) {
  std::istringstream built(WEFT_LAUNCHERS);  // "openmpi mpirun mpich mpirun.mpich"
  Mpi mpi;
  while (built >> mpi.abi >> mpi.launcher)
    if (mpi.abi == abi && std::system(("command -v " + mpi.launcher + " >/dev/null 2>&1").c_str()) == 0)
      return mpi;
  return {abi, ""};
}
inline Mpi current_mpi;  // of the test that runs

// Chooses the MPI for the rest of the test. Without its launcher nothing of the recorder can run: say so instead of
// passing.
#define WEFT_USE_MPI(name)                                                                 \
  do {                                                                                     \
    weft::recorder::testing::current_mpi = weft::recorder::testing::mpi_named(name);       \
    WEFT_NEEDS(!weft::recorder::testing::current_mpi.launcher.empty(),                     \
               "NO " << (name) << " ON THIS MACHINE: the recorder is not tested with it"); \
  } while (false)

// Every test of such a suite is run under each MPI.
class UnderEachMpi : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { WEFT_USE_MPI(GetParam()); }
};
#define WEFT_UNDER_EACH_MPI(suite)                                            \
  using suite = UnderEachMpi;                                                 \
  INSTANTIATE_TEST_SUITE_P(Mpi, suite, ::testing::Values("openmpi", "mpich"), \
                           [](const auto& mpi) { return std::string(mpi.param); })
// Where the MPI library makes no difference that twins_test.cpp would not see: under the first there is.
#define WEFT_UNDER_ONE_MPI(suite)                                                                          \
  using suite = UnderEachMpi;                                                                              \
  INSTANTIATE_TEST_SUITE_P(Mpi, suite,                                                                     \
                           ::testing::Values(mpi_named("openmpi").launcher.empty() ? "mpich" : "openmpi"), \
                           [](const auto& mpi) { return std::string(mpi.param); })

inline std::string weft() { return support::binary_dir() + "/cli/weft"; }
inline std::string program(const std::string& name) {
  return support::binary_dir() + "/tests/recorder/programs/" + current_mpi.abi + "/" + name;
}
inline std::string mpirun(int ranks) {
  return fmt::format("{}{} -n {} ", current_mpi.launcher,
                     current_mpi.abi == "openmpi" ? " --oversubscribe" : "", ranks);
}
inline std::string behaviour(const std::string& mode) { return program("behaviour") + " " + mode; }

// Runs a shell command in `folder`, output to folder/out and folder/err; the exit code.
inline int shell(const TempDir& folder, const std::string& command) {
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  ::setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
  ::setenv("OPENBLAS_NUM_THREADS", "1", 1);
  const int status =
      std::system(fmt::format("cd '{}' && ( {} ) >out 2>err </dev/null", folder.path(), command).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
inline int record(const TempDir& folder, const std::string& command, const std::string& options = "") {
  return shell(folder, fmt::format("{} record -o t.weft {} -- {}", weft(), options, command));
}

}  // namespace weft::recorder::testing
