#include "schedule/exhaustive.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schedule/step_memo.hpp"
#include "tests/schedule/pieces_in_memory.hpp"
#include "tests/schedule/storm_workload.hpp"

namespace weft::schedule {
namespace {

using weft::testing::Fraction;
using weft::testing::PiecesInMemory;
using weft::testing::StormWorkload;
using weft::testing::unit_grid;

ExhaustiveResult all(const StormWorkload& s, Mode mode, unsigned threads = 1, bool symmetric = true) {
  Control control;
  control.threads = threads;
  const auto begin = std::chrono::steady_clock::now();
  const auto r = search_exhaustively(s.workload, *s.oracle, mode,
                                     symmetric ? workload_symmetry(s.workload) : SymmetryGroup{}, control);
  std::printf(
      "%.0f schedules, %llu simulated, %llu sets: min %.9f (%llu), next %.9f, median %.9f, mean %.9f, "
      "max %.9f (%llu), %zu distinct; %.3f s\n",
      r.schedules, static_cast<unsigned long long>(r.simulated),
      static_cast<unsigned long long>(r.sets_solved), r.statistics.best,
      static_cast<unsigned long long>(r.statistics.best_count), r.statistics.next_best, r.statistics.median,
      r.statistics.mean, r.statistics.worst, static_cast<unsigned long long>(r.statistics.worst_count),
      r.statistics.distinct.size(),
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return r;
}

TEST(Exhaustive, The4x2ExchangeWithBarriersHasThePublishedStatistics) {
  const StormWorkload s(unit_grid(4, 2), 1, Fraction(21, 121));
  EXPECT_EQ(link_bound(s.workload).seconds, 4);
  EXPECT_EQ(workload_symmetry(s.workload).order, 4);
  const auto r = all(s, Mode::kBarrier);
  EXPECT_EQ(r.statistics.count, 20736u);
  EXPECT_NEAR(r.statistics.best, 4, 1e-12);
  EXPECT_EQ(r.statistics.best_count, 6u);
  EXPECT_NEAR(r.statistics.next_best, 4.515337, 5e-7);
  EXPECT_NEAR(r.statistics.median, 7.515337, 5e-7);
  EXPECT_NEAR(r.statistics.mean, 46235188207.0 / 6038788140.0, 1e-11);
  EXPECT_NEAR(r.statistics.worst, 1595441.0 / 132030.0, 1e-11);
  EXPECT_EQ(r.statistics.worst_count, 8u);
  EXPECT_EQ(r.statistics.distinct.size(), 352u);
}

TEST(Exhaustive, The4x2ExchangeWithoutBarriersHasThePublishedStatistics) {
  const StormWorkload s(unit_grid(4, 2), 1, Fraction(21, 121));
  const auto r = all(s, Mode::kAsync);
  EXPECT_EQ(r.statistics.count, 20736u);
  EXPECT_NEAR(r.statistics.best, 4, 1e-12);
  EXPECT_EQ(r.statistics.best_count, 4u);
  EXPECT_NEAR(r.statistics.next_best, 4.5, 1e-11);
  EXPECT_NEAR(r.statistics.median, 6.886076, 5e-7);
  EXPECT_NEAR(r.statistics.mean, 6.878465, 5e-7);
  EXPECT_NEAR(r.statistics.worst, 4850642.0 / 527305.0, 1e-11);
  EXPECT_EQ(r.statistics.worst_count, 8u);
  EXPECT_EQ(r.statistics.distinct.size(), 3561u);
}

TEST(Exhaustive, WithoutTauThereAreTenOptimaWithBarriers) {
  const StormWorkload s(unit_grid(4, 2), 1, Fraction(0));
  const auto r = all(s, Mode::kBarrier);
  EXPECT_NEAR(r.statistics.best, 4, 1e-12);
  EXPECT_EQ(r.statistics.best_count, 10u);
}

TEST(Exhaustive, The2x2x2ExchangeIsEnumeratedWholeInBothModes) {
  const StormWorkload s(unit_grid(2, 2, 2), 1, Fraction(21, 121));
  EXPECT_EQ(workload_symmetry(s.workload).order, 8);
  for (Mode mode : {Mode::kBarrier, Mode::kAsync}) {
    const auto r = all(s, mode);
    EXPECT_EQ(r.statistics.count, 1679616u);
    EXPECT_NEAR(r.statistics.best, 4, 1e-12);
  }
}

TEST(Exhaustive, SymmetryAndThreadsChangeNothing) {
  const StormWorkload s(unit_grid(4, 2), 1, Fraction(21, 121));
  for (Mode mode : {Mode::kBarrier, Mode::kAsync}) {
    const auto a = all(s, mode);
    const auto b = all(s, mode, 1, false);
    const auto c = all(s, mode, 3);
    ASSERT_EQ(a.statistics.distinct.size(), b.statistics.distinct.size());
    for (std::size_t i = 0; i < a.statistics.distinct.size(); ++i) {
      EXPECT_EQ(a.statistics.distinct[i].count, b.statistics.distinct[i].count);
      EXPECT_EQ(a.statistics.distinct[i].seconds, c.statistics.distinct[i].seconds);
    }
    EXPECT_EQ(a.statistics.mean, c.statistics.mean);
    EXPECT_EQ(a.best, c.best);
    EXPECT_EQ(a.worst, c.worst);
    Evaluator e(s.workload, *s.oracle);
    EXPECT_NEAR(e.makespan(a.best, mode), a.statistics.best, 1e-9);
    EXPECT_NEAR(e.makespan(a.worst, mode), a.statistics.worst, 1e-9);
  }
}

TEST(StepMemo, RemembersNoMoreThanItHasRoomFor) {
  int computed = 0;
  const auto of = [&](StepMemo& memo, std::uint64_t key) {
    return memo.seconds(key, [&] {
      ++computed;
      return static_cast<double>(key) / 2;
    });
  };
  StepMemo hashed(std::uint64_t{1} << 40, 100, 1000);
  for (int round = 0; round < 3; ++round)
    for (std::uint64_t k = 0; k < 2500; ++k) {
      EXPECT_EQ(of(hashed, k << 20), static_cast<double>(k << 20) / 2);
      EXPECT_EQ(of(hashed, k << 20), static_cast<double>(k << 20) / 2);
      ASSERT_LE(hashed.hashed(), 1000u);
    }
  EXPECT_EQ(computed, 3 * 2500) << "each once while there is room";
  computed = 0;
  StepMemo dense(100, 100, 0), none(0);
  for (int round = 0; round < 2; ++round)
    for (std::uint64_t k = 0; k < 100; ++k) EXPECT_EQ(of(dense, k) + of(none, k), static_cast<double>(k));
  EXPECT_EQ(computed, 100 + 200);
  EXPECT_EQ(dense.hashed() + none.hashed(), 0u);
}

TEST(Exhaustive, APieceThatIsKeptIsNotSearchedAgainAndTheResultIsThatOfAWholeSearch) {
  struct Case {
    Exchange exchange;
    int sockets;
    Mode mode;
    std::size_t pieces;
  };
  for (const Case& c : {Case{unit_grid(2, 2, 1, true), 1, Mode::kAsync, 3},
                        {unit_grid(2, 2, 1, true), 1, Mode::kBarrier, 3},
                        {unit_grid(2, 2, 2), 2, Mode::kAsync, 16}}) {
    const StormWorkload s(c.exchange, c.sockets, Fraction(21, 121));
    const Mode mode = c.mode;
    const auto whole = all(s, mode);
    PiecesInMemory<ExhaustivePiece> kept;
    KeptPieces pieces;
    pieces.roots = kept.runner();
    Control control;
    control.kept = &pieces;
    control.stop = &kept.stop;
    control.piece = "this one: ";
    kept.refuse = true;
    EXPECT_FALSE(
        search_exhaustively(s.workload, *s.oracle, mode, workload_symmetry(s.workload), control).complete);
    kept.refuse = false;
    ExhaustiveResult r;
    for (unsigned round = 0; round < 5; ++round) {
      kept.stop = false;
      kept.times_kept = 0;
      kept.most = round < 2 ? 1 : 1000;
      control.threads = round < 2 ? 1 : round;
      r = search_exhaustively(s.workload, *s.oracle, mode, workload_symmetry(s.workload), control);
      EXPECT_EQ(r.complete, round >= 2) << round;
      if (round >= 3) {
        EXPECT_EQ(kept.times_kept, 0) << "all are there";
      }
    }
    EXPECT_EQ(kept.done.size(), c.pieces);
    EXPECT_TRUE(kept.done.begin()->first.starts_with("this one: roots 0 to "));
    EXPECT_EQ(r.simulated, whole.simulated);
    EXPECT_EQ(r.schedules, whole.schedules);
    EXPECT_EQ(r.best, whole.best);
    EXPECT_EQ(r.worst, whole.worst);
    ASSERT_EQ(r.statistics.distinct.size(), whole.statistics.distinct.size());
    for (std::size_t i = 0; i < r.statistics.distinct.size(); ++i) {
      EXPECT_EQ(r.statistics.distinct[i].seconds, whole.statistics.distinct[i].seconds);
      EXPECT_EQ(r.statistics.distinct[i].count, whole.statistics.distinct[i].count);
    }
    EXPECT_EQ(r.statistics.median, whole.statistics.median);
    EXPECT_EQ(r.statistics.mean, whole.statistics.mean);
  }
}

// Raises a flag with the first rates that are asked for: in the middle of the first root.
class StoppingOracle final : public RateOracle {
 public:
  StoppingOracle(std::unique_ptr<RateOracle> rates, std::atomic<bool>& stop)
      : rates_(std::move(rates)), stop_(stop) {}
  void rates(std::span<const std::uint32_t> active, std::span<double> rates) override {
    stop_ = true;
    rates_->rates(active, rates);
  }
  [[nodiscard]] std::unique_ptr<RateOracle> clone() const override {
    return std::make_unique<StoppingOracle>(rates_->clone(), stop_);
  }

 private:
  std::unique_ptr<RateOracle> rates_;
  std::atomic<bool>& stop_;
};

TEST(Exhaustive, AStopEndsARootInTheMiddle) {
  std::vector<Message> messages;
  for (std::uint32_t m = 0; m < 10; ++m) messages.push_back({0, 1 + m % 3, Bytes(1)});
  const StormWorkload s(make_exchange(4, messages), 1, Fraction(21, 121));
  for (const Mode mode : {Mode::kAsync, Mode::kBarrier}) {
    PiecesInMemory<ExhaustivePiece> kept;
    KeptPieces pieces;
    pieces.roots = kept.runner();
    Control control;
    control.stop = &kept.stop;
    const StoppingOracle oracle(s.oracle->clone(), kept.stop);
    const auto alone = search_exhaustively(s.workload, oracle, mode, {}, control);
    EXPECT_FALSE(alone.complete);
    EXPECT_GT(alone.simulated, 0u);
    EXPECT_LT(alone.simulated, 10000u) << "a root has 9! = 362880";
    EXPECT_FALSE(alone.best.empty());

    kept.stop = false;
    control.kept = &pieces;
    EXPECT_FALSE(search_exhaustively(s.workload, oracle, mode, {}, control).complete);
    EXPECT_TRUE(kept.done.empty()) << "what was cut is not kept";
  }
}

// Nine first messages have 8! = 40320 schedules each, which are told before the first of them is through.
TEST(Exhaustive, ProgressIsToldWithinARootAndEndsAtAllSchedules) {
  std::vector<Message> messages;
  for (std::uint32_t m = 0; m < 9; ++m) messages.push_back({0, 1 + m % 3, Bytes(1)});
  const StormWorkload s(make_exchange(4, messages), 1, Fraction(21, 121));
  const double schedules = 362880;
  for (const Mode mode : {Mode::kAsync, Mode::kBarrier})
    for (const unsigned threads : {1u, 2u})
      for (const bool symmetric : {false, true}) {
        SCOPED_TRACE(std::to_string(threads) + (symmetric ? " threads, by symmetry" : " threads"));
        std::vector<double> told;
        Control control;
        control.threads = threads;
        control.progress = [&](double done, double total, double best_s) {
          EXPECT_EQ(total, schedules);
          EXPECT_GT(best_s, 0);
          told.push_back(done);
        };
        const auto symmetry = symmetric ? workload_symmetry(s.workload) : SymmetryGroup{};
        const auto r = search_exhaustively(s.workload, *s.oracle, mode, symmetry, control);
        EXPECT_EQ(r.schedules, schedules);
        EXPECT_TRUE(std::ranges::is_sorted(told));
        if (threads > 1) continue;  // of two the other may be the last
        ASSERT_FALSE(told.empty());
        EXPECT_EQ(told.back(), schedules);
        EXPECT_GT(told.size(), 20u);
      }
}

}  // namespace
}  // namespace weft::schedule
