// One rank: a row, not a thread or a fiber. Where it is in its program, what it waits for, where its time went.
//
// A rank runs until an operation must wait; then `stage` says how far that operation is, and it is entered again when
// the rank is woken. `pending` completions are awaited; the last of them makes a blocked rank ready.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/prefetch.hpp"
#include "replay/ranks/program_cursor.hpp"
#include "replay/ranks/requests.hpp"
#include "replay/time.hpp"

namespace weft::replay {

// Where a rank stands within its current operation.
enum class Stage : std::uint8_t {
  kFresh,         // not begun
  kOverheadPaid,  // send overhead is over, the message leaves now
  kLooks,         // a poll or a cancel: all else that comes at its instant has happened
  kWaiting,       // completions are awaited; receive overheads may follow
  kFinishing,     // nothing is left but to go on
};
// What an operation came to, as the number of operations that are over.
enum class Step : std::uint8_t {
  kBlocked = 0,   // an event or a completion wakes the rank, or the replay is over
  kDone = 1,      // this one
  kBothDone = 2,  // and the one after it
  kSkip = 3       // the operation has set the program position
};
enum class RankState : std::uint8_t { kReady, kBlocked, kProbing, kRunning, kDone };
// What an instant of a rank counts for: the five parts of RankTimes, whose `recv` has polls for a message (iprobe) in it, too.
enum class Part : std::uint8_t { kCompute, kPoll, kSend, kRecv, kWait, kCollective };
inline constexpr std::size_t kParts = 6;

// Tens of MB of ranks do not stay in a cache. What every wake touches stands on the first line, with the first of `program`, and
// from `since` on.
struct alignas(64) Rank {
  std::uint64_t pc = 0;
  std::uint32_t pending = 0;
  RankState state = RankState::kReady;
  Stage stage = Stage::kFresh;
  Part part = Part::kCompute;
  bool in_detour = false;
  bool computed = false;  // more than copies, since it last sent or received
  ProgramCursor program;
  Instant op_start;
  Instant blocked_since;
  std::int64_t received = 0;  // bytes of the message that its blocking call received last
  // When what it did last that took time began: a computation, processor time of a message or poll, a wait, a collective.
  alignas(kCacheLine) Instant since;
  Elapsed spent[kParts];  // by Part
  Requests requests;
  std::uint64_t detour_end = 0;  // a conditional step's body runs early: [.., detour_end), then return_pc
  std::uint64_t return_pc = 0;
  Instant finish;
  std::vector<std::uint64_t> hits_done;  // conditional steps whose body ran early

  // A hint to the processor: the rank goes on soon.
  void prefetch() const {
    __builtin_prefetch(this);
    prefetch_row(spent);
    prefetch_row(requests);
  }
  void spend(Part p, Elapsed d) { spent[static_cast<int>(p)] += d; }
  [[nodiscard]] Elapsed total(Part p) const { return spent[static_cast<int>(p)]; }
};

}  // namespace weft::replay
