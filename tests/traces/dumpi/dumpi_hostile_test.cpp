// DUMPI files that lie: each is answered with what is wrong and where, in little memory and time.
#include <gmock/gmock.h>

#include "tests/traces/address_limit.hpp"
#include "tests/traces/dumpi/dumpi_testing.hpp"
#include "traces/check/check.hpp"
#include "traces/info.hpp"

namespace weft::traces {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using Parts = DumpiWriter::Parts;

// A trace of one rank with these bytes, read to its end; paths are shown as F, its folder as D.
std::string answer(const TempDir& dir, const std::string& bytes) {
  const std::string path = dir.write("t-0000.bin", bytes);
  std::string m = "accepted";
  auto t = open_trace({path}, "dumpi");
  if (!t) m = t.error().message();
  if (t)
    if (const auto info = scan_trace(**t); !info) m = info.error().message();
  for (std::size_t at = 0; (at = m.find(path)) != std::string::npos;) m.replace(at, path.size(), "F");
  return m;
}

void put(std::string& bytes, std::size_t at, std::uint64_t value, int width) {
  for (int i = 0; i < width; ++i)
    bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * (width - 1 - i)));
}

// The program that is damaged. Its first record, MPI_Init, begins at byte 16 and its arguments at 16 + 29.
DumpiWriter program() {
  DumpiWriter w;
  w.init();
  w.irecv(4, kDumpiInt, 0, 7, 2).send(4, kDumpiInt, 0, 7).waitall({2}, {{16, 0, 7}}).barrier();
  w.finalize();
  return w;
}
constexpr std::size_t kHead = 5 + 24;  // u16, mask, thread, two clocks

TEST(DumpiHostile, WhatIsWrongWithAFileIsSaidWithItsByte) {
  struct Case {
    const char* what;
    std::function<void(std::string&, const Parts&)> damage;
    const char* message;
  };
  const std::vector<std::size_t> at = program().records();
  const Case cases[] = {
      {"no magic", [](auto& b, auto&) { b[0] = 'x'; },
       "F@byte 0x0: error: not a DUMPI file; expected ff aa dd \"DUMPI\" in front"},
      {"magic of the text form", [](auto& b, auto&) { b = "version=0.7.1\nstarttime=x\n"; },
       "F@byte 0x0: error: not a DUMPI file; expected ff aa dd \"DUMPI\" in front"},
      {"seven bytes", [](auto& b, auto&) { b.resize(7); },
       "F: error: not a DUMPI file; expected ff aa dd \"DUMPI\" in front"},
      {"magic and nothing else", [](auto& b, auto&) { b.resize(8); },
       "F@byte 0x8: error: the file ends without an index: it is cut off; expected 8 bytes ff aa dd "
       "\"DUMPI\" and 4 to 7 "
       "offsets"},
      {"cut by a byte", [](auto& b, auto&) { b.pop_back(); },
       "F@byte 0xb09: error: the file ends without an index: it is cut off; expected 8 bytes ff aa dd "
       "\"DUMPI\" and 4 to 7 offsets"},
      {"one byte more", [](auto& b, auto&) { b.push_back('\0'); },
       "F@byte 0xb0b: error: the file ends without an index: it is cut off; expected 8 bytes ff aa dd "
       "\"DUMPI\" and 4 to 7 offsets"},
      {"an index without magic", [](auto& b, auto& p) { b[p.index] = 0; },
       "F@byte 0xb0a: error: the file ends without an index: it is cut off; expected 8 bytes ff aa dd "
       "\"DUMPI\" and 4 to 7 offsets"},
      {"header beyond the file", [](auto& b, auto& p) { put(b, p.index + 32, 1'000'000'000'000, 8); },
       "F@byte 0xaca: error: the index puts the header outside of the file; got \"1000000000000\"; expected "
       "8 to 2761"},
      {"header at the front", [](auto& b, auto& p) { put(b, p.index + 32, 8, 8); },
       "F@byte 0xaca: error: the index puts the header before the end of the stream of calls; got \"8\"; "
       "expected after 8"},
      {"stream beyond the file", [](auto& b, auto& p) { put(b, p.index + 40, UINT64_MAX, 8); },
       "F@byte 0xaca: error: the index puts the stream of calls outside of the file; got "
       "\"18446744073709551615\"; expected 8 to 2761"},
      {"stream before the magic", [](auto& b, auto& p) { put(b, p.index + 40, 7, 8); },
       "F@byte 0xaca: error: the index puts the stream of calls outside of the file; got \"7\"; expected 8 "
       "to 2761"},
      {"footer beyond the file", [](auto& b, auto& p) { put(b, p.index + 48, 1u << 30, 8); },
       "F@byte 0xaca: error: the index puts the footer outside of the file; got \"1073741824\"; expected 8 "
       "to 2761"},
      {"footer at its end", [](auto& b, auto& p) { put(b, p.index + 48, p.index - 8, 8); },
       "F@byte 0xac2: error: the footer has a wrong magic number; got \"0x800000014\"; expected 0xf007fee7"},
      {"counters beyond the file", [](auto& b, auto& p) { put(b, p.index + 24, 1u << 30, 8); },
       "F@byte 0xaca: error: the index puts the list of counters outside of the file; got \"1073741824\"; "
       "expected 8 to 2761"},
      {"counters without end",
       [](auto& b, auto& p) { put(b, p.index + 24, 0, 8), put(b, p.index + 24, p.footer + 4, 8); },
       "F@byte 0x136: error: too many performance counters; got \"4027055847\"; expected at most 256"},
      {"sizes beyond the file", [](auto& b, auto& p) { put(b, p.index + 8, 1u << 30, 8); },
       "F@byte 0xaca: error: the index puts the sizes of datatypes outside of the file; got \"1073741824\"; "
       "expected 8 to 2761"},
      {"a terabyte of sizes", [](auto& b, auto& p) { put(b, p.sizes, 0xffffffff, 4); },
       "F@byte 0xa56: error: too many sizes of datatypes; got \"4294967295\"; expected at most 65536"},
      {"more sizes than there are", [](auto& b, auto& p) { put(b, p.sizes, 60'000, 4); },
       "F@byte 0xa5a: error: the file is too short for the sizes of datatypes; got \"240000 bytes\"; "
       "expected at most 176"},
      {"version 0.4", [](auto& b, auto& p) { b[p.end + 1] = 4; },
       "F@byte 0x113: error: not supported: DUMPI version 0.4.1; expected 0.5.0 or later"},
      {"a host name without end", [](auto& b, auto& p) { put(b, p.end + 11, 0xffff, 2); },
       "F@byte 0x120: error: the file is too short for the host name; got \"65535 bytes\"; expected at most "
       "2538"},
      {"a mesh of 17 GB", [](auto& b, auto& p) { put(b, p.end + 11 + 6 + 6, UINT32_MAX, 4); },
       "F@byte 0x12e: error: the file is too short for the mesh coordinates; got \"17179869180 bytes\"; "
       "expected at most 2524"},
      {"a footer that is cut",
       [](auto& b, auto& p) {
         put(b, p.footer, 0, 8), put(b, p.index - 16, 0xf007fee7, 8), put(b, p.index + 48, p.index - 16, 8);
       },
       "F@byte 0xac2: error: the file is too short for the footer; got \"1164 bytes\"; expected at most 72"},
      // The stream.
      {"no such function", [&](auto& b, auto&) { put(b, at[1], 128, 2); },
       "F@byte 0x3c (record 1, rank 0): error: no MPI function has this number; got \"128\"; expected 0 to "
       "127, 129 to 281, 291, 292, or 293 at the end"},
      {"a function far out", [&](auto& b, auto&) { put(b, at[1], 65535, 2); },
       "F@byte 0x3c (record 1, rank 0): error: no MPI function has this number; got \"65535\"; expected 0 to "
       "127, 129 to 281, 291, 292, or 293 at the end"},
      {"unknown bits of the mask", [&](auto& b, auto&) { b[at[1] + 2] |= 0x20; },
       "F@byte 0x3e (record 1, rank 0): error: the mask of a record has unknown bits; got \"0x6f\"; expected "
       "bits of 0xcf"},
      {"too many nanoseconds", [&](auto& b, auto&) { put(b, at[1] + 7, 1'000'000'000, 4); },
       "F@byte 0x4d (record 1, rank 0): error: a time has too many nanoseconds; got \"1000000000\"; expected "
       "less than 1000000000"},
      {"the end too early", [&](auto& b, auto&) { put(b, at[3], 293, 2); },
       "F@byte 0x9a (record 3, rank 0): error: the stream of calls ends before the header begins; got \"119 "
       "bytes between\"; expected the end right before byte 0x113"},
      {"no end", [](auto& b, auto& p) { put(b, p.end - 2, 122, 2); },
       "F@byte 0x113 (record 6, rank 0): error: the stream of calls ends inside of a record; got \"0 "
       "bytes\"; expected records, then 293 right before byte 0x113"},
      {"a header inside of a record",
       [](auto& b, auto& p) { put(b, p.index + 32, p.end - 40, 8), b[p.end - 40 + 1] = 9; }, nullptr},
      {"4 billion requests",
       [&](auto& b, auto&) {
         put(b, at[3] + kHead, UINT32_MAX, 4), put(b, at[3] + kHead + 4, UINT32_MAX, 4);
       },
       "F@byte 0xbb (record 3, rank 0): error: an array does not fit into the rest of the stream; got "
       "\"4294967295 values\"; expected at most 21"},
      {"4 billion statuses", [&](auto& b, auto&) { put(b, at[3] + kHead + 12, UINT32_MAX, 4); },
       "F@byte 0xc3 (record 3, rank 0): error: an array does not fit into the rest of the stream; got "
       "\"4294967295 values\"; "
       "expected at most 5"},
      {"4 billion arguments", [&](auto& b, auto&) { put(b, at[0] + kHead, INT32_MAX, 4); },
       "F@byte 0x31 (record 0, rank 0): error: argc does not fit into the rest of the stream; got "
       "\"2147483647\"; expected at most 56"},
      {"an argument of 4 GB", [&](auto& b, auto&) { put(b, at[0] + kHead + 4, UINT32_MAX, 4); },
       "F@byte 0x31 (record 0, rank 0): error: an array does not fit into the rest of the stream; got "
       "\"4294967295 values\"; expected at most 222"},
      {"255 counters", [&](auto& b, auto&) { b[at[0] + 2] = static_cast<char>(0xcf); }, nullptr},
      // Calls that cannot be.
      {"a negative count", [&](auto& b, auto&) { put(b, at[2] + kHead, 0x80000000, 4); },
       "F@byte 0x6d (record 2, rank 0): error: MPI_Send: count is negative; got \"-2147483648\"; expected a "
       "count >= 0"},
      {"a count of another length", [&](auto& b, auto&) { put(b, at[3] + kHead, 2, 4); },
       "F@byte 0x9a (record 3, rank 0): error: MPI_Waitall: the count is not the number of requests; got "
       "\"2\"; expected 1"},
      {"no such destination", [&](auto& b, auto&) { put(b, at[2] + kHead + 6, 1, 4); },
       "F@byte 0x6d (record 2, rank 0): error: the destination is not a rank of communicator world; got "
       "\"1\"; expected 0 to 0"},
      {"a negative destination",
       [&](auto& b, auto&) { put(b, at[2] + kHead + 6, static_cast<std::uint32_t>(-9), 4); },
       "F@byte 0x6d (record 2, rank 0): error: MPI_Send: destination is not a rank; got \"-9\"; expected a "
       "rank, or -1 to -3 "
       "for none"},
      {"no such source", [&](auto& b, auto&) { put(b, at[1] + kHead + 6, INT32_MAX, 4); },
       "F@byte 0x3c (record 1, rank 0): error: the source is not a rank of communicator world; got "
       "\"2147483647\"; expected 0 to 0"},
      {"a negative tag",
       [&](auto& b, auto&) { put(b, at[2] + kHead + 10, static_cast<std::uint32_t>(-1), 4); },
       "F@byte 0x6d (record 2, rank 0): error: MPI_Send: tag is out of range; got \"-1\"; expected a tag >= "
       "0"},
      {"a tag below any",
       [&](auto& b, auto&) { put(b, at[1] + kHead + 10, static_cast<std::uint32_t>(-2), 4); },
       "F@byte 0x3c (record 1, rank 0): error: MPI_Irecv: tag is out of range; got \"-2\"; expected a tag, "
       "or -1 for any"},
      {"the null communicator", [&](auto& b, auto&) { put(b, at[2] + kHead + 14, 1, 2); },
       "F@byte 0x6d (record 2, rank 0): error: MPI_Send: the communicator is MPI_COMM_NULL; got \"1\"; "
       "expected a "
       "communicator: 2 or more"},
      {"a datatype without size", [&](auto& b, auto&) { put(b, at[2] + kHead + 4, 60'000, 2); },
       "F@byte 0x6d (record 2, rank 0): error: not supported: MPI_Send: the file does not say the size of "
       "datatype 60000; "
       "expected a size in the file, or calls that construct the datatype"},
      {"the null datatype", [&](auto& b, auto&) { put(b, at[2] + kHead + 4, 1, 2); },
       "F@byte 0x6d (record 2, rank 0): error: not supported: MPI_Send: the file does not say the size of "
       "datatype 1; "
       "expected a size in the file, or calls that construct the datatype"},
      {"an exabyte",
       [&](auto& b, auto& p) {
         put(b, at[2] + kHead, INT32_MAX, 4), put(b, p.sizes + 4 + 4 * 9, INT32_MAX, 4);
       },
       "F@byte 0x6d (record 2, rank 0): error: MPI_Send: the message is too large; got \"2147483647 x "
       "2147483647 bytes\"; "
       "expected at most 2^60 bytes"},
      {"a request that is null", [&](auto& b, auto&) { put(b, at[1] + kHead + 16, 1, 4); },
       "F@byte 0x3c (record 1, rank 0): error: MPI_Irecv: the request that the call made is "
       "MPI_REQUEST_NULL; got \"1\"; expected a request: 2 or more"},
  };
  EXPECT_GE(std::size(cases), 40u);
  for (const Case& c : cases) {
    const TempDir dir;
    auto [bytes, parts] = program().file_and_parts();
    ASSERT_EQ(answer(dir, bytes), "accepted");
    c.damage(bytes, parts);
    const std::string got = answer(dir, bytes);
    if (c.message == nullptr) {
      EXPECT_NE(got, "accepted") << c.what;
    } else {
      EXPECT_EQ(got, c.message) << c.what;
    }
  }
}

// Calls that contradict themselves.
TEST(DumpiHostile, CallsThatCannotBeAreNamed) {
  const std::pair<std::function<void(DumpiWriter&)>, const char*> cases[] = {
      {[](auto& w) {
         w.waitany({1, 1}, 2);
       },
       "MPI_Waitany: the index is not one of a request; got \"2\"; expected below 2"},
      {[](auto& w) {
         w.call(20).i32(2).ints({1, 1}).i32(3).ints({0, 1}).statuses({});
       },
       "MPI_Waitsome: more requests are complete than there are indices; got \"3\"; expected at most 2"},
      {[](auto& w) {
         w.waitsome({1, 1}, {0, 7});
       },
       "MPI_Waitsome: the index is not one of a request; got \"7\"; expected 0 to 1"},
      {[](auto& w) { w.isend(1, 5, 0, 0, 2, 2, 26).start(2).start(2); },
       "MPI_Start: the request is active already; got \"2\"; expected an inactive request"},
      {[](auto& w) { w.call(32).i32(3).ints({2}); },
       "MPI_Startall: the count is not the number of requests; got \"3\"; expected 1"},
      {[](auto& w) { w.bcast(1, kDumpiByte, -1); },
       "MPI_Bcast: the root is not a rank; got \"-1\"; expected a rank of the "
       "communicator"},
      {[](auto& w) { w.bcast(1, kDumpiByte, 5); },
       "the root is not a rank of communicator world; got \"5\"; expected 0 to 0"},
      {[](auto& w) {
         w.allgatherv(1, {1, 2}, kDumpiByte);
       },
       "the counts of allgatherv are not one for each rank of communicator world; got \"2\"; expected 1"},
      {[](auto& w) {
         w.alltoallv({1, 2}, {1}, kDumpiByte);
       },
       "the counts of alltoallv are not one for each rank of communicator world; got \"2\"; expected 1"},
      {[](auto& w) { w.alltoallw({1}, {1}, {}); },
       "MPI_Alltoallw: there are not as many datatypes as counts; got \"0\"; expected 1"},
      {[](auto& w) { w.reduce_scatter({-1}, kDumpiByte); },
       "MPI_Reduce_scatter: count is negative; got \"-1\"; expected a "
       "count >= 0"},
      {[](auto& w) { w.comm_dup(kDumpiWorld, kDumpiWorld); },
       "MPI_Comm_dup: the new communicator is one that MPI has from the start; got \"2\"; expected 1, or 4 "
       "or more"},
      {[](auto& w) { w.call(99).h(2).i32(3).ints({1}).ints({1}).i32(0).h(4); },
       "MPI_Cart_create: the number of dimensions is not that of the array; got \"3\"; expected 1"},
      {[](auto& w) {
         w.comm_group(2, 3).group_of_ranges(78, 3, {{0, INT32_MAX, 1}}, 4);
       },
       "MPI_Group_range_incl: the groups made of ranges have too many ranks; expected at most "},
      {[](auto& w) {
         w.comm_group(2, 3).group_of_ranges(78, 3, {{0, 5, 0}}, 4);
       },
       "MPI_Group_range_incl: a range of ranks cannot be; got \"0:5:0\"; expected first, last, stride with a "
       "stride other "
       "than 0"},
      {[](auto& w) {
         w.comm_group(2, 3).group_of_ranges(79, 3, {{0, 5}}, 4);
       },
       "a range of ranks has not three values; got \"2\"; expected 3"},
  };
  for (const auto& [write, message] : cases) {
    const TempDir dir;
    DumpiWriter w;
    w.init();
    write(w);
    w.finalize();
    const std::string got = answer(dir, w.file());
    EXPECT_THAT(got, HasSubstr(std::string("rank 0): error: ") + message));
  }
}

// Which files there are.
TEST(DumpiHostile, FoldersThatDoNotFitTheirMetaAreNamed) {
  const std::string file = program().file();
  const auto answer_in = [&](std::initializer_list<std::pair<const char*, const char*>> metas,
                             std::initializer_list<const char*> bins, const char* open = "") {
    const TempDir dir;
    for (const char* b : bins) dir.write(b, file);
    for (const auto& [name, text] : metas) dir.write(name, text);
    const std::string folder = dir.path("");
    auto t = open_trace({*open == '\0' ? folder.substr(0, folder.size() - 1) : dir.path(open)}, "dumpi");
    std::string m = t ? fmt::format("{} ranks", (*t)->header().ranks) : t.error().message();
    for (std::size_t at = 0; (at = m.find(folder)) != std::string::npos;) m.replace(at, folder.size(), "D/");
    for (std::size_t at = 0; (at = m.find(folder.substr(0, folder.size() - 1))) != std::string::npos;)
      m.replace(at, folder.size() - 1, "D");
    return m;
  };
  using P = std::pair<const char*, const char*>;
  EXPECT_EQ(answer_in({P{"a.meta", "numprocs=1\nfileprefix=/elsewhere/a\n"}}, {"a-0000.bin"}), "1 ranks");
  EXPECT_EQ(answer_in({P{"b.meta", "numprocs=1\r\nfileprefix=a\r\n"}}, {"b-0000.bin"}),
            "1 ranks");  // renamed
  EXPECT_EQ(answer_in({}, {"a-0000.bin", "a-0001.bin"}, "a-0001.bin"), "2 ranks");
  EXPECT_EQ(answer_in({}, {"alone.bin"}, "alone.bin"), "1 ranks");
  EXPECT_EQ(answer_in({P{"a.meta", "numprocs=2\nfileprefix=a\n"}}, {"a-0000.bin"}),
            "D/a.meta: error: numprocs is 2, and the file of rank 1 is missing; expected D/a-0001.bin");
  EXPECT_EQ(
      answer_in({P{"a.meta", "numprocs=1\nfileprefix=a\n"}}, {"a-0000.bin", "a-0001.bin"}),
      "D/a.meta: error: there are more files than numprocs says; got \"D/a-0001.bin\"; expected 1 ranks");
  EXPECT_EQ(answer_in({P{"a.meta", "fileprefix=a\n"}}, {"a-0000.bin"}),
            "D/a.meta: error: the file says no number of ranks; expected a line numprocs=N");
  EXPECT_EQ(answer_in({P{"a.meta", "x=1\nnumprocs=many\n"}}, {"a-0000.bin"}),
            "D/a.meta:2:10: error: the number of ranks cannot be; got \"many\"; expected 1 to 16777216");
  EXPECT_EQ(answer_in({P{"a.meta", "numprocs=0\n"}}, {"a-0000.bin"}),
            "D/a.meta:1:10: error: the number of ranks cannot be; got \"0\"; expected 1 to 16777216");
  EXPECT_EQ(
      answer_in({P{"a.meta", "numprocs=99999999999\n"}}, {"a-0000.bin"}),
      "D/a.meta:1:10: error: the number of ranks cannot be; got \"99999999999\"; expected 1 to 16777216");
  EXPECT_EQ(
      answer_in({P{"a.meta", "numprocs=1\n"}, P{"b.meta", "numprocs=1\n"}}, {"a-0000.bin", "b-0000.bin"}),
      "D: error: more than one DUMPI trace is in the directory; got \"D/a.meta and D/b.meta\"; expected the "
      ".meta file "
      "of one");
  EXPECT_EQ(answer_in({}, {"a-0000.bin", "b-0000.bin"}),
            "D: error: more than one DUMPI trace is in the directory; got \"D/a and D/b\"; expected the "
            ".meta file of one");
  EXPECT_EQ(answer_in({}, {"a-0000.bin", "a-0002.bin"}),
            "D: error: a rank's file is missing; got \"D/a-0002.bin\"; expected D/a-0001.bin");
  EXPECT_EQ(answer_in({}, {"a-0000.bin", "a-000.bin"}),
            "D: error: two files have the same rank number; got \"D/a-0000.bin\"");
  EXPECT_EQ(answer_in({}, {"readme"}),
            "D: error: no DUMPI trace is in the directory; expected a .meta file, or files NAME-0000.bin and "
            "so on");
}

// A folder is told from one of text traces by what is in it.
TEST(DumpiHostile, FoldersAreSniffedByWhatTheyHold) {
  const auto opened = [](std::initializer_list<std::pair<const char*, std::string>> files) {
    const TempDir dir;
    for (const auto& [name, text] : files) dir.write(name, text);
    auto t = open_trace({dir.path("")});
    return t ? (*t)->header().recorder : t.error().message();
  };
  const std::string file = program().file();
  EXPECT_EQ(opened({{"a-0000.bin", file}}), "dumpi 0.7.1");
  EXPECT_EQ(opened({{"a.meta", "hostname=x\nnumprocs=1\n"}, {"a-0000.bin", file}}), "dumpi 0.7.1");
  EXPECT_EQ(opened({{"rank-0.txt", "0 init\n0 finalize\n"}, {"some.meta", "author=x\n"}, {"x.bin", "no"}}),
            "simgrid-ti");
  EXPECT_THAT(opened({{"a.meta", "hostname=x\nnumprocs=1\n"}}), HasSubstr("the file of rank 0 is missing"));
}

// Cut off anywhere, with the index of the whole file behind: nothing but an answer.
TEST(DumpiHostile, AStreamThatWasCutAnywhereIsNoTrace) {
  const TempDir dir;
  const auto [whole, parts] = program().file_and_parts();
  for (std::size_t cut = 1; cut < parts.end - 18; ++cut) {
    // Bytes of the stream go, and all offsets with them.
    std::string b = whole;
    b.erase(parts.end - cut, cut);
    for (const std::size_t word : {1, 3, 4, 6, 7}) {
      const std::size_t at = parts.index - cut + 8 * word;
      std::uint64_t v = 0;
      for (std::size_t i = 0; i < 8; ++i) v = v << 8 | static_cast<unsigned char>(b[at + i]);
      if (v > 8) put(b, at, v - cut, 8);
    }
    EXPECT_THAT(answer(dir, b), HasSubstr("error: ")) << cut;
  }
  for (std::size_t n = 0; n < whole.size(); n += 7)
    EXPECT_THAT(answer(dir, whole.substr(0, n)), HasSubstr("error: ")) << n;
}

// Numbers alone cost nothing: a process of little memory answers them.
TEST(DumpiHostile, LiesAreAnsweredInLittleMemory) {
  WEFT_NEEDS_ADDRESS_LIMIT();
  const TempDir dir;
  const auto refused = [&](const std::string& bytes) {
    const std::string path = dir.write("t-0000.bin", bytes);
    return within(16u << 20, [&] {
      auto t = open_trace({path}, "dumpi");
      return !t || !scan_trace(**t);
    });
  };
  auto [bytes, parts] = program().file_and_parts();
  Rng rng(seed_or(1));
  for (std::size_t at = 8; at + 4 < bytes.size(); at += at < parts.end + 32 || at > parts.sizes ? 1 : 97) {
    std::string b = bytes;
    put(b, at, rng.below(2) == 0 ? 0xffffffff : 0x7fffffff, 4);
    const std::string path = dir.write("t-0000.bin", b);
    // Some are still traces; what matters is what the answer costs.
    const auto t = open_trace({path}, "dumpi");
    if (t) continue;
    ASSERT_THAT(t.error().message(), HasSubstr("error: "));
  }
  for (const std::size_t at :
       {program().records()[3] + kHead + 4, program().records()[0] + kHead, parts.sizes, parts.end + 23}) {
    std::string b = bytes;
    put(b, at, 0x7fffffff, 4);
    EXPECT_TRUE(refused(b)) << at;
  }
  // A group of groups of groups, each of all ranks.
  DumpiWriter w;
  w.init().comm_group(kDumpiWorld, 3);
  for (int i = 0; i < 2000; ++i) w.group_of_two(73, 3 + i, 3 + i, 4 + i);
  w.comm_create(kDumpiWorld, 2003, 4).finalize();
  EXPECT_FALSE(refused(w.file()));
}

}  // namespace
}  // namespace weft::traces
