#include "topology/graphs/wiring.hpp"

#include <algorithm>
#include <numeric>

namespace weft::topology {
namespace {

constexpr std::uint32_t kNowhere = Wiring::kNoVertex;

class Joints {
 public:
  explicit Joints(const RoutesWalked& r)
      : r_(r), parent_(2 * std::size_t{r.links} + r.places), seen_(r.links) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (const RoutesWalked::Route& route : r.routes)
      if (route.begin != route.end) walk(route);
  }
  [[nodiscard]] std::uint32_t root(std::uint32_t x) {
    while (parent_[x] != x) x = parent_[x] = parent_[parent_[x]];
    return x;
  }
  [[nodiscard]] static std::uint32_t tail(std::uint32_t link) { return 2 * link; }
  [[nodiscard]] static std::uint32_t head(std::uint32_t link) { return 2 * link + 1; }
  [[nodiscard]] std::uint32_t place(std::uint32_t p) const { return 2 * r_.links + p; }
  [[nodiscard]] bool used(std::uint32_t l) const { return seen_[l].before != kNowhere || seen_[l].later; }
  [[nodiscard]] bool later(std::uint32_t l) const { return seen_[l].later; }

 private:
  // What was last found before and after a link: routes mostly say again what others said.
  struct Seen {
    std::uint32_t before = kNowhere, after = kNowhere;
    bool later = false;  // in some route not the first
  };
  void walk(const RoutesWalked::Route& route) {
    std::uint32_t at = place(route.src);
    std::uint32_t* last = nullptr;
    for (std::uint32_t k = route.begin; k < route.end; ++k) {
      const std::uint32_t l = r_.used[k];
      // A link for both directions is taken backwards where its other end is known to be here.
      const bool back =
          !r_.two_way.empty() && r_.two_way[l] != 0 && root(head(l)) == root(at) && root(tail(l)) != root(at);
      const std::uint32_t enters = back ? head(l) : tail(l);
      if (k == route.begin) {
        join(enters, at, back ? nullptr : &seen_[l].before);
        if (back) seen_[l].before = at;
      } else {
        join(at, enters, last);
        seen_[l].later = true;
      }
      at = back ? tail(l) : head(l);
      last = back ? nullptr : &seen_[l].after;
    }
    join(at, place(route.dst), last);
  }
  // `last`: what `end` was joined with last, where that is kept.
  void join(std::uint32_t end, std::uint32_t with, std::uint32_t* last) {
    if (last != nullptr) {
      if (*last == with) return;
      *last = with;
    }
    parent_[root(end)] = root(with);
  }

  const RoutesWalked& r_;
  std::vector<std::uint32_t> parent_;
  std::vector<Seen> seen_;
};

// Whether the routes are simple walks on the wiring; sets which links they take backwards, too, and whether they cross a host.
bool walk_again(const RoutesWalked& r, Wiring& w) {
  std::vector<std::size_t> been(w.vertices, 0);
  std::size_t mark = 0;
  for (const RoutesWalked::Route& route : r.routes) {
    if (route.begin == route.end) continue;
    std::uint32_t at = w.vertex[route.src];
    been[at] = ++mark;
    for (std::uint32_t k = route.begin; k < route.end; ++k) {
      const std::uint32_t l = r.used[k];
      const bool back = w.from[l] != at;
      if (back && (r.two_way[l] == 0 || w.to[l] != at)) return false;
      if (back) w.both_ways[l] = 1;
      w.hosts_pass_on = w.hosts_pass_on || (k > route.begin && at < r.hosts);
      at = back ? w.from[l] : w.to[l];
      if (been[at] == mark) return false;
      been[at] = mark;
    }
    if (at != w.vertex[route.dst]) return false;
  }
  return true;
}

// One place called "network" stands for all of it.
void forget(const RoutesWalked& r, Wiring& w) {
  w.known = false;
  w.hosts_pass_on = false;
  w.vertices = r.hosts + 1;
  std::fill(w.from.begin(), w.from.end(), r.hosts);
  std::fill(w.to.begin(), w.to.end(), r.hosts);
  std::fill(w.vertex.begin() + r.hosts, w.vertex.end(), r.hosts);
  w.both_ways.assign(r.links, 0);
  std::ranges::copy(r.two_way, w.both_ways.begin());
}

}  // namespace

Wiring infer_wiring(const RoutesWalked& r) {
  Joints joints(r);
  Wiring w;
  w.known = r.whole;
  w.from.resize(r.links);
  w.to.resize(r.links);
  std::vector<std::uint32_t> vertex(2 * std::size_t{r.links} + r.places, kNowhere);
  for (std::uint32_t h = 0; h < r.hosts; ++h) {
    std::uint32_t& v = vertex[joints.root(joints.place(h))];
    w.known = w.known && v == kNowhere;  // two hosts in one place: some link is used both ways
    v = h;
  }
  w.vertices = r.hosts;
  const auto vertex_at = [&](std::uint32_t end) {
    std::uint32_t& v = vertex[joints.root(end)];
    if (v == kNowhere) v = w.vertices++;
    return v;
  };
  for (std::uint32_t l = 0; l < r.links && w.known; ++l) {
    if (!joints.used(l)) continue;
    w.from[l] = vertex_at(Joints::tail(l));
    w.to[l] = vertex_at(Joints::head(l));
    w.known = w.from[l] != w.to[l];
  }
  w.vertex.resize(r.places);
  std::iota(w.vertex.begin(), w.vertex.end(), 0);
  w.both_ways.assign(r.links, 0);
  if (!w.known) {
    forget(r, w);
    return w;
  }
  for (std::uint32_t p = r.hosts; p < r.places; ++p) w.vertex[p] = vertex[joints.root(joints.place(p))];
  // Links that no route uses are somewhere: as loops they are in nobody's way.
  const std::uint32_t somewhere = w.vertices > r.hosts ? r.hosts : 0;
  for (std::uint32_t l = 0; l < r.links; ++l) {
    if (r.two_way.empty()) w.hosts_pass_on = w.hosts_pass_on || (joints.later(l) && w.from[l] < r.hosts);
    if (joints.used(l)) continue;
    w.from[l] = w.to[l] = somewhere;
    w.both_ways[l] = r.two_way.empty() ? 0 : r.two_way[l];
  }
  // Links for both directions were joined as they came; that need not fit together.
  if (!r.two_way.empty() && !walk_again(r, w)) forget(r, w);
  return w;
}

std::vector<std::uint32_t> numbers_by_start(const Wiring& w) {
  std::vector<std::uint32_t> first(w.vertices + 1, 0), number(w.from.size());
  for (const std::uint32_t v : w.from) ++first[v + 1];
  for (std::uint32_t v = 0; v < w.vertices; ++v) first[v + 1] += first[v];
  for (std::size_t l = 0; l < number.size(); ++l) number[l] = first[w.from[l]]++;
  return number;
}

}  // namespace weft::topology
