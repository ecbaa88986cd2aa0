// Notices when a process of the recorded command starts a program without the recorder: a wrapper script that
// sets LD_PRELOAD anew, or clears the environment. Then no rank would be recorded and nobody could say why.
//
// Only looks and goes on: the environment stays what the caller wanted. These functions may run between vfork
// and exec, so they use nothing but system calls and the stack.
#include <dlfcn.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/recorder/abi.hpp"
#include "traces/recorder/pmpi/lost.hpp"

extern "C" char** environ;

namespace {

char lost_path[4096];  // kLostFile of the recording this process belongs to; empty = none

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}
struct Real {
  decltype(&::execve) execve_;
  decltype(&::execvpe) execvpe_;
  decltype(&::posix_spawn) spawn;
  decltype(&::posix_spawnp) spawnp;
} real;

__attribute__((constructor)) void remember() {
  real.execve_ = next<decltype(&::execve)>("execve");
  real.execvpe_ = next<decltype(&::execvpe)>("execvpe");
  real.spawn = next<decltype(&::posix_spawn)>("posix_spawn");
  real.spawnp = next<decltype(&::posix_spawnp)>("posix_spawnp");
  weft::recorder::lost_file(weft::recorder::kLostFile, lost_path, sizeof lost_path);
}

const char* value_of(const char* name, char* const* environment) {
  const std::size_t n = strlen(name);
  for (char* const* e = environment; e != nullptr && *e != nullptr; ++e)
    if (strncmp(*e, name, n) == 0 && (*e)[n] == '=') return *e + n + 1;
  return nullptr;
}

void look(const char* program, char* const* environment) {
  if (lost_path[0] == '\0' || program == nullptr) return;
  const char* preload = value_of("LD_PRELOAD", environment);
  const bool kept = preload != nullptr && strstr(preload, weft::recorder::kRecorderPrefix) != nullptr;
  if (kept && value_of(weft::recorder::kEnvDirectory, environment) != nullptr) return;
  char self[256];
  const ssize_t n = ::readlink("/proc/self/exe", self, sizeof self - 1);
  self[n > 0 ? n : 0] = '\0';
  const char* base = strrchr(self, '/');
  weft::recorder::LostLine line;
  line.add(base != nullptr ? base + 1 : "a program");
  line.add(" started ");
  line.add(program);
  if (kept) {
    line.add(" without WEFT_RECORD_DIR");
  } else if (preload == nullptr || *preload == '\0') {
    line.add(" without LD_PRELOAD");
  } else {
    line.add(" with LD_PRELOAD=");
    line.add(preload);
    line.add(" in place of the recorder's");
  }
  line.save(lost_path);
}

}  // namespace

#define WEFT_EXPORT extern "C" __attribute__((visibility("default")))

WEFT_EXPORT int execve(const char* path, char* const argv[], char* const environment[]) noexcept {
  look(path, environment);
  return real.execve_(path, argv, environment);
}
WEFT_EXPORT int execv(const char* path, char* const argv[]) noexcept {
  look(path, environ);
  return real.execve_(path, argv, environ);
}
WEFT_EXPORT int execvp(const char* file, char* const argv[]) noexcept {
  look(file, environ);
  return real.execvpe_(file, argv, environ);
}
WEFT_EXPORT int execvpe(const char* file, char* const argv[], char* const environment[]) noexcept {
  look(file, environment);
  return real.execvpe_(file, argv, environment);
}
WEFT_EXPORT int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                            const posix_spawnattr_t* attributes, char* const argv[],
                            char* const environment[]) noexcept {
  look(path, environment);
  return real.spawn(pid, path, actions, attributes, argv, environment);
}
WEFT_EXPORT int posix_spawnp(pid_t* pid, const char* file, const posix_spawn_file_actions_t* actions,
                             const posix_spawnattr_t* attributes, char* const argv[],
                             char* const environment[]) noexcept {
  look(file, environment);
  return real.spawnp(pid, file, actions, attributes, argv, environment);
}
