#include "network/flow_list.hpp"

#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "topology/platform/platform.hpp"

namespace weft::network {
namespace {

class FlowList : public ::testing::Test {
 protected:
  FlowList() : platform_(topology::load_platform("crossbar:n=16,bw=100Gbps,lat=1us")) {}
  [[nodiscard]] Result<std::vector<FlowRequest>> parse(std::string_view text) const {
    return parse_flow_list(text, "F.csv", platform_->fabric);
  }
  [[nodiscard]] std::string error(std::string_view text) const {
    const auto r = parse(text);
    return r ? "no error" : r.error().message();
  }
  Result<topology::Platform> platform_;
};

TEST_F(FlowList, ReadsQuantitiesWithUnitsAndHostsByIndexOrName) {
  const auto r = parse("src,dst,bytes,start\n0,1,300MiB,1us\r\n\n node-2 , \"node-3\" ,64KiB,0\n");
  ASSERT_TRUE(r.has_value()) << r.error().message();
  ASSERT_EQ(r->size(), 2u);
  EXPECT_EQ((*r)[0].bytes.value(), 314572800);
  EXPECT_EQ((*r)[0].start, SimTime(Duration(1'000'000)));
  EXPECT_EQ((*r)[1].src, HostId(2));
  EXPECT_EQ((*r)[1].dst, HostId(3));
  EXPECT_EQ((*r)[1].line, 4u);
}

TEST_F(FlowList, ReadsBareNumbersInAnyColumnOrder) {
  const auto r = parse("start_s,bytes_B,dst,src\n1.5e-6,65536,1,0");
  ASSERT_TRUE(r.has_value()) << r.error().message();
  EXPECT_EQ((*r)[0].start, SimTime(Duration(1'500'000)));
  EXPECT_EQ((*r)[0].bytes.value(), 65536);
}

TEST_F(FlowList, NamesFileLineAndColumnOfEachFault) {
  EXPECT_EQ(error(""),
            "F.csv:1:1: error: no header line; expected src,dst,bytes,start or src,dst,bytes_B,start_s");
  EXPECT_EQ(error("\nsrc,dst,bytes,start\n"),
            "F.csv:3:1: error: no flows; expected a line for each flow below the header line");
  EXPECT_TRUE(error("src,dst,size,start\n").starts_with("F.csv:1:9: error: unknown column; got \"size\""));
  EXPECT_TRUE(error("src,dst,bytes,bytes_B\n").starts_with("F.csv:1:15: error: column given twice"));
  EXPECT_TRUE(error("src,dst,bytes\n").starts_with("F.csv:1:1: error: a column is missing"));
  EXPECT_TRUE(error("src,dst,bytes,start\n0,1,3,0\n").starts_with("F.csv:2:5: error: not a size; got \"3\""));
  EXPECT_TRUE(
      error("src,dst,bytes,start\n0,16,3B,0\n").starts_with("F.csv:2:3: error: unknown host; got \"16\""));
  EXPECT_TRUE(error("src,dst,bytes,start\n0,1,3B\n")
                  .starts_with("F.csv:2:5: error: wrong number of fields; got \"3\"; expected 4"));
  EXPECT_TRUE(
      error("src,dst,bytes,start\n0,1,3B,0,\n").starts_with("F.csv:2:10: error: wrong number of fields"));
  EXPECT_TRUE(error("src,dst,bytes,start\n0,1,3B,-1us\n").starts_with("F.csv:2:8: error: time is negative"));
  EXPECT_TRUE(
      error("src,dst,bytes_B,start_s\n0,1,-3,0\n").starts_with("F.csv:2:5: error: number out of range"));
  EXPECT_TRUE(error("src,dst,bytes_B,start_s\n0,1,nan,0\n").starts_with("F.csv:2:5: error: not a number"));
  EXPECT_TRUE(
      error("src,dst,bytes_B,start_s\n0,1,1.5,0\n").starts_with("F.csv:2:5: error: not a whole number"));
  EXPECT_TRUE(
      error("src,dst,bytes_B,start_s\n0,1,1,1e300\n").starts_with("F.csv:2:7: error: number out of range"));
  EXPECT_TRUE(
      error("src,dst,bytes,start\n\"0,1,3B,0\n").starts_with("F.csv:2:1: error: quote does not close"));
  EXPECT_TRUE(error("src,dst,bytes,start\n\"0\"x,1,3B,0\n")
                  .starts_with("F.csv:2:1: error: text after a quoted field"));
}

// Whatever the bytes, the reader answers with flows or an error that has a place.
TEST_F(FlowList, AnyDamageIsAnsweredWithAPlace) {
  const std::string good = "src,dst,bytes,start\n0,1,300MiB,1us\nnode-2,\"node-3\",64KiB,0\n";
  Rng rng(5);
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    for (std::uint64_t k = 1 + rng.below(4); k > 0 && !bad.empty(); --k) {
      const std::size_t at = rng.below(bad.size());
      switch (rng.below(3)) {
        case 0:
          bad[at] = static_cast<char>(rng.below(256));
          break;
        case 1:
          bad.erase(at, 1 + rng.below(5));
          break;
        default:
          bad.insert(at, 1, ",\"\n\r9-"[rng.below(6)]);
          break;
      }
    }
    const auto r = parse(bad);
    ASSERT_TRUE(r || r.error().message().starts_with("F.csv:")) << r.error().message();
  }
}

}  // namespace
}  // namespace weft::network
