// What one rank's lines say of communicators, by the rank's own handles. communicators.hpp makes the communicators of the trace
// of the logs of all ranks.
//
// A line names a communicator by its handle, and says the rank and the size that it has there. A call that makes one does not say the
// handle of what it made: that comes to light where it is used.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

namespace weft::traces::allprof {

inline constexpr std::uint32_t kNone = 0xffffffffu;

// Handles of MPICH have their kind in the upper bits. Small numbers are Fortran handles of Open MPI.
[[nodiscard]] constexpr bool is_mpich_comm(std::uint64_t handle) {
  return handle >> 26 == 0x11 || handle >> 26 == 0x21 || handle >> 26 == 0x31;
}
[[nodiscard]] constexpr bool is_small_handle(std::uint64_t handle) { return handle < 1u << 16; }
// Of the world and of MPI_COMM_SELF; those of Open MPI in C are addresses.
[[nodiscard]] constexpr bool is_predefined(std::uint64_t handle) {
  return handle == 0 || handle == 1 || handle == 0x44000000 || handle == 0x44000001;
}

// A communicator of a rank: the position in CommLog::uses of what a handle stands for, for some time: where it may have been freed, its
// handle counts as another from then on.
using LocalComm = std::uint32_t;

// What goes from or to another rank of a communicator, so that both can be compared.
struct Traffic {
  std::uint64_t sent = 0, received = 0;              // messages whose peer and tag are named
  std::uint64_t sent_tags = 0, received_tags = 0;    // sums over them of a hash of the tag
  std::uint64_t sent_bytes = 0, received_bytes = 0;  // of receives the room that there is
};

struct CommUse {
  std::uint64_t handle = 0;
  std::int32_t rank = 0, size = 0;
  LocalComm before = kNone;  // what the same handle stood for before, with the same rank and size
  std::uint64_t collectives =
      0;  // a hash of the calls on it, with what MPI wants to be the same at all members
  std::map<std::int32_t, Traffic> with;  // by rank of the communicator
};

// A call that makes communicators.
struct CommMade {
  enum class How : std::uint8_t { dup, split, split_type, create, prefix, cart_sub, inter, merge };
  How how{};
  bool reorder = false;
  LocalComm parent = 0;
  std::int32_t color = 0, key = 0;
  std::uint64_t variable = 0;  // the address that its handle was written to
  std::uint32_t line = 0;
  // Uses with a position from `since` on, below `until`, may be of it.
  std::uint32_t since = 0, until = std::numeric_limits<std::uint32_t>::max();
  bool guessed = false;   // `until`
  LocalComm use = kNone;  // of which it is known at once that it is of it
};

struct CommLog {
  std::vector<CommUse> uses;
  std::vector<CommMade> made;
};

// The log of one rank while its lines go by. Two readings of the same lines give the same numbers.
class CommTable {
 public:
  [[nodiscard]] LocalComm of(std::uint64_t handle, std::int32_t rank, std::int32_t size) {
    const auto [at, fresh] = by_handle_.try_emplace(handle, kNone);
    if (!fresh) {
      const CommUse& known = log_.uses[at->second];
      if (known.rank == rank && known.size == size) return at->second;
    }
    const auto use = static_cast<LocalComm>(log_.uses.size());
    at->second = use;
    CommUse u{.handle = handle, .rank = rank, .size = size, .collectives = 0, .with = {}};
    const auto [last, first] = last_.try_emplace(handle, use);
    if (!first && log_.uses[last->second].rank == rank && log_.uses[last->second].size == size)
      u.before = last->second;
    last->second = use;
    log_.uses.push_back(std::move(u));
    claim(use);
    return use;
  }
  // Returns the position in CommLog::made.
  std::uint32_t make(CommMade m) {
    m.since = static_cast<std::uint32_t>(log_.uses.size());
    const auto at = static_cast<std::uint32_t>(log_.made.size());
    by_variable_[m.variable] = at;
    alive_.insert(at);
    // Of those that make one of a group, many ranks get none.
    if (m.how != CommMade::How::create) open_.insert(at);
    log_.made.push_back(m);
    return at;
  }
  // What MPI_Comm_free frees there; its handle may be another's from now on. Where nothing was made there the handle was copied: it is
  // taken to be the last that was made and not freed, and kNone is returned.
  std::uint32_t free(std::uint64_t variable) {
    const auto at = by_variable_.find(variable);
    const bool copied = at == by_variable_.end();
    if (copied && alive_.empty()) return kNone;
    const std::uint32_t made = copied ? *alive_.rbegin() : at->second;
    CommMade& m = log_.made[made];
    by_variable_.erase(m.variable);
    open_.erase(made);
    alive_.erase(made);
    m.until = static_cast<std::uint32_t>(log_.uses.size());
    m.guessed = copied;
    if (m.use != kNone) {
      by_handle_.erase(log_.uses[m.use].handle);
    } else {
      by_handle_.clear();  // one of them
    }
    return copied ? kNone : made;
  }
  [[nodiscard]] CommLog& log() { return log_; }

 private:
  // A new handle is that of the only communicator that was made and not seen yet.
  void claim(LocalComm use) {
    const CommUse& u = log_.uses[use];
    if (open_.size() != 1 || is_predefined(u.handle)) return;
    CommMade& m = log_.made[*open_.begin()];
    const CommUse& parent = log_.uses[m.parent];
    const bool same = u.rank == parent.rank && u.size == parent.size;
    if (m.how == CommMade::How::dup ? !same : m.how != CommMade::How::merge && u.size > parent.size) return;
    m.use = use;
    open_.clear();
  }

  CommLog log_;
  std::unordered_map<std::uint64_t, LocalComm> by_handle_, last_;
  std::unordered_map<std::uint64_t, std::uint32_t>
      by_variable_;                // the last that was made there and not freed
  std::set<std::uint32_t> alive_;  // made and not freed
  std::set<std::uint32_t> open_;   // made, not freed and not seen
};

}  // namespace weft::traces::allprof
