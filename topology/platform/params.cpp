#include "topology/platform/params.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "core/quantity_text.hpp"
#include "core/suggest.hpp"

namespace weft::topology {

std::span<const ParamInfo> common_params() {
  static constexpr std::array<ParamInfo, 13> rows = {{
      {"bw", kDefaultBandwidth,
       "bandwidth of a link and direction; a list joined by x gives one per link class"},
      {"lat", kDefaultLatency,
       "latency of a link, the switch behind it included; a list gives one per link class"},
      {"speed", kDefaultSpeed, "flop/s of a host; every rank on it computes at this rate"},
      {"hosts_per_switch", "the family's", "hosts on a switch or router"},
      {"ranks_per_host", "1", "ranks that placement puts on a host"},
      {"routing", "the family's", "routing algorithm"},
      {"seed", "0", "of random routing, random wiring and random failures"},
      {"node", "none", "PCIe tree under each host: pcie:key=value,... (quoted) or a built-in like cs-storm"},
      {"switch_lat", "0", "added to every link into a switch: time to cross it"},
      {"nics", "1", "network cards per host: so many neighbouring endpoints of the family become one host"},
      {"nic", "pair", "which card a message takes: pair, message, adaptive"},
      {"nic_bw", "no limit", "most that a host's cable carries each way: injection and ejection"},
      {"fail", "nothing",
       "what is broken, joined by ;: link=NAME, switch=NAME, 2% or 3 of the cables between switches"},
  }};
  return rows;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

void Params::set(std::string key, std::string value, std::string where) {
  for (Entry& e : entries_)
    if (e.key == key) {
      e = {std::move(key), std::move(value), std::move(where)};
      return;
    }
  entries_.push_back({std::move(key), std::move(value), std::move(where)});
}

const Params::Entry* Params::find(std::string_view key) const {
  const auto it =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
  return it == entries_.end() ? nullptr : &*it;
}

Error Params::error(std::string_view key, std::string what, std::string expected) const {
  const Entry* e = find(key);
  if (e == nullptr) return bad_input(where_all_, std::move(what), {}, std::move(expected));
  return bad_input(e->where, std::move(what), e->value, std::move(expected));
}

Result<void> Params::placed(Result<void> r) const {
  if (!r && r.error().where.empty()) r.error().where = where_all_;
  return r;
}

Result<void> Params::check_known(std::string_view family, std::span<const ParamInfo> own) const {
  std::vector<std::string_view> known;
  for (const ParamInfo& p : own) known.push_back(p.name);
  for (const ParamInfo& p : common_params())
    if (std::find(known.begin(), known.end(), p.name) == known.end()) known.push_back(p.name);
  for (const Entry& e : entries_)
    if (std::find(known.begin(), known.end(), e.key) == known.end())
      return bad_input(e.where, fmt::format("{} has no such key", family), e.key, one_of(e.key, known));
  return {};
}

Result<std::uint64_t> Params::integer(std::string_view key, std::int64_t lo, std::int64_t hi) const {
  const Entry* e = find(key);
  if (e == nullptr)
    return bad_input(where_all_, fmt::format("key {} is missing", key), {},
                     fmt::format("{}=<{}..{}>", key, lo, hi));
  WEFT_ASSIGN(const std::int64_t v, parse_integer(e->value, lo, hi, fmt::format("{}: {}", e->where, key)));
  return static_cast<std::uint64_t>(v);
}

Result<std::uint64_t> Params::integer_or(std::string_view key, std::int64_t lo, std::int64_t hi,
                                         std::uint64_t fallback) const {
  if (!has(key)) return fallback;
  return integer(key, lo, hi);
}

Result<std::vector<std::uint64_t>> Params::list(std::string_view key, std::size_t count,
                                                std::size_t max_count, std::int64_t lo,
                                                std::int64_t hi) const {
  const Entry* e = find(key);
  const std::string form = count > 0
                               ? fmt::format("{} numbers from {} to {} joined by x", count, lo, hi)
                               : fmt::format("1 to {} numbers from {} to {} joined by x", max_count, lo, hi);
  if (e == nullptr) return bad_input(where_all_, fmt::format("key {} is missing", key), {}, form);
  std::vector<std::uint64_t> out;
  const auto parts = split(e->value, 'x');
  if (count > 0 ? parts.size() != count : parts.size() > max_count)
    return error(key, fmt::format("{} has {} values", key, parts.size()), form);
  for (std::string_view part : parts) {
    if (part.empty()) return error(key, fmt::format("{} lacks a number beside an x", key), form);
    WEFT_ASSIGN(const std::int64_t v, parse_integer(part, lo, hi, fmt::format("{}: {}", e->where, key)));
    out.push_back(static_cast<std::uint64_t>(v));
  }
  return out;
}

Result<std::string> Params::choice(std::string_view key, std::span<const std::string_view> names) const {
  const Entry* e = find(key);
  if (e == nullptr) return std::string(names.front());
  for (std::string_view n : names)
    if (n == e->value) return std::string(n);
  return error(key, fmt::format("unknown {}", key), one_of(e->value, names));
}

Result<bool> Params::on_off(std::string_view key, bool fallback) const {
  const Entry* e = find(key);
  if (e == nullptr) return fallback;
  if (e->value == "on" || e->value == "true") return true;
  if (e->value == "off" || e->value == "false") return false;
  return error(key, fmt::format("{} is a switch", key), "on or off");
}

std::size_t Params::list_length(std::string_view key) const {
  const Entry* e = find(key);
  return e == nullptr ? 0 : split(e->value, 'x').size();
}

Result<std::uint64_t> Params::seed() const {
  const Entry* e = find("seed");
  if (e == nullptr) return 0;
  // All of 64 bits, as --seed has it.
  std::uint64_t seed = 0;
  const char* const end = e->value.data() + e->value.size();
  if (const auto read = std::from_chars(e->value.data(), end, seed);
      read.ec != std::errc() || read.ptr != end)
    return error("seed", "not a whole number", "a whole number from 0 to 18446744073709551615");
  return seed;
}

void Params::take_assumed(std::string_view key) const {
  if (assumed_ != nullptr && std::ranges::find(*assumed_, key) == assumed_->end())
    assumed_->emplace_back(key);
}

Result<LinkValues> Params::values_beside_file() const {
  Params unnoted = *this;
  unnoted.assumed_ = nullptr;
  constexpr std::array<std::string_view, 1> one = {"link"};
  WEFT_ASSIGN(const std::vector<LinkValues> values, unnoted.link_values(one));
  return values.front();
}

Result<std::vector<LinkValues>> Params::link_values(std::span<const std::string_view> classes,
                                                    std::string_view bw_fallback,
                                                    std::string_view lat_fallback) const {
  if (!has("bw") && bw_fallback == kDefaultBandwidth) take_assumed("bw");
  if (!has("lat") && lat_fallback == kDefaultLatency) take_assumed("lat");
  std::vector<LinkValues> out(classes.size());
  const auto read = [&](std::string_view key, std::string_view fallback, auto parse,
                        auto assign) -> Result<void> {
    const Entry* e = find(key);
    const std::string_view text = e != nullptr ? std::string_view(e->value) : fallback;
    const std::string where = e != nullptr ? fmt::format("{}: {}", e->where, key) : std::string(key);
    const auto parts = split(text, 'x');
    if (parts.size() != 1 && parts.size() != classes.size())
      return error(key, fmt::format("{} has {} values", key, parts.size()),
                   classes.size() == 1 ? std::string("1 value")
                                       : fmt::format("1 value, or {} ({}) joined by x", classes.size(),
                                                     fmt::join(classes, ", ")));
    for (std::size_t i = 0; i < classes.size(); ++i) {
      auto v = parse(parts[parts.size() == 1 ? 0 : i], where);
      if (!v) return std::move(v).error();
      assign(out[i], *v);
    }
    return {};
  };
  WEFT_TRY(read("bw", bw_fallback, parse_bandwidth, [](LinkValues& l, Bandwidth b) { l.bandwidth = b; }));
  WEFT_TRY(read("lat", lat_fallback, parse_duration, [](LinkValues& l, Duration d) { l.latency = d; }));
  return out;
}

}  // namespace weft::topology
