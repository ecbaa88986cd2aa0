#include "traces/formats/dimemas/channels.hpp"

#include <algorithm>

namespace weft::traces::dimemas {
namespace {

constexpr std::int64_t kFirstOwnTag = 1 << 30;

std::uint64_t mixed(std::uint64_t number, std::uint64_t position) {
  std::uint64_t h = number * 0x9e3779b97f4a7c15ULL + position;
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9ULL;
  h = (h ^ h >> 27) * 0x94d049bb133111ebULL;
  return h ^ h >> 31;
}

}  // namespace

void Channels::count(const Record& r, bool send) {
  largest_tag_ = std::max(largest_tag_, r.tag);
  // What a receive from any source or of any tag takes, nobody knows before it is replayed.
  const bool any = r.partner < 0 || r.tag < 0;
  any_ |= any;
  if (any) return;
  Order& order = order_[key(r, send)];
  const auto number = static_cast<std::uint64_t>(r.communicator);
  if (send)
    order.difference += mixed(number, order.sent++);
  else
    order.difference -= mixed(number, order.received++);
}

bool Channels::ends_in_order() {
  if (!any_)
    for (const auto& [key, order] : order_)
      if (order.difference != 0 && order.sent > 0 && order.received > 0) crossed_.try_emplace(key);
  order_ = {};
  next_tag_ = std::max<std::int64_t>(kFirstOwnTag, std::int64_t{largest_tag_} + 1);
  return crossed_.empty();
}

void Channels::give(const Record& r, bool send) {
  const auto channel = crossed_.find(key(r, send));
  if (channel == crossed_.end()) return;
  const auto [at, fresh] = channel->second.try_emplace(r.communicator);
  OwnTag& own = at->second;
  ++(send ? own.sent : r.receive == ReceiveHow::wait ? own.waits : own.posted);
  if (!fresh) return;
  out_of_tags_ |= next_tag_ > INT32_MAX;
  own.tag = static_cast<std::int32_t>(std::min<std::int64_t>(next_tag_++, INT32_MAX));
}

void Channels::given() {
  std::erase_if(crossed_, [](const auto& channel) {
    bool in_common = false, as_many = true;
    for (const auto& [number, own] : channel.second) {
      if (own.sent == 0 || own.posted + own.waits == 0) continue;
      in_common = true;
      as_many &= own.posted == 0 || own.posted == own.sent;
    }
    return !in_common || !as_many;
  });
}

}  // namespace weft::traces::dimemas
