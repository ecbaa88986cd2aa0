// What the name of a region says: which function of MPI it is, and what a replay needs of it.
//
// Score-P calls its regions as MPI does ("MPI_Send"); other tools write Fortran's names, capitals or brackets after them
// ("mpi_send_", "MPI_SEND", "MPI_Send()"). All of them are the same function, and so is that of MPI 4 with large counts
// ("MPI_Send_c").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "traces/op.hpp"

namespace weft::traces::otf2 {

enum class CallClass : std::uint8_t {
  user,         // no function of MPI: a region of the program
  local,        // talks to nobody, or is not known: its time is computation
  send,         // kind = mode
  receive,      // blocking or not
  sendrecv,     // a send and a receive at once
  start,        // of persistent requests
  complete,     // kind = wait ... testsome
  collective,   // blocking
  icollective,  // kind = non-blocking form
  comm_make,    // kind
  comm_free,
  init,
  finalize,
  other,  // may complete requests: MPI_Request_free, MPI_Cancel
  probe,  // the records say nothing of it
  lost    // no operation stands for it; group says why
};

// Groups of calls that are lost: names for people in losses.cpp.
enum class Lost : std::uint8_t { rma, io, dynamic, inter, neighbor, partitioned, collective };

struct MpiCall {
  CallClass cls = CallClass::user;
  OpKind kind = OpKind::send;
  Lost group = Lost::rma;
};

// `mpi`: the region is of MPI by its paradigm; else its name must begin with MPI_.
[[nodiscard]] MpiCall classify(std::string_view region, bool mpi);

}  // namespace weft::traces::otf2
