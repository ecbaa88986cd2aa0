#include "topology/platform/platform.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "core/quantity_text.hpp"
#include "topology/pcie/graft.hpp"
#include "topology/platform/compute_reader.hpp"
#include "topology/platform/platform_source.hpp"
#include "topology/registry.hpp"

namespace weft::topology {
namespace {

constexpr std::int64_t kMaxRanksPerHost = 1 << 16;

// "tree" of "tree=fat-tree:m=8,n=3"; empty where there is none. A file of the whole name is a file.
std::string_view label_of(std::string_view spec) {
  const std::size_t end = spec.find_first_of("=:/,");
  if (end == std::string_view::npos || end == 0 || spec[end] != '=' || end + 1 == spec.size()) return {};
  std::error_code none;
  return std::filesystem::exists(std::filesystem::path(spec), none) ? std::string_view()
                                                                    : spec.substr(0, end);
}

}  // namespace

namespace {

Result<std::vector<PortShare>> read_ports(const PlatformSource& s) {
  std::vector<PortShare> out;
  for (int i = 0; i < s.message.host().port_size(); ++i) {
    const proto::PortShare& in = s.message.host().port(i);
    const std::string path = fmt::format("host.port[{}]", i);
    const std::uint32_t least = out.empty() ? 2 : out.back().peers + 1;
    if (in.peers() < least)
      return bad_input(s.where_of(in.has_peers() ? path + ".peers" : path), "peers of a port",
                       in.has_peers() ? fmt::format("{}", in.peers()) : std::string(),
                       fmt::format("{} or more, ascending", least));
    const std::string where = s.where_of(in.has_factor() ? path + ".factor" : path);
    WEFT_ASSIGN(const double factor, parse_ratio(in.factor(), where));
    // Below it the shares of many messages are too far from what a link carries alone for a certificate to tell them.
    if (!(factor >= 1e-6 && factor <= 1))
      return bad_input(where, "what a port carries to several peers", in.factor(), "1e-6 to 1");
    out.push_back({in.peers(), factor});
  }
  return out;
}

// Links between the sockets of every host, where the platform has them.
Result<void> join_sockets(const PlatformSource& s, Platform& p) {
  const proto::Host& host = s.message.host();
  if (!host.has_socket_bandwidth()) return {};
  const std::string where = s.where_of("host.socket_bandwidth");
  WEFT_ASSIGN(const Bandwidth each, parse_bandwidth(host.socket_bandwidth(), where));
  if (p.compute.sockets < 2)
    return bad_input(where, "a link between sockets of a host that has one", host.socket_bandwidth(),
                     "host { sockets: 2 } or more");
  auto joined = p.fabric.join_sockets(p.compute.socket_rule(), p.ranks_per_host, each);
  if (!joined) joined.error().where = where;
  return joined;
}

}  // namespace

Result<Platform> build_platform(const PlatformSource& s) {
  Platform p;
  p.name = s.name;
  p.family = s.family;
  p.summary = s.message.summary();
  // The file's host { } are defaults of the keys that shorthand writes beside the topology.
  Params params = s.params;
  const proto::Host& host = s.message.host();
  if (host.has_speed() && !params.has("speed")) params.set("speed", host.speed(), s.where_of("host.speed"));
  if (host.has_ranks() && !params.has("ranks_per_host"))
    params.set("ranks_per_host", fmt::format("{}", host.ranks()), s.where_of("host.ranks"));

  if (!is_family(s.family)) {
    Params named(s.family_where);
    auto r = build_fabric(s.family, named);
    return std::move(r.error());
  }
  WEFT_ASSIGN(const std::optional<PlatformSource> node, read_node(s));
  const Params::Entry* speed = params.find("speed");
  // The ranks run on the node's GPUs: their rate counts unless the platform names one itself.
  if (speed == nullptr && node) {
    speed = node->params.find("speed");
    if (speed == nullptr && node->message.host().has_speed()) {
      params.set("speed", node->message.host().speed(), node->where_of("host.speed"));
      speed = params.find("speed");
    }
  }
  WEFT_ASSIGN(const FlopRate rate, speed != nullptr ? parse_flop_rate(speed->value, speed->where)
                                                    : parse_flop_rate(kDefaultSpeed, "speed"));
  std::vector<double> speeds = {rate.value()};
  p.speed_assumed = speed == nullptr;
  WEFT_ASSIGN(const std::uint64_t ranks, params.integer_or("ranks_per_host", 1, kMaxRanksPerHost, 1));
  p.ranks_per_host = static_cast<std::uint32_t>(ranks);
  WEFT_ASSIGN(p.mpi, read_mpi(s));
  HostNames hosts;
  if (node && params.has("fail")) {
    auto cards = card_names(node->params);
    if (!cards) {
      if (cards.error().where.empty()) cards.error().where = node->where;
      return std::move(cards.error());
    }
    hosts = std::move(*cards);
  }
  params.note_assumed(&p.assumed_links);
  auto fabric = build_fabric(s.family, params, hosts);
  if (!fabric) {
    if (fabric.error().where.empty()) fabric.error().where = s.where;
    return std::move(fabric.error());
  }
  if (node) {
    fabric = graft(std::move(*fabric), node->params);
    if (!fabric) {
      if (fabric.error().where.empty()) fabric.error().where = node->where;
      return std::move(fabric.error());
    }
    p.family += "+pcie";
  }
  if (const Family family = family_of(s.family); family.host_facts != nullptr) {
    WEFT_ASSIGN(HostFacts facts, family.host_facts(params));
    p.warnings = std::move(facts.warnings);
    if (speed == nullptr && !node) {
      speeds = std::move(facts.speed);
      p.speed_assumed = false;
    }
  }
  p.fabric = std::move(*fabric);
  WEFT_ASSIGN(auto ports, read_ports(s));
  if (!ports.empty()) {
    auto shared = p.fabric.share_ports(std::move(ports));
    if (!shared) {
      shared.error().where = s.where_of("host.port[0]");
      return std::move(shared.error());
    }
  }
  WEFT_ASSIGN(p.compute, read_compute(s, speeds, p.ranks_per_host, p.fabric.host_count()));
  p.host_speed = {speeds.front()};
  WEFT_TRY(join_sockets(s, p));
  const auto& classes = p.compute.classes;
  if (std::any_of(classes.begin(), classes.end(),
                  [&](const ComputeClass& c) { return c.speed != speeds.front(); })) {
    const std::uint32_t sockets = p.compute.sockets;
    p.host_speed.assign(p.fabric.host_count(), 0);
    for (std::size_t i = 0; i < p.compute.class_of.size(); ++i)
      p.host_speed[i / sockets] += classes[p.compute.class_of[i]].speed / sockets;
  }
  return p;
}

namespace {

// What `spec` without its label says, with all changes.
Result<PlatformSource> changed_source(std::string_view spec, const PlatformChanges& changes) {
  WEFT_ASSIGN(PlatformSource source, read_source(spec));
  std::vector<std::string_view> names;
  for (const std::string& o : changes.set) {
    WEFT_TRY(apply_override(source, o));
    const std::string_view name = setting_name(std::string_view(o).substr(0, o.find('=')));
    if (std::ranges::find(names, name) != names.end())
      return usage_error("--set twice for one key", o, "each key once");
    names.push_back(name);
    if (!changes.routing.empty()) WEFT_TRY(check_beside_flag(o, "routing", "--routing"));
    if (!changes.failures.empty()) WEFT_TRY(check_beside_flag(o, "fail", "--fail"));
  }
  if (!changes.routing.empty())
    source.params.set("routing", changes.routing, fmt::format("--routing {}", changes.routing));
  if (!changes.failures.empty()) {
    const std::string all = fmt::format("{}", fmt::join(changes.failures, ";"));
    source.params.set("fail", all, fmt::format("--fail {}", all));
  }
  if (changes.seed != 0 && !source.params.has("seed"))
    source.params.set("seed", fmt::format("{}", changes.seed), fmt::format("--seed {}", changes.seed));
  return source;
}

std::string_view without_label(std::string_view spec) {
  const std::string_view label = label_of(spec);
  return label.empty() ? spec : spec.substr(label.size() + 1);
}

}  // namespace

Result<Platform> load_platform(std::string_view spec, const PlatformChanges& changes) {
  WEFT_ASSIGN(const PlatformSource source, changed_source(without_label(spec), changes));
  WEFT_ASSIGN(Platform platform, build_platform(source));
  platform.label = label_of(spec);
  return platform;
}

Result<std::vector<std::string>> platform_files(std::string_view spec, const PlatformChanges& changes) {
  WEFT_ASSIGN(const PlatformSource source, changed_source(without_label(spec), changes));
  WEFT_ASSIGN(const std::optional<PlatformSource> node, read_node(source));
  std::vector<std::string> out;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && std::ranges::find(out, name) == out.end()) out.push_back(name);
  };
  for (const PlatformSource* s : {&source, node ? &*node : nullptr}) {
    if (s == nullptr) continue;
    add(s->file);
    // A family may open what a key of it names; which do is theirs to know.
    for (const Params::Entry& e : s->params.entries()) add(e.value);
    add(s->message.mpi().collectives());
  }
  return out;
}

}  // namespace weft::topology
