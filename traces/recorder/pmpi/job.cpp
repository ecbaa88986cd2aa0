#include "traces/recorder/pmpi/job.hpp"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "traces/recorder/abi.hpp"
#include "traces/recorder/pmpi/right_library.hpp"

namespace weft::recorder {
namespace {

void mix_text(CommKey& key, const char* text) {
  for (; *text != '\0'; ++text) key.mix(static_cast<unsigned char>(*text));
  key.mix(0x100);  // the end: of no character
}

// Reads a small file of /proc into `to`, with a NUL behind it; its length.
std::size_t read_proc(long pid, const char* file, char* to, std::size_t room) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/%s", pid, file);
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return to[0] = '\0', 0;
  const ssize_t n = ::read(fd, to, room - 1);
  ::close(fd);
  const std::size_t length = n > 0 ? static_cast<std::size_t>(n) : 0;
  to[length] = '\0';
  return length;
}

long parent_of(long pid) {
  char text[1024];
  if (read_proc(pid, "stat", text, sizeof text) == 0) return 0;
  const char* after_name = strrchr(text, ')');  // "pid (name) state parent": the name may be anything
  long parent = 0;
  return after_name != nullptr && sscanf(after_name + 1, " %*c %ld", &parent) == 1 ? parent : 0;
}

// The value of an option among `length` bytes of words, each with its NUL; empty if it is not there.
const char* option_value(const char* words, std::size_t length, const char* option) {
  for (const char* word = words; word < words + length; word += strlen(word) + 1) {
    const char* value = word + strlen(word) + 1;
    if (strcmp(word, option) == 0 && value < words + length) return value;
  }
  return "";
}

// Hydra tells its ranks no name of their world. But each of its proxies, one a host, is told on its command line
// where the one mpiexec listens, and which of its groups of processes it starts (MPI_Comm_spawn makes more).
bool mix_hydra(CommKey& key) {
  constexpr int kGenerations = 64;
  long pid = ::getppid();
  for (int i = 0; i < kGenerations && pid > 1; ++i, pid = parent_of(pid)) {
    char words[4096];
    const std::size_t length = read_proc(pid, "cmdline", words, sizeof words);
    if (strcmp(base_name(words), "hydra_pmi_proxy") != 0) continue;
    const char* port = option_value(words, length, "--control-port");
    if (*port == '\0') continue;
    mix_text(key, port);
    mix_text(key, option_value(words, length, "--pgid"));
    return true;
  }
  return false;
}

// Variables that name a world, alone or with the second one. The first that is set counts.
struct NameVariables {
  const char* name;
  const char* more;
};
constexpr NameVariables kNameVariables[] = {
    {"PMIX_NAMESPACE", "OMPI_MCA_orte_precondition_transports"},  // Open MPI, and Slurm with PMIx
    {"PALS_APID", nullptr},                                       // Cray's launchers
    {"ALPS_APP_ID", nullptr},
    {"SLURM_STEP_ID", "SLURM_JOB_ID"},
};

void mix_variables(CommKey& key) {
  for (const NameVariables& v : kNameVariables) {
    const char* name = getenv(v.name);
    if (name == nullptr || *name == '\0') continue;
    mix_text(key, name);
    const char* more = v.more != nullptr ? getenv(v.more) : nullptr;
    if (more != nullptr) mix_text(key, more);
    return;
  }
}

CommKey name_of_world(int size) {
  CommKey key;
  key.mix(static_cast<std::uint64_t>(size));
  if (size == 1) {  // nobody to agree with
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    key.mix(static_cast<std::uint64_t>(t.tv_sec));
    key.mix(static_cast<std::uint64_t>(t.tv_nsec));
    key.mix(static_cast<std::uint64_t>(getpid()));
    key.mix(static_cast<std::uint64_t>(gethostid()));
  } else if (kOwnAbi != Abi::kMpich || !mix_hydra(key)) {
    mix_variables(key);
  }
  return key;
}

}  // namespace

bool open_spool(SpoolWriter& writer, const char* directory, int rank, int size) {
  constexpr std::uint64_t kJobsOfOneName = 10'000;
  const CommKey name = name_of_world(size);
  char path[4096] = {};
  for (std::uint64_t number = 0; number < kJobsOfOneName; ++number) {
    CommKey key = name;
    key.mix(number);
    snprintf(path, sizeof path, "%s/%016llx.%d.spool", directory, static_cast<unsigned long long>(key.high),
             rank);
    errno = 0;
    if (writer.open(path)) {
      SpoolHeader& h = writer.header();
      h.job = key.high;
      h.world_rank = rank;
      h.world_size = size;
      return true;
    }
    if (errno != EEXIST) break;
  }
  fprintf(stderr, "weft record: cannot write %s; rank %d is not recorded\n", path, rank);
  return false;
}

}  // namespace weft::recorder
