#include "topology/families/groups.hpp"

#include <algorithm>
#include <map>

#include "topology/routing/choice.hpp"

namespace weft::topology {
namespace {

constexpr std::uint64_t kMaxHistogramSteps = 1ULL << 31;

// Cuts out what lies between two visits of a router, so that the walk is simple.
void cut_loops(RouterWalk& walk) {
  for (std::size_t i = 0; i < walk.size();) {
    // The last step that leads back to where step i begins; everything from i to there is a loop.
    std::size_t back = walk.size();
    while (back > i && walk[back - 1].to != walk[i].from) --back;
    if (back == i) {
      ++i;
      continue;
    }
    // Another step i has moved up: it is looked at next.
    walk.erase(walk.begin() + static_cast<std::ptrdiff_t>(i),
               walk.begin() + static_cast<std::ptrdiff_t>(back));
  }
}

// Number `pick` of `count` others than x and y, x != y.
std::uint64_t third(std::uint64_t pick, std::uint64_t x, std::uint64_t y) {
  const std::uint64_t low = std::min(x, y), high = std::max(x, y);
  if (pick >= low) ++pick;
  if (pick >= high) ++pick;
  return pick;
}

}  // namespace

std::optional<std::uint64_t> group_cut(const FabricBuilder& built, const GroupShape& shape,
                                       std::span<const std::uint32_t> order) {
  const std::uint64_t hosts = shape.hosts(), half = hosts / 2;
  if (half == 0) return std::nullopt;
  std::optional<std::uint64_t> least;
  for (const bool group_by_group : {true, false}) {
    std::vector<std::uint8_t> side(hosts + shape.routers(), 1);
    std::uint64_t taken = 0;
    const auto take = [&](std::uint64_t u, std::uint64_t place) {
      const std::uint64_t i = order[place], n = std::min(shape.p, half - taken);
      const auto first = static_cast<std::ptrdiff_t>((u * shape.hosted + i) * shape.p);
      std::fill_n(side.begin() + first, n, std::uint8_t{0});
      if (2 * n >= shape.p) side[hosts + u * shape.a + i] = 0;
      taken += n;
    };
    for (std::uint64_t x = 0; x < shape.g * shape.hosted; ++x)
      group_by_group ? take(x / shape.hosted, x % shape.hosted) : take(x % shape.g, x / shape.g);
    // Routers without hosts: on the side of their group, half and half where it is parted.
    for (std::uint64_t u = 0; u < shape.g; ++u)
      for (std::uint64_t i = shape.hosted; i < shape.a; ++i) {
        const bool whole = group_by_group && 2 * u + 1 != shape.g;
        const bool first = whole ? 2 * u + 1 < shape.g : 2 * (i - shape.hosted) < shape.a - shape.hosted;
        if (first) side[hosts + u * shape.a + i] = 0;
      }
    const std::uint64_t cut = built.cables_between(side);
    least = std::min(least.value_or(cut), cut);
  }
  return least;
}

GroupRouting::GroupRouting(GroupShape shape, std::unique_ptr<const LocalNetwork> local,
                           std::vector<std::uint32_t> first_link, std::vector<Gate> gates, GroupWay way,
                           std::uint64_t seed)
    : s_(shape),
      local_(std::move(local)),
      first_link_(std::move(first_link)),
      gates_(std::move(gates)),
      way_(way),
      seed_(seed) {}

RouteScope GroupRouting::scope() const {
  if (way_ == GroupWay::kMinimal) return RouteScope::kPair;
  return way_ == GroupWay::kValiant ? RouteScope::kMessage : RouteScope::kLoad;
}

std::uint64_t GroupRouting::Pick::of(std::uint64_t n) const {
  return key ? dealt(*key, number, n) : number % n;
}

// The cable with the fewest local hops; of equals the one that `pick` selects.
const GroupRouting::Gate& GroupRouting::choose(std::uint64_t u, std::uint64_t v, std::uint64_t i,
                                               std::uint64_t j, Pick pick) const {
  const Gate* begin = &gates_[(u * s_.g + v) * s_.per_pair];
  if (s_.per_pair == 1) return *begin;
  const auto hops = [&](const Gate& x) {
    return local_->distance(i, x.router) + local_->distance(x.far_router, j);
  };
  std::uint32_t best = ~0u;
  std::uint64_t equal = 0;
  for (std::uint64_t c = 0; c < s_.per_pair; ++c) {
    const std::uint32_t x = hops(begin[c]);
    if (x < best) {
      best = x;
      equal = 0;
    }
    if (x == best) ++equal;
  }
  std::uint64_t skip = pick.of(equal), c = 0;
  while (hops(begin[c]) != best || skip-- > 0) ++c;
  return begin[c];
}

void GroupRouting::minimal(std::uint64_t src, std::uint64_t dst, Pick pick, std::uint64_t key,
                           RouterWalk& out) const {
  const std::uint64_t u = src / s_.a, v = dst / s_.a, i = src % s_.a, j = dst % s_.a;
  if (u == v) return local_->walk(u * s_.a, i, j, key, out);
  const Gate& gate = choose(u, v, i, j, pick);
  local_->walk(u * s_.a, i, gate.router, mix_hash(key, 1), out);
  out.push_back({u * s_.a + gate.router, gate.port, v * s_.a + gate.far_router});
  local_->walk(v * s_.a, gate.far_router, j, mix_hash(key, 2), out);
}

void GroupRouting::valiant(std::uint64_t src, std::uint64_t dst, std::uint64_t key, RouterWalk& out) const {
  const std::uint64_t u = src / s_.a, v = dst / s_.a, i = src % s_.a, j = dst % s_.a;
  const std::uint64_t draw = mix_hash(key, 3);
  if (u == v) {
    if (i == j || s_.a < 3) return minimal(src, dst, {key}, key, out);
    const std::uint64_t k = third(draw % (s_.a - 2), i, j);
    local_->walk(u * s_.a, i, k, mix_hash(key, 4), out);
    local_->walk(u * s_.a, k, j, mix_hash(key, 5), out);
  } else {
    if (s_.g < 3) return minimal(src, dst, {key}, key, out);
    const std::uint64_t w = third(draw % (s_.g - 2), u, v);
    // Any cable into w that leaves nearby will do: where it arrives is part of the draw.
    const Gate* begin = &gates_[(u * s_.g + w) * s_.per_pair];
    const std::uint64_t first = mix_hash(key, 6) % s_.per_pair;
    const Gate* gate = begin + first;
    for (std::uint64_t c = 1; c < s_.per_pair; ++c) {
      const Gate* x = begin + (first + c) % s_.per_pair;
      if (local_->distance(i, x->router) < local_->distance(i, gate->router)) gate = x;
    }
    local_->walk(u * s_.a, i, gate->router, mix_hash(key, 7), out);
    const std::uint64_t arrived = w * s_.a + gate->far_router;
    out.push_back({u * s_.a + gate->router, gate->port, arrived});
    minimal(arrived, dst, {mix_hash(key, 8)}, mix_hash(key, 9), out);
  }
  cut_loops(out);
}

void GroupRouting::write(HostId src, HostId dst, const RouterWalk& walk, std::vector<LinkId>& out) const {
  out.push_back(LinkId(src.index()));
  for (const RouterHop& h : walk) out.push_back(link(h));
  out.push_back(
      LinkId(static_cast<std::uint32_t>(first_link_[s_.router_of(dst.index())] + dst.index() % s_.p)));
}

double GroupRouting::cost(const RouterWalk& walk, const LinkLoad& load) const {
  double most = 0;
  for (const RouterHop& h : walk) {
    const LinkId l = link(h);
    const double use = load[l.index()] / (capacity_.empty() ? 1.0 : capacity_[l.index()]);
    most = std::max(most, use);
  }
  return most * static_cast<double>(walk.size());
}

bool GroupRouting::route(HostId src, HostId dst, std::vector<LinkId>& out) const {
  return route_message(src, dst, 0, {}, out);
}

bool GroupRouting::route_message(HostId src, HostId dst, std::uint64_t message, const LinkLoad& load,
                                 std::vector<LinkId>& out) const {
  if (src == dst) return true;
  const std::uint64_t from = s_.router_of(src.index()), to = s_.router_of(dst.index());
  // Which cables are candidates goes by where the destination is, and so does its number: if it alone decided, for all
  // sources alike, some would be taken by far more pairs than others. What else ugal-u draws evens that out.
  Pick pick{dst.index()};
  if (way_ == GroupWay::kMinimal) pick.key = mix_hash(0, src.index());
  RouterWalk walk;
  if (scope() == RouteScope::kPair || (scope() == RouteScope::kLoad && load.empty())) {
    minimal(from, to, pick, pair_key(seed_, src, dst), walk);
    write(src, dst, walk, out);
    return true;
  }
  const std::uint64_t key = message_key(seed_, src, dst, message);
  if (scope() == RouteScope::kMessage) {
    valiant(from, to, key, walk);
    write(src, dst, walk, out);
    return true;
  }
  minimal(from, to, pick, pair_key(seed_, src, dst), walk);
  double least = cost(walk, load);
  for (int candidate = 1; candidate < 4 && least > 0; ++candidate) {
    RouterWalk other;
    const std::uint64_t k = mix_hash(key, 16 + static_cast<std::uint64_t>(candidate));
    if (candidate == 1)
      minimal(from, to, {k}, k, other);
    else
      valiant(from, to, k, other);
    const double x = cost(other, load);
    if (x >= least) continue;
    least = x;
    walk = other;
  }
  write(src, dst, walk, out);
  return true;
}

// Of minimal routes, which ugal-u takes on an idle network.
std::optional<HopHistogram> GroupRouting::hop_histogram() const {
  if (scope() == RouteScope::kMessage) return std::nullopt;
  const std::uint64_t n = s_.hosted, g = s_.g, square = s_.p * s_.p;
  if (saturating_mul(s_.a, n) > (1ULL << 26)) return std::nullopt;
  HopHistogram h;
  h.add(2, s_.hosts() * (s_.p - 1));
  // near[r][k]: routers with hosts k steps from router r of their group.
  std::vector<std::array<std::uint64_t, 8>> near(s_.a);
  for (std::uint64_t r = 0; r < s_.a; ++r)
    for (std::uint64_t i = 0; i < n; ++i) ++near[r][local_->distance(r, i)];
  for (std::uint64_t i = 0; i < n; ++i)
    for (std::size_t k = 1; k < near[i].size(); ++k) h.add(2 + k, near[i][k] * g * square);
  std::array<std::uint64_t, 16> locals{};  // pairs of routers by local hops
  if (s_.per_pair == 1) {
    for (std::uint64_t u = 0; u < g; ++u)
      for (std::uint64_t v = 0; v < g; ++v) {
        if (u == v) continue;
        const Gate& gate = gates_[u * g + v];
        for (std::size_t x = 0; x < 8; ++x)
          for (std::size_t y = 0; y < 8; ++y)
            locals[x + y] += near[gate.router][x] * near[gate.far_router][y];
      }
  } else if (s_.per_pair > 1) {
    // Many pairs of groups are joined between the same routers: count each way of joining once.
    std::map<std::vector<std::uint64_t>, std::uint64_t> ways;
    for (std::uint64_t u = 0; u < g; ++u)
      for (std::uint64_t v = 0; v < g; ++v) {
        if (u == v) continue;
        std::vector<std::uint64_t> way;
        for (std::uint64_t c = 0; c < s_.per_pair; ++c) {
          const Gate& gate = gates_[(u * g + v) * s_.per_pair + c];
          way.push_back(std::uint64_t{gate.router} << 32 | gate.far_router);
        }
        std::sort(way.begin(), way.end());
        ++ways[std::move(way)];
      }
    if (saturating_mul(ways.size(), n * n * s_.per_pair) > kMaxHistogramSteps) return std::nullopt;
    for (const auto& [way, times] : ways)
      for (std::uint64_t i = 0; i < n; ++i)
        for (std::uint64_t j = 0; j < n; ++j) {
          std::uint32_t best = ~0u;
          for (const std::uint64_t gate : way)
            best = std::min(best, local_->distance(i, gate >> 32) + local_->distance(gate & 0xffffffffu, j));
          locals[best] += times;
        }
  }
  for (std::size_t k = 0; k < locals.size(); ++k) h.add(3 + k, locals[k] * square);
  return h;
}

}  // namespace weft::topology
