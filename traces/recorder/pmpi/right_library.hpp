// Whether this recorder fits the MPI library of the process it is in.
#pragma once

#include "traces/recorder/abi.hpp"
#include "traces/recorder/pmpi/real_mpi.hpp"

namespace weft::recorder {

#ifdef OPEN_MPI
inline constexpr Abi kOwnAbi = Abi::kOpenMpi;
#else
inline constexpr Abi kOwnAbi = Abi::kMpich;
#endif

// The MPI library that the process has loaded by now.
struct LoadedMpi {
  Abi abi;
  char path[1024];
};
LoadedMpi loaded_mpi();

// Leaves word of a program that is not recorded because its MPI is not the one of this recorder.
void tell_wrong_mpi(const LoadedMpi& mpi);
// And of one that begins with MPI_Session_init: it may have no world to be recorded by.
void tell_session();

}  // namespace weft::recorder
