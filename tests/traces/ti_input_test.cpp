// Every form in which TI text comes gives the same trace, and every TI trace at hand is read.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "tests/support/checkout.hpp"
#include "tests/support/needs.hpp"
#include "tests/traces/address_limit.hpp"
#include "tests/traces/archive_testing.hpp"
#include "tests/traces/trace_testing.hpp"
#include "traces/check/check.hpp"
#include "traces/exports/export.hpp"

namespace weft::traces {
namespace {

using namespace testing;

const std::string kShared = support::shared_dir() + "/traces";

std::string lines_of(int r, int n) {
  const std::string me = std::to_string(r);
  const std::string next = std::to_string((r + 1) % n);
  const std::string last = std::to_string((r + n - 1) % n);
  return me + " init\n" + me + " irecv " + last + " 3 8 0\n" + me + " compute 12" + me + "5e3\n" + me +
         " send " + next + " 3 8 0\n" + me + " wait " + last + " " + me + " 3\n" + me + " barrier\n" + me +
         " finalize";  // no newline
}

std::vector<std::vector<PlainOp>> ops_of(const std::vector<std::string>& paths) {
  std::vector<std::vector<PlainOp>> out;
  auto t = open_trace(paths);
  EXPECT_TRUE(t) << t.error().message();
  if (!t) return out;
  for (std::uint32_t r = 0; r < (*t)->header().ranks; ++r) out.push_back(*read_rank(**t, r));
  return out;
}

TEST(TiInput, EveryFormGivesTheSameTrace) {
  const TempDir dir;
  constexpr int kRanks = 11;  // so that rank-10 sorts before rank-2
  std::vector<std::string> paths;
  std::vector<std::pair<std::string, std::string>> zero_based;
  std::vector<std::pair<std::string, std::string>> one_based;
  std::string index;
  std::string shared;
  for (int r = 0; r < kRanks; ++r) {
    const std::string name = "rank-" + std::to_string(r) + ".txt";
    paths.push_back(dir.write("d/" + name, lines_of(r, kRanks)));
    index += "d/" + name + "\n";
    zero_based.emplace_back("t/" + name, lines_of(r, kRanks));
    one_based.emplace_back("t_files/1.5_rank-" + std::to_string(r + 1) + ".txt", lines_of(r, kRanks));
  }
  for (int i = 0; i < 7; ++i)  // lines of all ranks in turns
    for (int r = 0; r < kRanks; ++r) {
      std::istringstream in(lines_of(r, kRanks));
      std::string line;
      for (int k = 0; k <= i; ++k) std::getline(in, line);
      shared += line + "\n";
    }
  const auto want = ops_of(paths);
  ASSERT_EQ(want.size(), 11u);
  ASSERT_EQ(want[10].size(), 7u);
  EXPECT_EQ(want[10][3].op.peer, 0);

  EXPECT_EQ(ops_of({dir.write("index", index)}), want);
  dir.write("d/README", "not a rank");
  EXPECT_EQ(ops_of({dir.path("d")}), want);
  EXPECT_EQ(ops_of({dir.write("shared.txt", shared)}), want);
  const auto archived = [&](const char* name, int filter, const auto& files, bool raw = false) {
    write_archive(dir.path(name), filter, files, raw);
    return ops_of({dir.path(name)});
  };
  EXPECT_EQ(archived("a.tar", ARCHIVE_FILTER_NONE, zero_based), want);
  EXPECT_EQ(archived("a.tar.gz", ARCHIVE_FILTER_GZIP, one_based), want);
  std::ranges::reverse(one_based);
  EXPECT_EQ(archived("b.tar.zst", ARCHIVE_FILTER_ZSTD, one_based), want);
  // With an index inside, the index decides; its folders need not be those of the archive.
  std::string inner;
  for (int r = 0; r < kRanks; ++r) inner += "./elsewhere/1.5_rank-" + std::to_string(r + 1) + ".txt\n";
  one_based.insert(one_based.begin() + 3, {"t", inner});
  EXPECT_EQ(archived("c.tar.xz", ARCHIVE_FILTER_XZ, one_based), want);
  const std::vector<std::pair<std::string, std::string>> text = {{"data", shared}};
  EXPECT_EQ(archived("shared.txt.gz", ARCHIVE_FILTER_GZIP, text, true), want);
  EXPECT_EQ(archived("shared.txt.zst", ARCHIVE_FILTER_ZSTD, text, true), want);
  EXPECT_EQ(archived("shared.tar.bz2", ARCHIVE_FILTER_BZIP2, text), want);
  // One compressed file per rank.
  std::vector<std::string> packed;
  for (int r = 0; r < kRanks; ++r) {
    packed.push_back(dir.path("rank-" + std::to_string(r) + ".gz"));
    write_archive(packed.back(), ARCHIVE_FILTER_GZIP, {{"data", lines_of(r, kRanks)}}, true);
  }
  EXPECT_EQ(ops_of(packed), want);
}

// SMPI's -trace-ti of an ordinary run is an index of the files of the ranks; with -trace-ti-one-file, of one of all ranks.
TEST(TiInput, AFolderIsReadAsTheTarOfIt) {
  const TempDir dir;
  const std::string all = lines_of(0, 2) + "\n" + lines_of(1, 2) + "\n";
  const auto want = ops_of({dir.write("shared.txt", all)});
  ASSERT_EQ(want.size(), 2u);
  using Files = std::vector<std::pair<std::string, std::string>>;
  const std::pair<std::string, Files> cases[] = {
      {"one file of all ranks", {{"1.5_rank-1.txt", all}}},
      {"and what is no trace", {{"README", "of a run\n"}, {"rank-0.txt", all}}},
      {"an index of other names",
       {{"index", "root\nleaf\n"}, {"leaf", lines_of(1, 2)}, {"root", lines_of(0, 2)}}},
      {"an index against the numbers",
       {{"index.txt", "# by hand\npart-2.txt\npart-1.txt\n"},
        {"part-1.txt", lines_of(1, 2)},
        {"part-2.txt", lines_of(0, 2)}}},
      {"an index of one file", {{"t", "elsewhere/all\n"}, {"all", all}}},
      {"an index of what is not there decides nothing",
       {{"a.txt", "rank-1.txt\nrank-2.txt\n"},
        {"rank-0.txt", lines_of(0, 2)},
        {"rank-1.txt", lines_of(1, 2)}}},
      {"an index of files beside it",
       {{"t", "t_files/1.5_rank-1.txt\nt_files/1.5_rank-2.txt\n"},
        {"t_files/1.5_rank-1.txt", lines_of(0, 2)},
        {"t_files/1.5_rank-2.txt", lines_of(1, 2)}}}};
  int n = 0;
  for (const auto& [what, files] : cases) {
    const std::string folder = "d" + std::to_string(n++);
    for (const auto& [name, text] : files) dir.write(folder + "/" + name, text);
    EXPECT_EQ(ops_of({dir.path(folder)}), want) << what;
    EXPECT_EQ(ops_of({dir.path(folder) + "/."}), want) << what;
    write_archive(dir.path(folder + ".tar"), ARCHIVE_FILTER_NONE, files);
    EXPECT_EQ(ops_of({dir.path(folder + ".tar")}), want) << what;
  }
  // Which files are no ranks is told of both.
  const auto notes_of = [&](const std::string& path, const std::string& prefix) {
    auto t = open_trace({path});
    EXPECT_TRUE(t);
    std::string notes;
    for (const std::string& note : t ? (*t)->header().notes : std::vector<std::string>())
      notes += note.starts_with(prefix) ? note.substr(prefix.size()) + "\n" : note + "\n";
    return notes;
  };
  EXPECT_EQ(notes_of(dir.path("d1"), dir.path("d1/")), "README was ignored: not a rank's file.\n");
  EXPECT_EQ(notes_of(dir.path("d1.tar"), dir.path("d1.tar!")), "README was ignored: not a rank's file.\n");
  EXPECT_EQ(notes_of(dir.path("d3"), dir.path("d3/")), "");
  // One that names a file twice, by two ways.
  dir.write("twice/all", all);
  dir.write("twice/index", "all\n../twice/all\n");
  const auto twice = open_trace({dir.path("twice")}, "ti");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().message(), dir.path("twice") + ": error: the index names a file twice; got \"" +
                                         dir.path("twice/all") + "\"");
}

std::string open_error(const TempDir& dir, const std::vector<std::string>& paths) {
  auto t = open_trace(paths, "ti");
  if (t) return "no error";
  std::string m = t.error().message();
  for (std::size_t at = 0; (at = m.find(dir.path(""))) != std::string::npos;)
    m.erase(at, dir.path("").size());
  return m;
}

TEST(TiInput, FormsThatAreNotATraceAreRefusedByName) {
  const TempDir dir;
  EXPECT_EQ(open_error(dir, {dir.path("none")}), "none: error: cannot open: No such file or directory");
  EXPECT_EQ(open_error(dir, {dir.write("empty.txt", "")}),
            "empty.txt: error: the trace holds no action; expected lines \"RANK ACTION ...\"");
  EXPECT_EQ(open_error(dir, {dir.write("index", "rank-0.txt\n")}),
            "index:1:1: error: neither a TI action nor the name of a file; got \"rank-0.txt\"; expected "
            "\"RANK ACTION "
            "...\" or one file name a line");
  dir.write("holes/rank-0.txt", "0 init\n");
  dir.write("holes/rank-2.txt", "2 init\n");
  EXPECT_EQ(open_error(dir, {dir.path("holes")}),
            "holes: error: a rank's file is missing; got \"holes/rank-2.txt\"; expected a file holes/rank-1");
  write_archive(dir.path("whole.gz"), ARCHIVE_FILTER_GZIP, {{"data", lines_of(0, 1)}}, true);
  const std::string whole = slurp(dir.path("whole.gz"));
  EXPECT_EQ(open_error(dir, {dir.write("cut.gz", whole.substr(0, whole.size() - 20))}),
            fmt::format("cut.gz@byte {:#x}: error: cannot unpack: truncated gzip input", whole.size() - 20));
  // Behind the last whole member stands zeros or another one; padding is none of the error.
  for (const auto& [rest, byte] :
       {std::pair(std::string("junk"), 0), std::pair(std::string(9, '\0') + whole.substr(1), 9)})
    EXPECT_EQ(open_error(dir, {dir.write("rest.gz", whole + rest)}),
              fmt::format(
                  "rest.gz@byte {:#x}: error: bytes behind the end of the compressed data; expected another "
                  "member, or the end of the file",
                  whole.size() + static_cast<std::size_t>(byte)));
  EXPECT_TRUE(open_trace({dir.write("padded.gz", whole + std::string(5000, '\0'))}));
  write_archive(dir.path("bad.tar.gz"), ARCHIVE_FILTER_GZIP,
                {{"rank-0.txt", "0 init\n"}, {"rank-1.txt", "1 jump\n"}});
  EXPECT_EQ(open_error(dir, {dir.path("bad.tar.gz")}).substr(0, 60),
            "bad.tar.gz!rank-1.txt:1:3: error: unknown action; got \"jump\"");
  // A rank number that no file of this size can mean.
  EXPECT_EQ(open_error(dir, {dir.write("many.txt", "0 init\n9999999 init\n")}),
            "many.txt:2:1: error: the trace has too many ranks for its lines; got \"10000000 ranks\"; "
            "expected at most "
            "65536");
  EXPECT_EQ(
      open_error(dir, {dir.write("many.txt",
                                 "0 init\n\n# 5\n\t 70000 init\n80000 init\n  80000 barrier\n3 init\n")}),
      "many.txt:5:1: error: the trace has too many ranks for its lines; got \"80001 ranks\"; expected at "
      "most "
      "65536");
}

// By their looks alone, from wherever they are opened.
TEST(TiInput, IndicesAreKnownByAnyFileThatTheyName) {
  const TempDir dir;
  const std::string a = dir.write("out/run/t_files/rank-0.txt", lines_of(0, 2)),
                    b = dir.write("out/run/t_files/rank-1.txt", lines_of(1, 2));
  const auto want = ops_of({a, b});
  ASSERT_EQ(want.size(), 2u);
  // Named from another directory than that of the index.
  const std::string names = "out/run/t_files/rank-0.txt\nout/run/t_files/rank-1.txt\n";
  EXPECT_EQ(ops_of({dir.write("out/run/t.ti", names)}), want);
  EXPECT_EQ(ops_of({dir.write("out/run/t.ti", "\n \t\n# by hand\n" + names)}), want);
  EXPECT_EQ(ops_of({dir.write("out/run/t.ti", "  " + a + "\n\t" + b + "\r\n")}), want);
  const auto missing = open_trace({dir.write("out/run/t.ti", "# by hand\n\n  none.txt\n" + names)});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message(),
            dir.path("out/run/t.ti") +
                ":3:3: error: neither a TI action nor the name of a file; got \"none.txt\"; expected "
                "\"RANK ACTION ...\" or one file name a line");
}

TEST(TiInput, LongCommentsInFrontAreReadOver) {
  const TempDir dir;
  std::string comments;
  for (int i = 0; i < 300; ++i) comments += "#\n# where the trace was made\n";
  ASSERT_GT(comments.size(), 2u * 4096);
  const std::string text = lines_of(0, 2) + "\n" + lines_of(1, 2) + "\n";
  const auto want = ops_of({dir.write("t.txt", text)});
  ASSERT_EQ(want.size(), 2u);
  // The first action within and across the ends of the pieces that are read.
  for (std::size_t n = 4096 - 12; n <= 4096 + 4; ++n)
    EXPECT_EQ(ops_of({dir.write("t.txt", "#" + std::string(n - 2, 'x') + "\n" + text)}), want) << n;
  EXPECT_EQ(ops_of({dir.write("t.txt", comments + text)}), want);
  dir.write("a.txt", lines_of(0, 2));
  dir.write("b.txt", comments + lines_of(1, 2));
  EXPECT_EQ(ops_of({dir.write("index", comments + "a.txt\nb.txt\n")}), want);
}

// A message as t.weft and t.goal.
void export_a_message(const TempDir& dir) {
  const std::string ti = dir.write("t.txt", "0 send 1 3 8 0\n1 recv 0 3 8 0\n");
  for (const char* to : {"weft", "goal"}) {
    auto t = open_trace({ti});
    ASSERT_TRUE(t);
    ASSERT_TRUE(export_trace(**t, to, dir.path(std::string("t.") + to)));
  }
}

// The library would go on behind it: a rank less, and nothing said.
TEST(TiInput, ADamagedHeaderOfATarIsAnError) {
  const TempDir dir;
  write_archive(dir.path("t.tar"), ARCHIVE_FILTER_NONE,
                {{"r-rank-0.txt", "0 compute 1\n"}, {"r-rank-1.txt", "1 compute 1\n"}});
  ASSERT_TRUE(open_trace({dir.path("t.tar")}));
  std::string tar = slurp(dir.path("t.tar"));
  tar[1024 + 148] ^= 1;  // the checksum of the second header
  const auto t = open_trace({dir.write("t.tar", tar)});
  ASSERT_FALSE(t);
  EXPECT_THAT(t.error().message(), HasSubstr("error: cannot unpack: "));
}

// All that is packed comes to the reader of TI text.
TEST(TiInput, PackedTracesOfOtherFormatsAreToldByNameAndHowToUnpackThem) {
  const TempDir dir;
  ASSERT_NO_FATAL_FAILURE(export_a_message(dir));
  const std::string weft = slurp(dir.path("t.weft")), goal = slurp(dir.path("t.goal"));
  ASSERT_TRUE(open_trace({dir.path("t.weft")}));
  ASSERT_TRUE(open_trace({dir.path("t.goal")}));
  const auto expect_told = [&](const std::vector<std::string>& paths, const std::string& where,
                               const std::string& format, const std::string& unpack) {
    for (const char* from : {"", "ti"}) {
      const auto t = open_trace(paths, from);
      ASSERT_FALSE(t) << where;
      EXPECT_EQ(t.error().code, ErrorCode::kNotSupported);
      EXPECT_EQ(t.error().message(), dir.path(where) + ": error: not supported: a packed " + format +
                                         " trace; expected the trace, unpacked with \"" + unpack + "\"");
    }
  };
  struct Packing {
    int filter;
    std::string extension, unpack;
  };
  const Packing packings[] = {{ARCHIVE_FILTER_GZIP, ".gz", "gzip -d"},
                              {ARCHIVE_FILTER_ZSTD, ".zst", "zstd -d"},
                              {ARCHIVE_FILTER_XZ, ".xz", "xz -d"},
                              {ARCHIVE_FILTER_BZIP2, ".bz2", "bzip2 -d"}};
  const std::pair<std::string, std::string> traces[] = {{"weft", weft}, {"goal", goal}};
  for (const auto& [format, bytes] : traces) {
    const std::string name = "t." + format;
    for (const Packing& p : packings) {
      write_archive(dir.path(name + p.extension), p.filter, {{"data", bytes}}, true);
      expect_told({dir.path(name + p.extension)}, name + p.extension, format, p.unpack);
      expect_told({dir.path(name + p.extension), dir.path("t.txt")}, name + p.extension, format, p.unpack);
      const std::string tar = name + ".tar" + p.extension;
      write_archive(dir.path(tar), p.filter, {{"README", "of a run\n"}, {"d/" + name, bytes}});
      expect_told({dir.path(tar)}, tar + "!d/" + name, format, "tar -xf");
    }
    write_archive(dir.path(name + ".tar"), ARCHIVE_FILTER_NONE, {{name, bytes}});
    expect_told({dir.path(name + ".tar")}, name + ".tar!" + name, format, "tar -xf");
  }
  // By their names, and behind comments of any length.
  write_archive(dir.path("o.tar.gz"), ARCHIVE_FILTER_GZIP, {{"o/traces.otf2", "anchor"}, {"o/0.evt", "x"}});
  expect_told({dir.path("o.tar.gz")}, "o.tar.gz!o/traces.otf2", "otf2", "tar -xf");
  write_archive(dir.path("o.otf2.gz"), ARCHIVE_FILTER_GZIP, {{"data", "anchor"}}, true);
  expect_told({dir.path("o.otf2.gz")}, "o.otf2.gz", "otf2", "gzip -d");
  write_archive(dir.path("d.tar"), ARCHIVE_FILTER_NONE, {{"d-0.bin", "x"}, {"d.meta", "numprocs=1\n"}});
  expect_told({dir.path("d.tar")}, "d.tar!d.meta", "dumpi", "tar -xf");
  std::string comments;
  for (int i = 0; i < 9'000; ++i) comments += "// made by a generator\n";
  write_archive(dir.path("c.gz"), ARCHIVE_FILTER_GZIP, {{"data", comments + goal}}, true);
  expect_told({dir.path("c.gz")}, "c.gz", "goal", "gzip -d");
  // Beside TI text they are none of the trace.
  write_archive(dir.path("both.tar.gz"), ARCHIVE_FILTER_GZIP,
                {{"t.goal", goal}, {"rank-0.txt", "0 send 1 3 8 0\n"}, {"rank-1.txt", "1 recv 0 3 8 0\n"}});
  EXPECT_EQ(ops_of({dir.path("both.tar.gz")}), ops_of({dir.path("t.txt")}));
  // What is no trace of any format is told as TI text.
  write_archive(dir.path("none.gz"), ARCHIVE_FILTER_GZIP, {{"data", "0 jump\n"}}, true);
  EXPECT_EQ(open_error(dir, {dir.path("none.gz")}).substr(0, 46),
            "none.gz:1:3: error: unknown action; got \"jump\"");
}

// Their own readers find no trace there, and nobody does in a folder.
TEST(PackedTraces, AreToldByNameInFoldersAndWhereTheirFormatIsAskedFor) {
  const TempDir dir;
  ASSERT_NO_FATAL_FAILURE(export_a_message(dir));
  const std::string weft = slurp(dir.path("t.weft")), goal = slurp(dir.path("t.goal"));
  const std::string meta = "hostname=n\nnumprocs=1\nfileprefix=d\n", bin =
                                                                         "\xff\xaa\xdd"
                                                                         "DUMPI then";
  dir.write("goals/a", "no trace");
  dir.write("dumpi/d.meta", meta);
  for (const char* sub : {"wefts", "metas", "anchors"}) fs::create_directory(dir.path(sub));
  const auto pack = [&](const std::string& name, const std::string& bytes) {
    write_archive(dir.path(name), ARCHIVE_FILTER_GZIP, {{"data", bytes}}, true);
  };
  pack("goals/run.gz", goal);
  pack("wefts/run.weft.gz", weft);
  pack("dumpi/d-0000.bin.gz", bin);
  pack("metas/d.meta.gz", meta);
  pack("anchors/traces.otf2.gz", "anchor");
  pack("t.goal.gz", goal);
  pack("t.txt.gz", "0 send 1 3 8 0\n1 recv 0 3 8 0\n");
  write_archive(dir.path("t.tar"), ARCHIVE_FILTER_NONE, {{"README", "of a run\n"}, {"t.weft", weft}});
  struct Case {
    std::string path, from, where, format, unpack;
  };
  std::vector<Case> cases{{"dumpi", "", "dumpi/d-0000.bin.gz", "dumpi", "gzip -d"},
                          {"dumpi/d.meta", "", "dumpi/d-0000.bin.gz", "dumpi", "gzip -d"}};
  for (const char* from : {"", "ti", "goal", "otf2"}) {
    cases.push_back({"goals", from, "goals/run.gz", "goal", "gzip -d"});
    cases.push_back({"wefts", from, "wefts/run.weft.gz", "weft", "gzip -d"});
    cases.push_back({"metas", from, "metas/d.meta.gz", "dumpi", "gzip -d"});
    cases.push_back({"anchors", from, "anchors/traces.otf2.gz", "otf2", "gzip -d"});
    // Named as they were before they were packed.
    cases.push_back({"anchors/traces.otf2", from, "anchors/traces.otf2.gz", "otf2", "gzip -d"});
    cases.push_back({"wefts/run.weft", from, "wefts/run.weft.gz", "weft", "gzip -d"});
  }
  for (const char* from : {"weft", "goal", "dumpi", "otf2"}) {
    cases.push_back({"t.goal.gz", from, "t.goal.gz", "goal", "gzip -d"});
    cases.push_back({"t.tar", from, "t.tar!t.weft", "weft", "tar -xf"});
  }
  for (const Case& c : cases) {
    const auto t = open_trace({dir.path(c.path)}, c.from);
    ASSERT_FALSE(t) << c.path;
    EXPECT_EQ(t.error().message(), dir.path(c.where) + ": error: not supported: a packed " + c.format +
                                       " trace; expected the trace, unpacked with \"" + c.unpack + "\"")
        << c.path << " from " << c.from;
  }
  // TI text is read packed, but by its own reader.
  const auto text = open_trace({dir.path("t.txt.gz")}, "goal");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().what, "no statement begins like this");
}

TEST(TiInput, ADirectoryMayHoldTheTextOfEachRankCompressed) {
  const TempDir dir;
  std::vector<std::string> paths;
  for (int r = 0; r < 3; ++r) {
    const std::string name = "1.5_rank-" + std::to_string(r) + ".txt";
    paths.push_back(dir.write("text/" + name, lines_of(r, 3)));
    dir.write("packed/README." + std::to_string(r), "not a rank");
    write_archive(dir.path("packed/" + name + ".gz"), ARCHIVE_FILTER_GZIP, {{"data", lines_of(r, 3)}}, true);
  }
  const auto want = ops_of(paths);
  EXPECT_EQ(ops_of({dir.path("packed")}), want);
  // The text and what it was packed to are one rank.
  write_archive(dir.path("text/1.5_rank-1.txt.zst"), ARCHIVE_FILTER_ZSTD, {{"data", "1 init\n"}}, true);
  EXPECT_EQ(ops_of({dir.path("text")}), want);
}

TEST(TiInput, SimGridsOwnReplayExamplesAreRead) {
  const std::string base = kShared + "/simgrid_ti";
  WEFT_NEEDS(fs::exists(base), "no " << base);
  std::size_t read = 0;
  for (const auto& e : fs::directory_iterator(base + "/replay")) {
    const std::string name = e.path().filename().string();
    if (name == "actions0.txt" || name == "actions1.txt") continue;  // through split_traces
    auto t = open_trace({e.path().string()});
    ASSERT_TRUE(t) << t.error().message();
    // One operation for each action, and a compute for the flops of a reduction.
    EXPECT_GE((*t)->totals().ops, 1u) << name;
    const auto r = check_trace(**t);
    ASSERT_TRUE(r);
    EXPECT_EQ(r->errors, 0u) << name << ": " << r->findings[0].message;
    ++read;
  }
  EXPECT_EQ(read, 12u);
  auto recorded = open_trace({base + "/replay_multiple/ti_traces_32_1"});
  ASSERT_TRUE(recorded) << recorded.error().message();
  EXPECT_EQ((*recorded)->header().ranks, 32u);
  const auto r = check_trace(**recorded);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->errors, 0u) << r->findings[0].message;
  for (const char* name : {"coll", "compute_only", "mixed"}) {
    auto t = open_trace({base + "/replay_multiple_manual_deploy/" + name + ".txt"});
    ASSERT_TRUE(t) << t.error().message();
    EXPECT_EQ((*t)->header().ranks, 2u);
  }
}

// Lines of the ranks' files, counted without the reader.
std::uint64_t lines_in(const std::string& archive) {
  std::uint64_t n = 0;
  for (const auto& [name, text] : read_archive(archive))
    if (name.ends_with(".txt"))
      n +=
          static_cast<std::uint64_t>(std::ranges::count(text, '\n')) + (!text.empty() && text.back() != '\n');
  return n;
}

TEST(TiInput, EveryHplTraceRecordedWithFlopsIsReadLineByLineAndChecks) {
  for (const std::string& trace : hpl_traces()) {
    SCOPED_TRACE(trace);
    auto t = open_trace({trace + "/trace.tar.zst"});
    ASSERT_TRUE(t) << t.error().message();
    EXPECT_EQ((*t)->totals().ops, lines_in(trace + "/trace.tar.zst"));
    const auto r = check_trace(**t);
    ASSERT_TRUE(r);
    EXPECT_EQ(r->errors, 0u) << r->findings[0].message;
  }
}

TEST(TiInput, EveryHplTraceRecordedWithTimesIsReadLineByLineAndChecks) {
  const std::string base = kShared + "/hpl_ti";
  WEFT_NEEDS(fs::exists(base), "no " << base);
  std::size_t read = 0;
  for (const auto& e : fs::directory_iterator(base)) {
    if (e.path().extension() != ".gz") continue;
    SCOPED_TRACE(e.path().filename().string());
    auto t = open_trace({e.path().string()});
    ASSERT_TRUE(t) << t.error().message();
    EXPECT_EQ((*t)->totals().ops, lines_in(e.path().string()));
    const auto r = check_trace(**t);
    ASSERT_TRUE(r);
    EXPECT_EQ(r->errors, 0u) << r->findings[0].message;
    ++read;
  }
  EXPECT_EQ(read, 5u);
}

TEST(TiInput, AByteOrderMarkIsPassedOverInEveryForm) {
  const TempDir dir;
  const std::string bom = "\xef\xbb\xbf";
  const auto want = ops_of({dir.write("plain.txt", lines_of(0, 2) + "\n" + lines_of(1, 2) + "\n")});
  ASSERT_EQ(want.size(), 2u);
  EXPECT_EQ(ops_of({dir.write("shared.txt", bom + lines_of(0, 2) + "\n" + lines_of(1, 2) + "\n")}), want);
  const std::string a = dir.write("a.txt", bom + lines_of(0, 2)),
                    b = dir.write("b.txt", bom + lines_of(1, 2));
  EXPECT_EQ(ops_of({a, b}), want);
  EXPECT_EQ(ops_of({dir.write("index.txt", bom + "a.txt\r\nb.txt\r\n")}), want);
  const std::vector<std::pair<std::string, std::string>> members = {{"x/rank-0.txt", bom + lines_of(0, 2)},
                                                                    {"x/rank-1.txt", bom + lines_of(1, 2)}};
  write_archive(dir.path("t.tar.gz"), ARCHIVE_FILTER_GZIP, members);
  EXPECT_EQ(ops_of({dir.path("t.tar.gz")}), want);
  write_archive(dir.path("one.gz"), ARCHIVE_FILTER_GZIP,
                {{"data", bom + lines_of(0, 2) + "\n" + lines_of(1, 2) + "\n"}}, true);
  EXPECT_EQ(ops_of({dir.path("one.gz")}), want);
}

TEST(TiInput, ACarriageReturnEndsALineOnlyWithALineFeed) {
  const TempDir dir;
  const std::string unix_text = lines_of(0, 2) + "\n" + lines_of(1, 2) + "\n";
  std::string dos, mac;
  for (const char c : unix_text) {
    dos += c == '\n' ? "\r\n" : std::string(1, c);
    mac += c == '\n' ? '\r' : c;
  }
  const auto want = ops_of({dir.write("unix.txt", unix_text)});
  EXPECT_EQ(ops_of({dir.write("dos.txt", dos)}), want);
  EXPECT_EQ(ops_of({dir.write("dos2.txt", dos.substr(0, dos.size() - 1))}), want)
      << "the last line feed is missing";
  for (const auto& [text, place] : {std::pair<std::string, std::string>{mac, ":1:7: "},
                                    {"0 init\n1 init\n0 compute 1\r1 compute 2\n", ":3:12: "}}) {
    const std::string path = dir.write("mac.txt", text);
    const auto t = open_trace({path});
    ASSERT_FALSE(t);
    EXPECT_EQ(
        t.error().message(),
        path + place + "error: a carriage return inside a line; expected lines that end in LF or in CR LF");
  }
}

TEST(TiInput, WhatACompressedFileUnpacksToIsBoundedByItsSize) {
  const TempDir dir;
  const auto error_of = [&](const std::string& name) {
    const auto t = open_trace({dir.path(name)});
    return t ? std::string("no error") : t.error().message();
  };
  // 100 MB of empty lines in kilobytes: more than 16 MiB and 128 times as much.
  write_archive(dir.path("zeros.zst"), ARCHIVE_FILTER_ZSTD, {{"data", std::string(100u << 20, '\n')}}, true);
  EXPECT_LT(fs::file_size(dir.path("zeros.zst")), 30'000u);
  EXPECT_NE(error_of("zeros.zst").find("zeros.zst@byte 0x"), std::string::npos) << error_of("zeros.zst");
  EXPECT_NE(error_of("zeros.zst").find("the file unpacks to too much; got \""), std::string::npos);
  // Below the limit every byte is looked at once, however small the pieces are that it comes in.
  write_archive(dir.path("lines.gz"), ARCHIVE_FILTER_GZIP, {{"data", std::string(18u << 20, '\n')}}, true);
  EXPECT_NE(error_of("lines.gz").find("the trace holds no action"), std::string::npos)
      << error_of("lines.gz");
  // The same in members of a tar that nobody wants.
  write_archive(dir.path("t.tar.zst"), ARCHIVE_FILTER_ZSTD,
                {{"rank-0.txt", lines_of(0, 1)}, {"notes", std::string(100u << 20, 'x')}});
  EXPECT_NE(error_of("t.tar.zst").find("the file unpacks to too much"), std::string::npos)
      << error_of("t.tar.zst");
  // Twice compressed: the ratio of one is the square of the other's.
  write_archive(dir.path("once.gz"), ARCHIVE_FILTER_GZIP, {{"data", lines_of(0, 1)}}, true);
  write_archive(dir.path("twice.gz"), ARCHIVE_FILTER_GZIP, {{"data", slurp(dir.path("once.gz"))}}, true);
  EXPECT_EQ(ops_of({dir.path("once.gz")}).size(), 1u);
  EXPECT_NE(error_of("twice.gz").find("compressed more than once; got \"gzip\""), std::string::npos)
      << error_of("twice.gz");
}

// 60 MB in kilobytes, as one text and in a tar, by each that packs: beside the program, memory and address space.
TEST(TiInput, BombsAreAnsweredWithin64MiB) {
  WEFT_NEEDS_ADDRESS_LIMIT();
  const TempDir dir;
  std::vector<std::string> bombs;
  for (const int filter : {ARCHIVE_FILTER_GZIP, ARCHIVE_FILTER_ZSTD, ARCHIVE_FILTER_XZ}) {
    bombs.push_back(dir.path(std::to_string(bombs.size())));
    write_archive(bombs.back(), filter, {{"data", std::string(60u << 20, '\n')}}, true);
    bombs.push_back(dir.path(std::to_string(bombs.size())));
    write_archive(bombs.back(), filter,
                  {{"rank-0.txt", lines_of(0, 1)}, {"rank-1.txt", std::string(60u << 20, '\n')}});
  }
  for (const std::string& path : bombs)
    EXPECT_TRUE(testing::within(64u << 20, [&] { return !open_trace({path}, "ti"); })) << path;
}

TEST(TiInput, NamesAndLinksInAnArchiveThatPointOutsideTouchNothing) {
  const TempDir dir;
  const std::string victim = dir.write("victim.txt", "0 compute 1\n");
  archive* a = archive_write_new();
  archive_write_set_format_ustar(a);
  ASSERT_EQ(archive_write_open_filename(a, dir.path("t.tar").c_str()), ARCHIVE_OK);
  const auto add = [&](const std::string& name, unsigned type, const std::string& text,
                       const std::string& link = {}) {
    archive_entry* e = archive_entry_new();
    archive_entry_set_pathname(e, name.c_str());
    archive_entry_set_filetype(e, type);
    archive_entry_set_size(e, static_cast<la_int64_t>(text.size()));
    archive_entry_set_perm(e, 0644);
    if (!link.empty()) archive_entry_set_symlink(e, link.c_str());
    EXPECT_EQ(archive_write_header(a, e), ARCHIVE_OK) << archive_error_string(a);
    archive_write_data(a, text.data(), text.size());
    archive_entry_free(e);
  };
  add("../../rank-0.txt", AE_IFREG, lines_of(0, 2));
  add("../../rank-1.txt", AE_IFREG, lines_of(1, 2));
  add("../../rank-2.txt", AE_IFLNK, "", victim);
  archive_write_close(a);
  archive_write_free(a);
  EXPECT_EQ(ops_of({dir.path("t.tar")}).size(), 2u) << "the link is no rank";
  EXPECT_EQ(slurp(victim), "0 compute 1\n");
  EXPECT_FALSE(fs::exists(fs::path(dir.path("")) / "../../rank-0.txt"));
}

TEST(TiInput, ATraceDoesNotComeThroughAPipeOrFromADevice) {
  EXPECT_EQ(open_trace({"-"}).error().message(),
            "-: error: not supported: a trace that comes through a pipe; expected a file: a trace is read "
            "more than once");
  EXPECT_EQ(open_trace({"-"}).error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(open_trace({"/dev/zero"}, "ti").error().message(),
            "/dev/zero: error: a device is no trace; expected a file");
  const TempDir dir;
  ASSERT_EQ(::mkfifo(dir.path("pipe").c_str(), 0600), 0);
  for (const char* from : {"", "ti", "weft"})
    EXPECT_EQ(open_trace({dir.path("pipe")}, from).error().code, ErrorCode::kNotSupported)
        << "and it does not wait";
}

}  // namespace
}  // namespace weft::traces
