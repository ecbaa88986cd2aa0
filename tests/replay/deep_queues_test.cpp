// Queues of thousands of messages: what a probe from any source finds among them is what a walk through all of them finds, whatever
// came first; requests that are freed by the thousand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/rng.hpp"
#include "replay/engine.hpp"
#include "replay/messages/matcher.hpp"
#include "tests/replay/microseconds.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/seed.hpp"

namespace weft::replay {
namespace {

using testing::MemoryTrace;
using traces::kAnySource;
using traces::kAnyTag;
using traces::Op;
using traces::OpKind;

// A receiver, rank 0, and its unexpected messages in the order in which receives from any source see them.
class Flood {
 public:
  explicit Flood(std::uint64_t seed) : rng_(seed) {}
  void step() {
    switch (rng_.below(8)) {
      case 0:
      case 1:
      case 2:
        return come();
      case 3:
      case 4:
        return data();
      case 5:
        return receive();
      default:
        return probe();
    }
  }
  [[nodiscard]] std::uint64_t found() const { return found_; }

 private:
  void come() {  // some at one instant
    std::vector<std::uint32_t> fresh;
    for (std::uint64_t n = 1 + rng_.below(6); n > 0; --n) {
      const std::uint32_t i = messages_.take();
      Message& m = messages_[i];
      m = Message{};
      m.src = static_cast<std::uint32_t>(1 + rng_.below(4));
      m.context = static_cast<std::uint32_t>(rng_.below(2));
      m.tag = static_cast<std::int32_t>(rng_.below(3));
      m.protocol = rng_.below(4) == 0 ? Protocol::kRendezvous : Protocol::kEager;
      EXPECT_EQ(matcher_.deliver(i), kNone);
      fresh.push_back(i);
    }
    std::stable_sort(fresh.begin(), fresh.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return messages_[a].src < messages_[b].src; });
    queue_.insert(queue_.end(), fresh.begin(), fresh.end());
    EXPECT_TRUE(matcher_.decide([](std::uint32_t, std::uint32_t) { FAIL() << "no receive is posted"; }));
  }
  void data() {  // of late ones sooner than of early ones
    if (queue_.empty()) return;
    const std::uint32_t i = queue_[queue_.size() - 1 - rng_.below(std::min<std::size_t>(queue_.size(), 40))];
    if (messages_[i].protocol != Protocol::kEager || (messages_[i].state & kArrived) != 0) return;
    messages_[i].state |= kArrived;
    matcher_.data_came(i);
  }
  [[nodiscard]] bool accepts(std::uint32_t i, std::uint32_t context, std::int32_t source,
                             std::int32_t tag) const {
    const Message& m = messages_[i];
    return m.context == context && (source < 0 || static_cast<std::int32_t>(m.src) == source) &&
           (tag == kAnyTag || m.tag == tag);
  }
  void receive() {
    const auto context = static_cast<std::uint32_t>(rng_.below(2));
    const std::int32_t source = static_cast<std::int32_t>(rng_.below(5)) - 1;
    const std::int32_t tag = static_cast<std::int32_t>(rng_.below(4)) - 1;
    const auto at = std::find_if(queue_.begin(), queue_.end(),
                                 [&](std::uint32_t i) { return accepts(i, context, source, tag); });
    if (at == queue_.end()) return;
    const std::uint32_t r = matcher_.receives().take();
    matcher_.receives()[r] = PostedRecv{0, context, source, tag, 0, Target{}, 0, kNone, kNone};
    EXPECT_EQ(matcher_.post(r), *at);
    matcher_.receives().give(r);
    messages_.give(*at);
    queue_.erase(at);
  }
  void probe() {
    const auto context = static_cast<std::uint32_t>(rng_.below(2));
    const std::int32_t tag = static_cast<std::int32_t>(rng_.below(4)) - 1;
    const auto seen = [](const Message& m) {
      return m.protocol != Protocol::kEager || (m.state & kArrived) != 0;
    };
    std::uint32_t expected = kNone;
    std::vector<bool> passed(5);  // sources of which an earlier one is not seen
    for (const std::uint32_t i : queue_) {
      if (!accepts(i, context, kAnySource, tag) || passed[messages_[i].src]) continue;
      if (seen(messages_[i])) {
        expected = i;
        break;
      }
      passed[messages_[i].src] = true;
    }
    EXPECT_EQ(matcher_.peek_if(0, context, kAnySource, tag, seen), expected);
    found_ += expected != kNone ? 1 : 0;
  }

  Rng rng_;
  Pool<Message> messages_;
  Matcher matcher_{messages_, 5};
  std::vector<std::uint32_t> queue_;
  std::uint64_t found_ = 0;
};

TEST(DeepQueues, AProbeFromAnySourceFindsWhatAWalkFinds) {
  for (const std::uint64_t seed : support::seeds_to(8)) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Flood flood(seed);
    for (int i = 0; i < 4000 && !::testing::Test::HasFailure(); ++i) flood.step();
    EXPECT_GT(flood.found(), 100u);
  }
}

// Of each kind some are freed, before or after they are matched, some waited for: who is told of what stays right.
TEST(DeepQueues, FreedRequestsTellNobody) {
  for (const RawMode raw : {RawMode::kOff, RawMode::kRendezvous, RawMode::kDetached}) {
    MemoryTrace t(2);
    constexpr std::uint32_t kMany = 300;
    Rng rng(1);
    std::vector<std::int64_t> waited[2];
    for (std::uint32_t i = 0; i < kMany; ++i) {
      const auto tag = static_cast<std::int32_t>(i);
      for (const std::uint32_t r : {0u, 1u}) {
        t.p2p(r, r == 0 ? OpKind::isend : OpKind::irecv, static_cast<std::int32_t>(1 - r), tag, kLarge,
              CommId(0), i);
        if (rng.below(3) == 0) t.compute(r, Duration(kMicro));
        if (rng.below(2) == 0)
          t.add(r, {.kind = OpKind::request_free, .request = i});
        else
          waited[r].push_back(i);
      }
    }
    for (const std::uint32_t r : {0u, 1u}) {
      t.add(r, {.kind = OpKind::waitall}, waited[r]);
      t.compute(r, Duration(1'000'000 * kMicro));  // what was freed is over by then
      for (std::uint32_t i = 0; i < kMany; ++i)    // its slot serves another
        if (!std::binary_search(waited[r].begin(), waited[r].end(), std::int64_t{i})) {
          t.p2p(r, r == 0 ? OpKind::isend : OpKind::irecv, static_cast<std::int32_t>(1 - r), 1000, 8,
                CommId(0), i);
          t.wait(r, i);
          break;
        }
    }
    ReplayOptions o;
    o.raw = raw;
    const ReplayResult r = replayed(t, microsecond_platform(), o);
    EXPECT_TRUE(r.finished);
    EXPECT_EQ(r.network.count, kMany + 1);
    EXPECT_LT(r.makespan, Duration(1'000'100 * kMicro + 400'000 * kMicro));
    EXPECT_EQ(r.unmatched_receives + r.unmatched_messages, 0u);
  }
}

// Many collectives under way, some of them freed, whose slots serve others meanwhile: each of these ends as it does in a slot of its
// own where nothing was freed, which is after all collectives.
TEST(DeepQueues, FreedCollectivesTellNobody) {
  constexpr std::uint32_t kMany = 300;
  std::vector<ReplayResult> results;
  for (const bool freed : {true, false}) {
    MemoryTrace t(2);
    for (const std::uint32_t r : {0u, 1u}) {
      Rng rng(1);
      std::vector<std::int64_t> first, last;
      const auto late = [&](OpKind kind) {
        for (const std::int64_t slot : last)
          t.p2p(r, kind, static_cast<std::int32_t>(1 - r), static_cast<std::int32_t>(slot), kSmall);
      };
      for (std::uint32_t i = 0; i < kMany; ++i) {
        t.add(r, {.kind = OpKind::iallreduce, .peer = kAnySource, .amount = kLarge, .request = i});
        if (rng.below(3) == 0) t.compute(r, Duration(kMicro));
        if (rng.below(2) == 0) {
          first.push_back(i);
          continue;
        }
        const std::uint32_t slot = freed ? i : kMany + i;
        last.push_back(slot);
        if (freed) t.add(r, {.kind = OpKind::request_free, .request = i});
        t.p2p(r, OpKind::irecv, static_cast<std::int32_t>(1 - r), static_cast<std::int32_t>(slot), kSmall,
              CommId(0), slot);
      }
      t.add(r, {.kind = OpKind::waitall}, first);
      t.compute(r, Duration((1 + r) * 1'000'000 * kMicro));
      if (r == 1) late(OpKind::send);
      t.add(r, {.kind = OpKind::waitall}, last);
      if (r == 0) late(OpKind::send);
    }
    ReplayOptions o;
    o.raw = RawMode::kOff;
    results.push_back(replayed(t, microsecond_platform(), o));
    EXPECT_TRUE(results.back().finished);
  }
  for (const std::uint32_t r : {0u, 1u}) {
    EXPECT_GT(results[0].ranks[r].finish, Duration(2'000'000 * kMicro));
    EXPECT_EQ(results[0].ranks[r].finish, results[1].ranks[r].finish);
  }
}

}  // namespace
}  // namespace weft::replay
