// FlowStarts: flows that start at one instant wait for each other, and come into the network in an order that the program alone
// decides.
//
// Rates of flows that share links depend in their last bits on the order in which the sharing model heard of them, and a
// program may make much of a last bit. In which order things happen at one instant is a matter of the loop that makes them
// happen. So whatever ends at an instant ends first, in the order of the network's completions; when nothing more is due,
// flows start: by sender and receiver, of one pair in the order of their sends. Messages that are alike in all that the
// network sees may come in any order.
// Complexity: O(1) a flow that is alone at its instant, O(log flows) among several; no allocation once grown.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "network/network.hpp"
#include "replay/messages/message.hpp"

namespace weft::replay {

class FlowStarts {
 public:
  // Both outlive it.
  FlowStarts(const Pool<Message>& messages, network::Network& network)
      : messages_(messages), network_(network) {}

  [[nodiscard]] bool any() const { return !waiting_.empty(); }
  // The flow of that message starts at this instant.
  void add(std::uint32_t message) {
    waiting_.push_back(message);
    network_.will_start();
  }
  // Nothing else is due at this instant: from now on take() gives each in its turn. REQUIRES: any(), and none is added meanwhile.
  void order() {
    if (waiting_.size() == 2) {
      if (before(key_of(waiting_[0]), key_of(waiting_[1]))) std::swap(waiting_[0], waiting_[1]);
    } else if (waiting_.size() > 2) {
      sort();
    }
  }
  [[nodiscard]] std::uint32_t take() {
    const std::uint32_t message = waiting_.back();
    waiting_.pop_back();
    return message;
  }
  // What take() gives so many turns after the next; kNone: less is left.
  [[nodiscard]] std::uint32_t later(std::size_t turns) const {
    return turns < waiting_.size() ? waiting_[waiting_.size() - 1 - turns] : kNone;
  }

 private:
  struct Key {
    std::uint64_t pair;  // sender, receiver
    std::uint32_t message;
  };
  [[nodiscard, gnu::always_inline]] Key key_of(std::uint32_t i) const {
    const Message& m = messages_[i];
    return {std::uint64_t{m.src} << 32 | m.dst, i};
  }
  [[nodiscard, gnu::always_inline]] bool before(const Key& a, const Key& b) const {
    return a.pair != b.pair ? a.pair < b.pair : sent_before(messages_[a.message], messages_[b.message]);
  }
  [[nodiscard, gnu::noinline]] static bool sent_before(const Message& a, const Message& b) {
    if (!(a.posted == b.posted)) return a.posted < b.posted;
    return std::tie(a.bytes, a.context, a.tag) < std::tie(b.bytes, b.context, b.tag);
  }
  // Apart from the rows of messages, as those of thousands do not stay in a cache.
  [[gnu::noinline]] void sort() {
    keys_.clear();
    for (const std::uint32_t i : waiting_) keys_.push_back(key_of(i));
    const auto earlier = [this](const Key& a, const Key& b) { return before(a, b); };
    if (!std::is_sorted(keys_.begin(), keys_.end(), earlier)) std::sort(keys_.begin(), keys_.end(), earlier);
    std::transform(keys_.rbegin(), keys_.rend(), waiting_.begin(), [](const Key& k) { return k.message; });
  }

  const Pool<Message>& messages_;
  network::Network& network_;
  std::vector<std::uint32_t> waiting_;  // once ordered, the first at the end
  std::vector<Key> keys_;               // of sort()
};

}  // namespace weft::replay
