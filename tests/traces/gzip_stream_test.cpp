// Damaged gzip files of every format that is read packed: zlib's own reader of files tells what is damage.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <zlib.h>

#include <memory>
#include <optional>

#include "core/rng.hpp"
#include "tests/traces/archive_testing.hpp"
#include "tests/traces/trace_testing.hpp"
#include "traces/formats.hpp"

namespace weft::traces {
namespace {

using namespace testing;
using ::testing::HasSubstr;

// One member; `comment` stands in its header.
std::string gzip(const std::string& text, int level = 9, const std::string& comment = {}) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, level, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&z, text.size()), '\0');
  std::string in = text;
  z.next_in = reinterpret_cast<Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  if (comment.empty()) return out;
  out[3] = 0x10;
  return out.insert(10, comment + '\0');
}

// What zlib reads of a file; nothing where it finds it damaged.
std::optional<std::string> witness(const std::string& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  std::string out;
  char piece[4096];
  int n = 0;
  while ((n = gzread(file.get(), piece, sizeof piece)) > 0) out.append(piece, static_cast<std::size_t>(n));
  int error = Z_OK;
  gzerror(file.get(), &error);
  if (n < 0 || error != Z_OK) return std::nullopt;
  return out;
}

using Ops = std::vector<std::vector<PlainOp>>;
Result<Ops> operations(const std::string& path) {
  Ops out;
  WEFT_ASSIGN(const auto t, open_trace({path}));
  for (std::uint32_t r = 0; r < t->header().ranks; ++r) {
    WEFT_ASSIGN(auto ops, read_rank(*t, r));
    out.push_back(std::move(ops));
  }
  return out;
}
std::string error_at(const TempDir& dir, const std::string& name) {
  const auto ops = operations(dir.path(name));
  if (ops) return "no error";
  std::string m = ops.error().message();
  return m.substr(m.starts_with(dir.path("")) ? dir.path("").size() : 0);
}

// Of two ranks, `n` computations each.
std::string lines(int rank, int n, Rng& rng) {
  std::string out;
  for (int i = 0; i < n; ++i) out += fmt::format("{} compute {}\n", rank, rng.below(1'000'000'000));
  return out;
}
std::string tar(const TempDir& dir, const std::vector<std::pair<std::string, std::string>>& files) {
  write_archive(dir.path("made.tar"), ARCHIVE_FILTER_NONE, files);
  return slurp(dir.path("made.tar"));
}

TEST(GzipStream, AFlippedBitIsAnErrorOrChangesNothing) {
  const TempDir dir;
  const std::uint64_t seed = seed_or(20261130);
  SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
  Rng rng(seed);
  const std::string a = lines(0, 40, rng), b = lines(1, 40, rng);
  std::string dim = "#DIMEMAS:\"two.dim\":0:2(1,1),0\n";
  for (int i = 0; i < 40; ++i) dim += fmt::format("1:{}:0:0.{:09}\n", i / 20, rng.below(1'000'000'000));
  const std::string tarred = tar(dir, {{"rank-0.txt", a}, {"rank-1.txt", b}});
  const std::string large = tarred + std::string(200'000, '\0');  // padding behind its end
  struct Case {
    std::string name, text, packed;
  };
  for (const Case& c : {Case{"t.txt.gz", a + b, gzip(a + b)}, Case{"two.gz", a + b, gzip(a) + gzip(b)},
                        Case{"t.tar.gz", tarred, gzip(tarred)}, Case{"large.tgz", large, gzip(large)},
                        Case{"t.dim.gz", dim, gzip(dim)}}) {
    SCOPED_TRACE(c.name);
    const auto whole = operations(dir.write(c.name, c.packed));
    ASSERT_TRUE(whole) << whole.error().message();
    ASSERT_EQ(whole->size(), 2u);
    const std::size_t bits = 8 * c.packed.size();
    int read = 0;
    for (std::size_t i = 0; i < 320; ++i) {
      // All of the trailer, half of the header; then anywhere.
      const std::size_t bit = i < 64 ? bits - 1 - i : i < 104 ? 2 * (i - 64) : rng.below(bits);
      std::string flipped = c.packed;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
      const std::string path = dir.write(c.name, flipped);
      const auto ops = operations(path);
      const bool sound = witness(path) == c.text;
      EXPECT_EQ(ops.has_value(), sound) << "bit " << bit << ": " << (ops ? "" : ops.error().message());
      EXPECT_TRUE(!ops || *ops == *whole) << "bit " << bit;
      read += sound ? 1 : 0;
    }
    EXPECT_GE(read, 20) << "the time in the header means nothing";
  }
}

TEST(GzipStream, WhatTheTrailerSaysIsChecked) {
  const TempDir dir;
  Rng rng(7);
  const std::string text = lines(0, 100, rng);
  std::string packed = gzip(text);
  for (const std::string& name : {std::string("t.gz"), std::string("t.tar.gz")}) {
    const bool tarred = name == "t.tar.gz";
    // Of a tar also where its padding takes more than a piece.
    packed = gzip(tarred ? tar(dir, {{"rank-0.txt", text}}) + std::string(300'000, '\0') : text);
    for (const auto& [back, why] :
         {std::pair<std::size_t, const char*>{8, "incorrect data check"}, {4, "incorrect length check"}}) {
      std::string wrong = packed;
      wrong[wrong.size() - back] = static_cast<char>(wrong[wrong.size() - back] + 1);
      dir.write(name, wrong);
      EXPECT_EQ(error_at(dir, name),
                fmt::format("{}@byte {:#x}: error: cannot unpack: gzip decompression failed: {}", name,
                            wrong.size() - back + 4, why));
    }
    dir.write(name, packed.substr(0, packed.size() - 1));
    EXPECT_EQ(error_at(dir, name), fmt::format("{}@byte {:#x}: error: cannot unpack: truncated gzip input",
                                               name, packed.size() - 1));
    dir.write(name, packed + std::string(70'000, '\0'));
    EXPECT_EQ(error_at(dir, name), "no error");
    dir.write(name, packed + std::string(70'000, '\0') + "junk");
    EXPECT_THAT(error_at(dir, name),
                HasSubstr(fmt::format("{}@byte {:#x}: error: bytes behind the end of the compressed data",
                                      name, packed.size() + 70'000)));
  }
  // What stands behind the end of a tar is bounded as what is in it.
  dir.write("bomb.tgz", gzip(tar(dir, {{"rank-0.txt", text}}) + std::string(40u << 20, '\0')));
  EXPECT_THAT(error_at(dir, "bomb.tgz"), HasSubstr("error: the file unpacks to too much"));
}

TEST(GzipStream, WhatTheLibraryRefusesIsToldWithTheByteOfTheFile) {
  const TempDir dir;
  const std::string packed = gzip("");
  dir.write("t.gz", packed);
  EXPECT_EQ(error_at(dir, "t.gz"),
            fmt::format("t.gz@byte {:#x}: error: cannot unpack: Unrecognized archive format", packed.size()));
}

// Where one ends and the next begins across what is read and unpacked at a time.
TEST(GzipStream, MembersOfAnySizeFollowOneAnother) {
  const TempDir dir;
  Rng rng(11);
  const std::string a = lines(0, 100, rng), b = lines(0, 100'000, rng);
  const auto want = operations(dir.write("plain.txt", a + b + a));
  ASSERT_TRUE(want) << want.error().message();
  const std::string last = gzip(b, 1) + gzip("") + gzip(a);
  const std::size_t bare = gzip(a, 9, " ").size() - 1;
  for (std::size_t first = (1u << 20) - 5; first <= (1u << 20) + 3; ++first) {
    const std::string path = dir.write("t.gz", gzip(a, 9, std::string(first - bare, 'c')) + last);
    const auto got = operations(path);
    ASSERT_TRUE(got) << first << ": " << got.error().message();
    EXPECT_EQ(*got, *want) << first;
  }
  std::string each;  // a member for each line
  for (std::size_t at = 0; at < a.size(); at = a.find('\n', at) + 1)
    each += gzip(a.substr(at, a.find('\n', at) + 1 - at));
  const auto lone = operations(dir.write("lone.txt", a)), got = operations(dir.write("each.gz", each));
  ASSERT_TRUE(lone && got);
  EXPECT_EQ(*got, *lone);
}

TEST(GzipStream, WhatIsCompressedTwiceIsRefusedByTheOuterOne) {
  const TempDir dir;
  Rng rng(3);
  const std::string text = lines(0, 10, rng);
  write_archive(dir.path("t.zst"), ARCHIVE_FILTER_ZSTD, {{"data", text}}, true);
  dir.write("t.zst.gz", gzip(slurp(dir.path("t.zst"))));
  dir.write("t.gz.gz", gzip(gzip(text)));
  write_archive(dir.path("t.gz.zst"), ARCHIVE_FILTER_ZSTD, {{"data", gzip(text)}}, true);
  for (const auto& [name, outer] :
       {std::pair("t.zst.gz", "gzip"), std::pair("t.gz.gz", "gzip"), std::pair("t.gz.zst", "zstd")})
    EXPECT_THAT(error_at(dir, name), HasSubstr(fmt::format("compressed more than once; got \"{}\"", outer)));
}

}  // namespace
}  // namespace weft::traces
