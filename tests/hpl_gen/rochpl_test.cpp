// Traces of rocHPL: against its recorded calls, closed forms of its messages, and what its overlap must give.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/rng.hpp"
#include "hpl_gen/hpl_trace.hpp"
#include "hpl_gen/steps/op_sink.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/well_formed.hpp"
#include "traces/check/check.hpp"

namespace weft::hpl_gen {
namespace {

namespace fs = std::filesystem;
using traces::OpKind;

// call, peer, bytes, tag, communicator.
using Call = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
using Calls = std::vector<Call>;

std::vector<Calls> calls_of(HplTrace& trace) {
  std::vector<Calls> out(trace.header().ranks);
  traces::OpBlock block;
  for (std::uint32_t r = 0; r < trace.header().ranks; ++r)
    while (true) {
      auto more = trace.next_block(RankId(r), block);
      EXPECT_TRUE(more) << (more ? "" : more.error().message());
      if (!more || !*more) break;
      for (const traces::Op& op : block.ops) {
        const bool message = traces::is_send(op.kind) || op.kind == OpKind::recv ||
                             op.kind == OpKind::irecv || op.kind == OpKind::bcast;
        if (!message) continue;
        const std::string& comm = trace.communicators()[op.comm.index()].name;  // split1 all, 2 row, 3 col
        out[r].emplace_back(traces::op_name(op.kind), op.peer, op.amount, op.tag, std::stoi(comm.substr(5)));
      }
    }
  return out;
}

std::vector<Calls> recorded_calls(const fs::path& run, int ranks) {
  std::vector<Calls> out(static_cast<std::size_t>(ranks));
  for (std::size_t r = 0; r < out.size(); ++r) {
    std::ifstream in(run / (std::to_string(r) + ".txt"));
    std::string call;
    std::int64_t peer = 0, bytes = 0, tag = 0, comm = 0;
    while (in >> call >> peer >> bytes >> tag >> comm) out[r].emplace_back(call, peer, bytes, tag, comm);
  }
  return out;
}

std::map<std::tuple<std::string, std::int64_t, std::int64_t>, Calls> by_pair(const Calls& calls) {
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, Calls> out;
  for (const Call& c : calls) out[{std::get<0>(c), std::get<1>(c), std::get<4>(c)}].push_back(c);
  return out;
}

HplDat rochpl(std::int64_t n, std::int64_t nb, int p, int q, Bcast bcast = Bcast::k1Ring) {
  HplDat d;
  d.n = {n}, d.nb = {nb}, d.grids = {{p, q}}, d.bcast = {bcast}, d.nbmin = {16}, d.rfact = {Factor::kRight};
  d.pmap = ProcessMap::kColumnMajor;
  d.program = Program::kRocHpl;
  return d;
}

TEST(RocHpl, EveryCallOfNineRecordedRunsIsGeneratedInItsOrder) {
  const std::string archive = support::oracle_dir() + "/rochpl/messages.tar.zst";
  const fs::path dir = fs::path(testing::TempDir()) / ("weft_rochpl_" + std::to_string(::getpid()));
  fs::create_directories(dir);
  const std::string unpack = "zstd -dc --long=27 '" + archive + "' | tar x -C '" + dir.string() + "'";
  ASSERT_EQ(std::system(unpack.c_str()), 0);
  std::size_t runs = 0, calls = 0;
  for (const auto& entry : fs::directory_iterator(dir)) {
    SCOPED_TRACE(entry.path().filename().string());
    auto dat = read_hpl_dat((entry.path() / "HPL.dat").string(), Program::kRocHpl);
    ASSERT_TRUE(dat) << dat.error().message();
    std::ifstream(entry.path() / "split.txt") >> dat->rochpl.split;
    HplTraceOptions options;
    options.pivots = PivotKind::kExact;
    auto trace = HplTrace::create(*dat, options);
    ASSERT_TRUE(trace) << trace.error().message();
    const auto want = recorded_calls(entry.path(), dat->ranks());
    const auto got = calls_of(**trace);
    // More than one piece: the program takes whichever request is first, the trace one after the other.
    const bool pieces = entry.path().filename() == "1x3_1500_192_row";
    for (std::size_t r = 0; r < want.size(); ++r) {
      ASSERT_FALSE(want[r].empty());
      calls += want[r].size();
      if (pieces)
        EXPECT_EQ(by_pair(want[r]), by_pair(got[r])) << "rank " << r;
      else
        EXPECT_EQ(want[r], got[r]) << "rank " << r;
    }
    ++runs;
  }
  fs::remove_all(dir);
  EXPECT_EQ(runs, 9u);
  EXPECT_EQ(calls, 25261u);
}

// Bytes sent in the whole run by what they are for. Rows of U: every process column sends, for each part of its
// columns, U once from the current row, less what stays there, and then P - 1 times all around.
struct Volume {
  double panels = 0, pivots = 0, rows = 0;
};

TEST(RocHpl, VolumesAreThoseOfTheClosedForm) {
  for (const auto& [n, nb, p, q, split] :
       std::vector<std::tuple<std::int64_t, std::int64_t, int, int, double>>{
           {4096, 128, 4, 2, 0.6}, {4000, 128, 2, 4, 0.3}, {3000, 96, 3, 3, 0.5}, {2048, 64, 1, 4, 0.6}}) {
    HplDat dat = rochpl(n, nb, p, q);
    dat.rochpl.split = split;
    auto trace = HplTrace::create(dat);
    ASSERT_TRUE(trace) << trace.error().message();
    Volume got;
    const auto all = calls_of(**trace);
    for (const Calls& rank : all)
      for (const auto& [call, peer, bytes, tag, comm] : rank) {
        if (call == "recv" || call == "irecv" || call == "bcast" || (tag >= 3001 && tag < 4001)) continue;
        (comm == 2 ? got.panels : tag == 1001 ? got.pivots : got.rows) += static_cast<double>(bytes);
      }
    Volume want;
    double rows_least = 0, rows_most = 0;
    const auto pad = [](std::int64_t x) { return (x + 95) / 128 * 128 + 32; };
    const auto owned = [&](std::int64_t from, std::int64_t to, int me, int of) {  // one by one
      std::int64_t c = 0;
      for (std::int64_t b = from / nb; b * nb < to; ++b)
        if (b % of == me) c += std::min(to, (b + 1) * nb) - std::max(from, b * nb);
      return c;
    };
    for (std::int64_t k = 0; k * nb < n; ++k) {
      const std::int64_t jb = std::min(nb, n - k * nb);
      for (int row = 0; row < p; ++row)
        want.panels +=
            8.0 * (q - 1) *
            static_cast<double>(pad(owned(k * nb, n, row, p)) * jb + jb * jb + (4 * nb + p + 2 + 1) / 2);
      // A hypercube where P is a power of two: (P - 1) of all candidates go with the current row beside them.
      if ((p & (p - 1)) == 0)
        for (int d = 1; d < p; d *= 2)
          want.pivots +=
              static_cast<double>(jb) * 8.0 *
              (static_cast<double>(p) * (4.0 + static_cast<double>(nb)) + d * static_cast<double>(nb));
      for (int col = 0; col < q && p > 1; ++col) {
        const std::int64_t left = owned((k + 1) * nb, n + 1, col, q) +
                                  // the right-hand side may stand in the panel's own block column
                                  (jb < nb && k % q == col ? 1 : 0);
        const std::int64_t ahead = (k + 1) % q == col ? std::min(jb, left) : 0;
        const auto share = static_cast<std::int64_t>(static_cast<double>(owned(0, n + 1, col, q)) * split /
                                                     static_cast<double>(nb));
        const std::int64_t second = std::min(left - ahead, share * nb), first = left - ahead - second;
        // The last panel's first part is never exchanged.
        const bool last = (k + 1) * nb >= n;
        const double width = static_cast<double>((ahead > 0 ? ahead : 0) + (second > 0 ? pad(second) : 0) +
                                                 (first > 0 && !last ? pad(first) : 0));
        rows_least += 8 * width * static_cast<double>(jb) * (p - 1);
        rows_most += 8 * width * static_cast<double>(jb) * p;
      }
    }
    SCOPED_TRACE(std::to_string(p) + " x " + std::to_string(q));
    EXPECT_EQ(got.panels, want.panels);
    if ((p & (p - 1)) == 0) {
      EXPECT_EQ(got.pivots, want.pivots);
    }
    EXPECT_GE(got.rows, rows_least);
    EXPECT_LE(got.rows, rows_most);
    // A share of about 1/P of the rows is on the current process row already.
    if (p > 1) {
      EXPECT_NEAR(got.rows / rows_least, 1 + 1.0 / p, 0.1);
    }
  }
}

TEST(RocHpl, NodesFillTheGridAsItsSourceSays) {
  for (const auto& [p, q, lp, lq] :
       std::vector<std::array<int, 4>>{{4, 8, 2, 4}, {4, 8, 4, 2}, {6, 6, 3, 2}, {8, 4, 1, 4}}) {
    const ProcessGrid g{p, q, ProcessMap::kColumnMajor, 1, lp, lq};
    std::vector<int> seen(static_cast<std::size_t>(p * q), 0);
    for (int rank = 0; rank < p * q; ++rank) {
      // HPL_grid_init.cpp: by node, then within it.
      const int node = rank / (lp * lq), local = rank % (lp * lq);
      const int row = node % (p / lp) * lp + local % lp, col = node / (p / lp) * lq + local / lp;
      EXPECT_EQ(g.row_of(rank), row);
      EXPECT_EQ(g.col_of(rank), col);
      EXPECT_EQ(g.rank_of(row, col), rank);
      ++seen[static_cast<std::size_t>(row * q + col)];
    }
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), p * q);
  }
}

// What is exchanged was packed by a kernel of its own, each time; of the last panel the first part is packed in vain.
TEST(RocHpl, EveryExchangeOfRowsHasItsOwnPacking) {
  for (const auto& [p, q] : {std::pair(2, 2), std::pair(3, 1), std::pair(4, 3)}) {
    auto trace = HplTrace::create(rochpl(300, 20, p, q));
    ASSERT_TRUE(trace);
    for (std::uint32_t r = 0; r < (*trace)->header().ranks; ++r) {
      SCOPED_TRACE(std::to_string(p) + " x " + std::to_string(q) + ", rank " + std::to_string(r));
      int exchanges = 0, packed = 0;
      traces::OpBlock block;
      while (*(*trace)->next_block(RankId(r), block))
        for (const traces::Op& op : block.ops) {
          exchanges += op.kind == traces::OpKind::region_begin && op.amount == kSwap ? 1 : 0;
          packed += op.kind == traces::OpKind::launch && op.request != traces::kNoRequest &&
                            block.list(op)[0] == static_cast<std::int64_t>(traces::Kernel::device_dlaswp)
                        ? 1
                        : 0;
        }
      EXPECT_GT(exchanges, 15);
      EXPECT_GE(packed, exchanges);
      EXPECT_LE(packed, exchanges + 1);
    }
  }
}

TEST(RocHpl, RandomRunsAreCorrectPrograms) {
  const char* given = std::getenv("WEFT_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 61;
  SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
  Rng rng(seed);
  const auto draw = [&](std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(rng.next() % static_cast<std::uint64_t>(to - from + 1));
  };
  for (int i = 0; i < 40; ++i) {
    const int p = static_cast<int>(draw(1, 5)), q = static_cast<int>(draw(1, 5));
    const std::int64_t nb = draw(1, 40);
    HplDat dat = rochpl(draw(0, 300), nb, p, q, static_cast<Bcast>(draw(0, 5)));
    dat.pmap = draw(0, 1) == 0 ? ProcessMap::kRowMajor : ProcessMap::kColumnMajor;
    dat.rochpl.split = static_cast<double>(draw(0, 10)) / 10;
    SCOPED_TRACE("N=" + std::to_string(dat.n[0]) + " NB=" + std::to_string(nb) + " " + std::to_string(p) +
                 "x" + std::to_string(q) + " BCAST " + std::to_string(static_cast<int>(dat.bcast[0])) +
                 " split " + std::to_string(dat.rochpl.split));
    auto trace = HplTrace::create(dat);
    ASSERT_TRUE(trace) << trace.error().message();
    EXPECT_EQ(support::first_fault(**trace), "");
    const auto report = traces::check_trace(**trace, {});
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_TRUE(report->findings.empty()) << report->findings.front().message;
  }
}

TEST(RocHpl, RefusesWhatItCannotRun) {
  HplDat dat = rochpl(100, 10, 4, 2);
  dat.rochpl.local_p = 3, dat.rochpl.local_q = 1;
  EXPECT_FALSE(HplTrace::create(dat));
  dat.rochpl.local_p = 2, dat.rochpl.local_q = 0;
  EXPECT_FALSE(HplTrace::create(dat)) << "how many processes a node has is not known";
  dat.rochpl.local_q = 1;
  EXPECT_TRUE(HplTrace::create(dat));
  dat.rochpl.split = 1.5;
  EXPECT_FALSE(HplTrace::create(dat));
}

}  // namespace
}  // namespace weft::hpl_gen
