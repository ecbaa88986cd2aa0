#include "traces/formats/dimemas/head.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/files/input_file.hpp"
#include "core/source_pos.hpp"
#include "traces/formats/dimemas/task_list.hpp"
#include "traces/weft/format.hpp"

namespace weft::traces::dimemas {
namespace {

constexpr std::string_view kMagic = "#DIMEMAS";
constexpr std::int64_t kCommunicator = 1, kFile = 2, kWindow = 3;

// A number up to `end`; false: there is none.
bool number_up_to(Fields& f, char end, const char* what, std::int64_t most, std::int64_t& out) {
  std::string_view text;
  const Fields before = f;
  if (!f.text_up_to(end, what, text)) return false;
  std::int64_t v = 0;
  const bool digits = !text.empty() && text.size() <= 18 &&
                      std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (digits)
    for (const char c : text) v = v * 10 + (c - '0');
  if (!digits || v > most) {
    f = before;
    return f.fail(fmt::format("{} cannot be", what), fmt::format("a number up to {}", most));
  }
  out = v;
  return true;
}

// TASKS(THREADS,...),COMMUNICATORS and, where some tasks have them, accelerators and OpenMP threads.
bool tasks_of_head(Fields& f, std::int64_t& tasks, std::int64_t& communicators) {
  if (!number_up_to(f, '(', "the number of tasks", format::kMaxRanks, tasks)) return false;
  if (tasks == 0) return f.fail("the trace has no tasks", "1 or more");
  std::vector<std::uint32_t> threads;
  if (!read_threads(f, tasks,
                    {"the numbers of threads cannot be", "a number for each task",
                     "a Dimemas trace with several threads of a task (OpenMP, CUDA, OpenCL)", false},
                    threads))
    return false;
  std::string_view comma;
  if (f.peek().starts_with(',')) (void)f.text_up_to(',', "", comma);
  std::string_view rest = f.peek();
  rest = rest.substr(0, rest.find(','));
  const Fields at_rest = f;
  std::int64_t v = 0;
  for (const char c : rest.substr(0, 18)) v = c >= '0' && c <= '9' ? v * 10 + (c - '0') : -1000;
  if (v < 0) {
    f = at_rest;
    return f.fail("the number of communicators cannot be", "a number");
  }
  communicators = v;
  return true;
}

}  // namespace

Groups::Groups(std::uint32_t tasks) : sorted_(1) {
  all_.push_back({"world", {}});
  all_[0].members.resize(tasks);
  for (std::uint32_t t = 0; t < tasks; ++t) all_[0].members[t] = static_cast<std::int32_t>(t);
}

bool Groups::add(std::int64_t number, std::vector<std::int32_t> members) {
  if (by_number_.contains(number)) return false;
  if (!world_is_known_ && members == all_[0].members) {
    world_is_known_ = true;
    by_number_.emplace(number, CommId(0));
    return true;
  }
  by_number_.emplace(number, CommId(static_cast<std::uint32_t>(all_.size())));
  auto& sorted = sorted_.emplace_back();
  if (!std::ranges::is_sorted(members)) {
    sorted.reserve(members.size());
    for (std::uint32_t r = 0; r < members.size(); ++r) sorted.emplace_back(members[r], r);
    std::ranges::sort(sorted);
  }
  all_.push_back({fmt::format("comm{}", number), std::move(members)});
  return true;
}

std::optional<CommId> Groups::find(std::int64_t number) const {
  const auto at = by_number_.find(number);
  return at == by_number_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<std::uint32_t> Groups::rank_in(CommId comm, std::uint32_t task) const {
  if (comm == CommId(0)) return task;
  const auto t = static_cast<std::int32_t>(task);
  if (const auto& sorted = sorted_[comm.index()]; !sorted.empty()) {
    const auto at = std::ranges::lower_bound(sorted, std::pair(t, 0u));
    return at != sorted.end() && at->first == t ? std::optional(at->second) : std::nullopt;
  }
  const auto& members = all_[comm.index()].members;
  const auto at = std::ranges::lower_bound(members, t);
  if (at == members.end() || *at != t) return std::nullopt;
  return static_cast<std::uint32_t>(at - members.begin());
}

bool read_communicator(Fields& f, Groups& groups, std::int64_t first) {
  std::int64_t number = 0, size = 0;
  const auto tasks = static_cast<std::int64_t>(groups.all()[0].members.size());
  if (!f.whole("number of the communicator", 0, INT32_MAX, number) ||
      !f.whole("size of the communicator", 1, tasks, size))
    return false;
  if (f.left() != static_cast<std::size_t>(size))
    return f.fail_at(3, fmt::format("communicator {} has another number of tasks", number),
                     fmt::format("{}, which is how many are listed", f.left()));
  std::vector<std::int32_t> members(static_cast<std::size_t>(size));
  for (std::int32_t& m : members) {
    if (!f.whole("task of the communicator", first, first + tasks - 1, m)) return false;
    m -= static_cast<std::int32_t>(first);
  }
  std::vector<std::int32_t> sorted = members;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    return f.fail_at(4 + static_cast<std::size_t>(std::ranges::find(members, *twice) - members.begin()),
                     fmt::format("a task is twice in communicator {}", number), "each task once");
  return groups.add(number, std::move(members)) ||
         f.fail_at(2, "a communicator is defined twice", "one definition of each number");
}

bool looks_like_head(std::string_view first_bytes) { return without_bom(first_bytes).starts_with(kMagic); }

Result<Head> read_head(LineReader& lines) {
  Line line;
  WEFT_ASSIGN(const bool any, lines.next(line));
  if (any && line.text.starts_with(kByteOrderMark)) line.text.remove_prefix(kByteOrderMark.size());
  Fields f(line);
  if (f.peek() != kMagic) {
    (void)f.fail("not a Dimemas trace", "#DIMEMAS:\"NAME\":...");
    return std::move(f.error());
  }
  f.skip();
  // A name may have colons in it.
  std::string_view name;
  const bool quoted = f.peek().starts_with('"');
  std::int64_t offsets = 0, tasks = 0, communicators = 0;
  if ((quoted && (!f.text_up_to('"', "the name", name) || !f.text_up_to('"', "the name", name))) ||
      !f.text_up_to(':', "the name", name))
    return std::move(f.error());
  const Fields at_offsets = f;
  std::string_view where;
  if (!f.text_up_to(':', "the place of the offsets", where)) return std::move(f.error());
  offsets = where.starts_with('1') ? 1 : 0;
  if (where.substr(0, where.find(',')) != (offsets == 1 ? "1" : "0")) {
    f = at_offsets;
    (void)f.fail("the header does not say whether offsets stand at the end",
                 "0, or 1 and the byte where they do");
    return std::move(f.error());
  }
  if (!tasks_of_head(f, tasks, communicators)) return std::move(f.error());

  if (static_cast<std::uint64_t>(tasks) > lines.most_tasks())
    return bad_input(SourcePos{*line.file, 1, 0}.text(), "the file is too short for its number of tasks",
                     std::to_string(tasks), fmt::format("at most {}", lines.most_tasks()));
  Head head(static_cast<std::uint32_t>(tasks));
  head.offsets = offsets == 1;
  head.communicators = static_cast<std::uint64_t>(communicators);
  for (;;) {
    head.records = lines.pos();
    WEFT_ASSIGN(const bool more, lines.next(line));
    if (!more || !line.text.starts_with("d:")) break;
    Fields d(line);
    d.skip();
    std::int64_t what = 0;
    if (!d.whole("kind of definition", kCommunicator, kWindow, what) ||
        (what == kCommunicator && !read_communicator(d, head.groups, 0)))
      return std::move(d.error());
    head.defined += what == kCommunicator ? 1 : 0;
  }
  lines.seek(head.records);
  return head;
}

}  // namespace weft::traces::dimemas
