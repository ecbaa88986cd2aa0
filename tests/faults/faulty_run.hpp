// Runs the built weft with fault_shim.cpp preloaded, in a folder of its own, and judges what came of it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/cli/run_weft.hpp"

namespace weft::faults {

// Content of the files below the folder of outputs, by name; folders with an empty text and a '/' behind their names.
using Files = std::map<std::string, std::string>;

struct Counts {
  long allocations = 0;
  std::map<std::string, long> calls;  // by kind: write, sync, rename, close, read
};

// One command that reads what stands in in/ and writes into out/.
struct Case {
  std::string name;
  std::string command;
  std::vector<std::string> outputs = {};  // regular files, of which there is an old one before
  std::string journal = {};               // a folder that stays when a run fails, and its name
  std::vector<std::string> inputs = {};   // files that may vanish or shrink meanwhile
};

class FaultyRun {
 public:
  explicit FaultyRun(Case what);
  ~FaultyRun();
  FaultyRun(const FaultyRun&) = delete;
  FaultyRun& operator=(const FaultyRun&) = delete;
  // The run without a fault: what others are held against.
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] const Files& whole() const { return whole_; }

  // Runs it with variables of the shim ("WEFT_FAULT_ALLOCATION=7") and returns what is wrong with what came of it;
  // empty: nothing. `reasons`: texts of which one must stand in the message of a run that exits with 3; exit code 70
  // must say that memory was short, and is allowed where `memory` says so. `again`: what a journal holds then is used by
  // a run without a fault, which must end as if there had been none.
  [[nodiscard]] std::string judge(const std::vector<std::string>& variables, bool memory,
                                  const std::vector<std::string>& reasons, bool again = true);
  [[nodiscard]] long tried() const { return tried_; }
  [[nodiscard]] long survived() const { return survived_; }  // of those: exit code 0, everything whole

  static const testing::Workspace& workspace();  // with in/, made once

 private:
  [[nodiscard]] testing::Outcome run(const std::vector<std::string>& variables) const;
  void lay_out_old_files() const;
  [[nodiscard]] Files outputs() const;
  class Server;
  Case what_;
  std::unique_ptr<Server> server_;
  Counts counts_;
  Files whole_;
  std::string printed_;
  long tried_ = 0, survived_ = 0;
};

// Every case, by what it does.
[[nodiscard]] std::vector<Case> cases();

#ifdef WEFT_FAULTS_OTF2
inline constexpr bool kOtf2 = true;
#else
inline constexpr bool kOtf2 = false;
#endif

}  // namespace weft::faults
