// Which MPI_COMM_WORLD of a recording a process belongs to, without a message: a rank beside this one may have
// no recorder, and what is sent to it would be taken for the program's.
#pragma once

#include "traces/recorder/pmpi/writer.hpp"

namespace weft::recorder {

// Opens the spool of this rank, and sets job, rank and size in its header. The job is the same on all ranks of a
// world: made of the launcher's name for it and its size, and the next one where this rank has a spool of it
// already (a launcher that gives no name, or gives it twice). False: told on standard error.
bool open_spool(SpoolWriter& writer, const char* directory, int rank, int size);

}  // namespace weft::recorder
