// Detours: what a rank does where a poll finds a message earlier than it did in the recording.
//
// In a trace a program that polls with Iprobe is a *run* of polls that missed, the poll that hit, and behind it the hit's
// *body*, which deals with the message. On another network the message may be there at one of the polls that missed. From
// there the rank jumps to the body (take_detour), when that is over back behind the poll (end_detour), and past the hit with
// its body when it comes to them in their own place (pass_body_that_ran). Until then Rank::hits_done has the hit
// (docs/model.md, "Probes as conditional steps").
// Complexity: O(hits in hits_done) a call, which are few.
#pragma once

#include <cstdint>
#include <optional>

#include "core/result.hpp"
#include "replay/ranks/rank.hpp"
#include "traces/op.hpp"

namespace weft::replay {

// The rank is at the end of a body that ran early: it goes on where it left. Nothing of its program is at_hand() until then.
inline void end_detour(Rank& k) {
  if (!k.in_detour || k.pc < k.detour_end) return;
  k.pc = k.return_pc;
  k.in_detour = false;
  k.program.be_asked(false);
}

// The rank's next operation, which is at_hand() then if it may be; null: the program is over. Blocks that are over go.
[[nodiscard]] inline Result<const traces::Op*> fetch(Rank& k) {
  end_detour(k);
  if (!k.in_detour) k.program.release_before(k.pc);
  return k.program.at(k.pc);
}

// The body of that hit ran at an earlier poll.
[[nodiscard]] bool body_ran(const Rank& k, std::uint64_t hit);
// The hit of the run of the poll `op` at `pc`, which missed in the recording; none: nothing of that run hit.
[[nodiscard]] std::optional<std::uint64_t> hit_of_missed_poll(const Rank& k, std::uint64_t pc,
                                                              const traces::Op& op);
// The poll `op` at `pc` finds nothing any more: the body of its run's hit ran already.
[[nodiscard]] bool poll_is_over(const Rank& k, std::uint64_t pc, const traces::Op& op);

enum class Detour : std::uint8_t {
  kTaken,  // the rank is at the body
  kEmpty,  // there is none
  kNoHit   // the poll points at no hit
};
// The rank is at a poll of the run of `hit`, which finds the message: takes it to the body. Error: the program cannot be read.
[[nodiscard]] Result<Detour> take_detour(Rank& k, std::uint64_t hit);
// The rank is at the hit `op`: takes it behind the body if that ran. False: it did not.
[[nodiscard]] bool pass_body_that_ran(Rank& k, const traces::Op& op);

}  // namespace weft::replay
