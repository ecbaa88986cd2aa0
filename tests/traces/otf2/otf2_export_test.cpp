// A trace -> an OTF2 archive -> a trace: the same messages in the same order, and nothing that otf2-print minds.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cstdio>
#include <numeric>

#include "tests/support/memory_trace.hpp"
#include "tests/traces/otf2/otf2_testing.hpp"
#include "traces/check/check.hpp"
#include "traces/exports/export.hpp"

namespace weft::traces {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using weft::testing::MemoryTrace;

std::string output_of(const std::string& command) {
  std::FILE* f = ::popen((command + " 2>&1").c_str(), "r");
  std::string out;
  char buffer[4096];
  while (f != nullptr && std::fgets(buffer, sizeof buffer, f) != nullptr) out += buffer;
  EXPECT_TRUE(f != nullptr && ::pclose(f) == 0) << command << "\n" << out;
  return out;
}

// Nothing on standard error, and as many events as the archive says.
void otf2_print_is_content(const std::string& dir) {
  static const bool have = have_otf2_print();
  if (!have) return;
  EXPECT_EQ(output_of("otf2-print --show-all '" + dir +
                      "/traces.otf2' 2>&1 | grep -E '^otf2-print|INVALID|UNKNOWN' || true"),
            "");
}

// Operations of a rank without computation, probes and what only a recorder knows.
std::vector<std::string> messages(TraceReader& t, std::uint32_t rank) {
  std::vector<std::string> out;
  for (const PlainOp& p : ops_of_rank(t, rank)) {
    if (is_compute(p.op.kind) || p.op.kind == OpKind::iprobe || p.op.kind == OpKind::probe) continue;
    PlainOp q = p;
    // OTF2 has what came; where that is known without the list, so has the operation.
    if (p.op.kind == OpKind::recv || p.op.kind == OpKind::irecv) {
      if (p.has_list)
        q.op.peer = static_cast<std::int32_t>(p.list[0]), q.op.tag = static_cast<std::int32_t>(p.list[1]),
        q.op.amount = p.list[2];
      q.has_list = false;
      q.list.clear();
    }
    // Fields that mean nothing for a kind are any value in a recording.
    const bool message = q.op.kind >= OpKind::send && q.op.kind <= OpKind::testsome;
    if (!message) q.op.tag = 0;
    if (!message && !is_rooted(q.op.kind)) q.op.peer = is_collective(q.op.kind) ? kAnySource : 0;
    out.push_back(shown(q));
  }
  t.rewind();
  return out;
}
std::int64_t computed(TraceReader& t, std::uint32_t rank) {
  std::int64_t ps = 0;
  t.rewind();
  for (const PlainOp& p : ops_of_rank(t, rank))
    if (p.op.kind == OpKind::compute_time) ps += p.op.amount;
  t.rewind();
  return ps;
}

void there_and_back(TraceReader& t, const std::string& dir) {
  const auto exported = export_trace(t, "otf2", dir);
  ASSERT_TRUE(exported) << exported.error().message();
  otf2_print_is_content(dir);
  const auto back = opened(dir);
  ASSERT_TRUE(back);
  t.rewind();
  ASSERT_EQ(back->header().ranks, t.header().ranks);
  EXPECT_EQ(back->totals().messages, t.totals().messages);
  EXPECT_EQ(back->totals().bytes, t.totals().bytes);
  ASSERT_EQ(back->communicators().size(), t.communicators().size());
  for (std::size_t c = 0; c < t.communicators().size(); ++c) {
    EXPECT_EQ(back->communicators()[c].name, t.communicators()[c].name);
    EXPECT_EQ(back->communicators()[c].members, t.communicators()[c].members);
  }
  EXPECT_EQ(back->regions(), t.regions());
  for (std::uint32_t r = 0; r < t.header().ranks; ++r) {
    EXPECT_EQ(messages(*back, r), messages(t, r)) << "rank " << r;
    // Less than 0.2 us at the end is no operation, and a poll within 2 us is spinning.
    std::int64_t polls = 0;
    for (const PlainOp& p : ops_of_rank(t, r)) polls += p.op.kind == OpKind::iprobe ? 1 : 0;
    t.rewind();
    const std::int64_t before = computed(t, r), after = computed(*back, r);
    EXPECT_LE(after, before) << "rank " << r;
    EXPECT_GE(after, before - 200'000 - polls * 2'000'000) << "rank " << r;
  }
}

TEST(Otf2Export, RecordedSamplesComeBack) {
  for (const char* sample : {"hpl_2x2_1000_64", "hpl_4x4_2000_64"}) {
    SCOPED_TRACE(sample);
    const TempDir dir;
    const auto t = open_trace({support::source_dir() + "/traces/samples/" + sample + ".weft"});
    ASSERT_TRUE(t);
    there_and_back(**t, dir.path("out"));
  }
}

TEST(Otf2Export, PollsAreCounted) {
  const TempDir dir;
  const auto t = open_trace({support::source_dir() + "/traces/samples/hpl_4x4_2000_64.weft"});
  ASSERT_TRUE(t);
  std::vector<std::string> warnings;
  ASSERT_TRUE(export_trace(**t, "otf2", dir.path("out"), {.warnings = &warnings}));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("811 polls (384 hits) are regions only")));
}

// A random correct program with everything that OTF2 has a record for.
class RandomProgram {
 public:
  RandomProgram(std::uint64_t seed, std::uint32_t ranks)
      : rng_(seed), n_(ranks), trace_(ranks), slots_(ranks) {
    for (std::uint32_t r = 0; r < n_; ++r) add(r, {.kind = OpKind::init});
    std::vector<std::int32_t> evens;
    for (std::uint32_t r = 0; r < n_; r += 2) evens.push_back(static_cast<std::int32_t>(r));
    std::vector<std::int32_t> turned;
    for (std::uint32_t r = n_; r-- > 0;) turned.push_back(static_cast<std::int32_t>(r));
    const CommId half = trace_.add_comm("split1", evens), all = trace_.add_comm("turned", turned);
    for (std::uint32_t r = 0; r < n_; ++r) {
      add(r, {.kind = OpKind::comm_split, .amount = r % 2 == 0 ? std::int64_t{half.index()} : -1});
      add(r, {.kind = OpKind::comm_dup, .amount = all.index()});
    }
    const RegionId main = trace_.add_region("main"), inner = trace_.add_region("inner");
    for (std::uint32_t r = 0; r < n_; ++r) add(r, {.kind = OpKind::region_begin, .amount = main.index()});
    for (int step = 0; step < 60; ++step) {
      const CommId comm = CommId(static_cast<std::uint32_t>(rng_.below(3)));
      for (std::uint32_t r = 0; r < n_; ++r)
        if (rng_.below(2) == 0)
          add(r, {.kind = OpKind::compute_time,
                  .amount = 200'000 + static_cast<std::int64_t>(rng_.below(1u << 30))});
      switch (rng_.below(6)) {
        case 0:
          blocking();
          break;
        case 1:
          exchange(comm);
          break;
        case 2:
          sendrecv();
          break;
        case 3:
          for (std::uint32_t r = 0; r < n_; ++r) {
            add(r, {.kind = OpKind::region_begin, .amount = inner.index()});
            add(r, {.kind = OpKind::compute_time, .amount = 1'000'000});
            add(r, {.kind = OpKind::region_end, .amount = inner.index()});
          }
          break;
        case 4:
          collective(comm, false);
          break;
        default:
          collective(comm, true);
      }
    }
    // Each communicator and region is used.
    collective(half, false);
    collective(all, true);
    for (std::uint32_t r = 0; r < n_; ++r) {
      add(r, {.kind = OpKind::region_begin, .amount = inner.index()});
      add(r, {.kind = OpKind::region_end, .amount = inner.index()});
      add(r, {.kind = OpKind::region_end, .amount = main.index()});
      add(r, {.kind = OpKind::comm_free, .comm = all});
      add(r, {.kind = OpKind::finalize});
    }
  }
  MemoryTrace& trace() { return trace_; }

 private:
  void add(std::uint32_t r, const Op& op, const std::vector<std::int64_t>& list = {}) {
    trace_.add(r, op, list);
  }
  const std::vector<std::int32_t>& members(CommId c) const {
    return trace_.communicators()[c.index()].members;
  }
  std::uint32_t take(std::uint32_t r) {
    std::uint32_t s = 0;
    while (slots_[r].contains(s)) ++s;
    slots_[r].insert(s);
    return s;
  }
  std::int32_t tag() { return static_cast<std::int32_t>(rng_.below(1000)); }
  std::int64_t bytes() { return static_cast<std::int64_t>(rng_.below(rng_.below(2) == 0 ? 64 : 1u << 20)); }

  void blocking() {
    const OpKind modes[] = {OpKind::send, OpKind::ssend, OpKind::bsend};
    for (std::uint32_t r = 0; r + 1 < n_; r += 2) {
      const std::int32_t t = tag();
      const std::int64_t b = bytes();
      add(r, {.kind = modes[rng_.below(3)], .peer = static_cast<std::int32_t>(r + 1), .tag = t, .amount = b});
      // Sometimes of any source, with what came.
      const bool any = rng_.below(3) == 0;
      add(r + 1,
          {.kind = OpKind::recv,
           .peer = any ? kAnySource : static_cast<std::int32_t>(r),
           .tag = any ? kAnyTag : t,
           .amount = any ? b + 8 : b},
          any ? std::vector<std::int64_t>{r, t, b} : std::vector<std::int64_t>{});
    }
  }
  void sendrecv() {
    const std::int32_t t = tag();
    const std::int64_t b = bytes();
    for (std::uint32_t r = 0; r < n_; ++r) {
      add(r,
          {.kind = OpKind::sendrecv, .peer = static_cast<std::int32_t>((r + 1) % n_), .tag = t, .amount = b});
      add(r, {.kind = OpKind::recv,
              .flags = kPairedRecv,
              .peer = static_cast<std::int32_t>((r + n_ - 1) % n_),
              .tag = t,
              .amount = b});
    }
  }
  // Everybody to the next of the communicator, several at a time, completed in one of several ways.
  void exchange(CommId comm) {
    const auto& all = members(comm);
    const std::size_t size = all.size();
    const std::size_t several = 1 + rng_.below(3);
    std::vector<std::int32_t> tags;
    std::vector<std::int64_t> sizes;
    for (std::size_t k = 0; k < several; ++k)
      tags.push_back(static_cast<std::int32_t>(k)), sizes.push_back(bytes());
    const OpKind modes[] = {OpKind::isend, OpKind::issend, OpKind::ibsend};
    for (std::size_t i = 0; i < size; ++i) {
      const auto r = static_cast<std::uint32_t>(all[i]);
      const std::int32_t to = all[(i + 1) % size], from = all[(i + size - 1) % size];
      struct Pending {
        std::int64_t slot;
        std::int32_t tag;
        std::int64_t bytes;
        bool receive;
      };
      std::vector<Pending> pending;
      for (std::size_t k = 0; k < several; ++k) {
        const std::uint32_t in = take(r), out = take(r);
        add(r, {.kind = OpKind::irecv,
                .comm = comm,
                .peer = from,
                .tag = tags[k],
                .amount = sizes[k],
                .request = in});
        add(r, {.kind = modes[rng_.below(3)],
                .comm = comm,
                .peer = to,
                .tag = tags[k],
                .amount = sizes[k],
                .request = out});
        pending.push_back({in, tags[k], sizes[k], true});
        pending.push_back({out, tags[k], sizes[k], false});
      }
      switch (rng_.below(4)) {
        case 0: {
          std::vector<std::int64_t> list;
          for (const Pending& p : pending) list.push_back(p.slot);
          add(r,
              {.kind = rng_.below(2) == 0 ? OpKind::waitall : OpKind::testall,
               .peer = kAnySource,
               .tag = kAnyTag},
              list);
          break;
        }
        case 1:  // one by one, the one posted last first
          for (std::size_t k = pending.size(); k-- > 0;) {
            const Pending& p = pending[k];
            add(r, {.kind = rng_.below(2) == 0 ? OpKind::wait : OpKind::test,
                    .comm = comm,
                    .peer = p.receive ? from : kAnySource,
                    .tag = p.receive ? p.tag : kAnyTag,
                    .amount = p.receive ? p.bytes : 0,
                    .request = static_cast<std::uint32_t>(p.slot)});
          }
          break;
        case 2:  // any: the middle one of those that are left
          while (!pending.empty()) {
            const std::size_t k = pending.size() / 2;
            std::vector<std::int64_t> list{static_cast<std::int64_t>(pending.size())};
            for (const Pending& p : pending) list.push_back(p.slot);
            list.push_back(pending[k].slot);
            add(r, {.kind = OpKind::waitany, .peer = kAnySource, .tag = kAnyTag}, list);
            pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(k));
          }
          break;
        default: {  // some: every other one, then the rest
          std::vector<std::int64_t> list{static_cast<std::int64_t>(pending.size())}, rest;
          for (const Pending& p : pending) list.push_back(p.slot);
          for (std::size_t k = 0; k < pending.size(); ++k)
            (k % 2 == 0 ? list : rest).push_back(pending[k].slot);
          add(r, {.kind = OpKind::waitsome, .peer = kAnySource, .tag = kAnyTag}, list);
          add(r, {.kind = OpKind::waitall, .peer = kAnySource, .tag = kAnyTag}, rest);
        }
      }
      slots_[r].clear();
    }
  }
  void collective(CommId comm, bool later) {
    const auto& all = members(comm);
    const auto size = static_cast<std::int64_t>(all.size());
    const auto kind =
        static_cast<OpKind>(static_cast<int>(OpKind::barrier) + static_cast<int>(rng_.below(17)));
    const bool rooted = is_rooted(kind);
    const std::int32_t root = rooted ? all[rng_.below(all.size())] : kAnySource;
    // One part for all is at least a byte: nothing is the same as in place.
    const std::int64_t b = 1 + bytes();
    std::vector<std::int64_t> own;
    for (std::int64_t i = 0; i < size; ++i) own.push_back(1 + bytes());
    for (std::int64_t i = 0; i < size; ++i) {
      const auto r = static_cast<std::uint32_t>(all[static_cast<std::size_t>(i)]);
      Op op{.kind = kind, .comm = comm, .peer = root, .amount = kind == OpKind::barrier ? 0 : b};
      std::vector<std::int64_t> list;
      if (kind == OpKind::gatherv || kind == OpKind::scatterv || kind == OpKind::allgatherv) {
        op.amount = own[static_cast<std::size_t>(i)];
        if (kind == OpKind::allgatherv || root == all[static_cast<std::size_t>(i)]) list = own;
      } else if (kind == OpKind::alltoallv || kind == OpKind::alltoallw) {
        // The same to all: what OTF2 can keep.
        list.assign(static_cast<std::size_t>(1 + 2 * size), b);
        list[0] = size;
        op.amount = size * b;
      } else if (kind == OpKind::reduce_scatter) {
        list = own;
        op.amount = std::accumulate(own.begin(), own.end(), std::int64_t{0});
      } else if (kind == OpKind::exscan && size == 1) {
        op.amount = 0;  // a lone rank sends nothing
      }
      if (!later) {
        add(r, op, list);
        continue;
      }
      op.kind = static_cast<OpKind>(static_cast<int>(kind) - static_cast<int>(OpKind::barrier) +
                                    static_cast<int>(OpKind::ibarrier));
      op.request = take(r);
      add(r, op, list);
      add(r, {.kind = OpKind::wait, .comm = comm, .peer = kAnySource, .tag = kAnyTag, .request = op.request});
      slots_[r].clear();
    }
  }

  Rng rng_;
  std::uint32_t n_;
  MemoryTrace trace_;
  std::vector<std::set<std::uint32_t>> slots_;
};

TEST(Otf2Export, RandomProgramsComeBack) {
  const std::uint64_t seed = seed_or(1);
  for (std::uint64_t round = 0; round < 14 && !HasFailure(); ++round) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed) + " round " + std::to_string(round));
    RandomProgram p(seed * 1000 + round, static_cast<std::uint32_t>(2 + round % 7));
    const auto report = check_trace(p.trace());
    ASSERT_TRUE(report && report->ok()) << (report ? report->findings[0].message : report.error().message());
    p.trace().rewind();
    const TempDir dir;
    there_and_back(p.trace(), dir.path("out"));
  }
}

TEST(Otf2Export, ComputationThatNoCallIsBeforeOrBehindComesBack) {
  MemoryTrace t(4);
  t.compute(0, Duration(1'000'000));
  t.p2p(0, OpKind::send, 1, 4, 9);
  t.p2p(1, OpKind::recv, 0, 4, 9);
  t.compute(1, Duration(2'000'000));
  t.compute(2, Duration(3'000'000));
  t.add(3, {.kind = OpKind::init});
  t.compute(3, Duration(4'000'000));
  t.add(3, {.kind = OpKind::finalize});
  const TempDir dir;
  ASSERT_TRUE(export_trace(t, "otf2", dir.path("out")));
  otf2_print_is_content(dir.path("out"));
  const auto back = opened(dir.path("out"));
  ASSERT_TRUE(back);
  EXPECT_THAT(back->regions(), ElementsAre("program"));
  for (std::uint32_t r = 0; r < 4; ++r) EXPECT_EQ(computed(*back, r), (r + 1) * 1'000'000) << "rank " << r;
  const auto kinds = [&](std::uint32_t r) {
    std::vector<OpKind> out;
    for (const PlainOp& p : ops_of_rank(*back, r)) out.push_back(p.op.kind);
    return out;
  };
  using enum OpKind;
  EXPECT_THAT(kinds(0), ElementsAre(region_begin, compute_time, send, region_end));
  EXPECT_THAT(kinds(1), ElementsAre(recv, region_begin, compute_time, region_end));
  EXPECT_THAT(kinds(2), ElementsAre(region_begin, compute_time, region_end));
  EXPECT_THAT(kinds(3), ElementsAre(init, compute_time, finalize));
}

TEST(Otf2Export, PersistentRequestsAreWhatTheyStart) {
  MemoryTrace t(2);
  t.add(0, {.kind = OpKind::ssend_init, .peer = 1, .tag = 4, .amount = 9, .request = 3});
  t.add(1, {.kind = OpKind::recv_init, .peer = 0, .tag = 4, .amount = 9, .request = 0});
  for (int i = 0; i < 2; ++i) {
    t.add(0, {.kind = OpKind::start, .request = 3});
    t.add(0, {.kind = OpKind::waitall}, {3});
    t.add(1, {.kind = OpKind::startall}, {0});
    t.add(1, {.kind = OpKind::wait, .peer = 0, .tag = 4, .amount = 9, .request = 0});
  }
  const TempDir dir;
  ASSERT_TRUE(export_trace(t, "otf2", dir.path("out")));
  const auto back = opened(dir.path("out"));
  ASSERT_TRUE(back);
  EXPECT_THAT(shown_program(*back, 0),
              ElementsAre("isend peer=1 tag=4 amount=9 request=0", "waitall peer=-1 tag=-1 list=[0]",
                          "isend peer=1 tag=4 amount=9 request=0", "waitall peer=-1 tag=-1 list=[0]"));
  EXPECT_THAT(back->header().notes, ::testing::Contains(HasSubstr("4 starts of persistent requests")));
}

TEST(Otf2Export, APersistentReceiveTookWhatItsStartSays) {
  MemoryTrace t(2);
  t.add(0, {.kind = OpKind::send, .peer = 1, .tag = 4, .amount = 9});
  t.add(1, {.kind = OpKind::recv_init, .peer = kAnySource, .tag = kAnyTag, .amount = 20, .request = 0});
  t.add(1, {.kind = OpKind::start, .request = 0}, {0, 4, 9});
  t.add(1, {.kind = OpKind::waitall}, {0});
  const TempDir dir;
  ASSERT_TRUE(export_trace(t, "otf2", dir.path("out")));
  const auto back = opened(dir.path("out"));
  ASSERT_TRUE(back);
  EXPECT_THAT(shown_program(*back, 1),
              ElementsAre("irecv tag=4 amount=9 request=0", "waitall peer=-1 tag=-1 list=[0]"));
}

// More than a chunk of events, all at the time at which the trace begins.
TEST(Otf2Export, ManyEventsAtTheBeginningComeBack) {
  constexpr std::uint32_t kMessages = 50'000;
  MemoryTrace t(2);
  for (std::uint32_t i = 0; i < kMessages; ++i) {
    t.p2p(0, OpKind::isend, 1, 0, 8, CommId(0), 0);
    t.add(0, {.kind = OpKind::wait, .peer = kAnySource, .tag = kAnyTag, .request = 0});
    t.p2p(1, OpKind::irecv, 0, 0, 8, CommId(0), 0);
    t.add(1, {.kind = OpKind::wait, .peer = 0, .amount = 8, .request = 0});
  }
  const TempDir dir;
  ASSERT_TRUE(export_trace(t, "otf2", dir.path("out")));
  ASSERT_GT(fs::file_size(dir.path("out/traces/0.evt")), std::uintmax_t{1} << 20);
  const auto back = opened(dir.path("out"));
  ASSERT_TRUE(back);
  ASSERT_EQ(back->totals().messages, kMessages);  // otf2-print never ends where events are missing
  EXPECT_EQ(back->totals().bytes, 8 * std::int64_t{kMessages});
  t.rewind();
  for (std::uint32_t r = 0; r < 2; ++r) EXPECT_EQ(messages(*back, r), messages(t, r)) << "rank " << r;
  const auto report = check_trace(*back);
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->ok());
  otf2_print_is_content(dir.path("out"));
}

TEST(Otf2Export, ACancelledReceiveIsLeftOutOnlyWhereNothingCame) {
  MemoryTrace t(2);
  t.p2p(1, OpKind::isend, 0, 4, 9, CommId(0), 0);
  t.wait(1, 0);
  for (const std::uint32_t slot : {0u, 1u}) {
    t.p2p(0, OpKind::irecv, 1, 4, 9, CommId(0), slot);
    t.add(0, {.kind = OpKind::cancel, .request = slot});
  }
  t.add(0, {.kind = OpKind::wait, .peer = 1, .tag = 4, .amount = 9, .request = 0});  // too late
  t.add(0, {.kind = OpKind::wait, .peer = kAnySource, .tag = kAnyTag, .request = 1});
  const TempDir dir;
  ASSERT_TRUE(export_trace(t, "otf2", dir.path("out")));
  otf2_print_is_content(dir.path("out"));
  const auto back = opened(dir.path("out"));
  ASSERT_TRUE(back);
  EXPECT_THAT(shown_program(*back, 0),
              ElementsAre("irecv peer=1 tag=4 amount=9 request=0", "wait peer=1 tag=4 amount=9 request=0"));
  EXPECT_THAT(back->header().notes, ::testing::Contains(HasSubstr("1 request cancelled: left out")));
}

TEST(Otf2Export, WhatOtf2HasNoRecordForIsRefusedWithItsPlace) {
  const TempDir dir;
  const auto refused = [&](const MemoryTrace& trace, const std::string& what) {
    auto t = trace;
    const auto e = export_trace(t, "otf2", dir.path("out"));
    ASSERT_FALSE(e) << what;
    EXPECT_EQ(e.error().code, ErrorCode::kNotSupported);
    EXPECT_THAT(e.error().message(), HasSubstr(what));
    EXPECT_FALSE(e.error().where.empty());
    EXPECT_TRUE(fs::is_empty(fs::path(dir.path("out")).parent_path()));
  };
  MemoryTrace any(2);
  any.add(0, {.kind = OpKind::recv, .peer = kAnySource, .tag = 1, .amount = 4});
  refused(any,
          "OTF2 cannot say this recv: it receives from any source or of any tag, and the trace does not say "
          "what came");
  MemoryTrace iany(2);
  iany.add(0, {.kind = OpKind::irecv, .peer = 1, .tag = kAnyTag, .amount = 4, .request = 0});
  iany.add(0, {.kind = OpKind::waitall}, {0});
  refused(iany, "OTF2 cannot say this irecv: it receives from any source or of any tag");
  MemoryTrace flops(1);
  flops.flops(0, 1e9);
  refused(flops, "computation without a duration in an OTF2 archive of recorded time");
  MemoryTrace neighbor(2);
  neighbor.add(0, {.kind = OpKind::neighbor_alltoall, .peer = kAnySource, .amount = 8}, {1, 1, 1, 1});
  refused(neighbor, "OTF2 cannot say this neighbor_alltoall: it has no record of neighbours");
  MemoryTrace large(2);
  large.collective(0, OpKind::allreduce, kAnySource, std::int64_t{1} << 60, CommId(0));
  refused(large, "the sum over the communicator is beyond 2^60 bytes");
}

TEST(Otf2Export, APlaceThatIsTakenIsLeftAlone) {
  const TempDir dir;
  MemoryTrace t(1);
  t.add(0, {.kind = OpKind::init});
  dir.write("taken/mine.txt", "text");
  for (const std::string& path : {dir.path("taken"), dir.path("taken/mine.txt"), std::string("-")}) {
    const auto e = export_trace(t, "otf2", path);
    ASSERT_FALSE(e);
    EXPECT_EQ(e.error().code, ErrorCode::kUsage) << path;
  }
  EXPECT_EQ(slurp(dir.path("taken/mine.txt")), "text");
  const auto nowhere = export_trace(t, "otf2", dir.path("none/out"));
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().message(), HasSubstr("cannot create the directory: No such file or directory"));
  fs::create_directories(dir.path("empty"));
  EXPECT_TRUE(export_trace(t, "otf2", dir.path("empty")));
  EXPECT_TRUE(export_trace(t, "otf2", dir.path("new") + "/"));
  // The same trace is the same bytes.
  for (const char* file : {"traces.otf2", "traces.def", "traces/0.evt", "traces/0.def"})
    EXPECT_EQ(slurp(dir.path(std::string("empty/") + file)), slurp(dir.path(std::string("new/") + file)))
        << file;
}

// While it lives, no file grows beyond `bytes`: as on a full disk, but only for the files that are long.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, signal_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
  void (*signal_)(int) = ::signal(SIGXFSZ, SIG_IGN);  // else the system kills who writes too much
};

// The library says of an event file that it could not write out that it closed it: the archive was there, cut off.
TEST(Otf2Export, AnEventFileThatCannotBeWrittenIsAnErrorWithItsCause) {
  const TempDir dir;
  MemoryTrace t(2);
  for (int i = 0; i < 4000; ++i) {
    t.p2p(0, OpKind::send, 1, 0, 8);
    t.p2p(1, OpKind::recv, 0, 0, 8);
  }
  Result<void> exported = export_trace(t, "otf2", dir.path("whole"));
  ASSERT_TRUE(exported) << exported.error().message();
  ASSERT_GT(fs::file_size(dir.path("whole/traces/0.evt")), 20'480u);
  ASSERT_LT(fs::file_size(dir.path("whole/traces.def")), 20'480u);
  t.rewind();
  {
    const FileLimit limit(20'480);
    exported = export_trace(t, "otf2", dir.path("cut"));
  }
  ASSERT_FALSE(exported);
  EXPECT_EQ(exported.error().message(),
            dir.path("cut") + ": error: cannot write the archive: File is too large");
  EXPECT_FALSE(fs::exists(dir.path("cut")));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir.path()), {}), 1) << "something is left over";
}

}  // namespace
}  // namespace weft::traces
