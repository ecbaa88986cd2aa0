// The vocabulary of SimGrid's time-independent text: actions, datatype ids, wildcard values.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::traces::ti {

// One row an action, in the order in which errors name them:
// X(enumerator, spelling in the text, how its fields are read (a member of Parser), what operation it becomes; where it
// leaves none that is not asked for). Above a row: a line of it; [x] may be left out. A row without one is
// as the row above it.
// clang-format off
#define WEFT_TI_ACTIONS(X)                                                                                             \
  /* 0 init [1]: with a field, counts without a datatype are doubles */                                                \
  X(kInit, "init", init, init)                                                                                         \
  X(kFinalize, "finalize", finalize, finalize)                                                                         \
  /* communicators: the text does not say who belongs to which */                                                      \
  X(kCommSize, "comm_size", communicator, comm_split)                                                                  \
  X(kCommSplit, "comm_split", communicator, comm_split)                                                                \
  X(kCommDup, "comm_dup", communicator, comm_dup)                                                                      \
  /* a place in the program: says nothing here */                                                                      \
  X(kLocation, "location", location, init)                                                                             \
  /* 0 compute 1.5e9: flops */                                                                                         \
  X(kCompute, "compute", compute, compute_flops)                                                                       \
  /* 0 sleep 0.5: seconds, whatever the speed of the host: what a recorded time is (docs/trace-format.md) */           \
  X(kSleep, "sleep", sleep, compute_time)                                                                                     \
  /* 0 send 1 5 800 [0]: destination, tag, count, datatype id */                                                       \
  X(kSend, "send", message, send)                                                                                      \
  X(kIsend, "isend", message, isend)                                                                                   \
  X(kSsend, "Ssend", message, ssend)                                                                                   \
  X(kSsendLower, "ssend", message, ssend)                                                                              \
  X(kIssend, "ISsend", message, issend)                                                                                \
  X(kIssendLower, "issend", message, issend)                                                                           \
  /* 1 recv 0 5 800 [0]: source or -555 (any), tag or -444 (any), count, datatype id */                                \
  X(kRecv, "recv", message, recv)                                                                                      \
  X(kIrecv, "irecv", message, irecv)                                                                                   \
  /* 0 sendRecv 3 1 4 2 [0 0]: count to send, destination, count to receive, source, datatype ids */                   \
  X(kSendRecv, "sendRecv", send_recv, sendrecv)                                                                        \
  /* 0 wait 1 0 6: source, destination, tag of the message (0 receives it from 1) */                                   \
  X(kWait, "wait", wait, wait)                                                                                         \
  X(kTest, "test", wait, test)                                                                                         \
  /* 0 waitall [2]: all outstanding requests of the rank, however many it says */                                      \
  X(kWaitall, "waitall", waitall, waitall)                                                                             \
  /* 0 barrier */                                                                                                      \
  X(kBarrier, "barrier", barrier, barrier)                                                                             \
  /* 0 bcast 3 1 [6]: count, root, datatype id */                                                                      \
  X(kBcast, "bcast", bcast, bcast)                                                                                     \
  /* 0 reduce 3 5e2 1 [6]: count, flops, root, datatype id */                                                          \
  X(kReduce, "reduce", reduction, reduce)                                                                              \
  /* 0 allreduce 4 1e3 [6]: count, flops, datatype id */                                                               \
  X(kAllreduce, "allreduce", reduction, allreduce)                                                                     \
  /* 0 alltoall 4 4 [6 6]: count to each rank, count from each, datatype ids */                                        \
  X(kAlltoall, "alltoall", exchange, alltoall)                                                                         \
  /* 0 alltoallv 3 1 2 4 1 3 [6 6], of two ranks: size of the send buffer, count to each rank, size of the             \
       receive buffer, count from each rank, datatype ids */                                                           \
  X(kAlltoallv, "alltoallv", alltoallv, alltoallv)                                                                     \
  /* 0 gather 4 4 1 [6 6]: count to the root, count from each rank, root, datatype ids */                              \
  X(kGather, "gather", exchange, gather)                                                                               \
  /* 0 scatter 4 4 1 [6 6]: count to each rank, count from the root, root, datatype ids */                             \
  X(kScatter, "scatter", exchange, scatter)                                                                            \
  /* 0 allgather 4 4 [6 6]: count to each rank, count from each, datatype ids */                                       \
  X(kAllgather, "allgather", exchange, allgather)                                                                      \
  /* 0 allgatherv 3 3 5 [6 6] [0 3], of two ranks: count to send, count from each rank, datatype ids,                  \
       displacements */                                                                                                \
  X(kAllgatherv, "allgatherv", allgatherv, allgatherv)                                                                 \
  /* 0 gatherv 3 3 5 0 [6 6], of two ranks: count to send, count from each rank, root, datatype ids */                 \
  X(kGatherv, "gatherv", gatherv, gatherv)                                                                             \
  /* 0 scatterv 3 5 3 0 [6 6], of two ranks: count to each rank, count to receive, root, datatype ids */               \
  X(kScatterv, "scatterv", gatherv, scatterv)                                                                          \
  /* 0 reducescatter 3 5 7e1 [6], of two ranks: count for each rank, flops, datatype id */                             \
  X(kReduceScatter, "reducescatter", reduce_scatter, reduce_scatter)                                                   \
  /* 0 scan 4 1e3 [6]: as allreduce */                                                                                 \
  X(kScan, "scan", reduction, scan)                                                                                    \
  X(kExscan, "exscan", reduction, exscan)
// clang-format on

enum class Action : std::uint8_t {
#define WEFT_X(id, text, read, kind) id,
  WEFT_TI_ACTIONS(WEFT_X)
#undef WEFT_X
};
inline constexpr std::string_view kActionNames[] = {
#define WEFT_X(id, text, read, kind) text,
    WEFT_TI_ACTIONS(WEFT_X)
#undef WEFT_X
};

// What SMPI writes (src/smpi/bindings of 3.32; isendRecv: of 3.35) and its own replayer does not know.
inline constexpr std::string_view kActionsOfSmpiAlone[] = {
    "bsend", "ibsend", "Start", "Startall", "waitAny", "testany", "testall", "testsome", "ibarrier", "ibcast",
    "igather", "igatherv", "iscatter", "iscatterv", "iallgather", "iallgatherv", "ireduce", "iscan",
    "ireducescatter", "iexscan", "iallreduce", "ialltoall", "ialltoallv", "isendRecv",
    // One-sided.
    "Get", "Rget", "Put", "Rput", "Accumulate", "Raccumulate", "Get_accumulate", "Rget_accumulate",
    "Compare_and_swap", "Win_fence", "Win_post", "Win_start", "Win_complete", "Win_wait", "Win_lock",
    "Win_unlock", "Win_lock_all", "Win_unlock_all", "Win_flush", "Win_flush_local", "Win_flush_all",
    "Win_flush_local_all"};

inline std::string known_actions() {
  std::string all = "one of";
  for (const std::string_view a : kActionNames) all += fmt::format(" {}", a);
  return all;
}

// Bytes of SimGrid's datatype ids, as SimGrid counts them (src/smpi/mpi/smpi_datatype.cpp of 3.32 and 3.36): there a
// COMPLEX32 is a COMPLEX16, an INTEGER1 an int. Id -1 (null) has 0 bytes.
inline constexpr std::array<int, 60> kTypeBytes = {
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1,    // double int char short long
                                     // float byte longlong schar
                                     // uchar
    2, 4, 8, 8, 16, 4, 1, 1, 2, 4,   // ushort uint ulong ulonglong
                                     // ldouble wchar bool int8 int16
                                     // int32
    8, 1, 2, 4, 8, 8, 16, 32, 8, 8,  // int64 uint8..64 complex8
                                     // complex16 complex32 aint
                                     // offset
    8, 16, 16, 8, 8, 8, 16, 16,      // float_int long_int double_int
                                     // short_int 2int 2float 2double 2long
    4, 4, 8, 16, 8, 16, 16, 4, 2, 4, 8,
    16,                                // Fortran real, real4..16, complex8..32, integer1..16
    32, 1, 8, 16, 32, 0, 0, 1, 8, 8};  // ldouble_int, C++ bool, complex8..32; ub lb packed pointer count
static_assert(kTypeBytes.size() == 60);
inline constexpr std::int64_t kByteType = 6;
inline constexpr std::int64_t kDoubleType = 0;

// SimGrid's wildcard values (include/smpi/smpi.h), which a recorded trace may hold. SMPI 3.32 writes both of the first two as
// the rank of nobody in a group, MPI_UNDEFINED.
inline constexpr std::int64_t kSmpiAnySource = -555;
inline constexpr std::int64_t kSmpiProcNull = -666;
inline constexpr std::int64_t kSmpiUndefined = -333;
inline constexpr std::int64_t kSmpiAnyTag = -444;

[[nodiscard]] inline bool is_action_of_smpi_alone(std::string_view t) {
  return std::ranges::find(kActionsOfSmpiAlone, t) != std::end(kActionsOfSmpiAlone);
}

// The action that a token names. Lines of the most frequent ones do not ask (parser.cpp).
[[nodiscard]] inline std::optional<Action> find_action(std::string_view t) {
  for (std::size_t i = 0; i < std::size(kActionNames); ++i)
    if (t == kActionNames[i]) return static_cast<Action>(i);
  return std::nullopt;
}

}  // namespace weft::traces::ti
