// What a line does to the communicators and requests of its rank, the same for both readings of a file.
#pragma once

#include <optional>

#include "traces/formats/liballprof/comm_log.hpp"
#include "traces/formats/liballprof/line.hpp"
#include "traces/formats/liballprof/requests.hpp"

namespace weft::traces::allprof {

// By position in CommLog; kNone: none.
struct Followed {
  LocalComm use = kNone;       // the communicator that the line names
  std::uint32_t made = kNone;  // what it makes
  std::uint32_t freed = kNone;
};

[[nodiscard]] Followed follow(const Line& line, CommTable& table);

// A call that makes a request: where its arguments are.
struct Posting {
  std::size_t request;
  bool receive = false, persistent = false;
};
[[nodiscard]] std::optional<Posting> posting_of(Call call);

// A call that names requests: their array.
struct Naming {
  std::uint64_t base = 0;
  std::int64_t count = 1;
};
[[nodiscard]] std::optional<Naming> naming_of(const Line& line);

// Calls after which it is not known what they completed: all but MPI_Wait and MPI_Waitall.
[[nodiscard]] constexpr bool is_unsure(Call call) {
  return call == kWaitany || call == kWaitsome || call == kTest || call == kTestall || call == kTestany ||
         call == kTestsome;
}

// How MPI libraries number those who are no rank; by the handles of communicators.
struct Wildcards {
  std::int32_t any_source, no_process;
};
[[nodiscard]] constexpr Wildcards wildcards_of(std::uint64_t comm_handle) {
  return is_mpich_comm(comm_handle) ? Wildcards{-2, -1} : Wildcards{-1, -2};
}

}  // namespace weft::traces::allprof
