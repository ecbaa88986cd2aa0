// The spool: what the preloaded recorder leaves behind, one file per MPI process, and merge/ reads.
//
// A spool is written through a shared mapping, so that the pages survive SIGKILL and abort(). Layout:
//   SpoolHeader (kSpoolHeaderBytes), then records back to back: SpoolRecord, then list_words 64-bit words.
// Invariants:
//  1. All numbers are in the byte order of the machine that wrote them; `magic` tells whether it is ours.
//  2. A record counts once its first word is not 0; that word is written last, so the tail of a killed
//  process is clean.
//  3. A record whose flags have kOpen was entered and never left: the process ended inside that call, or an error handler
//  jumped out of it, and a communicator that it was to make is none; its arguments may be what MPI refuses. One with kFailed
//  counts for its gap only.
//  4. With several threads a blocking call has two places: where it was entered, and its kLeft. Whatever starts a
//  message is written before MPI gets it, whatever tells of its end after: so the order of a spool, with waits
//  and the making of communicators at their kLeft, is one in which the program can run without a deadlock.
//  5. kPadding fills the rest of a mapping window that the next record did not fit into.
// Bump kSpoolVersion with any change; recorder and merge of different versions refuse each other.
//
// This header is included by the recorder, which must not need any library: plain data and inline arithmetic
// only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::recorder {

inline constexpr std::uint64_t kSpoolMagic = 0x31304c4f4f505357ULL;  // "WSPOOL01"
inline constexpr std::uint32_t kSpoolVersion = 9;
inline constexpr std::size_t kSpoolHeaderBytes = 8192;

// Environment of the recorded processes.
inline constexpr const char* kEnvDirectory = "WEFT_RECORD_DIR";  // where the spools go; unset = do not record
inline constexpr const char* kEnvClock = "WEFT_RECORD_CLOCK";    // "cpu" (default) or "wall"

// In the spool directory: a line that says which program was started without the recorder (pmpi/lost.cpp).
inline constexpr const char* kLostFile = "lost.txt";
// And one that says whose MPI no recorder was there for (pmpi/right_library.cpp).
inline constexpr const char* kWrongMpiFile = "wrong_mpi.txt";
// And one of a program that has a session of MPI 4 and not called MPI_Init before.
inline constexpr const char* kSessionFile = "session.txt";

// Groups of MPI functions that a trace has no place for; not_recorded.def lists the functions.
#define WEFT_NOT_RECORDED_GROUPS(X)        \
  X(rma, "one-sided communication")        \
  X(io, "file I/O")                        \
  X(dynamic, "dynamic process management") \
  X(mpi4, "sessions, partitioned messages and Isendrecv of MPI 4")

// Other things that were seen and are not in the trace as such: X(id, weight, noun that is counted, the rest).
// kLost: calls that communicate are missing, a group of the header like those above (its name is the noun and the rest), so the
// trace is one of another program. kPart: part of the program's behaviour is missing, a warning. kNote: the trace is right without it.
// clang-format off
#define WEFT_NOT_RECORDED_OTHERS(X)                                                                                               \
  X(unknown_comm, kLost, "communication", "on communicators whose creation was not seen (dynamic processes, or made inside a callback)") \
  X(intercomm_collective, kLost, "communication", "on inter-communicators")                                                       \
  X(unknown_request, kLost, "completion", "of requests whose start was not seen (generalized, one-sided, file I/O)")              \
  X(unknown_start, kLost, "start", "of requests whose making was not recorded (partitioned messages)")                            \
  X(callback_message, kLost, "communication", "inside callbacks (of attributes, error handlers, generalized requests)")           \
  X(unknown_free, kNote, "free", "of communicators whose creation was not seen")                                                     \
  X(failed, kNote, "call", "returned an error and did nothing: left out")                                                         \
  X(truncated, kNote, "call", "returned MPI_ERR_TRUNCATE or MPI_ERR_IN_STATUS: kept as made")                                     \
  X(cancelled, kNote, "receive", "cancelled before anything matched: left out, with MPI_Cancel")                                  \
  X(left, kNote, "call", "left by an exception or a jump of an error handler: kept as made")                                      \
  X(in_callback, kPart, "call", "inside callbacks of MPI that make or free communicators or requests")
// clang-format on

enum class NotRecorded : std::uint32_t {
#define WEFT_COUNTED(group, name, params, args) name,
#include "traces/recorder/not_recorded.def"
#undef WEFT_COUNTED
  functions_,  // number of functions above
  before_others_ = functions_ - 1,
#define WEFT_X(id, weight, noun, text) id,
  WEFT_NOT_RECORDED_OTHERS(WEFT_X)
#undef WEFT_X
      count_
};
inline constexpr std::size_t kCountedFunctions = static_cast<std::size_t>(NotRecorded::functions_);
inline constexpr std::size_t kNotRecordedCount = static_cast<std::size_t>(NotRecorded::count_);

// SpoolHeader::out_of_space.
inline constexpr std::uint32_t kDiskFull = 1;
inline constexpr std::uint32_t kFileLost =
    2;  // the program closed the spool, and it could not be opened again
inline constexpr std::uint32_t kTooManyThreads = 3;  // at once, for SpoolRecord::thread

struct SpoolHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint64_t job;  // the same on all processes of one MPI_COMM_WORLD
  std::int32_t world_rank;
  std::int32_t world_size;
  std::int64_t pid;
  std::int64_t clock_resolution_ns;
  std::uint32_t cpu_clock;     // 1: compute is CPU time of the thread; 0: wall time
  std::uint32_t thread_level;  // what MPI_Init_thread granted
  std::uint32_t finalized;     // 1 once MPI_Finalize was entered
  std::uint32_t out_of_space;  // not 0: why the rest of this process is missing
  std::int64_t start_time_ns;  // CLOCK_REALTIME at MPI_Init: orders the jobs of one recording
  std::int64_t cpu_ns;   // time outside MPI between init and finalize, all threads that call MPI: CPU time
  std::int64_t wall_ns;  // and wall time
  std::uint64_t concurrent;  // calls made while another thread of the process was inside MPI
  std::uint64_t threads;     // threads that called MPI, all that there ever were
  std::int64_t spun_ns;  // in stretches of kMinComputePs to kSpinGapNs around polls that said no: in no gap
  std::uint64_t not_recorded[128];  // by NotRecorded
  char hostname[256];
  char mpi_version[2048];
  char program[1024];  // argv[0] of the process
};
static_assert(sizeof(SpoolHeader) <= kSpoolHeaderBytes);
static_assert(kNotRecordedCount <= 128);

// SpoolRecord::kind: an OpKind + 1 (traces/op.hpp), or one of these.
// comm = local id, amount = members, list = CommKey (2), order (0: of the rank alone, < 0: of a persistent collective), members...
inline constexpr std::uint8_t kCommDefine = 250;
inline constexpr std::uint8_t kLeft = 252;     // the blocking call that this thread is in returned here
inline constexpr std::uint8_t kPadding = 251;  // first word only, then list_words words of nothing

// SpoolRecord::flags. The low bits are OpFlags of traces/op.hpp.
inline constexpr std::uint8_t kOpen = 0x80;
inline constexpr std::uint8_t kFailed = 0x40;  // the call returned an error and did nothing

inline constexpr std::int32_t kNoMatch = INT32_MIN;  // SpoolRecord::source of what matched nothing (yet)
inline constexpr std::int32_t kCancelled = INT32_MIN + 1;  // SpoolCompletion::source of a cancelled receive
inline constexpr std::uint32_t kNoSlot = 0xffffffffu;

struct SpoolRecord {
  std::uint8_t kind;
  std::uint8_t flags;
  std::uint16_t thread;  // of the process: no other's at the same time
  std::uint32_t list_words;
  std::int64_t gap_ns;  // time outside MPI since the call before, by the clock of the header
  std::uint32_t comm;   // local id: 0 the world, else a kCommDefine of this file
  std::uint32_t request;
  std::int32_t peer;  // world rank, kAnySource, kProcNull
  std::int32_t tag;
  std::int64_t amount;
  std::int32_t source;  // what matched: world rank, tag, bytes
  std::int32_t matched_tag;
  std::int64_t matched_bytes;
};
static_assert(sizeof(SpoolRecord) == 56);

// The list of a completion (wait*, test*): asked, that many slots, completed, then four words for each
// completed one. Calls that complete some of very many name none that they asked for: only those that completed are meant.
struct SpoolCompletion {
  std::int64_t slot;
  std::int64_t source;  // kNoMatch unless a receive
  std::int64_t tag;
  std::int64_t bytes;
};

// Names a communicator the same way on all its members without any message: every member of the parent runs
// the parent's collective creation calls in the same order, so (parent, number of the call, members) is
// agreed.
struct CommKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  void mix(std::uint64_t value) {
    high = scramble(high ^ value);
    low = scramble(low + (value ^ 0x9e3779b97f4a7c15ULL) + (high >> 7));
  }
  static std::uint64_t scramble(std::uint64_t x) {  // finalizer of SplitMix64 (Steele, Lea, Flood 2014)
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }
};

}  // namespace weft::recorder
