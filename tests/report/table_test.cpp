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

TEST(Table, QuotesCsvCellsAsRfc4180Says) {
  EXPECT_EQ(csv_line({"a", "b,c", "say \"x\"", "two\nlines", ""}),
            "a,\"b,c\",\"say \"\"x\"\"\",\"two\nlines\",\n");
}

}  // namespace
}  // namespace weft::report
