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

bool MatchAudit::Pending::has_earlier(std::int32_t tag, std::uint64_t than) const {
  if (tag == traces::kAnyTag) return !tags.empty() && tags.begin()->first < than;
  const auto at = by_tag.lower_bound({tag, 0});
  return at != by_tag.end() && at->first == tag && at->second < than;
}

void MatchAudit::Open::add(std::uint64_t number, const Posted& p) {
  receives.emplace(number, p);
  by_kind.emplace(p.context, p.source, p.tag, number);
  by_target.emplace(p.target, number);
}

void MatchAudit::Open::remove(std::map<std::uint64_t, Posted>::iterator at) {
  const auto& [number, p] = *at;
  by_kind.erase({p.context, p.source, p.tag, number});
  by_target.erase({p.target, number});
  receives.erase(at);
}

// Posted before `than`, and takes such a message.
bool MatchAudit::Open::has_earlier(const Channel& channel, std::int32_t tag, std::uint64_t than) const {
  const auto& [from, destination, context] = channel;
  for (const std::int32_t source : {static_cast<std::int32_t>(from), traces::kAnySource})
    for (const std::int32_t with : {tag, traces::kAnyTag}) {
      const auto at = by_kind.lower_bound({context, source, with, 0});
      if (at == by_kind.end()) continue;
      const auto& [c, s, t, number] = *at;
      if (c == context && s == source && t == with && number < than) return true;
    }
  return false;
}

void MatchAudit::sent(std::uint32_t message, const Message& m) {
  const Channel channel{m.src, m.dst, m.context};
  sent_[message] = {channel, next_};
  Pending& there = pending_[channel];
  there.tags.emplace(next_, m.tag);
  there.by_tag.emplace(m.tag, next_++);
}

void MatchAudit::posted(std::uint32_t recv, const PostedRecv& r) {
  posted_[recv] = {r.rank, next_};
  open_[r.rank].add(next_++, Posted{recv, r.context, r.target.value, r.source, r.tag});
}

void MatchAudit::matched(std::uint32_t message, std::uint32_t recv) {
  ++findings_.matches;
  const auto m = sent_.find(message);
  const auto r = posted_.find(recv);
  if (m == sent_.end() || r == posted_.end())
    return tell("a receive took a message that was not sent, or one that was never posted");
  const auto& [source, destination, context] = m->second.channel;
  Open& open = open_[r->second.first];
  Pending& pending = pending_[m->second.channel];
  const auto recv_at = open.receives.find(r->second.second);
  const auto message_at = pending.tags.find(m->second.number);
  if (recv_at == open.receives.end() || message_at == pending.tags.end())
    return tell("a match of what is not pending any more");
  const Posted& taker = recv_at->second;
  const std::int32_t tag = message_at->second;
  const std::string which =
      fmt::format("rank {} took a message of rank {} with tag {}", destination, source, tag);
  if (r->second.first != destination || !taker.takes(source, context, tag))
    tell(which + " by a receive of another source, communicator, tag or rank");
  if (taker.takes(source, context, taker.tag) && pending.has_earlier(taker.tag, message_at->first))
    tell(which + " before one that was sent earlier");
  if (open.has_earlier(m->second.channel, tag, recv_at->first))
    tell(which + " by a receive that was posted later than another one for it");
  open.remove(recv_at);
  pending.by_tag.erase({tag, message_at->first});
  pending.tags.erase(message_at);
  if (pending.tags.empty()) pending_.erase(m->second.channel);
  sent_.erase(m);
  posted_.erase(r);
}

void MatchAudit::forgotten(std::uint32_t rank, Target target) {
  Open& open = open_[rank];
  for (auto at = open.by_target.lower_bound({target.value, 0});
       at != open.by_target.end() && at->first == target.value; at = open.by_target.erase(at))
    open.receives.at(at->second).target = Target::kNobody;
}

void MatchAudit::withdrawn(std::uint32_t rank, Target target) {
  Open& open = open_[rank];
  const auto first = open.by_target.lower_bound({target.value, 0});
  if (first != open.by_target.end() && first->first == target.value) {
    const auto at = open.receives.find(first->second);
    posted_.erase(at->second.row);
    return open.remove(at);
  }
  tell(fmt::format("rank {} took a receive back that is not posted", rank));
}

}  // namespace weft::replay
