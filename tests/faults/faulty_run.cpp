#include "tests/faults/faulty_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/faults/inputs.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/files.hpp"

namespace weft::faults {
namespace {

namespace fs = std::filesystem;
using support::slurp;
constexpr const char* kOld = "old\n";

// Without the lines that tell how long it took and how much memory: no two runs have the same.
std::string comparable(const std::string& text) {
  std::istringstream in(text);
  std::string out, line;
  while (std::getline(in, line)) {
    bool changing = false;
    for (const char* word : {"wall_s", "peak_rss", " took ", "wall", "ops_per_s", "ops/s", " s of "})
      changing = changing || line.find(word) != std::string::npos;
    if (!changing) out += line + '\n';
  }
  return out;
}

int open_output(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
}

}  // namespace

const testing::Workspace& FaultyRun::workspace() {
  static const testing::Workspace* const w = [] {
    auto* made = new testing::Workspace;
    make_inputs(*made);
    return made;
  }();
  static struct Remove {
    ~Remove() { delete w; }
  } at_the_end;
  return *w;
}

// weft, loaded and before its main(): fault_shim.cpp's server.
class FaultyRun::Server {
 public:
  explicit Server(const std::string& command) {
    static int servers = 0;  // two may live at a time
    out_ = fmt::format("{}.out{}", workspace().path(), ++servers);
    err_ = fmt::format("{}.err{}", workspace().path(), servers);
    for (const std::string& file : {out_, err_}) std::ofstream(file).flush();
    int orders[2], answers[2];
    if (::pipe2(orders, O_CLOEXEC) != 0 || ::pipe2(answers, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    const std::string folder = workspace().path();
    const std::string weft = support::binary_dir() + "/cli/weft",
                      shim = support::binary_dir() + "/tests/faults/libfault_shim.so";
    std::vector<std::string> words{weft}, env{"LD_PRELOAD=" + shim, "PATH=/usr/bin:/bin",
                                              fmt::format("WEFT_FAULT_SERVER={}:{}", orders[0], answers[1])};
    std::istringstream split(command);
    for (std::string word; split >> word;) words.push_back(word);
    std::vector<char*> argv, envp;
    for (std::string& w : words) argv.push_back(w.data());
    for (std::string& e : env) envp.push_back(e.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("fork");
    if (pid_ == 0) {
      (void)::fcntl(orders[0], F_SETFD, 0);
      (void)::fcntl(answers[1], F_SETFD, 0);
      const int in = ::open("/dev/null", O_RDONLY);
      if (::chdir(folder.c_str()) != 0 || ::dup2(in, 0) < 0 || ::dup2(open_output(out_), 1) < 0 ||
          ::dup2(open_output(err_), 2) < 0)
        ::_exit(98);
      const rlimit none{0, 0};
      (void)::setrlimit(RLIMIT_CORE, &none);
      ::execve(weft.c_str(), argv.data(), envp.data());
      ::_exit(97);
    }
    ::close(orders[0]);
    ::close(answers[1]);
    orders_ = orders[1];
    answers_ = answers[0];
  }
  ~Server() {
    ::close(orders_);
    ::close(answers_);
    (void)::waitpid(pid_, nullptr, 0);
    std::error_code none;
    fs::remove(out_, none);
    fs::remove(err_, none);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  testing::Outcome run(const std::vector<std::string>& variables) {
    for (const std::string& file : {out_, err_}) fs::resize_file(file, 0);  // both are appended to
    std::string order;
    for (const std::string& v : variables) order += v + '\n';
    int status = 0;
    if (::write(orders_, order.c_str(), order.size() + 1) != static_cast<ssize_t>(order.size() + 1) ||
        ::read(answers_, &status, sizeof status) != sizeof status)
      throw std::runtime_error("the server of runs ended: " + slurp(err_));
    testing::Outcome o;
    o.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    o.out = slurp(out_);
    o.err = slurp(err_);
    return o;
  }

 private:
  std::string out_, err_;
  pid_t pid_ = -1;
  int orders_ = -1, answers_ = -1;
};

FaultyRun::~FaultyRun() = default;

testing::Outcome FaultyRun::run(const std::vector<std::string>& variables) const {
  return server_->run(variables);
}

void FaultyRun::lay_out_old_files() const {
  const fs::path out = fs::path(workspace().path()) / "out";
  fs::remove_all(out);
  fs::create_directory(out);
  for (const std::string& name : what_.outputs) std::ofstream(out / name) << kOld;
}

Files FaultyRun::outputs() const {
  const fs::path out = fs::path(workspace().path()) / "out";
  Files files;
  for (const auto& e : fs::recursive_directory_iterator(out)) {
    const std::string name = fs::relative(e.path(), out).string();
    if (!what_.journal.empty() && (name == what_.journal || name.starts_with(what_.journal + "/"))) continue;
    if (e.is_directory())
      files[name + "/"] = "";
    else
      files[name] = comparable(slurp(e.path()));
  }
  return files;
}

FaultyRun::FaultyRun(Case what) : what_(std::move(what)), server_(std::make_unique<Server>(what_.command)) {
  lay_out_old_files();
  const std::string count = workspace().path() + ".count";
  const testing::Outcome o = run({"WEFT_FAULT_COUNT=" + count});
  if (o.exit_code != 0)
    throw std::runtime_error(fmt::format("weft {}: exit code {}\n{}", what_.command, o.exit_code, o.err));
  std::istringstream in(slurp(count));
  std::string name;
  for (long n = 0; in >> name >> n;) (name == "allocations" ? counts_.allocations : counts_.calls[name]) = n;
  fs::remove(count);
  whole_ = outputs();
  printed_ = comparable(o.out);
}

std::string FaultyRun::judge(const std::vector<std::string>& variables, bool memory,
                             const std::vector<std::string>& reasons, bool again) {
  ++tried_;
  lay_out_old_files();
  const testing::Outcome o = run(variables);
  const Files files = outputs();
  std::string wrong;
  if (o.exit_code == 0) {
    ++survived_;
    if (files != whole_) wrong += "exit code 0, but other files than without a fault; ";
    if (comparable(o.out) != printed_) wrong += "exit code 0, but it printed something else; ";
  } else {
    for (const auto& [name, content] : files) {
      const auto whole = whole_.find(name);
      const bool old = std::ranges::find(what_.outputs, name) != what_.outputs.end() && content == kOld;
      if (!old && (whole == whole_.end() || whole->second != content))
        wrong += fmt::format("{} is there, {} bytes; ", name, content.size());
    }
    for (const std::string& name : what_.outputs)
      if (!files.contains(name)) wrong += name + ", which was there before, is gone; ";
    std::istringstream lines(o.err);
    int errors = 0;
    for (std::string line; std::getline(lines, line);)
      if (!line.starts_with("note: ") && !line.starts_with("warning: ")) ++errors;
    if (errors != 1) wrong += fmt::format("{} lines of error; ", errors);
    const auto says = [&o](const std::string& reason) { return o.err.find(reason) != std::string::npos; };
    const bool no_memory = memory && o.exit_code == 70 && says("error: out of memory\n");
    if (!no_memory && !(o.exit_code == 3 && std::ranges::any_of(reasons, says)))
      wrong += "not the exit code and the message; ";
  }
  if (wrong.empty() && again && !what_.journal.empty() && o.exit_code != 0) {
    // What the journal holds is right: with it the same comes out.
    if (const testing::Outcome later = run({}); later.exit_code != 0 || outputs() != whole_)
      wrong = fmt::format("begun again it ends otherwise: exit code {}: {}", later.exit_code, later.err);
  }
  if (wrong.empty()) return {};
  std::string told;
  for (const std::string& v : variables) told += v + " ";
  return fmt::format("{}weft {}\n  {}\n  exit code {}: {}", told, what_.command, wrong, o.exit_code, o.err);
}

}  // namespace weft::faults
