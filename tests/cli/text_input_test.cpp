// Text from a user's editor, whatever wrote it: a byte order mark changes nothing in any reader, a lone carriage return
// is an error with its place, an endless input is refused, and no message carries what a terminal would obey.
#include <gtest/gtest.h>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::text_input_test {
namespace {

constexpr const char* kTrace = "0 init\n1 init\n0 send 1 7 100 6\n1 recv 0 7 100 6\n0 finalize\n1 finalize\n";
constexpr const char* kPlatform =
    "# two hosts\nname: \"two\"\ntopology { family: \"crossbar\" set: \"n=2\" set: \"bw=1GB/s\" }\n";
constexpr const char* kDat =
    "HPL\ntest\nHPL.out\n6\n1\n64\n1\n8\n0\n1\n1\n2\n16."
    "0\n1\n2\n1\n4\n1\n2\n1\n1\n1\n0\n1\n0\n2\n64\n0\n0\n1\n8\n";

struct Reader {
  const char* name;
  std::string text;       // goes into the file `in`, in front of it the mark
  const char* arguments;  // of weft; t.txt is a trace of two ranks
};

TEST(TextInput, AByteOrderMarkChangesNothingInAnyReader) {
  const Reader readers[] = {
      {"TI", kTrace, "info in"},
      {"TI index", "t.txt\n", "info in"},
      {"platform", kPlatform, "replay t.txt --on ./in.textproto"},
      {"placement", "1\n0\n", "replay t.txt --on crossbar:n=2,bw=1GB/s --map file:in"},
      {"routes", "L 0 up 1e9 0\nL 1 down 1e9 0\nR 0 1 0\nR 1 0 1\n", "route 0 1 --on routes:path=in"},
      {"DOT", "graph g { a [kind=host]; b [kind=host]; s [kind=switch]; a -- s; b -- s; }\n",
       "route a b --on file:path=in,bw=1GB/s"},
      {"flows", "src,dst,bytes,start\n0,1,1MB,0\n", "flows in --on crossbar:n=2,bw=1GB/s"},
      {"pattern", "src,dst,bytes\n0,1,1MB\n1,0,1MB\n", "search halo --pattern in --on crossbar:n=2,bw=1GB/s"},
      {"HPL.dat", kDat, "generate hpl --dat in -o out.weft"},
      {"dgemm CSV", "m,n,k,seconds\n100,100,100,1e-3\n200,200,200,7e-3\n300,300,300,2e-2\n50,50,50,2e-4\n",
       "fit dgemm in"},
      {"OSU",
       "# OSU MPI Latency Test v5\n# Size          Latency (us)\n0 1.0\n1000 2.0\n10000 11.0\n100000 101.0\n",
       "fit network in"},
  };
  for (const Reader& r : readers) {
    SCOPED_TRACE(r.name);
    std::string out[2];
    for (const bool mark : {false, true}) {
      const Workspace here;
      here.write("t.txt", kTrace);
      here.write("in", (mark ? "\xef\xbb\xbf" : "") + r.text);
      here.write("in.textproto", (mark ? "\xef\xbb\xbf" : "") + r.text);
      const Outcome o = here.weft(r.arguments);
      EXPECT_EQ(o.exit_code, 0) << o.err;
      out[mark] = o.out + o.err;
    }
    // Times of the run itself differ; the lines that say them do.
    const auto without_run = [](const std::string& s) {
      std::string kept;
      for (std::size_t at = 0; at < s.size();) {
        const std::size_t end = std::min(s.find('\n', at), s.size());
        const std::string line = s.substr(at, end - at);
        if (line.find("events") == std::string::npos && line.find("ops/s") == std::string::npos &&
            line.find(" s,") == std::string::npos)
          kept += line + "\n";
        at = end + 1;
      }
      return kept;
    };
    EXPECT_EQ(without_run(out[0]), without_run(out[1]));
    EXPECT_FALSE(out[0].empty());
  }
}

TEST(TextInput, ALoneCarriageReturnIsAnErrorWithItsPlaceInEveryReader) {
  for (const Reader& r :
       {Reader{"TI", "0 init\r1 init\r", "info in"},
        {"platform", "# a comment\rname: \"two\"\r", "replay t.txt --on ./in.textproto"},
        {"placement", "1\r0\r", "replay t.txt --on crossbar:n=2,bw=1GB/s --map file:in"},
        {"flows", "src,dst,bytes,start\r0,1,1MB,0\r", "flows in --on crossbar:n=2,bw=1GB/s"},
        {"HPL.dat", "HPL\rtest\r", "generate hpl --dat in -o out.weft"},
        {"OSU", "# OSU MPI Latency Test\r0 1.0\r", "fit network in"}}) {
    const Workspace here;
    here.write("t.txt", kTrace);
    here.write("in", r.text);
    here.write("in.textproto", r.text);
    const Outcome o = here.weft(r.arguments);
    EXPECT_EQ(o.exit_code, 3) << r.name << o.out;
    EXPECT_NE(o.err.find(":1:"), std::string::npos) << r.name << o.err;
    EXPECT_NE(o.err.find("error: a carriage return inside a line"), std::string::npos) << r.name << o.err;
  }
}

TEST(TextInput, WhatHasNoEndIsRefusedByEveryReader) {
  for (const char* arguments :
       {"info /dev/zero", "replay t.txt --on /dev/zero",
        "replay t.txt --on crossbar:n=2,bw=1GB/s --map file:/dev/zero",
        "route 0 1 --on routes:path=/dev/zero", "route a b --on file:path=/dev/zero,bw=1GB/s",
        "flows /dev/zero --on crossbar:n=2,bw=1GB/s",
        "search halo --pattern /dev/zero --on crossbar:n=2,bw=1GB/s",
        "generate hpl --dat /dev/zero -o out.weft", "fit dgemm /dev/zero", "fit network /dev/zero",
        "flows - --on crossbar:n=2,bw=1GB/s < /dev/zero"}) {
    const Workspace here;
    here.write("t.txt", kTrace);
    const Outcome o = here.weft(arguments);
    EXPECT_EQ(o.exit_code, 3) << arguments << o.err << " (124: it did not end)";
    // Named with its place: the first byte of the file, or the file as a whole.
    const bool placed = o.err.starts_with("/dev/zero:1:1: error: a zero byte") ||
                        o.err.starts_with("-:1:1: error: a zero byte") ||
                        o.err.starts_with("/dev/zero: error: a ");
    EXPECT_TRUE(placed) << arguments << o.err;
  }
}

TEST(TextInput, AMessageHasNoControlCharactersAndIsNotAsLongAsItsInput) {
  const Workspace here;
  here.write("esc.txt", "0 init\n0 \x1b]0;owned\x07\x1b[2J 1\n");
  Outcome o = here.weft("info esc.txt");
  EXPECT_EQ(o.exit_code, 3);
  EXPECT_NE(o.err.find("got \"\\x1b]0;owned\\x07\\x1b[2J\""), std::string::npos) << o.err;
  here.write("long.csv", "src,dst,bytes,start\n" + std::string(5'000'000, 'x') + ",1,1MB,0\n");
  o = here.weft("flows long.csv --on crossbar:n=2,bw=1GB/s");
  EXPECT_EQ(o.exit_code, 3);
  EXPECT_LT(o.err.size(), 5'000u);
  EXPECT_NE(o.err.find("... (5000000 bytes)\""), std::string::npos) << o.err.substr(0, 600);
  for (const char c : o.err) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

}  // namespace
}  // namespace weft::testing::text_input_test
