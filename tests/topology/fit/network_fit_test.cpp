// weft fit network: what its fragment says is what the fit used and what its table shows.
#include "topology/fit/network_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tests/topology/support.hpp"

namespace weft::topology::fit::network_fit_test {
namespace {

using ::testing::HasSubstr;

Measurements messages(const std::string& rows) {
  auto m = Measurements::parse("in.csv", "experiment,msg_size,duration\n" + rows);
  EXPECT_TRUE(m) << (m ? "" : m.error().message());
  return std::move(m).value();
}

std::string refused(const Result<NetworkFit>& r) {
  return r ? std::string("accepted") : const_cast<Result<NetworkFit>&>(r).error().message();
}

MpiParameters read_back(const NetworkFit& f) {
  const TempFile file("part.textproto", "topology { family: \"crossbar\" set: \"n=2\" }\n" + f.textproto());
  return load(file.path()).mpi;
}

// Seconds of a receive as a replay takes it.
double recv_cost(const MpiParameters& mpi, double s) {
  const CostSegment* last = &mpi.recv_cost.front();
  for (const CostSegment& c : mpi.recv_cost)
    if (static_cast<double>(c.from) <= s) last = &c;
  return std::max(0.0, last->intercept + last->per_byte * s);
}

// A receive of 1.2 us, from 1 KiB on of 1200 ps a byte; half a microsecond of it is in the one-way time.
TEST(NetworkFitText, AReceiveIsLoweredInEverySegment) {
  std::string csv;
  const auto recv = [](double s) { return s < 1024 ? 1.2e-6 : 1200e-12 * s; };
  for (double s = 1; s <= 8192; s = std::ceil(s * 1.2)) {
    csv += fmt::format("pingpong,{},{:.17g}\n", s, 2 * (1.2e-6 + 100e-12 * s + recv(s) - 0.5e-6));
    csv += fmt::format("send,{},2e-7\nrecv,{},{:.17g}\n", s, s, recv(s));
  }
  NetworkFitOptions o;
  o.latency = 1e-6;
  o.bandwidth = 1e10;
  o.eager_limit = 1 << 20;
  const auto f = fit_network({messages(csv)}, o);
  ASSERT_TRUE(f) << refused(f);
  EXPECT_NEAR(f->recv_lowered_by, 0.5e-6, 1e-9);
  ASSERT_EQ(f->recv.size(), 2u);
  const MpiParameters mpi = read_back(*f);
  for (const double s : {1.0, 500.0, 1500.0, 2000.0, 8000.0})
    EXPECT_NEAR(recv_cost(mpi, s), recv(s) - 0.5e-6, 1e-9) << s;
}

// Less than no time is none: a platform file takes nothing below it that does not rise.
TEST(NetworkFitText, AFlatReceiveIsLoweredToNothingAtMost) {
  NetworkFit f;
  f.options.latency = 1e-6;
  f.options.bandwidth = 1e10;
  f.recv_lowered_by = 0.5e-6;
  f.recv = {{.from = 0, .intercept = 0.2e-6},
            {.from = 1000, .intercept = 0.8e-6},
            {.from = 2000, .intercept = 0.1e-6, .slope = 1e-9}};
  EXPECT_THAT(f.textproto(),
              HasSubstr("  recv_cost { intercept: \"0us\" }\n"
                        "  recv_cost { from: \"1000B\" intercept: \"0.3us\" }\n"
                        "  recv_cost { from: \"2000B\" intercept: \"-0.4us\" per_byte: \"1000ps\" }\n"));
  EXPECT_EQ(recv_cost(read_back(f), 999), 0);
}

// Messages up to 8 KiB take 5 us, whatever their size, which no link of 10 GB/s can do: a line of that slope is as much too
// low for the short ones as it is too high for the long ones.
TEST(NetworkFitText, ALineAtTheSlopeOfTheLinkHasItsOwnIntercept) {
  const auto one_way = [](double s) { return s <= 8192 ? 5e-6 : 6e-6 + 1e-10 * s; };
  std::vector<double> sizes;
  for (double s = 512; s <= 8192; s += 512) sizes.push_back(s);
  const std::size_t flat = sizes.size();
  for (double s = 16384; s <= 1 << 22; s *= 2) sizes.push_back(s);
  std::string csv;
  for (const double s : sizes) csv += fmt::format("pingpong,{},{:.17g}\n", s, 2 * one_way(s));
  NetworkFitOptions o;
  o.breaks = {16384};
  const auto f = fit_network({messages(csv)}, o);
  ASSERT_TRUE(f) << refused(f);
  EXPECT_NEAR(f->options.bandwidth, 1e10, 1e6);
  const MpiParameters mpi = read_back(*f);
  ASSERT_EQ(mpi.transfer.size(), 2u);
  double sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const TransferSegment& t = mpi.transfer[i < flat ? 0 : 1];
    const double time =
        t.latency_factor * f->options.latency + sizes[i] / (t.bandwidth_factor * f->options.bandwidth);
    const double off = time / one_way(sizes[i]) - 1;
    EXPECT_LT(std::fabs(off), i < flat ? 0.1 : 1e-3) << sizes[i];
    if (i < flat) sum += off;
  }
  EXPECT_NEAR(sum / static_cast<double>(flat), 0, 0.01);
}

// Messages up to 8 KiB go at once: 1 us and 10 GB/s, three of each size.
std::string eager_messages(double odd_send) {
  std::string csv;
  for (double s = 1; s <= 1 << 22; s *= 2)
    for (int i = 0; i < 3; ++i) {
      const double one_way = 1e-6 + 1e-10 * s + (s <= 8192 ? 2e-7 : 4e-6);
      const double send = s <= 8192 ? 2e-7 : one_way * (s == 1 << 20 && i == 1 ? odd_send : 1);
      csv += fmt::format("pingpong,{},{:.17g}\nsend,{},{:.17g}\n", s, 2 * one_way, s, send);
    }
  return csv;
}

TEST(EagerLimit, OneOddCallMovesNothing) {
  for (const double odd : {1.0, 0.4, 0.01}) {
    const auto f = fit_network({messages(eager_messages(odd))}, {});
    ASSERT_TRUE(f) << refused(f);
    EXPECT_EQ(f->options.eager_limit, 8192) << odd;
  }
}

TEST(EagerLimit, CallsThatAllWaitShowNone) {
  std::string csv;
  for (double s = 1; s <= 1 << 20; s *= 4)
    csv += fmt::format("pingpong,{},{:.17g}\nsend,{},{:.17g}\n", s, 2 * (2e-6 + 1e-10 * s), s,
                       1.2e-6 + 1e-10 * s);
  EXPECT_THAT(
      refused(fit_network({messages(csv)}, {})),
      HasSubstr("in.csv: error: every send takes at least half of its message: no eager limit is seen; "
                "got \"1 B and larger\"; expected --eager-limit BYTES"));
  NetworkFitOptions o;
  o.eager_limit = 1 << 20;
  const auto f = fit_network({messages(csv)}, o);
  EXPECT_TRUE(f) << refused(f);
}

}  // namespace
}  // namespace weft::topology::fit::network_fit_test
