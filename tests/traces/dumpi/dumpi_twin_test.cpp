// DUMPI against a second decoder (dumpi_twin.py), which shares nothing with the reader: calls of each kind, their bytes,
// messages, and the time between calls, for random programs in several versions and for the recorded traces at hand.
#include <gmock/gmock.h>

#include <cstdio>

#include "tests/support/needs.hpp"
#include "tests/traces/dumpi/dumpi_testing.hpp"
#include "traces/check/check.hpp"
#include "traces/info.hpp"

namespace weft::traces {
namespace {

using namespace testing;

using Counts = std::map<std::string, std::int64_t>;

// What the twin says of each trace.
std::map<std::string, Counts> twin(const std::vector<std::string>& traces) {
  std::string command = "python3 '" + support::source_dir() + "/tests/traces/dumpi/dumpi_twin.py'";
  for (const std::string& t : traces) command += " '" + t + "'";
  std::FILE* f = ::popen((command + " 2>&1").c_str(), "r");
  std::map<std::string, Counts> out;
  if (f == nullptr) return out;
  char line[4096];
  std::string text, trace;
  while (std::fgets(line, sizeof line, f) != nullptr) {
    text += line;
    std::istringstream s(line);
    std::string key;
    std::int64_t value = 0;
    if (s >> key && key == "trace") {
      s >> trace;
    } else if (s >> value) {
      out[trace][key] = value;
    }
  }
  EXPECT_EQ(::pclose(f), 0) << text;
  return out;
}
bool have_python() { return std::system("python3 -c 0 >/dev/null 2>&1") == 0; }

// What the reader says, in the twin's words.
Counts reader(TraceReader& t, std::int64_t& compute_ns) {
  const auto info = scan_trace(t);
  EXPECT_TRUE(info) << info.error().message();
  Counts out;
  out["ranks"] = t.header().ranks;
  out["messages"] = static_cast<std::int64_t>(info->totals.messages);
  out["message_bytes"] = static_cast<std::int64_t>(info->totals.bytes);
  for (std::size_t k = 0; k < kOpKindCount; ++k) {
    const auto kind = static_cast<OpKind>(k);
    const auto& [count, bytes] = info->kinds[k];
    if (is_compute(kind) || kind == OpKind::iprobe || count == 0) continue;
    out[std::string(op_name(kind))] += static_cast<std::int64_t>(count);
    if (bytes != 0 && kind != OpKind::wait && kind != OpKind::test)
      out[std::string(op_name(kind)) + "_bytes"] += static_cast<std::int64_t>(bytes);
  }
  if (info->polls_hit != 0) out["iprobe"] = static_cast<std::int64_t>(info->polls_hit);
  // Polls that are one place.
  t.rewind();
  OpBlock b;
  for (std::uint32_t rank = 0; info->polls_missed != 0 && rank < t.header().ranks; ++rank)
    while (*t.next_block(RankId(rank), b))
      for (const Op& op : b.ops)
        if (op.kind == OpKind::iprobe && (op.flags & kHit) == 0) out["iprobe_miss"] += op.amount;
  compute_ns = static_cast<std::int64_t>(info->compute.count() / 1000);
  EXPECT_EQ(t.totals().ops, info->totals.ops);
  EXPECT_EQ(t.totals().messages, info->totals.messages);
  return out;
}

void expect_the_same(const std::string& where, Counts want) {
  auto t = open_trace({where});
  ASSERT_TRUE(t) << t.error().message();
  std::int64_t compute_ns = 0;
  Counts got = reader(**t, compute_ns);
  const std::int64_t between = want["between_ns"];
  const bool spins = want.contains("tests_no") || want.contains("iprobe_miss");
  for (const char* key : {"between_ns", "longest_ns", "tests_no"}) want.erase(key);
  for (const auto& [key, value] : got) EXPECT_EQ(value, want[key]) << key;
  for (const auto& [key, value] : want) EXPECT_EQ(got[key], value) << key;
  EXPECT_LE(compute_ns, between);
  // Of a rank the last pause below 0.2 us is no operation; spinning counts for nothing.
  const std::int64_t least = spins ? 0 : between - 200 * (*t)->header().ranks;
  EXPECT_GE(compute_ns, least);
  (*t)->rewind();
  const auto report = check_trace(**t);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(report->ok()) << report->findings[0].message;
}

// A program that is right: rounds in which all ranks do the same kind of thing.
std::vector<DumpiWriter> random_program(Rng& rng, DumpiWriter::Version version) {
  const int n = 2 + static_cast<int>(rng.below(5));
  std::vector<DumpiWriter> r(static_cast<std::size_t>(n), DumpiWriter(version));
  const int types[] = {kDumpiByte, kDumpiInt, kDumpiDouble, kDumpiLongLong, 30, 31};
  const bool walls = rng.below(3) != 0;
  for (DumpiWriter& w : r) {
    if (!walls) w.mask &= static_cast<std::uint8_t>(~8);
    if (rng.below(4) == 0) w.mask &= static_cast<std::uint8_t>(~3);                   // without statuses
    w.type_contiguous(3, kDumpiInt, 30).call(37).i32(2).i32(5).i32(512).h(30).h(31);  // MPI_Type_hvector
    w.type_sizes.resize(32, 0);
  }
  const auto all = [&](const std::function<void(DumpiWriter&, int)>& f) {
    for (int me = 0; me < n; ++me) {
      DumpiWriter& w = r[static_cast<std::size_t>(me)];
      w.gap_ns = static_cast<std::int64_t>(rng.below(3) == 0 ? rng.below(400) : rng.below(1'000'000));
      if (rng.below(30) == 0) w.pause(static_cast<std::int64_t>(20'000'000'000'000));
      f(w, me);
    }
  };
  for (std::uint64_t round = 5 + rng.below(40); round > 0; --round) {
    const int type = types[rng.below(6)], count = static_cast<int>(rng.below(100)),
              root = static_cast<int>(rng.below(static_cast<std::uint64_t>(n)));
    const int size = type == kDumpiByte ? 1 : type == kDumpiInt ? 4 : type == 30 ? 12 : type == 31 ? 120 : 8;
    const auto to = [n](int me) { return (me + 1) % n; };
    const auto from = [n](int me) { return (me + n - 1) % n; };
    switch (rng.below(14)) {
      case 0: {
        const int kind = 8 + static_cast<int>(rng.below(3));
        all([&](DumpiWriter& w, int me) {
          w.irecv(count + 5, type, rng.below(2) == 0 ? from(me) : -1, 3, 7)
              .isend(count, type, to(me), 3, 8, kDumpiWorld, kind);
          if (rng.below(2) == 0) w.test(7, false);
          w.waitall({8, 7}, {{0, 0, 0}, {size * count, from(me), 3}});
        });
        break;
      }
      case 1:
        all([&](DumpiWriter& w, int me) {
          w.sendrecv(count, to(me), 1, count, from(me), -1, {{count, from(me), 1}});
        });
        break;
      case 2:
        all([&](DumpiWriter& w, int me) {
          w.isend(count, type, to(me), 2, 9, kDumpiWorld, 26)
              .irecv(count, type, from(me), 2, 10, kDumpiWorld, 30);
          for (int k = 0; k < 3; ++k) w.startall({9, 10}).waitall({9, 10});
          w.start(9)
              .start(10)
              .wait(10, {{size * count, from(me), 2}})
              .wait(9)
              .request_free(9)
              .request_free(10);
        });
        break;
      case 3:
        all([&](DumpiWriter& w, int me) {
          w.isend(count, type, to(me), 4, 9);
          for (std::uint64_t k = rng.below(4); k > 0; --k) w.iprobe(-1, 4, false);
          w.iprobe(-1, 4, true, {{size * count, from(me), 4}})
              .recv(count, type, from(me), 4, {{size * count, from(me), 4}});
          w.wait(9);
        });
        break;
      case 4:
        all([&](DumpiWriter& w, int) { w.barrier().bcast(count, type, root).reduce(count, type, root); });
        break;
      case 5:
        all([&](DumpiWriter& w, int me) { w.gather(me, count, type, root).scatter(me, count, type, root); });
        break;
      case 6: {
        DumpiInts counts;
        for (int i = 0; i < n; ++i) counts.push_back(static_cast<std::int32_t>(rng.below(50)));
        all([&](DumpiWriter& w, int me) {
          const int mine = counts[static_cast<std::size_t>(me)];
          w.gatherv(me, n, mine, type, root, counts).scatterv(me, n, mine, type, root, counts);
          w.allgatherv(mine, counts, type).reduce_scatter(counts, type);
        });
        break;
      }
      case 7:
        all([&](DumpiWriter& w, int) {
          w.allgather(count, type).alltoall(count, type).allreduce(count, type);
        });
        break;
      case 8:
        all([&](DumpiWriter& w, int me) {
          DumpiInts sent, received;
          for (int other = 0; other < n; ++other)
            sent.push_back(me + 3 * other), received.push_back(other + 3 * me);
          w.alltoallv(sent, received, type);
          w.alltoallw(sent, received, std::vector<int>(static_cast<std::size_t>(n), type));
        });
        break;
      case 9: {
        const int handle = 4 + static_cast<int>(rng.below(100));
        all([&](DumpiWriter& w, int me) {
          const int half = (n + 1) / 2, mine = me < half ? half : n - half;
          w.comm_split(kDumpiWorld, me < half ? 0 : 1, 0, handle).allreduce(count, type, handle);
          w.comm_size(handle, mine)
              .comm_dup(handle, handle + 1)
              .barrier(handle + 1)
              .comm_free(handle)
              .comm_free(handle + 1);
        });
        break;
      }
      case 10:
        all([&](DumpiWriter& w, int) {
          w.allreduce(count, type, kDumpiWorld, 67).allreduce(count, type, kDumpiWorld, 156);
        });
        break;
      case 11:
        all([&](DumpiWriter& w, int me) {
          w.irecv(count, type, from(me), 5, 11)
              .send(count, type, to(me), 5, kDumpiWorld, 3)
              .waitany({1, 11}, 1, {{size * count, from(me), 5}});
        });
        break;
      case 12:
        all([&](DumpiWriter& w, int me) {
          w.irecv(count, type, from(me), 6, 11).send(count, type, to(me), 6, kDumpiWorld, 3);
          w.waitsome({11}, {}, {}, 21).waitsome({11}, {0}, {}, 20);
        });
        break;
      default:
        all([&](DumpiWriter& w, int me) {
          w.comm_rank(kDumpiWorld, me).call(122);
          w.send(count, type, -2, 0)
              .call(34)
              .i32(count)
              .h(type)
              .i32(to(me))
              .i32(1)
              .i32(from(me))
              .i32(1)
              .h(kDumpiWorld)
              .statuses({{size * count, from(me), 1}});
        });
    }
  }
  return r;
}

TEST(DumpiTwin, RandomProgramsHaveTheCountsOfTheSecondDecoder) {
  WEFT_NEEDS(have_python(), "python3 is not here");
  const std::uint64_t seed = seed_or(9);
  const DumpiWriter::Version versions[] = {{0, 5, 0}, {0, 6, 2}, {0, 6, 3}, {0, 6, 6},
                                           {0, 6, 8}, {0, 7, 1}, {8, 1, 0}};
  const TempDir dir;
  std::vector<std::string> traces;
  for (std::uint64_t round = 0; round < 42; ++round) {
    Rng rng(seed * 1000 + round);
    auto ranks = random_program(rng, versions[round % std::size(versions)]);
    for (DumpiWriter& w : ranks) w.finalize();
    traces.push_back(weft::testing::write_dumpi(dir.path("t" + std::to_string(round)), ranks));
  }
  const auto want = twin(traces);
  for (const std::string& trace : traces) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed) + " " + trace);
    expect_the_same(trace, want.at(trace));
    if (HasFailure()) return;
  }
}

// Folders with a DUMPI trace under the shared traces.
std::vector<std::string> recorded() {
  std::vector<std::string> out;
  std::error_code ec;
  for (const auto& e : fs::recursive_directory_iterator(support::shared_dir() + "/traces", ec))
    if (e.path().extension() == ".meta") out.push_back(e.path().parent_path().string());
  std::ranges::sort(out);
  return out;
}

TEST(DumpiTwin, RecordedTracesHaveTheCountsOfTheSecondDecoder) {
  const auto traces = recorded();
  WEFT_NEEDS(!traces.empty() && have_python(), "no recorded traces beside the checkout, or no python3");
  const auto want = twin(traces);
  for (const std::string& trace : traces) {
    SCOPED_TRACE(trace);
    expect_the_same(trace, want.at(trace));
  }
}

// libdumpi's own text of rank 0 of testtrace, call by call.
TEST(DumpiTwin, ARecordedTraceIsWhatLibdumpisOwnTextSays) {
  const std::string folder = support::shared_dir() + "/traces/dumpi_testtrace";
  WEFT_NEEDS(fs::exists(folder), "no recorded traces beside the checkout");
  auto t = open_trace({folder});
  ASSERT_TRUE(t) << t.error().message();
  std::vector<std::string> want;
  std::istringstream text(slurp(folder + "/testtrace-0000.txt"));
  for (std::string line; std::getline(text, line);)
    if (const auto at = line.find(" entering at"); at != std::string::npos) {
      std::string name = line.substr(4, at - 4);
      for (char& c : name) c = static_cast<char>(std::tolower(c));
      if (!name.starts_with("comm_")) want.push_back(name);
    }
  std::vector<std::string> got;
  for (const PlainOp& p : ops_of_rank(**t, 0))
    if (!is_compute(p.op.kind)) got.emplace_back(op_name(p.op.kind));
  EXPECT_EQ(got, want);
  EXPECT_EQ(got.size(), 7u);
}

}  // namespace
}  // namespace weft::traces
