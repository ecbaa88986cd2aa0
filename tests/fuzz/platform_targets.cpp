// Readers of platforms: textproto, shorthand, GraphML, DOT, routes files, files of placements.

#include "tests/fuzz/replay_some.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/files.hpp"
#include "topology/placement/placement.hpp"
#include "topology/platform/platform.hpp"
#include "topology/platform/platform_source.hpp"

namespace weft::fuzz {
namespace {

// What a platform costs grows with its hosts: beyond this it is built, and that is all.
constexpr std::uint32_t kMaxHosts = 4096;

bool use(const Result<topology::Platform>& p) {
  if (!p) return false;
  if (p->fabric.host_count() <= kMaxHosts) replay_ring(*p);
  return true;
}

// A name of a file in the text would make the target read files of this machine.
bool names_a_file(std::string_view s) { return s.find("path") != std::string_view::npos; }

bool run_textproto(std::string_view bytes) {
  if (names_a_file(bytes)) return false;
  const auto source = topology::parse_textproto("F", bytes);
  return source && use(topology::build_platform(*source));
}

bool run_shorthand(std::string_view bytes) {
  if (names_a_file(bytes)) return false;
  const auto source = topology::parse_shorthand(bytes);
  return source && use(topology::build_platform(*source));
}

bool run_graph(std::string_view bytes) {
  const MemFile file(bytes);
  return use(topology::load_platform("file:bw=1GB/s,path=" + file.path()));
}

bool run_routes(std::string_view bytes) {
  const MemFile file(bytes);
  return use(topology::load_platform("routes:path=" + file.path()));
}

bool run_simgrid(std::string_view bytes) {
  const MemFile file(bytes);
  return use(topology::load_platform("simgrid:path=" + file.path()));
}

bool run_placement(std::string_view bytes) {
  static const topology::Platform platform =
      topology::load_platform("crossbar:n=16,ranks_per_host=2,bw=100Gbps,lat=1us").value();
  const MemFile file(bytes);
  return topology::place(platform, 8, "file:" + file.path(), 0).has_value();
}

std::vector<std::string> textproto_seeds() {
  std::vector<std::string> out;
  for (const char* name : {"dragonfly-18", "torus-16", "fat-tree-taper-16", "frontera"})
    out.push_back(support::slurp(support::source_dir() + "/platforms/" + name + ".textproto"));
  return out;
}

}  // namespace

std::vector<Target> platform_targets() {
  return {
      {"textproto",
       textproto_seeds,
       {"set: \"k=100000\"\n", "set: \"n=4294967295\"\n", "mpi {}\n", "host {", "Gbps", "family: \"xgft\"\n",
        "100000,", "kernel { name: \"dgemm\" mnk: \"1ps\" }\n", "\xef\xbb\xbf",
        "node { family: \"pcie\" }\n"},
       150,
       run_textproto},
      {"shorthand",
       [] {
         return std::vector<std::string>{"torus:dims=4x4x2,bw=10Gbps,lat=1us",
                                         "xgft:h=2,m=4x4,w=1x2,p=1x1,bw=1GB/sx2GB/s",
                                         "dragonfly:p=2,a=4,h=2,bw=100Gbps,routing=minimal",
                                         "fat-tree:m=4,n=2,bw=1GB/s",
                                         "mesh:dims=3x3,bw=1GB/s,hosts_per_switch=2",
                                         "crossbar:n=9,bw=12.5GB/s,lat=1.5us,speed=10Gflops",
                                         "hyperx:dims=3x3,bw=1GB/s",
                                         "pcie:sockets=2,gpus=2",
                                         "crossbar:n=2,bw=1GB/s,node=\"pcie:gpus=2\""};
       },
       {"x", ",", "=", "hosts_per_switch=", "ranks_per_host=", "routing=valiant", "host_links=off",
        "65536x65536", "dims=", "bw=1bps", "lat=1s", "speed=0", "slim-fly:q=5", "jellyfish:n=9",
        "dragonfly-plus:", "gemini:", "rail:", "seed=7"},
       400,
       run_shorthand},
      {"graphml",
       [] {
         return std::vector<std::string>{
             "<?xml version=\"1.0\"?>\n<graphml><key id=\"k\" for=\"node\" attr.name=\"kind\" "
             "attr.type=\"string\"/>"
             "<key id=\"b\" for=\"edge\" attr.name=\"bw\" attr.type=\"string\"/><graph "
             "edgedefault=\"undirected\">"
             "<node id=\"a\"><data key=\"k\">host</data></node><node id=\"b\"><data "
             "key=\"k\">host</data></node>"
             "<node id=\"s\"><data key=\"k\">switch</data></node><edge source=\"a\" target=\"s\"><data "
             "key=\"b\">2GB/s"
             "</data></edge><edge source=\"b\" target=\"s\"/></graph></graphml>\n"};
       },
       {"<node id=\"x\"/>", "<edge source=\"a\" target=\"b\"/>", "&lt;", "&#x41;", "<!--", "-->", "<![CDATA[",
        "]]>", "directed", "cables", "65536"},
       300,
       run_graph},
      {"dot",
       [] {
         return std::vector<std::string>{
             "graph g {\n  a [kind=host];\n  b [kind=\"host\"];\n  s [kind=switch];\n  a -- s [bw=\"2GB/s\", "
             "lat=\"1us\"];\n"
             "  b -- s;\n}\n",
             "digraph { 0 [kind=host]; 1 [kind=host]; 2 [kind=switch]; 0 -> 2; 2 -> 0; 1 -> 2; 2 -> 1 }\n"};
       },
       {"subgraph {", "{a b}", "->", "--", "[", "]", ";", "/*", "*/", "//", "node [kind=host];", "strict ",
        "cables=2"},
       300,
       run_graph},
      {"routes",
       [] {
         return std::vector<std::string>{
             "# comment\nL 0 up0 1e9 1e-6 shared\nL 2 down1 2e9 2e-6 shared\nL 1 spare 3e9 0\nL 3 up1 4e9 "
             "1e-6\nR 0 1 0 2\nR 1 0 3 1\n"};
       },
       {"R 0 1 0 2\n", "L 5 x 1e9 0\n", "R 4000000000 0 1\n", "L 4000000000 y 1 1\n", "R 4194303 0 1\n",
        "shared", std::string("\x28\xb5\x2f\xfd", 4)},
       500,
       run_routes},
      {"simgrid",
       [] {
         std::vector<std::string> out;
         for (const char* name : {"full", "floyd", "star", "flat", "nested", "fat_trees", "dragonfly"})
           out.push_back(
               support::slurp(support::oracle_dir() + "/simgrid_platforms/" + std::string(name) + ".xml"));
         return out;
       },
       {"symmetrical=\"NO\"", "direction=\"UP\"", "<host id=\"x\" speed=\"1Gf\"/>",
        "<zone id=\"q\" routing=\"Floyd\">", "</zone>", "<router id=\"y\"/>", "radical=\"0-99\"",
        "topo_parameters=\"1;1;1;1\"", "sharing_policy=\"SPLITDUPLEX\"", "gw_src=\"", "Dijkstra", "Cluster",
        "0-1048576", "w3"},
       300,
       run_simgrid},
      {"placement",
       [] { return std::vector<std::string>{"0\n1\n2\n3\nnode-4\n5\n6\n7\n"}; },
       {"node-15\n", "15\n", "\r\n", "\xef\xbb\xbf", "#"},
       1500,
       run_placement}};
}

}  // namespace weft::fuzz
