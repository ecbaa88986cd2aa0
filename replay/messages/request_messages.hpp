// RequestMessages: which message is to tell which request of its end.
//
// Nobody asks that but who frees a request that is under way, which few programs do. So nothing is kept before the first time; then
// what is under way is looked through once, and from there on each message of a request is noted.
// Complexity: O(1) a message once it is kept; a test of a flag before.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "replay/messages/message.hpp"

namespace weft::replay {

class RequestMessages {
 public:
  // Message i is to tell `target` of `rank`, if that is a request.
  void add(std::uint32_t rank, Target target, std::uint32_t i) {
    if (kept_ && target.value < Target::kBlocking) messages_[key(rank, target)] = i;
  }
  // It did.
  void remove(std::uint32_t rank, Target target) {
    if (kept_ && target.value < Target::kBlocking) messages_.erase(key(rank, target));
  }
  // That of a request, or kNone. `all`: of the replay.
  [[nodiscard]] std::uint32_t find(std::uint32_t rank, Target target, Pool<Message>& all) {
    if (!kept_) keep(all);
    const auto at = messages_.find(key(rank, target));
    return at == messages_.end() ? kNone : at->second;
  }

 private:
  static std::uint64_t key(std::uint32_t rank, Target target) {
    return (static_cast<std::uint64_t>(rank) << 32) | target.value;
  }
  void keep(Pool<Message>& all) {
    kept_ = true;
    const std::vector<bool> live = all.live_rows();
    for (std::uint32_t i = 0; i < live.size(); ++i) {
      if (!live[i]) continue;
      add(all[i].src, all[i].send_target, i);
      if ((all[i].state & kMatched) != 0) add(all[i].dst, all[i].recv_target, i);
    }
  }

  bool kept_ = false;
  std::unordered_map<std::uint64_t, std::uint32_t> messages_;
};

}  // namespace weft::replay
