#include "network/event_queue.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "core/rng.hpp"
#include "network/completion_queue.hpp"
#include "tests/congestion/cases.hpp"

namespace weft::network {
namespace {

enum class Kind : std::uint8_t { kOne, kOther };

// Few distinct picoseconds, so that ticks within one and the sequence decide often; now and then far past the end of time.
Elapsed draw_delay(Rng& rng) {
  if (rng.below(200) == 0) return Elapsed::of_ticks(Ticks{1} << 110);
  const Ticks within[3] = {0, 1, Ticks{1} << 31};
  return Elapsed::of_ticks(static_cast<Ticks>(rng.below(6)) * (Ticks{1} << kTickBits) + within[rng.below(3)]);
}

// Against an ordered set of (time, sequence): events with delays of their own and delays that many have.
TEST(EventQueue, EventsComeByTimeAndThenInTheOrderOfTheirSequence) {
  const std::uint64_t base = congestion::problems::base_seed(1);
  for (std::uint64_t seed = base; seed < base + 100; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    EventQueue<Kind> queue;
    std::set<std::tuple<Instant, std::uint64_t, std::uint32_t>> expected;
    std::uint64_t sequence = 0;
    Instant now;
    std::vector<Elapsed> often;
    for (std::uint64_t i = 1 + rng.below(12); i > 0; --i) often.push_back(draw_delay(rng));
    for (int step = 0; step < 2000; ++step) {
      const bool push = expected.empty() || rng.below(step < 1000 ? 3 : 5) > 1;
      if (push && (step < 1900 || expected.empty())) {
        const bool in_turn = rng.below(2) == 0;
        const Elapsed d = in_turn ? often[rng.below(often.size())] : draw_delay(rng);
        const auto index = static_cast<std::uint32_t>(rng.below(1000));
        if (in_turn)
          queue.push_in_turn({now + d, sequence, Kind::kOther, index}, static_cast<std::uint64_t>(d.ticks()));
        else
          queue.push({now + d, sequence, Kind::kOne, index});
        expected.insert({std::min(now + d, Instant::last()), sequence++, index});
      } else {
        ASSERT_EQ(queue.next_time(), std::get<0>(*expected.begin()));
        const Event<Kind> e = queue.top();
        ASSERT_EQ(std::tuple(e.time, e.sequence, e.index), *expected.begin());
        if (!e.time.past_the_end()) now = e.time;
        queue.pop();
        expected.erase(expected.begin());
      }
      ASSERT_EQ(queue.empty(), expected.empty());
      ASSERT_EQ(queue.next_time() == Instant::never(), expected.empty());
    }
  }
}

TEST(CompletionQueue, TheNextEndIsTheFirstWhateverMoved) {
  const std::uint64_t base = congestion::problems::base_seed(1);
  for (std::uint64_t seed = base; seed < base + 100; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    CompletionQueue queue;
    std::map<std::uint32_t, std::pair<Instant, std::uint64_t>> entry;  // by flow
    std::uint64_t sequence = 0;
    const auto flows = 1 + rng.below(100);
    for (int step = 0; step < 2000; ++step) {
      const auto flow = static_cast<std::uint32_t>(rng.below(flows));
      const auto what = rng.below(4);
      if (what < 2) {
        const Instant t = Instant() + draw_delay(rng);
        queue.set(FlowId(flow), t, sequence);
        entry[flow] = {std::min(t, Instant::last()), sequence++};
      } else if (what == 2 && entry.contains(flow)) {
        queue.remove(FlowId(flow));
        entry.erase(flow);
      } else if (!entry.empty()) {
        const auto first = std::min_element(entry.begin(), entry.end(),
                                            [](const auto& a, const auto& b) { return a.second < b.second; });
        ASSERT_EQ(queue.top().flow, FlowId(first->first));
        ASSERT_EQ(queue.next_time(), first->second.first);
        queue.pop();
        entry.erase(first);
      }
      ASSERT_EQ(queue.empty(), entry.empty());
    }
  }
}

// The rounding of seconds to ticks against the C library's, which follows IEEE 754.
TEST(Clock, TicksAreRoundedToTheNearestTiesToEven) {
  Rng rng(1);
  for (int i = 0; i < 100000; ++i) {
    double ticks = std::ldexp(rng.unit() - 0.5, static_cast<int>(rng.below(54)));
    if (rng.below(4) == 0) ticks = std::floor(ticks) + 0.5;
    ASSERT_EQ(static_cast<std::int64_t>(detail::to_ticks(ticks)), std::llrint(ticks)) << ticks;
  }
}

// By the definition, with all of 128 bits.
Duration nearest(Elapsed e) {
  const Ticks one = Ticks{1} << kTickBits, whole = e.ticks() >> kTickBits,
              twice = 2 * (e.ticks() - whole * one);
  const Ticks r = twice > one || (twice == one && (whole & 1) != 0) ? whole + 1 : whole;
  return r > Duration::max().count()   ? Duration::max()
         : r < Duration::min().count() ? Duration::min()
                                       : Duration(static_cast<std::int64_t>(r));
}

TEST(Clock, PicosecondsAreTheNearestTiesToEvenAndStopAtTheEnds) {
  const Ticks half = Ticks{1} << (kTickBits - 1), end = Ticks{1} << 95;
  Rng rng(1);
  for (const Ticks near : {Ticks{0}, end, -end, 2 * end, -2 * end, end / 3, -end / 3})
    for (int i = 0; i < 2000; ++i) {
      const auto d = static_cast<Ticks>(rng.below(16)) - 8;
      const Elapsed e = Elapsed::of_ticks(near + d * half + static_cast<Ticks>(rng.below(3)) - 1);
      ASSERT_EQ(e.rounded(), nearest(e)) << i;
    }
}

TEST(Clock, WhatIsAfterTheLastInstantBecomesIt) {
  const Ticks last = Instant::last().since_start().ticks();
  const auto at = [](Ticks t) { return Instant() + Elapsed::of_ticks(t); };
  for (const Ticks near :
       {Ticks{0}, last, last / 2, 2 * last, -last, static_cast<Ticks>(Duration::max().count()) << kTickBits})
    for (Ticks d = -3; d <= 3; ++d) {
      const Instant t = at(near + d);
      EXPECT_EQ(t.no_later_than_last(), std::min(t, Instant::last()));
      EXPECT_EQ(t.past_the_end(), t.since_start() >= Elapsed(Duration::max()));
    }
}

}  // namespace
}  // namespace weft::network
