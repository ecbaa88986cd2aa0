// weft chooses the recorder by the words of the command. Where a script starts the program it cannot see which MPI
// that loads: then this library finds itself beside another one than its own, before main, and starts the program
// again with the recorder that fits. Nothing of the program has run by then.
#include "traces/recorder/pmpi/right_library.hpp"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "traces/recorder/pmpi/lost.hpp"

extern "C" char** environ;

namespace weft::recorder {
namespace {

// LD_PRELOAD with `own` replaced by `other`, for the programs that this one becomes and starts. False: `own` is not in
// there, or there is no room.
bool replace_preload(const char* own, const char* other) {
  const char* before = getenv("LD_PRELOAD");
  const char* at = before == nullptr ? nullptr : strstr(before, own);
  if (at == nullptr) return false;
  char after[8192];
  const int n = snprintf(after, sizeof after, "%.*s%s%s", static_cast<int>(at - before), before, other,
                         at + strlen(own));
  return n > 0 && static_cast<std::size_t>(n) < sizeof after && setenv("LD_PRELOAD", after, 1) == 0;
}

__attribute__((constructor)) void give_way(int, char** argv, char**) {
  if (getenv(kEnvDirectory) == nullptr) return;
  const LoadedMpi mpi = loaded_mpi();
  if (mpi.abi == Abi::kNone || mpi.abi == kOwnAbi) return;
  Dl_info own{};
  const AbiFacts* wanted = facts_of(mpi.abi);
  if (wanted == nullptr || dladdr(reinterpret_cast<void*>(&loaded_mpi), &own) == 0) return;
  const auto folder = base_name(own.dli_fname) - own.dli_fname;
  char other[4096];
  char program[4096];
  const int length = snprintf(other, sizeof other, "%.*s%s%s.so", static_cast<int>(folder), own.dli_fname,
                              kRecorderPrefix, wanted->id);
  const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof other || n <= 0) return;
  program[n] = '\0';
  if (access(other, R_OK) != 0 || !replace_preload(own.dli_fname, other)) return;
  syscall(SYS_execve, program, argv, environ);
}

}  // namespace

LoadedMpi loaded_mpi() {
  LoadedMpi found{Abi::kNone, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        auto& mpi = *static_cast<LoadedMpi*>(out);
        const Abi abi = abi_of_library(info->dlpi_name);
        if (abi == Abi::kNone) return 0;
        mpi.abi = abi;
        strncpy(mpi.path, info->dlpi_name, sizeof mpi.path - 1);
        return abi == Abi::kOther ? 0 : 1;
      },
      &found);
  return found;
}

namespace {
void add_program(LostLine& line) {
  char program[4096];
  const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
  program[n > 0 ? n : 0] = '\0';
  line.add(program);
}
}  // namespace

void tell_session() {
  char path[4096];
  if (!lost_file(kSessionFile, path, sizeof path)) return;
  LostLine line;
  add_program(line);
  line.add(" calls MPI_Session_init");
  line.save(path);
}

void tell_wrong_mpi(const LoadedMpi& mpi) {
  char path[4096];
  if (!lost_file(kWrongMpiFile, path, sizeof path)) return;
  LostLine line;
  add_program(line);
  line.add(" loads ");
  line.add(mpi.path);
  line.add(", for which there is no recorder here, only for ");
  line.add(facts_of(kOwnAbi)->spoken);
  line.save(path);
}

}  // namespace weft::recorder
