// The list of a head that says how many threads each task has. Dimemas' and Paraver's are alike but for the node behind each number.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "traces/formats/dimemas/fields.hpp"

namespace weft::traces::dimemas {

// Up to nine digits.
[[nodiscard]] bool is_number(std::string_view text);

struct TaskListWords {
  const char* wrong;     // that something in it is no number
  const char* expected;  // what it should be
  const char* refused;   // a trace that has more threads; null: it is not
  bool nodes;            // behind a colon each
};
// "THREADS,...)" or "THREADS:NODE,...)", of each of `tasks`; at least one. False: it is something else, or refused, which is in f.error().
[[nodiscard]] bool read_threads(Fields& f, std::int64_t tasks, const TaskListWords& words,
                                std::vector<std::uint32_t>& threads);

}  // namespace weft::traces::dimemas
