// What every row of formats.def and exports.def must do, whatever its format.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/traces/archive_testing.hpp"
#include "tests/traces/trace_testing.hpp"
#include "traces/exports/export.hpp"
#include "traces/formats.hpp"
#include "traces/info.hpp"

namespace weft::traces {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::TempDir;

// Two ranks, one message, what every format can say.
std::string small_trace(const TempDir& dir) {
  TraceHeader h;
  h.ranks = 2;
  const std::string path = dir.path("small.weft");
  auto w = TraceWriter::create(path, h);
  for (std::uint32_t r = 0; r < 2; ++r) {
    OpBlock b;
    b.rank = RankId(r);
    b.ops = {{.kind = OpKind::init},
             {.kind = r == 0 ? OpKind::send : OpKind::recv, .peer = r == 0 ? 1 : 0, .tag = 3, .amount = 1000},
             {.kind = OpKind::finalize}};
    w->append(b);
  }
  EXPECT_TRUE(w->finish());
  return path;
}

// A format whose library was not there when the program was built says so.
bool built_without(const Error& e) {
  return e.code == ErrorCode::kNotSupported &&
         e.message().find("built without its library") != std::string::npos;
}

TEST(Formats, ListsAreMadeOfTheRows) {
  const std::vector<FormatName> rows = {{"a", "first"}, {"b", "second"}, {"c", "third", false}, {"d", "x"}};
  EXPECT_EQ(known_names(rows), "a, b, c (not supported in this version), d");
  EXPECT_EQ(supported_names(rows), "a, b or d");
  EXPECT_EQ(supported_names(rows, "|"), "a|b|d");
  EXPECT_EQ(described_names(rows), "a (first), b (second), d (x)");
  EXPECT_EQ(supported_names({{"a", "first"}}), "a");
  EXPECT_EQ(expected_names({{"text", ""}, {"weft", ""}}, "txt"), "one of text, weft; did you mean text?");
}

TEST(Formats, EveryRowIsFoundByNameAndOtherNamesAreRefused) {
  const TempDir dir;
  const std::string no_trace = dir.write("none", "\x01\x02 neither this nor that\n");
  for (const FormatName& row : trace_formats()) {
    SCOPED_TRACE(row.name);
    // By name, a reader is asked to read it, whatever it looks like; it says where it is no trace of its.
    const auto r = open_trace({no_trace}, std::string(row.name));
    ASSERT_FALSE(r);
    if (built_without(r.error())) continue;
    EXPECT_EQ(r.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(r.error().message(), HasSubstr(no_trace));
  }
  const auto slip = open_trace({no_trace}, "wefd");
  ASSERT_FALSE(slip);
  EXPECT_EQ(slip.error().code, ErrorCode::kUsage);
  EXPECT_EQ(slip.error().message(), "error: unknown trace format; got \"wefd\"; expected one of " +
                                        known_names(trace_formats()) + "; did you mean weft?");
  const auto none = open_trace({no_trace});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message(),
            no_trace + ": error: not a trace of a known format; got \".. neither this \"; expected " +
                known_names(trace_formats()));
}

// A folder is taken for TI text where nothing else is known by it.
TEST(Formats, AFolderThatHoldsATraceOfOneFileIsToldWhich) {
  const TempDir dir;
  const std::string prv = dir.write("extrae/run.prv", "#Paraver (22/03/26 at 10:11):5_ns:1(1):1:1(1:1),0\n");
  dir.write("extrae/run.pcf", "DEFAULT_OPTIONS\n");
  const std::string folder = dir.path("extrae");
  const auto error_of = [&] {
    const auto t = open_trace({folder});
    return t ? "no error" : t.error().message();
  };
  EXPECT_EQ(error_of(), folder + ": error: a folder that holds a paraver trace, which is one file; got \"" +
                            prv + "\"; expected the file");
  // Beside TI text it is none of the trace, nor of its errors.
  dir.write("extrae/rank-0.txt", "0 dance\n");
  EXPECT_THAT(error_of(), HasSubstr("rank-0.txt:1:3: error: unknown action"));
}

constexpr const char* kDim =
    "#DIMEMAS:\"two.dim\":0:2(1,1),1\n"
    "d:1:1:2:0:1\n"
    "1:0:0:0.000250000\n2:0:0:1:-1:1000000:5:1:2\n1:0:0:0.000100000\n"
    "1:1:0:0.000050000\n3:1:0:0:-1:1000000:5:1:0\n";
constexpr const char* kPrv =
    "#Paraver (01/01/70 at 00:00):258100_ns:2(1,1):1:2(1:1,1:2),1\n"
    "c:1:1:2:1:2\n"
    "2:1:1:1:1:1100:50000001:1\n2:2:1:2:1:1100:50000001:2\n2:1:1:1:1:2100:50000001:0\n"
    "3:1:1:1:1:1200:1300:2:1:2:1:1100:1400:512:6\n2:2:1:2:1:2100:50000001:0\n";

// Found by what is in them, and read from a copy, to and fro: the operations and where they stand are those of the plain file.
TEST(Formats, DimemasAndParaverArePackedOrNotAndTheSame) {
  const TempDir dir;
  for (const auto& [name, text] : {std::pair("two.dim", kDim), std::pair("two.prv", kPrv)}) {
    const auto plain = open_trace({dir.write(name, text)});
    ASSERT_TRUE(plain) << plain.error().message();
    for (const auto& [filter, extension] :
         {std::pair(ARCHIVE_FILTER_GZIP, ".gz"), std::pair(ARCHIVE_FILTER_ZSTD, ".zst"),
          std::pair(ARCHIVE_FILTER_XZ, ".xz"), std::pair(ARCHIVE_FILTER_BZIP2, ".bz2")}) {
      const std::string path = dir.path(std::string("packed_") + name + extension);
      testing::write_archive(path, filter, {{"data", text}}, true);
      for (const char* from : {"", name == std::string_view("two.dim") ? "dimemas" : "paraver"}) {
        const auto packed = open_trace({path}, from);
        ASSERT_TRUE(packed) << packed.error().message();
        EXPECT_EQ((*packed)->header().recorder, (*plain)->header().recorder);
        for (int twice = 0; twice < 2; ++twice) {
          (*plain)->rewind();
          (*packed)->rewind();
          for (std::uint32_t r = 0; r < 2; ++r) {
            const auto ops = testing::read_rank(**packed, r);
            ASSERT_TRUE(ops);
            EXPECT_EQ(*ops, *testing::read_rank(**plain, r));
            for (std::size_t i = 0; i < ops->size(); ++i) {
              const std::string at = (*plain)->position(RankId(r), i);
              EXPECT_EQ((*packed)->position(RankId(r), i), path + at.substr(at.rfind(':')));
            }
          }
        }
      }
    }
  }
}

TEST(Formats, APackedTraceThatIsWrongSaysWhere) {
  const TempDir dir;
  const auto error_of = [](const std::string& path) {
    const auto t = open_trace({path});
    return t ? std::string("no error") : t.error().message();
  };
  const std::string gz = dir.path("run.dim.gz");
  const auto write = [&](const std::string& text) {
    testing::write_archive(gz, ARCHIVE_FILTER_GZIP, {{"data", text}}, true);
  };
  write(std::string(kDim) + "1:1:0:soon\n");
  EXPECT_THAT(error_of(gz), HasSubstr("run.dim.gz:8:7: error: "));
  // Named as it was before it was packed.
  EXPECT_EQ(error_of(dir.path("run.dim")),
            dir.path("run.dim") + ": error: there is no such file; expected " + gz);
  const std::string whole = testing::slurp(gz);
  dir.write("run.dim.gz", whole.substr(0, whole.size() - 9));
  EXPECT_THAT(error_of(gz), HasSubstr("error: cannot unpack: "));
  // 48 MiB of blanks in 48 KiB.
  write(kDim + std::string(std::size_t{48} << 20, ' '));
  EXPECT_THAT(error_of(gz), HasSubstr("error: the file unpacks to too much"));
  // The one trace of a folder, which has none of its own.
  const TempDir folder;
  testing::write_archive(folder.path("run.prv.gz"), ARCHIVE_FILTER_GZIP, {{"data", kPrv}}, true);
  EXPECT_EQ(error_of(folder.path("")),
            folder.path("") + ": error: a folder that holds a paraver trace, which is one file; got \"" +
                folder.path("run.prv.gz") + "\"; expected the file");
  // Of an archive it is told how to unpack it.
  testing::write_archive(dir.path("run.tgz"), ARCHIVE_FILTER_GZIP, {{"run.prv", kPrv}});
  EXPECT_EQ(error_of(dir.path("run.tgz")), dir.path("run.tgz!run.prv") +
                                               ": error: not supported: a packed paraver trace; expected the "
                                               "trace, unpacked with \"tar -xf\"");
  const auto as_dim = open_trace({dir.path("run.tgz")}, "dimemas");
  ASSERT_FALSE(as_dim);
  EXPECT_EQ(as_dim.error().code, ErrorCode::kNotSupported);
}

std::size_t calls_and_computations(TraceReader& t) {
  std::size_t n = 0;
  t.rewind();
  for (std::uint32_t r = 0; r < t.header().ranks; ++r) {
    const auto ops = testing::read_rank(t, r);
    for (const auto& p : *ops) n += p.op.kind != OpKind::init && p.op.kind != OpKind::finalize ? 1 : 0;
  }
  return n;
}

// Written by a row of exports.def, read by the row of formats.def of the same name, found by its first bytes.
TEST(Formats, WhatIsWrittenAndReadHoldsTheSame) {
  const TempDir dir;
  const std::string source = small_trace(dir);
  std::size_t both = 0;
  for (const FormatName& row : trace_exports()) {
    SCOPED_TRACE(row.name);
    auto t = open_trace({source});
    ASSERT_TRUE(t);
    const std::string out = dir.path("out." + std::string(row.name));
    const auto written = export_trace(**t, std::string(row.name), out);
    if (!row.supported) {
      ASSERT_FALSE(written);
      EXPECT_EQ(written.error().message(), "error: not supported: export to " + std::string(row.name) + " (" +
                                               std::string(row.what) + "); expected " +
                                               supported_names(trace_exports()));
      continue;
    }
    if (!written && built_without(written.error())) continue;
    ASSERT_TRUE(written) << written.error().message();
    // A file, or a directory of files.
    EXPECT_FALSE(testing::fs::is_empty(out));
    bool read = false;
    for (const FormatName& r : trace_formats()) read = read || (r.name == row.name && r.supported);
    if (!read) continue;
    ++both;
    auto again = open_trace({out});
    ASSERT_TRUE(again) << again.error().message();
    const auto got = scan_trace(**again);
    ASSERT_TRUE(got);
    // Not every format says when a program begins and ends.
    EXPECT_EQ(calls_and_computations(**again), calls_and_computations(**t));
    EXPECT_EQ(got->totals.messages, 1u);
    EXPECT_EQ(got->totals.bytes, 1000u);
  }
  EXPECT_GE(both, 3u);  // weft, ti and goal
}

// OpenOptions reach every format: what each makes of a file that ends early, with and without salvage.
TEST(Formats, AllAreAskedWithTheSameOptions) {
  const TempDir dir;
  const std::string whole = testing::slurp(small_trace(dir));
  const std::string cut = dir.write("cut.weft", whole.substr(0, whole.size() - 5));
  EXPECT_FALSE(open_trace_with({cut}, {}));
  EXPECT_FALSE(open_trace_with({cut}, {"weft", false}));
  EXPECT_TRUE(open_trace_with({cut}, {"", true}));
  EXPECT_TRUE(open_trace_with({cut}, {"weft", true}));
  const std::string text = dir.write("t.txt", "0 init\n0 send 1 3 1000 6\n1 init\n1 recv 0 3 10");
  for (const char* from : {"", "ti"})
    for (const bool salvage : {false, true}) {
      auto t = open_trace_with({text}, {from, salvage});
      ASSERT_TRUE(t) << t.error().message();
      EXPECT_EQ((*t)->totals().ops, 4u);
    }
  const auto two = open_trace_with({cut, cut}, {"weft", false});
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().message(), "error: a .weft trace is one file; got \"2 paths\"");
}

TEST(Formats, TheFilesOfATraceAreAllThatItsReaderOpens) {
  using ::testing::UnorderedElementsAre;
  const TempDir dir;
  const std::string one = small_trace(dir);
  EXPECT_THAT(trace_files({one}), UnorderedElementsAre(one));
  EXPECT_THAT(trace_files({dir.path("none")}), UnorderedElementsAre(dir.path("none")));
  const std::string a = dir.write("ti/rank-0.txt", "0 init\n"), b = dir.write("ti/rank-1.txt", "1 init\n");
  const std::string index = dir.write("index", "ti/rank-0.txt\nti/rank-1.txt\n");
  EXPECT_THAT(trace_files({index}), UnorderedElementsAre(index, a, b));
  EXPECT_THAT(trace_files({dir.path("ti")}, "ti"), UnorderedElementsAre(dir.path("ti"), a, b));
  const std::string c = dir.write("d/run-0000.bin", "x"), d = dir.write("d/run-0001.bin", "x");
  const std::string meta = dir.write("d/run.meta", "numprocs=2\nfileprefix=run\n");
  EXPECT_THAT(trace_files({meta}), UnorderedElementsAre(meta, c, d));
  const std::string anchor = dir.write("o/traces.otf2", "x"), events = dir.write("o/traces/0.evt", "x");
  const std::string definitions = dir.write("o/traces.def", "x");
  if (const auto t = open_trace({anchor}); !t && built_without(t.error())) return;
  EXPECT_THAT(trace_files({dir.path("o")}), UnorderedElementsAre(dir.path("o"), anchor, events, definitions));
}

}  // namespace
}  // namespace weft::traces
