// Results in the journal of finished points: every field comes back bit for bit.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/rng.hpp"
#include "predict/journal/fields.hpp"
#include "predict/journal/journal.hpp"
#include "predict/journal/prediction_point.hpp"
#include "predict/journal/run_point.hpp"
#include "tests/support/files.hpp"
#include "tests/support/seed.hpp"

namespace weft::predict {
namespace {

std::uint64_t seed_of_results() { return support::seed_or(20261122); }

// The members that a journal keeps. A struct that gets one more does not compile here either.
auto kept(replay::MessageCosts& c) {
  auto& [count, bytes, hops, latency, transfer, contention, late_sender, late_receiver] = c;
  return std::tie(count, bytes, hops, latency, transfer, contention, late_sender, late_receiver);
}
auto kept(replay::BlockedRank& b) {
  auto& [rank, op_index, op, position, waits_for] = b;
  return std::tie(rank, op_index, op, position, waits_for);
}
auto kept(replay::DeadlockReport& d) {
  auto& [blocked, cycle] = d;
  return std::tie(blocked, cycle);
}
auto kept(replay::ReplayResult& r) {
  auto& [makespan, fingerprint, ranks, regions, collectives, collective_rules, links, point_to_point, network,
         engine, way, path, ideal, wait_states, finished, used_speed, deadlock, unmatched_messages,
         unmatched_receives, warnings] = r;
  return std::tie(makespan, fingerprint, point_to_point, network, finished, used_speed, deadlock,
                  unmatched_messages, unmatched_receives, warnings);
}
auto kept(replay::Verification& v) {
  auto& [conditions, solves, rates, messages, links, worst_bytes_error, matches, instants, events, wrong,
         told] = v;
  return std::tie(conditions, solves, rates, messages, links, worst_bytes_error, matches, instants, events,
                  wrong, told);
}
auto kept(replay::EngineStats& e) {
  auto& [events, solves, flows, flows_solved, links_touched, certificates, max_component, warnings] = e;
  return std::tie(events, solves, flows, flows_solved, links_touched, certificates, max_component, warnings);
}
auto kept(network::LinkUse& u) {
  auto& [bytes, busy, peak_flows, waited] = u;
  return std::tie(bytes, busy, peak_flows, waited);
}
auto kept(TimeSums& s) {
  auto& [finish, compute, send, recv, wait, collective, causes] = s;
  return std::tie(finish, compute, send, recv, wait, collective, causes);
}
auto kept(UsedLink& l) {
  auto& [link, use] = l;
  return std::tie(link, use);
}
auto kept(PathDigest& p) {
  auto& [parts, most_contended] = p;
  return std::tie(parts, most_contended);
}
auto kept(RunDigest& d) {
  auto& [ranks, sums, worst, most_waited, waited_alike, narrowest_used, path] = d;
  return std::tie(ranks, sums, worst, most_waited, waited_alike, narrowest_used, path);
}
auto kept(LinkSharer& s) {
  auto& [src, dst, bytes] = s;
  return std::tie(src, dst, bytes);
}
auto kept(LinkSharers& s) {
  auto& [known, pairs, bytes, most, copied] = s;
  return std::tie(known, pairs, bytes, most, copied);
}
auto kept(RunPoint& p) {
  auto& [result, digest, sharers, ideal, verified] = p;
  return std::tie(result, digest, sharers, ideal, verified);
}
auto kept(hpl_gen::RocHplArguments& a) {
  auto& [split, local_p, local_q, device_memory] = a;
  return std::tie(split, local_p, local_q, device_memory);
}
auto kept(hpl_gen::HplConfig& c) {
  auto& [n, nb, p, q, pmap, pfact, nbmin, ndiv, rfact, bcast, depth, swap, swap_threshold, l1_transposed,
         u_transposed, equil, align, threshold, program, rochpl] = c;
  return std::tie(n, nb, p, q, pmap, pfact, nbmin, ndiv, rfact, bcast, depth, swap, swap_threshold,
                  l1_transposed, u_transposed, equil, align, threshold, program, rochpl);
}
auto kept(hpl_gen::PanelSeconds& p) {
  auto& [s] = p;
  return std::tie(s);
}
auto kept(PhaseErrors& e) {
  auto& [pfact_s, bcast_s, swap_s, update_s, solve_s] = e;
  return std::tie(pfact_s, bcast_s, swap_s, update_s, solve_s);
}
auto kept(ExchangeChoice& e) {
  auto& [series, why, differs_at_most, phases_at_most, panels_tried] = e;
  return std::tie(series, why, differs_at_most, phases_at_most, panels_tried);
}
auto kept(HplPrediction& p) {
  auto& [config, platform, label, model, time_s, gflops, efficiency, peak_gflops, pfact_s, bcast_s, swap_s,
         update_s, solve_s, bcast_took_s, device_s, device_hidden_s, panels_simulated, panels_total,
         shortest_window, error_estimate, phase_error, exchanges, panels, engine, messages, ops, busiest_link,
         busiest_utilization] = p;
  return std::tie(config, platform, label, model, time_s, gflops, efficiency, peak_gflops, pfact_s, bcast_s,
                  swap_s, update_s, solve_s, bcast_took_s, device_s, device_hidden_s, panels_simulated,
                  panels_total, shortest_window, error_estimate, phase_error, exchanges, panels, engine,
                  messages, ops, busiest_link, busiest_utilization);
}
auto kept(TimedPrediction& p) {
  auto& [prediction, wall_s] = p;
  return std::tie(prediction, wall_s);
}

// Gives every member another value than it had.
class Filler {
 public:
  // `all`: nothing stays empty.
  Filler(Rng& rng, bool all) : rng_(rng), all_(all) {}
  template <class T>
  void fill(T& v) {
    if constexpr (std::same_as<T, bool>) {
      v = !v;
    } else if constexpr (std::is_enum_v<T>) {
      auto n = static_cast<std::underlying_type_t<T>>(v);
      fill(n);
      v = static_cast<T>(n);
    } else if constexpr (std::same_as<T, std::string>) {
      constexpr const char* kPieces[] = {"a", "\"", "\\", "\n", "\x01", "\u00e9", " "};
      v.clear();
      if (all_ || rng_.below(3) > 0) v = std::to_string(rng_.next());
      for (std::uint64_t more = rng_.below(4); more > 0; --more) v += kPieces[rng_.below(std::size(kPieces))];
    } else if constexpr (requires { v.has_value(); }) {
      v.reset();
      if (all_ || rng_.below(2) == 0) fill(v.emplace());
    } else if constexpr (requires { v.resize(1); }) {
      v.resize(all_ ? 2 : rng_.below(3));
      for (auto& one : v) fill(one);
    } else if constexpr (requires { v.begin(); }) {
      for (auto& one : v) fill(one);
    } else if constexpr (requires { kept(v); }) {
      std::apply([&](auto&... member) { (fill(member), ...); }, kept(v));
    } else {
      const T before = v;
      while (v == before) v = any<T>();
    }
  }

 private:
  template <class T>
  T any() {
    // Any bits of doubles, so denormals, infinities and what is no number among them.
    if constexpr (std::same_as<T, double>) {
      return std::bit_cast<double>(rng_.next());
    } else if constexpr (std::same_as<T, TimeSum>) {
      return T((WideTicks{static_cast<std::int64_t>(rng_.next())} << 46) >> rng_.below(110));
    } else if constexpr (std::integral<T>) {
      return static_cast<T>(rng_.next());
    } else if constexpr (requires(T t) { t.index(); }) {
      return T(static_cast<std::uint32_t>(rng_.next()));
    } else {
      return T(static_cast<std::int64_t>(rng_.next()));
    }
  }
  Rng& rng_;
  bool all_;
};

template <class T>
bool same(T& a, T& b) {
  if constexpr (std::same_as<T, double>) {
    return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  } else if constexpr (std::same_as<T, std::string>) {
    return a == b;
  } else if constexpr (requires { a.has_value(); }) {
    return a.has_value() == b.has_value() && (!a || same(*a, *b));
  } else if constexpr (requires { a.begin(); }) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (!same(a[i], b[i])) return false;
    return true;
  } else if constexpr (requires { kept(a); }) {
    return std::apply(
        [&](auto&... of_a) {
          return std::apply([&](auto&... of_b) { return (same(of_a, of_b) && ...); }, kept(b));
        },
        kept(a));
  } else {
    return a == b;
  }
}

// Every second one has nothing that is empty, so that whatever is forgotten is missed.
class FilledResults : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  template <class T>
  T filled() {
    T value{};
    Filler(rng_, all_).fill(value);
    return value;
  }
  [[nodiscard]] bool all() const { return all_; }
  [[nodiscard]] std::string about() const {
    return "WEFT_SEED=" + std::to_string(seed_of_results()) + " point " + std::to_string(GetParam());
  }

 private:
  Rng rng_{seed_of_results() + GetParam()};
  bool all_ = GetParam() % 2 == 0;
};

TEST_P(FilledResults, OfRunsComeBackBitForBit) {
  SCOPED_TRACE(about());
  auto point = filled<RunPoint>();
  // What is read has to make sense as a whole, too.
  auto& [blocked, cycle] = point.result.deadlock;
  if (blocked.empty()) cycle.clear();
  for (std::size_t& i : cycle) i %= blocked.size();
  if (point.verified && point.verified->told.empty()) point.verified->wrong = 0;
  RunFacts facts;
  facts.result = &point.result;
  facts.digest = point.digest;
  facts.worst_link_sharers = point.sharers;
  facts.ideal = point.ideal;
  facts.verified = point.verified;
  const Json json = run_point_json(facts);

  const support::TempDir dir;
  const auto journal = Journal::open({dir.path()}, Journal::Access::kAppend, {"weft sweep", "2/3"}, "1");
  ASSERT_TRUE(journal);
  ASSERT_TRUE((*journal)->append({1, 2}, "p", json));
  const auto later = Journal::open({dir.path()}, Journal::Access::kRead, {"weft sweep", "2/3"}, "1");
  ASSERT_TRUE(later);
  const auto read = (*later)->find({1, 2});
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, json);
  auto back = run_point_of(*read);
  ASSERT_TRUE(back) << json.dump(1);
  EXPECT_TRUE(same(back->result, point.result)) << json.dump(1);
  EXPECT_TRUE(same(back->digest, point.digest)) << json.dump(1);
  EXPECT_TRUE(same(back->sharers, point.sharers)) << json.dump(1);
  EXPECT_TRUE(same(*back, point)) << json.dump(1);
}

TEST_P(FilledResults, OfPredictionsComeBackBitForBit) {
  SCOPED_TRACE(about());
  auto prediction = filled<TimedPrediction>();
  PredictionStudy study;
  study.panels = true;
  const Json json = Json::parse(prediction_json(prediction, study).dump());
  auto back = prediction_of(json);
  ASSERT_TRUE(back) << json.dump(1);
  EXPECT_TRUE(same(*back, prediction)) << json.dump(1);
  study.panels = false;
  back = prediction_of(prediction_json(prediction, study));
  ASSERT_TRUE(back);
  prediction.prediction.panels.clear();
  EXPECT_TRUE(same(*back, prediction)) << json.dump(1);
}

TEST_P(FilledResults, OfWindowsComeBackBitForBit) {
  SCOPED_TRACE(about());
  constexpr std::int64_t kPanels = 3;
  constexpr std::size_t kLinks = 5;
  WindowRun run;
  auto& [panels, tail, solve_s, time_s, device_s, device_hidden_s, after_last_panel_s, result, ops] = run;
  panels.resize(kPanels);
  for (auto& panel : panels) panel = filled<hpl_gen::PanelSeconds>();
  tail = filled<hpl_gen::PanelSeconds>();
  solve_s = filled<double>(), time_s = filled<double>(), device_s = filled<double>();
  device_hidden_s = filled<double>();
  after_last_panel_s = filled<double>();
  ops = filled<std::uint64_t>();
  result.engine = filled<replay::EngineStats>();
  result.network.count = filled<std::uint64_t>();
  result.links.resize(kLinks);
  for (auto& link : result.links) link.bytes = filled<std::uint64_t>();

  const support::TempDir dir;
  const auto journal = Journal::open({dir.path()}, Journal::Access::kAppend, {"weft predict", ""}, "1");
  ASSERT_TRUE(journal);
  WindowPoints points{{}, prediction_key(**journal, {"torus-16", {}, "random", false}, {}, {})};
  points.plan.journal = journal->get();
  WindowTask task;
  task.window = {.first = 2, .measured = 4, .fitted = 4, .last = 4 + kPanels};
  int runs = 0;
  for (int time = 0; time < 2; ++time) {
    auto back = share_windows(points, {task}, kLinks, {}, [&](std::size_t) -> Result<WindowRun> {
      ++runs;
      return run;
    });
    ASSERT_TRUE(back);
    ASSERT_EQ(back->size(), 1u);
    WindowRun& one = back->front();
    EXPECT_TRUE(same(one.panels, panels));
    EXPECT_TRUE(same(one.tail, tail));
    EXPECT_TRUE(same(one.solve_s, solve_s));
    EXPECT_TRUE(same(one.time_s, time_s));
    EXPECT_TRUE(same(one.device_s, device_s));
    EXPECT_TRUE(same(one.device_hidden_s, device_hidden_s));
    EXPECT_TRUE(same(one.after_last_panel_s, after_last_panel_s));
    EXPECT_EQ(one.ops, ops);
    EXPECT_TRUE(same(one.result.engine, result.engine));
    EXPECT_EQ(one.result.network.count, result.network.count);
    ASSERT_EQ(one.result.links.size(), kLinks);
    for (std::size_t l = 0; l < kLinks; ++l) EXPECT_EQ(one.result.links[l].bytes, result.links[l].bytes);
  }
  EXPECT_EQ(runs, 1);
}

INSTANTIATE_TEST_SUITE_P(Journal, FilledResults, ::testing::Range<std::uint64_t>(0, 20));

TEST(JournalResults, WhatLacksAFieldOrHasOneOfAnotherKindIsNone) {
  RunFacts facts;
  replay::ReplayResult result;
  facts.result = &result;
  facts.digest.emplace();
  // A cycle of ranks that are not among those which wait.
  result.deadlock.cycle = {0};
  EXPECT_FALSE(run_point_of(run_point_json(facts)));
  result.deadlock.cycle.clear();
  const Json good = run_point_json(facts);
  ASSERT_TRUE(run_point_of(good));
  for (const auto& [name, part] : good.items()) {
    Json bad = good;
    bad.erase(name);
    EXPECT_FALSE(run_point_of(bad)) << name;
    bad[name] = "text";
    EXPECT_FALSE(run_point_of(bad)) << name;
  }
  // Something wrong of which nothing is told.
  facts.verified.emplace();
  ASSERT_TRUE(run_point_of(run_point_json(facts)));
  facts.verified->wrong = 1;
  EXPECT_FALSE(run_point_of(run_point_json(facts)));
  Json bad = good;
  bad["digest"]["worst"]["use"]["peak_flows"] = 1ULL << 32;
  EXPECT_FALSE(run_point_of(bad)) << "it does not fit";
}

struct Sums {
  TimeSum a, b, c;
};
template <class V>
void fields(V& visit, Sums& s) {
  visit("a", s.a);
  visit("b", s.b);
  visit("c", s.c);
}

// A sum that fits 64 bits is written as a time is, any other as two numbers.
TEST(JournalResults, SumsOfTimesComeBackWhateverTheirSize) {
  const std::uint64_t seed = seed_of_results();
  Rng rng(seed);
  for (int i = 0; i < 1000; ++i) {
    const auto any = [&] {
      const auto bits = static_cast<int>(rng.below(110));
      const WideTicks n = (WideTicks{static_cast<std::int64_t>(rng.next())} << 46) >> (109 - bits);
      return TimeSum(n);
    };
    Sums s{any(), any(), any()};
    const auto json = nlohmann::ordered_json::parse(ToJson::of(s).dump());
    const auto again = FromJson::to<Sums>(json);
    ASSERT_TRUE(again) << "seed " << seed << ": " << json.dump();
    ASSERT_TRUE(again->a == s.a && again->b == s.b && again->c == s.c)
        << "seed " << seed << ": " << json.dump();
  }
  Sums s{TimeSum(Duration::max()), TimeSum(Duration::min()), TimeSum(WideTicks{1} << 63)};
  EXPECT_EQ(ToJson::of(s).dump(), R"({"a":9223372036854775807,"b":-9223372036854775808,"c":[2,0]})");
  EXPECT_FALSE(FromJson::to<Sums>(nlohmann::ordered_json::parse(R"({"a":1,"b":2,"c":[3]})")));
}

}  // namespace
}  // namespace weft::predict
