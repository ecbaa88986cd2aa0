#include "report/table.hpp"

#include <gtest/gtest.h>

namespace weft::report {
namespace {

TEST(Table, AlignsColumnsAndCountsLettersNotBytes) {
  Table t({{"name", Table::Align::kLeft}, {"time"}});
  t.add({"a", "12.3 ms"});
  t.add({"zwölf", "1 s"});
  EXPECT_EQ(t.text(),
            "name      time\n"
            "a      12.3 ms\n"
            "zwölf      1 s\n");
}

TEST(Table, GoesOnBelowWithItsKeysWhereItIsTooWide) {
  Table t({{"#"}, {"name", Table::Align::kLeft}, {"time"}, {"hops"}, {"bytes"}});
  t.add({"1", "torus", "12.3 ms", "2.00", "1 MB"});
  t.add({"2", "tree", "9 ms", "4.00", "10 MB"});
  EXPECT_EQ(t.text(26, 2),
            "#  name      time  hops\n"
            "1  torus  12.3 ms  2.00\n"
            "2  tree      9 ms  4.00\n"
            "\n"
            "#  name   bytes\n"
            "1  torus   1 MB\n"
            "2  tree   10 MB\n");
  EXPECT_EQ(t.text(30, 2), t.text());
}

TEST(Table, WrapsSentencesAtSpacesAndKeepsNumbersWithTheirUnits) {
  EXPECT_EQ(wrap("one two three", 20), "one two three");
  EXPECT_EQ(wrap("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(wrap("takes 12.3 ms more", 10), "takes\n12.3 ms\nmore");
  EXPECT_EQ(wrap("12 of 13 MB/s here", 9), "12 of\n13 MB/s\nhere");
  EXPECT_EQ(wrap("  a-very-long-name ab", 6, 4), "  a-very-long-name\n    ab");
  EXPECT_EQ(wrap("zwölf zwölf", 5), "zwölf\nzwölf");
  EXPECT_EQ(wrap("a b\nc d", 1), "a\nb\nc\nd");
  // Each line that breaks off costs its own length, not that of the rest: minutes otherwise.
  std::string many;
  for (int i = 0; i < 500'000; ++i) many += "rank in recv ";
  EXPECT_EQ(wrap(many, 80).size(), many.size());
}

TEST(Table, QuotesCsvCellsAsRfc4180Says) {
  EXPECT_EQ(csv_line({"a", "b,c", "say \"x\"", "two\nlines", ""}),
            "a,\"b,c\",\"say \"\"x\"\"\",\"two\nlines\",\n");
}

}  // namespace
}  // namespace weft::report
