// --verify: a replay that checks itself finds nothing in what is right, changes nothing, and notices a solver, a list of
// changes, a count of bytes, a match or a clock that is broken on purpose.
#include "replay/verification.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "congestion/level_groups.hpp"
#include "core/rng.hpp"
#include "network/flow_audit.hpp"
#include "network/network.hpp"
#include "network/sharing.hpp"
#include "replay/audits.hpp"
#include "replay/messages/match_audit.hpp"
#include "replay/simulation.hpp"
#include "tests/replay/random_program.hpp"
#include "tests/replay/well_formed.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/seed.hpp"
#include "traces/synthetic/pattern.hpp"

namespace weft::replay::verification_test {
namespace {

using network::FlowAudit;
using network::Instant;
using network::Network;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

topology::Platform load(const std::string& spec) { return topology::load_platform(spec).value(); }

// Verified and not: the same results, and nothing found; by events, and with ranks ahead of each other.
Verification expect_right(traces::TraceReader& trace, const topology::Platform& where,
                          const std::vector<HostId>& map, ReplayOptions options) {
  Verification v;
  for (const bool ahead : {true, false}) {
    SCOPED_TRACE(ahead ? "ranks ahead" : "by events");
    options.ranks_ahead = ahead;
    const auto plain = replay(trace, where, map, options);
    const auto verified = replay_verified(trace, where, map, options, v);
    EXPECT_TRUE(plain && verified);
    if (!plain || !verified) return v;
    EXPECT_EQ(verified->fingerprint, plain->fingerprint);
    EXPECT_EQ(verified->makespan, plain->makespan);
    EXPECT_EQ(verified->way == ReplayWay::kEvents, plain->way == ReplayWay::kEvents);
    EXPECT_THAT(v.told, IsEmpty()) << v.wrong;
    EXPECT_EQ(v.wrong, 0u);
    EXPECT_EQ(v.finding(), "");
    EXPECT_EQ(v.messages, plain->engine.flows) << "every flow is looked at";
    EXPECT_EQ(v.events, verified->engine.events);
    EXPECT_LT(v.worst_bytes_error, 1e-9);
    if (plain->way == ReplayWay::kAlone) continue;  // has no events that could be looked at
    EXPECT_EQ(plain->engine.events, verified->engine.events);
    EXPECT_GE(v.solves, plain->engine.solves);
  }
  return v;
}

TEST(Verification, RandomProgramsAreRightOnEveryNetworkInEveryMode) {
  std::vector<topology::Platform> platforms;
  for (const char* spec : {"crossbar:n=16,bw=10GB/s,lat=1us", "fat-tree:m=4,n=3,bw=10GB/s,lat=300ns",
                           "torus:dims=4x4,bw=10GB/s,lat=0", "pcie:sockets=2,switches=2,cards=2,gpus=2"})
    platforms.push_back(load(spec));
  const char* one = std::getenv("WEFT_SEED");
  std::uint64_t rates = 0, matches = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const std::uint64_t mine = one != nullptr ? std::strtoull(one, nullptr, 10) : seed;
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(mine));
    auto program = testing::well_formed(mine);
    const topology::Platform& where = platforms[seed % platforms.size()];
    if (program.trace.header().ranks > where.fabric.host_count()) continue;
    ReplayOptions o;
    o.raw =
        std::vector{RawMode::kOff, RawMode::kEager, RawMode::kDetached, RawMode::kRendezvous}[seed / 4 % 4];
    o.rtt_weights = seed % 3 == 0;
    if (seed % 5 == 0) o.model = "contention-free";
    const Verification v =
        expect_right(program.trace, where, testing::first_hosts(program.trace.header().ranks), o);
    rates += v.rates;
    matches += v.matches;
    if (one != nullptr) break;
  }
  EXPECT_GT(rates, one != nullptr ? 0u : 10'000u);
  EXPECT_GT(matches, one != nullptr ? 0u : 1'000u);
}

// Programs in which time decides no match: their ranks go ahead of each other, and what is verified does so, too.
TEST(Verification, RandomProgramsWhoseRanksGoAheadAreRight) {
  const auto where = load("torus:dims=3x3,bw=1GB/s,lat=500ns");
  const char* const one = std::getenv("WEFT_SEED");
  std::uint64_t matches = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    if (one != nullptr && seed != std::strtoull(one, nullptr, 10)) continue;
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    testing::RandomProgram program(seed, testing::RandomProgram::Collectives::kBlocking);
    ReplayOptions o;
    o.raw = std::vector{RawMode::kOff, RawMode::kEager, RawMode::kDetached, RawMode::kRendezvous}[seed % 4];
    Verification v;
    const auto map = testing::first_hosts(program.trace().header().ranks);
    const auto r = replay_verified(program.trace(), where, map, o, v);
    ASSERT_TRUE(r) << r.error().message();
    EXPECT_EQ(r->way, ReplayWay::kAhead);
    EXPECT_THAT(v.told, IsEmpty()) << v.wrong;
    EXPECT_EQ(v.events, r->engine.events);
    EXPECT_EQ(v.messages, r->engine.flows);
    matches += v.matches;
  }
  EXPECT_GT(matches, one != nullptr ? 0u : 10'000u);
}

// Hundreds of flows on a few links: the solver keeps rates by groups, the network bundles. The audit knows neither.
TEST(Verification, CrowdsOfFlowsAreRight) {
  const auto where = load("xgft:h=2,m=16x8,w=1x2,p=1x1,bw=1GB/s,lat=1us");
  traces::PatternArgs args;
  args.set("ranks", "96");
  args.set("bytes", "20kB");
  args.set("how", "spread");
  args.set("iterations", "1");
  auto trace = traces::synthetic_trace("alltoall", args, 3);
  ASSERT_TRUE(trace) << trace.error().message();
  for (const double accuracy : {0.0, 0.01}) {
    ReplayOptions o;
    o.accuracy = accuracy;
    Verification v;
    const auto r = replay_verified(**trace, where, testing::first_hosts(96), o, v);
    ASSERT_TRUE(r) << r.error().message();
    EXPECT_THAT(v.told, IsEmpty()) << accuracy;
    EXPECT_GT(v.messages, 9'000u);
  }
}

// Rates on PCIe trees with an accuracy: within it of those that a solve without a past gives.
TEST(Verification, PcieTreesAreRightToAnAccuracy) {
  auto trace = traces::open_trace({support::source_dir() + "/traces/samples/hpl_2x2_1000_64.weft"});
  ASSERT_TRUE(trace);
  ReplayOptions o;
  o.accuracy = 0.05;
  Verification v;
  const auto r = replay_verified(**trace, load("cs-storm"), testing::first_hosts(4), o, v);
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_THAT(v.told, IsEmpty());
  EXPECT_GT(v.solves, 1000u);
}

TEST(Verification, ARecordedRunOfHplIsRightAndSoAreItsPcieTrees) {
  for (const char* on : {"torus-16", "crossbar-16", "cs-storm"}) {
    SCOPED_TRACE(on);
    auto trace = traces::open_trace({support::source_dir() + "/traces/samples/hpl_2x2_1000_64.weft"});
    ASSERT_TRUE(trace);
    const Verification v = expect_right(**trace, load(on), testing::first_hosts(4), {});
    EXPECT_GT(v.solves, 1000u);
    EXPECT_GT(v.matches, 1000u);
  }
}

// ---- Broken on purpose.

enum class Lie { kNone, kTooSlow, kTooFast, kTellsNobody, kZero };

// A right model, and what it says of one flow is not.
class LyingModel final : public congestion::SharingModel {
 public:
  LyingModel(std::unique_ptr<congestion::SharingModel> right, Lie lie)
      : right_(std::move(right)), lie_(lie) {}
  FlowId add(std::span<const LinkId> route, double weight, double rate_cap) override {
    return right_->add(route, weight, rate_cap);
  }
  void remove(FlowId flow) override { right_->remove(flow); }
  std::span<const FlowId> solve() override {
    ++solves_;
    const auto changed = right_->solve();
    rates_.assign(right_->rates().begin(), right_->rates().end());
    if (!rates_.empty() && solves_ > 1) {
      if (lie_ == Lie::kTooSlow) rates_[0] *= 0.999;
      if (lie_ == Lie::kTooFast) rates_[0] *= 1.001;
      if (lie_ == Lie::kZero) rates_[0] = 1e-300;
    }
    // Only the newest flow hears of its rate.
    return lie_ == Lie::kTellsNobody && solves_ > 1 && !changed.empty() ? changed.last(1) : changed;
  }
  double rate(FlowId flow) const override { return rates_[flow.index()]; }
  std::span<const double> rates() const override { return rates_; }
  std::span<const LinkId> route(FlowId flow) const override { return right_->route(flow); }
  LinkId bottleneck(FlowId flow) const override { return right_->bottleneck(flow); }
  std::span<const LinkId> bottlenecks() const override { return right_->bottlenecks(); }
  std::span<const FlowId> moved() const override { return {}; }
  std::uint32_t flows_on(LinkId link) const override { return right_->flows_on(link); }
  const congestion::SolveStats& stats() const override { return right_->stats(); }

 private:
  std::unique_ptr<congestion::SharingModel> right_;
  Lie lie_;
  int solves_ = 0;
  std::vector<double> rates_;
};

// Two messages on one link, the second later.
network::FlowFindings two_messages(Lie lie, std::uint64_t forgotten_bytes = 0) {
  const auto where = load("crossbar:n=3,bw=1GB/s,lat=0");
  const auto& capacity = where.fabric.links().capacity;
  Network net(capacity,
              std::make_unique<LyingModel>(network::make_model("max-min", where.fabric).value(), lie));
  FlowAudit audit("max-min", where.fabric, 0);
  net.audit(&audit);
  const LinkId route[] = {LinkId(0)};
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  std::uint64_t sequence = 0;
  Instant now;
  net.start(route, 1, kNoLimit, 1e9, 1'000'000, 0, now, sequence);
  net.settle(now, sequence);
  now = now + network::Elapsed(Duration(300'000'000));
  net.start(route, 1, kNoLimit, 1e9, 1'000'000, 1, now, sequence);
  net.settle(now, sequence);
  while (!net.idle() && !net.next_completion().time.past_the_end()) {
    now = net.next_completion().time;
    (void)net.finish_top(now);
    if (net.dirty()) net.settle(now, sequence);
  }
  auto use = net.link_use(now);
  use[0].bytes += forgotten_bytes;
  return audit.close(use);
}

TEST(Verification, ABrokenSolverIsNoticed) {
  const auto right = two_messages(Lie::kNone);
  EXPECT_EQ(right.wrong, 0u);
  EXPECT_THAT(right.told, IsEmpty());
  EXPECT_EQ(right.messages, 2u);
  EXPECT_LT(right.worst_bytes_error, 1e-12);
  EXPECT_THAT(two_messages(Lie::kTooSlow).told,
              Contains(HasSubstr("could go faster: no full link holds it")));
  EXPECT_THAT(two_messages(Lie::kTooFast).told, Contains(HasSubstr("B/s; it has")));
  EXPECT_THAT(two_messages(Lie::kZero).told, Contains(HasSubstr("could go faster")));
  // The rates are right, but a flow goes on at its old one: only its bytes show it.
  EXPECT_THAT(two_messages(Lie::kTellsNobody).told, Contains(HasSubstr("its rates moved")));
  EXPECT_THAT(two_messages(Lie::kNone, 1).told,
              ElementsAre(HasSubstr("bytes were sent over it, rates moved")));
}

Message message(std::uint32_t src, std::uint32_t dst, std::int32_t tag) {
  Message m;
  m.src = src;
  m.dst = dst;
  m.tag = tag;
  return m;
}

TEST(Verification, AMessageThatOvertakesIsNoticed) {
  const auto post = [](MatchAudit& a, std::uint32_t row, std::int32_t source, std::int32_t tag) {
    a.posted(row, PostedRecv{1, 0, source, tag, 8, {}, 0, kNone, kNone});
  };
  {
    MatchAudit a;
    a.sent(0, message(0, 1, 5)), a.sent(1, message(0, 1, 5)), a.sent(2, message(0, 1, 6));
    post(a, 0, 0, 6), post(a, 1, 0, 5), post(a, 2, traces::kAnySource, traces::kAnyTag);
    a.matched(2, 0);  // another tag may go first
    a.matched(0, 1);
    a.matched(1, 2);
    EXPECT_EQ(a.findings().wrong, 0u);
    EXPECT_EQ(a.findings().matches, 3u);
  }
  {
    MatchAudit a;
    a.sent(0, message(0, 1, 5)), a.sent(1, message(0, 1, 5));
    post(a, 0, 0, 5);
    a.matched(1, 0);
    EXPECT_THAT(a.findings().told,
                ElementsAre("rank 1 took a message of rank 0 with tag 5 before one that was sent earlier"));
  }
  {
    MatchAudit a;
    a.sent(0, message(0, 1, 5));
    post(a, 0, traces::kAnySource, 5), post(a, 1, 0, 5);
    a.matched(0, 1);
    EXPECT_THAT(a.findings().told,
                ElementsAre(HasSubstr("by a receive that was posted later than another one for it")));
  }
  {
    MatchAudit a;
    a.sent(0, message(0, 1, 5));
    post(a, 0, 0, 6);
    a.matched(0, 0);
    EXPECT_THAT(a.findings().told, ElementsAre(HasSubstr("of another source, communicator, tag or rank")));
    a.matched(0, 0);
    EXPECT_EQ(a.findings().wrong, 2u) << "nothing is left to match";
  }
}

// What is pending as plain lists, walked from the front.
struct PlainAudit {
  struct Sent {
    std::uint32_t row, src;
    std::int32_t tag;
  };
  struct Posted {
    std::uint32_t row;
    std::int32_t source, tag;
    bool forgotten = false;  // nobody can take it back
    [[nodiscard]] bool takes(const Sent& m) const {
      return (source == traces::kAnySource || source == static_cast<std::int32_t>(m.src)) &&
             (tag == traces::kAnyTag || tag == m.tag);
    }
  };
  void matched(std::size_t m, std::size_t r) {
    const Sent message = sent[m];
    const Posted receive = posted[r];
    wrong += !receive.takes(message);
    wrong += std::any_of(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(m),
                         [&](const Sent& x) { return x.src == message.src && receive.takes(x); });
    wrong += std::any_of(posted.begin(), posted.begin() + static_cast<std::ptrdiff_t>(r),
                         [&](const Posted& x) { return x.takes(message); });
    sent.erase(sent.begin() + static_cast<std::ptrdiff_t>(m));
    posted.erase(posted.begin() + static_cast<std::ptrdiff_t>(r));
  }
  std::vector<Sent> sent;
  std::vector<Posted> posted;
  std::uint64_t wrong = 0;
};

TEST(Verification, MatchesThatAreWrongAreCountedAsByWalkingAllThatIsPending) {
  std::uint64_t wrong = 0;
  for (const std::uint64_t seed : support::seeds_to(200)) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    MatchAudit a;
    PlainAudit plain;
    for (std::uint32_t row = 0; row < 120; ++row) {
      const auto src = static_cast<std::uint32_t>(rng.below(2));
      const auto tag = static_cast<std::int32_t>(rng.below(3));
      if (const std::uint64_t kind = rng.below(9); kind < 4) {
        a.sent(row, message(src, 1, tag));
        plain.sent.push_back({row, src, tag});
      } else if (kind < 8) {
        const std::int32_t from = rng.below(4) == 0 ? traces::kAnySource : static_cast<std::int32_t>(src);
        const std::int32_t with = rng.below(4) == 0 ? traces::kAnyTag : tag;
        a.posted(row, PostedRecv{1, 0, from, with, 8, Target{row}, 0, kNone, kNone});
        plain.posted.push_back({row, from, with});
      } else if (!plain.posted.empty()) {
        const std::size_t r = rng.below(plain.posted.size());
        const Target target{plain.posted[r].row};
        if (rng.below(2) == 0) {
          a.forgotten(1, target);
          plain.posted[r].forgotten = true;
        } else {
          a.withdrawn(1, target);
          if (plain.posted[r].forgotten)
            ++plain.wrong;
          else
            plain.posted.erase(plain.posted.begin() + static_cast<std::ptrdiff_t>(r));
        }
      }
      while (!plain.sent.empty() && !plain.posted.empty() && rng.below(3) != 0) {
        const std::size_t m = rng.below(plain.sent.size()), r = rng.below(plain.posted.size());
        a.matched(plain.sent[m].row, plain.posted[r].row);
        plain.matched(m, r);
        ASSERT_EQ(a.findings().wrong, plain.wrong);
      }
    }
    wrong += plain.wrong;
  }
  EXPECT_GT(wrong, 0u);
}

TEST(Verification, AClockThatGoesBackIsNoticed) {
  const auto at = [](std::int64_t ps) { return Instant() + network::Elapsed(Duration(ps)); };
  ClockAudit c;
  c.moved(at(0), at(5));
  c.happened(at(5), at(5));
  c.moved(at(5), at(9));
  c.happened(at(9), at(9));
  EXPECT_EQ(c.wrong, 0u);
  c.moved(at(9), at(8));
  EXPECT_EQ(c.wrong, 1u);
  c.happened(at(8), at(8));
  EXPECT_EQ(c.wrong, 2u);
  c.happened(at(10), at(9));
  EXPECT_EQ(c.wrong, 3u) << "not what was due";
  EXPECT_EQ(c.instants, 3u);
  EXPECT_EQ(c.events, 4u);
}

}  // namespace
}  // namespace weft::replay::verification_test
