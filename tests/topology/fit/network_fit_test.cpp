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

}  // namespace
}  // namespace weft::topology::fit::network_fit_test
