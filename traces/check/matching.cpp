#include "traces/check/matching.hpp"

namespace weft::traces::doctor {
namespace {

constexpr std::uint64_t kLast = UINT64_MAX;  // an order after that of all receives

}  // namespace

// ---- channels, inboxes and what is watched of them

std::uint32_t Matching::inbox(CommId comm, std::uint32_t r) {
  const auto [it, fresh] =
      inbox_of_.try_emplace(receiver_key(comm, r), static_cast<std::uint32_t>(inboxes_.size()));
  if (fresh) inboxes_.emplace_back();
  return it->second;
}

Channel& Matching::channel(CommId comm, std::uint32_t src, std::uint32_t dst) {
  const auto number = static_cast<std::uint32_t>(channels_.size());
  const auto [it, fresh] = channel_of_.try_emplace({comm.index(), src, dst}, number);
  if (!fresh) return channels_[it->second];
  const std::uint32_t i = inbox(comm, dst);
  ++inboxes_[i].channels;
  channels_.push_back({src, dst, comm, number, i, std::exchange(inboxes_[i].first, number), {}, {}});
  return channels_.back();
}

Channel* Matching::find_channel(CommId comm, std::uint32_t src, std::uint32_t dst) {
  const auto it = channel_of_.find({comm.index(), src, dst});
  return it == channel_of_.end() ? nullptr : &channels_[it->second];
}

std::uint32_t Matching::sources(CommId comm, std::uint32_t r) const {
  const auto it = inbox_of_.find(receiver_key(comm, r));
  return it == inbox_of_.end() ? 0 : inboxes_[it->second].channels;
}

Matching::Watch& Matching::watch(CommId comm, std::uint32_t r) {
  Inbox& in = inboxes_[inbox(comm, r)];
  if (in.watch) return *in.watch;
  in.watch = std::make_unique<Watch>();
  for (std::uint32_t n = in.first; n != kNoRow; n = channels_[n].next_in_inbox) {
    const Channel& c = channels_[n];
    if (c.unexpected.empty()) continue;
    in.watch->waiting.insert(member(c));
    for_each_message(c, [&](const Message& m) { in.watch->by_tag.emplace(m.tag, member(c)); });
    if (!c.posted.empty()) in.watch->contended.insert(member(c));
  }
  return *in.watch;
}

std::uint32_t Matching::add_message(Channel& c, Message m) {
  m.seq = next_seq_++;
  if (Watch* w = watch_of(c)) {
    const Member at = member(c);
    if (c.unexpected.empty()) {
      w->waiting.insert(at);
      if (!c.posted.empty()) w->contended.insert(at);
    }
    w->by_tag.emplace(m.tag, at);
    for (const std::int32_t tag : {m.tag, kAnyTag}) serve(*w, c.dst, tag);
  }
  return messages_.insert(c.unexpected, m);
}

Message Matching::remove_message(Channel& c, std::uint32_t row) {
  const Message m = messages_.remove(c.unexpected, row);
  if (Watch* w = watch_of(c)) {
    const Member at = member(c);
    if (messages_.first(c.unexpected, m.tag) == kNoRow) w->by_tag.erase({m.tag, at});
    if (c.unexpected.empty()) {
      w->waiting.erase(at);
      w->contended.erase(at);
    }
    for (const std::int32_t tag : {m.tag, kAnyTag}) serve(*w, c.dst, tag);
  }
  return m;
}

std::uint32_t Matching::add_posted(Channel& c, const Posted& p) {
  if (Watch* w = watch_of(c); w != nullptr && c.posted.empty() && !c.unexpected.empty())
    w->contended.insert(member(c));
  return posted_.insert(c.posted, p);
}

Posted Matching::remove_posted(Channel& c, std::uint32_t row) {
  const Posted p = posted_.remove(c.posted, row);
  if (Watch* w = watch_of(c); w != nullptr && c.posted.empty()) w->contended.erase(member(c));
  return p;
}

Wildcard Matching::remove_wildcard(std::uint32_t r, std::uint64_t order) {
  const Wildcard w = wild_[r].extract(order).mapped();
  Watch& in = watch(w.comm, r);
  in.wild.erase({w.tag, order});
  served_[r].erase(order);
  serve(in, r, w.tag);
  return w;
}

void Matching::serve(const Watch& w, std::uint32_t r, std::int32_t tag) {
  const auto wild = w.wild.lower_bound({tag, 0});
  if (wild == w.wild.end() || wild->first != tag) return;
  const auto message = w.by_tag.lower_bound({tag, Member{INT64_MIN, 0}});
  const bool some = tag == kAnyTag ? !w.waiting.empty() : message != w.by_tag.end() && message->first == tag;
  if (some)
    served_[r].insert(wild->second);
  else
    served_[r].erase(wild->second);
}

// ---- who takes what

std::uint32_t Matching::first_message(Channel& c, std::int32_t tag) {
  return tag == kAnyTag ? c.unexpected.first : messages_.first(c.unexpected, tag);
}

std::uint32_t Matching::first_receive(Channel& c, std::int32_t tag) {
  if (c.posted.empty()) return kNoRow;
  if (const std::int32_t t = posted_[c.posted.first].tag; t == tag || t == kAnyTag) return c.posted.first;
  const std::uint32_t exact = posted_.first(c.posted, tag);
  const std::uint32_t any = posted_.first(c.posted, kAnyTag);
  if (exact == kNoRow || any == kNoRow) return exact == kNoRow ? any : exact;
  return posted_[exact].order < posted_[any].order ? exact : any;
}

bool Matching::held_before(const Watch* w, std::int32_t tag, std::uint64_t order) {
  if (w == nullptr) return false;
  const auto before = [&](std::int32_t t) {
    const auto it = w->wild.lower_bound({t, 0});
    return it != w->wild.end() && it->first == t && it->second < order;
  };
  return before(tag) || before(kAnyTag);
}

bool Matching::held(CommId comm, std::uint32_t r, std::int32_t tag) {
  const auto it = inbox_of_.find(receiver_key(comm, r));
  return it != inbox_of_.end() && held_before(inboxes_[it->second].watch.get(), tag, kLast);
}

// A receive that is not queued takes what it can.
bool Matching::take_at_once(Channel& c, const Posted& p) {
  const std::uint32_t m = first_message(c, p.tag);
  if (m == kNoRow) return false;
  const std::int32_t tag = messages_[m].tag;
  if (held_before(watch_of(c), tag, p.order)) return false;
  const std::uint32_t other = first_receive(c, tag);
  if (other != kNoRow && posted_[other].order < p.order) return false;
  on_match_(c, remove_message(c, m), p);
  return true;
}

bool Matching::match_receive(Channel& c, std::uint32_t row) {
  const Posted& p = posted_[row];
  const std::uint32_t m = first_message(c, p.tag);
  if (m == kNoRow) return false;
  const std::int32_t tag = messages_[m].tag;
  if (held_before(watch_of(c), tag, p.order) || first_receive(c, tag) != row) return false;
  const Message taken = remove_message(c, m);
  on_match_(c, taken, remove_posted(c, row));
  return true;
}

// Matches what can be matched after messages of that tag were let go; kAnyTag: of any.
void Matching::match_channel(Channel& c, std::int32_t tag) {
  if (c.posted.empty() || c.unexpected.empty()) return;
  // Where all receives name their tags, those of other tags stand as they stood.
  if (tag != kAnyTag && posted_.first(c.posted, kAnyTag) == kNoRow) {
    while (true) {
      const std::uint32_t p = posted_.first(c.posted, tag);
      if (p == kNoRow || !match_receive(c, p)) return;
    }
  }
  for (std::uint32_t p = c.posted.first; p != kNoRow && !c.unexpected.empty();) {
    const std::uint32_t next = posted_.next(p);
    const Posted here = posted_[p];
    // What stays and accepts every message, here or as a wildcard before, leaves nothing for those behind it.
    if (!match_receive(c, p) && (here.tag == kAnyTag || held_before(watch_of(c), kAnyTag, here.order)))
      return;
    p = next;
    ++steps_;
  }
}

void Matching::release(std::uint32_t r, CommId comm, std::int32_t tag) {
  Watch& w = watch(comm, r);
  for (auto it = w.contended.begin(); it != w.contended.end();) {
    const Member at = *it;
    match_channel(channels_[at.second], tag);
    it = w.contended.upper_bound(at);
    ++steps_;
  }
}

// ---- what comes and goes

std::uint32_t Matching::deliver(CommId comm, std::uint32_t src, std::uint32_t dst, Message m) {
  Channel& c = channel(comm, src, dst);
  // The first receive that accepts it has it, unless that one waits for an earlier message that a wildcard holds.
  const std::uint32_t p = first_receive(c, m.tag);
  if (p == kNoRow || held_before(watch_of(c), m.tag, posted_[p].order) ||
      first_message(c, posted_[p].tag) != kNoRow)
    return add_message(c, m);
  on_match_(c, m, remove_posted(c, p));
  return kNoRow;
}

std::uint32_t Matching::post(CommId comm, std::uint32_t source, std::uint32_t r, const Posted& p) {
  Channel& c = channel(comm, source, r);
  return take_at_once(c, p) ? kNoRow : add_posted(c, p);
}

void Matching::post_any(std::uint32_t r, const Wildcard& w) {
  Watch& in = watch(w.comm, r);
  in.wild.emplace(w.tag, w.order);
  wild_[r].emplace(w.order, w);
  serve(in, r, w.tag);
}

std::uint32_t Matching::post_known(std::uint32_t r, std::uint32_t source, const Posted& p) {
  const Wildcard w = remove_wildcard(r, p.order);
  Channel& c = channel(w.comm, source, r);
  std::uint32_t row = kNoRow;
  const bool taken = take_at_once(c, p);
  if (!taken) row = add_posted(c, p);
  // Its own channel first, except where nothing can be held any more.
  if (!taken || !wild_[r].empty()) match_channel(c, w.tag);
  release(r, w.comm, w.tag);
  return row;
}

std::uint32_t Matching::give_back(CommId comm, std::uint32_t from, Message back, std::uint32_t source,
                                  std::uint32_t r, const Posted& p) {
  add_message(channel(comm, from, r), back);
  Channel& c = channel(comm, source, r);
  std::uint32_t row = kNoRow;
  // The message that came back may wait for a receive that was posted meanwhile: here, and only here, others than the new
  // ones may fit, so all are looked at; but not before the new receive has its own message if nothing holds that.
  const std::uint32_t m = wild_[r].empty() ? first_message(c, p.tag) : kNoRow;
  if (m != kNoRow) {
    on_match_(c, remove_message(c, m), p);
  } else {
    row = add_posted(c, p);
    match_channel(c, kAnyTag);
  }
  release(r, comm, kAnyTag);
  return row;
}

void Matching::come_back(CommId comm, std::uint32_t from, std::uint32_t r, const Message& back) {
  Channel& c = channel(comm, from, r);
  add_message(c, back);
  match_channel(c, back.tag);
}

void Matching::withdraw(CommId comm, std::uint32_t source, std::uint32_t r, std::uint32_t row) {
  Channel& c = channel(comm, source, r);
  const Posted p = remove_posted(c, row);
  // Receives behind it may have its messages, if it left any: only what was held was left.
  if (const Watch* w = watch_of(c); w != nullptr && !w->wild.empty()) match_channel(c, p.tag);
}

void Matching::withdraw_any(std::uint32_t r, std::uint64_t order) {
  if (!wild_[r].contains(order)) return;
  const Wildcard w = remove_wildcard(r, order);
  release(r, w.comm, w.tag);
}

// ---- choices and probes

template <class F>
void Matching::for_each_candidate(std::uint32_t r, const Wildcard& wild, F&& f) {
  const Watch& w = watch(wild.comm, r);
  const auto tell = [&](const Member& at) {
    return f(at.second, first_message(channels_[at.second], wild.tag));
  };
  if (wild.tag == kAnyTag) {
    for (const Member& at : w.waiting)
      if (!tell(at)) return;
  } else {
    for (auto it = w.by_tag.lower_bound({wild.tag, Member{INT64_MIN, 0}});
         it != w.by_tag.end() && it->first == wild.tag; ++it)
      if (!tell(it->second)) return;
  }
}

void Matching::options(std::uint32_t r, std::size_t most, std::vector<Option>& out) {
  if (served_[r].empty()) return;
  const std::size_t before = out.size();
  const std::uint64_t order = *served_[r].begin();
  for_each_candidate(r, wild_[r].at(order), [&](std::uint32_t channel, std::uint32_t message) {
    out.push_back({r, order, channel, message});
    return out.size() - before < most;
  });
}

void Matching::all_options(std::uint32_t r, std::vector<Option>& out) {
  for (const std::uint64_t order : served_[r]) {
    const Wildcard& wild = wild_[r].at(order);
    const Watch& w = watch(wild.comm, r);
    for_each_candidate(r, wild, [&](std::uint32_t channel, std::uint32_t message) {
      const std::int32_t tag = messages_[message].tag;
      const std::uint32_t known = first_receive(channels_[channel], tag);
      if (!held_before(&w, tag, order) && (known == kNoRow || posted_[known].order > order))
        out.push_back({r, order, channel, message});
      return true;
    });
  }
}

std::pair<Wildcard, Message> Matching::take(const Option& o) {
  return {remove_wildcard(o.rank, o.wild), remove_message(channels_[o.channel], o.message)};
}

bool Matching::sees(CommId comm, std::int64_t source, std::uint32_t r, std::int64_t tag) {
  const auto tag32 = static_cast<std::int32_t>(tag);
  if (source >= 0) {
    Channel* c = find_channel(comm, static_cast<std::uint32_t>(source), r);
    if (c == nullptr || c->unexpected.empty()) return false;
    const Watch* w = watch_of(*c);
    if (tag != kAnyTag)
      return !held_before(w, tag32, kLast) && messages_.first(c->unexpected, tag32) != kNoRow;
    if (w == nullptr || w->wild.empty()) return true;
    for (std::uint32_t m = c->unexpected.first; m != kNoRow; m = messages_.next(m))
      if (!held_before(w, messages_[m].tag, kLast)) return true;
    return false;
  }
  const Watch& w = watch(comm, r);
  if (tag != kAnyTag) {
    const auto it = w.by_tag.lower_bound({tag32, Member{INT64_MIN, 0}});
    return it != w.by_tag.end() && it->first == tag32 && !held_before(&w, tag32, kLast);
  }
  if (w.wild.empty()) return !w.waiting.empty();
  for (auto it = w.by_tag.begin(); it != w.by_tag.end();  // one of each tag
       it = w.by_tag.upper_bound({it->first, Member{INT64_MAX, UINT32_MAX}}))
    if (!held_before(&w, it->first, kLast)) return true;
  return false;
}

}  // namespace weft::traces::doctor
