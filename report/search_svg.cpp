// The PCIe trees with, for each step, what every link carries: one panel per step, one node per vertex, two
// lines per cable (left up, right down). Grey: idle; blue: used, the wider the fuller; red: congested at some time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/quantity_text.hpp"
#include "report/search_report.hpp"
#include "topology/pcie/forest.hpp"

namespace weft::report {
namespace {

constexpr std::size_t kMaxPanels = 24;
constexpr double kLeafWidth = 46;
constexpr double kLevel = 54;
constexpr double kMargin = 28;
constexpr std::size_t kPanelsPerRow = 3;

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      out += c;
  }
  return out;
}

struct Place {
  double x = 0;
  double y = 0;
};

// Leaves side by side in order, every inner node over the middle of its children.
class NodeLayout {
 public:
  NodeLayout(const topology::PcieForest& forest, const SearchFacts& f) : forest_(forest) {
    for (const HostId h : f.host) add(h.index());
    // Network cards, through which messages leave their tree.
    const topology::LinkTable& links = f.platform->fabric.links();
    for (const LinkId l : f.workload->link) {
      for (const VertexId v : {links.from[l.index()], links.to[l.index()]})
        if (forest.up[v.index()] == l || forest.down[v.index()] == l) add(v.index());
    }
    for (auto& [v, list] : children_) std::sort(list.begin(), list.end());
    for (const auto& [v, place] : place_) {
      if (!forest.parent[v].valid()) put(v, 0);
    }
  }
  [[nodiscard]] const std::map<std::uint32_t, Place>& places() const { return place_; }
  [[nodiscard]] double width() const { return next_ + kMargin; }
  [[nodiscard]] double height() const { return deepest_ + 2 * kMargin; }

 private:
  // The vertex and what is above it.
  void add(std::uint32_t v) {
    while (place_.try_emplace(v).second && forest_.parent[v].valid()) {
      children_[forest_.parent[v].index()].push_back(v);
      v = forest_.parent[v].index();
    }
  }
  double put(std::uint32_t v, int depth) {
    Place& p = place_[v];
    p.y = kMargin + 18 + kLevel * depth;
    deepest_ = std::max(deepest_, p.y);
    const auto at = children_.find(v);
    if (at == children_.end()) {
      p.x = next_ + kLeafWidth / 2;
      next_ += kLeafWidth;
    } else {
      const double first = put(at->second.front(), depth + 1);
      double last = first;
      for (std::size_t i = 1; i < at->second.size(); ++i) last = put(at->second[i], depth + 1);
      p.x = (first + last) / 2;
    }
    return p.x;
  }
  const topology::PcieForest& forest_;
  std::map<std::uint32_t, Place> place_;
  std::map<std::uint32_t, std::vector<std::uint32_t>> children_;
  double next_ = kMargin;
  double deepest_ = 0;
};

std::string panel(const SearchFacts& f, const NodeLayout& layout, const Step& p) {
  const auto& w = *f.workload;
  const auto& fabric = f.platform->fabric;
  const auto& forest = *fabric.pcie();
  std::map<std::uint32_t, double> use;  // by LinkId, the mean
  std::map<std::uint32_t, bool> congested;
  const double lasts = p.to_s - p.from_s;
  for (std::size_t i = 0; i < p.messages.size() && lasts > 0; ++i) {
    for (std::uint32_t l : w.links_of(p.messages[i]))
      use[w.link[l].index()] += p.bytes[i] / lasts / w.capacity[l];
  }
  for (std::uint32_t l : p.congested) congested[w.link[l].index()] = true;
  std::string out = fmt::format("<text x=\"{:.0f}\" y=\"16\" class=\"t\">{} {}: {} to {}</text>\n", kMargin,
                                f.mode == schedule::Mode::kBarrier ? "step" : "phase", p.step,
                                escaped(show_seconds(p.from_s)), escaped(show_seconds(p.to_s)));
  const auto line = [&](LinkId link, Place a, Place b, double shift) {
    const auto at = use.find(link.index());
    const double u = at == use.end() ? 0 : at->second;
    const char* color = congested.contains(link.index()) ? "#c8102e" : u > 0 ? "#1f6fb4" : "#cccccc";
    // Beside the straight line, on the side that `shift` says for somebody who looks up the tree.
    const Place low = a.y > b.y ? a : b;
    const Place high = a.y > b.y ? b : a;
    const double length = std::hypot(low.x - high.x, low.y - high.y);
    const double dx = shift * (low.y - high.y) / length;
    const double dy = shift * (high.x - low.x) / length;
    out += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" stroke-width=\"{:.1f}\">"
        "<title>{} {:.0f} %</title></line>\n",
        a.x + dx, a.y + dy, b.x + dx, b.y + dy, color, 1 + 2.5 * std::min(u, 1.0),
        escaped(fabric.link_name(link)), 100 * u);
  };
  for (const auto& [v, place] : layout.places()) {
    if (!forest.parent[v].valid()) continue;
    const Place above = layout.places().at(forest.parent[v].index());
    line(forest.up[v], place, above, -3);
    line(forest.down[v], above, place, 3);
  }
  std::map<std::uint32_t, std::string> ranks;
  for (std::uint32_t r = 0; r < f.host.size(); ++r) {
    auto& text = ranks[f.host[r].index()];
    text += (text.empty() ? "" : ",") + std::to_string(r);
  }
  for (const auto& [v, place] : layout.places()) {
    const auto rank = ranks.find(v);
    out +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" class=\"n\"><title>{}</title></circle>\n",
                    place.x, place.y, rank == ranks.end() ? 5 : 11, escaped(fabric.vertex_name(VertexId(v))));
    if (rank != ranks.end())
      out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"r\">{}</text>\n", place.x, place.y + 4,
                         rank->second);
  }
  std::string sends;
  for (std::uint32_t m : p.messages) {
    const auto& x = w.exchange.messages[m];
    sends += fmt::format("{}{}-{}", sends.empty() ? "" : "  ", x.src, x.dst);
  }
  if (sends.size() > 90) sends = sends.substr(0, 88) + "...";
  return out + fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" class=\"s\">{}</text>\n", kMargin,
                           layout.height() - 6, escaped(sends));
}

}  // namespace

Result<std::string> search_svg(const SearchFacts& f) {
  const auto* forest = f.platform->fabric.pcie();
  if (forest == nullptr)
    return not_supported("a picture of a platform without PCIe trees",
                         "a platform of the family pcie, or one with nodes");
  const NodeLayout layout(*forest, f);
  const auto steps = steps_of(f);
  const std::size_t panels = std::min(steps.size(), kMaxPanels);
  const std::size_t columns = std::min(std::max<std::size_t>(panels, 1), kPanelsPerRow);
  const std::size_t rows = (panels + columns - 1) / std::max<std::size_t>(columns, 1);
  const double width = std::max(layout.width() * static_cast<double>(columns), 460.0);
  const double height = layout.height() * static_cast<double>(rows) + 30;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" viewBox=\"0 0 {:.0f} "
      "{:.0f}\">\n"
      "<style>text{{font-family:sans-serif}} .t{{font-size:13px;font-weight:bold}} "
      ".s{{font-size:10px;fill:#555}} "
      ".r{{font-size:11px;text-anchor:middle}} .n{{fill:#fff;stroke:#333}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width, height, width, height);
  for (std::size_t i = 0; i < panels; ++i) {
    const std::size_t row = i / columns, column = i % columns;
    out +=
        fmt::format("<g transform=\"translate({:.0f},{:.0f})\">\n",
                    layout.width() * static_cast<double>(column), layout.height() * static_cast<double>(row));
    out += panel(f, layout, steps[i]) + "</g>\n";
  }
  std::string legend = "left line: up, right line: down; grey idle, blue used, red full and shared";
  if (f.mode == schedule::Mode::kBarrier) legend += " for a time; width: mean of the step";
  if (panels < steps.size()) legend += fmt::format("; {} further phases not drawn", steps.size() - panels);
  out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" class=\"s\">{}</text>\n</svg>\n", kMargin, height - 12,
                     legend);
  return out;
}

}  // namespace weft::report
