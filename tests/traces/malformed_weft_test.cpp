// Damaged and hostile .weft files: each one is refused with a message that names the byte.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <cstring>

#include "tests/traces/frame_testing.hpp"

namespace weft::traces {
namespace {

using namespace testing;
using format::FrameHeader;
using format::FrameType;

// Two ranks, blocks of 10 operations, in turns.
std::string small_file(const TempDir& dir, std::uint64_t blocks = 6) {
  TraceHeader h;
  h.ranks = 2;
  auto w = TraceWriter::create(dir.path("small.weft"), h);
  EXPECT_TRUE(w);
  for (std::uint64_t i = 0; i < blocks; ++i) {
    OpBlock b;
    b.rank = RankId(static_cast<std::uint32_t>(i % 2));
    b.first_op = i / 2 * 10;
    for (std::int32_t k = 0; k < 10; ++k)
      b.ops.push_back(Op{.kind = i % 2 == 0 ? OpKind::send : OpKind::recv,
                         .peer = static_cast<std::int32_t>(1 - i % 2),
                         .tag = k,
                         .amount = 100 + k});
    w->append(b);
  }
  EXPECT_TRUE(w->finish());
  return slurp(dir.path("small.weft"));
}

struct FrameAt {
  std::size_t offset;
  FrameHeader header;
  [[nodiscard]] std::size_t end() const { return offset + sizeof header + header.stored_bytes; }
};
std::vector<FrameAt> frames_of(const std::string& file) {
  std::vector<FrameAt> out;
  for (std::size_t at = format::kFileHeaderBytes; at + format::kTrailerBytes < file.size();) {
    FrameAt f{at, {}};
    std::memcpy(&f.header, file.data() + at, sizeof f.header);
    at = f.end();
    out.push_back(f);
  }
  return out;
}

// Operations that a salvage of `bytes` gives, both ranks together; -1 if it is refused.
std::int64_t salvaged_ops(const TempDir& dir, const std::string& bytes) {
  auto t = open_trace_with({dir.write("cut.weft", bytes)}, {"weft", true});
  if (!t) return -1;
  std::int64_t n = 0;
  for (std::uint32_t r = 0; r < 2; ++r) n += static_cast<std::int64_t>(read_rank(**t, r)->size());
  EXPECT_EQ((*t)->totals().ops, static_cast<std::uint64_t>(n));
  return n;
}

TEST(MalformedWeft, FilesThatAreNoTraceAtAll) {
  const TempDir dir;
  EXPECT_EQ(
      error_of(dir, ""),
      "F@byte 0x0: error: the file is too short for a .weft trace; got \"0 bytes\"; expected at least 16");
  EXPECT_EQ(
      error_of(dir, "\x89WEFT"),
      "F@byte 0x5: error: the file is too short for a .weft trace; got \"5 bytes\"; expected at least 16");
  // What a transfer in text mode makes of the magic.
  std::string text = small_file(dir);
  text.erase(5, 1);
  EXPECT_EQ(
      error_of(dir, text),
      "F@byte 0x0: error: not a .weft trace: wrong first bytes; got \"89 57 45 46 54 0a 1a 01\"; expected "
      "89 57 45 46 54 0d 0a 1a");
  EXPECT_EQ(open_trace({dir.path("")}, "weft").error().message(),
            dir.path("") + ": error: not a regular file; expected a .weft file");
  EXPECT_EQ(open_trace({dir.path("none.weft")}, "weft").error().message(),
            dir.path("none.weft") + ": error: cannot open: No such file or directory");
}

TEST(MalformedWeft, ANewerMinorVersionOpensAndANewerMajorDoesNot) {
  const TempDir dir;
  std::string f = small_file(dir);
  f[10] = 9;
  EXPECT_EQ(error_of(dir, f), "no error");
  f[8] = 2;
  EXPECT_EQ(error_of(dir, f),
            "F@byte 0x8: error: the trace has another major version of the format; got \"2\"; expected 1");
  EXPECT_EQ(open_trace({dir.path("bad.weft")}).error().code, ErrorCode::kNotSupported);
}

TEST(MalformedWeft, ACutNamesTheByteWhereTheWholeBlocksEndAndSalvageReadsThem) {
  const TempDir dir;
  const std::string f = small_file(dir);
  const auto frames = frames_of(f);
  ASSERT_EQ(frames.size(), 8u);  // header, 6 blocks, index
  // After k blocks: at their end, inside the next frame's header, inside its payload.
  for (std::size_t k = 0; k <= 6; ++k) {
    const std::size_t whole = frames[k].end();
    for (const std::size_t more : {std::size_t{0}, std::size_t{7}, sizeof(FrameHeader) + 3}) {
      const std::size_t size = whole + more;
      EXPECT_EQ(error_of(dir, f.substr(0, size)),
                "F@byte " + hex(whole) + " (record " + std::to_string(k + 1) +
                    "): error: the trace is cut off or damaged at its end; got \"" + std::to_string(k) +
                    " whole blocks end at byte " + hex(whole) + ", the file at " + hex(size) +
                    "\"; expected an index and a trailer; --salvage reads the whole blocks");
      EXPECT_EQ(salvaged_ops(dir, f.substr(0, size)), static_cast<std::int64_t>(10 * k));
    }
  }
  // Only the trailer is missing, or it is another file's.
  EXPECT_TRUE(
      error_of(dir, f.substr(0, f.size() - format::kTrailerBytes))
          .starts_with("F@byte " + hex(frames[7].offset) + " (record 7): error: the trace is cut off"));
  EXPECT_EQ(salvaged_ops(dir, f.substr(0, f.size() - 1)), 60);
  EXPECT_EQ(salvaged_ops(dir, f + "x"), 60);
  // Not even a header.
  EXPECT_EQ(
      error_of(dir, f.substr(0, 30), true),
      "F@byte 0x10 (record 0): error: the file ends inside a frame header; got \"14 bytes\"; expected 40");
}

TEST(MalformedWeft, AFlippedBitInABlockNamesByteRecordAndRank) {
  const TempDir dir;
  std::string f = small_file(dir);
  const auto frames = frames_of(f);
  f[frames[4].end() - 1] ^= 4;  // the fourth block: rank 1's second
  const std::string m = error_of(dir, f);
  EXPECT_TRUE(
      m.starts_with("F@byte " + hex(frames[4].offset) +
                    " (record 4, rank 1): error: the checksum of the frame does not match: the file is "
                    "damaged; got \""))
      << m;
  auto t = open_trace({dir.path("bad.weft")});
  EXPECT_EQ(read_rank(**t, 0)->size(), 30u) << "the other rank is whole";
  OpBlock b;
  EXPECT_TRUE(*(*t)->next_block(RankId(1), b));
  EXPECT_FALSE((*t)->next_block(RankId(1), b));
}

TEST(MalformedWeft, EveryFlippedBitOfASmallFileIsDetectedOrChangesNothing) {
  const TempDir dir;
  const std::string good = small_file(dir, 2);
  const std::string path = dir.write("good.weft", good);
  std::vector<std::vector<PlainOp>> want;
  {
    auto t = open_trace({path});
    for (std::uint32_t r = 0; r < 2; ++r) want.push_back(*read_rank(**t, r));
  }
  std::size_t unseen = 0;
  std::string bad = good;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    auto t = open_trace({dir.write("bad.weft", bad)}, "weft");
    bool seen = !t;
    for (std::uint32_t r = 0; r < 2 && !seen; ++r) {
      auto ops = read_rank(**t, r);
      seen = !ops;
      if (ops) {
        ASSERT_EQ(*ops, want[r]) << "bit " << bit;
      }
    }
    if (!seen) {
      // Only the minor version and the four reserved bytes are free to change.
      EXPECT_TRUE(bit / 8 >= 10 && bit / 8 < 16) << "byte " << bit / 8;
      ++unseen;
    }
    bad[bit / 8] = good[bit / 8];
  }
  EXPECT_EQ(unseen, 48u);
}

TEST(MalformedWeft, AWrongChecksumInTheHeaderFrameIsNamedToo) {
  const TempDir dir;
  std::string f = small_file(dir);
  f[format::kFileHeaderBytes + sizeof(FrameHeader)] ^= 1;
  EXPECT_TRUE(
      error_of(dir, f).starts_with("F@byte 0x10 (record 0): error: the checksum of the frame does not match: "
                                   "the file is damaged; got \""));
}

// In one block or over the end of one; every verb reads its operations here.
TEST(MalformedWeft, HalfASendrecvIsRefusedByRankAndOperation) {
  const TempDir dir;
  const Op send{.kind = OpKind::sendrecv, .peer = 1, .amount = 8}, other{.kind = OpKind::recv, .peer = 1},
      half{.kind = OpKind::recv, .flags = kPairedRecv, .peer = 1, .amount = 8};
  const auto outcome = [&](const std::vector<std::vector<Op>>& blocks) {
    TraceHeader header;
    header.ranks = 2;
    auto w = TraceWriter::create(dir.path("t.weft"), header);
    OpBlock b;
    b.rank = RankId(0);
    for (const auto& ops : blocks) {
      b.ops.assign(ops.begin(), ops.end());
      w->append(b);
      b.first_op += ops.size();
    }
    EXPECT_TRUE(w->finish());
    auto t = open_trace({dir.path("t.weft")});
    EXPECT_TRUE(t);
    std::string first;
    for (int pass = 0; pass < 2; ++pass) {  // rewound, it is the same
      (*t)->rewind();
      std::string message = "whole";
      Result<bool> more = true;
      while (more && *more) more = (*t)->next_block(RankId(0), b);
      if (!more) message = more.error().message().substr(dir.path("t.weft").size());
      EXPECT_TRUE(pass == 0 || message == first);
      first = message;
      b = {};
    }
    return first;
  };
  EXPECT_EQ(outcome({{other, send, half}}), "whole");
  EXPECT_EQ(outcome({{other, send}, {half, send}, {half}}), "whole");
  using ::testing::MatchesRegex;
  const auto lone = [](int op) {
    return MatchesRegex("@byte 0x[0-9a-f]+ \\(record [0-9]+, rank 0\\), operation " + std::to_string(op) +
                        ": error: a sendrecv without its receive half");
  };
  EXPECT_THAT(outcome({{other, send}}), lone(1));
  EXPECT_THAT(outcome({{other, send, other}}), lone(1));
  EXPECT_THAT(outcome({{send}, {other}}), lone(0));
  EXPECT_THAT(outcome({{send, half, send}, {send, half}}), lone(2));
  EXPECT_THAT(outcome({{other}, {half}}),
              ::testing::HasSubstr("operation 1: error: a receive half without its sendrecv"));
}

TEST(MalformedWeft, HostileLengthsAreRefusedBeforeAnythingIsAllocated) {
  const TempDir dir;
  const std::string f = small_file(dir);
  const auto frames = frames_of(f);
  const FrameAt& victim = frames[3];
  const auto with = [&](auto change) {
    std::string bad = f;
    FrameHeader h = victim.header;
    change(h);
    h.checksum = format::frame_checksum(
        h, std::string_view(f).substr(victim.offset + sizeof h, victim.header.stored_bytes));
    std::memcpy(bad.data() + victim.offset, &h, sizeof h);
    return bad;
  };
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  const std::string where = "F@byte " + hex(victim.offset) + " (record 3, rank 0): error: ";
  const std::size_t room = f.size() - victim.offset - sizeof(FrameHeader);
  EXPECT_EQ(error_of(dir, with([](FrameHeader& h) { h.stored_bytes = 0xffffffffu; })),
            where + "the frame is longer than the file; got \"4294967295 bytes\"; expected at most " +
                std::to_string(room));
  EXPECT_EQ(
      error_of(dir, with([](FrameHeader& h) { h.raw_bytes = 0xffffffffu; })),
      where +
          "the frame claims to unpack to more than a frame may hold; got \"4294967295 bytes\"; expected "
          "at most " +
          std::to_string(256 * 1024 + 1024 * victim.header.stored_bytes + 40 * 2 * 10));
  EXPECT_EQ(error_of(dir, with([](FrameHeader& h) { h.raw_bytes = 1u << 18; })),
            where + "the frame's length contradicts its compressed content; got \"262144 bytes\"; expected " +
                std::to_string(victim.header.raw_bytes));
  EXPECT_EQ(error_of(dir, with([](FrameHeader& h) { h.ops = 11; })),
            where +
                "the index points to another block than this one; got \"11 operations of rank 0 from 10\"; "
                "expected 10 operations of rank 0 from 10");
  EXPECT_EQ(error_of(dir, with([](FrameHeader& h) { h.compression = 7; })),
            where + "unknown compression method; got \"7\"; expected 1 (zstd)");
  // A header frame that claims 16 million ranks (field 1, varint) in a file of a hundred bytes.
  FrameHeader h;
  h.type = static_cast<std::uint8_t>(FrameType::kHeader);
  const std::string ranks("\x08\x80\x80\x80\x08", 5);
  h.raw_bytes = static_cast<std::uint32_t>(ranks.size());
  const std::string many = f.substr(0, format::kFileHeaderBytes) + frame(h, ranks);
  EXPECT_EQ(error_of(dir, many, true),
            "F@byte 0x10 (record 0): error: the file is too small for so many ranks; got \"16777216 ranks\"; "
            "expected at most 65536");
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 8 * 1024) << "KB";
}

TEST(MalformedWeft, AnIndexThatPointsOutsideOrElsewhereIsRefused) {
  const TempDir dir;
  const std::string f = small_file(dir);
  const auto frames = frames_of(f);
  const std::size_t index_at = frames[7].offset;
  const std::string body = f.substr(0, index_at);
  // The trailer points past the end, or to a block.
  const std::size_t size = f.size();
  const std::string head = f.substr(0, size - format::kTrailerBytes);
  EXPECT_EQ(
      error_of(dir, head + trailer(1u << 30, size)),
      "F@byte " + hex(size) + ": error: the file ends inside a frame header; got \"0 bytes\"; expected 40");
  EXPECT_EQ(error_of(dir, head + trailer(frames[2].offset, size)),
            "F@byte " + hex(frames[2].offset) + ": error: index: the trailer does not point to one");
  // An index (fields: trace.proto) with offsets of our choice; blocks_of_rank, offset_delta, block_ops.
  const auto zigzag = [](std::int64_t v) {
    auto u = static_cast<std::uint64_t>(v) << 1 ^ static_cast<std::uint64_t>(v >> 63);
    std::string s;
    do {
      s += static_cast<char>(u >= 0x80 ? u | 0x80 : u);
      u >>= 7;
    } while (u != 0);
    return s;
  };
  const auto with_index = [&](const std::string& delta) {
    std::string m("\x10\x0a\x2a\x02\x01\x00\x32", 7);  // ops = 10; one block of rank 0, none of rank 1
    m += static_cast<char>(delta.size());
    m += delta + std::string("\x3a\x01\x0a", 3);
    FrameHeader h;
    h.type = static_cast<std::uint8_t>(FrameType::kIndex);
    h.raw_bytes = static_cast<std::uint32_t>(m.size());
    const std::string x = body + frame(h, m);
    return x + trailer(index_at, x.size() + format::kTrailerBytes);
  };
  const std::string at = "F@byte " + hex(index_at) + ": error: index: ";
  EXPECT_EQ(error_of(dir, with_index(zigzag(1 << 20))),
            at + "a block lies outside the file; got \"byte 0x100000\"; expected " + hex(frames[1].offset) +
                " to " + hex(index_at - 1));
  EXPECT_EQ(error_of(dir, with_index(zigzag(-5))),
            at + "a block lies outside the file; got \"byte 0xfffffffffffffffb\"; expected " +
                hex(frames[1].offset) + " to " + hex(index_at - 1));
  EXPECT_EQ(error_of(dir, with_index(zigzag(static_cast<std::int64_t>(frames[2].offset)))),
            "F@byte " + hex(frames[2].offset) +
                " (record 1, rank 0): error: the index points to another block than this one; got \"10 "
                "operations of "
                "rank 1 from 0\"; expected 10 operations of rank 0 from 0");
  EXPECT_TRUE(error_of(dir, with_index(zigzag(static_cast<std::int64_t>(frames[1].offset) + 3)))
                  .starts_with("F@byte " + hex(frames[1].offset + 3) +
                               " (record 1, rank 0): error: no frame begins here; got \"0x"));
}

}  // namespace
}  // namespace weft::traces
