// Faults while weft runs: no memory for the N-th allocation, a write, a sync, a rename, a close or a read that fails, an
// input that vanishes or shrinks under it. Whatever N is, it ends with a message and the exit code of its kind; every
// output is whole, or as it was before; nothing else is left in the folder.
//
// Here some five N of each command are tried, with another beginning for each WEFT_SEED; WEFT_FAULTS=all tries every one, WEFT_FAULTS=K
// about K (scripts/faults.sh).
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/rng.hpp"
#include "tests/faults/faulty_run.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/seed.hpp"
#include "traces/exports/export.hpp"
#include "traces/formats.hpp"

namespace weft::faults {
namespace {

// Those of 1 ... n that are tried, from `first` on.
std::vector<long> some_of(long first, long n, long usual) {
  const char* asked = std::getenv("WEFT_FAULTS");
  const bool all = asked != nullptr && std::string(asked) == "all";
  const long most =
      all ? n
          : static_cast<long>(support::number_in("WEFT_FAULTS").value_or(static_cast<std::uint64_t>(usual)));
  const long stride = std::max<long>(1, (n - first + 1) / std::max<long>(1, most));
  const std::uint64_t seed = support::seed_or(1);
  Rng rng(seed);
  std::vector<long> out;
  for (long i = first + static_cast<long>(rng.below(static_cast<std::uint64_t>(stride))); i <= n; i += stride)
    out.push_back(i);
  return out;
}

class Faults : public ::testing::TestWithParam<Case> {
 protected:
  static void report(const FaultyRun& run, const std::string& of) {
    std::printf("%s: %ld faults tried of %s, %ld of them survived; WEFT_SEED=%llu\n", GetParam().name.c_str(),
                run.tried(), of.c_str(), run.survived(),
                static_cast<unsigned long long>(support::seed_or(1)));
  }
};

// The first ones are those of the options, which are set up alike for every command: a case of its own.
long of_options() {
  static const long n = FaultyRun({"options", "--version"}).counts().allocations;
  return n - n / 50;
}

TEST_P(Faults, WithoutMemoryForOneAllocationOrAllLaterOnesItEndsWithAMessage) {
  FaultyRun run(GetParam());
  const long all = run.counts().allocations, first = GetParam().name == "options" ? 1 : of_options();
  ASSERT_GT(all, first);
  int wrong = 0;
  const char* asked = std::getenv("WEFT_FAULTS");
  const bool both = asked != nullptr && std::string(asked) == "all";
  std::vector<std::string> reasons{"Cannot allocate memory"};
  // The library of OTF2 fails, and so do streams of the standard library (GOAL): neither says why.
  if (GetParam().command.find("otf2") != std::string::npos || GetParam().name.starts_with("import_goal"))
    reasons.insert(reasons.end(), {"cannot be read", "cannot write the archive"});
  for (const long n : some_of(first, all, 5))
    for (const char* later : {"", "+"}) {
      if (!both && (n % 2 == 0) != (*later == '+')) continue;
      const std::string found =
          run.judge({"WEFT_FAULT_ALLOCATION=" + std::to_string(n) + later}, true, reasons);
      if (found.empty()) continue;
      ADD_FAILURE() << found;
      if (++wrong == 20) return;
    }
  report(run, std::to_string(all - first + 1) + " allocations");
}

TEST_P(Faults, AfterACallOfTheSystemThatFailsItEndsWithAMessage) {
  FaultyRun run(GetParam());
  int wrong = 0;
  std::string of;
  for (const auto& [kind, error] : std::vector<std::pair<std::string, int>>{{"write", ENOSPC},
                                                                            {"write", EIO},
                                                                            {"sync", EIO},
                                                                            {"rename", ENOSPC},
                                                                            {"close", EIO},
                                                                            {"read", EIO}}) {
    const long n = run.counts().calls.at(kind);
    // The library that unpacks is loaded when it is needed: a call of the loader that fails is a library that is not there.
    if (GetParam().name == "import_packed" && (kind == "close" || kind == "read")) continue;
    of += std::to_string(n) + " x " + kind + " ";
    for (const long i : some_of(1, n, 2))
      for (const char* later : {"", "+"}) {
        if (*later == '+' && kind != "write") continue;
        const std::string found = run.judge(
            {"WEFT_FAULT_CALL=" + kind + ":" + std::to_string(i) + later + ":" + std::to_string(error)},
            false, {std::strerror(error), "cannot be read", "cannot write the archive"});
        if (found.empty()) continue;
        ADD_FAILURE() << found;
        if (++wrong == 20) return;
      }
  }
  report(run, of);
}

TEST(FaultyRuns, AnExportSyncsAFewFilesOneByOneAndManyAtOnce) {
  const FaultyRun few({"export_ti", "export in/t.weft --to ti -o out/ti.txt"});
  EXPECT_EQ(few.counts().calls.at("sync"), 5);  // 4 ranks and the index
  const FaultyRun many({"export_ti_many", "export in/many.weft --to ti -o out/many.txt"});
  EXPECT_EQ(many.counts().calls.at("sync"), 2);  // of all ranks', and the index
}

class ChangedInputs : public Faults {};

TEST_P(ChangedInputs, AnInputThatVanishesOrShrinksIsToldByItsName) {
  namespace fs = std::filesystem;
  FaultyRun run(GetParam());
  const std::string in = FaultyRun::workspace().path() + "/";
  const long n = run.counts().calls.at("read");
  int wrong = 0;
  for (const std::string& input : GetParam().inputs) {
    const std::string kept = in + "kept";
    fs::copy_file(in + input, kept, fs::copy_options::overwrite_existing);
    for (const long i : some_of(1, n, 2))
      for (const char* gone : {"", "-"}) {
        const std::string found = run.judge({"WEFT_FAULT_FILE=" + std::to_string(i) + ":" + gone + input},
                                            false, {fs::path(input).filename().string()}, false);
        fs::copy_file(kept, in + input, fs::copy_options::overwrite_existing);
        if (found.empty()) continue;
        ADD_FAILURE() << found;
        if (++wrong == 20) return;
      }
    fs::remove(kept);
  }
  report(run, std::to_string(n) + " reads");
}

std::vector<Case> cases_with_inputs() {
  std::vector<Case> all = cases();
  std::erase_if(all, [](const Case& c) { return c.inputs.empty(); });
  return all;
}

TEST(FaultyRuns, EveryTraceFormatIsReadAndWritten) {
  const auto is_run = [](const std::string& command) {
    const std::vector<Case> all = cases();
    return std::any_of(all.begin(), all.end(),
                       [&](const Case& c) { return c.name == command || c.command.starts_with(command); });
  };
  const auto is_here = [](const traces::FormatName& row) { return kOtf2 || row.name != "otf2"; };
  for (const traces::FormatName& row : traces::trace_formats())
    EXPECT_TRUE(!is_here(row) || is_run("import_" + std::string(row.name))) << row.name;
  for (const traces::FormatName& row : traces::trace_exports())
    EXPECT_TRUE(!is_here(row) || is_run("export in/t.weft --to " + std::string(row.name) + " ")) << row.name;
}

INSTANTIATE_TEST_SUITE_P(Commands, ChangedInputs, ::testing::ValuesIn(cases_with_inputs()),
                         [](const auto& p) { return p.param.name; });
INSTANTIATE_TEST_SUITE_P(Commands, Faults, ::testing::ValuesIn(cases()),
                         [](const auto& p) { return p.param.name; });

}  // namespace

// For the names of failing cases.
void PrintTo(const Case& c, std::ostream* os);
void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

}  // namespace weft::faults
