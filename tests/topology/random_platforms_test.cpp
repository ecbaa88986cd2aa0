// 1,000 random platforms of every family: connected, degrees as the parameters say, every sampled route a simple walk
// that ends where it should, whatever the routing, for single messages too. Most are small, every hundredth has up to
// 100,000 hosts. WEFT_SEED replays one run; a failure prints the platform, which is small enough to be tried by hand.
#include <cmath>
#include <functional>

#include "tests/topology/oracles.hpp"
#include "topology/platform/params.hpp"
#include "topology/registry.hpp"

namespace weft::topology {
namespace {

std::string pick(Rng& rng, std::initializer_list<const char*> options) {
  return *(options.begin() + rng.below(options.size()));
}
std::string num(std::uint64_t v) { return std::to_string(v); }
// Lengths joined by x whose product stays near `size`.
std::string lengths(Rng& rng, std::uint64_t count, std::uint64_t size, std::uint64_t low = 1) {
  std::string out;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t rest = count - i;
    auto top = static_cast<std::uint64_t>(
        std::pow(static_cast<double>(std::max<std::uint64_t>(size, 1)), 1.0 / static_cast<double>(rest)));
    top = std::max<std::uint64_t>(low, i + 1 == count ? top : 2 * top);
    const std::uint64_t v = low + rng.below(top - low + 1);
    out += (i == 0 ? "" : "x") + num(v);
    size = std::max<std::uint64_t>(1, size / v);
  }
  return out;
}

// What the degrees must be, by the parameters alone; no switch degree: levels differ (xgft, rail).
struct Drawn {
  std::string spec;
  std::uint32_t host_degree = 1;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> switch_degree;  // least and most
};
std::pair<std::uint64_t, std::uint64_t> always(std::uint64_t v) { return {v, v}; }
std::vector<std::uint64_t> numbers(const std::string& list) {
  std::vector<std::uint64_t> out;
  for (const std::string_view part : split(list, 'x')) out.push_back(std::stoull(std::string(part)));
  return out;
}
// Ports of a router of a grid. `lines`: dimensions from the first on that do not close to rings.
std::pair<std::uint64_t, std::uint64_t> grid_ports(std::uint64_t hosts, const std::string& dims,
                                                   const std::vector<std::uint64_t>& cables,
                                                   std::size_t lines = 0) {
  const auto k = numbers(dims);
  auto out = always(hosts);
  for (std::size_t d = 0; d < k.size(); ++d) {
    const std::uint64_t c = cables[d];
    out.first += k[d] == 1 ? 0 : (k[d] == 2 || d < lines ? c : 2 * c);
    out.second += k[d] == 1 ? 0 : (k[d] == 2 ? c : 2 * c);
  }
  return out;
}
// Global cables of the routers (spines) of a group that deal `dealt` of them, besides `base` ports.
std::pair<std::uint64_t, std::uint64_t> dealt_ports(std::uint64_t base, std::uint64_t dealt,
                                                    std::uint64_t routers) {
  return {base + dealt / routers, base + (dealt + routers - 1) / routers};
}
using Draw = std::function<Drawn(Rng&, std::uint64_t size)>;

const std::map<std::string, Draw>& families_drawn() {
  static const std::map<std::string, Draw> all = {
      {"fat-tree",
       [](Rng& rng, std::uint64_t size) {
         const std::uint64_t n = 1 + rng.below(3);
         auto k = static_cast<std::uint64_t>(
             std::pow(static_cast<double>(size) / 2, 1.0 / static_cast<double>(n)));
         k = 1 + rng.below(std::max<std::uint64_t>(k, 1));
         return Drawn{"fat-tree:m=" + num(2 * k) + ",n=" + num(n) + ",routing=" +
                          pick(rng, {"mlid", "d-mod-k", "s-mod-k", "hashed", "random", "adaptive"}),
                      1, always(2 * k)};
       }},
      {"xgft",
       [](Rng& rng, std::uint64_t size) {
         const std::uint64_t h = 1 + rng.below(3);
         std::string w, p;
         std::uint64_t cards = 1;
         for (std::uint64_t i = 0; i < h; ++i) {
           const std::uint64_t x = 1 + rng.below(4), y = 1 + rng.below(2);
           if (i == 0) cards = x * y;
           w += (i == 0 ? "" : "x") + num(x);
           p += (i == 0 ? "" : "x") + num(y);
         }
         return Drawn{"xgft:m=" + lengths(rng, h, size) + ",w=" + w + ",p=" + p +
                          ",routing=" + pick(rng, {"d-mod-k", "s-mod-k", "hashed", "random", "adaptive"}),
                      static_cast<std::uint32_t>(cards),
                      {}};
       }},
      {"dragonfly",
       [](Rng& rng, std::uint64_t size) {
         const std::uint64_t big = size > 1000 ? 4 : 1;
         const std::uint64_t p = 1 + rng.below(4 * big), a = 1 + rng.below(8 * big),
                             h = 1 + rng.below(4 * big);
         const std::uint64_t most = std::min(a * h + 1, std::max<std::uint64_t>(1, size / (p * a)));
         const std::uint64_t g = 1 + rng.below(most), per_pair = g > 1 ? a * h / (g - 1) : 0;
         return Drawn{"dragonfly:p=" + num(p) + ",a=" + num(a) + ",h=" + num(h) + ",g=" + num(g) +
                          ",arrangement=" + pick(rng, {"absolute", "palmtree", "relative"}) +
                          ",routing=" + pick(rng, {"minimal", "valiant", "ugal-u"}),
                      1, dealt_ports(p + a - 1, g == a * h + 1 ? a * h : per_pair * (g - 1), a)};
       }},
      {"dragonfly-plus",
       [](Rng& rng, std::uint64_t size) {
         const std::uint64_t p = 1 + rng.below(4), l = 1 + rng.below(5), s = 1 + rng.below(5),
                             h = 1 + rng.below(4);
         const std::uint64_t most = std::min(s * h + 1, std::max<std::uint64_t>(1, size / (p * l)));
         const std::uint64_t g = 1 + rng.below(most), per_pair = g > 1 ? s * h / (g - 1) : 0;
         const auto spine = dealt_ports(l, per_pair * (g - 1), s);
         return Drawn{"dragonfly-plus:p=" + num(p) + ",leaves=" + num(l) + ",spines=" + num(s) + ",h=" +
                          num(h) + ",g=" + num(g) + ",routing=" + pick(rng, {"minimal", "valiant", "ugal-u"}),
                      1, std::pair(std::min(p + s, spine.first), std::max(p + s, spine.second))};
       }},
      {"aries",
       [](Rng& rng, std::uint64_t size) {
         const std::uint64_t g =
             1 + rng.below(std::max<std::uint64_t>(1, std::min<std::uint64_t>(size / 96, 241)));
         const std::uint64_t blue = g > 1 ? 1 + rng.below(std::min<std::uint64_t>(960 / (g - 1), 12)) : 1;
         const std::uint64_t p = 1 + rng.below(4);
         return Drawn{"aries:hosts_per_switch=" + num(p) + ",groups=" + num(g) + ",blue=" + num(blue) +
                          ",routing=" + pick(rng, {"minimal", "valiant", "ugal-u"}),
                      1, dealt_ports(p + 30, g > 1 ? blue * (g - 1) : 0, 96)};
       }},
      {"torus",
       [](Rng& rng, std::uint64_t size) {
         const std::uint64_t d = 1 + rng.below(5);
         std::string cables;
         for (std::uint64_t i = 0; i < d; ++i) cables += (i == 0 ? "" : "x") + num(1 + rng.below(3));
         const std::string dims = lengths(rng, d, size);
         const std::uint64_t t = 1 + rng.below(2);
         return Drawn{"torus:dims=" + dims + ",cables=" + cables + ",hosts_per_switch=" + num(t) +
                          ",tie=" + pick(rng, {"plus", "minus", "parity", "simgrid"}) +
                          ",routing=" + pick(rng, {"dimension-order", "hashed", "adaptive"}),
                      1, grid_ports(t, dims, numbers(cables))};
       }},
      {"mesh",
       [](Rng& rng, std::uint64_t size) {
         const std::uint64_t d = 1 + rng.below(5);
         std::string cables;
         for (std::uint64_t i = 0; i < d; ++i) cables += (i == 0 ? "" : "x") + num(1 + rng.below(3));
         const std::string dims = lengths(rng, d, size);
         return Drawn{"mesh:dims=" + dims + ",cables=" + cables +
                          ",routing=" + pick(rng, {"dimension-order", "hashed", "adaptive"}),
                      1, grid_ports(1, dims, numbers(cables), d)};
       }},
      {"gemini",
       [](Rng& rng, std::uint64_t size) {
         const std::string dims = lengths(rng, 3, size / 2);
         return Drawn{
             "gemini:dims=" + dims + ",routing=" + pick(rng, {"dimension-order", "hashed", "adaptive"}), 1,
             grid_ports(2, dims, {2, 1, 2})};
       }},
      {"bgq",
       [](Rng& rng, std::uint64_t size) {
         const std::string dims = lengths(rng, 5, size);
         std::uint64_t ports = 1;  // two for every dimension that is there
         for (const std::uint64_t k : numbers(dims)) ports += k > 1 ? 2 : 0;
         return Drawn{"bgq:dims=" + dims, 1, always(ports)};
       }},
      {"tofud",
       [](Rng& rng, std::uint64_t size) {
         const std::string dims = lengths(rng, 3, size / 12), wrap = pick(rng, {"on", "off"});
         return Drawn{"tofud:dims=" + dims + ",wrap=" + wrap, 1,
                      grid_ports(1, dims + "x2x3x2", {1, 1, 1, 1, 1, 1}, wrap == "on" ? 0 : 3)};
       }},
      {"hypercube",
       [](Rng& rng, std::uint64_t size) {
         std::uint64_t top = 1;
         while ((2ULL << top) <= size) ++top;
         const std::uint64_t n = 1 + rng.below(top);
         return Drawn{"hypercube:n=" + num(n), 1, always(n + 1)};
       }},
      {"hyperx",
       [](Rng& rng, std::uint64_t size) {
         const std::uint64_t d = 1 + rng.below(3);
         std::string cables;
         for (std::uint64_t i = 0; i < d; ++i) cables += (i == 0 ? "" : "x") + num(1 + rng.below(2));
         const std::uint64_t t = 1 + rng.below(8);
         const std::string dims = lengths(rng, d, std::min<std::uint64_t>(size / t, 2000));
         std::uint64_t ports = t;
         for (std::uint64_t i = 0; i < d; ++i) ports += (numbers(dims)[i] - 1) * numbers(cables)[i];
         return Drawn{"hyperx:dims=" + dims + ",cables=" + cables + ",hosts_per_switch=" + num(t) +
                          ",routing=" + pick(rng, {"dimension-order", "valiant", "adaptive"}),
                      1, always(ports)};
       }},
      {"slim-fly",
       [](Rng& rng, std::uint64_t size) {
         const std::string q =
             size < 1000 ? pick(rng, {"3", "4", "5", "7"}) : pick(rng, {"8", "9", "11", "13", "16", "17"});
         const std::uint64_t n = std::stoull(q), p = 1 + rng.below(4);
         return Drawn{"slim-fly:q=" + q + ",hosts_per_switch=" + num(p) +
                          ",routing=" + pick(rng, {"shortest", "ecmp", "random", "adaptive"}),
                      1, always(p + (n % 4 == 3 ? 3 * n + 1 : (n % 4 == 1 ? 3 * n - 1 : 3 * n)) / 2)};
       }},
      {"polarfly",
       [](Rng& rng, std::uint64_t size) {
         const std::string q = size < 1000 ? pick(rng, {"2", "3", "4", "5", "7"})
                                           : pick(rng, {"8", "9", "11", "13", "16", "25"});
         const std::uint64_t n = std::stoull(q), p = 1 + rng.below(4);
         return Drawn{"polarfly:q=" + q + ",hosts_per_switch=" + num(p) +
                          ",routing=" + pick(rng, {"shortest", "ecmp", "random", "adaptive"}),
                      1, std::pair(p + n, p + n + 1)};  // quadrics, others
       }},
      {"jellyfish",
       [](Rng& rng, std::uint64_t size) {
         const std::uint64_t p = 1 + rng.below(4),
                             n = 4 + 2 * rng.below(std::max<std::uint64_t>(
                                             1, std::min<std::uint64_t>(size, 8000) / (2 * p)));
         const std::uint64_t r = 2 + rng.below(std::min<std::uint64_t>(n - 3, 12));
         return Drawn{"jellyfish:n=" + num(n) + ",r=" + num(r) + ",hosts_per_switch=" + num(p) +
                          ",seed=" + num(rng.below(1000)) +
                          ",routing=" + pick(rng, {"shortest", "ecmp", "random", "adaptive"}),
                      1, always(p + r)};
       }},
      {"rail",
       [](Rng& rng, std::uint64_t size) {
         const std::uint64_t rails = 1 + rng.below(8), nodes = 1 + rng.below(8);
         const bool nvlink = rng.below(3) > 0;
         return Drawn{"rail:rails=" + num(rails) + ",nodes=" + num(nodes) +
                          ",pods=" + num(1 + rng.below(std::max<std::uint64_t>(1, size / (rails * nodes)))) +
                          ",spines=" + num(1 + rng.below(6)) + ",cables=" + num(1 + rng.below(2)) +
                          ",nvlink=" + (nvlink ? "on" : "off") +
                          (nvlink && rng.below(2) == 0 ? ",pxn=on" : "") +
                          ",routing=" + pick(rng, {"d-mod-k", "hashed", "random", "adaptive"}),
                      nvlink ? 2u : 1u,
                      {}};
       }},
      {"nvswitch",
       [](Rng& rng, std::uint64_t size) {
         const std::uint64_t n = 2 + rng.below(std::min<std::uint64_t>(size, 5000));
         return Drawn{"nvswitch:n=" + num(n), 1, always(n)};
       }},
      {"crossbar",
       [](Rng& rng, std::uint64_t size) {
         const std::uint64_t n = 2 + rng.below(size);
         return Drawn{"crossbar:n=" + num(n), 1, always(n)};
       }},
  };
  return all;
}

void check_messages(const Fabric& f, Rng& rng, int messages) {
  if (f.routing().scope() == RouteScope::kPair) return;
  std::vector<std::uint32_t> load(f.link_count());
  for (auto& x : load) x = static_cast<std::uint32_t>(rng.below(4));
  std::vector<LinkId> out;
  std::set<std::uint32_t> seen;
  for (int m = 0; m < messages; ++m) {
    const auto s = static_cast<std::uint32_t>(rng.below(f.host_count())),
               d = static_cast<std::uint32_t>(rng.below(f.host_count()));
    out.clear();
    ASSERT_TRUE(f.routing().route_message(HostId(s), HostId(d), static_cast<std::uint64_t>(m), load, out));
    std::uint32_t at = s;
    seen = {s};
    for (const LinkId l : out) {
      ASSERT_EQ(f.links().from[l.index()].index(), at);
      at = f.links().to[l.index()].index();
      ASSERT_TRUE(seen.insert(at).second) << "a vertex twice";
    }
    ASSERT_EQ(at, d);
  }
}

class RandomPlatforms : public ::testing::TestWithParam<std::string> {};

TEST_P(RandomPlatforms, AThousandAreConnectedWithRightDegreesAndSimpleRoutes) {
  const std::uint64_t seed = seed_or(20261120);
  Rng rng(seed);
  ASSERT_TRUE(families_drawn().contains(GetParam())) << "how is this family drawn?";
  const Draw& draw = families_drawn().at(GetParam());
  std::uint32_t largest = 0;
  for (int round = 0; round < 1000; ++round) {
    const std::uint64_t size = round % 100 == 99 ? 100000 : 4 + rng.below(200);
    const Drawn drawn = draw(rng, size);
    SCOPED_TRACE(drawn.spec + " round " + std::to_string(round) + " seed " + std::to_string(seed));
    const auto p = load_platform(drawn.spec);
    ASSERT_TRUE(p) << p.error().message();
    const Fabric& f = p->fabric;
    largest = std::max(largest, f.host_count());
    if (f.host_count() < 2) continue;
    const VerifyReport r = verify(f, 200);  // connected, columns agree, simple walks
    ASSERT_THAT(r.findings, ::testing::IsEmpty());
    ASSERT_EQ(r.unreachable, 0u);
    ASSERT_EQ(r.host_degree_min, drawn.host_degree);
    ASSERT_EQ(r.host_degree_max, drawn.host_degree);
    if (drawn.switch_degree) {
      ASSERT_GE(r.switch_degree_min, drawn.switch_degree->first);
      ASSERT_LE(r.switch_degree_max, drawn.switch_degree->second);
    }
    check_messages(f, rng, 20);
    if (::testing::Test::HasFatalFailure()) return;
  }
  RecordProperty("largest_hosts", static_cast<int>(largest));
}

// Files say themselves what they are; a PCIe tree has degrees and routes of its own (pcie_test.cpp).
std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const Family& f : families())
    if (f.name != "file" && f.name != "routes" && f.name != "simgrid" && f.name != "pcie")
      out.emplace_back(f.name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Families, RandomPlatforms, ::testing::ValuesIn(names()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace weft::topology
