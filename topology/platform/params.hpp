// Params: the key=value settings of a topology family, each with the place it came from, read with range
// checks.
//
// A family owns its keys: it lists them as ParamInfo (that is what `weft platform list` and an unknown key's
// error show) and reads them through the typed getters. Every getter's error carries `where`, what was got
// and what is legal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "topology/fabric_builder.hpp"
#include "topology/words.hpp"

namespace weft::topology {

struct ParamInfo {
  std::string_view name;
  std::string_view fallback;  // the default in words; "required" if there is none
  std::string_view help;
};

// The key `routing` of a family, whose words are `kWords`; the first is the default (Params::choice).
template <const auto& kWords>
inline constexpr ParamInfo kRoutingParam{"routing", text_of(kWords.front()), kTexts<kWords>};

// Keys that every family takes: bw, lat, speed, hosts_per_switch, ranks_per_host, routing, seed, node, switch_lat,
// nics, nic, nic_bw, fail.
[[nodiscard]] std::span<const ParamInfo> common_params();

// Defaults, stated in README and docs/model.md. 500 ns a link puts one switch between two hosts at 1 us.
inline constexpr std::string_view kDefaultBandwidth = "100Gbps";
inline constexpr std::string_view kDefaultLatency = "500ns";
inline constexpr std::string_view kDefaultSpeed = "10Gflops";

class Params {
 public:
  struct Entry {
    std::string key, value, where;
  };
  // `where_all` is used where an error is about no single key (a missing one, sizes that do not fit
  // together).
  explicit Params(std::string where_all = {}) : where_all_(std::move(where_all)) {}

  void set(std::string key, std::string value, std::string where);  // replaces an earlier value
  [[nodiscard]] const Entry* find(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }
  [[nodiscard]] const std::string& where() const { return where_all_; }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

  // Error naming the known keys if there is a key that is neither common nor in `own`.
  [[nodiscard]] Result<void> check_known(std::string_view family, std::span<const ParamInfo> own) const;

  [[nodiscard]] Result<std::uint64_t> integer(std::string_view key, std::int64_t lo, std::int64_t hi) const;
  [[nodiscard]] Result<std::uint64_t> integer_or(std::string_view key, std::int64_t lo, std::int64_t hi,
                                                 std::uint64_t fallback) const;
  // A list joined by x; `count` = 0: any length from 1 to `max_count`.
  [[nodiscard]] Result<std::vector<std::uint64_t>> list(std::string_view key, std::size_t count,
                                                        std::size_t max_count, std::int64_t lo,
                                                        std::int64_t hi) const;
  // One of `names`; the first is the default.
  [[nodiscard]] Result<std::string> choice(std::string_view key,
                                           std::span<const std::string_view> names) const;
  // The same for words that stand for something.
  template <class E, std::size_t N>
  [[nodiscard]] Result<E> choice(std::string_view key, const std::array<Word<E>, N>& words) const {
    std::array<std::string_view, N> names;
    for (std::size_t i = 0; i < N; ++i) names[i] = words[i].text;
    WEFT_ASSIGN(const std::string chosen, choice(key, std::span<const std::string_view>(names)));
    std::size_t i = 0;
    while (words[i].text != chosen) ++i;
    return words[i].value;
  }
  [[nodiscard]] Result<bool> on_off(std::string_view key, bool fallback) const;
  // bw and lat: one value for all classes, or one per class in the order of `classes`. A family of real machines
  // has fallbacks of its own; without them the values are noted as assumed.
  [[nodiscard]] Result<std::vector<LinkValues>> link_values(
      std::span<const std::string_view> classes, std::string_view bw_fallback = kDefaultBandwidth,
      std::string_view lat_fallback = kDefaultLatency) const;
  // The same for all links of a file that says them itself, or for those that it says nothing of: who takes a default notes it.
  [[nodiscard]] Result<LinkValues> values_beside_file() const;
  // Where it is noted, each once, that bw or lat is one that nobody gave and that no file or real machine has; null: nowhere. It
  // outlives the parameters.
  void note_assumed(std::vector<std::string>* to) { assumed_ = to; }
  void take_assumed(std::string_view key) const;
  // Number of values of a list joined by x; 0 if the key is not set.
  [[nodiscard]] std::size_t list_length(std::string_view key) const;
  // Key `seed` of random routings and random wirings.
  [[nodiscard]] Result<std::uint64_t> seed() const;

  // An error about one key, or about all of them if the key is not set.
  [[nodiscard]] Error error(std::string_view key, std::string what, std::string expected) const;
  // Gives an error without a place this platform's.
  [[nodiscard]] Result<void> placed(Result<void> r) const;

 private:
  std::vector<Entry> entries_;
  std::string where_all_;
  std::vector<std::string>* assumed_ = nullptr;
};

[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace weft::topology
