#include "topology/platform.hpp"

#include <fmt/format.h>

#include "core/quantity_text.hpp"
#include "topology/graft.hpp"
#include "topology/platform_source.hpp"
#include "topology/registry.hpp"

namespace weft::topology {
namespace {

constexpr std::int64_t kMaxRanksPerHost = 1 << 16;

Result<MpiParameters> read_mpi(const PlatformSource& s) {
  MpiParameters mpi;
  const proto::Mpi& m = s.message.mpi();
  // Reads one field if it is there, else notes that its value is assumed.
  const auto field = [&](bool has, const std::string& text, std::string_view name, auto parse,
                         auto assign) -> Result<void> {
    if (!has) {
      mpi.assumed.emplace_back(name);
      return {};
    }
    auto v = parse(text, s.where_of(fmt::format("mpi.{}", name)));
    if (!v) return std::move(v).error();
    assign(*v);
    return {};
  };
  const auto per_byte = [](double& to) { return [&to](Bandwidth b) { to = 1.0 / b.value(); }; };
  const auto into = [](Duration& to) { return [&to](Duration d) { to = d; }; };
  WEFT_TRY(field(m.has_eager_limit(), m.eager_limit(), "eager_limit", parse_bytes,
                 [&](Bytes b) { mpi.eager_limit = b; }));
  WEFT_TRY(field(m.has_send_overhead(), m.send_overhead(), "send_overhead", parse_duration,
                 into(mpi.send_overhead)));
  WEFT_TRY(field(m.has_recv_overhead(), m.recv_overhead(), "recv_overhead", parse_duration,
                 into(mpi.recv_overhead)));
  WEFT_TRY(field(m.has_send_copy_bandwidth(), m.send_copy_bandwidth(), "send_copy_bandwidth", parse_bandwidth,
                 per_byte(mpi.send_overhead_per_byte)));
  WEFT_TRY(field(m.has_recv_copy_bandwidth(), m.recv_copy_bandwidth(), "recv_copy_bandwidth", parse_bandwidth,
                 per_byte(mpi.recv_overhead_per_byte)));
  WEFT_TRY(field(m.has_local_latency(), m.local_latency(), "local_latency", parse_duration,
                 into(mpi.local_latency)));
  WEFT_TRY(field(m.has_local_bandwidth(), m.local_bandwidth(), "local_bandwidth", parse_bandwidth,
                 [&](Bandwidth b) { mpi.local_bandwidth = b.value(); }));
  for (int i = 0; i < m.collective_size(); ++i) {
    const proto::CollectiveChoice& c = m.collective(i);
    if (c.collective().empty() || c.algorithm().empty())
      return bad_input(s.where_of(fmt::format("mpi.collective[{}]", i)), "incomplete choice", {},
                       "collective: \"bcast\" algorithm: \"binomial\"");
    if (!mpi.collectives.emplace(c.collective(), c.algorithm()).second)
      return bad_input(s.where_of(fmt::format("mpi.collective[{}]", i)), "collective chosen twice",
                       c.collective(), "each collective once");
  }
  return mpi;
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
  p.host_speed = {rate.value()};
  WEFT_ASSIGN(const std::uint64_t ranks, params.integer_or("ranks_per_host", 1, kMaxRanksPerHost, 1));
  p.ranks_per_host = static_cast<std::uint32_t>(ranks);
  WEFT_ASSIGN(p.mpi, read_mpi(s));
  auto fabric = build_fabric(s.family, params);
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
  p.fabric = std::move(*fabric);
  return p;
}

Result<Platform> load_platform(std::string_view spec, const std::vector<std::string>& overrides) {
  WEFT_ASSIGN(PlatformSource source, read_source(spec));
  for (const std::string& o : overrides) WEFT_TRY(apply_override(source, o));
  return build_platform(source);
}

}  // namespace weft::topology
