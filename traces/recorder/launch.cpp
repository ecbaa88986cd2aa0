#include "traces/recorder/launch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "traces/recorder/spool.hpp"

namespace weft::recorder {
namespace {

volatile sig_atomic_t child_pid = 0;

void pass_on(int signal) {
  if (child_pid > 0) ::kill(static_cast<pid_t>(child_pid), signal);
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> p;
  p.reserve(words.size() + 1);
  for (const std::string& w : words) p.push_back(const_cast<char*>(w.c_str()));
  p.push_back(nullptr);
  return p;
}

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

int wait_for(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return exit_code_of(status);
}

bool is_launcher(const std::string& program) {
  const std::size_t slash = program.rfind('/');
  const std::string base = slash == std::string::npos ? program : program.substr(slash + 1);
  for (const char* name : {"mpirun", "mpiexec", "orterun", "prterun", "mpirun.openmpi", "mpiexec.openmpi"})
    if (base == name) return true;
  return false;
}

// Asks the launcher itself: `mpirun --version`.
bool is_open_mpi(const std::string& program) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return false;
  const pid_t pid = ::fork();
  if (pid < 0) return false;
  if (pid == 0) {
    ::dup2(pipe_ends[1], STDOUT_FILENO);
    ::execlp(program.c_str(), program.c_str(), "--version", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(pipe_ends[1]);
  std::string text;
  char buffer[512];
  ssize_t n = 0;
  while ((n = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<std::size_t>(n));
  ::close(pipe_ends[0]);
  wait_for(pid);
  return text.find("Open MPI") != std::string::npos || text.find("OpenRTE") != std::string::npos;
}

}  // namespace

std::vector<std::string> exported_command(std::vector<std::string> command, bool open_mpi,
                                          const std::string& library) {
  // Open MPI refuses -x beside its own list of variables; then only hosts that share our environment are
  // recorded.
  if (!open_mpi || ::getenv("OMPI_MCA_mca_base_env_list") != nullptr) return command;
  bool preload_given = false;
  for (std::size_t i = 1; i + 1 < command.size(); ++i)
    if (command[i] == "-x" && command[i + 1].starts_with("LD_PRELOAD=")) {
      command[i + 1] = "LD_PRELOAD=" + library + ":" + command[i + 1].substr(std::strlen("LD_PRELOAD="));
      preload_given = true;
    }
  std::vector<std::string> ours;
  if (!preload_given) ours.insert(ours.end(), {"-x", "LD_PRELOAD"});
  ours.insert(ours.end(), {"-x", kEnvDirectory, "-x", kEnvClock});
  command.insert(command.begin() + 1, ours.begin(), ours.end());
  return command;
}

Result<int> run_recorded(const Launch& launch) {
  const bool open_mpi = is_launcher(launch.command.front()) && is_open_mpi(launch.command.front());
  const std::vector<std::string> command = exported_command(launch.command, open_mpi, launch.library);
  const char* others = ::getenv("LD_PRELOAD");
  const std::string preload =
      others != nullptr && *others != '\0' ? launch.library + ":" + others : launch.library;

  int failure[2];  // carries errno of a failed exec; closed by a successful one
  if (::pipe2(failure, O_CLOEXEC) != 0)
    return usage_error(std::string("cannot make a pipe: ") + std::strerror(errno));

  struct sigaction ignore {};
  struct sigaction forward {};
  struct sigaction old_int {};
  struct sigaction old_quit {};
  ignore.sa_handler = SIG_IGN;
  forward.sa_handler = pass_on;
  ::sigaction(SIGINT, &ignore, &old_int);
  ::sigaction(SIGQUIT, &ignore, &old_quit);

  const pid_t pid = ::fork();
  if (pid < 0) return usage_error(std::string("cannot start a process: ") + std::strerror(errno));
  if (pid == 0) {
    ::sigaction(SIGINT, &old_int, nullptr);
    ::sigaction(SIGQUIT, &old_quit, nullptr);
    ::setenv("LD_PRELOAD", preload.c_str(), 1);
    ::setenv(kEnvDirectory, launch.spool_directory.c_str(), 1);
    ::setenv(kEnvClock, launch.clock.c_str(), 1);
    const std::vector<char*> argv = pointers(command);
    ::execvp(argv[0], argv.data());
    const int why = errno;
    [[maybe_unused]] const ssize_t written = ::write(failure[1], &why, sizeof why);
    ::_exit(127);
  }
  child_pid = pid;
  constexpr int kForwarded[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
  struct sigaction before[std::size(kForwarded)] = {};
  for (std::size_t i = 0; i < std::size(kForwarded); ++i) ::sigaction(kForwarded[i], &forward, &before[i]);
  ::close(failure[1]);
  int why = 0;
  ssize_t n = 0;
  while ((n = ::read(failure[0], &why, sizeof why)) < 0 && errno == EINTR) {
  }
  ::close(failure[0]);
  const int code = wait_for(pid);
  child_pid = 0;
  for (std::size_t i = 0; i < std::size(kForwarded); ++i) ::sigaction(kForwarded[i], &before[i], nullptr);
  ::sigaction(SIGINT, &old_int, nullptr);
  ::sigaction(SIGQUIT, &old_quit, nullptr);
  if (n == sizeof why)
    return usage_error(std::string("cannot run the command: ") + std::strerror(why), launch.command.front(),
                       "a program, after --");
  return code;
}

std::string find_library() {
  char self[4096];
  const ssize_t n = ::readlink("/proc/self/exe", self, sizeof self - 1);
  if (n <= 0) return {};
  std::string folder(self, static_cast<std::size_t>(n));
  folder.resize(folder.rfind('/'));
  for (const char* place :
       {"/../lib/libweft_record.so", "/../lib/weft/libweft_record.so", "/libweft_record.so"}) {
    const std::string path = folder + place;
    if (char* real = ::realpath(path.c_str(), nullptr)) {
      std::string found = real;
      std::free(real);
      return found;
    }
  }
  return {};
}

}  // namespace weft::recorder
