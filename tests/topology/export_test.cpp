#include "topology/graphs/export.hpp"

#include <algorithm>
#include <string_view>

#include "tests/topology/oracles.hpp"

namespace weft::topology {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(Export, DotAndGraphmlHaveOneEdgePerCable) {
  const Platform p = load("fat-tree:m=4,n=2");
  const std::string dot = to_dot(p.fabric), xml = to_graphml(p.fabric);
  EXPECT_EQ(count(dot, " -- "), 16u);
  EXPECT_EQ(count(dot, "shape=box"), 8u);
  EXPECT_EQ(count(xml, "<edge "), 16u);
  EXPECT_EQ(count(xml, "<node "), 14u);
  EXPECT_THAT(xml, HasSubstr("&lt;0,1&gt;"));
  EXPECT_THAT(xml, Not(HasSubstr("<0,1>")));
}

// Names come from other people's files: whatever they hold, what is written reads back.
TEST(Export, NamesOfAnyBytesStayReadable) {
  const TempFile f("names",
                   "graph { a [kind=host, label=\"tab\there\"]; b [kind=host, label=\"bell\x07\xff<&>\"];\n"
                   "c [kind=host, label=\"Gr\xc3\xb6\xc3\x9f"
                   "e \\\\ \\\" 1\"]; a -- b; b -- c; }");
  const Platform p = load("file:path=" + f.path());
  ASSERT_EQ(p.fabric.host_name(HostId(2)),
            "Gr\xc3\xb6\xc3\x9f"
            "e \\ \" 1");
  const std::string xml = to_graphml(p.fabric);
  EXPECT_THAT(xml, HasSubstr("bell\\x07\\xff&lt;&amp;&gt;"));
  EXPECT_THAT(xml, HasSubstr("tab\\x09here"));
  EXPECT_THAT(xml, HasSubstr("Gr\xc3\xb6\xc3\x9f"
                             "e \\ &quot; 1"));
  const TempFile graphml("names.graphml", xml), dot("names.dot", to_dot(p.fabric)),
      routes("names.routes", *to_routes(p.fabric));
  const Platform x = load("file:path=" + graphml.path()), d = load("file:path=" + dot.path()),
                 r = load("routes:path=" + routes.path());
  EXPECT_EQ(x.fabric.host_count(), 3u);
  EXPECT_EQ(r.fabric.host_count(), 3u);
  for (std::uint32_t h = 0; h < 3; ++h)
    EXPECT_EQ(d.fabric.host_name(HostId(h)), p.fabric.host_name(HostId(h)));
  EXPECT_EQ(r.fabric.link_name(LinkId(0)), "tab_here->bell_\xff<&>");
}

// Of a routes file blanks end the fields: links whose names differ in them only stay two, and one without a name has one.
TEST(Export, NamesOfLinksInARoutesFileDiffer) {
  const std::string names[] = {"l_1",
                               "l 1",
                               "l\xc2\xa0"
                               "1",
                               "l&#9;1",
                               "",
                               "l_1#2"};
  std::string xml = "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">";
  for (std::size_t h = 0; h <= std::size(names); ++h)
    xml += "<host id=\"h" + std::to_string(h) + "\" speed=\"1Gf\"/>";
  for (std::size_t l = 0; l < std::size(names); ++l)
    xml += "<link id=\"" + names[l] + "\" bandwidth=\"" + std::to_string(l + 1) +
           "Bps\"/><route src=\"h0\" dst=\"h" + std::to_string(l + 1) + "\"><link_ctn id=\"" + names[l] +
           "\"/></route>";
  const TempFile platform("names.xml", xml + "</zone></platform>");
  const TempFile routes("names.routes", *to_routes(load(platform.path()).fabric));
  const Fabric f = load("routes:path=" + routes.path()).fabric;
  ASSERT_EQ(f.wired_links(), std::size(names));
  std::map<double, std::string> read;
  for (std::uint32_t l = 0; l < f.wired_links(); ++l) read[f.links().capacity[l]] = f.link_name(LinkId(l));
  EXPECT_EQ(read, (std::map<double, std::string>{{1, "l_1"},
                                                 {2, "l_1#3"},
                                                 {3,
                                                  "l\xc2\xa0"
                                                  "1"},
                                                 {4, "l_1#4"},
                                                 {5, "h0->h5"},
                                                 {6, "l_1#2"}}));
}

TEST(Export, LinksWithoutATwinStayDirected) {
  const TempFile f("oneway", "L 0 a 1 0\nL 1 b 1 0\nR 0 1 0 1\n");
  EXPECT_THAT(to_dot(load("routes:path=" + f.path()).fabric), HasSubstr("digraph"));
}

// Whether the two links of a cable follow one another in the table or not.
TEST(Export, LinksWithATwinAnywhereAreCables) {
  const TempFile f("apart",
                   "digraph { a [kind=host]; b [kind=host]; c [kind=host];\n"
                   "a -> b; b -> c; a -> c; c -> b; b -> a; c -> a; }");
  const std::string dot = to_dot(load("file:path=" + f.path()).fabric);
  EXPECT_THAT(dot, StartsWith("graph"));
  EXPECT_EQ(count(dot, " -- "), 3u);
}

// What a large fabric takes is not held as one text.
TEST(Export, ComesInPiecesThatAreTheWhole) {
  const Platform p = load("crossbar:n=3000");
  const auto together = [](const auto& write) {
    std::string text;
    std::size_t most = 0;
    write([&](std::string_view piece) {
      text += piece;
      most = std::max(most, piece.size());
    });
    EXPECT_GT(text.size(), 3 * most);
    return text;
  };
  EXPECT_EQ(together([&](const TextSink& out) { write_dot(p.fabric, out); }), to_dot(p.fabric));
  EXPECT_EQ(together([&](const TextSink& out) { write_graphml(p.fabric, out); }), to_graphml(p.fabric));
  const Platform few = load("crossbar:n=300");
  EXPECT_EQ(together([&](const TextSink& out) { EXPECT_TRUE(write_routes(few.fabric, out)); }),
            *to_routes(few.fabric));
}

TEST(Export, RoutesFileReadsBackAsTheSameNetwork) {
  const std::vector<std::string> specs = {"fat-tree:m=4,n=3,bw=100Gbpsx50Gbpsx25Gbps",
                                          "torus:dims=4x3x2,host_links=off", "dragonfly:p=2,lat=1usx2usx3us",
                                          "xgft:m=4x6,w=1x2,p=1x2", "crossbar:n=5"};
  for (const std::string& spec : specs) {
    SCOPED_TRACE(spec);
    const Platform a = load(spec);
    const TempFile file("routes", *to_routes(a.fabric));
    const Platform b = load("routes:path=" + file.path());
    ASSERT_EQ(a.fabric.host_count(), b.fabric.host_count());
    expect_sound(b.fabric);
    for (std::uint32_t s = 0; s < a.fabric.host_count(); ++s)
      for (std::uint32_t d = 0; d < a.fabric.host_count(); ++d) {
        const auto x = route_of(a.fabric, s, d), y = route_of(b.fabric, s, d);
        ASSERT_EQ(x.size(), y.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
          ASSERT_EQ(a.fabric.link_name(x[i]), b.fabric.link_name(y[i]));
          ASSERT_EQ(a.fabric.links().capacity[x[i].index()], b.fabric.links().capacity[y[i].index()]);
          ASSERT_EQ(a.fabric.links().latency[x[i].index()], b.fabric.links().latency[y[i].index()]);
        }
      }
  }
}

// Hosts that no route comes to or goes from are hosts of the network that is read back, too.
TEST(Export, RoutesFileKeepsHostsWithoutRoutes) {
  const TempFile apart(
      "apart",
      "graph { s [kind=switch]; a [kind=host]; b [kind=host]; c [kind=host]; d [kind=host];\n"
      "a -- s; b -- s; }");
  for (const auto& [spec, hosts] : std::vector<std::pair<std::string, std::uint32_t>>{
           {"crossbar:n=1", 1}, {"file:path=" + apart.path(), 4}}) {
    SCOPED_TRACE(spec);
    const Platform a = load(spec);
    const TempFile file("routes", *to_routes(a.fabric));
    const Platform b = load("routes:path=" + file.path());
    EXPECT_EQ(a.fabric.host_count(), hosts);
    EXPECT_EQ(b.fabric.host_count(), hosts);
    EXPECT_EQ(b.fabric.cable_count(), a.fabric.cable_count());
    EXPECT_EQ(b.fabric.routing().hop_histogram()->unreachable,
              a.fabric.routing().hop_histogram()->unreachable);
    EXPECT_EQ(b.fabric.routing().hop_histogram()->pairs, a.fabric.routing().hop_histogram()->pairs);
  }
}

TEST(Export, RoutesOfAHugeNetworkAreRefused) {
  EXPECT_FALSE(write_routes(
      load("crossbar:n=100").fabric, [](std::string_view) { FAIL(); }, 1000));
  EXPECT_THAT(to_routes(load("crossbar:n=100").fabric, 1000).error().message(), HasSubstr("9900 pairs"));
}

}  // namespace
}  // namespace weft::topology
