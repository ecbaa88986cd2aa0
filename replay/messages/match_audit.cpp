#include "replay/messages/match_audit.hpp"

#include <fmt/format.h>

#include "traces/op.hpp"

namespace weft::replay {

void MatchAudit::tell(std::string what) {
  constexpr std::size_t kMost = 5;
  if (++findings_.wrong <= kMost) findings_.told.push_back(std::move(what));
}

bool MatchAudit::Posted::takes(std::uint32_t from, std::uint32_t in, std::int32_t with) const {
  return context == in && (source == traces::kAnySource || source == static_cast<std::int32_t>(from)) &&
         (tag == traces::kAnyTag || tag == with);
}

void MatchAudit::sent(std::uint32_t message, const Message& m) {
  const Channel channel{m.src, m.dst, m.context};
  sent_[message] = {channel, next_};
  pending_[channel].emplace(next_++, m.tag);
}

void MatchAudit::posted(std::uint32_t recv, const PostedRecv& r) {
  posted_[recv] = {r.rank, next_};
  open_[r.rank].emplace(next_++, Posted{recv, r.context, r.target.value, r.source, r.tag});
}

void MatchAudit::matched(std::uint32_t message, std::uint32_t recv) {
  ++findings_.matches;
  const auto m = sent_.find(message);
  const auto r = posted_.find(recv);
  if (m == sent_.end() || r == posted_.end())
    return tell("a receive took a message that was not sent, or one that was never posted");
  const auto& [source, destination, context] = m->second.channel;
  auto& receives = open_[r->second.first];
  auto& messages = pending_[m->second.channel];
  const auto recv_at = receives.find(r->second.second);
  const auto message_at = messages.find(m->second.number);
  if (recv_at == receives.end() || message_at == messages.end())
    return tell("a match of what is not pending any more");
  const Posted& taker = recv_at->second;
  const std::int32_t tag = message_at->second;
  const std::string which =
      fmt::format("rank {} took a message of rank {} with tag {}", destination, source, tag);
  if (r->second.first != destination || !taker.takes(source, context, tag))
    tell(which + " by a receive of another source, communicator, tag or rank");
  for (auto earlier = messages.begin(); earlier != message_at; ++earlier)
    if (taker.takes(source, context, earlier->second)) {
      tell(which + " before one that was sent earlier");
      break;
    }
  for (auto earlier = receives.begin(); earlier != recv_at; ++earlier)
    if (earlier->second.takes(source, context, tag)) {
      tell(which + " by a receive that was posted later than another one for it");
      break;
    }
  receives.erase(recv_at);
  messages.erase(message_at);
  if (messages.empty()) pending_.erase(m->second.channel);
  sent_.erase(m);
  posted_.erase(r);
}

void MatchAudit::forgotten(std::uint32_t rank, Target target) {
  for (auto& [number, r] : open_[rank])
    if (r.target == target.value) r.target = Target::kNobody;
}

void MatchAudit::withdrawn(std::uint32_t rank, Target target) {
  auto& receives = open_[rank];
  for (auto at = receives.begin(); at != receives.end(); ++at) {
    if (at->second.target != target.value) continue;
    posted_.erase(at->second.row);
    receives.erase(at);
    return;
  }
  tell(fmt::format("rank {} took a receive back that is not posted", rank));
}

}  // namespace weft::replay
