#include "traces/recorder/launch/choose.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <span>

#include "traces/recorder/launch/program_file.hpp"

namespace weft::recorder {
namespace {

std::string library_of(const AbiFacts& facts, const std::string& folder) {
  return folder + "/" + kRecorderPrefix + facts.id + ".so";
}

bool is_there(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

std::string spoken_abis() {
  std::string text;
  for (const AbiFacts& facts : kAbis) text += (text.empty() ? "" : ", or of ") + std::string(facts.spoken);
  return text;
}

struct Found {
  Abi abi = Abi::kNone;
  std::string told;
};

// The first of these words that is a program with an MPI library: words before it may be tools and other files, those
// behind it are its own.
Result<Found> find_program(std::span<const std::string> words) {
  std::string inside;  // a program with a static MPI, or a library that wraps it
  for (const std::string& word : words) {
    if (word.starts_with('-')) continue;
    const std::string path = executable_of(word);
    if (path.empty()) continue;
    const ProgramMpi mpi = mpi_of_program(path);
    if (mpi.has_inside && inside.empty()) inside = word;
    if (mpi.abi == Abi::kNone) continue;
    Found found{mpi.abi, word + " (" + mpi.library + ")"};
    if (mpi.abi == Abi::kOther)
      return not_supported("a recording of " + found.told, "a program of " + spoken_abis());
    return found;
  }
  if (!inside.empty())
    return not_supported("a recording of " + inside + ", which has its MPI library inside",
                         "a program that loads its MPI library when it starts (linked dynamically)");
  return Found{};
}

}  // namespace

Result<Choice> choose_library(const std::vector<std::string>& command, const std::string& folder) {
  Choice choice;
  choice.launcher = launcher_of(command.front());
  Abi wanted = Abi::kNone;
  std::string program;  // why it is wanted
  // Launchers start several programs beside each other (-n 1 ./a : -n 1 ./b), each with its own words.
  for (auto from = command.begin();;) {
    const auto end = std::find(from, command.end(), ":");
    WEFT_ASSIGN(const Found found, find_program({from, end}));
    if (wanted == Abi::kNone) wanted = found.abi, program = found.told;
    if (end == command.end()) break;
    from = end + 1;
  }
  if (wanted == Abi::kNone) wanted = choice.launcher.abi;
  for (const AbiFacts& facts : kAbis) {
    choice.library = library_of(facts, folder);
    if (wanted == facts.abi || (wanted == Abi::kNone && is_there(choice.library))) break;
  }
  if (!is_there(choice.library))
    return not_supported(
        program.empty() ? "a recording under the MPI of " + command.front() : "a recording of " + program,
        "a build of Weft with that MPI (" + choice.library + " is missing)");
  return choice;
}

std::string find_libraries() {
  char self[4096];
  const ssize_t n = ::readlink("/proc/self/exe", self, sizeof self - 1);
  if (n <= 0) return {};
  std::string folder(self, static_cast<std::size_t>(n));
  folder.resize(folder.rfind('/'));
  for (const char* place : {"/../lib", "/../lib/weft", ""}) {
    char* real = ::realpath((folder + place).c_str(), nullptr);
    if (real == nullptr) continue;
    std::string found = real;
    std::free(real);
    for (const AbiFacts& facts : kAbis)
      if (is_there(library_of(facts, found))) return found;
  }
  return {};
}

}  // namespace weft::recorder
