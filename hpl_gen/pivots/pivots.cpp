#include "hpl_gen/pivots/pivots.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <new>

#include "core/out_of_memory.hpp"
#include "core/rng.hpp"
#include "hpl_gen/pivots/lapack.hpp"

namespace weft::hpl_gen {
namespace {

class RandomPivots final : public PivotSource {
 public:
  explicit RandomPivots(std::uint64_t seed) : seed_(seed) {}
  void pivots(std::int64_t first, std::int64_t n, std::span<std::int64_t> out) const override {
    // One stream for each panel: ranks may ask in any order.
    Rng rng(Rng(seed_ ^ (static_cast<std::uint64_t>(first) * 0x9e3779b97f4a7c15ULL)).next());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::int64_t row = first + static_cast<std::int64_t>(i);
      out[i] = row + static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(n - row)));
    }
  }
  std::string describe() const override { return fmt::format("random pivots, seed {}", seed_); }

 private:
  std::uint64_t seed_;
};

class StoredPivots final : public PivotSource {
 public:
  StoredPivots(std::vector<std::int32_t> rows, std::string what)
      : rows_(std::move(rows)), what_(std::move(what)) {}
  void pivots(std::int64_t first, std::int64_t n, std::span<std::int64_t> out) const override {
    WEFT_CHECK(n == static_cast<std::int64_t>(rows_.size()), "pivots of a matrix of another order");
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = rows_[static_cast<std::size_t>(first) + i];
  }
  std::string describe() const override { return what_; }

 private:
  std::vector<std::int32_t> rows_;
  std::string what_;
};

// HPL's generator, modulo 2^64.
constexpr std::uint64_t next_state(std::uint64_t state) {
  return ((1481765933ULL << 32) + 1284865837ULL) * state + 1;
}

// 0.5 minus the state as a fraction of 2^64, rounded where HPL rounds: once when the two halves are joined.
double value_of(std::uint64_t state) {
  const double low = static_cast<double>(static_cast<std::uint32_t>(state)) * 0x1p-32;
  const double high = static_cast<double>(static_cast<std::uint32_t>(state >> 32));
  return 0.5 - (low + high) * 0x1p-32;
}

// The state before element 0. A seed is an int of the program and fills the low half.
std::uint64_t start_of(std::int64_t seed) { return next_state(static_cast<std::uint32_t>(seed)); }

// Stack for LAPACK: OpenBLAS keeps half a megabyte of its threads' shares there, and the shell's limit may be less.
constexpr std::size_t kLapackStack = std::size_t{64} << 20;

struct Factorisation {
  Lapack lapack{};
  int order = 0;
  double* matrix = nullptr;
  std::int32_t* rows = nullptr;
  int info = 0;
};

void* factor(void* argument) {
  auto* f = static_cast<Factorisation*>(argument);
  f->lapack.dgetrf(&f->order, &f->order, f->matrix, &f->order, f->rows, &f->info);
  return nullptr;
}

// On a thread with a stack of its own. False: there is no memory for one.
bool factor_on_own_stack(Factorisation& f) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_t thread{};
  const bool started = pthread_attr_setstacksize(&attributes, kLapackStack) == 0 &&
                       pthread_create(&thread, &attributes, factor, &f) == 0;
  pthread_attr_destroy(&attributes);
  return started && pthread_join(thread, nullptr) == 0;
}

}  // namespace

std::unique_ptr<PivotSource> random_pivots(std::uint64_t seed) {
  return std::make_unique<RandomPivots>(seed);
}

Result<std::unique_ptr<PivotSource>> exact_pivots(std::int64_t n, std::int64_t matrix_seed) {
  const std::string what = fmt::format("pivots of HPL's matrix, N = {}, seed {}", n, matrix_seed);
  if (n > kMaxExactOrder)
    return not_supported(fmt::format("exact pivots of N = {}: the matrix would be factored here", n),
                         fmt::format("N up to {}, or random pivots", kMaxExactOrder));
  const auto order = static_cast<std::size_t>(n);
  std::vector<std::int32_t> rows(order);
  if (n > 0) {
    WEFT_ASSIGN(const Lapack lapack, load_lapack());
    try {
      const MayRunOutOfMemory is_told;
      std::vector<double> a(order * order);
      std::uint64_t state = start_of(matrix_seed);
      for (double& x : a) {
        x = value_of(state);
        state = next_state(state);
      }
      Factorisation f{lapack, static_cast<int>(n), a.data(), rows.data(), 0};
      if (!factor_on_own_stack(f)) throw std::bad_alloc();
      WEFT_CHECK(f.info >= 0, "dgetrf refused its arguments");
    } catch (const std::bad_alloc&) {
      return not_supported(fmt::format("exact pivots of N = {}: {} GB of memory for the matrix", n,
                                       order * order * 8 / 1000000000),
                           "a smaller N, or random pivots");
    }
  }
  for (std::int32_t& r : rows) --r;  // Fortran counts from 1
  return std::unique_ptr<PivotSource>(std::make_unique<StoredPivots>(std::move(rows), what));
}

Result<std::shared_ptr<const PivotSource>> ExactPivots::of(std::int64_t n) {
  const std::lock_guard lock(mutex_);
  auto& source = by_order_[n];
  if (source == nullptr) {
    WEFT_ASSIGN(source, exact_pivots(n, matrix_seed_));
  }
  return source;
}

}  // namespace weft::hpl_gen
