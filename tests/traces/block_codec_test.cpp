// Blocks of operations against Protocol Buffers itself: the codec writes what it would serialize and reads what it would
// parse, row by row.
#include <cstring>

#include "tests/traces/frame_testing.hpp"
#include "traces/weft/block_codec.hpp"
#include "traces/weft/trace.pb.h"
#include "traces/weft/wire.hpp"

namespace weft::traces::block_codec_test {
namespace {

using namespace testing;

constexpr std::uint32_t kRanks = 5;
constexpr std::size_t kRegions = 3;

struct World {
  std::vector<Communicator> communicators{{"world", {0, 1, 2, 3, 4}}, {"split1", {3, 1}}};
  OpLimits limits{kRanks, &communicators, kRegions};
  KernelNumbers kernels = KernelNumbers::of({kKernelNames.begin(), kKernelNames.end()}).value();
};

// Operations of a few kinds, so that columns are long, of all kinds in every fourth block.
OpBlock random_block(Rng& rng, const OpLimits& limits) {
  OpBlock b;
  std::vector<OpKind> kinds;
  for (std::size_t k = rng.below(4) == 0 ? kOpKindCount : 1 + rng.below(4); k > 0; --k)
    kinds.push_back(static_cast<OpKind>(rng.below(kOpKindCount)));
  const std::size_t n = 1 + rng.below(rng.below(3) == 0 ? kMaxBlockOps : 60);
  // Values of a length each for a while, as real columns have them.
  unsigned bits = 1;
  for (std::size_t i = 0; i < n; ++i) {
    if (rng.below(40) == 0) bits = static_cast<unsigned>(1 + rng.below(62));
    Op op = random_op(rng, kinds[rng.below(kinds.size())], limits, b);
    if (rules_of(op.kind).amount == AmountUnit::kBytes)
      op.amount = static_cast<std::int64_t>(rng.next() >> (64 - bits));
    b.ops.push_back(op);
  }
  return b;
}

// The rows of a message, one after the other, each from the values that Protocol Buffers gives.
std::vector<PlainOp> rows_of(const pb::OpBlock& m) {
  struct Cursor {
    int n = 0, value = 0;
  };
  std::vector<Cursor> cursors(static_cast<std::size_t>(m.groups_size()));
  std::vector<PlainOp> out;
  for (const char c : m.group_of()) {
    const pb::OpGroup& g = m.groups(static_cast<unsigned char>(c));
    Cursor& at = cursors[static_cast<unsigned char>(c)];
    const int i = at.n++;
    PlainOp p;
    p.op.kind = static_cast<OpKind>(g.kind());
    p.op.flags = static_cast<std::uint8_t>(g.flags());
    p.op.comm = CommId(g.comm());
    p.op.peer = g.peers_size() > 0 ? g.peers(i) : g.peer();
    p.op.tag = g.tags_size() > 0 ? g.tags(i) : g.tag();
    p.op.amount = g.amounts_size() > 0        ? g.amounts(i)
                  : g.real_amounts_size() > 0 ? std::bit_cast<std::int64_t>(g.real_amounts(i))
                                              : g.amount();
    if (g.amount_coding() == pb::OpGroup::WHOLE_DOUBLE)
      p.op.amount = std::bit_cast<std::int64_t>(static_cast<double>(p.op.amount));
    p.op.request = (g.requests_size() > 0 ? g.requests(i) : g.request()) - 1;
    const std::uint32_t code = g.list_sizes_size() > 0 ? g.list_sizes(i) : g.list_size();
    p.has_list = code != 0;
    for (std::uint32_t k = 1; k < code; ++k) p.list.push_back(g.list_values(at.value++));
    out.push_back(p);
  }
  return out;
}

TEST(BlockCodec, WhatIsWrittenIsWhatProtocolBuffersWouldSerialize) {
  const World world;
  BlockEncoder encoder;
  BlockDecoder decoder;
  for (std::uint64_t seed = seed_or(1), i = 0; i < 300; ++i, ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    const OpBlock block = random_block(rng, world.limits);
    const std::vector<PlainOp> want = plain(block);
    std::vector<PlainOp> parsed, decoded;
    std::string raw;
    OpBlock out;
    for (std::size_t at = 0; at < block.ops.size();) {
      const std::size_t end = encoder.encode(block, at, raw);
      pb::OpBlock m;
      ASSERT_TRUE(m.ParseFromString(raw));
      ASSERT_EQ(m.SerializeAsString(), raw);
      for (auto& p : rows_of(m)) parsed.push_back(std::move(p));
      const auto ok =
          decoder.decode(raw, static_cast<std::uint32_t>(end - at), world.limits, world.kernels, out);
      ASSERT_TRUE(ok) << ok.error().message();
      for (auto& p : plain(out)) decoded.push_back(std::move(p));
      at = end;
    }
    ASSERT_EQ(parsed, want);
    ASSERT_EQ(decoded, want);
  }
}

std::string field(std::uint32_t number, WireType type) {
  return varint(number << 3 | static_cast<std::uint32_t>(type));
}

// A field that no version has, of each wire type.
std::string unknown_field(Rng& rng) {
  const auto number = static_cast<std::uint32_t>(17 + rng.below(100'000));
  switch (rng.below(4)) {
    case 0:
      return field(number, WireType::kVarint) + varint(rng.next());
    case 1:
      return field(number, WireType::kFixed64) + "12345678";
    case 2:
      return field(number, WireType::kFixed32) + "1234";
    default:
      return bytes_field(number, std::string(rng.below(20), '\xff'));
  }
}

// The same group otherwise: a column as single values, in pieces, or packed; numbers that are overruled later; fields that are
// not known, and known ones of another type.
std::string written_otherwise(const std::string& group, Rng& rng) {
  std::string out;
  WireScanner in(group);
  while (in.next()) {
    if (rng.below(3) == 0) out += unknown_field(rng);
    if (rng.below(8) == 0) out += field(in.field(), WireType::kFixed32) + "abcd";
    const std::string value(in.value());
    if (in.type() != WireType::kBytes) {
      out += field(in.field(), in.type()) + varint(rng.next());
      out += field(in.field(), in.type()) + value;
      continue;
    }
    const bool real = in.field() == pb::OpGroup::kRealAmountsFieldNumber;
    std::vector<std::string> values(1);
    for (const char c : value) {
      values.back() += c;
      if (real ? values.back().size() == 8 : static_cast<unsigned char>(c) < 0x80) values.emplace_back();
    }
    values.pop_back();
    for (std::size_t i = 0; i < values.size();) {
      if (rng.below(2) == 0) {
        out += field(in.field(), real ? WireType::kFixed64 : WireType::kVarint) + values[i++];
        continue;
      }
      std::string piece;
      for (std::size_t n = rng.below(30); n > 0 && i < values.size(); --n) piece += values[i++];
      out += bytes_field(in.field(), piece);
    }
  }
  EXPECT_TRUE(in.ok());
  return out;
}

TEST(BlockCodec, ColumnsInPiecesAndFieldsThatAreNotKnownChangeNothing) {
  const World world;
  BlockDecoder decoder;
  for (std::uint64_t seed = seed_or(1), i = 0; i < 200; ++i, ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    const OpBlock block = random_block(rng, world.limits);
    std::string raw;
    const auto n = static_cast<std::uint32_t>(BlockEncoder().encode(block, 0, raw));
    std::string other;
    WireScanner in(raw);
    std::string group_of;
    while (in.next()) {
      if (in.field() == pb::OpBlock::kGroupOfFieldNumber)
        group_of = std::string(in.bytes());
      else
        other += unknown_field(rng) + bytes_field(2, written_otherwise(std::string(in.bytes()), rng));
    }
    other += bytes_field(1, "\x01") + bytes_field(1, group_of);
    OpBlock out;
    const auto ok = decoder.decode(other, n, world.limits, world.kernels, out);
    ASSERT_TRUE(ok) << ok.error().message();
    auto want = plain(block);
    want.resize(n);
    ASSERT_EQ(plain(out), want);
  }
}

TEST(BlockCodec, AChangedByteIsRefusedOrReadAsProtocolBuffersReadsIt) {
  const World world;
  BlockDecoder decoder;
  std::size_t accepted = 0;
  for (std::uint64_t seed = seed_or(1), i = 0; i < 3000; ++i, ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    OpBlock block = random_block(rng, world.limits);
    if (block.ops.size() > 60) block.ops.resize(60);
    std::string raw;
    const auto n = static_cast<std::uint32_t>(BlockEncoder().encode(block, 0, raw));
    for (std::size_t k = 1 + rng.below(3); k > 0; --k)
      raw[rng.below(raw.size())] = static_cast<char>(rng.next());
    OpBlock out;
    if (!decoder.decode(raw, n, world.limits, world.kernels, out)) continue;
    ++accepted;
    pb::OpBlock m;
    ASSERT_TRUE(m.ParseFromString(raw));
    ASSERT_EQ(plain(out), rows_of(m));
    for (const Op& op : out.ops) ASSERT_EQ(op_fault(op, out.list(op), world.limits), nullptr);
  }
  EXPECT_GT(accepted, 100u);
}

TEST(BlockCodec, ASendToAnySourceIsRefused) {
  const World world;
  for (const bool column : {false, true})
    for (const OpKind kind : {OpKind::send, OpKind::isend, OpKind::recv}) {
      OpBlock b;
      b.ops = {{.kind = kind, .peer = kAnySource, .request = 0},
               {.kind = kind, .peer = column ? 1 : kAnySource, .request = 0}};
      std::string raw;
      ASSERT_EQ(BlockEncoder().encode(b, 0, raw), 2u);
      OpBlock out;
      const auto ok = BlockDecoder().decode(raw, 2, world.limits, world.kernels, out);
      EXPECT_EQ(
          ok ? "" : ok.error().message(),
          kind == OpKind::recv ? "" : "error: peer is not a rank of the trace; got \"-1\"; expected 0 to 4");
    }
}

TEST(Wire, ColumnsOfEveryMixtureOfLengthsAreUnpacked) {
  for (std::uint64_t seed = seed_or(1), i = 0; i < 2000; ++i, ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    std::vector<std::uint64_t> want(rng.below(100));
    std::string column;
    unsigned bits = 1;
    for (std::uint64_t& v : want) {
      if (rng.below(12) == 0) bits = static_cast<unsigned>(1 + rng.below(rng.below(2) == 0 ? 14 : 64));
      v = rng.next() >> (64 - bits);
      column += varint(v);
    }
    const std::size_t n = want.size();
    std::vector<std::int64_t> wide(n + 1);
    std::vector<std::int32_t> narrow(n + 1);
    std::vector<std::uint32_t> plain_values(n + 1);
    ASSERT_EQ(count_varints(column), n);
    ASSERT_EQ(unpack_sint64(column, wide.data(), n), Unpacked::kAll);
    ASSERT_EQ(unpack_sint32(column, narrow.data(), n), Unpacked::kAll);
    ASSERT_EQ(unpack_uint32(column, plain_values.data(), n), Unpacked::kAll);
    for (std::size_t k = 0; k < n; ++k) {
      const std::uint64_t half = want[k] / 2;
      ASSERT_EQ(wide[k],
                want[k] % 2 == 0 ? static_cast<std::int64_t>(half) : -static_cast<std::int64_t>(half) - 1);
      const auto low = static_cast<std::uint32_t>(want[k]);
      ASSERT_EQ(narrow[k],
                low % 2 == 0 ? static_cast<std::int32_t>(low / 2) : -static_cast<std::int32_t>(low / 2) - 1);
      ASSERT_EQ(plain_values[k], low);
    }
    ASSERT_EQ(unpack_sint64(column, wide.data(), n + 1), Unpacked::kOtherCount);
    if (n == 0) continue;
    ASSERT_EQ(unpack_sint64(column, wide.data(), n - 1), Unpacked::kOtherCount);
    // One that does not end, at the end or in the middle.
    ASSERT_EQ(unpack_sint64(column + '\x80', wide.data(), n), Unpacked::kMalformed);
    const std::string endless = std::string(10, '\xff') + '\0' + column;
    ASSERT_EQ(unpack_sint64(endless, wide.data(), n + 1), Unpacked::kMalformed);
    ASSERT_EQ(unpack_sint32(column + std::string(10, '\xff') + '\0' + column,
                            std::vector<std::int32_t>(2 * n + 1).data(), 2 * n + 1),
              Unpacked::kMalformed);
  }
}

}  // namespace
}  // namespace weft::traces::block_codec_test
