#include "traces/formats/dimemas/task_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

namespace weft::traces::dimemas {

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool read_threads(Fields& f, std::int64_t tasks, const TaskListWords& words,
                  std::vector<std::uint32_t>& threads_of) {
  const Fields at_threads = f;
  std::string_view text;
  if (!f.text_up_to(')', "the list of threads", text)) return false;
  bool wrong = false, several = false;
  threads_of.clear();
  for (std::size_t at = 0; at <= text.size();) {
    const std::string_view task = text.substr(at, text.find(',', at) - at);
    const std::string_view threads = words.nodes ? task.substr(0, task.find(':')) : task;
    std::uint32_t n = 0;
    if (is_number(threads)) (void)std::from_chars(threads.data(), threads.data() + threads.size(), n);
    wrong |= n == 0;
    several |= n > 1;
    threads_of.push_back(n);
    at += task.size() + 1;
  }
  const std::int64_t listed = std::ssize(threads_of);
  if (!wrong && listed == tasks && (!several || words.refused == nullptr)) return true;
  f = at_threads;
  if (wrong) return f.fail(words.wrong, words.expected);
  if (listed != tasks)
    return f.fail(fmt::format("{} tasks have {} numbers of threads", tasks, listed), words.expected);
  return f.refuse(words.refused, "one thread for each task");
}

}  // namespace weft::traces::dimemas
