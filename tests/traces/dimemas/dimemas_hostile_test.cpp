// What is no Dimemas trace, or one that is not read: a place and an exact message.
#include "tests/traces/dimemas/dimemas_testing.hpp"

namespace weft::traces::dimemas_test {
namespace {

struct Wrong {
  std::string text, message;
};

TEST(DimemasHostile, EveryWrongLineHasItsMessage) {
  const TempDir dir;
  const std::string two = head(2);
  const Wrong cases[] = {
      {"#DIMEMAX:\"x\":0:1(1),0\n",
       "t.dim:1:1: error: not a Dimemas trace; got \"#DIMEMAX\"; expected "
       "#DIMEMAS:\"NAME\":..."},
      {"#DIMEMAS:\"x:0:1(1),0\n", "t.dim:1:11: error: the name has no end; got \"x\"; expected a \""},
      {"#DIMEMAS:\"x\":2:1(1),0\n",
       "t.dim:1:14: error: the header does not say whether offsets stand at the end; got \"2\"; expected 0, "
       "or 1 and "
       "the byte where they do"},
      {"#DIMEMAS:\"x\":0:0(),0\n",
       "t.dim:1:18: error: the trace has no tasks; got \"),0\"; expected 1 or more"},
      {"#DIMEMAS:\"x\":0:3(1,1),0\n",
       "t.dim:1:18: error: 3 tasks have 2 numbers of threads; got \"1,1),0\"; expected a number for each "
       "task"},
      {"#DIMEMAS:\"x\":0:99999999(1),0\n",
       "t.dim:1:16: error: the number of tasks cannot be; got \"99999999(1),0\"; expected a number up to "
       "16777216"},
      {"#DIMEMAS:\"x\":0:2(1,x),0\n",
       "t.dim:1:18: error: the numbers of threads cannot be; got \"1,x),0\"; expected a number for each "
       "task"},
      {two + "d:1:1:2:0:1\n",
       "t.dim:3:5: error: a communicator is defined twice; got \"1\"; expected one definition "
       "of each number"},
      {two + "d:1:2:2:0\n",
       "t.dim:3:7: error: communicator 2 has another number of tasks; got \"2\"; expected 1, "
       "which is how many are listed"},
      {two + "d:1:2:2:1:1\n",
       "t.dim:3:9: error: a task is twice in communicator 2; got \"1\"; expected each task once"},
      {two + "d:1:2:1:2\n",
       "t.dim:3:9: error: task of the communicator is out of range; got \"2\"; expected 0 to 1"},
      {two + "d:4:2:1:2\n",
       "t.dim:3:3: error: kind of definition is out of range; got \"4\"; expected 1 to 3"},
      {two + "x\n",
       "t.dim:3:1: error: kind of record is not a whole number; got \"x\"; expected a whole number"},
      {two + "1:2:0:0.1\n", "t.dim:3:3: error: task is out of range; got \"2\"; expected 0 to 1"},
      {two + "1:0:1:0.1\n", "t.dim:3:5: error: thread is out of range; got \"1\"; expected 0 to 0"},
      {two + "1:0:0:-1\n",
       "t.dim:3:7: error: duration is out of range; got \"-1\"; expected 0 to 9e6 seconds"},
      {two + "1:0:0:1e30\n",
       "t.dim:3:7: error: duration is out of range; got \"1e30\"; expected 0 to 9e6 seconds"},
      {two + "1:0:0:nan\n", "t.dim:3:7: error: duration is not a number; got \"nan\"; expected seconds"},
      {two + "1:0:0\n", "t.dim:3:6: error: missing duration; got \"end of line\"; expected seconds"},
      {two + "1:0:0:1:2\n",
       "t.dim:3:9: error: the record has too many fields; got \"2\"; expected the end of the "
       "line"},
      {two + "2:0:0:5:-1:1:1:1:1\n",
       "t.dim:3:7: error: destination is out of range; got \"5\"; expected 0 to 1"},
      {two + "2:0:0:1:-1:-8:1:1:1\n",
       "t.dim:3:12: error: size is out of range; got \"-8\"; expected 0 to 4611686018427387904"},
      {two + "2:0:0:1:-1:8:-1:1:1\n",
       "t.dim:3:14: error: tag is out of range; got \"-1\"; expected 0 to 2147483647"},
      {two + "2:0:0:1:-1:8:1:1:4\n",
       "t.dim:3:18: error: kind of send is out of range; got \"4\"; expected 0 to 3"},
      {two + "3:0:0:1:8:1:1\n",
       "t.dim:3:14: error: missing kind of receive; got \"end of line\"; expected a number"},
      {two + "10:0:0:1:9:0:0:0:0\n",
       "t.dim:3:10: error: a communicator that is not defined; got \"9\"; expected one of those above"},
      {two + "d:1:2:1:1\n10:0:0:1:2:0:0:0:0\n",
       "t.dim:4:10: error: a communicator that the task is not in; got \"2\"; expected one of its own"},
      {two + "10:0:0:1:1:0:0:0:0\n10:1:0:2:1:0:0:0:0\n",
       "t.dim:4:8: error: tasks call different collectives at this place of the communicator; got \"2\"; "
       "expected the "
       "calls of the tasks before"},
      {two + "1:0:0:1\n1:1:0:1\n1:0:0:1\n",
       "t.dim:5:3: error: records of task 0 stand in two places; got \"0\"; expected all of them from line 3 "
       "on"},
      {two + "1:0:0:1\ns:0:1\n1:1:0:1\n",
       "t.dim:5:1: error: a line behind the offsets of the tasks; got \"1\"; expected the end of the file"},
      {two + "1:0:0:1\nd:1:2:1:1\n",
       "t.dim:4:1: error: kind of record is not a whole number; got \"d\"; expected a whole number"},
      {two, "t.dim: error: the trace holds no operation; expected records 1, 2, 3 or 10"},
      {two + "10:0:0:9:1:0:0:4611686018427387904:0:1\n10:1:0:9:1:0:0:1:0:1\n",
       "t.dim:3: error: the messages of a collective are too large; expected at most 2^62 bytes"},
  };
  for (const Wrong& c : cases) EXPECT_EQ(error_of(dir, c.text), c.message) << c.text;
}

TEST(DimemasHostile, WhatIsNotReadIsToldByName) {
  const TempDir dir;
  const std::string two = head(2);
  const Wrong cases[] = {
      {"#DIMEMAS:\"x\":0:2(1,4),0\n",
       "t.dim:1:18: error: not supported: a Dimemas trace with several threads of a task (OpenMP, CUDA, "
       "OpenCL); "
       "expected one thread for each task"},
      {two + "11:0:0:0.1\n",
       "t.dim:3:1: error: not supported: a GPU burst of a Dimemas trace (record 11); expected "
       "records 0, 1, 2, 3, 10 and 20"},
      {two + "40:0:0:1\n",
       "t.dim:3:1: error: not supported: record 40 of a Dimemas trace; expected records 0, 1, 2, 3, 10 and "
       "20"},
      {two + "2:0:0:1:3:8:1:1:1\n",
       "t.dim:3:9: error: not supported: a message between threads (CUDA, OpenCL, OpenMP) of a Dimemas "
       "trace; expected "
       "thread -1 or 0"},
      {two + "10:0:0:-1:1:0:0:0:0:1\n",
       "t.dim:3:8: error: not supported: global operation -1 of a Dimemas trace; expected 0 to 31"},
      {two + "20:0:0:50000002:178\n10:0:0:-1:1:0:0:0:0:1\n",
       "t.dim:4:8: error: not supported: neighbor_alltoall of a Dimemas trace, which does not say who the "
       "neighbours "
       "are; expected collectives of all tasks of a communicator"},
  };
  for (const Wrong& c : cases) {
    EXPECT_EQ(error_of(dir, c.text), c.message) << c.text;
    const auto t = open_trace({dir.path("t.dim")});
    ASSERT_FALSE(t);
    EXPECT_EQ(t.error().code, ErrorCode::kNotSupported);
  }
  const auto pair = open_trace({dir.path("t.dim"), dir.path("t.dim")});
  ASSERT_FALSE(pair);
  EXPECT_EQ(pair.error().message(), "error: a Dimemas trace is one file; got \"2 paths\"; expected one path");
}

// A task that has no record costs memory all the same.
TEST(DimemasHostile, MoreTasksThanTheFileHasRoomForAreRefused) {
  const TempDir dir;
  std::string text = "#DIMEMAS:\"x\":0:70000(1";
  for (int t = 1; t < 70000; ++t) text += ",1";
  EXPECT_EQ(
      error_of(dir, text + "),0\n1:0:0:1\n"),
      "t.dim:1: error: the file is too short for its number of tasks; got \"70000\"; expected at most 65536");
}

// Cut off anywhere: read as far as it goes, with a warning, or an error with a place.
TEST(DimemasHostile, AFileThatIsCutOffAnywhereIsReadOrRefusedWithItsPlace) {
  const TempDir dir;
  const std::string whole =
      "#DIMEMAS:\"t\":1,900:2(1,1),1\nd:1:1:2:0:1\n1:0:0:0.5\n2:0:0:1:-1:8:1:1:2\n"
      "10:0:0:9:1:0:0:8:8:1\n1:1:0:0.5\n3:1:0:0:-1:8:1:1:0\n10:1:0:9:1:0:0:8:8:1\ns:0:41\ns:1:90\n";
  std::size_t read = 0;
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const std::string path = dir.write("t.dim", whole.substr(0, n));
    const auto t = open_trace({path}, "dimemas");
    if (!t) {
      EXPECT_TRUE(t.error().message().starts_with(path)) << t.error().message();
      continue;
    }
    ++read;
    for (std::uint32_t r = 0; r < 2; ++r) EXPECT_TRUE(read_rank(**t, r));
  }
  EXPECT_GT(read, 0u);
}

}  // namespace
}  // namespace weft::traces::dimemas_test
