#include "tests/cli/run_weft.hpp"

#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/checkout.hpp"

namespace weft::testing {

namespace fs = std::filesystem;

void Workspace::write(const std::string& name, std::string_view content) const {
  folder_.write(name, content);
}

std::string Workspace::read(const std::string& name) const { return support::slurp(folder_.path(name)); }

std::vector<std::string> Workspace::list() const {
  std::vector<std::string> out;
  for (const auto& e : fs::recursive_directory_iterator(path()))
    out.push_back(fs::relative(e.path(), path()).string());
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
  const std::string out = path() + ".out";
  const std::string err = path() + ".err";
#if defined(__SANITIZE_ADDRESS__)
  const std::string limit;
#else
  const std::string limit = "ulimit -v 4000000; ";
#endif
  const std::string command = "cd '" + path() + "' && " + limit + timeout + " " + support::binary_dir() +
                              "/cli/weft </dev/null " + arguments + " >'" + out + "' 2>'" + err + "'";
  const int status = std::system(command.c_str());
  Outcome o;
  o.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  o.out = support::slurp(out);
  o.err = support::slurp(err);
  fs::remove(out);
  fs::remove(err);
  return o;
}

}  // namespace weft::testing
