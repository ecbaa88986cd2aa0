#include "schedule/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "core/rng.hpp"
#include "network/sharing.hpp"
#include "schedule/link_colors.hpp"
#include "topology/routing/choice.hpp"
#include "topology/routing/route_cache.hpp"

namespace weft::schedule {
namespace {

constexpr double kMaxPlacements = 50'000;
// Where every class is wanted: 8 bytes a placement and some 200 a class, which is 100 MB without any symmetry.
constexpr double kMaxOfEveryClass = 500'000;
// Hosts beyond which their symmetries are not looked for: the search reads a route per pair.
constexpr std::uint32_t kMaxSymmetricHosts = 64;

// Injections of ranks into hosts, numbered in lexicographic order.
class Injections {
 public:
  Injections(std::uint32_t ranks, std::uint32_t hosts) : ranks_(ranks), hosts_(hosts) {
    for (std::uint32_t r = 0; r < ranks; ++r) count_ *= hosts - r;
  }
  [[nodiscard]] double count() const { return count_; }
  void decode(std::uint32_t index, std::vector<std::uint32_t>& host) const {
    host.resize(ranks_);
    for (std::uint32_t r = ranks_; r-- > 0;) {
      host[r] = index % (hosts_ - r);
      index /= hosts_ - r;
    }
    // Digit r counts the free hosts below; later digits move up past earlier hosts.
    for (std::uint32_t r = ranks_; r-- > 0;) {
      for (std::uint32_t q = r + 1; q < ranks_; ++q) host[q] += host[q] >= host[r] ? 1 : 0;
    }
  }
  [[nodiscard]] std::uint32_t encode(const std::vector<std::uint32_t>& host) const {
    std::uint32_t index = 0;
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      std::uint32_t digit = host[r];
      for (std::uint32_t q = 0; q < r; ++q) digit -= host[q] < host[r] ? 1 : 0;
      index = index * (hosts_ - r) + digit;
    }
    return index;
  }

 private:
  std::uint32_t ranks_;
  std::uint32_t hosts_;
  double count_ = 1;
};

Result<SymmetryGroup> host_symmetry(const topology::Fabric& fabric, std::uint32_t hosts) {
  if (hosts > kMaxSymmetricHosts) return SymmetryGroup{};
  LinkColors colors(fabric);
  std::vector<std::uint32_t> color(fabric.link_count());
  std::vector<std::uint32_t> tie(fabric.link_count());
  for (std::uint32_t l = 0; l < color.size(); ++l) {
    color[l] = colors.of(LinkId(l));
    tie[l] = colors.tie(LinkId(l));
  }
  std::vector<Arc> arcs;
  topology::RouteCache routes(fabric);
  for (std::uint32_t a = 0; a < hosts; ++a) {
    for (std::uint32_t b = 0; b < hosts; ++b) {
      if (a == b) continue;
      const auto route = routes.find(HostId(a), HostId(b));
      Arc arc{a, b, route.reachable ? 1u : 0u, {}};
      for (LinkId l : route.links) arc.route.push_back(l.index());
      arcs.push_back(std::move(arc));
    }
  }
  return find_symmetry(hosts, arcs, color, tie);
}

SymmetryGroup exchange_symmetry(const Exchange& e) {
  std::vector<Arc> arcs;
  for (const Message& m : e.messages) {
    arcs.push_back({m.src, m.dst, static_cast<std::uint64_t>(m.bytes.value()), {}});
  }
  return find_symmetry(e.ranks, arcs, {});
}

std::vector<HostId> as_hosts(const std::vector<std::uint32_t>& host) {
  std::vector<HostId> out;
  out.reserve(host.size());
  for (std::uint32_t h : host) out.emplace_back(h);
  return out;
}

// What a placement asks of the links: the most of any lane, which is its link bound, then how much is on all of them.
struct LaneLoad {
  double most_s = 0;
  double squares = 0;  // sum over lanes, s^2
  auto operator<=>(const LaneLoad&) const = default;
};

// Loads of many placements, routes looked up once. Lanes as in Workload.
class Bounds {
 public:
  Bounds(const Exchange& e, const topology::Fabric& fabric, bool share)
      : e_(e), fabric_(fabric), routes_(fabric), share_(share), capacity_(fabric.links().capacity) {
    if (share) groups_ = network::link_groups(fabric);
    capacity_.insert(capacity_.end(), groups_.capacity.begin(), groups_.capacity.end());
    bytes_.resize(capacity_.size());
  }
  // Error: no route.
  Result<LaneLoad> of(const std::vector<std::uint32_t>& host) {
    LaneLoad load;
    const auto settle = [&] {
      for (const std::size_t lane : used_) {
        const double seconds = bytes_[lane] / capacity_[lane];
        load.most_s = std::max(load.most_s, seconds);
        load.squares += seconds * seconds;
        bytes_[lane] = 0;
      }
      used_.clear();
    };
    std::uint32_t sender = 0;
    for (const Message& m : e_.messages) {  // by sender
      if (!share_ && m.src != sender) settle();
      sender = m.src;
      const auto route = routes_.find(HostId(host[m.src]), HostId(host[m.dst]));
      if (!route.reachable)
        return bad_input(
            {}, "a message has no route",
            fabric_.host_name(HostId(host[m.src])) + " to " + fabric_.host_name(HostId(host[m.dst])),
            "a platform on which all partners reach each other");
      // Whole numbers, so that the order of messages changes no sum.
      const auto bytes = static_cast<double>(m.bytes.value());
      if (bytes == 0) continue;
      const auto add = [&](std::size_t lane) {
        if (bytes_[lane] == 0) used_.push_back(lane);
        bytes_[lane] += bytes;
      };
      for (LinkId l : route.links) {
        add(l.index());
        const std::uint32_t group = groups_.empty() ? kNoTie : groups_.of_link[l.index()];
        if (group != kNoTie) add(fabric_.link_count() + std::size_t{group});
      }
    }
    settle();
    return load;
  }

 private:
  const Exchange& e_;
  const topology::Fabric& fabric_;
  topology::RouteCache routes_;
  bool share_;
  congestion::LinkGroups groups_;
  // by link, then by group
  std::vector<double> capacity_;
  std::vector<double> bytes_;
  std::vector<std::size_t> used_;  // lanes that carry something
};

// A number that is the same for placements which a symmetry of hosts or exchange maps onto each other, and nearly never for others:
// colour refinement (Weisfeiler and Leman) of what find_symmetry() compares, messages with their senders and routes. Unlike the
// symmetries themselves it needs no pass over all pairs of hosts.
class Kinds {
 public:
  Kinds(const Exchange& e, const topology::Fabric& fabric)
      : e_(e), routes_(fabric), of_link_(fabric.link_count(), kUnknown), carried_(fabric.link_count()) {
    LinkColors colors(fabric);
    for (std::uint32_t l = 0; l < fabric.link_count(); ++l) {
      color_.push_back(colors.of(LinkId(l)));
      tie_.push_back(colors.tie(LinkId(l)));
      if (tie_.back() != kNoTie && tie_.back() >= tied_.size()) tied_.resize(std::size_t{tie_.back()} + 1);
    }
  }
  // All messages have a route.
  std::uint64_t of(const std::vector<std::uint32_t>& host) {
    using topology::mix_hash;
    for (const std::uint32_t l : links_) of_link_[l] = kUnknown;
    links_.clear();
    route_.clear();
    start_.assign(1, 0);
    message_.clear();
    for (const Message& m : e_.messages) {
      for (const LinkId l : routes_.find(HostId(host[m.src]), HostId(host[m.dst])).links) {
        route_.push_back(l.index());
        if (of_link_[l.index()] != kUnknown) continue;
        of_link_[l.index()] = color_[l.index()];
        links_.push_back(l.index());
      }
      start_.push_back(route_.size());
      message_.push_back(mix_hash(m.bytes.value(), 0));
    }
    for (int round = 0; round < kRounds; ++round) {
      sent_.assign(e_.ranks, 0);
      for (const std::uint32_t l : links_) {
        carried_[l] = 0;
        if (tie_[l] != kNoTie) tied_[tie_[l]] = 0;
      }
      for (std::size_t m = 0; m < message_.size(); ++m) {
        sent_[e_.messages[m].src] += mix_hash(message_[m], 0);
        for (std::size_t i = start_[m]; i < start_[m + 1]; ++i)
          carried_[route_[i]] += mix_hash(message_[m], i - start_[m]);
      }
      for (const std::uint32_t l : links_) {
        of_link_[l] = mix_hash(of_link_[l], carried_[l]) & ~kUnknown;
        if (tie_[l] != kNoTie) tied_[tie_[l]] += mix_hash(of_link_[l], 0);
      }
      for (std::size_t m = 0; m < message_.size(); ++m) {
        message_[m] = mix_hash(message_[m], sent_[e_.messages[m].src]);
        for (std::size_t i = start_[m]; i < start_[m + 1]; ++i) {
          const std::uint32_t l = route_[i];
          message_[m] = mix_hash(message_[m], of_link_[l]);
          if (tie_[l] != kNoTie) message_[m] = mix_hash(message_[m], tied_[tie_[l]]);
        }
      }
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t m : message_) sum += mix_hash(m, 0);
    return sum;
  }

 private:
  static constexpr int kRounds = 4;
  static constexpr std::uint64_t kUnknown = std::uint64_t{1} << 63;
  const Exchange& e_;
  topology::RouteCache routes_;
  std::vector<std::uint32_t> color_;  // by link of the fabric, as the two below
  std::vector<std::uint32_t> tie_;
  std::vector<std::uint64_t> of_link_;
  std::vector<std::uint64_t> carried_;
  std::vector<std::uint64_t> tied_;     // by tie
  std::vector<std::uint64_t> sent_;     // by rank
  std::vector<std::uint64_t> message_;  // by message
  std::vector<std::uint32_t> links_;    // that are on a route
  std::vector<std::uint32_t> route_;
  std::vector<std::size_t> start_;  // messages + 1
};

// What the busiest rank sends by the fastest link out of any host, or receives by the fastest into one, or both by the pair that
// carries most together. Where messages do not share, a rank receives from all at once. 0: hosts have more links than one each way.
double port_bound(const Exchange& e, const topology::Fabric& fabric, std::uint32_t hosts, bool share) {
  std::vector<double> out(e.ranks, 0);
  std::vector<double> in(e.ranks, 0);
  for (const Message& m : e.messages) {
    out[m.src] += static_cast<double>(m.bytes.value());
    if (share) in[m.dst] += static_cast<double>(m.bytes.value());
  }
  const topology::LinkTable& links = fabric.links();
  std::vector<std::uint32_t> leave(hosts, 0);
  std::vector<std::uint32_t> enter(hosts, 0);
  std::vector<double> both(hosts, 0);
  const congestion::LinkGroups groups = network::link_groups(fabric);
  double fastest_out = 0;
  double fastest_in = 0;
  for (std::uint32_t l = 0; l < fabric.wired_links(); ++l) {
    const std::uint32_t group = groups.empty() ? kNoTie : groups.of_link[l];
    for (const std::uint32_t h : {links.from[l].index(), links.to[l].index()})
      if (h < hosts) both[h] = group == kNoTie ? both[h] + links.capacity[l] : groups.capacity[group];
    if (const std::uint32_t h = links.from[l].index(); h < hosts) {
      ++leave[h];
      fastest_out = std::max(fastest_out, links.capacity[l]);
    }
    if (const std::uint32_t h = links.to[l].index(); h < hosts) {
      ++enter[h];
      fastest_in = std::max(fastest_in, links.capacity[l]);
    }
  }
  const auto one = [](std::uint32_t count) { return count == 1; };
  if (!std::ranges::all_of(leave, one) || !std::ranges::all_of(enter, one)) return 0;
  double busiest = 0;
  for (std::uint32_t r = 0; r < e.ranks; ++r) busiest = std::max(busiest, out[r] + in[r]);
  return std::max({*std::ranges::max_element(out) / fastest_out, *std::ranges::max_element(in) / fastest_in,
                   busiest / *std::ranges::max_element(both)});
}

void enumerate(const Exchange& e, const Injections& all, const SymmetryGroup& of_hosts, PlacementResult& r) {
  const auto n = static_cast<std::uint32_t>(all.count());
  Orbits orbits(n);
  std::vector<std::uint32_t> host;
  std::vector<std::uint32_t> image(e.ranks);
  for (const Permutation& g : of_hosts.generators) {
    for (std::uint32_t i = 0; i < n; ++i) {
      all.decode(i, host);
      for (std::uint32_t rank = 0; rank < e.ranks; ++rank) image[rank] = g[host[rank]];
      orbits.join(i, all.encode(image));
    }
  }
  for (std::uint32_t i = 0; i < n; ++i) r.host_classes += orbits.find(i) == i ? 1 : 0;
  for (const Permutation& p : exchange_symmetry(e).generators) {
    for (std::uint32_t i = 0; i < n; ++i) {
      all.decode(i, host);
      for (std::uint32_t rank = 0; rank < e.ranks; ++rank) image[p[rank]] = host[rank];
      orbits.join(i, all.encode(image));
    }
  }
  std::vector<std::uint32_t> members(n, 0);
  for (std::uint32_t i = 0; i < n; ++i) ++members[orbits.find(i)];
  r.classes.reserve(n - static_cast<std::size_t>(std::ranges::count(members, 0u)));
  for (std::uint32_t i = 0; i < n; ++i) {
    if (members[i] == 0) continue;
    all.decode(i, host);
    r.classes.push_back({as_hosts(host), members[i], 0, false, 0, 0, 0, Proof::kNone, false});
  }
}

Result<void> anneal_placements(const Exchange& e, const topology::Fabric& fabric, std::uint32_t hosts,
                               const PlacementOptions& o, const Control& control, PlacementResult& r) {
  Bounds bounds(e, fabric, messages_share(o.model));
  Kinds kinds(e, fabric);
  Rng rng(o.search.seed);
  std::vector<std::uint32_t> host(hosts);  // of slot: the first `ranks` slots are ranks
  std::iota(host.begin(), host.end(), 0u);
  using Placed = std::pair<LaneLoad, std::vector<std::uint32_t>>;
  std::vector<Placed> best;  // ascending
  std::set<std::uint64_t> seen;
  const auto keep = [&](const LaneLoad& load) {
    if (!seen.insert(kinds.of(host)).second) return false;
    Placed placed{load, {host.begin(), host.begin() + e.ranks}};
    best.insert(std::ranges::upper_bound(best, load, {}, &Placed::first), std::move(placed));
    return true;
  };
  WEFT_ASSIGN(LaneLoad load, bounds.of(host));
  keep(load);
  // Ranks in order stay, whatever their bound: a search is never worse than none.
  const Placed given = std::move(best.front());
  best.clear();
  const auto meets_ports = [&](const LaneLoad& l) { return !sooner(r.port_s, l.most_s); };
  LaneLoad least = load;
  std::uint64_t last_new = 0;
  for (std::uint64_t k = 0; k < o.moves && !control.stopped(); ++k) {
    const double cooled = static_cast<double>(k) / static_cast<double>(o.moves);
    const double temperature = least.most_s * 0.1 * std::pow(0.01, cooled);
    const auto i = static_cast<std::uint32_t>(rng.below(e.ranks));
    const auto j = static_cast<std::uint32_t>(rng.below(hosts));
    if (i == j) continue;
    std::swap(host[i], host[j]);
    WEFT_ASSIGN(const LaneLoad next, bounds.of(host));
    if (next.most_s > load.most_s - temperature * std::log(1 - rng.unit())) {
      std::swap(host[i], host[j]);
    } else {
      load = next;
      if ((best.size() < o.tries || load < best.back().first) && keep(load)) last_new = k;
      if (best.size() > o.tries) best.pop_back();
      least = std::min(least, load);
    }
    // Nothing has a lower bound, and what is kept gets no better (or no more: on a crossbar all are of one kind).
    if (meets_ports(least) && k - last_new > o.moves / 16) break;
  }
  best.insert(std::ranges::lower_bound(best, given.first, {}, &Placed::first), given);
  for (const auto& [l, placed] : best)
    r.classes.push_back({as_hosts(placed), 1, l.most_s, false, 0, 0, 0, Proof::kNone, false});
  return {};
}

}  // namespace

Result<PlacementResult> search_placement(const Exchange& e, const topology::Fabric& fabric,
                                         std::uint32_t hosts, const PlacementOptions& o,
                                         const Control& control) {
  if (hosts < e.ranks)
    return usage_error("more ranks than hosts", fmt::format("{} ranks", e.ranks),
                       fmt::format("at most {}", hosts));
  WEFT_TRY(check_links(fabric));
  const bool share = messages_share(o.model);
  PlacementResult r;
  const Injections all(e.ranks, hosts);
  if (o.every_class && all.count() > kMaxOfEveryClass)
    return not_supported(
        fmt::format("every class of {:.3g} placements", all.count()),
        fmt::format("at most {:.0f}; without --exhaustive the best of annealing are searched",
                    kMaxOfEveryClass));
  r.placements = all.count();
  r.port_s = port_bound(e, fabric, hosts, share);
  r.enumerated = o.every_class || all.count() <= kMaxPlacements;
  if (r.enumerated) {
    WEFT_ASSIGN(const SymmetryGroup group, host_symmetry(fabric, hosts));
    enumerate(e, all, group, r);
    Bounds bounds(e, fabric, share);
    for (PlacementClass& c : r.classes) {
      std::vector<std::uint32_t> host;
      for (HostId h : c.host) host.push_back(h.index());
      WEFT_ASSIGN(const LaneLoad load, bounds.of(host));
      c.link_s = load.most_s;
    }
    std::stable_sort(
        r.classes.begin(), r.classes.end(),
        [](const PlacementClass& a, const PlacementClass& b) { return sooner(a.link_s, b.link_s); });
  } else {
    WEFT_TRY(anneal_placements(e, fabric, hosts, o, control, r));
  }

  Control inner = control;
  inner.progress = nullptr;
  inner.within_piece = true;
  const auto name_of = [&](const PlacementClass& c) {
    std::string name = "hosts";
    for (const HostId h : c.host) name += fmt::format(" {}", h.index());
    return name + ": ";
  };
  const auto search_class = [&](const PlacementClass& c) -> Result<SearchResult> {
    WEFT_ASSIGN(const Workload workload, place_exchange(e, fabric, c.host, share));
    WEFT_ASSIGN(const auto oracle, make_rate_oracle(o.model, workload, fabric));
    Control of_class = inner;
    of_class.piece = name_of(c);
    return search_schedule(workload, *oracle, o.search, of_class);
  };
  // The search of class i, given the best time of those before it, decides nothing.
  const auto cannot_be_better = [&](std::size_t i, double best_s) {
    return !o.every_class && !sooner(r.classes[i].link_s, best_s);
  };

  // What several processes do: classes whose turn has not come may be done before those ahead of them.
  std::map<std::size_t, SearchResult> done;
  if (control.kept != nullptr) {
    std::optional<Error> failed;
    PieceWork<SearchResult> work;
    work.run = [&](std::size_t i, SearchResult& out) {
      auto s = search_class(r.classes[i]);
      if (!s) failed = s.error();
      if (!s) return false;
      out = std::move(*s);
      if (out.interrupted) done[i] = out;
      return !out.interrupted;
    };
    std::set<std::size_t> taken;
    double best_s = 0;
    work.take = [&](std::size_t i, SearchResult&& s) {
      if (taken.empty() || sooner(s.best_s, best_s)) best_s = s.best_s;
      done[i] = std::move(s);
      taken.insert(i);
      if (control.progress)
        control.progress(static_cast<double>(taken.size()), static_cast<double>(r.classes.size()), best_s);
    };
    // As below, of those that are known: what is skipped here is skipped there.
    work.needed = [&](std::size_t i) {
      if (o.every_class) return true;
      std::optional<double> best;
      for (const std::size_t k : taken) {
        if (k >= i) break;
        if (best && cannot_be_better(k, *best)) continue;
        if (!best || sooner(done.at(k).best_s, *best)) best = done.at(k).best_s;
      }
      return !best || !cannot_be_better(i, *best);
    };
    std::vector<Piece> pieces;
    pieces.reserve(r.classes.size());
    for (const PlacementClass& c : r.classes) pieces.push_back({name_of(c) + "result", 1});
    r.interrupted = !control.kept->results(pieces, 1, work);
    if (failed) return *failed;
  }

  bool looked = false;                                      // at a class, whatever came of it
  double open_s = std::numeric_limits<double>::infinity();  // the classes without a proof are no sooner
  for (std::size_t i = 0; i < r.classes.size(); ++i) {
    PlacementClass& c = r.classes[i];
    const bool found = !r.search.best.empty();
    if (found && cannot_be_better(i, r.search.best_s)) continue;
    const auto known = done.find(i);
    if (known == done.end() && (control.kept != nullptr || (looked && control.stopped()))) {
      r.interrupted = true;
      open_s = std::min(open_s, c.link_s);
      continue;
    }
    SearchResult s;
    if (known != done.end()) {
      s = std::move(known->second);
    } else {
      WEFT_ASSIGN(s, search_class(c));
    }
    looked = true;
    if (s.proof == Proof::kNone) open_s = std::min(open_s, s.lower_s);
    r.interrupted = r.interrupted || s.interrupted;
    if (s.best.empty()) continue;  // stopped before its first schedule
    c.searched = true;
    c.best_s = s.best_s;
    c.mean_s = s.statistics.mean;
    c.worst_s = s.statistics.worst;
    c.proof = s.proof;
    c.exact = s.exact;
    if (!found || sooner(s.best_s, r.search.best_s)) {
      r.best = i;
      r.search = std::move(s);
    }
    if (control.progress && control.kept == nullptr)
      control.progress(static_cast<double>(i + 1), static_cast<double>(r.classes.size()), r.search.best_s);
  }
  WEFT_ASSIGN(r.workload, place_exchange(e, fabric, r.classes[r.best].host, share));
  r.interrupted = r.interrupted || control.stopped();
  // No class that was not looked at, nor any placement, is sooner than what the ports need.
  const bool meets_ports = r.port_s > 0 && !sooner(r.port_s, r.search.best_s);
  const bool meets_open = r.enumerated && !sooner(open_s, r.search.best_s);
  r.proven = !r.search.best.empty() && (meets_open || meets_ports);
  r.lower_s =
      r.proven ? r.search.best_s : std::max(r.port_s, r.enumerated ? std::min(open_s, r.search.best_s) : 0);
  return r;
}

}  // namespace weft::schedule
