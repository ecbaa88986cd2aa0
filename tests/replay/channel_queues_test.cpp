// Queues of channels: earliest first whatever is asked for, and long ones are not walked again and again.
#include "replay/messages/channel_queues.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "core/rng.hpp"
namespace weft::replay::channel_queues_test {
namespace {

struct Channel : ChannelRow {
  [[nodiscard]] bool idle(Instant) const { return recv_head == kNone && msg_head == kNone; }
};

struct World {
  Pool<Message> messages;
  ChannelQueues<Channel, PostedRecv> queues{messages, 3000};
  std::uint64_t posted = 0;

  std::uint32_t send(Channel& c, std::int32_t tag) {
    const std::uint32_t m = messages.take();
    messages[m] = Message{};
    messages[m].tag = tag;
    queues.append_message(c, m);
    return m;
  }
  std::uint32_t receive(Channel& c, std::int32_t tag) {
    const std::uint32_t r = queues.receives().take();
    queues.receives()[r] = PostedRecv{};
    queues.receives()[r].tag = tag;
    queues.receives()[r].sequence = posted++;
    queues.append_receive(c, r);
    return r;
  }
};

// The last of n tags first: walking would be n^2 / 2 steps, 2 x 10^8 here.
TEST(ChannelQueues, TagsInReverseOrderCostNoWalkEach) {
  constexpr std::int32_t kTags = 20'000;
  World w;
  for (std::int32_t t = 0; t < kTags; ++t) {
    w.send(w.queues.find(0, 1, 0), t);
    w.receive(w.queues.find(1, 0, 0), t);
  }
  for (std::int32_t t = kTags; t-- > 0;) {
    Channel& sent = w.queues.find(0, 1, 0);
    const std::uint32_t m = w.queues.first_message(sent, t);
    ASSERT_NE(m, kNone);
    EXPECT_EQ(w.messages[m].tag, t);
    w.queues.remove_message(sent, m);
    Channel& posted = w.queues.find(1, 0, 0);
    const std::uint32_t r = w.queues.first_receive(posted, t);
    ASSERT_NE(r, kNone);
    EXPECT_EQ(w.queues.receives()[r].tag, t);
    w.queues.remove_receive(posted, r);
  }
  EXPECT_LE(w.queues.steps(), 2 * TagIndex::kWalk);
}

// Against lists that are searched from their start; lengths go over kWalk and back to nothing.
class ChannelQueuesAtRandom : public ::testing::TestWithParam<std::uint64_t> {};
TEST_P(ChannelQueuesAtRandom, FindWhatAListInOrderHasFirst) {
  SCOPED_TRACE(::testing::Message() << "seed " << GetParam());
  Rng random(GetParam());
  World w;
  constexpr std::uint32_t kChannels = 3000;  // the table grows
  struct Row {
    std::uint32_t id;
    std::int32_t tag;
  };
  std::vector<std::deque<Row>> sent(kChannels), posted(kChannels);
  const auto pick = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random.below(n)); };
  for (int step = 0; step < 200'000; ++step) {
    // Few channels get most of it, in swings.
    const std::uint32_t k = pick(4) == 0 ? pick(kChannels) : pick(3);
    Channel& c = w.queues.find(k, k / 7, k % 5);
    const bool filling = (step / 4000) % 2 == 0;
    const std::int32_t tag = static_cast<std::int32_t>(pick(40)) - 1;  // -1: any
    if (pick(4) < (filling ? 3u : 1u)) {
      sent[k].push_back({w.send(c, std::max(tag, 0)), std::max(tag, 0)});
      posted[k].push_back({w.receive(c, tag), tag});
      continue;
    }
    const auto message = std::find_if(sent[k].begin(), sent[k].end(),
                                      [&](const Row& r) { return tag == traces::kAnyTag || r.tag == tag; });
    const std::uint32_t m = w.queues.first_message(c, tag);
    ASSERT_EQ(m, message == sent[k].end() ? kNone : message->id);
    if (m != kNone) {
      w.queues.remove_message(c, m);
      w.messages.give(m);
      sent[k].erase(message);
    }
    const std::int32_t exact = std::max(tag, 0);
    const auto receive = std::find_if(posted[k].begin(), posted[k].end(), [&](const Row& r) {
      return r.tag == traces::kAnyTag || r.tag == exact;
    });
    const std::uint32_t r = w.queues.first_receive(c, exact);
    ASSERT_EQ(r, receive == posted[k].end() ? kNone : receive->id);
    if (r != kNone) {
      w.queues.remove_receive(c, r);
      w.queues.receives().give(r);
      posted[k].erase(receive);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ChannelQueuesAtRandom, ::testing::Values(1, 2, 3));

TEST(ChannelQueues, AChannelThatWasNeverAskedForIsNotKnown) {
  World w;
  EXPECT_EQ(w.queues.known(3, 4, 5), nullptr);
  Channel& c = w.queues.find(3, 4, 5);
  EXPECT_EQ(w.queues.known(3, 4, 5), &c);
  EXPECT_EQ(w.queues.known(4, 3, 5), nullptr);
  EXPECT_EQ(w.queues.known(3, 4, 6), nullptr);
}

}  // namespace
}  // namespace weft::replay::channel_queues_test
