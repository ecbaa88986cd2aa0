// TagIndex: first-in-first-out lists of entries by (queue, tag), for queues that are too long to be walked.
//
// The Matcher's queues are lists in posting order; most matches are at their head. A queue in which a walk came out
// long (kWalk) is indexed from then on until it is empty: each entry once, so what a queue costs is linear in what
// passes through it, whatever the order of the tags. Queues that are never walked far cost nothing here.
// Invariants: append() keeps the order of appending within a key; entries are unique in one index; an entry's links
// live here, so that messages and receives carry none. Complexity: O(1) each.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/messages/message.hpp"

namespace weft::replay {

class TagIndex {
 public:
  static constexpr std::uint32_t kWalk = 48;  // steps after which a walk is worth an index

  struct Key {
    std::uint64_t queue = 0;  // of `rank`: a channel's key, or a context
    std::uint32_t rank = 0;
    std::int32_t tag = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };

  void append(const Key& key, std::uint32_t entry) {
    if (entry >= links_.size()) links_.resize(entry + std::size_t{1});
    Row& r = row(key);
    links_[entry] = {kNone, r.tail};
    (r.tail == kNone ? r.head : links_[r.tail].next) = entry;
    r.tail = entry;
  }
  // REQUIRES: append(key, entry) was called.
  void remove(const Key& key, std::uint32_t entry) {
    Row& r = row(key);
    const Links l = links_[entry];
    (l.prev == kNone ? r.head : links_[l.prev].next) = l.next;
    (l.next == kNone ? r.tail : links_[l.next].prev) = l.prev;
  }
  // The earliest entry of that key, or kNone.
  [[nodiscard]] std::uint32_t first(const Key& key) const {
    if (rows_.empty()) return kNone;
    for (std::size_t i = slot_of(key);; i = (i + 1) & (rows_.size() - 1)) {
      if (!rows_[i].used) return kNone;
      if (rows_[i].key == key) return rows_[i].head;
    }
  }
  // The one after it of the same key, or kNone.
  [[nodiscard]] std::uint32_t next(std::uint32_t entry) const { return links_[entry].next; }

 private:
  struct Row {
    Key key;
    std::uint32_t head = kNone, tail = kNone;
    bool used = false;
  };
  struct Links {
    std::uint32_t next = kNone, prev = kNone;
  };
  [[nodiscard]] std::size_t slot_of(const Key& key) const {
    std::uint64_t h = key.queue * 0x9e3779b97f4a7c15ULL;
    h ^= (static_cast<std::uint64_t>(key.rank) << 32 | static_cast<std::uint32_t>(key.tag)) + (h >> 29);
    h *= 0xbf58476d1ce4e5b9ULL;
    return static_cast<std::size_t>(h ^ (h >> 32)) & (rows_.size() - 1);
  }
  Row& row(const Key& key) {
    while (true) {
      for (std::size_t i = rows_.empty() ? 0 : slot_of(key); i < rows_.size();
           i = (i + 1) & (rows_.size() - 1)) {
        if (rows_[i].used && rows_[i].key == key) return rows_[i];
        if (rows_[i].used) continue;
        if ((used_ + 1) * 2 > rows_.size()) break;
        ++used_;
        rows_[i].key = key;
        rows_[i].used = true;
        return rows_[i];
      }
      rebuild();
    }
  }
  // Drops empty rows; grows only if that leaves the table more than a quarter full.
  void rebuild() {
    std::size_t live = 0;
    for (const Row& r : rows_) live += r.used && r.head != kNone;
    std::vector<Row> old(rows_.empty() ? 256 : live * 4 > rows_.size() ? rows_.size() * 2 : rows_.size());
    old.swap(rows_);
    used_ = 0;
    for (const Row& r : old) {
      if (!r.used || r.head == kNone) continue;
      std::size_t i = slot_of(r.key);
      while (rows_[i].used) i = (i + 1) & (rows_.size() - 1);
      rows_[i] = r;
      ++used_;
    }
  }

  std::vector<Row> rows_;  // open addressing, power of two
  std::vector<Links> links_;
  std::size_t used_ = 0;
};

}  // namespace weft::replay
