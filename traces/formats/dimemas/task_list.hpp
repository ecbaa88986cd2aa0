// The list of a head that says how many threads each task has. Dimemas' and Paraver's are alike but for the node behind each number.
#pragma once

#include <cstdint>
#include <string_view>

#include "traces/formats/dimemas/fields.hpp"

namespace weft::traces::dimemas {

// Up to nine digits.
[[nodiscard]] bool is_number(std::string_view text);

struct TaskListWords {
  const char* wrong;     // that something in it is no number
  const char* expected;  // what it should be
  const char* refused;   // a trace that has more threads
  bool nodes;            // behind a colon each
};
// "THREADS,...)" or "THREADS:NODE,...)": one thread for each of `tasks`. False: it is something else, which is in f.error().
[[nodiscard]] bool one_thread_each(Fields& f, std::int64_t tasks, const TaskListWords& words);

}  // namespace weft::traces::dimemas
