// The .weft file: what goes in comes out, and what is damaged says where.
#include <filesystem>

#include "tests/traces/address_limit.hpp"
#include "tests/traces/trace_testing.hpp"
#include "traces/weft/definitions.hpp"
#include "traces/weft/format.hpp"

namespace weft::traces {
namespace {

using namespace testing;

TraceHeader sample_header(std::uint32_t ranks) {
  TraceHeader h;
  h.ranks = ranks;
  for (std::uint32_t r = 0; r < ranks; ++r) h.hostnames.push_back("node" + std::to_string(r / 2));
  h.recorder = "test 1";
  h.mpi_version = "none";
  h.command_line = "./a.out \"x y\"";
  h.hpl_dat = "HPLinpack\nline\n";
  h.clock_resolution_ps = 1000;
  h.notes = {"One.", "Two."};
  h.warnings = {"Three."};
  h.recording.not_recorded = {{"file I/O", "MPI_File_open", 4}, {"one-sided communication", "", 7}};
  h.recording.thread_level = 4;
  h.recording.threads = 3;
  h.recording.concurrent_calls = 12;
  h.recording.clock = ComputeClock::kWall;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    h.recording.cpu_ps.push_back(r);
    h.recording.wall_ps.push_back(INT64_MAX - r);
  }
  return h;
}

struct Written {
  std::vector<std::vector<PlainOp>> ranks;
  std::vector<Communicator> communicators;
  std::vector<std::string> regions;
};

// Writes a random trace with every kind of operation; blocks of the ranks interleave. Sendrecvs have their other half, be it
// in the next block.
Written write_random(const std::string& path, std::uint64_t seed, std::uint32_t ranks, std::size_t blocks,
                     std::size_t block_ops) {
  Rng rng(seed);
  auto w = TraceWriter::create(path, sample_header(ranks));
  EXPECT_TRUE(w) << w.error().message();
  Written out;
  out.ranks.resize(ranks);
  out.communicators.push_back({"world", {}});
  for (std::uint32_t r = 0; r < ranks; ++r)
    out.communicators[0].members.push_back(static_cast<std::int32_t>(r));
  std::vector<std::uint64_t> next(ranks);
  std::vector<bool> half_open(ranks);
  for (std::size_t i = 0; i < blocks; ++i) {
    if (i % 3 == 0) {
      Communicator c{"split" + std::to_string(out.communicators.size()), {}};
      for (std::uint32_t r = 0; r < ranks; ++r)
        if (r == 0 || rng.below(2) == 0) c.members.push_back(static_cast<std::int32_t>(r));
      rng.shuffle(std::span(c.members));
      EXPECT_EQ(w->add_communicator(c).index(), out.communicators.size());
      out.communicators.push_back(c);
      EXPECT_EQ(w->add_region("panel " + std::to_string(i)).index(), out.regions.size());
      out.regions.push_back("panel " + std::to_string(i));
    }
    OpBlock b;
    b.rank = RankId(static_cast<std::uint32_t>(rng.below(ranks)));
    b.first_op = next[b.rank.index()];
    const OpLimits limits{ranks, &out.communicators, out.regions.size()};
    const std::size_t n = 1 + rng.below(block_ops);
    for (std::size_t k = 0; k < n; ++k) {
      auto open = half_open[b.rank.index()];
      Op op = random_op(rng, open ? OpKind::recv : static_cast<OpKind>(rng.below(kOpKindCount)), limits, b);
      if (op.kind == OpKind::recv) op.flags = open ? kPairedRecv : 0;
      open = op.kind == OpKind::sendrecv;
      EXPECT_EQ(op_fault(op, b.list(op), limits), nullptr)
          << op_name(op.kind) << ": " << op_fault(op, b.list(op), limits);
      b.ops.push_back(op);
    }
    next[b.rank.index()] += n;
    for (auto& p : plain(b)) out.ranks[b.rank.index()].push_back(p);
    w->append(b);
  }
  for (std::uint32_t r = 0; r < ranks; ++r) {
    if (!half_open[r]) continue;
    OpBlock b;
    b.rank = RankId(r);
    b.first_op = next[r];
    b.ops.push_back({.kind = OpKind::recv, .flags = kPairedRecv});
    out.ranks[r].push_back(plain(b)[0]);
    w->append(b);
  }
  const auto done = w->finish();
  EXPECT_TRUE(done) << done.error().message();
  return out;
}

TEST(WeftFile, EveryKindOfOperationComesBackFieldByField) {
  const TempDir dir;
  for (std::uint64_t seed = seed_or(1), i = 0; i < 12; ++i, ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    const std::string path = dir.path("t.weft");
    const auto ranks = static_cast<std::uint32_t>(1 + seed % 5);
    const Written want = write_random(path, seed, ranks, 12, i % 2 == 0 ? 40 : 1500);
    auto got = open_trace({path});
    ASSERT_TRUE(got) << got.error().message();
    TraceReader& t = **got;
    const TraceHeader h = sample_header(ranks);
    EXPECT_EQ(t.header().ranks, ranks);
    EXPECT_EQ(t.header().hostnames, h.hostnames);
    EXPECT_EQ(t.header().hpl_dat, h.hpl_dat);
    EXPECT_EQ(t.header().notes, h.notes);
    EXPECT_EQ(t.header().warnings, h.warnings);
    EXPECT_EQ(t.header().recording, h.recording);
    EXPECT_EQ(t.header().command_line, h.command_line);
    EXPECT_EQ(t.header().clock_resolution_ps, 1000);
    EXPECT_EQ(t.regions(), want.regions);
    ASSERT_EQ(t.communicators().size(), want.communicators.size());
    for (std::size_t c = 0; c < want.communicators.size(); ++c) {
      EXPECT_EQ(t.communicators()[c].name, want.communicators[c].name);
      EXPECT_EQ(t.communicators()[c].members, want.communicators[c].members);
    }
    std::uint64_t ops = 0;
    for (int pass = 0; pass < 2; ++pass, t.rewind())
      for (std::uint32_t r = 0; r < ranks; ++r) {
        const auto all = read_rank(t, r);
        ASSERT_TRUE(all) << all.error().message();
        ASSERT_EQ(all->size(), want.ranks[r].size());
        for (std::size_t k = 0; k < all->size(); ++k) ASSERT_EQ((*all)[k], want.ranks[r][k]) << "op " << k;
        EXPECT_EQ(t.ops_of(RankId(r)), all->size());
        ops += all->size();
      }
    EXPECT_EQ(t.totals().ops * 2, ops);
  }
}

TEST(WeftFile, AHeaderThatNoReaderTakesIsNotWritten) {
  const TempDir dir;
  const std::string path = dir.path("t.weft");
  const auto told = [&](void (*change)(TraceHeader&)) {
    TraceHeader h;
    h.ranks = 2;
    change(h);
    const auto w = TraceWriter::create(path, h);
    EXPECT_FALSE(w);
    return w ? std::string() : w.error().message();
  };
  EXPECT_EQ(told([](TraceHeader& h) { h.hostnames = {"a"}; }),
            path + ": error: the header names a host for some ranks only; got \"1\"; expected 0 or 2");
  EXPECT_EQ(told([](TraceHeader& h) {
              h.recording.cpu_ps = {1, 2, 3};
            }),
            path +
                ": error: the header has the clocks of some ranks only; got \"3 CPU times and 0 wall "
                "times\"; expected "
                "none, or 2 of each");
  EXPECT_EQ(told([](TraceHeader& h) {
              h.recording.cpu_ps = {1, 2};
              h.recording.wall_ps = {1, -2};
            }),
            path + ": error: a rank's time outside MPI is negative; got \"-2\"");
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(WeftFile, TextThatIsNotUtf8ComesBackAsItWas) {
  const TempDir dir;
  TraceHeader h;
  h.ranks = 1;
  h.command_line = "./xhpl \xe9t\xe9";
  h.hpl_dat = std::string("\xff\0\n", 3);
  auto w = TraceWriter::create(dir.path("t.weft"), h);
  (void)w->add_region(
      "b\xfc"
      "rde");
  ASSERT_TRUE(w->finish());
  auto t = open_trace({dir.path("t.weft")});
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ((*t)->header().command_line, h.command_line);
  EXPECT_EQ((*t)->header().hpl_dat, h.hpl_dat);
  EXPECT_EQ((*t)->regions().at(0),
            "b\xfc"
            "rde");
}

TEST(WeftFile, TheSameTraceIsTheSameBytes) {
  const TempDir dir;
  write_random(dir.path("a.weft"), 5, 4, 9, 300);
  write_random(dir.path("b.weft"), 5, 4, 9, 300);
  EXPECT_EQ(slurp(dir.path("a.weft")), slurp(dir.path("b.weft")));
}

// Reads everything; the text of the first error, empty if there was none.
std::string read_all(const std::string& path, std::vector<std::vector<PlainOp>>& ranks) {
  auto t = open_trace({path}, "weft");
  if (!t) return t.error().message();
  ranks.resize((*t)->header().ranks);
  for (std::uint32_t r = 0; r < ranks.size(); ++r) {
    auto ops = read_rank(**t, r);
    if (!ops) return ops.error().message();
    ranks[r] = std::move(*ops);
  }
  return {};
}

// Of the blocks of a zstd frame (RFC 8878, 3.1.1) that are compressed at all, those whose literals are coded by Huffman too, and all.
std::pair<int, int> huffman_blocks(std::string_view z) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(z.at(i)); };
  const std::uint8_t description = byte(4);
  const bool single = (description & 0x20) != 0;
  const std::size_t content[] = {single ? 1u : 0u, 2, 4, 8}, dictionary[] = {0, 1, 2, 4};
  std::pair<int, int> found{0, 0};
  bool last = false;
  for (std::size_t at = 5 + (single ? 0 : 1) + dictionary[description & 3] + content[description >> 6];
       !last;) {
    const std::uint32_t head = byte(at) | byte(at + 1) << 8 | byte(at + 2) << 16;
    const std::uint32_t type = head >> 1 & 3, size = type == 1 ? 1 : head >> 3;
    if (type == 2) {
      ++found.second;
      if ((byte(at + 3) & 3) >= 2) ++found.first;
    }
    last = (head & 1) != 0;
    at += 3 + size;
  }
  return found;
}

// A table of codes for each small block would cost more than all else of reading it (writer.cpp).
TEST(WeftFile, LiteralsAreStoredAsTheyAre) {
  const TempDir dir;
  const std::string path = dir.path("t.weft");
  write_random(path, 1, 3, 12, 400);
  const std::string bytes = slurp(path);
  int compressed = 0;
  for (std::size_t at = format::kFileHeaderBytes; at + format::kTrailerBytes < bytes.size();) {
    format::FrameHeader h;
    std::memcpy(&h, bytes.data() + at, sizeof h);
    ASSERT_EQ(h.magic, format::kFrameMagic);
    const auto [huffman, all] = huffman_blocks(std::string_view(bytes).substr(at + sizeof h, h.stored_bytes));
    EXPECT_EQ(huffman, 0) << "frame at " << at;
    compressed += all;
    at += sizeof h + h.stored_bytes;
  }
  EXPECT_GT(compressed, 12);
}

TEST(WeftFile, AFlippedBitInEachByteIsDetectedOrChangesNothing) {
  const TempDir dir;
  const Written want = write_random(dir.path("t.weft"), 3, 2, 3, 30);
  const std::string good = slurp(dir.path("t.weft"));
  Rng rng(seed_or(7));
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << rng.below(8)));
    dir.write("bad.weft", bad);
    std::vector<std::vector<PlainOp>> got;
    if (read_all(dir.path("bad.weft"), got).empty()) {
      EXPECT_TRUE(got == want.ranks) << "byte " << i;
    }
  }
}

TEST(WeftFile, EveryTruncationIsAnErrorAndItsWholeBlocksAreSalvaged) {
  const TempDir dir;
  const Written want = write_random(dir.path("t.weft"), 4, 2, 4, 30);
  const std::string good = slurp(dir.path("t.weft"));
  std::size_t most = 0;
  for (std::size_t n = 0; n < good.size(); n += 29) {
    const std::string cut = dir.write("cut.weft", good.substr(0, n));
    auto strict = open_trace({cut}, "weft");
    ASSERT_FALSE(strict) << n;
    EXPECT_NE(strict.error().message().find("@byte"), std::string::npos) << strict.error().message();
    auto salvaged = open_trace_with({cut}, {"weft", true});
    if (!salvaged) continue;  // not even a header
    for (std::uint32_t r = 0; r < 2; ++r) {
      auto ops = read_rank(**salvaged, r);
      ASSERT_TRUE(ops) << ops.error().message();
      ASSERT_LE(ops->size(), want.ranks[r].size());
      for (std::size_t k = 0; k < ops->size(); ++k) ASSERT_EQ((*ops)[k], want.ranks[r][k]);
      most = std::max(most, ops->size());
    }
  }
  EXPECT_GT(most, 0u);
}

// A dup costs bytes, not members, wherever it stands among the definitions; a permutation is another communicator.
TEST(WeftFile, EqualMembersAreStoredOnceAndComeBackForEach) {
  const TempDir dir;
  const std::string path = dir.path("t.weft");
  const std::vector<std::vector<std::int32_t>> members = {{0, 2}, {2, 0}, {0, 2}, {0, 1, 2},
                                                          {2, 0}, {0, 2}, {},     {}};
  TraceHeader h;
  h.ranks = 3;
  auto w = TraceWriter::create(path, h);
  OpBlock b;
  b.rank = RankId(0);
  b.ops = {{.kind = OpKind::init}};
  for (std::size_t i = 0; i < members.size(); ++i) {
    (void)w->add_communicator({"c" + std::to_string(i + 1), members[i]});
    if (i % 3 == 0) {  // definitions are written in several frames, and once more in the index
      w->append(b);
      ++b.first_op;
    }
  }
  ASSERT_TRUE(w->finish());
  auto t = open_trace({path});
  ASSERT_TRUE(t) << t.error().message();
  ASSERT_EQ((*t)->communicators().size(), members.size() + 1);
  for (std::size_t i = 0; i < members.size(); ++i) {
    EXPECT_EQ((*t)->communicators()[i + 1].members, members[i]) << i;
    EXPECT_EQ((*t)->communicators()[i + 1].name, "c" + std::to_string(i + 1));
  }
}

TEST(SameMembers, NamesTheFirstOfEqualsWhateverTheOrderOfAsking) {
  std::vector<Communicator> all = {
      {"world", {0, 1, 2}}, {"a", {0, 2}}, {"b", {2, 0}}, {"c", {0, 2}}, {"d", {0, 1, 2}}};
  SameMembers one, other;
  const std::vector<std::uint32_t> want = {0, 0, 0, 2, 1};
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(one.of(all, i), want[i]);
  for (std::size_t i = all.size(); i-- > 0;) EXPECT_EQ(other.of(all, i), want[i]);
  all.push_back({"e", {2, 0}});
  EXPECT_EQ(one.of(all, 5), 3u);
}

// One communicator for each pair of ranks, definitions flushed after each: every one compared with all before it would
// be 800 million comparisons a pass, forty of which do not end.
TEST(WeftFile, ManyCommunicatorsCostTheirMembersOnly) {
  std::vector<Communicator> all;
  for (std::int32_t a = 0; a < 300; ++a)
    for (std::int32_t b = 0; b < a && all.size() < 40000; ++b) all.push_back({"p", {b, a}});
  EXPECT_TRUE(testing::within(256u << 20, [&] {
    for (int pass = 0; pass < 40; ++pass) {
      SameMembers same;
      for (std::size_t i = 0; i < all.size(); ++i)
        if (same.of(all, i) != 0) return false;
    }
    return true;
  }));
}

}  // namespace
}  // namespace weft::traces
