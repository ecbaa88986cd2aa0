// DUMPI traces of tests, written and opened.
#pragma once

#include <functional>

#include "tests/support/dumpi_writer.hpp"
#include "tests/traces/trace_testing.hpp"
#include "traces/check/check.hpp"

namespace weft::traces::testing {

using weft::testing::DumpiInts;
using weft::testing::DumpiStatus;
using weft::testing::DumpiStatuses;
using weft::testing::DumpiWriter;
using weft::testing::kDumpiByte;
using weft::testing::kDumpiDouble;
using weft::testing::kDumpiInt;
using weft::testing::kDumpiLongLong;
using weft::testing::kDumpiNull;
using weft::testing::kDumpiSelf;
using weft::testing::kDumpiWorld;

// One writer for each rank, each with MPI_Init.
inline std::vector<DumpiWriter> dumpi_ranks(std::size_t n, DumpiWriter::Version version = {0, 7, 1}) {
  std::vector<DumpiWriter> all(n, DumpiWriter(version));
  for (DumpiWriter& w : all) w.init();
  return all;
}
// Ends all ranks and opens the trace.
inline Result<std::unique_ptr<TraceReader>> open_ranks(const TempDir& dir, std::vector<DumpiWriter> ranks) {
  for (DumpiWriter& w : ranks) w.finalize();
  return open_trace({weft::testing::write_dumpi(dir.path("t"), ranks)});
}

// "irecv comm=1 peer=-1 tag=5 amount=80 request=0 list=[2,5,80]"; computation is left out, so is what is not set.
inline std::string shown(const PlainOp& p) {
  std::ostringstream s;
  s << op_name(p.op.kind);
  if (p.op.flags != 0) s << " flags=" << int(p.op.flags);
  if (p.op.comm.index() != 0) s << " comm=" << p.op.comm.index();
  if (p.op.peer != 0) s << " peer=" << p.op.peer;
  if (p.op.tag != 0) s << " tag=" << p.op.tag;
  if (p.op.amount != 0) s << " amount=" << p.op.amount;
  if (p.op.request != kNoRequest) s << " request=" << p.op.request;
  if (p.has_list) {
    s << " list=[";
    for (std::size_t i = 0; i < p.list.size(); ++i) s << (i > 0 ? "," : "") << p.list[i];
    s << "]";
  }
  return s.str();
}

// All operations of a rank.
inline std::vector<PlainOp> ops_of_rank(TraceReader& t, std::uint32_t rank) {
  auto ops = read_rank(t, rank);
  EXPECT_TRUE(ops) << (ops ? "" : ops.error().message());
  return ops ? std::move(*ops) : std::vector<PlainOp>();
}
// Operations of a rank without computation, MPI_Init and MPI_Finalize.
inline std::vector<std::string> shown_ops(TraceReader& t, std::uint32_t rank) {
  std::vector<std::string> out;
  for (const PlainOp& p : ops_of_rank(t, rank))
    if (!is_compute(p.op.kind) && p.op.kind != OpKind::init && p.op.kind != OpKind::finalize)
      out.push_back(shown(p));
  return out;
}

using Strings = std::vector<std::string>;

// The trace doctor finds nothing, but for warnings of the trace as a whole: those are of its header.
inline void expect_checked(TraceReader& t) {
  t.rewind();
  const auto report = check_trace(t);
  ASSERT_TRUE(report) << report.error().message();
  for (const Finding& f : report->findings)
    if (f.severity == Severity::kError || f.op >= 0) ADD_FAILURE() << f.message;
  t.rewind();
}

}  // namespace weft::traces::testing
