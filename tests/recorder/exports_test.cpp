// Every call that an MPI library has is the recorder's, or one of those that local_calls.txt says need none.
#include <set>

#include "tests/recorder/recorder_testing.hpp"

namespace weft::recorder::testing {
namespace {

WEFT_UNDER_EACH_MPI(RecordedExports);

using Names = std::set<std::string>;

// The calls among the exported names of a library, without MPI_. Capital letters alone are constants, and MPI_T_ is the
// library's own state; MPIX_ is of no standard.
Names calls_of(const TempDir& folder, const std::string& library) {
  EXPECT_EQ(shell(folder, "nm -D --defined-only " + library), 0) << slurp(folder.path("err"));
  std::istringstream symbols(slurp(folder.path("out")));
  Names calls;
  std::string word;
  while (symbols >> word) {
    word = word.substr(0, word.find('@'));
    if (word.starts_with("MPI_") && word.size() > 5 && std::islower(static_cast<unsigned char>(word[5])) != 0)
      calls.insert(word.substr(4));
  }
  return calls;
}

Names local_calls() {
  std::istringstream lines(slurp(support::source_dir() + "/tests/recorder/local_calls.txt"));
  Names calls;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    for (std::string word; words >> word;) calls.insert(word);
  }
  return calls;
}

std::string library_of_the_programs(const TempDir& folder) {
  EXPECT_EQ(shell(folder, "ldd " + program("calls") + R"( | awk '$1 ~ /^libmpi(ch)?\.so/ { print $3 }')"), 0);
  std::istringstream lines(slurp(folder.path("out")));
  std::string path;
  lines >> path;
  return path;
}

TEST_P(RecordedExports, NoCallThatMayWaitIsLeftToItself) {
  const TempDir folder;
  const Names mpi = calls_of(folder, library_of_the_programs(folder));
  const Names ours =
      calls_of(folder, support::binary_dir() + "/lib/libweft_record_" + current_mpi.abi + ".so");
  const Names local = local_calls();
  ASSERT_GT(mpi.size(), 300u);
  ASSERT_GT(ours.size(), 150u);
  for (const std::string& call : mpi)
    EXPECT_TRUE(ours.contains(call) || local.contains(call)) << "MPI_" << call << " has no wrapper";
  for (const std::string& call : ours) EXPECT_FALSE(local.contains(call)) << call << " has one after all";
}

}  // namespace
}  // namespace weft::recorder::testing
