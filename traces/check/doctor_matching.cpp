// Messages and receives of the untimed run: queues of channels, wildcards, choices.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "traces/check/doctor.hpp"
#include "traces/request_book.hpp"

namespace weft::traces::doctor {
namespace {

std::uint64_t receiver_key(CommId comm, std::uint32_t rank) {
  return std::uint64_t{comm.index()} << 32 | rank;
}

}  // namespace

Channel& Doctor::channel(CommId comm, std::uint32_t src, std::uint32_t dst) {
  const auto [it, fresh] =
      channel_of_.try_emplace({comm.index(), src, dst}, static_cast<std::uint32_t>(channels_.size()));
  if (fresh) channels_.push_back({src, dst, comm, {}, {}});
  return channels_[it->second];
}

void Doctor::notify(std::uint32_t rank, std::uint32_t slot) {
  if (slot == Message::kNobody) return;
  Rank& k = ranks_[rank];
  if (slot == kCurrent) {
    k.current_done = true;
  } else if (slot == Message::kPair) {
    k.pair_open = false;
  } else if (const auto it = k.requests.find(slot); it != k.requests.end()) {
    it->second.done = true;
  }
  wake(rank);
}

void Doctor::matched(const Channel& c, const Message& m, const Posted& p) {
  if (m.bytes > p.bytes)
    fault(c.dst, p.op, "receive",
          fmt::format("posted {} bytes, but the message of rank {} with tag {} has {} ({})", p.bytes, c.src,
                      m.tag, m.bytes, trace_.position(RankId(c.src), m.op)));
  --ranks_[c.src].in_flight;
  notify(c.src, m.waiter);
  notify(c.dst, p.slot);
}

// A wildcard of rank k, posted before `order`, accepts a message of that tag.
bool Doctor::held(const Rank& k, CommId comm, std::int32_t tag, std::uint64_t order) const {
  for (const Wildcard& w : k.wild) {
    if (w.order >= order) return false;
    if (w.comm == comm && w.accepts(tag)) return true;
  }
  return false;
}

// Matches what can be matched. A receive takes the first message that it accepts, unless an earlier receive of the
// channel that is still open accepts it too, or a wildcard holds it.
void Doctor::match_channel(Channel& c) {
  const Rank& k = ranks_[c.dst];
  for (std::size_t i = 0; i < c.posted.size() && !c.unexpected.empty();) {
    const Posted p = c.posted[i];
    const auto m = std::ranges::find_if(c.unexpected, [&](const Message& x) { return p.accepts(x.tag); });
    bool mine = m != c.unexpected.end() && !held(k, c.comm, m->tag, p.order);
    for (std::size_t j = 0; mine && j < i; ++j) mine = !c.posted[j].accepts(m->tag);
    if (!mine) {
      ++i;
      continue;
    }
    const Message taken = *m;
    c.unexpected.erase(m);
    c.posted.erase(c.posted.begin() + static_cast<std::ptrdiff_t>(i));
    matched(c, taken, p);
  }
}

// After a wildcard of rank r is gone: what it held may match now, and a probe may see it.
void Doctor::match_all(std::uint32_t r, CommId comm) {
  for (const std::int32_t s : trace_.communicators()[comm.index()].members)
    if (Channel* c = find_channel(comm, static_cast<std::uint32_t>(s), r); c != nullptr) match_channel(*c);
  wake(r);
}

void Doctor::deliver(std::uint32_t src, const Op& op, std::uint64_t index, std::uint32_t waiter) {
  const auto dst = static_cast<std::uint32_t>(op.peer);
  const std::size_t before = channels_.size();
  Channel& c = channel(op.comm, src, dst);
  if (channels_.size() != before) ++sources_[receiver_key(op.comm, dst)];
  const Message m{op.tag, op.amount, index, waiter};
  ++ranks_[src].in_flight;
  if (ranks_[dst].wild.empty()) {
    const auto it = std::ranges::find_if(c.posted, [&](const Posted& p) { return p.accepts(op.tag); });
    if (it != c.posted.end()) {
      const Posted p = *it;
      c.posted.erase(it);
      return matched(c, m, p);
    }
    c.unexpected.push_back(m);
    return wake(dst);
  }
  c.unexpected.push_back(m);
  match_channel(c);
  if (held(ranks_[dst], op.comm, op.tag, UINT64_MAX)) may_choose(dst);
  wake(dst);
}

void Doctor::post_from(std::uint32_t r, CommId comm, std::int32_t source, const Posted& p) {
  const std::size_t before = channels_.size();
  Channel& c = channel(comm, static_cast<std::uint32_t>(source), r);
  if (channels_.size() != before) ++sources_[receiver_key(comm, r)];
  if (ranks_[r].wild.empty()) {  // then nothing that fits it stands behind another receive
    const auto m = std::ranges::find_if(c.unexpected, [&](const Message& x) { return p.accepts(x.tag); });
    if (m != c.unexpected.end()) {
      const Message taken = *m;
      c.unexpected.erase(m);
      return matched(c, taken, p);
    }
  }
  // By order: a wildcard whose source became known goes where it was posted.
  auto at = c.posted.end();
  while (at != c.posted.begin() && std::prev(at)->order > p.order) --at;
  c.posted.insert(at, p);
  match_channel(c);
}

void Doctor::post_wildcard(std::uint32_t r, const Wildcard& w) {
  ranks_[r].wild.push_back(w);
  may_choose(r);
}

std::optional<std::pair<std::int32_t, std::int32_t>> Doctor::match_ahead(const Rank& me, std::uint32_t slot) {
  for (std::size_t i = me.at + 1; i < me.block.ops.size(); ++i) {
    const Op& op = me.block.ops[i];
    if (!is_completion(op.kind)) {
      if (op.request == slot) return std::nullopt;  // freed, cancelled or made anew
      continue;
    }
    std::int64_t one = 0;
    const auto slots = completed_requests(op, me.block.list(op), one);
    if (std::ranges::find(slots, std::int64_t{slot}) == slots.end()) continue;
    const bool known = (op.kind == OpKind::wait || op.kind == OpKind::test) && op.peer >= 0;
    if (!known) return std::nullopt;
    return std::pair{op.peer, op.tag};
  }
  return std::nullopt;
}

void Doctor::recorded_match(std::uint32_t r, Rank& me, std::uint32_t slot, Request& q, std::int32_t source,
                            std::int32_t tag) {
  const CommId comm = q.op.comm;
  Posted p{tag, q.op.amount, q.index, slot, 0};
  if (!q.guess) {  // not matched yet
    const auto w = std::ranges::find_if(me.wild, [&](const Wildcard& x) { return x.slot == slot; });
    if (w == me.wild.end()) return;
    p.order = w->order;
    me.wild.erase(w);
    q.source = source;
    q.tag = tag;
    post_from(r, comm, source, p);
    return match_all(r, comm);
  }
  if (q.source == source && (tag == kAnyTag || q.guess->tag == tag)) return;
  // A choice gave it another message: that one goes back, unless a request that has ours takes it in exchange.
  Message back = *std::exchange(q.guess, std::nullopt);
  const std::int32_t from = std::exchange(q.source, source);
  q.tag = tag;
  Request* taker = nullptr;  // the one posted first
  for (auto& [other_slot, other] : me.requests) {
    if (!other.active || !other.guess || other.source != source || other.op.comm != comm) continue;
    if (tag != kAnyTag && other.guess->tag != tag) continue;
    if (other.op.tag != kAnyTag && other.op.tag != back.tag) continue;
    if (taker == nullptr || other.index < taker->index) taker = &other;
  }
  if (taker != nullptr) {
    q.guess = std::exchange(taker->guess, back);
    taker->source = from;
    return;
  }
  back.waiter = Message::kNobody;
  ++ranks_[static_cast<std::size_t>(from)].in_flight;
  Channel& c = channel(comm, static_cast<std::uint32_t>(from), r);
  c.unexpected.insert(std::ranges::find_if(c.unexpected, [&](const Message& x) { return x.op > back.op; }),
                      back);
  q.done = false;
  p.order = me.next_order++;
  post_from(r, comm, source, p);
  match_all(r, comm);
  if (held(me, comm, back.tag, UINT64_MAX)) may_choose(r);
}

// Takes back the receive of a request, if nothing matched it yet.
void Doctor::withdraw(std::uint32_t r, Rank& me, std::uint32_t slot, const Request& q) {
  if (q.source >= 0) {
    Channel& c = channel(q.op.comm, static_cast<std::uint32_t>(q.source), r);
    std::erase_if(c.posted, [&](const Posted& p) { return p.slot == slot; });
    return match_channel(c);
  }
  std::erase_if(me.wild, [&](const Wildcard& w) { return w.slot == slot; });
  match_all(r, q.op.comm);
}

void Doctor::add_options(std::uint32_t r, std::vector<Option>& out) {
  const Rank& k = ranks_[r];
  for (std::size_t w = 0; w < k.wild.size(); ++w) {
    const std::size_t before = out.size();
    for (const std::int32_t s : trace_.communicators()[k.wild[w].comm.index()].members) {
      const auto at = channel_of_.find({k.wild[w].comm.index(), static_cast<std::uint32_t>(s), r});
      if (at == channel_of_.end()) continue;
      const auto& there = channels_[at->second].unexpected;
      const auto m = std::ranges::find_if(there, [&](const Message& x) { return k.wild[w].accepts(x.tag); });
      if (m != there.end()) out.push_back({r, w, at->second, static_cast<std::size_t>(m - there.begin())});
    }
    if (out.size() > before) return;
  }
}

bool Doctor::choose() {
  options_here_.clear();
  // Of the first run one rank's options are enough; a script counts the options of all, each a different future.
  while (!choices_.empty()) {
    const std::size_t before = options_here_.size();
    if (options_.script != nullptr) {
      std::erase_if(choices_, [&](std::uint32_t r) {
        const std::size_t had = options_here_.size();
        add_options(r, options_here_);
        return !(ranks_[r].choosing = options_here_.size() > had);
      });
      break;
    }
    const std::uint32_t r = choices_.front();
    choices_.pop_front();
    ranks_[r].choosing = false;
    add_options(r, options_here_);
    if (options_here_.size() > before) break;
  }
  if (options_here_.empty()) return false;
  const auto count = static_cast<std::uint32_t>(options_here_.size());
  std::uint32_t taken = 0;
  if (options_.script != nullptr) {
    auto& script = options_.script->choices;
    if (choices_made_ < script.size())
      taken = std::min(script[choices_made_].taken, count - 1);
    else
      script.push_back({0, count});
  }
  ++choices_made_;
  const Option o = options_here_[taken];
  Rank& k = ranks_[o.rank];
  Channel& c = channels_[o.channel];
  const Wildcard w = k.wild[o.wild];
  const Message m = c.unexpected[o.message];
  if (count > 1) {
    real_choice_ = true;
  } else if (options_.script == nullptr && (!choices_.empty() || !throttled_.empty())) {
    lone_choices_.insert(receiver_key(w.comm, o.rank));
  }
  k.wild.erase(k.wild.begin() + static_cast<std::ptrdiff_t>(o.wild));
  c.unexpected.erase(c.unexpected.begin() + static_cast<std::ptrdiff_t>(o.message));
  if (const auto it = k.requests.find(w.slot); it != k.requests.end()) {
    it->second.source = static_cast<std::int32_t>(c.src);
    it->second.tag = m.tag;
    it->second.guess = m;
  }
  matched(c, m, w);
  match_all(o.rank, w.comm);
  if (!k.wild.empty()) may_choose(o.rank);
  return true;
}

bool Doctor::uncertain() const {
  if (options_.certain) return false;
  return real_choice_ || std::ranges::any_of(lone_choices_, [&](std::uint64_t key) {
           const auto it = sources_.find(key);
           return it != sources_.end() && it->second > 1;
         });
}

}  // namespace weft::traces::doctor
