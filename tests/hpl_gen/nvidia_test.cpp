// Traces of NVIDIA's program, as far as it is known: what differs from rocHPL's, against what its logs print and closed forms.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "hpl_gen/hpl_trace.hpp"
#include "hpl_gen/steps/rochpl_step.hpp"
#include "tests/support/well_formed.hpp"
#include "traces/check/check.hpp"
#include "traces/kernel.hpp"

namespace weft::hpl_gen {
namespace {

using traces::Kernel;
using traces::OpKind;

HplDat dat_of(Program program, std::int64_t n, std::int64_t nb, int p, int q) {
  HplDat d;
  d.n = {n}, d.nb = {nb}, d.grids = {{p, q}}, d.bcast = {Bcast::k1Ring}, d.nbmin = {2};
  d.program = program;
  return d;
}

struct Seen {
  std::vector<std::tuple<int, std::int64_t, std::int64_t, std::int64_t>> messages;  // kind, peer, bytes, tag
  std::vector<std::int64_t> streamed;  // columns, one launch each
  std::vector<std::int64_t> streamed_rows;
  double to_host = 0, to_device = 0;  // numbers that the rank copies itself
};

std::vector<Seen> seen_in(const HplDat& dat) {
  auto trace = HplTrace::create(dat);
  EXPECT_TRUE(trace) << (trace ? "" : trace.error().message());
  if (!trace) return {};
  std::vector<Seen> out((*trace)->header().ranks);
  traces::OpBlock block;
  for (std::uint32_t r = 0; r < out.size(); ++r)
    while (true) {
      auto more = (*trace)->next_block(RankId(r), block);
      EXPECT_TRUE(more) << (more ? "" : more.error().message());
      if (!more || !*more) break;
      for (const traces::Op& op : block.ops) {
        Seen& s = out[r];
        if (traces::is_send(op.kind) || op.kind == OpKind::recv || op.kind == OpKind::irecv ||
            op.kind == OpKind::bcast)
          s.messages.emplace_back(static_cast<int>(op.kind), op.peer, op.amount, op.tag);
        if (op.kind != OpKind::launch && op.kind != OpKind::compute_kernel) continue;
        const auto list = block.list(op);
        const auto kernel = static_cast<Kernel>(list[0]);
        const double numbers = static_cast<double>(list[1]) * static_cast<double>(list[2]);
        if (op.kind == OpKind::launch && kernel == Kernel::copy_to_device) {
          EXPECT_EQ(list[3], 2) << "both ways at once";
          s.streamed_rows.push_back(list[1]);
          s.streamed.push_back(list[2]);
        } else if (kernel == Kernel::copy_to_device) {
          s.to_device += numbers;
        } else if (kernel == Kernel::copy_to_host) {
          s.to_host += numbers;
        }
      }
    }
  return out;
}

// GPU_COLS and CPU_COLS that HPL-NVIDIA 1.0 printed on GPUs of 40 GB before it started (github pkusc/ASC22_HPL: hpl_wyt/hpl-main/R and
// R_NB, HPL.out, scripts/nohup.out), local rows and columns of a process.
TEST(Nvidia, ColumnsWithoutRoomAreThoseThatItsLogsPrint) {
  const std::int64_t memory = (std::int64_t{40536} - 1072) << 20;
  EXPECT_EQ(columns_without_room(memory, 73632, 73665, 192), 4992);
  EXPECT_EQ(columns_without_room(memory, 80000, 80001, 320), 17920);
  EXPECT_EQ(columns_without_room(memory, 75121, 75121, 320), 8960);
  EXPECT_EQ(columns_without_room(memory, 70481, 70561, 288), 0);
  EXPECT_EQ(columns_without_room(memory, 34944, 139777, 224), 0);
  EXPECT_EQ(columns_without_room(0, 1 << 20, 1 << 20, 320), 0);  // no limit was given
  EXPECT_EQ(columns_without_room(1, 1000, 1001, 10), 1001);      // nothing fits
}

TEST(Nvidia, SendsTheMessagesOfRocHpl) {
  for (const auto& [p, q] : {std::pair{2, 2}, {4, 1}, {1, 4}, {2, 3}}) {
    SCOPED_TRACE(std::to_string(p) + "x" + std::to_string(q));
    HplDat limited = dat_of(Program::kNvidia, 700, 48, p, q);
    limited.rochpl.device_memory = 1'500'000;
    const auto theirs = seen_in(dat_of(Program::kRocHpl, 700, 48, p, q)), ours = seen_in(limited);
    ASSERT_EQ(theirs.size(), ours.size());
    for (std::size_t r = 0; r < ours.size(); ++r) {
      EXPECT_FALSE(ours[r].messages.empty());
      EXPECT_EQ(theirs[r].messages, ours[r].messages) << "rank " << r;
    }
  }
}

// Panel and rows go through the host. Of rows: U, all of it, comes to each accelerator once a panel, whole blocks of columns rounded up to
// multiples of 128 and 32 more in each part but the look-ahead's.
TEST(Nvidia, PanelsAndRowsAreCopiedOnBothSides) {
  const std::int64_t n = 1200, nb = 40;
  const int p = 2, q = 2;
  const auto seen = seen_in(dat_of(Program::kNvidia, n, nb, p, q));
  double least = 0, most = 0, l_least = 0, l_most = 0, own = 0, to_device = 0, to_host = 0;
  for (std::int64_t k = 0; k < n; k += nb) {
    const double behind = static_cast<double>(n + 1 - k - nb), jb = nb, rows = static_cast<double>(n - k);
    least += p * jb * behind;             // all columns, in each process row
    most += p * q * jb * 2 * (128 + 32);  // what rounding adds
    l_least += q * rows * jb;             // the panel, in each process column
    l_most += p * q * (jb * (128 + 32) + jb * jb + 4 * jb);
    own += rows * jb;
  }
  for (const Seen& s : seen) to_device += s.to_device, to_host += s.to_host;
  EXPECT_GE(to_device, least + l_least);
  EXPECT_LE(to_device, least + l_least + most + l_most);
  // Out: the panel once, of U its rows where they stand, at most all of them twice (the current row's own and the others'), and U once
  // more where it stays.
  EXPECT_GE(to_host, own + 2 * least / p);
  EXPECT_LE(to_host, own + 3 * (least + most) / p);
}

// The first columns of a process stay with the host, and each update has fewer of them until none are left.
TEST(Nvidia, ColumnsWithoutRoomAreBroughtAndTakenBackInEachUpdate) {
  const std::int64_t n = 1600, nb = 32;
  for (const auto& [p, q] : {std::pair{2, 2}, {1, 2}, {2, 1}}) {
    SCOPED_TRACE(std::to_string(p) + "x" + std::to_string(q));
    HplDat dat = dat_of(Program::kNvidia, n, nb, p, q);
    const std::int64_t rows = n / p, columns = n / q;
    dat.rochpl.device_memory = 8 * rows * columns * 3 / 4 + 4 * nb * (rows + columns + 1) * 8;
    const auto seen = seen_in(dat);
    for (int r = 0; r < p * q; ++r) {
      const Seen& s = seen[static_cast<std::size_t>(r)];
      const int col = r % q;  // row-major
      const std::int64_t mine = columns + (col == 0 && n / nb % q == 0 ? 1 : 0);
      const std::int64_t outside = columns_without_room(dat.rochpl.device_memory, rows, mine, nb);
      EXPECT_NEAR(static_cast<double>(outside), static_cast<double>(columns) / 4, nb + 1);
      std::vector<std::int64_t> want;
      for (std::int64_t k = 0; k < n / nb; ++k) {
        const std::int64_t done = nb * (k / q + (k % q >= col ? 1 : 0));  // of this process, panel k included
        if (outside - done > 0) want.push_back(outside - done);
      }
      EXPECT_EQ(s.streamed, want) << "rank " << r;
      for (std::size_t i = 1; i < s.streamed_rows.size(); ++i)
        EXPECT_LE(s.streamed_rows[i], s.streamed_rows[i - 1]);
      ASSERT_FALSE(s.streamed_rows.empty());
      EXPECT_EQ(s.streamed_rows[0], rows);
    }
  }
  for (const Seen& s : seen_in(dat_of(Program::kNvidia, n, nb, 2, 2))) EXPECT_TRUE(s.streamed.empty());
}

// Numbers of C that a rank's calls of a kernel touch in its panels.
double touched(const HplDat& dat, Kernel kernel) {
  auto trace = HplTrace::create(dat);
  EXPECT_TRUE(trace) << (trace ? "" : trace.error().message());
  if (!trace) return 0;
  double numbers = 0;
  traces::OpBlock block;
  while (true) {
    auto more = (*trace)->next_block(RankId(0), block);
    EXPECT_TRUE(more) << (more ? "" : more.error().message());
    if (!more || !*more) return numbers;
    for (const traces::Op& op : block.ops) {
      if (op.kind != OpKind::compute_kernel) continue;
      const auto list = block.list(op);
      if (static_cast<Kernel>(list[0]) == kernel)
        numbers += static_cast<double>(list[1]) * static_cast<double>(list[2]);
    }
  }
}

// What one thread does whatever the number of cores (docs/kernels.md, "A BLAS with several threads"): dger in the last level of the recursion, which has
// none with two columns; the rows of each column's exchange; the panel on its way out.
TEST(Nvidia, TheLastLevelOfARightLookingPanelUpdatesByDger) {
  const std::int64_t n = 480, nb = 32;
  for (const std::int64_t nbmin : {2, 4, 8, 16}) {
    SCOPED_TRACE(nbmin);
    HplDat dat = dat_of(Program::kNvidia, n, nb, 1, 1);
    dat.nbmin = {static_cast<int>(nbmin)};
    dat.pfact = {Factor::kRight}, dat.rfact = {Factor::kCrout};
    double want = 0;
    for (std::int64_t column = 0; column < n; ++column) {
      const std::int64_t right = nbmin - 1 - column % nbmin;  // of its leaf, the next one by daxpy
      if (right > 1) want += static_cast<double>((n - column - 1) * (right - 1));
    }
    EXPECT_EQ(touched(dat, Kernel::dger), want);
    dat.pfact = {Factor::kLeft};
    EXPECT_EQ(touched(dat, Kernel::dger), 0);
  }
}

TEST(Nvidia, RowsOfExchangesAndPanelsOnTheirWayOutAreCopiedOnce) {
  const std::int64_t n = 480, nb = 32;
  HplDat dat = dat_of(Program::kNvidia, n, nb, 1, 1);
  dat.nbmin = {2}, dat.pfact = {Factor::kRight};
  // Two rows out and two in for each column; x, block by block, at the end.
  EXPECT_EQ(touched(dat, Kernel::dcopy), static_cast<double>(n * 4 * nb + n));
  EXPECT_EQ(touched(dat, Kernel::dlacpy), 0) << "nobody to send a panel to";
  dat.grids = {{1, 2}};
  double below = 0;
  for (std::int64_t k = 0; k < n / nb; k += 2) below += static_cast<double>((n - (k + 1) * nb) * nb);
  EXPECT_EQ(touched(dat, Kernel::dlacpy), below);
}

TEST(Nvidia, RunsAreCorrectPrograms) {
  for (const std::int64_t memory : {0, 550'000, 1'000'000})
    for (const auto& [p, q] : {std::pair{1, 1}, {2, 2}, {4, 1}, {1, 4}, {3, 2}}) {
      HplDat dat = dat_of(Program::kNvidia, 331, 24, p, q);
      dat.rochpl.device_memory = memory;
      SCOPED_TRACE(std::to_string(p) + "x" + std::to_string(q) + " " + std::to_string(memory) + " B");
      auto trace = HplTrace::create(dat);
      ASSERT_TRUE(trace) << trace.error().message();
      EXPECT_EQ(support::first_fault(**trace), "");
      const auto report = traces::check_trace(**trace, {});
      ASSERT_TRUE(report) << report.error().message();
      EXPECT_TRUE(report->findings.empty()) << report->findings.front().message;
    }
  HplDat dat = dat_of(Program::kNvidia, 331, 24, 2, 2);
  dat.rochpl.device_memory = -1;
  EXPECT_FALSE(HplTrace::create(dat));
}

// Four panels of rows x NB and four blocks of NB x columns, of the first process, which has most of both: 14 blocks of 24 on two rows
// are 7 each, the last of 331 - 13 x 24 = 19 rows on the second, with the right-hand side's column.
TEST(Nvidia, MemoryWithoutRoomForPanelsAndRowsIsRefusedWithTheLeastThatItTakes) {
  HplDat dat = dat_of(Program::kNvidia, 331, 24, 2, 2);
  const std::int64_t least = 4 * 24 * (7 * 24 + 7 * 24) * 8;
  dat.rochpl.device_memory = least;
  EXPECT_TRUE(HplTrace::create(dat));
  for (const std::int64_t memory : {std::int64_t{1}, least - 1}) {
    dat.rochpl.device_memory = memory;
    const auto trace = HplTrace::create(dat);
    ASSERT_FALSE(trace);
    EXPECT_THAT(trace.error().message(), ::testing::EndsWith("; expected at least " + std::to_string(least) +
                                                             "B with N = 331, NB = 24 on 2 x 2"));
  }
}

}  // namespace
}  // namespace weft::hpl_gen
