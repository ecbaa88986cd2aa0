// Networks from GraphML and DOT files, and shortest-path routing against Boost BFS; distances of all pairs against
// routes walked one by one.
#include <fmt/format.h>

#include <numeric>

#include "tests/topology/oracles.hpp"
#include "topology/graphs/export.hpp"

namespace weft::topology {
namespace {

using ::testing::HasSubstr;

Platform load_text(const std::string& text, const std::string& keys = "") {
  const TempFile f("graph", text);
  return load("file:path=" + f.path() + keys);
}
std::string error_of_text(const std::string& text) {
  const TempFile f("graph", text);
  return error_of("file:path=" + f.path());
}

const std::string kDiamond = R"(graph net {
  node [kind=switch];
  a; b; c; d;
  h2 [kind=host, label="left"]; h10 [kind=host]; h1 [kind=host];
  a -- b [bw="10Gbps", lat="1us", class=spine];
  a -- c [bw="10Gbps", lat="1us", class=spine];
  b -- d [bw="10Gbps", lat="1us", class=spine, cables=2];
  c -- d [bw="10Gbps", lat="1us", class=spine];
  h1 -- a; h2 -- a; h10 -- d [bandwidth_Bps="5e9", latency_s="2e-7"];
})";

TEST(GraphFile, DotGivesHostsClassesAndParallelCables) {
  const Platform p = load_text(kDiamond, ",bw=40Gbps,lat=100ns");
  const Fabric& f = p.fabric;
  EXPECT_EQ(f.host_count(), 3u);
  EXPECT_EQ(f.switch_count(), 4u);
  EXPECT_EQ(f.cable_count(), 8u);
  EXPECT_EQ(f.host_name(HostId(0)), "h1");  // natural order of identifiers
  EXPECT_EQ(f.host_name(HostId(1)), "left");
  EXPECT_EQ(f.host_name(HostId(2)), "h10");
  std::map<std::string, std::uint64_t> cables;
  for (const ClassSummary& c : summarize_classes(f)) cables[c.name] = c.links / 2;
  EXPECT_EQ(cables, (std::map<std::string, std::uint64_t>{{"host", 3}, {"spine", 5}}));
  const auto r = route_of(f, 0, 2);
  ASSERT_EQ(r.size(), 4u);
  EXPECT_EQ(f.links().capacity[r[0].index()], 5e9);  // 40 Gb/s, the platform's
  EXPECT_EQ(f.links().capacity[r[3].index()], 5e9);
  EXPECT_EQ(f.links().latency[r[3].index()], from_seconds(2e-7));
  EXPECT_EQ(f.links().latency[r[0].index()], from_seconds(1e-7));
  expect_sound(f);
  expect_routes_are_shortest(f);
}

TEST(GraphFile, OurOwnExportReadsBackWithTheSameDistances) {
  for (const std::string spec :
       {"fat-tree:m=4,n=3,bw=100Gbpsx50Gbpsx25Gbps", "torus:dims=4x3x2,host_links=off",
        "xgft:m=4x6,w=1x2,p=1x2", "mesh:dims=3x4", "crossbar:n=12", "hypercube:n=4"}) {
    const Platform a = load(spec);
    for (const bool dot : {true, false})
      for (const std::string routing : {"shortest", "ecmp", "random", "adaptive"}) {
        SCOPED_TRACE(std::string(spec) + " " + routing + (dot ? " dot" : " graphml"));
        const Platform b = load_text(dot ? to_dot(a.fabric) : to_graphml(a.fabric), ",routing=" + routing);
        EXPECT_EQ(a.fabric.host_count(), b.fabric.host_count());
        EXPECT_EQ(a.fabric.switch_count(), b.fabric.switch_count());
        EXPECT_EQ(a.fabric.cable_count(), b.fabric.cable_count());
        EXPECT_EQ(a.fabric.routing().hop_histogram()->pairs, b.fabric.routing().hop_histogram()->pairs);
        for (std::uint32_t h = 0; h < a.fabric.host_count(); ++h)
          EXPECT_EQ(a.fabric.host_name(HostId(h)), b.fabric.host_name(HostId(h)));
        const auto x = summarize_classes(a.fabric), y = summarize_classes(b.fabric);
        std::map<std::string, std::pair<double, double>> of_a, of_b;
        for (const auto& c : x) of_a[c.name] = {*c.bandwidth_Bps, *c.latency_s};
        for (const auto& c : y) of_b[c.name] = {*c.bandwidth_Bps, *c.latency_s};
        EXPECT_EQ(of_a, of_b);
        expect_sound(b.fabric);
        expect_routes_are_shortest(b.fabric);
        expect_closed_form_equals_walks(b.fabric);
        EXPECT_EQ(measure(b.fabric).router_mean_hops, measure(a.fabric).router_mean_hops);
      }
  }
}

// An identifier is the name of who has no other.
TEST(GraphFile, GraphMlNodesAreCalledByTheirIdentifiers) {
  const Platform p = load_text(R"(<graphml><key id="n" for="node" attr.name="name" attr.type="string"/>
    <key id="k" for="node" attr.name="kind" attr.type="string"/><graph edgedefault="undirected">
    <node id="leaf"><data key="k">switch</data></node>
    <node id="a"><data key="k">host</data><data key="n">node1</data></node><node id="b"><data key="k">host</data></node>
    <edge source="a" target="leaf"/><edge source="b" target="leaf"/></graph></graphml>)");
  EXPECT_EQ(p.fabric.host_name(HostId(0)), "node1");
  EXPECT_EQ(p.fabric.host_name(HostId(1)), "b");
  EXPECT_EQ(p.fabric.vertex_name(VertexId(2)), "leaf");
}

// Graphs within nodes and edges are read into the one that they stand in; their edges may come before the nodes.
TEST(GraphFile, GraphMlWithinNodesIsRead) {
  const Platform p = load_text(R"(<?xml version="1.0"?>
<!DOCTYPE graphml [ <!ENTITY one ">"> ]>
<graphml><!-- <graph> --><key id="k" for="node" attr.name="kind" attr.type="string"><default>host</default></key>
  <graph edgedefault="undirected">
    <edge source="rack::h3" target="sw"/>
    <node id="sw"><data key="k"> switch </data></node><node id="h0"/><node id="h1"/>
    <node id="rack"><data key="k">switch</data>
      <graph id="rack:" edgedefault="directed">
        <node id="rack::h2"/><node id="rack::h3"/>
        <node id="row"><data key="k"><![CDATA[switch]]></data><graph edgedefault="undirected">
          <node id="h>4"/><edge source="h>4" target="row"/></graph></node>
        <edge source="rack::h2" target="sw" directed="false"/>
      </graph>
    </node>
    <edge source="h0" target="sw"><graph edgedefault="undirected"><edge source="row" target="sw"/></graph></edge>
    <edge source="h1" target="sw"/>
  </graph></graphml>)");
  ASSERT_EQ(p.fabric.host_count(), 5u);
  EXPECT_EQ(p.fabric.switch_count(), 3u);
  EXPECT_EQ(p.fabric.cable_count(), 6u);
  EXPECT_EQ(p.fabric.host_name(HostId(2)), "rack::h2");
  EXPECT_EQ(p.fabric.host_name(HostId(4)), "h>4");
  EXPECT_EQ(route_of(p.fabric, 0, 4).size(), 3u);
  EXPECT_EQ(route_of(p.fabric, 2, 3).size(), 2u);
}

// A key that says "all", or nothing, is for nodes and edges, and so is its default.
TEST(GraphFile, GraphMlKeysForAllCountForNodesAndEdges) {
  for (const char* domain : {R"( for="all")", ""}) {
    SCOPED_TRACE(domain);
    const std::string all = std::string(domain) + R"( attr.type="string" attr.name=)";
    const Platform p =
        load_text("<graphml><key id=\"k\"" + all + "\"kind\"><default>switch</default></key><key id=\"l\"" +
                  all + "\"lat\"><default>1us</default></key>" +
                  R"(<key id="e" for="edge" attr.name="bw"><default>10Gbps</default></key>
        <key id="c" for="graph" attr.name="class"><default>none</default></key><graph edgedefault="undirected">
        <node id="s"/><node id="a"><data key="k">host</data></node><node id="b"><data key="k">host</data></node>
        <edge source="a" target="s"/><edge source="b" target="s"><data key="l">3us</data></edge>
        </graph></graphml>)");
    ASSERT_EQ(p.fabric.host_count(), 2u);
    ASSERT_EQ(p.fabric.switch_count(), 1u);
    const auto r = route_of(p.fabric, 0, 1);
    const LinkTable& t = p.fabric.links();
    EXPECT_EQ(t.latency[r[0].index()], from_seconds(1e-6));
    EXPECT_EQ(t.latency[r[1].index()], from_seconds(3e-6));
    EXPECT_EQ(t.capacity[r[0].index()], 1.25e9);
    EXPECT_EQ(t.class_names[t.link_class[r[0].index()]], "host");
  }
}

TEST(GraphFile, GraphMlErrorsNameLineAndColumn) {
  const std::string two = "<node id=\"a\"/><node id=\"b\"/>";
  const std::string open = "<graph edgedefault=\"undirected\">\n";
  const auto graph = [&](const std::string& inside) {
    return "<graphml>\n" + open + two + "\n" + inside + "\n</graph></graphml>";
  };
  const std::string keys =
      "<graphml>\n<key id=\"k\" for=\"node\" attr.name=\"kind\"/><key id=\"w\" for=\"edge\" "
      "attr.name=\"bw\">\n <default>10</default></key>\n";
  struct Row {
    std::string text, error;
  };
  for (const Row& r : std::vector<Row>{
           {"<graphml>\n" + open + two + "</graph>\n <graph id=\"B\" edgedefault=\"undirected\"/></graphml>",
            ":4:2: error: a second graph; got \"B\"; expected one <graph>; others within its nodes"},
           {graph("<edge source=\"a\" target=\"b\"/> <hyperedge><endpoint node=\"a\"/></hyperedge>"),
            ":4:31: error: a hyperedge; expected edges of two nodes; a switch joins more"},
           {graph("<node id=\"c\"><graph edgedefault=\"undirected\">\n<hyperedge/></graph></node>"),
            ":5:1: error: a hyperedge; expected edges of two nodes; a switch joins more"},
           {graph("<edge source=\"a\" target=\"B\"/>"),
            ":4:1: error: edge to a node that is not declared; got \"B\"; expected the id of a <node>"},
           {graph("<!-- > <edge> --><node id=\"a\"/>"),
            ":4:18: error: node declared twice; got \"a\"; expected each id once"},
           {graph("<edge source=\"a\"/>"), ":4:1: error: no attribute target; expected target=\"...\""},
           {graph("<edge source=\"a\" target=\"b\" directed=\"no\"/>"),
            ":4:1: error: unknown value of directed; got \"no\"; expected true or false"},
           {graph("<edge source=\"a\" target=\"b\"/>\n<edge source=\"a\" target=\"b\" directed=\"1\"/>"),
            ":5:1: error: the graph mixes directed and undirected edges; expected edges of one kind"},
           {graph("<node id=\"c\">\n <data key=\"k\">host</data></node>"),
            ":5:2: error: datum of a key that is not declared; got \"k\"; expected the id of a <key>"},
           {graph("<node/>"), ":4:1: error: no attribute id; expected id=\"...\""},
           {"<graphml>\n<graph/></graphml>",
            ":2:1: error: no attribute edgedefault; expected edgedefault=\"...\""},
           {"<graphml>\n<graph edgedefault=\"both\"/></graphml>",
            ":2:1: error: unknown edgedefault; got \"both\"; expected directed or undirected"},
           {"<graphml>\n<key id=\"k\" for=\"nodes\"/></graphml>",
            ":2:1: error: unknown domain of a key; got \"nodes\"; expected node, edge, all, graph or none"},
           {"<graphml>\n<key id=\"k\"/><key id=\"k\"/></graphml>",
            ":2:14: error: key declared twice; got \"k\"; expected each id once"},
           {keys + open + "<node id=\"a\">\n<data key=\"k\">hots</data></node></graph></graphml>",
            ":6:1: error: unknown kind of node; got \"hots\"; expected host, switch or router"},
           {keys + open +
                "<node id=\"a\"><data key=\"k\">host</data></node>\n<edge source=\"a\" "
                "target=\"a\"/></graph></graphml>",
            ":6:1: error: an edge to itself; got \"a\"; expected two different nodes"}}) {
    SCOPED_TRACE(r.text);
    EXPECT_THAT(error_of_text(r.text), ::testing::EndsWith(r.error));
  }
  // A default is named where it stands.
  EXPECT_THAT(
      error_of_text(keys + open +
                    "<node id=\"a\"><data key=\"k\">host</data></node><node id=\"b\"><data "
                    "key=\"k\">host</data></node><edge source=\"a\" target=\"b\"/></graph></graphml>"),
      HasSubstr(":3:2: error: not a bandwidth; got \"10\""));
}

TEST(GraphFile, OurOwnExportReadsBackWithAnyValues) {
  const Platform a = load("crossbar:n=2,lat=2s,bw=100B/s");
  for (const std::string& text : {to_dot(a.fabric), to_graphml(a.fabric)}) {
    const Platform b = load_text(text);
    EXPECT_EQ(b.fabric.links().latency, a.fabric.links().latency);
    EXPECT_EQ(b.fabric.links().capacity, a.fabric.links().capacity);
  }
  EXPECT_THAT(error_of_text("graph { a [kind=host]; b [kind=host]; a -- b [latency_s=-1] }"),
              HasSubstr("time is negative"));
}

TEST(GraphFile, RoutersMayNotBeCalledAsTheHostsThatAreAdded) {
  const TempFile f("rr", "graph { \"node-0\" -- \"node-1\" -- x }");
  EXPECT_THAT(error_of("file:path=" + f.path() + ",hosts_per_switch=2"),
              HasSubstr("a router has the name of a host"));
}

TEST(GraphFile, EcmpSpreadsPairsAndShortestKeepsOneTreePerDestination) {
  const std::string text = to_dot(load("xgft:m=4x8,w=1x4").fabric);
  const Platform e = load_text(text, ",routing=ecmp"), s = load_text(text);
  std::map<std::uint32_t, std::set<std::uint32_t>> into;  // destination -> links into its leaf from above
  std::set<std::uint32_t> spread;
  for (std::uint32_t src = 4; src < 32; ++src) {
    into[0].insert(route_of(s.fabric, src, 0)[2].index());
    spread.insert(route_of(e.fabric, src, 0)[2].index());
  }
  EXPECT_LE(into[0].size(), 4u);
  EXPECT_EQ(spread.size(), 4u);
  // From one leaf all go up the same way under `shortest`.
  std::set<std::uint32_t> up;
  for (std::uint32_t src = 4; src < 8; ++src) up.insert(route_of(s.fabric, src, 0)[1].index());
  EXPECT_EQ(up.size(), 1u);
}

TEST(GraphFile, AdaptiveTakesTheLeastLoadedOfEqualPaths) {
  const Platform p = load_text(to_dot(load("xgft:m=4x8,w=1x4").fabric), ",routing=adaptive");
  std::vector<std::uint32_t> load(p.fabric.link_count(), 0);
  std::vector<LinkId> out;
  for (std::uint64_t m = 0; m < 8; ++m) {
    out.clear();
    ASSERT_TRUE(p.fabric.routing().route_message(HostId(0), HostId(9), m, load, out));
    ASSERT_EQ(out.size(), 4u);
    ++load[out[1].index()];
    EXPECT_LE(load[out[1].index()], m / 4 + 1);
  }
}

TEST(GraphFile, DirectedEdgesGoOneWayAndUnreachablePairsAreCounted) {
  const Platform p = load_text("digraph { a [kind=host]; b [kind=host]; s [kind=switch]; a -> s; s -> b; }");
  EXPECT_EQ(p.fabric.link_count(), 2u);
  EXPECT_EQ(route_of(p.fabric, 0, 1).size(), 2u);
  std::vector<LinkId> out;
  EXPECT_FALSE(p.fabric.routing().route(HostId(1), HostId(0), out));
  EXPECT_EQ(p.fabric.routing().hop_histogram()->unreachable, 1u);
  EXPECT_EQ(verify(p.fabric).unreachable, 1u);
}

TEST(GraphFile, HostsForwardOnlyWhereThereAreNoSwitches) {
  EXPECT_EQ(
      route_of(load_text("graph { a [kind=host]; b [kind=host]; c [kind=host]; a -- b; b -- c; }").fabric, 0,
               2)
          .size(),
      2u);
  const Platform p = load_text(
      "graph { a [kind=host]; b [kind=host]; c [kind=host]; s [kind=switch]; a -- b; b -- c; a -- s; }");
  std::vector<LinkId> out;
  EXPECT_FALSE(p.fabric.routing().route(HostId(0), HostId(2), out));
}

TEST(GraphFile, BadFilesAreNamed) {
  EXPECT_THAT(error_of("file:"), HasSubstr("key path is missing"));
  EXPECT_THAT(error_of("file:path=/nowhere/x.dot"), HasSubstr("/nowhere/x.dot"));
  EXPECT_THAT(error_of_text(""), HasSubstr("the file is empty"));
  EXPECT_THAT(error_of_text("graph { a -- ; }"), HasSubstr("not DOT"));
  EXPECT_THAT(error_of_text("not a graph"), HasSubstr("not DOT"));
  EXPECT_THAT(error_of_text("<graphml><graph>"), HasSubstr("not XML"));
  EXPECT_THAT(error_of_text("<graphml>\n<graph edgedefault=\"undirected\">\n<node id=\"a\">\n</graphml>"),
              HasSubstr(":4:3: error: not XML: Start-end tags mismatch"));
  EXPECT_THAT(error_of_text("<html/>"), HasSubstr("not GraphML"));
  const std::string xml = "<graphml><graph edgedefault=\"undirected\"><node id=\"a\"/><node id=\"b\"/>";
  EXPECT_THAT(error_of_text(xml + "<edge source=\"a\" target=\"B\"/></graph></graphml>"),
              HasSubstr("edge to a node that is not declared; got \"B\""));
  EXPECT_THAT(error_of_text(xml + "<node id=\"a\"/><edge source=\"a\" target=\"b\"/></graph></graphml>"),
              HasSubstr("node declared twice; got \"a\""));
  EXPECT_THAT(error_of_text("graph { a -- b; }"), HasSubstr("none of 2 nodes is a host"));
  const TempFile empty("graph", "graph { }");
  EXPECT_THAT(error_of("file:path=" + empty.path() + ",hosts_per_switch=1"),
              HasSubstr("none of 0 nodes is a host"));
  EXPECT_THAT(error_of_text("graph { a [kind=hots]; }"),
              HasSubstr("unknown kind of node; got \"hots\"; expected host, switch or router"));
  EXPECT_THAT(error_of_text("graph { a [kind=host]; b [kind=host]; a -- b [bw=10]; }"),
              HasSubstr("graph:1:50: error: not a bandwidth; got \"10\""));
  EXPECT_THAT(error_of_text("graph { a [kind=host]; b [kind=host]; a -- b [bandwidth_Bps=0]; }"),
              HasSubstr(":1:61: error: bandwidth out of range; got \"0B/s\""));
  EXPECT_THAT(error_of_text("graph { a [kind=host]; b [kind=host]; a -- b [cables=0]; }"),
              HasSubstr(":1:54: error: number out of range; got \"0\""));
  EXPECT_THAT(error_of_text("graph { a [kind=host]; a -- a; }"), HasSubstr("an edge to itself"));
  EXPECT_THAT(error_of_text("graph { a [kind=host, name=x]; b [kind=host, name=x]; a -- b; }"),
              HasSubstr("two nodes have one name"));
  EXPECT_THAT(error_of_text("graph {" + std::string(100000, '{')),
              HasSubstr(":1:107: error: nested too deeply"));
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<a>";
  EXPECT_THAT(error_of_text(deep), HasSubstr("not XML"));
  // Whole, and with ends of elements where there are none.
  std::string begin = "<graphml>", end;
  for (int i = 0; i < 100000; ++i) {
    begin += fmt::format("<graph edgedefault=\"directed\"><!-- </ --><node id=\"{}/>\">", i);
    end += "</node></graph>";
  }
  EXPECT_THAT(error_of_text(begin + end + "</graphml>"),
              HasSubstr("nested too deeply; expected at most 100 levels"));
}

TEST(GraphFile, DotErrorsNameLineAndColumn) {
  struct Row {
    std::string text, error;
  };
  for (
      const Row& r : std::vector<Row>{
          {"graph {\n  a -- ;\n}", ":2:8: error: not DOT; got \";\"; expected a node, an edge, a block or }"},
          {"graph {\n  a -> b;\n}", ":2:5: error: not DOT; got \"->\"; expected -- in a graph"},
          {"digraph {\n  a -- b;\n}", ":2:5: error: not DOT; got \"--\"; expected -> in a digraph"},
          {"graph {\n  a [kind=host;\n  b }",
           ":3:5: error: not DOT; got \"}\"; expected an attribute's name or ]"},
          {"graph {\n a -- b",
           ":2:8: error: not DOT; got \"the end of the file\"; expected } at the end of the block"},
          {"graph { a } b", ":1:13: error: not DOT; got \"b\"; expected the end of the file after the graph"},
          {"graph { a [latency_s=5e-07]; }",
           ":1:22: error: the number 5 runs into other characters; got \"5e-07\"; expected \"5e-07\" in "
           "quotes"},
          {"graph { a [label=\"x }", ":1:18: error: the quoted name does not end; expected \""},
          {"graph { /* a }", ":1:9: error: the comment does not end; expected */"},
          {"graph { a [label=<b<i>] }", ":1:18: error: the HTML name does not end; expected >"},
          {"graph { a ! b }",
           ":1:11: error: not DOT; got \"!\"; expected a name, an edge, a block or an attribute"},
          {"graph {\n a [kind=hots]; }",
           ":2:10: error: unknown kind of node; got \"hots\"; expected host, switch or router"},
          {"graph { a [kind=host];\n a -- a; }",
           ":2:4: error: an edge to itself; got \"a\"; expected two different nodes"},
          {"graph { {a b} [kind=host] }",
           ":1:15: error: not DOT; got \"[\"; expected an edge or the end of the statement after a block"}}) {
    SCOPED_TRACE(r.text);
    EXPECT_THAT(error_of_text(r.text), ::testing::EndsWith(r.error));
  }
}

// What Graphviz documents: blocks as ends of edges, scopes of defaults, chains, ports, joined names, comments.
TEST(GraphFile, DotIsReadAsGraphvizWritesIt) {
  const Platform p = load_text(R"(/* a comment */
# a line of the preprocessor
strict graph "two " + "words" {
  rankdir = LR; bgcolor="white"
  graph [overlap=false]; node [kind=switch]
  subgraph cluster_left { label="left"; node [kind=host]; l0, l1; l2 }
  subgraph cluster_right { node [kind=host] r0 r1 }
  subgraph cluster_left -- s0:n:sw [bw="10Gbps"]   // every host of a block
  { r0; r1 } -- { s1 s2 } [bw="20Gbps"]
  s0 -- s1 -- s2 [class=spine];
  s1 -- s0 [lat="1us"]  // strict: the same edge
  "s" + "2" [label=<the <b>third</b>>];
})");
  const Fabric& f = p.fabric;
  ASSERT_EQ(f.host_count(), 5u);
  EXPECT_EQ(f.switch_count(), 3u);
  EXPECT_EQ(f.cable_count(), 3u + 4u + 2u);
  EXPECT_EQ(f.host_name(HostId(0)), "l0");
  EXPECT_EQ(f.host_name(HostId(4)), "r1");
  EXPECT_EQ(f.vertex_name(VertexId(7)), "the <b>third</b>");
  const auto r = route_of(f, 0, 3);  // l0 - s0 - s1 - r0
  ASSERT_EQ(r.size(), 3u);
  EXPECT_EQ(f.links().capacity[r[0].index()], 1.25e9);
  EXPECT_EQ(f.links().capacity[r[2].index()], 2.5e9);
  EXPECT_EQ(f.links().latency[r[1].index()], from_seconds(1e-6));
  EXPECT_EQ(f.links().class_names[f.links().link_class[r[1].index()]], "spine");
  expect_sound(f);
}

TEST(GraphFile, LargeDotExportReadsBack) {
  const Platform a = load("torus:dims=16x16x16");
  const Platform b = load_text(to_dot(a.fabric));
  EXPECT_EQ(b.fabric.host_count(), 4096u);
  EXPECT_EQ(b.fabric.cable_count(), a.fabric.cable_count());
}

TEST(GraphFile, RoutersAloneTakeHosts) {
  const std::string ring = "graph { a -- b -- c -- d -- a [class=ring]; }";
  const Platform p = load_text(ring, ",hosts_per_switch=3,bw=10Gbps,lat=1us");
  const Platform t = load("torus:dims=4,hosts_per_switch=3,bw=10Gbps,lat=1us");
  EXPECT_EQ(p.fabric.host_count(), 12u);
  EXPECT_EQ(p.fabric.switch_count(), 4u);
  EXPECT_EQ(p.fabric.cable_count(), t.fabric.cable_count());
  EXPECT_EQ(p.fabric.host_name(HostId(11)), "node-11");
  EXPECT_EQ(p.fabric.routing().hop_histogram()->pairs, t.fabric.routing().hop_histogram()->pairs);
  expect_sound(p.fabric);
  const TempFile kinds("kinds", "graph { node [kind=router] a -- b }");
  EXPECT_EQ(load("file:path=" + kinds.path() + ",hosts_per_switch=2").fabric.host_count(), 4u);
  const TempFile hosts("hosts", kDiamond);
  EXPECT_THAT(error_of("file:path=" + hosts.path() + ",hosts_per_switch=2"),
              HasSubstr("the file has hosts of its own; got \"hosts_per_switch=2\""));
  EXPECT_THAT(error_of_text("graph { a -- b }"), HasSubstr("hosts_per_switch=N for N hosts on every router"));
}

TEST(GraphFile, ChangedBytesAreAnsweredWithANetworkOrAnErrorThatNamesTheFile) {
  const std::uint64_t seed = seed_or(77);
  Rng rng(seed);
  const Fabric small = load("xgft:m=2x2,w=1x2").fabric;
  const std::string dot = to_dot(small), xml = to_graphml(small);
  const std::string bytes = "<>/\"'{}[]=;-#&0aA \n\\\xff";
  int read = 0, refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string text = round % 2 == 0 ? dot : xml;
    for (std::uint64_t n = 1 + rng.below(3); n > 0; --n) {
      const std::size_t at = rng.below(text.size());
      switch (rng.below(3)) {
        case 0:
          text[at] = bytes[rng.below(bytes.size())];
          break;
        case 1:
          text.erase(at, 1 + rng.below(20));
          break;
        default:
          text.insert(at, 1, bytes[rng.below(bytes.size())]);
      }
      if (text.empty()) text = "x";
    }
    const TempFile f("fuzz", text);
    const auto p = load_platform("file:path=" + f.path());
    if (p) {
      ++read;
      (void)verify(p->fabric, 100);
    } else {
      ++refused;
      EXPECT_THAT(p.error().message(), HasSubstr(f.path())) << "seed " << seed << " round " << round;
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 100);
}

std::uint64_t pairs_of(const HopHistogram& h) {
  return std::accumulate(h.pairs.begin(), h.pairs.end(), h.unreachable);
}

// Hosts on one switch or several, on none, on other hosts; parallel and one-way links; parts without a way between them.
TEST(GraphRouting, HistogramsOfRandomGraphsEqualWalks) {
  const std::uint64_t first = seed_or(1);
  for (std::uint64_t seed = first; seed < first + 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    const bool directed = seed % 2 == 0, hosts_alone = seed % 5 == 0;
    const bool large = seed % 8 == 0;  // more targets than are searched from at once
    const std::uint64_t hosts = 2 + rng.below(large ? 600 : 100),
                        switches = hosts_alone ? 0 : 1 + rng.below(large ? 600 : 150);
    std::string dot = directed ? "digraph {" : "graph {";
    for (std::uint64_t s = 0; s < switches; ++s) dot += fmt::format("s{} [kind=switch];\n", s);
    for (std::uint64_t h = 0; h < hosts; ++h) dot += fmt::format("h{} [kind=host];\n", h);
    const auto join = [&](const std::string& a, const std::string& b, bool both) {
      dot += fmt::format("{} {} {};\n", a, directed ? "->" : "--", b);
      if (directed && both) dot += fmt::format("{} -> {};\n", b, a);
    };
    const auto any = [&](char kind, std::uint64_t n) { return fmt::format("{}{}", kind, rng.below(n)); };
    for (std::uint64_t s = 1; s < switches; ++s)
      if (rng.below(50) > 0) join(fmt::format("s{}", s), any('s', s), true);
    for (std::uint64_t n = rng.below(switches + 1); n > 0; --n) {
      const std::string a = any('s', switches), b = any('s', switches);
      if (a != b) join(a, b, false);
    }
    for (std::uint64_t h = 0; h < hosts; ++h) {
      const std::string host = fmt::format("h{}", h);
      if (h > 0 && (hosts_alone || rng.below(20) == 0)) join(host, any('h', h), rng.below(2) == 0);
      if (switches == 0) continue;
      const std::uint64_t cables = rng.below(10) == 0 ? rng.below(4) : 1;
      for (std::uint64_t c = 0; c < cables; ++c) join(host, any('s', switches), rng.below(5) > 0);
    }
    const TempFile file("random.dot", dot + "}\n");
    const Fabric f = load("file:path=" + file.path()).fabric;
    const HopHistogram one_by_one = walked_histogram(f), counted = *f.routing().hop_histogram();
    EXPECT_EQ(counted.pairs, one_by_one.pairs) << dot;
    EXPECT_EQ(counted.unreachable, one_by_one.unreachable) << dot;
    EXPECT_EQ(pairs_of(counted), hosts * (hosts - 1));
  }
}

TEST(GraphRouting, HistogramsOfLargeNetworksOfFewDistancesAreCounted) {
  const Platform p = load("jellyfish:n=6000,r=16,hosts_per_switch=20");
  const auto h = p.fabric.routing().hop_histogram();
  ASSERT_TRUE(h);
  EXPECT_EQ(h->unreachable, 0u);
  EXPECT_EQ(pairs_of(*h), 120000ull * 119999);
  EXPECT_EQ(h->pairs[2], 6000ull * 20 * 19);
  EXPECT_EQ(h->pairs[3], 6000ull * 16 * 20 * 20);
}

// Distances that 16 bits do not hold.
TEST(GraphRouting, LongChainsAreWalkedToTheirEnd) {
  constexpr std::uint32_t kSwitches = 66000;
  std::string dot = "graph { a [kind=host]; b [kind=host]; node [kind=switch]; a -- s0";
  for (std::uint32_t s = 1; s < kSwitches; ++s) dot += fmt::format(" -- s{}", s);
  const TempFile file("chain.dot", dot + " -- b }\n");
  const Fabric f = load("file:path=" + file.path()).fabric;
  EXPECT_EQ(route_of(f, 0, 1).size(), kSwitches + 1);
  EXPECT_EQ(route_of(f, 1, 0).size(), kSwitches + 1);
  EXPECT_EQ(measure(f).diameter_hops, kSwitches + 1);
}

}  // namespace
}  // namespace weft::topology
