// .weft files that are correct byte for byte and say what no trace says: kernels that nobody knows, blocks of nothing,
// definitions that would fill the machine.
#include <bit>

#include "tests/traces/address_limit.hpp"
#include "tests/traces/frame_testing.hpp"
#include "traces/check/check.hpp"
#include "traces/info.hpp"
#include "traces/kernel.hpp"
#include "traces/weft/block_codec.hpp"

namespace weft::traces {
namespace {

using namespace testing;
using format::FrameType;

// A block of `ops` calls of kernel number `kernel`, and one of a series with it.
std::string kernel_block(std::int64_t kernel) {
  OpBlock b;
  const std::vector<std::int64_t> call = {kernel, 10, 20, 30};
  const std::vector<std::int64_t> series = {64, 2, 1, 1, kernel, 9, -1, 8, 0, 1, 0};
  b.ops = {
      {.kind = OpKind::compute_kernel, .amount = std::bit_cast<std::int64_t>(4.0), .extra = b.add_list(call)},
      {.kind = OpKind::exchange_series, .peer = 0, .amount = 8, .extra = b.add_list(series)}};
  std::string out;
  EXPECT_EQ(BlockEncoder().encode(b, 0, out), 2u);
  return out;
}
std::string names(const std::vector<std::string>& kernels) {
  std::string m;
  for (const auto& k : kernels) m += bytes_field(5, k);
  return m;
}

TEST(HostileWeft, AKernelNumberThatTheFileDoesNotNameIsRefusedAtItsBlock) {
  const TempDir dir;
  for (const auto& [definitions, first_bad] :
       {std::pair<std::string, std::int64_t>{"", 22}, {names({"dgemm", "daxpy"}), 2}}) {
    for (const std::int64_t bad : {first_bad, std::int64_t{99}, std::int64_t{-1}, INT64_MAX}) {
      const std::string m = error_of(dir, whole_file(definitions, {kernel_block(0), kernel_block(bad)}, 2));
      EXPECT_TRUE(m.starts_with("F@byte 0x")) << m;
      EXPECT_NE(m.find(", rank 1): error: unknown kernel; got \"" + std::to_string(bad) +
                       "\"; expected a number from 0 to " + std::to_string(first_bad - 1)),
                std::string::npos)
          << m;
    }
    EXPECT_EQ(error_of(dir, whole_file(definitions, {kernel_block(first_bad - 1)}, 2)), "no error");
  }
}

TEST(HostileWeft, KernelsOfAFileAreThoseOfItsNamesWhateverTheirOrder) {
  const TempDir dir;
  const std::string file = whole_file(names({"dfuture", "dtrsv", "dgemm"}),
                                      {kernel_block(1), kernel_block(2), kernel_block(0)}, 2);
  for (const bool salvage : {false, true}) {
    auto t = open_trace_with({dir.write("names.weft", file)}, {"weft", salvage});
    ASSERT_TRUE(t) << t.error().message();
    const auto trsv = read_rank(**t, 0), gemm = read_rank(**t, 1);
    ASSERT_TRUE(trsv && gemm);
    for (const auto& [got, want] : {std::pair{&*trsv, Kernel::dtrsv}, {&*gemm, Kernel::dgemm}}) {
      EXPECT_EQ((*got)[0].list, (std::vector<std::int64_t>{static_cast<std::int64_t>(want), 10, 20, 30}));
      EXPECT_EQ((*got)[1].list[4], static_cast<std::int64_t>(want));
      EXPECT_EQ((*got)[1].list[5], 9);
    }
    // What only a newer version knows is an error where it is met, and nowhere else.
    const auto future = read_rank(**t, 2);
    ASSERT_FALSE(future);
    EXPECT_EQ(future.error().code, ErrorCode::kNotSupported);
    EXPECT_NE(future.error().message().find(", rank 2): error: the kernel belongs to a newer version of the "
                                            "format; got \"dfuture\"; expected one"
                                            " of dgemm, dtrsm_left, "),
              std::string::npos)
        << future.error().message();
  }
}

TEST(HostileWeft, AWrittenFileNamesItsKernelsAndOneWithoutKernelsNamesNone) {
  const TempDir dir;
  for (const bool kernels : {true, false}) {
    TraceHeader h;
    h.ranks = 1;
    auto w = TraceWriter::create(dir.path("t.weft"), h);
    OpBlock b;
    b.rank = RankId(0);
    const std::vector<std::int64_t> call = {static_cast<std::int64_t>(Kernel::dlaswp), 3, 4, 1};
    if (kernels)
      b.ops.push_back({.kind = OpKind::compute_kernel, .extra = b.add_list(call)});
    else
      b.ops.push_back({.kind = OpKind::compute_flops});
    w->append(b);
    ASSERT_TRUE(w->finish());
    // Its definitions, in a frame before the block, are unpacked and looked at here, not by the reader.
    const std::string file = slurp(dir.path("t.weft"));
    format::FrameHeader first;
    std::memcpy(&first, file.data() + format::kFileHeaderBytes, sizeof first);
    const std::size_t at = format::kFileHeaderBytes + sizeof first + first.stored_bytes;
    format::FrameHeader second;
    std::memcpy(&second, file.data() + at, sizeof second);
    std::string raw(second.raw_bytes, '\0');
    ASSERT_EQ(ZSTD_decompress(raw.data(), raw.size(), file.data() + at + sizeof second, second.stored_bytes),
              raw.size());
    if (!kernels) {
      EXPECT_EQ(second.type, static_cast<std::uint8_t>(FrameType::kOps));
      continue;
    }
    ASSERT_EQ(second.type, static_cast<std::uint8_t>(FrameType::kDefinitions));
    std::string want;
    for (const auto name : kKernelNames) want += bytes_field(5, std::string(name));
    EXPECT_NE(raw.find(want), std::string::npos);
    const auto t = open_trace({dir.path("t.weft")});
    ASSERT_TRUE(t);
    EXPECT_EQ(read_rank(**t, 0)->at(0).list, call);
  }
}

TEST(HostileWeft, ABlockOfNoOperationsIsRefusedInASalvageAndByTheIndex) {
  const TempDir dir;
  const std::string file =
      file_start() + frame_of(FrameType::kHeader, "\x08\x01") + frame_of(FrameType::kOps, "", 0, 0);
  const std::string m = error_of(dir, file, true);
  EXPECT_TRUE(m.starts_with("F@byte 0x") && m.ends_with("(record 1): error: the block has no operation"))
      << m;
  EXPECT_NE(error_of(dir, whole_file("", {""}, 0)).find("error: "), std::string::npos);
}

// Opens, scans and checks; the first error.
std::string cost_of(const std::string& path, bool salvage) {
  auto t = open_trace_with({path}, {"weft", salvage});
  if (!t) return t.error().message();
  if (auto info = scan_trace(**t); !info) return info.error().message();
  if (auto found = check_trace(**t); !found) return found.error().message();
  return "no error";
}

// Every file here is a few kilobytes, and each would be gigabytes if what it lists were made.
TEST(HostileWeft, ASmallFileCostsLittleWhateverItClaims) {
  const TempDir dir;
  const auto repeat = [](const std::string& s, std::size_t n) {
    std::string out;
    out.reserve(s.size() * n);
    while (n-- > 0) out += s;
    return out;
  };
  const auto file = [](FrameType type, const std::string& message, std::uint32_t ops = 0) {
    std::string f =
        file_start() + frame_of(FrameType::kHeader, type == FrameType::kHeader ? message : "\x08\x03");
    if (type == FrameType::kIndex) {
      const std::uint64_t at = f.size();
      f += frame_of(type, message);
      return f + trailer(at, f.size() + format::kTrailerBytes);
    }
    return type == FrameType::kHeader
               ? f
               : f + frame_of(type, message, type == FrameType::kOps ? 0 : format::kNoRank, ops);
  };
  constexpr std::size_t kMany = 1'900'000;
  const std::string too_many =
      "error: communicators, regions and kernels are too many for a file of this size; expected at most ";
  const std::string empty_group = bytes_field(2, "");
  // A world of 65,536 ranks over and over: two bytes each.
  const std::string worlds =
      file_start() + frame_of(FrameType::kHeader, "\x08\x80\x80\x04") +
      frame_of(FrameType::kDefinitions, "\x08\x01" + repeat(bytes_field(2, "\x28\x01"), 100'000));
  struct Bomb {
    std::string file, error;
    bool salvage = true;
  };
  const Bomb bombs[] = {
      {file(FrameType::kDefinitions, "\x08\x01" + repeat(bytes_field(2, ""), kMany)), too_many},
      {file(FrameType::kDefinitions, repeat(bytes_field(4, ""), kMany)), too_many},
      {file(FrameType::kDefinitions, repeat(bytes_field(5, ""), kMany)), too_many},
      {worlds, too_many},
      {file(FrameType::kDefinitions, repeat(bytes_field(2, ""), 30'000'000)),
       "error: the trace is cut off or damaged at its end; got \"0 whole blocks", false},
      {file(FrameType::kHeader, "\x08\x03" + repeat(bytes_field(2, ""), kMany)),
       "error: the header names a host for some ranks only"},
      {file(FrameType::kHeader, "\x08\x03" + repeat(bytes_field(8, ""), kMany)),
       "error: the header has too many notes"},
      {file(FrameType::kIndex, bytes_field(6, repeat("\x01", kMany)) + bytes_field(7, repeat("\x01", kMany)) +
                                   bytes_field(5, "\x01\x01\x01")),
       "error: index: it lists more blocks than the file has room for", false},
      {file(FrameType::kIndex, repeat(bytes_field(2, ""), 30'000'000)),
       "error: the frame claims to unpack to more than a frame may hold", false},
      {file(FrameType::kIndex, bytes_field(1, "\x08\x01" + repeat(bytes_field(2, ""), kMany))), too_many,
       false},
      {file(FrameType::kOps, repeat(empty_group, 130'000), 1), "error: the block is not an OpBlock message"},
      {file(FrameType::kOps, repeat(empty_group, 8'000'000), 1),
       "error: the trace is cut off or damaged at its end; got \"0 whole blocks", false},
  };
  for (const Bomb& b : bombs) {
    const std::string path = dir.write("bomb.weft", b.file);
    EXPECT_LT(b.file.size(), 40'000u) << b.error;
    ASSERT_TRUE(within(48u << 20, [&] {
      const std::string got = cost_of(path, true);
      return got.find("error: ") != std::string::npos || got == "no error";
    })) << b.error;
    const std::string got = cost_of(path, b.salvage);
    EXPECT_NE(got.find(b.error), std::string::npos) << got;
    EXPECT_NE(got.find("@byte 0x"), std::string::npos) << got;
  }
}

TEST(HostileWeft, ListsThatAllLookAlikeAreWrittenInBlocksThatAReaderBelieves) {
  const TempDir dir;
  TraceHeader h;
  h.ranks = 1;
  auto w = TraceWriter::create(dir.path("t.weft"), h);
  OpBlock b;
  b.rank = RankId(0);
  std::vector<std::int64_t> slots(600);
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = static_cast<std::int64_t>(i);
  for (std::size_t i = 0; i < kMaxBlockOps; ++i)
    b.ops.push_back({.kind = i % 2 == 0 ? OpKind::startall : OpKind::waitall, .extra = b.add_list(slots)});
  w->append(b);
  ASSERT_TRUE(w->finish());
  EXPECT_LT(fs::file_size(dir.path("t.weft")), 200'000u);
  auto t = open_trace({dir.path("t.weft")});
  ASSERT_TRUE(t) << t.error().message();
  const auto ops = read_rank(**t, 0);
  ASSERT_TRUE(ops) << ops.error().message();
  ASSERT_EQ(ops->size(), kMaxBlockOps);
  for (const PlainOp& op : *ops) ASSERT_EQ(op.list, slots);
}

}  // namespace
}  // namespace weft::traces
