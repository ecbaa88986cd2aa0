// A fuzz target: one reader of what users hand us, fed with any bytes.
//
// Every target runs in two ways: for seconds on seeded mutations of its seeds in the tests (mutation_test.cpp), and for
// as long as one likes under libFuzzer with clang (fuzz_main.cpp, scripts/fuzz.sh). It answers with a value or an
// error, never with a crash, a hang or a full memory; what it accepts goes on as a user's would: traces are checked,
// copied and replayed with a limit of steps, platforms replay a ring, HPL.dat runs, flows flow.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::fuzz {

struct Target {
  const char* name;
  std::vector<std::string> (*seeds)();  // small and accepted
  std::vector<std::string> words;       // what a mutation may insert, besides what all may
  unsigned rounds;                      // of mutations in the tests: seconds of a release build
  bool (*run)(std::string_view bytes);  // true = accepted
};

// All targets, by folder of what they read.
[[nodiscard]] std::vector<Target> all_targets();
[[nodiscard]] std::vector<Target> trace_targets();
[[nodiscard]] std::vector<Target> otf2_targets();  // where the library of OTF2 is
[[nodiscard]] std::vector<Target> recorder_targets();
[[nodiscard]] std::vector<Target> platform_targets();
[[nodiscard]] std::vector<Target> table_targets();
[[nodiscard]] std::vector<Target> recording_targets();
[[nodiscard]] std::vector<Target> journal_targets();

// Bytes under a name that opens as a regular file, in memory.
class MemFile {
 public:
  explicit MemFile(std::string_view bytes);
  ~MemFile();
  MemFile(const MemFile&) = delete;
  MemFile& operator=(const MemFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

// Ends the process, with `what`, if a promise of the code under test is broken.
void require(bool kept, std::string_view what);

}  // namespace weft::fuzz
