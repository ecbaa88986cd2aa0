// What is kept of a large routes file: the same network as its text, or nothing.
#include "topology/graphs/routes_network.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "core/files/kept_copies.hpp"
#include "tests/support/environment.hpp"
#include "tests/topology/support.hpp"

namespace weft::topology {
namespace {

using support::slurp;
using support::TempDir;
using support::Variable;
using ::testing::HasSubstr;

// Hosts on a ring of switches, some pairs without a route, links in no order.
std::string ring_text(std::uint32_t hosts, Rng& rng) {
  std::string text;
  const auto link = [&](std::uint32_t index, const std::string& name) {
    text += fmt::format("L {} {} {} {}{}\n", index, name, 1 + rng.below(1000),
                        static_cast<double>(rng.below(1000)) * 1e-9, rng.below(4) == 0 ? " fatpipe" : "");
  };
  for (std::uint32_t h = 0; h < hosts; ++h) {
    link(3 * h, fmt::format("up{}", h));
    link(3 * h + 2, fmt::format("on{}", h));
    link(3 * h + 1, fmt::format("down-with-a-long-name-{}", h));
  }
  for (std::uint32_t s = hosts; s-- > 0;)
    for (std::uint32_t d = 0; d < hosts; ++d) {
      if (s == d || (rng.below(10) == 0 && d > 0)) continue;
      text += fmt::format("R {} {} {}", s, d, 3 * s);
      for (std::uint32_t v = s; v != d; v = (v + 1) % hosts) text += fmt::format(" {}", 3 * v + 2);
      text += fmt::format(" {}\n", 3 * d + 1);
    }
  return text;
}

FileBytes as_file(const std::string& bytes) { return {bytes.begin(), bytes.end()}; }

RoutesNetwork network_of(const std::string& text) {
  auto read = read_routes_text("ring", text);
  if (!read) ADD_FAILURE() << read.error().message();
  return topology::network_of(*read);
}

void expect_same(const Fabric& a, const Fabric& b) {
  ASSERT_EQ(a.host_count(), b.host_count());
  ASSERT_EQ(a.vertex_count(), b.vertex_count());
  EXPECT_EQ(a.switch_count(), b.switch_count());
  ASSERT_EQ(a.link_count(), b.link_count());
  EXPECT_EQ(a.links().from, b.links().from);
  EXPECT_EQ(a.links().to, b.links().to);
  EXPECT_EQ(a.links().capacity, b.links().capacity);
  EXPECT_EQ(a.links().latency, b.links().latency);
  EXPECT_EQ(a.links().class_names, b.links().class_names);
  EXPECT_EQ(a.links().link_class, b.links().link_class);
  for (std::uint32_t l = 0; l < a.link_count(); ++l)
    EXPECT_EQ(a.link_name(LinkId(l)), b.link_name(LinkId(l)));
  for (std::uint32_t s = 0; s < a.host_count(); ++s)
    for (std::uint32_t d = 0; d < a.host_count(); ++d) {
      std::vector<LinkId> x, y;
      EXPECT_EQ(a.routing().route(HostId(s), HostId(d), x), b.routing().route(HostId(s), HostId(d), y));
      EXPECT_EQ(x, y) << s << " to " << d;
    }
}

TEST(RoutesNetwork, AsBytesAndBack) {
  const std::uint64_t seed = seed_or(1);
  SCOPED_TRACE(fmt::format("WEFT_SEED={}", seed));
  Rng rng(seed);
  for (const std::uint32_t hosts : {2u, 3u, 9u, 20u}) {
    const RoutesNetwork a = network_of(ring_text(hosts, rng));
    const auto b = network_from(as_file(to_bytes(a)));
    ASSERT_TRUE(b);
    EXPECT_EQ(b->hosts, a.hosts);
    EXPECT_EQ(b->vertices, a.vertices);
    EXPECT_EQ(b->hosts_pass_on, a.hosts_pass_on);
    EXPECT_EQ(b->from, a.from);
    EXPECT_EQ(b->to, a.to);
    EXPECT_EQ(b->capacity, a.capacity);
    EXPECT_EQ(b->latency, a.latency);
    EXPECT_EQ(b->fatpipe, a.fatpipe);
    EXPECT_EQ(b->names, a.names);
    EXPECT_TRUE(std::ranges::equal(b->routes.row, a.routes.row));
    EXPECT_TRUE(std::ranges::equal(b->routes.dst, a.routes.dst));
    EXPECT_TRUE(std::ranges::equal(b->routes.offset, a.routes.offset));
    EXPECT_TRUE(std::ranges::equal(b->routes.links, a.routes.links));
  }
}

// Bytes that a hash vouches for may still be another program's: what is accepted can be used.
TEST(RoutesNetwork, OtherBytesAreRefusedOrHarmless) {
  const std::uint64_t seed = seed_or(2);
  SCOPED_TRACE(fmt::format("WEFT_SEED={}", seed));
  Rng rng(seed);
  const std::string whole = to_bytes(network_of(ring_text(4, rng)));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(network_from(as_file(whole.substr(0, size)))) << size;
  EXPECT_FALSE(network_from(as_file(whole + '\0')));
  std::size_t refused = 0, accepted = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string other = whole;
    other[i] = static_cast<char>(other[i] ^ (1u << rng.below(8)));
    const auto n = network_from(as_file(other));
    ++(n ? accepted : refused);
    if (!n) continue;
    for (std::uint32_t h = 0; h < n->hosts; ++h)
      for (std::uint32_t k = n->routes.row[h]; k < n->routes.row[h + 1]; ++k) {
        ASSERT_LT(n->routes.dst[k], n->hosts);
        for (std::uint32_t j = n->routes.offset[k]; j < n->routes.offset[k + 1]; ++j)
          ASSERT_LT(n->routes.links[j].index(), n->from.size());
      }
    for (std::size_t l = 0; l < n->from.size(); ++l) ASSERT_LT(std::max(n->from[l], n->to[l]), n->vertices);
  }
  EXPECT_GT(refused, accepted / 4);
}

TEST(RoutesNetwork, ALargeFileIsReadOnce) {
  const std::uint64_t seed = seed_or(3);
  SCOPED_TRACE(fmt::format("WEFT_SEED={}", seed));
  Rng rng(seed);
  const std::string text = ring_text(24, rng);
  ASSERT_GT(text.size(), 16u << 10);
  const TempDir dir;
  const std::string spec = "routes:path=" + dir.write("ring", text) + ",lat=1us";
  const auto plain = [&] {
    const Variable nowhere("WEFT_CACHE_DIR", "");
    return load(spec);
  }();
  const Variable here("WEFT_CACHE_DIR", dir.path("kept"));
  const KeptCopy copy("routes", text);
  EXPECT_FALSE(copy.find());
  expect_same(load(spec).fabric, plain.fabric);
  ASSERT_TRUE(copy.find());
  expect_same(load(spec).fabric, plain.fabric);

  // It is the copy that counts, as long as it can be right; else the text.
  Rng other(seed + 1);
  copy.keep(to_bytes(network_of(ring_text(5, other))));
  EXPECT_EQ(load(spec).fabric.host_count(), 5u);
  copy.keep("something else");
  expect_same(load(spec).fabric, plain.fabric);

  // Another text, another copy; and what is wrong is told each time.
  const std::string bad = "routes:path=" + dir.write("bad", text + "R 0 1 99999\n");
  for (int time = 0; time < 2; ++time) EXPECT_THAT(error_of(bad), HasSubstr("route over an unknown link"));
  const std::string small = "routes:path=" + dir.write("small", ring_text(3, rng));
  (void)load(small);
  const auto kept = std::distance(std::filesystem::directory_iterator(dir.path("kept")),
                                  std::filesystem::directory_iterator());
  EXPECT_EQ(kept, 1);
}

}  // namespace
}  // namespace weft::topology
