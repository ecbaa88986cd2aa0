// Matching of the trace doctor against a plain one that searches everything after each event, what it walks past, and its choices.
#include "traces/check/matching.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/rng.hpp"
#include "tests/support/seed.hpp"
#include "traces/check/script.hpp"

namespace weft::traces::doctor::check_matching_test {
namespace {

constexpr std::uint32_t kWorld = 4;
constexpr std::uint32_t kComms = 2;

// The second communicator has the ranks in reverse.
std::int64_t position(CommId comm, std::uint32_t rank) {
  return comm.index() == 0 ? rank : kWorld - 1 - rank;
}

// "source>destination in communicator: operation of the send takes order of the receive"
std::string match_text(std::uint32_t src, std::uint32_t dst, CommId comm, const Message& m, const Posted& p) {
  return std::to_string(src) + ">" + std::to_string(dst) + " in " + std::to_string(comm.index()) + ": " +
         std::to_string(m.op) + " takes " + std::to_string(p.order);
}

bool accepts(const Posted& p, std::int32_t tag) { return p.tag == kAnyTag || p.tag == tag; }

// Queues are vectors; whatever happens, all channels of the receiver are searched.
class SlowMatching {
 public:
  struct Queues {
    std::vector<Message> unexpected;
    std::vector<Posted> posted;
  };
  using Where = std::tuple<std::uint32_t, std::uint32_t, std::int64_t>;  // communicator, receiver, position

  Queues& at(CommId comm, std::uint32_t src, std::uint32_t dst) {
    return queues[{comm.index(), dst, position(comm, src)}];
  }
  bool held(CommId comm, std::uint32_t r, std::int32_t tag, std::uint64_t order) const {
    return std::ranges::any_of(
        wild[r], [&](const Wildcard& w) { return w.comm == comm && w.order < order && accepts(w, tag); });
  }
  void match(CommId comm, std::uint32_t src, std::uint32_t dst) {
    Queues& q = at(comm, src, dst);
    for (std::size_t i = 0; i < q.posted.size();) {
      const Posted p = q.posted[i];
      const auto m = std::ranges::find_if(q.unexpected, [&](const Message& x) { return accepts(p, x.tag); });
      const bool mine = m != q.unexpected.end() && !held(comm, dst, m->tag, p.order) &&
                        std::ranges::none_of(q.posted.begin(), q.posted.begin() + static_cast<long>(i),
                                             [&](const Posted& x) { return accepts(x, m->tag); });
      if (!mine) {
        ++i;
        continue;
      }
      matches.push_back(match_text(src, dst, comm, *m, p));
      q.unexpected.erase(m);
      q.posted.erase(q.posted.begin() + static_cast<long>(i));
    }
  }
  void match_all(CommId comm, std::uint32_t dst) {
    for (std::uint32_t i = 0; i < kWorld; ++i) match(comm, comm.index() == 0 ? i : kWorld - 1 - i, dst);
  }
  void insert(std::vector<Posted>& into, const Posted& p) {
    into.insert(std::ranges::find_if(into, [&](const Posted& x) { return x.order > p.order; }), p);
  }
  // A receive instead of a wildcard that is gone. Where no other is left it has its own message before those have theirs that
  // the wildcard held: the order in which ranks are told.
  void post_instead(CommId comm, std::uint32_t src, std::uint32_t r, const Posted& p) {
    Queues& q = at(comm, src, r);
    const auto m = std::ranges::find_if(q.unexpected, [&](const Message& x) { return accepts(p, x.tag); });
    if (wild[r].empty() && m != q.unexpected.end()) {
      matches.push_back(match_text(src, r, comm, *m, p));
      q.unexpected.erase(m);
    } else {
      insert(q.posted, p);
      match(comm, src, r);
    }
    match_all(comm, r);
  }
  // Every message that a wildcard accepts and no receive before it: its order, operation of the send, source. The first wildcard
  // that has any, or all of them.
  std::vector<std::tuple<std::uint64_t, std::uint64_t, std::int64_t>> options(std::uint32_t r, bool all) {
    std::vector<std::tuple<std::uint64_t, std::uint64_t, std::int64_t>> out;
    for (const Wildcard& w : wild[r]) {
      for (std::int64_t s = 0; s < kWorld; ++s) {
        const Queues& q = queues[{w.comm.index(), r, s}];
        const auto m =
            std::ranges::find_if(q.unexpected, [&](const Message& x) { return accepts(w, x.tag); });
        if (m != q.unexpected.end() && !held(w.comm, r, m->tag, w.order) &&
            std::ranges::none_of(q.posted,
                                 [&](const Posted& x) { return x.order < w.order && accepts(x, m->tag); }))
          out.emplace_back(w.order, m->op, s);
      }
      if (!all && !out.empty()) break;
    }
    return out;
  }
  bool sees(CommId comm, std::int64_t source, std::uint32_t r, std::int32_t tag) {
    for (std::uint32_t s = 0; s < kWorld; ++s)
      if (source < 0 || source == s)
        for (const Message& m : at(comm, s, r).unexpected)
          if ((tag == kAnyTag || m.tag == tag) && !held(comm, r, m.tag, UINT64_MAX)) return true;
    return false;
  }

  std::map<Where, Queues> queues;
  std::vector<std::vector<Wildcard>> wild{kWorld};
  std::vector<std::string> matches;
};

// The same events to both.
class Pair {
 public:
  explicit Pair(std::uint64_t seed)
      : rng_(seed), tags_(static_cast<std::int32_t>(1 + rng_.below(rng_.below(2) == 0 ? 3 : 40))) {
    // From programs with few wildcards to such with many.
    any_source_ = rng_.below(60);
    any_tag_ = rng_.below(40);
    most_ = rng_.below(3) == 0 ? 1 : 2;
  }

  void event() {
    const std::uint64_t kind = rng_.below(100);
    const auto r = static_cast<std::uint32_t>(rng_.below(most_ == 1 ? 2 : kWorld));
    if (kind < 38)
      send(r);
    else if (kind < 74)
      receive(r);
    else if (kind < 80)
      withdraw();
    else if (kind < 86)
      choose(r);
    else if (kind < 91)
      know();
    else if (kind < 94)
      give_back();
    else
      look(r);
    ASSERT_EQ(fast_matches_, slow_.matches);
  }
  void compare_what_is_left() {
    std::size_t there = 0;
    for (const Channel& c : fast_.channels()) {
      const auto& q = slow_.at(c.comm, c.src, c.dst);
      std::vector<std::uint64_t> ops, orders, slow_ops, slow_orders;
      fast_.for_each_message(c, [&](const Message& m) { ops.push_back(m.op); });
      fast_.for_each_receive(c, [&](const Posted& p) { orders.push_back(p.order); });
      for (const Message& m : q.unexpected) slow_ops.push_back(m.op);
      for (const Posted& p : q.posted) slow_orders.push_back(p.order);
      EXPECT_EQ(ops, slow_ops);
      EXPECT_EQ(orders, slow_orders);
      there += ops.size() + orders.size();
    }
    std::size_t slow_there = 0;
    for (const auto& [where, q] : slow_.queues) slow_there += q.unexpected.size() + q.posted.size();
    EXPECT_EQ(there, slow_there);
  }
  [[nodiscard]] std::size_t matches() const { return fast_matches_.size(); }

 private:
  struct Receive {
    CommId comm;
    std::uint32_t rank, source, row;
    std::uint64_t order;
  };
  struct Taken {
    Wildcard w;
    Message m;
    std::uint32_t rank, source;
  };
  CommId comm() { return CommId(static_cast<std::uint32_t>(rng_.below(4) == 0 ? kComms - 1 : 0)); }
  std::int32_t tag() { return static_cast<std::int32_t>(rng_.below(static_cast<std::uint64_t>(tags_))); }
  std::uint32_t source() { return static_cast<std::uint32_t>(rng_.below(most_ == 1 ? 1 : kWorld)); }
  std::int32_t asked_tag() { return rng_.below(100) < any_tag_ ? kAnyTag : tag(); }

  void send(std::uint32_t dst) {
    const CommId in = comm();
    const std::uint32_t src = source();
    // Several messages of one operation: a startall.
    if (rng_.below(4) != 0) ++op_;
    const Message m{tag(), 8, op_, Message::kNobody};
    (void)fast_.deliver(in, src, dst, m);
    slow_.at(in, src, dst).unexpected.push_back(m);
    slow_.match(in, src, dst);
  }
  void receive(std::uint32_t r) {
    const CommId in = comm();
    const Posted p{asked_tag(), 8, 0, 0, order_++};
    if (rng_.below(100) < any_source_) {
      fast_.post_any(r, {p, in});
      slow_.wild[r].push_back({p, in});
      return;
    }
    const std::uint32_t src = source();
    const std::uint32_t row = fast_.post(in, src, r, p);
    posted_.push_back({in, r, src, row, p.order});
    slow_.insert(slow_.at(in, src, r).posted, p);
    slow_.match(in, src, r);
  }
  // The wildcard of an open receive, if there is one.
  std::optional<std::pair<std::uint32_t, Wildcard>> some_wildcard() {
    const auto r = static_cast<std::uint32_t>(rng_.below(kWorld));
    if (slow_.wild[r].empty()) return std::nullopt;
    return std::pair{r, slow_.wild[r][rng_.below(slow_.wild[r].size())]};
  }
  void drop(std::uint32_t r, std::uint64_t order) {
    std::erase_if(slow_.wild[r], [&](const Wildcard& w) { return w.order == order; });
  }
  void withdraw() {
    if (const auto w = some_wildcard(); w && rng_.below(2) == 0) {
      fast_.withdraw_any(w->first, w->second.order);
      drop(w->first, w->second.order);
      return slow_.match_all(w->second.comm, w->first);
    }
    if (posted_.empty()) return;
    const std::size_t i = rng_.below(posted_.size());
    const Receive x = posted_[i];
    posted_.erase(posted_.begin() + static_cast<long>(i));
    auto& q = slow_.at(x.comm, x.source, x.rank).posted;
    const auto at = std::ranges::find_if(q, [&](const Posted& p) { return p.order == x.order; });
    if (at == q.end()) return;  // it matched
    q.erase(at);
    fast_.withdraw(x.comm, x.source, x.rank, x.row);
    slow_.match(x.comm, x.source, x.rank);
  }
  void choose(std::uint32_t r) {
    std::vector<Matching::Option> options;
    fast_.options(r, SIZE_MAX, options);
    std::vector<Matching::Option> all;
    fast_.all_options(r, all);
    const auto all_expected = slow_.options(r, true);
    ASSERT_EQ(all.size(), all_expected.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Channel& c = fast_.channels()[all[i].channel];
      ASSERT_EQ(std::pair(all[i].wild, position(c.comm, c.src)),
                std::pair(std::get<0>(all_expected[i]), std::get<2>(all_expected[i])));
    }
    const auto expected = slow_.options(r, false);
    ASSERT_EQ(options.size(), expected.size());
    std::vector<Matching::Option> two;
    fast_.options(r, 2, two);
    ASSERT_EQ(two.size(), std::min<std::size_t>(2, expected.size()));
    if (options.empty()) return;
    ASSERT_EQ(two[0].message, options[0].message);
    const std::size_t i = rng_.below(options.size());
    const Channel& c = fast_.channels()[options[i].channel];
    const auto [w, m] = fast_.take(options[i]);
    ASSERT_EQ(std::tuple(w.order, m.op, position(c.comm, c.src)), expected[i]);
    fast_.release(r, w.comm, w.tag);
    auto& q = slow_.at(c.comm, c.src, r).unexpected;
    q.erase(std::ranges::find_if(q, [&](const Message& x) { return x.op == m.op && x.tag == m.tag; }));
    drop(r, w.order);
    slow_.match_all(w.comm, r);
    taken_.push_back({w, m, r, c.src});
  }
  // The end of a receive tells what it took, rightly or not.
  void know() {
    const auto w = some_wildcard();
    if (!w) return;
    const std::uint32_t src = source();
    Posted p = w->second;
    if (p.tag == kAnyTag || rng_.below(8) == 0) p.tag = tag();
    const std::uint32_t row = fast_.post_known(w->first, src, p);
    posted_.push_back({w->second.comm, w->first, src, row, p.order});
    drop(w->first, p.order);
    slow_.post_instead(w->second.comm, src, w->first, p);
  }
  // ... and that a choice was another one.
  void give_back() {
    if (taken_.empty()) return;
    const std::size_t i = rng_.below(taken_.size());
    const Taken t = taken_[i];
    taken_.erase(taken_.begin() + static_cast<long>(i));
    const std::uint32_t src = source();
    const Posted p{tag(), 8, 0, 0, order_++};
    const CommId in = t.w.comm;
    const std::uint32_t row = fast_.give_back(in, t.source, t.m, src, t.rank, p);
    posted_.push_back({in, t.rank, src, row, p.order});
    auto& from = slow_.at(in, t.source, t.rank).unexpected;
    from.insert(std::ranges::find_if(from, [&](const Message& x) { return x.op > t.m.op; }), t.m);
    slow_.post_instead(in, src, t.rank, p);
  }
  void look(std::uint32_t r) {
    const CommId in = comm();
    const std::int64_t from = rng_.below(2) == 0 ? kAnySource : static_cast<std::int64_t>(source());
    const std::int32_t with = asked_tag();
    ASSERT_EQ(fast_.sees(in, from, r, with), slow_.sees(in, from, r, with));
    const std::int32_t t = tag();
    ASSERT_EQ(fast_.held(in, r, t), slow_.held(in, r, t, UINT64_MAX));
  }

  Rng rng_;
  std::int32_t tags_;
  std::uint64_t any_source_ = 0, any_tag_ = 0, most_ = 2;
  std::uint64_t op_ = 0, order_ = 0;
  std::vector<std::string> fast_matches_;
  Matching fast_{kWorld, position, [this](const Channel& c, const Message& m, const Posted& p) {
                   fast_matches_.push_back(match_text(c.src, c.dst, c.comm, m, p));
                 }};
  SlowMatching slow_;
  std::vector<Receive> posted_;
  std::vector<Taken> taken_;
};

TEST(CheckMatching, IsThatOfAPlainSearchWhateverComes) {
  std::size_t matches = 0;
  for (const std::uint64_t seed : support::seeds_to(600)) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Pair both(seed);
    for (int i = 0; i < 250; ++i) {
      both.event();
      if (::testing::Test::HasFailure()) return;
    }
    both.compare_what_is_left();
    if (::testing::Test::HasFailure()) return;
    matches += both.matches();
  }
  EXPECT_GT(matches, support::number_in("WEFT_SEED") ? 0u : 20'000u);
}

// Rank r has messages[r] messages from as many ranks, and a receive from any source for each.
std::uint64_t orders_of(const std::vector<std::uint32_t>& messages) {
  Script script;
  std::uint64_t orders = 0;
  do {
    script.begin_run();
    std::vector<std::vector<std::uint32_t>> left(messages.size());  // senders
    for (std::size_t r = 0; r < messages.size(); ++r)
      for (std::uint32_t s = 0; s < messages[r]; ++s) left[r].push_back(s);
    while (true) {
      std::vector<Script::Option> options;
      for (std::uint32_t r = 0; r < messages.size(); ++r)
        for (const std::uint32_t s : left[r])
          options.push_back({r, 100 * r + s, messages[r] - left[r].size()});
      if (options.empty()) {
        ++orders;
        break;
      }
      const auto taken = script.next(options);
      if (!taken) break;
      std::erase(left[taken->rank], taken->channel - 100 * taken->rank);
    }
  } while (script.advance());
  return orders;
}

// Of n receives and n messages n!, of ranks that do not know of each other the product: not every way to interleave them.
TEST(CheckMatching, EveryOrderOfArrivalIsTriedOnce) {
  EXPECT_EQ(orders_of({}), 1u);
  EXPECT_EQ(orders_of({5}), 120u);
  EXPECT_EQ(orders_of({1, 1, 1, 1, 1, 1, 1, 1}), 1u);
  EXPECT_EQ(orders_of({3, 1, 4}), 6u * 24u);
}

// ---- what is walked, for n messages

Matching counted(std::uint32_t ranks, std::uint64_t& matches) {
  return {ranks, [](CommId, std::uint32_t rank) { return std::int64_t{rank}; },
          [&matches](const Channel&, const Message&, const Posted&) { ++matches; }};
}

constexpr std::uint32_t kMany = 5'000;
constexpr std::uint64_t kWalked = 40;  // rows a message, at most; a walk over half of them would be 2,500

TEST(CheckMatching, TagsInReverseOrderAreNotWalked) {
  for (const bool receives_first : {false, true}) {
    std::uint64_t matches = 0;
    Matching m = counted(2, matches);
    const auto receives = [&] {
      for (std::uint32_t i = 0; i < kMany; ++i)
        (void)m.post(CommId(0), 0, 1, {static_cast<std::int32_t>(kMany - i), 8, i, 0, i});
    };
    if (receives_first) receives();
    for (std::uint32_t i = 1; i <= kMany; ++i)
      (void)m.deliver(CommId(0), 0, 1, {static_cast<std::int32_t>(i), 8, i, 0});
    if (!receives_first) receives();
    EXPECT_EQ(matches, kMany);
    EXPECT_LT(m.steps(), kMany * kWalked);
  }
}

TEST(CheckMatching, ReceivesBehindAWildcardAreNotWalkedForEachMessage) {
  std::uint64_t matches = 0;
  Matching m = counted(2, matches);
  m.post_any(1, {{static_cast<std::int32_t>(kMany), 8, 0, 0, 0}, CommId(0)});
  for (std::uint32_t i = 0; i < kMany; ++i)
    (void)m.post(CommId(0), 0, 1, {static_cast<std::int32_t>(kMany - i), 8, i, 0, i + 1});
  for (std::uint32_t i = 1; i <= kMany; ++i)
    (void)m.deliver(CommId(0), 0, 1, {static_cast<std::int32_t>(i), 8, i, 0});
  EXPECT_EQ(matches, kMany - 1);
  m.withdraw_any(1, 0);
  EXPECT_EQ(matches, kMany);
  EXPECT_LT(m.steps(), kMany * kWalked);
}

TEST(CheckMatching, OneOfManySourcesIsChosenWithoutAskingAll) {
  for (const std::int32_t tag : {kAnyTag, 7}) {
    std::uint64_t matches = 0;
    Matching m = counted(kMany + 1, matches);
    for (std::uint32_t i = 1; i <= kMany; ++i) (void)m.deliver(CommId(0), i, 0, {7, 8, 0, 0});
    for (std::uint32_t i = 1; i <= kMany; ++i) {
      m.post_any(0, {{tag, 8, i, 0, i}, CommId(0)});
      EXPECT_FALSE(m.sees(CommId(0), kAnySource, 0, tag));
      std::vector<Matching::Option> options;
      m.options(0, 2, options);
      ASSERT_EQ(options.size(), i < kMany ? 2u : 1u);
      EXPECT_EQ(m.channels()[options[0].channel].src, i);
      m.take(options[0]);
      m.release(0, CommId(0), tag);
    }
    EXPECT_LT(m.steps(), kMany * kWalked);
  }
}

TEST(CheckMatching, WildcardsWithoutAMessageAreNotAskedForEachOne) {
  std::uint64_t matches = 0;
  Matching m = counted(2, matches);
  for (std::uint32_t i = 0; i < kMany; ++i)
    m.post_any(1, {{static_cast<std::int32_t>(i), 8, i, 0, i}, CommId(0)});
  for (std::uint32_t i = kMany; i-- > 0;) {
    (void)m.deliver(CommId(0), 0, 1, {static_cast<std::int32_t>(i), 8, i, 0});
    std::vector<Matching::Option> options;
    m.options(1, 2, options);
    ASSERT_EQ(options.size(), 1u);
    EXPECT_EQ(options[0].wild, i);
    m.take(options[0]);
    m.release(1, CommId(0), static_cast<std::int32_t>(i));
  }
  EXPECT_TRUE(m.wildcards(1).empty());
  EXPECT_LT(m.steps(), kMany * kWalked);
}

TEST(CheckMatching, WithdrawingInReverseIsNotWalked) {
  std::uint64_t matches = 0;
  Matching m = counted(2, matches);
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < kMany; ++i)
    rows.push_back(m.post(CommId(0), 0, 1, {static_cast<std::int32_t>(i), 8, i, i, i}));
  for (std::uint32_t i = 0; i < kMany; ++i) m.withdraw(CommId(0), 0, 1, rows[kMany - 1 - i]);
  EXPECT_TRUE(m.channels()[0].posted.empty());
  EXPECT_LT(m.steps(), kMany * kWalked);
}

}  // namespace
}  // namespace weft::traces::doctor::check_matching_test
