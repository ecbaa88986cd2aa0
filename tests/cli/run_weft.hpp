// Runs the built weft binary as a user does, in a folder of its own, and says what came back.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/files.hpp"

namespace weft::testing {

struct Outcome {
  int exit_code = -1;  // 128 + signal where it was killed, 124 where it took over 60 s
  std::string out;
  std::string err;
};

// A folder that goes away with the object.
class Workspace {
 public:
  void write(const std::string& name, std::string_view content) const;
  [[nodiscard]] std::string read(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> list() const;
  // `arguments` is a shell line after `weft `; the working directory is the workspace.
  [[nodiscard]] Outcome weft(const std::string& arguments) const;
  // The same, sent a signal after so many seconds if it still runs then.
  [[nodiscard]] Outcome interrupted_weft(const std::string& arguments, double seconds,
                                         const std::string& signal = "INT") const;
  [[nodiscard]] const std::string& path() const { return folder_.path(); }

 private:
  [[nodiscard]] Outcome run(const std::string& timeout, const std::string& arguments) const;
  support::TempDir folder_;
};

}  // namespace weft::testing
