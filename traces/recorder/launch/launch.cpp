#include "traces/recorder/launch/launch.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "traces/recorder/launch/command_output.hpp"
#include "traces/recorder/spool.hpp"

namespace weft::recorder {
namespace {

volatile sig_atomic_t child_pid = 0;

void pass_on(int signal) {
  if (child_pid > 0) ::kill(static_cast<pid_t>(child_pid), signal);
}

bool is_mca_option(std::string_view word) {
  return word == "-mca" || word == "--mca" || word == "-gmca" || word == "--gmca";
}

// The value of an Open MPI parameter: on the command line, else in the environment, else `otherwise`.
std::string mca_value(const std::vector<std::string>& command, const std::string& name,
                      std::string_view otherwise) {
  for (std::size_t i = 1; i + 2 < command.size(); ++i)
    if (is_mca_option(command[i]) && command[i + 1] == name) return command[i + 2];
  const char* value = ::getenv(("OMPI_MCA_" + name).c_str());
  return std::string(value != nullptr ? std::string_view(value) : otherwise);
}

int exit_code_of(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

}  // namespace

std::vector<std::string> exported_command(std::vector<std::string> command, Launcher launcher,
                                          const std::string& library) {
  constexpr std::string_view kName = "LD_PRELOAD";
  constexpr std::string_view kEnvList = "mca_base_env_list";
  bool preload_given = false;
  const auto put_before = [&](std::string& value) {
    value.insert(0, library + ":");
    preload_given = true;
  };
  if (launcher.abi == Abi::kMpich) {  // hands on all of the environment, but for what its options say
    for (std::size_t i = 1; i + 2 < command.size(); ++i)
      if ((command[i] == "-genv" || command[i] == "-env") && command[i + 1] == kName)
        put_before(command[i + 2]);
    return command;
  }
  if (launcher.abi != Abi::kOpenMpi) return command;
  // Open MPI hands on what is named, by -x or in a list ("A;B=1"), and refuses one beside the other. Where the list is in the
  // environment only hosts that share it are recorded. PRRTE knows one delimiter, whatever it is told.
  const std::string delimiter =
      launcher.prrte ? ";" : mca_value(command, std::string(kEnvList) + "_delimiter", ";");
  bool listed = false;
  for (std::size_t i = 1; i + 2 < command.size(); ++i) {
    if (!is_mca_option(command[i]) || command[i + 1] != kEnvList) continue;
    const std::string known = delimiter + command[i + 2];
    const std::size_t at = known.find(delimiter + std::string(kName) + "=");
    std::string& value = command[i + 2];
    if (at != std::string::npos)
      value.insert(at + kName.size() + 1, library + ":");
    else
      value += delimiter + std::string(kName);
    for (const auto& name : {std::string(kEnvDirectory), std::string(kEnvClock)}) {
      value += delimiter;
      value += name;
    }
    listed = true;
  }
  if (listed || ::getenv("OMPI_MCA_mca_base_env_list") != nullptr) return command;
  for (std::size_t i = 1; i + 1 < command.size(); ++i)
    if (command[i] == "-x" && command[i + 1].starts_with(std::string(kName) + "=")) {
      std::string value = command[i + 1].substr(kName.size() + 1);
      put_before(value);
      command[i + 1] = std::string(kName) + "=" + value;
    }
  std::vector<std::string> ours;
  if (!preload_given) ours.insert(ours.end(), {"-x", std::string(kName)});
  ours.insert(ours.end(), {"-x", kEnvDirectory, "-x", kEnvClock});
  command.insert(command.begin() + 1, ours.begin(), ours.end());
  return command;
}

Result<int> run_recorded(const Launch& launch) {
  const std::vector<std::string> command = exported_command(launch.command, launch.launcher, launch.library);
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
    ::signal(SIGXFSZ, SIG_DFL);  // which Weft ignores
    ::setenv("LD_PRELOAD", preload.c_str(), 1);
    ::setenv(kEnvDirectory, launch.spool_directory.c_str(), 1);
    ::setenv(kEnvClock, launch.clock.c_str(), 1);
    const std::vector<char*> argv = exec_words(command);
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
  const int code = exit_code_of(wait_for_status(pid));
  child_pid = 0;
  for (std::size_t i = 0; i < std::size(kForwarded); ++i) ::sigaction(kForwarded[i], &before[i], nullptr);
  ::sigaction(SIGINT, &old_int, nullptr);
  ::sigaction(SIGQUIT, &old_quit, nullptr);
  if (n == sizeof why)
    return usage_error(std::string("cannot run the command: ") + std::strerror(why), launch.command.front(),
                       "a program, after --");
  return code;
}

}  // namespace weft::recorder
