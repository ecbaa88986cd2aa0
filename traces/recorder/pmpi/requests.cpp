// Requests by their handle, and by handle and variable: of a handle that several share the variable tells which.
#include <stdlib.h>

#include "traces/recorder/pmpi/state.hpp"

namespace weft::recorder {

std::uint32_t Requests::reserve() {
  if (free_count_ == 0) grow();
  const std::uint32_t slot = free_[--free_count_];
  slots_[slot] = Slot{};
  slots_[slot].used = true;
  return slot;
}

void Requests::rebind(std::uint32_t slot, MPI_Request handle, const void* address) {
  if (slots_[slot].handle == handle || !slots_[slot].bound) return;
  unlink(slot);
  unlink_own(slot);
  bind(slot, handle, address);
}

void Requests::bind(std::uint32_t slot, MPI_Request handle, const void* address) {
  // The variable holds this request now; an older one of a shared handle was copied elsewhere.
  const std::uint32_t older = find_own(handle, address);
  if (older != kNoSlot) {
    unlink_own(older);
    slots_[older].address = nullptr;
  }
  slots_[slot].handle = handle;
  slots_[slot].address = address;
  slots_[slot].bound = true;
  link(slot);
  link_own(slot);
}

void Requests::grow() {
  const std::uint32_t old = capacity_;
  capacity_ = old == 0 ? 1024 : 2 * old;
  slots_ = static_cast<Slot*>(realloc(slots_, sizeof(Slot) * capacity_));
  for (std::uint32_t** numbers : {&free_, &head_, &tail_, &own_})
    *numbers = static_cast<std::uint32_t*>(realloc(*numbers, sizeof(std::uint32_t) * capacity_));
  for (std::uint32_t i = 0; i < capacity_; ++i) head_[i] = tail_[i] = own_[i] = kNoSlot;
  for (std::uint32_t i = 0; i < old; ++i)
    if (slots_[i].bound) {
      link(i);
      link_own(i);
    }
  for (std::uint32_t i = capacity_; i > old; --i) free_[free_count_++] = i - 1;
}

void Requests::link(std::uint32_t slot) {
  const std::uint32_t b = bucket_of(slots_[slot].handle);
  slots_[slot].next = kNoSlot;
  slots_[slot].previous = tail_[b];
  (tail_[b] == kNoSlot ? head_[b] : slots_[tail_[b]].next) = slot;
  tail_[b] = slot;
}

void Requests::unlink(std::uint32_t slot) {
  const std::uint32_t b = bucket_of(slots_[slot].handle);
  const Slot& s = slots_[slot];
  (s.previous == kNoSlot ? head_[b] : slots_[s.previous].next) = s.next;
  (s.next == kNoSlot ? tail_[b] : slots_[s.next].previous) = s.previous;
}

void Requests::link_own(std::uint32_t slot) {
  Slot& s = slots_[slot];
  if (s.address == nullptr) return;
  std::uint32_t& first = own_[bucket_of(s.handle, s.address)];
  s.own_next = first;
  s.own_previous = kNoSlot;
  if (first != kNoSlot) slots_[first].own_previous = slot;
  first = slot;
}

void Requests::unlink_own(std::uint32_t slot) {
  const Slot& s = slots_[slot];
  if (s.address == nullptr) return;
  (s.own_previous == kNoSlot ? own_[bucket_of(s.handle, s.address)] : slots_[s.own_previous].own_next) =
      s.own_next;
  if (s.own_next != kNoSlot) slots_[s.own_next].own_previous = s.own_previous;
}

std::uint32_t Requests::find_own(MPI_Request handle, const void* address) const {
  std::uint32_t i = own_[bucket_of(handle, address)];
  while (i != kNoSlot && (slots_[i].handle != handle || slots_[i].address != address)) i = slots_[i].own_next;
  return i;
}

std::uint32_t Requests::find(MPI_Request handle, const void* address, const Claim& claim) {
  if (capacity_ == 0) return kNoSlot;
  // Several requests share one handle when the library completed them at once: prefer the program's own variable,
  // else the oldest that no other thread is about to end. Looked-up slots move to the end, so a wait on n of them stays O(n).
  std::uint32_t found = find_own(handle, address);
  if (found == kNoSlot || slots_[found].claimed == claim.call || is_others(slots_[found], claim)) {
    found = head_[bucket_of(handle)];
    while (found != kNoSlot && (slots_[found].handle != handle || is_others(slots_[found], claim)))
      found = slots_[found].next;
    if (found == kNoSlot || slots_[found].claimed == claim.call) return kNoSlot;
  }
  slots_[found].claimed = claim.call;
  slots_[found].claimed_by = claim.thread;
  unlink(found);
  link(found);
  return found;
}

std::uint32_t Requests::find_any(MPI_Request handle, const void* address, const Claim& claim) {
  std::uint32_t found = find(handle, address, claim);
  if (found != kNoSlot || capacity_ == 0) return found;
  found = head_[bucket_of(handle)];
  while (found != kNoSlot && slots_[found].handle != handle) found = slots_[found].next;
  return found;
}

void Requests::remove(std::uint32_t slot) {
  if (slots_[slot].bound) {
    unlink(slot);
    unlink_own(slot);
  }
  free(slots_[slot].prepared);
  slots_[slot].prepared = nullptr;
  slots_[slot].used = slots_[slot].bound = false;
  free_[free_count_++] = slot;
}

}  // namespace weft::recorder
