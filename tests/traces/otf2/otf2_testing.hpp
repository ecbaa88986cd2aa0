// OTF2 archives of tests, written and opened.
#pragma once

#include <cstdlib>

#include "tests/support/otf2_writer.hpp"
#include "tests/traces/dumpi/dumpi_testing.hpp"

namespace weft::traces::testing {

using weft::testing::Otf2Writer;

inline bool have_otf2_print() { return std::system("otf2-print --version >/dev/null 2>&1") == 0; }

// Operations of a rank without computation.
inline std::vector<std::string> shown_program(TraceReader& t, std::uint32_t rank) {
  std::vector<std::string> out;
  t.rewind();
  for (const PlainOp& p : ops_of_rank(t, rank))
    if (!is_compute(p.op.kind)) out.push_back(shown(p));
  return out;
}

// Picoseconds of computation of a rank.
inline std::vector<std::int64_t> computes(TraceReader& t, std::uint32_t rank) {
  std::vector<std::int64_t> out;
  t.rewind();
  for (const PlainOp& p : ops_of_rank(t, rank))
    if (p.op.kind == OpKind::compute_time) out.push_back(p.op.amount);
  return out;
}

inline std::unique_ptr<TraceReader> opened(const std::string& dir) {
  auto t = open_trace({dir});
  EXPECT_TRUE(t) << (t ? "" : t.error().message());
  return t ? std::move(*t) : nullptr;
}

}  // namespace weft::traces::testing
