// Paraver traces of a test, and what becomes of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/traces/dimemas/dimemas_testing.hpp"

namespace weft::traces::paraver_test {

using dimemas_test::program;
using testing::TempDir;

inline std::string head(int tasks, const std::string& unit = "_ns") {
  std::string nodes, where, members;
  for (int t = 1; t <= tasks; ++t) {
    nodes += t == 1 ? "1" : ",1";
    where += fmt::format("{}1:{}", t == 1 ? "" : ",", t);
    members += fmt::format(":{}", t);
  }
  return fmt::format("#Paraver (22/03/26 at 10:11):9000{}:{}({}):1:{}({}),1\nc:1:1:{}{}\n", unit, tasks,
                     nodes, tasks, where, tasks, members);
}
// An event of a call of a task, from 1.
inline std::string call(int task, int from, int to, int type, int value, const std::string& said = "") {
  return fmt::format("2:1:1:{0}:1:{1}:5000000{3}:{4}{5}\n2:1:1:{0}:1:{2}:5000000{3}:0\n", task, from, to,
                     type, value, said);
}
inline std::string message(int from, int sent, int to, int posted, int received, int bytes, int tag) {
  return fmt::format("3:{0}:1:{0}:1:{1}:{1}:{2}:1:{2}:1:{3}:{4}:{5}:{6}\n", from, sent, to, posted, received,
                     bytes, tag);
}

inline std::unique_ptr<TraceReader> opened(const TempDir& dir, const std::string& text) {
  auto t = open_trace({dir.write("t.prv", text)});
  EXPECT_TRUE(t) << t.error().message();
  return t ? std::move(*t) : nullptr;
}
inline std::vector<std::string> of_task(const TempDir& dir, const std::string& text, std::uint32_t rank = 0) {
  const auto t = opened(dir, text);
  return t == nullptr ? std::vector<std::string>() : program(*t, rank);
}

}  // namespace weft::traces::paraver_test
