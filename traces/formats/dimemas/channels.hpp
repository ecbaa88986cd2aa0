// Which communicator and tag a message has, so that it meets its receive.
//
// In Dimemas a message and its receive have the same tag and the same communicator, and of several the oldest is taken. Where the
// communicator is one of the trace's that has both tasks, that is MPI's rule. But prv2dim writes for each message a number of its own in
// place of the communicator, which Paraver's files do not have: then messages are on the world, and those of one source, destination
// and tag match in their order, as their numbers mostly do. Where they do not (two communicators of the program), the messages of
// these tasks and this tag get tags of their own.
//
// Where no send has a number that a receive of its source, destination and tag has, or one of other many, these are no numbers of
// messages: mpi2dim has MPI's own number of a communicator in the send of MPI_Sendrecv, one of its own in receives and other sends.
// These match in their order, too.
//
// A first reading counts (Order), a second one of those that do not match gives tags (Channels::give).
// Memory: 28 bytes and a node for each source, destination and tag; for each message of those that do not match another 32.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "traces/formats/dimemas/head.hpp"
#include "traces/formats/dimemas/record.hpp"

namespace weft::traces::dimemas {

struct ChannelKey {
  std::int32_t source = 0, destination = 0, tag = 0;
  friend bool operator==(const ChannelKey&, const ChannelKey&) = default;
};
struct ChannelHash {
  std::size_t operator()(const ChannelKey& k) const noexcept {
    std::uint64_t h = static_cast<std::uint32_t>(k.source);
    h = (h ^ static_cast<std::uint64_t>(static_cast<std::uint32_t>(k.destination)) << 32) *
        0x9e3779b97f4a7c15ULL;
    h = (h ^ h >> 29 ^ static_cast<std::uint32_t>(k.tag)) * 0xbf58476d1ce4e5b9ULL;
    return h ^ h >> 32;
  }
};

class Channels {
 public:
  explicit Channels(const Groups& groups) : groups_(&groups) {}

  // That of a message or a receive: the world where what is said, or else the number, names none that has both.
  [[nodiscard]] CommId communicator(const Record& r) const {
    const auto comm = groups_->find(r.of_message.value_or(r.communicator));
    if (!comm || !groups_->rank_in(*comm, r.task)) return CommId(0);
    if (r.partner >= 0 && !groups_->rank_in(*comm, static_cast<std::uint32_t>(r.partner))) return CommId(0);
    return *comm;
  }

  // First reading: a send, or a receive as it is posted, on the world.
  void count(const Record& r, bool send);
  // Whether numbers of some are in another order where they are received.
  [[nodiscard]] bool ends_in_order();
  // Second reading, and its end.
  void give(const Record& r, bool send);
  void given();
  [[nodiscard]] std::uint64_t channels_with_own_tags() const { return crossed_.size(); }

  [[nodiscard]] std::int32_t tag(const Record& r, bool send) const {
    if (crossed_.empty()) return r.tag;
    const auto channel = crossed_.find(key(r, send));
    if (channel == crossed_.end()) return r.tag;
    const auto own = channel->second.find(r.communicator);
    return own == channel->second.end() ? r.tag : own->second.tag;
  }
  // Of one of these: how many tags there were not enough for.
  [[nodiscard]] bool out_of_tags() const { return out_of_tags_; }

 private:
  static ChannelKey key(const Record& r, bool send) {
    const auto task = static_cast<std::int32_t>(r.task);
    return send ? ChannelKey{task, r.partner, r.tag} : ChannelKey{r.partner, task, r.tag};
  }
  // Sums over both sides of a hash of number and position: 0 if they are the same.
  struct Order {
    std::uint64_t difference = 0;
    std::uint32_t sent = 0, received = 0;
  };
  const Groups* groups_;
  std::unordered_map<ChannelKey, Order, ChannelHash> order_;
  bool any_ = false;  // some receive is from any source, or of any tag
  std::int32_t largest_tag_ = 0;
  struct OwnTag {
    std::int32_t tag = 0;
    std::uint32_t sent = 0, posted = 0, waits = 0;
  };
  std::unordered_map<ChannelKey, std::unordered_map<std::int64_t, OwnTag>, ChannelHash> crossed_;
  std::int64_t next_tag_ = 0;
  bool out_of_tags_ = false;
};

}  // namespace weft::traces::dimemas
