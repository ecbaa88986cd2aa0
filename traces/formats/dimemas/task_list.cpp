#include "traces/formats/dimemas/task_list.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::traces::dimemas {

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool one_thread_each(Fields& f, std::int64_t tasks, const TaskListWords& words) {
  const Fields at_threads = f;
  std::string_view text;
  if (!f.text_up_to(')', "the list of threads", text)) return false;
  std::int64_t listed = 0;
  bool wrong = false, several = false;
  for (std::size_t at = 0; at <= text.size(); ++listed) {
    const std::string_view task = text.substr(at, text.find(',', at) - at);
    const std::string_view threads = words.nodes ? task.substr(0, task.find(':')) : task;
    wrong |= !is_number(threads);
    several |= threads != "1";
    at += task.size() + 1;
  }
  if (!wrong && listed == tasks && !several) return true;
  f = at_threads;
  if (wrong) return f.fail(words.wrong, words.expected);
  if (listed != tasks)
    return f.fail(fmt::format("{} tasks have {} numbers of threads", tasks, listed), words.expected);
  return f.refuse(words.refused, "one thread for each task");
}

}  // namespace weft::traces::dimemas
