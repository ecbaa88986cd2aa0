// One record of a Dimemas trace: a line, told apart by its first number. Fields as in Dimemas' file_data_access.h.
#pragma once

#include <cstdint>
#include <optional>

#include "traces/formats/dimemas/fields.hpp"

namespace weft::traces::dimemas {

// X(enumerator, number in the file); with the fields behind TASK:THREAD; [x] may be left out.
#define WEFT_DIMEMAS_RECORDS(X)                                                                           \
  /* a call of MPI that leaves nothing else */                                                            \
  X(nothing, 0)                                                                                           \
  /* SECONDS */                                                                                           \
  X(burst, 1)                                                                                             \
  /* TO[:THREAD]:BYTES:TAG:COMMUNICATOR:HOW, HOW: 1 it waits for its receive, 2 the sender goes on */     \
  X(send, 2)                                                                                              \
  /* FROM[:THREAD]:BYTES:TAG:COMMUNICATOR:HOW, HOW: 0 receive, 1 posted, 2 wait for one that is posted */ \
  X(receive, 3)                                                                                           \
  /* OPERATION:COMMUNICATOR:ROOT:THREAD:BYTES SENT:BYTES RECEIVED[:HOW] */                                \
  X(collective, 10)                                                                                       \
  /* TYPE:VALUE */                                                                                        \
  X(event, 20)

enum class RecordKind : std::uint8_t {
#define WEFT_X(id, number) id,
  WEFT_DIMEMAS_RECORDS(WEFT_X)
#undef WEFT_X
  // In no .dim: the call ends a request that is named, or makes a communicator.
  ends_request,
  makes_comm,
};

// How a receive is meant, and a collective.
enum class ReceiveHow : std::uint8_t { receive = 0, post = 1, wait = 2 };
enum class CollectiveHow : std::uint8_t { post = 0, blocking = 1, wait = 2, root_waits = 3 };

struct Record {
  RecordKind kind{};
  std::uint32_t task = 0;
  std::int64_t picoseconds = 0;
  // Of messages.
  std::int32_t partner = 0;  // a task; kAnySource of a receive
  std::int32_t tag = 0;      // kAnyTag of a receive
  std::int64_t bytes = 0;
  bool immediate = false;  // a send
  ReceiveHow receive{};
  // Of collectives.
  std::int32_t operation = 0;
  std::int32_t root = 0;
  std::int64_t sent = 0, received = 0;
  CollectiveHow how{};
  bool says_how = false;
  // Of messages and collectives.
  std::int64_t communicator = 0;
  // Where a trace says so, which a .dim does not: the communicator of a message, whose number `communicator` is then; the request that a
  // send or a collective makes, or a call ends.
  std::optional<std::int64_t> of_message;
  std::optional<std::int64_t> request;
  std::int64_t made = 0;        // the communicator, 0: none
  std::int64_t started_as = 0;  // the call of MPI whose way a started send has, 0: MPI_Isend
  // Of events.
  std::int64_t type = 0, value = 0;
};

// Fields of the line, for who finds fault with one: Fields::fail_at().
inline constexpr std::size_t kTaskField = 1, kOperationField = 3, kCommunicatorField = 4, kRootField = 5,
                             kSentField = 7, kReceivedField = 8;

inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

// False: the error is in `f`, which is at the start of the line.
[[nodiscard]] bool read_record(Fields& f, std::uint32_t tasks, Record& out);

}  // namespace weft::traces::dimemas
