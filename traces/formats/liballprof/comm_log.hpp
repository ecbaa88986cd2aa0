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
    const auto same = [&](LocalComm u) { return log_.uses[u].rank == rank && log_.uses[u].size == size; };
    if (!fresh && same(at->second)) {
      named_[at->second] = changes_;
      return at->second;
    }
    const auto use = static_cast<LocalComm>(log_.uses.size());
    const auto [last, first] = last_.try_emplace(handle, use);
    const LocalComm before = !first && same(last->second) ? last->second : kNone;
    // Some copy was freed, and nothing made since: not the handle of this one.
    if (fresh && before != kNone && named_[before] == changes_) {
      named_after_frees(made_of_[before]);
      return at->second = before;
    }
    at->second = last->second = use;
    log_.uses.push_back({.handle = handle, .rank = rank, .size = size, .before = before, .with = {}});
    named_.push_back(changes_);
    made_of_.push_back(before != kNone && is_alive(made_of_[before]) ? made_of_[before] : kNone);
    claim(use);
    return use;
  }
  // Returns the position in CommLog::made.
  std::uint32_t make(CommMade m) {
    m.since = static_cast<std::uint32_t>(log_.uses.size());
    const auto at = static_cast<std::uint32_t>(log_.made.size());
    by_variable_[m.variable] = at;
    alive_.insert(at);
    ++changes_;
    guesses_.clear();
    // Of those that make one of a group, many ranks get none.
    if (m.how != CommMade::How::create) open_.insert(at);
    log_.made.push_back(m);
    return at;
  }
  // What MPI_Comm_free frees there; its handle may be another's from now on. Where nothing was made there the handle was copied: it is
  // taken to be the last that was made and is neither freed nor named again before something is made, and kNone is returned.
  std::uint32_t free(std::uint64_t variable) {
    const auto now = static_cast<std::uint32_t>(log_.uses.size());
    const auto at = by_variable_.find(variable);
    if (at == by_variable_.end()) {
      guesses_.push_back({.until = now, .made = kNone, .named = {}});
      guess(guesses_.back());
      by_handle_.clear();
      return kNone;
    }
    const std::uint32_t made = at->second;
    const LocalComm use = log_.made[made].use;
    gone(made, now);
    if (use != kNone) {
      by_handle_.erase(log_.uses[use].handle);
      named_[use] = kNone;
    } else {
      by_handle_.clear();  // one of them
      ++changes_;
    }
    return made;
  }
  [[nodiscard]] CommLog& log() { return log_; }

 private:
  // What a free of a copy is taken to have freed.
  struct Guess {
    std::uint32_t until, made;
    std::set<std::uint32_t> named;  // since, so not freed
  };

  [[nodiscard]] bool is_alive(std::uint32_t made) const { return made != kNone && alive_.contains(made); }
  void gone(std::uint32_t made, std::uint32_t until) {
    CommMade& m = log_.made[made];
    m.until = until;
    if (const auto at = by_variable_.find(m.variable); at != by_variable_.end() && at->second == made)
      by_variable_.erase(at);
    open_.erase(made);
    alive_.erase(made);
  }
  void guess(Guess& g) {
    g.made = kNone;
    for (auto it = alive_.rbegin(); it != alive_.rend() && g.made == kNone; ++it)
      if (!g.named.contains(*it)) g.made = *it;
    if (g.made == kNone) return;
    log_.made[g.made].guessed = true;
    gone(g.made, g.until);
  }
  void named_after_frees(std::uint32_t made) {
    if (made == kNone) return;
    for (Guess& g : guesses_) {
      if (!g.named.insert(made).second || g.made != made) continue;
      CommMade& m = log_.made[made];
      m.until = std::numeric_limits<std::uint32_t>::max();
      m.guessed = false;
      by_variable_.try_emplace(m.variable, made);
      alive_.insert(made);
      guess(g);
    }
  }
  // A new handle is that of the only communicator that was made and not seen yet.
  void claim(LocalComm use) {
    const CommUse& u = log_.uses[use];
    if (open_.size() != 1 || is_predefined(u.handle)) return;
    // One that may still be what it was.
    if (u.before != kNone && made_of_[use] != kNone) return;
    CommMade& m = log_.made[*open_.begin()];
    const CommUse& parent = log_.uses[m.parent];
    const bool same = u.rank == parent.rank && u.size == parent.size;
    if (m.how == CommMade::How::dup ? !same : m.how != CommMade::How::merge && u.size > parent.size) return;
    m.use = use;
    made_of_[use] = *open_.begin();
    open_.clear();
  }

  CommLog log_;
  std::unordered_map<std::uint64_t, LocalComm> by_handle_, last_;
  std::unordered_map<std::uint64_t, std::uint32_t>
      by_variable_;                     // the last that was made there and not freed
  std::set<std::uint32_t> alive_;       // made and not freed
  std::set<std::uint32_t> open_;        // made, not freed and not seen
  std::vector<std::uint32_t> made_of_;  // of each use, where that is known at once
  // Counts what may give a handle to another; of each use: when it was named last.
  std::uint32_t changes_ = 0;
  std::vector<std::uint32_t> named_;
  std::vector<Guess> guesses_;  // since something was made
};

}  // namespace weft::traces::allprof
