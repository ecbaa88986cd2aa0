#include "traces/recorder/launch/command_output.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace weft::recorder {

std::vector<char*> exec_words(const std::vector<std::string>& words) {
  std::vector<char*> p;
  p.reserve(words.size() + 1);
  for (const std::string& w : words) p.push_back(const_cast<char*>(w.c_str()));
  p.push_back(nullptr);
  return p;
}

int wait_for_status(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string output_of(const std::vector<std::string>& command) {
  const std::vector<char*> argv = exec_words(command);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int nothing = ::open("/dev/null", O_RDWR);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(nothing, STDERR_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);
    ::unsetenv("LD_PRELOAD");
    ::signal(SIGXFSZ, SIG_DFL);  // which Weft ignores
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  ssize_t n = 0;
  while (pid > 0 && ((n = ::read(ends[0], buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR)))
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  if (pid > 0) wait_for_status(pid);
  return text;
}

}  // namespace weft::recorder
