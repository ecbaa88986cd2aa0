// What `bw` and `lat` say of the links of a family: one value for each link class, in the order of the classes.
#include <fmt/format.h>

#include "tests/topology/support.hpp"

namespace weft::topology {
namespace {

TEST(LinkValues, EachClassHasItsOwnOfTheListsOfValues) {
  for (const char* spec :
       {"xgft:m=2x3x2,w=1x2x2", "xgft:m=2x3,w=1x2,p=1x2", "fat-tree:m=4,n=3", "dragonfly:p=1,a=4,h=2",
        "dragonfly:p=2,a=4,h=2,g=3", "dragonfly:p=1,a=4,h=2,arrangement=palmtree", "dragonfly-plus:k=4",
        "dragonfly-plus:p=1,leaves=3,spines=2,h=2,g=3", "aries:groups=2", "aries:groups=3,blue=2",
        "rail:nodes=2,pods=2,rails=2", "torus:dims=4x3x2", "torus:dims=3x2,cables=2x1", "mesh:dims=3x4",
        "hyperx:dims=3x4", "slim-fly:q=5", "polarfly:q=3", "jellyfish:n=10,r=3,hosts_per_switch=1",
        "gemini:dims=2x3x2"}) {
    SCOPED_TRACE(spec);
    const std::size_t classes = load(spec).fabric.links().class_names.size();
    std::string bw, lat;
    for (std::size_t c = 0; c < classes; ++c) {
      bw += fmt::format("{}{}GB/s", c > 0 ? "x" : "", c + 3);
      lat += fmt::format("{}{}ns", c > 0 ? "x" : "", 100 * (c + 3));
    }
    const Platform p = load(fmt::format("{},bw={},lat={}", spec, bw, lat));
    const LinkTable& t = p.fabric.links();
    ASSERT_EQ(t.class_names.size(), classes);
    for (std::size_t l = 0; l < t.size(); ++l) {
      const unsigned of_class = t.link_class[l] + 3u;
      ASSERT_EQ(t.capacity[l], of_class * 1e9) << p.fabric.link_name(LinkId(static_cast<std::uint32_t>(l)));
      ASSERT_EQ(t.latency[l], from_seconds(of_class * 100e-9)) << l;
    }
  }
}

}  // namespace
}  // namespace weft::topology
