// The requests of one rank, by the address of the variable that holds them, which is all that a line says of a request.
//
// An array of requests is told by its first address and its length; how far its elements are apart follows from the MPI library of
// the call that posted them: 8 bytes where handles are addresses (Open MPI in C), else 4 (MPICH, Fortran). A slot is the smallest
// free one. Memory: the requests that are outstanding. O(log n) a request.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "traces/formats/liballprof/comm_log.hpp"
#include "traces/formats/request_slots.hpp"
#include "traces/op.hpp"

namespace weft::traces::allprof {

inline constexpr std::uint64_t kNoCall = UINT64_MAX;
// Requests that the calls of a rank name, all in all: a line of fifty bytes may name very many.
inline constexpr std::uint64_t kMostNamed = std::uint64_t{1} << 31;

struct Request {
  std::uint32_t slot = kNoRequest;  // kNoRequest: no operation stands for it
  std::uint64_t ordinal = 0;        // of what posted or started it
  Op op;
  std::uint32_t width = 8;  // bytes from this element of an array to the next
  bool receive = false, persistent = false;
  bool active = false;
  bool cancelled = false;  // MPI_Cancel was called since it was posted or started
  bool withdrawn = false;  // active by a start that is left out, because it was cancelled
  std::uint64_t done_by =
      kNoCall;  // the call of those that do not say what they complete; while surveying: that named it last

  [[nodiscard]] bool has_operation() const { return slot != kNoRequest && !withdrawn; }
};

[[nodiscard]] constexpr std::uint32_t request_width(std::uint64_t comm_handle) {
  return is_small_handle(comm_handle) || is_mpich_comm(comm_handle) ? 4 : 8;
}

class Requests {
 public:
  [[nodiscard]] Request* find(std::uint64_t address) {
    const auto it = at_.find(address);
    return it == at_.end() ? nullptr : &it->second;
  }
  Request& put(std::uint64_t address, const Request& r) { return at_[address] = r; }
  void erase(std::uint64_t address) { at_.erase(address); }
  // Calls f(address, request) for those in an array of `n` at `base`, in its order. f may not add or remove any.
  template <class F>
  void in_array(std::uint64_t base, std::int64_t n, F&& f) {
    if (n <= 0) return;
    for (auto it = at_.lower_bound(base); it != at_.end(); ++it, ++named_) {
      const std::uint64_t beyond = it->first - base;
      if (beyond / 8 >= static_cast<std::uint64_t>(n)) return;
      if (beyond % it->second.width == 0 && beyond / it->second.width < static_cast<std::uint64_t>(n))
        f(it->first, it->second);
    }
  }
  template <class F>
  void for_each(F&& f) {
    for (auto& [address, r] : at_) f(address, r);
  }
  [[nodiscard]] bool too_many_named() const { return named_ > kMostNamed; }

  [[nodiscard]] std::uint32_t take_slot() { return slots_.take(); }
  void give_back(std::uint32_t slot) {
    if (slot != kNoRequest) slots_.give(slot);
  }
  [[nodiscard]] std::uint64_t slots_in_use() const { return slots_.in_use(); }

 private:
  std::map<std::uint64_t, Request> at_;
  RequestSlots slots_;
  std::uint64_t named_ = 0;
};

// What only all lines of a rank tell.
struct Ahead {
  struct Done {  // a request that a call completed which does not say so: it is the last that names it
    std::uint64_t ordinal, call;
  };
  std::vector<Done> done;                // by ordinal
  std::vector<std::uint64_t> cancelled;  // ordinals of receives that MPI_Cancel was called for
  std::vector<std::uint64_t> copied;     // of requests that no call names where they were posted
};

}  // namespace weft::traces::allprof
