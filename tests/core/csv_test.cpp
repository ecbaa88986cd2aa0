#include "core/files/csv.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

std::string rows_of(std::string_view text, char comment = '\0') {
  CsvReader csv("f.csv", text, comment);
  std::string out;
  while (true) {
    const auto row = csv.next_row();
    if (!row) return out + row.error().message();
    if (!*row) return out;
    out += std::to_string(csv.line());
    for (const CsvCell& c : csv.cells()) out += "|" + std::to_string(c.column) + ":" + c.text;
    out += "\n";
  }
}

TEST(Csv, CellsLoseTheirBlanksAndKeepTheirColumn) {
  EXPECT_EQ(rows_of("a, b ,c\n"), "1|1:a|4:b|7:c\n");
  EXPECT_EQ(rows_of(",\n"), "1|1:|2:\n");
  EXPECT_EQ(rows_of("a"), "1|1:a\n") << "no newline at the end";
}

TEST(Csv, QuotesHoldCommasAndQuotes) {
  EXPECT_EQ(rows_of("\"a,b\", \"say \"\"x\"\"\" ,c\n"), "1|1:a,b|8:say \"x\"|21:c\n");
  EXPECT_EQ(rows_of("1\na,\"b\n"),
            "1|1:1\nf.csv:2:3: error: quote does not close; got \"\"b\"; expected a closing \"");
  EXPECT_EQ(rows_of("\"a\"b,c\n"),
            "f.csv:1:1: error: text after a quoted field; got \"b,c\"; expected a comma");
}

TEST(Csv, BlankLinesMarksAndCommentsAreSkippedButCounted) {
  EXPECT_EQ(rows_of("\xef\xbb\xbf"
                    "a\r\n \t\n\nb\r\n"),
            "1|1:a\n4|1:b\n");
  EXPECT_EQ(rows_of("# x, \"\na\n  # y\nb#\n", '#'), "2|1:a\n4|1:b#\n");
  EXPECT_EQ(rows_of("#a\n"), "1|1:#a\n") << "no comments unless asked for";
  EXPECT_EQ(rows_of(""), "");
}

}  // namespace
}  // namespace weft
