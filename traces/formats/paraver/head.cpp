#include "traces/formats/paraver/head.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/files/input_file.hpp"
#include "core/source_pos.hpp"
#include "traces/formats/dimemas/task_list.hpp"
#include "traces/weft/format.hpp"

namespace weft::traces::paraver {
namespace {

using dimemas::Fields;
using dimemas::Line;

constexpr std::string_view kMagic = "#Paraver (";
// Units of time, as Paraver reads them; without one it is the first.
struct Unit {
  std::string_view suffix;
  std::int64_t picoseconds;
};
constexpr Unit kUnits[] = {{"_us", 1'000'000}, {"_ns", 1000}, {"_ms", 1'000'000'000}};

std::int64_t number_of(std::string_view digits) {
  std::int64_t v = 0;
  for (const char c : digits) v = v * 10 + (c - '0');
  return v;
}

// TASKS(THREADS:NODE,...), and after a comma how many communicators there are.
bool application(Fields& f, std::int64_t applications, std::int64_t& tasks,
                 std::vector<std::uint32_t>& threads, std::int64_t& communicators) {
  const Fields at_tasks = f;
  std::string_view text;
  if (!f.text_up_to('(', "the number of tasks", text)) return false;
  if (!dimemas::is_number(text) || number_of(text) == 0 || number_of(text) > format::kMaxRanks) {
    f = at_tasks;
    return f.fail("the number of tasks cannot be", fmt::format("1 to {}", format::kMaxRanks));
  }
  tasks = number_of(text);
  if (!dimemas::read_threads(
          f, tasks, {"the threads of a task cannot be", "THREADS:NODE of each task", nullptr, true}, threads))
    return false;
  std::string_view rest = f.peek();
  if (!rest.starts_with(',')) return true;
  rest = rest.substr(1, rest.find(',', 1) - 1);
  // Of several applications it may be the next one that follows: Extrae parts them so.
  if (applications > 1 && rest.find('(') != std::string_view::npos) return true;
  if (!dimemas::is_number(rest)) return f.fail("the number of communicators cannot be", "a number");
  communicators = number_of(rest);
  return true;
}

}  // namespace

bool looks_like_head(std::string_view first_bytes) { return without_bom(first_bytes).starts_with(kMagic); }

Result<Head> read_head(dimemas::LineReader& lines) {
  Line line;
  WEFT_ASSIGN(const bool any, lines.next(line));
  if (any && line.text.starts_with(kByteOrderMark)) line.text.remove_prefix(kByteOrderMark.size());
  Fields f(line);
  std::string_view text;
  if (!line.text.starts_with(kMagic)) {
    (void)f.fail("not a Paraver trace", "#Paraver (DATE):...");
    return std::move(f.error());
  }
  std::int64_t tasks = 0, communicators = -1, applications = 0;
  std::vector<std::uint32_t> threads;
  if (!f.text_up_to(')', "the date", text) || !f.text_up_to(':', "the date", text))
    return std::move(f.error());
  const auto* const unit =
      std::ranges::find_if(kUnits, [&](const Unit& u) { return f.peek().ends_with(u.suffix); });
  const bool has_unit = unit != std::end(kUnits);
  const Fields at_time = f;
  const std::string_view end = f.peek().substr(0, f.peek().size() - (has_unit ? unit->suffix.size() : 0));
  if (end.empty() || !std::ranges::all_of(end, [](char c) { return c >= '0' && c <= '9'; })) {
    (void)f.fail("the end of the trace is not a time",
                 "microseconds, or with _ns, _us or _ms what that says");
    return std::move(f.error());
  }
  f = at_time;
  f.skip();
  // Nodes and their processors, or 0: nothing is known of them.
  f.skip();
  if (!f.whole("number of applications", 1, INT32_MAX, applications) ||
      !application(f, applications, tasks, threads, communicators))
    return std::move(f.error());

  if (static_cast<std::uint64_t>(tasks) > lines.most_tasks())
    return bad_input(SourcePos{*line.file, 1, 0}.text(), "the file is too short for its number of tasks",
                     std::to_string(tasks), fmt::format("at most {}", lines.most_tasks()));
  Head head(static_cast<std::uint32_t>(tasks));
  head.threads = std::move(threads);
  head.picoseconds = (has_unit ? *unit : kUnits[0]).picoseconds;
  bool world = false;
  for (;;) {
    head.records = lines.pos();
    WEFT_ASSIGN(const bool more, lines.next(line));
    if (!more) break;
    if (line.text.empty() || line.text.starts_with('#')) continue;
    const bool between_two = line.text.starts_with("i:") || line.text.starts_with("I:");
    if (!between_two && !line.text.starts_with("c:") && !line.text.starts_with("C:")) break;
    Fields c(line);
    c.skip();
    std::int64_t of = 0, number = 0;
    if (!c.whole("application", 1, applications, of)) return std::move(c.error());
    if (of != 1) continue;
    if (between_two) {  // no message names it, and the two that it joins have lines of their own
      ++head.defined;
      continue;
    }
    Fields same = c;
    (void)same.whole("number", 0, INT32_MAX, number);
    if (!dimemas::read_communicator(c, head.groups, 1)) return std::move(c.error());
    ++head.defined;
    if (!world && head.groups.find(number) == CommId(0)) {
      world = true;
      head.world = number;
    }
  }
  // Of several applications the number stands behind the last one.
  head.communicators =
      applications == 1 && communicators >= 0 ? static_cast<std::uint64_t>(communicators) : head.defined;
  if (!world) {
    head.world = -1;
    (void)head.groups.add(head.world, head.groups.all()[0].members);
  }
  lines.seek(head.records);
  return head;
}

}  // namespace weft::traces::paraver
