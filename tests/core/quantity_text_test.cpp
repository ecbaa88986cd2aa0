#include "core/quantity_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>

#include "core/counted.hpp"
#include "tests/support/checkout.hpp"

namespace weft {
namespace {

TEST(QuantityText, BandwidthTellsBitsFromBytes) {
  EXPECT_DOUBLE_EQ(parse_bandwidth("100Gbps", "t").value().value(), 12.5e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("12.5GB/s", "t").value().value(), 12.5e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("12.5 GBps", "t").value().value(), 12.5e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("11.6GiB/s", "t").value().value(), 11.6 * 1073741824.0);
  EXPECT_DOUBLE_EQ(parse_bandwidth("10Mbit/s", "t") ? 1 : 0, 0) << "only b and B are units";
}

TEST(QuantityText, TimeIsRoundedToTheNearestPicosecond) {
  EXPECT_EQ(parse_duration("1.5us", "t").value().count(), 1'500'000);
  EXPECT_EQ(parse_duration("1ns", "t").value().count(), 1'000);
  EXPECT_EQ(parse_duration("0.1us", "t").value().count(), 100'000);
  EXPECT_EQ(parse_duration("0", "t").value().count(), 0);
}

TEST(QuantityText, CountsAreOneOrSeveralOfSomething) {
  EXPECT_EQ(counted(1, "flush"), "1 flush");
  EXPECT_EQ(counted(2, "flush"), "2 flushes");
  EXPECT_EQ(counted(0, "switch"), "0 switches");
  EXPECT_EQ(counted(1200, "message"), "1,200 messages");
}

TEST(QuantityText, SizesAndRatios) {
  EXPECT_EQ(parse_bytes("64KiB", "t").value().value(), 65536);
  EXPECT_EQ(parse_bytes("300MiB", "t").value().value(), 300ll << 20);
  EXPECT_DOUBLE_EQ(parse_ratio("1/5", "t").value(), 0.2);
  EXPECT_DOUBLE_EQ(parse_ratio("21/121", "t").value(), 21.0 / 121);
  EXPECT_DOUBLE_EQ(parse_flop_rate("10Gflops", "t").value().value(), 1e10);
}

TEST(QuantityText, BareNumbersNegativesAndNonsenseAreErrorsThatSayWhatWasExpected) {
  for (const char* bad :
       {"100", "", "fast", "-1Gbps", "0Gbps", "nanGbps", "infGbps", "1e999GB/s", "0x10GB/s", "1Gb"})
    EXPECT_FALSE(parse_bandwidth(bad, "t")) << bad;
  for (const char* bad : {"1", "-1us", "us", "1 lightyear", "1e30s", "1.5"})
    EXPECT_FALSE(parse_duration(bad, "t")) << bad;
  for (const char* bad : {"1", "1.5B", "-4B", "1e40B", "KiB"}) EXPECT_FALSE(parse_bytes(bad, "t")) << bad;
  for (const char* bad : {"1/0", "a/b", "1/", "", "1us", "1e308/1e-5", "1/1e-320"})
    EXPECT_FALSE(parse_ratio(bad, "t")) << bad;
  for (const char* bad : {"", "1.5", "x", "11", "-1", "99999999999999999999"})
    EXPECT_FALSE(parse_integer(bad, 0, 10, "t")) << bad;
  EXPECT_EQ(parse_bandwidth("100", "p.textproto:3:9").error().message(),
            "p.textproto:3:9: error: not a bandwidth; got \"100\"; expected a number with a unit, like "
            "100Gbps or 12.5GB/s");
}

TEST(QuantityText, BandwidthsHaveBounds) {
  EXPECT_EQ(parse_bandwidth("1e-9B/s", "t").value(), kLeastBandwidth);
  EXPECT_EQ(parse_bandwidth("1000EB/s", "t").value(), kMostBandwidth);
  for (const char* bad : {"0B/s", "-1B/s", "1e-10B/s", "1e-300Bps", "1001EB/s", "1e30Bps", "1e308EB/s"})
    EXPECT_EQ(
        parse_bandwidth(bad, "t").error().message(),
        std::string("t: error: bandwidth out of range; got \"") + bad + "\"; expected 1e-09B/s to 1e+21B/s");
  EXPECT_FALSE(as_bandwidth(std::nan(""), "nan", "t"));
}

TEST(QuantityText, PrintsScaledUnits) {
  EXPECT_EQ(show(Duration(12'300'000'000)), "12.3 ms");
  EXPECT_EQ(show(Bandwidth(98.1e9)), "98.1 GB/s");
  EXPECT_EQ(show(Bytes(1'180'000)), "1.18 MB");
  EXPECT_EQ(show(FlopRate(50.3e9)), "50.3 Gflop/s");
  EXPECT_EQ(show(Flops(50.3e9)), "50.3 Gflop");
  EXPECT_EQ(from_to(show_count(4435), show_count(5981)), "4,435 to 5,981");
  EXPECT_EQ(from_to(show_bytes(0), show_bytes(0)), "0 B");
  EXPECT_EQ(show_seconds(0.99999), "1 s");
  for (const double sign : {1.0, -1.0}) {
    const std::string minus = sign < 0 ? "-" : "";
    EXPECT_EQ(show_seconds(sign * 999.4e-9), minus + "999 ns");
    EXPECT_EQ(show_seconds(sign * 999.6e-9), minus + "1 us");
    EXPECT_EQ(show_seconds(sign * 1000.4), minus + "1000 s");
  }
  EXPECT_EQ(show(Duration(999'500)), "999 ns") << "not 0.999 us";
  EXPECT_EQ(show_bytes(999'500), "1 MB");
  EXPECT_EQ(show(Bandwidth(999.5e6)), "1 GB/s");
  EXPECT_EQ(show_count(1425277), "1,425,277");
  EXPECT_EQ(show_count(999), "999");
  EXPECT_EQ(show_percent(0.1234), "12.3 %");
  EXPECT_EQ(show_percent(1), "100 %");
  EXPECT_EQ(show_percent(9.99), "999 %");
  EXPECT_EQ(show_percent(9.99875), "1,000 %");
  EXPECT_EQ(show_percent(14.99), "1,499 %");
  EXPECT_EQ(show_percent(-14.99), "-1,499 %");
  EXPECT_EQ(show_percent(2e-6), "0.0002 %");
  EXPECT_EQ(show_percent(8.7e-9), "<0.0001 %");
  EXPECT_EQ(show_percent(-8.7e-9), ">-0.0001 %");
  EXPECT_EQ(show_percent(-0.0), "0 %");
  EXPECT_EQ(parse_bandwidth(exact(Bandwidth(1.0 / 3 * 1e9)), "t").value().value(), 1.0 / 3 * 1e9);
  EXPECT_EQ(parse_duration(exact(Duration(1234567)), "t").value().count(), 1234567);
}

// The page has functions of its own (report/web/src/format.ts): tests/web/page_test.mjs holds them to it, too.
TEST(QuantityText, IsThatOfTheTableWhichThePageIsHeldToAsWell) {
  std::ifstream in(support::source_dir() + "/tests/core/data/quantities.txt");
  std::size_t rows = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t value = line.find(" | "), text = line.find(" | ", value + 3);
    ASSERT_NE(text, std::string::npos) << line;
    const std::string kind = line.substr(0, value);
    const double v = std::stod(line.substr(value + 3));
    EXPECT_EQ(kind == "seconds" ? show_seconds(v)
              : kind == "bytes" ? show_bytes(static_cast<std::uint64_t>(v))
              : kind == "flops" ? show(FlopRate(v))
              : kind == "count" ? show_count(v)
                                : show_percent(v),
              line.substr(text + 3))
        << line;
    ++rows;
  }
  EXPECT_GE(rows, 50u);
}

}  // namespace
}  // namespace weft
