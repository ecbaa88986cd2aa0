// What becomes of requests in the untimed run: who is told of a match, recorded matches, choices.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "traces/check/doctor.hpp"
#include "traces/request_book.hpp"

namespace weft::traces::doctor {
void Doctor::notify(std::uint32_t rank, std::uint32_t slot, const Message* received) {
  if (slot == Message::kNobody) return;
  Rank& k = ranks_[rank];
  if (slot == kCurrent) {
    k.current_done = true;
  } else if (slot == Message::kPair) {
    k.pair_open = false;
  } else if (const auto it = k.requests.find(slot); it != k.requests.end()) {
    it->second.done = true;
    if (received != nullptr) it->second.took = *received;
    if (RankTasks::is_slot(slot)) k.tasks.came(slot);
  }
  wake(rank);
}

void Doctor::too_large(std::uint32_t src, std::uint32_t dst, const Message& m, std::uint64_t receive,
                       std::int64_t bytes) {
  fault(dst, receive, "receive",
        fmt::format("posted {} bytes, but the message of rank {} with tag {} has {} ({})", bytes, src, m.tag,
                    m.bytes, trace_.position(RankId(src), m.op)));
}

void Doctor::matched(const Channel& c, const Message& m, const Posted& p) {
  if (m.bytes > p.bytes) {
    const auto& requests = ranks_[c.dst].requests;
    const auto q = requests.find(p.slot);
    if (q == requests.end() || !q->second.guess) too_large(c.src, c.dst, m, p.op, p.bytes);
  }
  --ranks_[c.src].in_flight;
  notify(c.src, m.waiter);
  notify(c.dst, p.slot, &m);
}

std::uint32_t Doctor::deliver(std::uint32_t src, const Op& op, std::uint64_t index, std::uint32_t waiter) {
  const auto dst = static_cast<std::uint32_t>(op.peer);
  ++ranks_[src].in_flight;
  const bool wild = !matching_.wildcards(dst).empty();
  const std::uint32_t row = matching_.deliver(op.comm, src, dst, {op.tag, op.amount, index, waiter});
  if (row == kNoRow && !wild) return row;
  if (wild && matching_.held(op.comm, dst, op.tag)) may_choose(dst);
  wake(dst);
  return row;
}

void Doctor::post_wildcard(std::uint32_t r, const Wildcard& w) {
  matching_.post_any(r, w);
  may_choose(r);
}

namespace {

bool names(const OpBlock& block, const Op& op, std::uint32_t slot) {
  if (!is_completion(op.kind)) return op.request == slot;
  std::int64_t one = 0;
  const auto slots = completed_requests(op, block.list(op), one);
  return std::ranges::find(slots, std::int64_t{slot}) != slots.end();
}

void list_requests(const OpBlock& block, NamedRequests& named) {
  named.listed = true;
  const auto add = [&](std::int64_t slot, std::size_t at) {
    auto& list = named.where[static_cast<std::uint32_t>(slot)];
    if (list.empty() || list.back() != at) list.push_back(static_cast<std::uint32_t>(at));
  };
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    const Op& op = block.ops[i];
    std::int64_t one = 0;
    if (!is_completion(op.kind)) {
      if (op.request != kNoRequest) add(op.request, i);
    } else {
      for (const std::int64_t s : completed_requests(op, block.list(op), one)) add(s, i);
    }
  }
}

// The operation from number `from` on that names request `slot`; null if none of the block does.
const Op* next_in_block(const OpBlock& block, std::size_t from, std::uint32_t slot, NamedRequests& named) {
  constexpr std::uint64_t kFar = std::uint64_t{8} * kMaxBlockOps;
  if (!named.listed && named.looked_at > kFar) list_requests(block, named);
  if (named.listed) {
    const auto list = named.where.find(slot);
    if (list == named.where.end()) return nullptr;
    const auto at = std::ranges::lower_bound(list->second, from);
    return at == list->second.end() ? nullptr : &block.ops[*at];
  }
  for (std::size_t i = from; i < block.ops.size(); ++i, ++named.looked_at)
    if (names(block, block.ops[i], slot)) return &block.ops[i];
  return nullptr;
}

}  // namespace

const Op* Doctor::next_that_names(std::uint32_t r, Rank& me, std::uint32_t slot) {
  for (std::size_t n = 0; n <= me.ahead.ahead().size() || me.ahead.read_on(trace_, RankId(r)); ++n) {
    if (me.named.size() == n) me.named.emplace_back();
    const OpBlock& block = n == 0 ? me.block : me.ahead.ahead()[n - 1];
    if (const Op* op = next_in_block(block, n == 0 ? me.at + 1 : 0, slot, me.named[n])) return op;
  }
  return nullptr;
}

std::optional<std::pair<std::int32_t, std::int32_t>> Doctor::match_ahead(std::uint32_t r, Rank& me,
                                                                         std::uint32_t slot) {
  const Op* const op = next_that_names(r, me, slot);
  if (op == nullptr || !is_completion(op->kind)) return std::nullopt;  // freed, cancelled or made anew
  const bool known = (op->kind == OpKind::wait || op->kind == OpKind::test) && op->peer >= 0;
  if (!known) return std::nullopt;
  return std::pair{op->peer, op->tag};
}

void Doctor::recorded_match(std::uint32_t r, Rank& me, std::uint32_t slot, Request& q, std::int32_t source,
                            std::int32_t tag) {
  if (q.guess) return correct_choice(r, me, slot, q, source, tag);
  if (!matching_.wildcards(r).contains(q.order)) return;
  q.source = source;
  q.tag = tag;
  q.row =
      matching_.post_known(r, static_cast<std::uint32_t>(source), {tag, q.op.amount, q.index, slot, q.order});
  wake(r);
}

void Doctor::guess(Rank& me, std::uint32_t slot, Request& q, std::int32_t source, const Message& m) {
  q.source = source;
  q.guess = q.took = m;
  me.guesses.add({q.op.comm, source, m.tag, q.op.tag, q.index, slot});
}

void Doctor::drop_guess(Rank& me, std::uint32_t slot, Request& q) {
  if (!q.guess) return;
  me.guesses.remove({q.op.comm, q.source, q.guess->tag, q.op.tag, q.index, slot});
  q.guess.reset();
}

void Doctor::settle_guess(std::uint32_t r, Rank& me, std::uint32_t slot, Request& q) {
  if (!q.guess) return;
  if (q.guess->bytes > q.op.amount)
    too_large(static_cast<std::uint32_t>(q.source), r, *q.guess, q.index, q.op.amount);
  note_choice(r, q.op.comm, q.chosen);
  drop_guess(me, slot, q);
}

void Doctor::note_choice(std::uint32_t r, CommId comm, Chosen how) {
  if (how == Chosen::kOfSeveral) real_choice_ = true;
  if (how == Chosen::kAlone) lone_choices_.insert(receiver_key(comm, r));
}

void Doctor::correct_choice(std::uint32_t r, Rank& me, std::uint32_t slot, Request& q, std::int32_t source,
                            std::int32_t tag) {
  const CommId comm = q.op.comm;
  q.chosen = Chosen::kForCertain;
  if (q.source == source && (tag == kAnyTag || q.guess->tag == tag)) return;
  corrected_ = true;
  // That one goes back, unless a request that has ours takes it in exchange.
  Message back = *q.guess;
  const std::int32_t from = q.source;
  drop_guess(me, slot, q);
  q.source = source;
  q.tag = tag;
  if (const auto other = me.guesses.first(comm, source, tag, back.tag)) {
    Request& taker = me.requests.at(*other);
    const Message ours = *taker.guess;
    drop_guess(me, *other, taker);
    guess(me, *other, taker, from, back);
    return guess(me, slot, q, source, ours);
  }
  back.waiter = Message::kNobody;
  ++ranks_[static_cast<std::size_t>(from)].in_flight;
  q.done = false;
  q.took.reset();
  // Its receive stands where it was posted, so that no wildcard behind it holds its message back.
  q.row =
      matching_.give_back(comm, static_cast<std::uint32_t>(from), back, static_cast<std::uint32_t>(source), r,
                          {tag, q.op.amount, q.index, slot, q.order});
  wake(r);
  if (matching_.held(comm, r, back.tag)) may_choose(r);
}

// Whether it came in time says the completion: at once where that is in sight, else when the rank is there.
void Doctor::cancel(std::uint32_t r, Rank& me, std::uint32_t slot, Request& q) {
  if (!q.active || is_nonblocking_collective(q.op.kind)) return;
  if (!is_receive_request(q.op.kind)) {
    q.done = true;
    return;
  }
  if (q.recorded) return;
  q.cancelled = true;
  const Op* const next = next_that_names(r, me, slot);
  if (next != nullptr && completes_withdrawn(*next)) withdraw(r, me, slot, q);
}

void Doctor::withdraw(std::uint32_t r, Rank& me, std::uint32_t slot, Request& q) {
  const auto source = static_cast<std::uint32_t>(q.source);
  if (q.took) {
    Message back = *q.took;
    drop_guess(me, slot, q);
    q.took.reset();
    back.waiter = Message::kNobody;
    ++ranks_[source].in_flight;
    matching_.come_back(q.op.comm, source, r, back);
    if (matching_.held(q.op.comm, r, back.tag)) may_choose(r);
  } else if (q.done) {
    return;  // of MPI_PROC_NULL, or withdrawn before
  } else if (q.source >= 0) {
    matching_.withdraw(q.op.comm, source, r, q.row);
  } else {
    matching_.withdraw_any(r, q.order);
  }
  q.done = true;
  wake(r);
}

bool Doctor::withdraw_cancelled(std::uint32_t r) {
  Rank& me = ranks_[r];
  std::vector<std::pair<std::uint64_t, std::uint32_t>> open;  // order, slot
  for (const auto& [slot, q] : me.requests)
    if (q.cancelled && q.active && !q.done) open.emplace_back(q.order, slot);
  std::ranges::sort(open);
  bool withdrawn = false;
  for (const auto& [order, slot] : open) {
    if (!me.ended) {
      const Op& here = me.block.ops[me.at];
      const bool waited_for = here.request == slot && is_completion(here.kind);
      if (waited_for ? here.peer >= 0 : match_ahead(r, me, slot).has_value()) continue;
    }
    withdraw(r, me, slot, me.requests.at(slot));
    withdrawn = true;
  }
  return withdrawn;
}

// What stands in a queue for a request that was freed stays there.
void Doctor::forget(std::uint32_t r, const Request& q) {
  if (!is_receive_request(q.op.kind)) return matching_.forget_message(q.row);
  if (q.source >= 0) return matching_.forget_receive(q.row);
  matching_.forget_any(r, q.order);
}

std::optional<Matching::Option> Doctor::choose_by_script() {
  std::erase_if(choices_, [&](std::uint32_t r) {
    const std::size_t had = options_here_.size();
    matching_.all_options(r, options_here_);
    return !(ranks_[r].choosing = options_here_.size() > had);
  });
  if (options_here_.empty()) return std::nullopt;
  script_options_.clear();
  for (const auto& o : options_here_) script_options_.push_back({o.rank, o.channel, o.wild});
  const auto taken = options_.script->next(script_options_);
  looked_at_ += options_here_.size() + options_.script->asleep();
  // It is among them, unless the file has changed since the last run.
  const auto at = taken ? std::ranges::find(script_options_, *taken) : script_options_.end();
  if (at == script_options_.end()) {
    repeated_ = true;
    return std::nullopt;
  }
  return options_here_[static_cast<std::size_t>(at - script_options_.begin())];
}

bool Doctor::choose() {
  options_here_.clear();
  std::optional<Matching::Option> taken;
  Chosen how = Chosen::kForCertain;
  if (options_.script != nullptr) {
    taken = choose_by_script();
  } else {
    // One rank's options are enough: the first one, whether it is the only one, and whether others are open.
    while (!choices_.empty() && options_here_.empty()) {
      const std::uint32_t r = choices_.front();
      choices_.pop_front();
      ranks_[r].choosing = false;
      const std::size_t choosers = matching_.choosers(r);
      matching_.options(r, 2, options_here_);
      if (options_here_.empty()) continue;
      taken = options_here_.front();
      if (options_here_.size() > 1)
        how = Chosen::kOfSeveral;
      else if (choosers > 1 || !choices_.empty() || !throttled_.empty())
        how = Chosen::kAlone;
    }
  }
  if (!taken) return false;
  ++choices_made_;
  const Matching::Option o = *taken;
  Rank& k = ranks_[o.rank];
  const Channel& c = matching_.channels()[o.channel];
  const auto [w, m] = matching_.take(o);
  if (const auto it = k.requests.find(w.slot); it != k.requests.end()) {
    it->second.tag = m.tag;
    it->second.chosen = how;
    guess(k, w.slot, it->second, static_cast<std::int32_t>(c.src), m);
  } else {
    note_choice(o.rank, w.comm, how);
  }
  matched(c, m, w);
  matching_.release(o.rank, w.comm, w.tag);
  wake(o.rank);
  if (!matching_.wildcards(o.rank).empty()) may_choose(o.rank);
  return true;
}

bool Doctor::uncertain() const {
  return real_choice_ || std::ranges::any_of(lone_choices_, [&](std::uint64_t key) {
           return matching_.sources(CommId(static_cast<std::uint32_t>(key >> 32)),
                                    static_cast<std::uint32_t>(key)) > 1;
         });
}

}  // namespace weft::traces::doctor
