// Synthetic traces: communication patterns whose every message follows from a few parameters.
//
// A pattern is a program that is the same number of steps long on every rank; step(rank, k) writes the operations
// of one of them and depends on nothing but its arguments. So a trace of any size is made as it is read: the
// reader below keeps two numbers per rank. The operations are those that a recorder would have written, with
// init first and finalize last.
//
// One row in patterns.def and one file per pattern, whose head shows what one rank does (tests compare it with what the
// pattern makes): rank, operation, peer, bytes, tag, communicator, as weft export --to text writes them.
// A pattern owns its keys: each is listed as a PatternKey, which is what `weft generate KIND --help` shows, and read
// through PatternArgs, which takes the default from there and whose errors name key, value and what is legal.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "traces/trace.hpp"

namespace weft::traces {

struct PatternKey {
  std::string_view name;
  std::string_view fallback;  // the default as a user writes it; "required" or "-" where there is none
  std::string_view help;
};

// What a user set, key and text, and of which keys. All errors are kUsage and name the key as "--key".
class PatternArgs {
 public:
  void set(std::string key, std::string value) { values_.emplace_back(std::move(key), std::move(value)); }
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& values() const { return values_; }

  // The keys of `kind`, which outlive this: their defaults hold for what is not set. An error where others are set.
  [[nodiscard]] Result<void> take_keys(std::string_view kind, std::span<const PatternKey> keys);

  // Each REQUIRES one of these keys.
  [[nodiscard]] Result<std::int64_t> integer(std::string_view key, std::int64_t lo, std::int64_t hi) const;
  // "4x4x2": from `least` to `most` extents, each from 1 to `hi`.
  [[nodiscard]] Result<std::vector<std::uint64_t>> extents(std::string_view key, std::size_t least,
                                                           std::size_t most, std::uint64_t hi) const;
  [[nodiscard]] Result<std::int64_t> bytes(std::string_view key) const;  // <= kMaxPatternBytes
  [[nodiscard]] Result<Duration> duration(std::string_view key) const;
  [[nodiscard]] Result<double> number(std::string_view key) const;  // >= 0
  [[nodiscard]] Result<bool> on_off(std::string_view key) const;
  [[nodiscard]] Result<std::string> choice(std::string_view key,
                                           std::span<const std::string_view> names) const;

 private:
  [[nodiscard]] const std::string* find(std::string_view key) const;
  // What the user set, else the default.
  [[nodiscard]] Result<std::string_view> text(std::string_view key) const;
  std::vector<std::pair<std::string, std::string>> values_;
  std::span<const PatternKey> keys_;
};

inline constexpr std::int64_t kMaxPatternBytes = std::int64_t{1} << 40;  // of one message
inline constexpr std::uint32_t kMaxPatternRanks = 1u << 22;
inline constexpr std::int64_t kMaxPatternIterations = 100'000'000;

class Pattern {
 public:
  virtual ~Pattern() = default;
  [[nodiscard]] virtual std::uint32_t ranks() const = 0;
  [[nodiscard]] virtual std::uint64_t steps() const = 0;
  // Appends the operations of step k of `rank`. Precondition: rank < ranks(), k < steps().
  virtual void step(std::uint32_t rank, std::uint64_t k, OpBlock& out) const = 0;
  // All of them, the world first, which has the id 0.
  [[nodiscard]] virtual std::vector<Communicator> communicators() const;
};

struct PatternKind {
  std::string_view name;
  std::string_view summary;
  std::span<const PatternKey> keys;
  Result<std::unique_ptr<Pattern>> (*make)(const PatternArgs& args, std::uint64_t seed) = nullptr;
};

#define WEFT_PATTERN(id, name, summary)                                                               \
  namespace pattern_##id {                                                                            \
    std::span<const PatternKey> keys();                                                               \
    [[nodiscard]] Result<std::unique_ptr<Pattern>> make(const PatternArgs& args, std::uint64_t seed); \
  }
#include "traces/synthetic/patterns.def"
#undef WEFT_PATTERN

// In the order of patterns.def.
[[nodiscard]] std::vector<PatternKind> pattern_kinds();

// A trace of the pattern `kind`. Errors: kUsage for an unknown kind or key (with the known ones) and for values
// out of range. O(operations) once, for the totals.
[[nodiscard]] Result<std::unique_ptr<TraceReader>> synthetic_trace(std::string_view kind,
                                                                   const PatternArgs& args,
                                                                   std::uint64_t seed);
// The trace of one; `command` is what positions name. Read rank after rank, each step is written once.
[[nodiscard]] std::unique_ptr<TraceReader> trace_of_pattern(std::unique_ptr<Pattern> pattern,
                                                            std::string command);

// ---- for the patterns

// Computation between communications, from the keys "compute" (a duration) and "flops" (a number): at most one
// operation of each.
struct PatternWork {
  Duration time{0};
  double flops = 0;
  void append(OpBlock& out) const;
};
[[nodiscard]] Result<PatternWork> pattern_work(const PatternArgs& args);
inline constexpr PatternKey kComputeKey{"compute", "0", "computation per iteration, a duration (20us)"};
inline constexpr PatternKey kFlopsKey{"flops", "0",
                                      "computation per iteration, floating-point operations (1e6)"};
inline constexpr PatternKey kIterationsKey{"iterations", "10", "how often the pattern is repeated"};
// How often a pattern repeats itself, from "iterations".
[[nodiscard]] Result<std::uint64_t> pattern_iterations(const PatternArgs& args);

// Shorthands for one operation.
void put_compute_flops(OpBlock& out, double flops);
void put_isend(OpBlock& out, std::uint64_t peer, std::int32_t tag, std::int64_t bytes, std::uint32_t slot);
void put_irecv(OpBlock& out, std::uint64_t peer, std::int32_t tag, std::int64_t bytes, std::uint32_t slot);
void put_send(OpBlock& out, std::uint64_t peer, std::int32_t tag, std::int64_t bytes);
void put_recv(OpBlock& out, std::uint64_t peer, std::int32_t tag, std::int64_t bytes);
void put_sendrecv(OpBlock& out, std::uint64_t to, std::uint64_t from, std::int32_t tag,
                  std::int64_t bytes_out, std::int64_t bytes_in);
// Waits for the slots 0..count-1; nothing if there are none.
void put_waitall(OpBlock& out, std::uint32_t count);
void put_collective(OpBlock& out, OpKind kind, std::int64_t bytes, CommId comm = CommId(0),
                    std::span<const std::int64_t> list = {}, std::int32_t root = kAnySource);

}  // namespace weft::traces
