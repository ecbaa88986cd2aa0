// What an executable file says of its MPI, before it runs.
#pragma once

#include <string>

#include "traces/recorder/abi.hpp"

namespace weft::recorder {

struct ProgramMpi {
  Abi abi = Abi::kNone;     // kNone: loads no MPI library when it starts
  std::string library;      // the file name that says so
  bool has_inside = false;  // MPI_Init is part of the file: a static MPI library
};

// The executable that a shell would run for `word`: by its path, or along PATH. Empty if there is none.
[[nodiscard]] std::string executable_of(const std::string& word);

// Of any file; what is no program of this machine (a script, an object) loads nothing. The libraries are those
// that the program's own dynamic linker lists, so also those of its libraries.
[[nodiscard]] ProgramMpi mpi_of_program(const std::string& path);

}  // namespace weft::recorder
