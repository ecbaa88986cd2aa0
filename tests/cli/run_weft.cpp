#include "tests/cli/run_weft.hpp"

#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/support/checkout.hpp"

namespace weft::testing {

namespace fs = std::filesystem;

Workspace::Workspace() {
  std::string pattern = (fs::temp_directory_path() / "weft-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder: " + pattern);
  path_ = pattern;
}

Workspace::~Workspace() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void Workspace::write(const std::string& name, std::string_view content) const {
  const fs::path file = fs::path(path_) / name;
  fs::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
}

std::string Workspace::read(const std::string& name) const {
  std::ifstream in(fs::path(path_) / name, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

std::vector<std::string> Workspace::list() const {
  std::vector<std::string> out;
  for (const auto& e : fs::recursive_directory_iterator(path_))
    out.push_back(fs::relative(e.path(), path_).string());
  std::sort(out.begin(), out.end());
  return out;
}

Outcome Workspace::weft(const std::string& arguments) const { return run("timeout 60", arguments); }

Outcome Workspace::interrupted_weft(const std::string& arguments, double seconds,
                                    const std::string& signal) const {
  // In the foreground timeout signals weft alone; else also its group, so that weft would get a second one.
  return run("timeout --foreground --preserve-status -s " + signal + " -k 60 " + std::to_string(seconds),
             arguments);
}

Outcome Workspace::run(const std::string& timeout, const std::string& arguments) const {
  // Outputs go beside the workspace, so that list() shows only what weft and the test wrote. 4 GB of address
  // space: a malformed number must not become an allocation (sanitizers need the space themselves).
  const std::string out = path_ + ".out";
  const std::string err = path_ + ".err";
#if defined(__SANITIZE_ADDRESS__)
  const std::string limit;
#else
  const std::string limit = "ulimit -v 4000000; ";
#endif
  const std::string command = "cd '" + path_ + "' && " + limit + timeout + " " + support::binary_dir() +
                              "/cli/weft </dev/null " + arguments + " >'" + out + "' 2>'" + err + "'";
  const int status = std::system(command.c_str());
  Outcome o;
  o.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  const auto slurp = [](const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    fs::remove(file);
    return all.str();
  };
  o.out = slurp(out);
  o.err = slurp(err);
  return o;
}

}  // namespace weft::testing
