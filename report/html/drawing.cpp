#include "report/html/drawing.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <map>
#include <numbers>
#include <optional>

#include "report/html/packed.hpp"
#include "topology/links_at.hpp"
#include "topology/pcie/forest.hpp"

namespace weft::report {
namespace {

using topology::Fabric;
using topology::LinksAt;

constexpr int kSteps = 300;  // of the springs

// Numbers in a name: "(2,13)" -> 2, 13; "g4r0" -> 4, 0.
std::vector<int> numbers_in(const std::string& name) {
  std::vector<int> out;
  for (std::size_t i = 0; i < name.size();) {
    if (name[i] < '0' || name[i] > '9') {
      ++i;
      continue;
    }
    int v = 0;
    const auto [end, error] = std::from_chars(name.data() + i, name.data() + name.size(), v);
    if (error != std::errc()) return {};
    out.push_back(v);
    i = static_cast<std::size_t>(end - name.data());
  }
  return out;
}

bool is_host(const Fabric& f, std::uint32_t v) { return v < f.host_count(); }

template <class F>
void for_each_neighbour(const LinksAt& links, std::uint32_t v, F visit) {
  links.each(VertexId(v), [&](LinkId, VertexId other) { visit(other.index()); });
}

// The switch that a host hangs at; itself where it hangs at none or several.
std::uint32_t switch_of(const Fabric& f, const LinksAt& links, std::uint32_t host) {
  std::uint32_t at = host;
  for_each_neighbour(links, host, [&](std::uint32_t to) {
    if (!is_host(f, to)) at = to;
  });
  return at;
}

// Coordinates of a switch of a grid, group and router of a dragonfly; nothing where the name has none.
std::optional<std::vector<int>> place_in_name(const Fabric& f, std::uint32_t v, char first, std::size_t least,
                                              std::size_t most) {
  const std::string name = f.vertex_name(VertexId(v));
  if (name.empty() || name[0] != first) return std::nullopt;
  auto numbers = numbers_in(name);
  if (numbers.size() < least || numbers.size() > most) return std::nullopt;
  return numbers;
}

bool every_switch(const Fabric& f, char first, std::size_t least, std::size_t most) {
  bool any = false;
  for (std::uint32_t v = f.hosts_are_routers() ? 0 : f.host_count(); v < f.vertex_count(); ++v) {
    if (!place_in_name(f, v, first, least, most)) return false;
    any = true;
  }
  return any;
}

// Links between hosts and each vertex; hosts 0.
std::vector<std::uint32_t> levels(const Fabric& f) {
  const LinksAt links(f);
  std::vector<std::uint32_t> level(f.vertex_count(), 0xffffffffu);
  std::deque<std::uint32_t> queue;
  for (std::uint32_t h = 0; h < f.host_count(); ++h) {
    level[h] = 0;
    queue.push_back(h);
  }
  for (; !queue.empty(); queue.pop_front()) {
    const std::uint32_t v = queue.front();
    for_each_neighbour(links, v, [&](std::uint32_t to) {
      if (level[to] != 0xffffffffu) return;
      level[to] = level[v] + 1;
      queue.push_back(to);
    });
  }
  return level;
}

// No cable within a row: a tree, seen from its hosts.
bool in_rows(const Fabric& f) {
  if (f.hosts_are_routers()) return false;
  const auto level = levels(f);
  for (std::uint32_t l = 0; l < f.wired_links(); ++l)
    if (level[f.links().from[l].index()] == level[f.links().to[l].index()]) return false;
  return std::find(level.begin(), level.end(), 0xffffffffu) == level.end();
}

// Each row in the order of what is below it, evenly over the width.
void rows(const Fabric& f, Drawing& d) {
  const auto level = levels(f);
  const LinksAt links(f);
  const std::uint32_t top = *std::max_element(level.begin(), level.end());
  for (std::uint32_t row = 0; row <= top; ++row) {
    std::vector<std::pair<float, std::uint32_t>> order;
    for (std::uint32_t v = 0; v < f.vertex_count(); ++v) {
      if (level[v] != row) continue;
      float sum = 0, n = 0;
      for_each_neighbour(links, v, [&](std::uint32_t to) {
        if (level[to] >= row) return;
        sum += d.x[to];
        ++n;
      });
      order.emplace_back(row == 0 ? static_cast<float>(v) : sum / std::max(n, 1.0f), v);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < order.size(); ++i) {
      d.x[order[i].second] = (static_cast<float>(i) + 0.5f) / static_cast<float>(order.size());
      d.y[order[i].second] = top == 0 ? 0.5f : 1 - static_cast<float>(row) / static_cast<float>(top);
    }
  }
}

// Leaves side by side, parents above the middle of their children.
void roots(const Fabric& f, Drawing& d) {
  const topology::PcieForest& forest = *f.pcie();
  std::vector<std::vector<std::uint32_t>> children(f.vertex_count());
  std::vector<std::uint32_t> tops;
  for (std::uint32_t v = 0; v < f.vertex_count(); ++v) {
    if (forest.parent[v].valid())
      children[forest.parent[v].index()].push_back(v);
    else
      tops.push_back(v);
  }
  float leaf = 0;
  int deepest = 0;
  std::vector<int> depth(f.vertex_count());
  const auto place = [&](auto&& self, std::uint32_t v, int at) -> void {
    depth[v] = at;
    deepest = std::max(deepest, at);
    if (children[v].empty()) {
      d.x[v] = leaf++;
      return;
    }
    for (const std::uint32_t c : children[v]) self(self, c, at + 1);
    d.x[v] = (d.x[children[v].front()] + d.x[children[v].back()]) / 2;
  };
  for (const std::uint32_t v : tops) place(place, v, 0);
  for (std::uint32_t v = 0; v < f.vertex_count(); ++v) {
    d.x[v] = (d.x[v] + 0.5f) / std::max(leaf, 1.0f);
    d.y[v] = deepest == 0 ? 0.5f : static_cast<float>(depth[v]) / static_cast<float>(deepest);
  }
}

// Puts the hosts of each switch on an arc around it, away from (cx, cy).
void hosts_around(const Fabric& f, Drawing& d, double radius, bool outward) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> of;
  const LinksAt links(f);
  for (std::uint32_t h = 0; h < f.host_count(); ++h)
    if (const std::uint32_t s = switch_of(f, links, h); s != h) of[s].push_back(h);
  for (const auto& [s, hosts] : of) {
    const double away = outward ? std::atan2(d.y[s] - 0.5, d.x[s] - 0.5) : -std::numbers::pi / 4;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      const double angle = away + 0.5 * (static_cast<double>(i) - static_cast<double>(hosts.size() - 1) / 2);
      d.x[hosts[i]] = static_cast<float>(d.x[s] + radius * std::cos(angle));
      d.y[hosts[i]] = static_cast<float>(d.y[s] + radius * std::sin(angle));
    }
  }
}

void groups(const Fabric& f, Drawing& d) {
  std::map<int, std::vector<std::uint32_t>> group;
  for (std::uint32_t v = f.host_count(); v < f.vertex_count(); ++v)
    group[place_in_name(f, v, 'g', 1, 9)->front()].push_back(v);
  const double step = 2 * std::numbers::pi / static_cast<double>(group.size());
  const double inner = std::min(0.12, 0.34 * step * 0.28);
  std::size_t i = 0;
  for (const auto& [number, routers] : group) {
    const double angle = step * static_cast<double>(i++) - std::numbers::pi / 2;
    const double part = 2 * std::numbers::pi / static_cast<double>(routers.size());
    const double cx = 0.5 + 0.34 * std::cos(angle), cy = 0.5 + 0.34 * std::sin(angle);
    for (std::size_t k = 0; k < routers.size(); ++k) {
      const double turn = angle + part * (static_cast<double>(k) + 0.5);
      d.x[routers[k]] = static_cast<float>(cx + inner * std::cos(turn));
      d.y[routers[k]] = static_cast<float>(cy + inner * std::sin(turn));
    }
  }
  hosts_around(f, d, 0.06, true);
}

void grid(const Fabric& f, Drawing& d) {
  const std::uint32_t from = f.hosts_are_routers() ? 0 : f.host_count();
  double right = 1, down = 1;
  std::vector<std::pair<double, double>> at(f.vertex_count());
  for (std::uint32_t v = from; v < f.vertex_count(); ++v) {
    const auto c = *place_in_name(f, v, '(', 1, 3);
    const double z = c.size() > 2 ? c[2] : 0;
    at[v] = {c[0] + 0.3 * z, (c.size() > 1 ? c[1] : 0) + 0.35 * z};
    right = std::max(right, at[v].first + 1);
    down = std::max(down, at[v].second + 1);
  }
  for (std::uint32_t v = from; v < f.vertex_count(); ++v) {
    d.x[v] = static_cast<float>((at[v].first + 0.4) / right);
    d.y[v] = static_cast<float>((at[v].second + 0.6) / down);
  }
  hosts_around(f, d, 0.35 / std::max(right, down), false);
}

void springs(const Fabric& f, Drawing& d) {
  const std::uint32_t n = f.vertex_count();
  const double ideal = 0.8 / std::sqrt(static_cast<double>(n));
  std::vector<double> x(n), y(n), dx(n), dy(n);
  for (std::uint32_t v = 0; v < n; ++v) {
    // A sunflower: nobody on top of another.
    const double r = 0.45 * std::sqrt((v + 0.5) / n), angle = 2.399963229728653 * v;
    x[v] = 0.5 + r * std::cos(angle);
    y[v] = 0.5 + r * std::sin(angle);
  }
  for (int step = 0; step < kSteps; ++step) {
    std::fill(dx.begin(), dx.end(), 0);
    std::fill(dy.begin(), dy.end(), 0);
    const auto push = [&](std::uint32_t a, std::uint32_t b, bool joined) {
      const double ex = x[a] - x[b], ey = y[a] - y[b];
      const double far = std::max(1e-6, std::hypot(ex, ey));
      const double force = joined ? -far * far / ideal : ideal * ideal / far;
      dx[a] += ex / far * force;
      dy[a] += ey / far * force;
      dx[b] -= ex / far * force;
      dy[b] -= ey / far * force;
    };
    for (std::uint32_t a = 0; a < n; ++a)
      for (std::uint32_t b = a + 1; b < n; ++b) push(a, b, false);
    for (std::uint32_t l = 0; l < f.wired_links(); ++l)
      if (const std::uint32_t a = f.links().from[l].index(), b = f.links().to[l].index();
          a < b || (a > b && f.is_two_way(LinkId(l))))
        push(a, b, true);
    const double most = 0.1 * (1 - static_cast<double>(step) / kSteps) + 1e-4;
    for (std::uint32_t v = 0; v < n; ++v) {
      const double far = std::max(1e-9, std::hypot(dx[v], dy[v]));
      x[v] += dx[v] / far * std::min(far, most);
      y[v] += dy[v] / far * std::min(far, most);
    }
  }
  for (std::uint32_t v = 0; v < n; ++v) {
    d.x[v] = static_cast<float>(x[v]);
    d.y[v] = static_cast<float>(y[v]);
  }
}

// To 0.03..0.97 each way.
void fit(std::vector<float>& c) {
  const auto [least, most] = std::minmax_element(c.begin(), c.end());
  const float low = *least, width = *most - *least;
  for (float& v : c) v = width > 0 ? 0.03f + 0.94f * (v - low) / width : 0.5f;
}

}  // namespace

Layout layout_of(const topology::Platform& platform) {
  const Fabric& f = platform.fabric;
  if (f.pcie() != nullptr && platform.family == "pcie") return Layout::kRoots;
  if (in_rows(f)) return Layout::kRows;
  if (every_switch(f, '(', 1, 3)) return Layout::kGrid;
  if (!f.hosts_are_routers() && every_switch(f, 'g', 2, 9)) return Layout::kGroups;
  return Layout::kSprings;
}

bool can_draw(const topology::Platform& platform) {
  const std::uint32_t n = platform.fabric.vertex_count();
  if (n == 0 || n > kMostDrawn) return false;
  return n <= kMostSprings || layout_of(platform) != Layout::kSprings;
}

Drawing draw(const topology::Platform& platform) {
  const Fabric& f = platform.fabric;
  Drawing d;
  d.layout = layout_of(platform);
  d.x.resize(f.vertex_count(), 0.5f);
  d.y.resize(f.vertex_count(), 0.5f);
  switch (d.layout) {
    case Layout::kRows:
      rows(f, d);
      break;
    case Layout::kRoots:
      roots(f, d);
      break;
    case Layout::kGroups:
      groups(f, d);
      break;
    case Layout::kGrid:
      grid(f, d);
      break;
    case Layout::kSprings:
      springs(f, d);
      break;
  }
  fit(d.x);
  fit(d.y);
  return d;
}

nlohmann::ordered_json to_json(const Drawing& d, const predict::RunFacts& run) {
  using Json = nlohmann::ordered_json;
  const Fabric& f = run.platform->fabric;
  Json names = Json::array();
  for (std::uint32_t v = 0; v < f.vertex_count(); ++v) names.push_back(f.vertex_name(VertexId(v)));
  Json links = Json::array();
  std::vector<std::uint16_t> from, to;
  std::vector<float> used, waited;
  for (std::uint32_t l = 0; l < f.wired_links(); ++l) {
    from.push_back(static_cast<std::uint16_t>(f.links().from[l].index()));
    to.push_back(static_cast<std::uint16_t>(f.links().to[l].index()));
    used.push_back(static_cast<float>(predict::utilization(run, LinkId(l))));
    waited.push_back(static_cast<float>(to_seconds(run.result->links[l].waited)));
    links.push_back(f.link_name(LinkId(l)));
  }
  return Json{{"layout", kLayoutNames[static_cast<std::size_t>(d.layout)]},
              {"hosts", f.host_count()},
              {"x", packed(d.x)},
              {"y", packed(d.y)},
              {"names", std::move(names)},
              {"from", packed(from)},
              {"to", packed(to)},
              {"links", std::move(links)},
              {"used", packed(used)},
              {"waited", packed(waited)}};
}

}  // namespace weft::report
