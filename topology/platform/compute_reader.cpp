#include "topology/platform/compute_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "core/check.hpp"
#include "core/quantity_text.hpp"

namespace weft::topology {
namespace {

constexpr std::uint32_t kMaxSockets = 1024;
constexpr std::uint64_t kMaxGroupHosts = std::uint64_t{1} << 26;  // hosts named by all groups together

// One of two words; the first if the field is absent.
Result<bool> is_second(bool has, const std::string& text, std::string_view first, std::string_view second,
                       const std::string& where) {
  if (!has || text == first) return false;
  if (text == second) return true;
  return bad_input(where, "unknown choice", text, fmt::format("{} or {}", first, second));
}

Result<double> ratio(const std::string& text, const std::string& where, double lo, double hi) {
  WEFT_ASSIGN(const double v, parse_ratio(text, where));
  if (v < lo || v > hi) return bad_input(where, "ratio out of range", text, fmt::format("{} to {}", lo, hi));
  return v;
}

constexpr double kMostHeadroom = 10;

Result<void> read_power(const proto::PowerBudget& p, const PlatformSource& s, PowerBudget& out,
                        double& headroom) {
  if (!p.has_waiting())
    return bad_input(s.where_of("host.power"), "power budget without the power of a core that waits", {},
                     "waiting: \"0.5\", of that of one that computes");
  WEFT_ASSIGN(out.waiting, ratio(p.waiting(), s.where_of("host.power.waiting"), 0, 1));
  if (p.has_headroom()) {
    WEFT_ASSIGN(headroom, ratio(p.headroom(), s.where_of("host.power.headroom"), 1, kMostHeadroom));
  }
  if (p.has_time()) {
    const std::string where = s.where_of("host.power.time");
    WEFT_ASSIGN(out.time, parse_seconds(p.time(), where));
    if (out.time <= 0) return bad_input(where, "time is not above 0", p.time(), "a time like 1s");
  }
  return {};
}

// The coefficients whose fields are `prefix` and the term's name; true if there are any.
template <class At>
Result<bool> read_polynomial(const proto::Kernel& k, std::string_view prefix, const At& at,
                             KernelPolynomial& out) {
  bool any = false;
  for (const KernelPolynomial::Term& term : KernelPolynomial::kTerms) {
    const std::string name = fmt::format("{}{}", prefix, term.name);
    const auto* const field = k.GetDescriptor()->FindFieldByName(name);
    WEFT_CHECK(field != nullptr, "a term of the polynomial is no field of proto::Kernel");
    if (!k.GetReflection()->HasField(k, field)) continue;
    any = true;
    WEFT_ASSIGN(out.*term.coefficient, parse_seconds(k.GetReflection()->GetString(k, field), at(name)));
  }
  return any;
}

Result<KernelCost> read_kernel(const proto::Kernel& k, const PlatformSource& s, const std::string& path,
                               const ComputeModel& model, double speed, double memory_bandwidth) {
  KernelCost c;
  c.kernel = k.name();
  c.where = s.where_of(k.has_name() ? path + ".name" : path);
  if (c.kernel.empty())
    return bad_input(c.where, "kernel without a name", {}, "name: \"dgemm\", or \"*\" for all others");
  const auto at = [&](std::string_view field) { return s.where_of(fmt::format("{}.{}", path, field)); };
  if (k.has_for_m()) {
    WEFT_ASSIGN(c.bounds.m, parse_size_range(k.for_m(), at("for_m")));
  }
  if (k.has_for_n()) {
    WEFT_ASSIGN(c.bounds.n, parse_size_range(k.for_n(), at("for_n")));
  }
  if (k.has_for_k()) {
    WEFT_ASSIGN(c.bounds.k, parse_size_range(k.for_k(), at("for_k")));
  }
  WEFT_ASSIGN(const bool polynomial, read_polynomial(k, "", at, c.polynomial));
  WEFT_TRY(read_polynomial(k, "noise_", at, c.noise_polynomial));
  if (k.has_place()) {
    c.on_device = k.place() == "device";
    c.over_links = k.place() == "links";
    if (!c.on_device && !c.over_links && k.place() != "host")
      return bad_input(at("place"), "unknown choice", k.place(), "host or device, or links for a copy");
  }
  if (k.has_rate() && k.has_efficiency())
    return bad_input(at("efficiency"), "kernel with both a rate and an efficiency", k.efficiency(),
                     "one of them");
  if (k.has_rate()) {
    WEFT_ASSIGN(const FlopRate r, parse_flop_rate(k.rate(), at("rate")));
    c.rate = r.value();
  }
  if (k.has_efficiency()) {
    WEFT_ASSIGN(c.efficiency, ratio(k.efficiency(), at("efficiency"), 1e-9, 1e3));
    c.rate = c.efficiency * speed;
  }
  if (k.has_bandwidth()) {
    WEFT_ASSIGN(const Bandwidth b, parse_bandwidth(k.bandwidth(), at("bandwidth")));
    c.bandwidth = b.value();
  } else if (!c.over_links && !c.on_device && (!polynomial || c.rate > 0)) {
    c.bandwidth = memory_bandwidth;
  }
  if (k.has_noise()) {
    WEFT_ASSIGN(c.noise, ratio(k.noise(), at("noise"), 0, 1e3));
  }
  const std::pair<bool, std::pair<const std::string*, double*>> moved[] = {
      {k.has_moved_mn(), {&k.moved_mn(), &c.moved_mn}},
      {k.has_moved_mk(), {&k.moved_mk(), &c.moved_mk}},
      {k.has_moved_nk(), {&k.moved_nk(), &c.moved_nk}}};
  for (const auto& [has, m] : moved) {
    if (!has) continue;
    if (!c.on_device || model.device.bandwidth == 0)
      return bad_input(c.where, "operands move, but not to a device", *m.first,
                       "place: \"device\" and host { device { bandwidth: ... } }");
    WEFT_ASSIGN(*m.second, ratio(*m.first, c.where, 0, 1e6));
  }
  if (c.rate == 0 && falls_below_zero(c.polynomial, c.bounds, [](double, double, double) { return 0; }))
    return bad_input(c.where, "kernel whose large calls take less than no time", c.kernel,
                     "coefficients whose sum grows with the work");
  if (!c.over_links && !polynomial && c.rate == 0 && c.bandwidth == 0)
    return bad_input(c.where, "kernel without a cost", c.kernel,
                     "a coefficient, rate, efficiency or bandwidth (intercept: \"0\" = takes no time)");
  return c;
}

template <class List>
Result<void> read_kernels(const List& list, const PlatformSource& s, const std::string& prefix,
                          const ComputeModel& model, double speed, double memory_bandwidth,
                          std::vector<KernelCost>& out) {
  for (int i = 0; i < list.size(); ++i) {
    WEFT_ASSIGN(auto c, read_kernel(list.Get(i), s, fmt::format("{}kernel[{}]", prefix, i), model, speed,
                                    memory_bandwidth));
    for (const KernelCost& before : out) {
      if (before.kernel != c.kernel) continue;
      if (before.bounds == c.bounds)
        return bad_input(c.where, "kernel given twice", c.kernel, "each once, or once for some bounds");
      if (before.bounds.all())
        return bad_input(c.where, "entry that no call takes", c.kernel,
                         "entries with for_m, for_n or for_k before the one without");
    }
    out.push_back(std::move(c));
  }
  return {};
}

// Adds to a group's entries those of before, but those that it replaces. Its entries with bounds come before all others
// of their kernel, whose bounds may be wider; one without takes the calls that are left, and so comes last.
void inherit(std::vector<KernelCost>& own, std::vector<KernelCost> before) {
  const auto general =
      std::stable_partition(own.begin(), own.end(), [](const KernelCost& k) { return !k.bounds.all(); });
  std::erase_if(before, [&](const KernelCost& b) {
    return std::any_of(own.begin(), own.end(),
                       [&](const KernelCost& k) { return k.kernel == b.kernel && k.bounds == b.bounds; });
  });
  own.insert(general, std::make_move_iterator(before.begin()), std::make_move_iterator(before.end()));
}

// "0-3,7" -> ranges of host numbers.
Result<std::vector<std::pair<std::uint32_t, std::uint32_t>>> host_ranges(const std::string& text,
                                                                         std::uint32_t hosts,
                                                                         const std::string& where) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
  for (const std::string_view part : split(text, ',')) {
    const auto ends = split(part, '-');
    if (ends.size() > 2) return bad_input(where, "not a range of hosts", std::string(part), "0-3,7");
    WEFT_ASSIGN(const auto lo, parse_integer(ends[0], 0, std::int64_t{hosts} - 1, where));
    auto hi = lo;
    if (ends.size() == 2) {
      WEFT_ASSIGN(hi, parse_integer(ends[1], lo, std::int64_t{hosts} - 1, where));
    }
    out.emplace_back(static_cast<std::uint32_t>(lo), static_cast<std::uint32_t>(hi));
  }
  return out;
}

}  // namespace

Result<ShapeBounds::Range> parse_size_range(const std::string& text, const std::string& where) {
  constexpr std::int64_t kMax = std::int64_t{1} << 40;
  ShapeBounds::Range r;
  const auto ends = split(text, '-');
  if (ends.size() > 2 || (ends.front().empty() && ends.back().empty()))
    return bad_input(where, "not a range of sizes", text, "128, 96-191, 192- or -95");
  if (!ends.front().empty()) {
    WEFT_ASSIGN(r.from, parse_integer(ends.front(), 0, kMax, where));
  }
  if (ends.size() == 1) {
    r.to = r.from;
  } else if (!ends.back().empty()) {
    WEFT_ASSIGN(r.to, parse_integer(ends.back(), r.from, kMax, where));
  }
  return r;
}

std::string text_of(const ShapeBounds::Range& r) {
  if (r.from == r.to) return fmt::format("{}", r.from);
  if (r.to == ShapeBounds::kUnbounded) return fmt::format("{}-", r.from);
  return fmt::format("{}-{}", r.from, r.to);
}

Result<ComputeModel> read_compute(const PlatformSource& s, std::span<const double> speeds,
                                  std::uint32_t ranks, std::uint32_t hosts) {
  ComputeModel model;
  const double speed = speeds.front();
  const proto::Host& h = s.message.host();
  if (h.has_sockets()) {
    if (h.sockets() < 1 || h.sockets() > kMaxSockets)
      return bad_input(s.where_of("host.sockets"), "sockets out of range", fmt::format("{}", h.sockets()),
                       fmt::format("1 to {}", kMaxSockets));
    model.sockets = h.sockets();
  }
  WEFT_ASSIGN(model.cyclic_sockets, is_second(h.has_socket_order(), h.socket_order(), "block", "cyclic",
                                              s.where_of("host.socket_order")));
  WEFT_ASSIGN(model.sum_roofline,
              is_second(h.has_roofline(), h.roofline(), "overlap", "sum", s.where_of("host.roofline")));
  WEFT_ASSIGN(model.normal_noise,
              is_second(h.has_noise(), h.noise(), "half-normal", "normal", s.where_of("host.noise")));
  double memory = 0;
  if (h.has_memory_bandwidth()) {
    WEFT_ASSIGN(const Bandwidth b,
                parse_bandwidth(h.memory_bandwidth(), s.where_of("host.memory_bandwidth")));
    memory = b.value() / ranks;
    model.memory_bandwidth = b.value();
  }
  if (h.has_memory()) {
    WEFT_ASSIGN(const Bytes b, parse_bytes(h.memory(), s.where_of("host.memory")));
    model.memory_bytes = b.value();
  }
  if (h.has_device()) {
    const proto::Device& d = h.device();
    if (d.has_bandwidth()) {
      WEFT_ASSIGN(const Bandwidth b, parse_bandwidth(d.bandwidth(), s.where_of("host.device.bandwidth")));
      if (d.has_sharing() && d.sharing() == 0)
        return bad_input(s.where_of("host.device.sharing"), "no device shares the link", "0", "1 or more");
      model.device.bandwidth = b.value() / (d.has_sharing() ? d.sharing() : 1);
    }
    if (d.has_latency()) {
      WEFT_ASSIGN(model.device.latency, parse_seconds(d.latency(), s.where_of("host.device.latency")));
      if (model.device.latency < 0)
        return bad_input(s.where_of("host.device.latency"), "time is negative", d.latency(), "a time >= 0s");
    }
    WEFT_ASSIGN(model.device.overlap,
                is_second(d.has_overlap(), d.overlap(), "no", "yes", s.where_of("host.device.overlap")));
  }

  ComputeClass base;
  base.speed = speed;
  if (h.has_power()) {
    WEFT_TRY(read_power(h.power(), s, model.power, base.headroom));
  }
  WEFT_TRY(read_kernels(h.kernel(), s, "host.", model, speed, memory, base.kernels));
  const auto is_rest = [](const KernelCost& k) { return k.kernel == "*"; };
  // Memory bandwidth alone is a model: flops at the host's speed, bytes at the rank's share.
  if (memory > 0 && std::none_of(base.kernels.begin(), base.kernels.end(), is_rest)) {
    KernelCost rest;
    rest.kernel = "*";
    rest.where = s.where_of("host.memory_bandwidth");
    rest.efficiency = 1;  // of the speed of a group, too
    rest.rate = speed;
    rest.bandwidth = memory;
    base.kernels.push_back(std::move(rest));
  }
  model.classes.push_back(base);
  const bool alike = std::ranges::all_of(speeds, [speed](double other) { return other == speed; });
  if (h.group_size() == 0 && alike) return model;

  // Which groups name each socket; sockets of one speed with the same groups are one class.
  const std::size_t places = std::size_t{hosts} * model.sockets;
  std::vector<std::vector<int>> groups_of(places);
  std::uint64_t named = 0;
  for (int g = 0; g < h.group_size(); ++g) {
    const std::string path = fmt::format("host.group[{}]", g);
    const proto::HostGroup& group = h.group(g);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges{{0, hosts - 1}};
    if (group.has_hosts()) {
      WEFT_ASSIGN(ranges, host_ranges(group.hosts(), hosts, s.where_of(path + ".hosts")));
    }
    if (group.has_socket() && group.socket() >= model.sockets)
      return bad_input(s.where_of(path + ".socket"), "no such socket", fmt::format("{}", group.socket()),
                       fmt::format("below host.sockets, {}", model.sockets));
    for (const auto& [lo, hi] : ranges) {
      named += hi - lo + 1;
      if (named > kMaxGroupHosts)
        return bad_input(s.where_of(path), "groups name too many hosts", {},
                         fmt::format("at most {} in all", kMaxGroupHosts));
      for (std::size_t host = lo; host <= hi; ++host)
        for (std::uint32_t k = 0; k < model.sockets; ++k) {
          if (group.has_socket() && k != group.socket()) continue;
          auto& list = groups_of[host * model.sockets + k];
          if (list.empty() || list.back() != g) list.push_back(g);
        }
    }
  }
  using Kind = std::pair<double, std::vector<int>>;
  std::map<Kind, std::uint32_t> known{{{speed, {}}, 0}};
  model.class_of.reserve(places);
  for (std::size_t place = 0; place < places; ++place) {
    const std::vector<int>& list = groups_of[place];
    const double own_speed = alike ? speed : speeds[place / model.sockets];
    const auto [it, fresh] =
        known.try_emplace({own_speed, list}, static_cast<std::uint32_t>(model.classes.size()));
    model.class_of.push_back(it->second);
    if (!fresh) continue;
    ComputeClass c = base;
    const auto set_speed = [&c](double flops) {
      c.speed = flops;
      // An efficiency of the general entries is of the host's own speed.
      for (KernelCost& k : c.kernels)
        if (k.efficiency > 0) k.rate = k.efficiency * c.speed;
    };
    if (!alike) set_speed(own_speed);
    for (const int g : list) {
      const std::string path = fmt::format("host.group[{}]", g);
      const proto::HostGroup& group = h.group(g);
      if (group.has_speed()) {
        WEFT_ASSIGN(const FlopRate r, parse_flop_rate(group.speed(), s.where_of(path + ".speed")));
        set_speed(r.value());
      }
      if (group.has_slowdown()) {
        WEFT_ASSIGN(c.slowdown, ratio(group.slowdown(), s.where_of(path + ".slowdown"), 1e-6, 1e6));
      }
      if (group.has_headroom()) {
        const std::string where = s.where_of(path + ".headroom");
        if (!h.has_power())
          return bad_input(where, "headroom without a power budget", group.headroom(),
                           "host { power { waiting: ... } } beside it");
        WEFT_ASSIGN(c.headroom, ratio(group.headroom(), where, 1, kMostHeadroom));
      }
      std::vector<KernelCost> own;
      WEFT_TRY(read_kernels(group.kernel(), s, path + ".", model, c.speed, memory, own));
      inherit(own, std::move(c.kernels));
      c.kernels = std::move(own);
    }
    model.classes.push_back(std::move(c));
  }
  return model;
}

}  // namespace weft::topology
