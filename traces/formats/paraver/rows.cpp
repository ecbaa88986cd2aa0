#include "traces/formats/paraver/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "traces/formats/dimemas/mpi_calls.hpp"
#include "traces/formats/dimemas/record.hpp"
#include "traces/formats/paraver/events.hpp"

namespace weft::traces::paraver {
namespace {

using dimemas::Fields;
using dimemas::Line;

// Of whom a record is: processor, application, task, thread.
struct Whose {
  bool first_application = false;
  std::uint32_t task = 0;
  bool first_thread = true;
};

class RecordReader {
 public:
  RecordReader(const Head& head, Rows& rows, dimemas::Losses& losses)
      : head_(head),
        rows_(rows),
        losses_(losses),
        most_time_(INT64_MAX / head.picoseconds),
        last_(head.tasks, 0) {}
  [[nodiscard]] std::vector<std::int64_t> last_events() && { return std::move(last_); }

  bool add(const Line& line, Fields& f) {
    line_ = line.number;
    switch (line.text[0]) {
      case '#':
      case '1':  // a state: computation is what lies between calls
        return true;
      case '2':
        f.skip();
        return events(f);
      case '3':
        f.skip();
        return message(f);
      default:
        return f.fail("not a record of a Paraver trace", "1, 2 or 3");
    }
  }

 private:
  bool whose(Fields& f, Whose& w) {
    std::int64_t application = 0, ignored = 0, thread = 0;
    if (!f.whole("processor", 0, INT64_MAX, ignored) || !f.whole("application", 1, INT32_MAX, application))
      return false;
    w.first_application = application == 1;
    if (!w.first_application)
      return f.whole("task", 1, INT32_MAX, ignored) && f.whole("thread", 1, INT32_MAX, thread);
    if (!f.whole("task", 1, head_.tasks, w.task)) return false;
    --w.task;
    if (!f.whole("thread", 1, head_.threads[w.task], thread)) return false;
    w.first_thread = thread == 1;
    return true;
  }
  bool time(Fields& f, const char* what, std::int64_t& out) { return f.whole(what, 0, most_time_, out); }

  bool events(Fields& f) {
    Whose w;
    std::int64_t at = 0;
    if (!whose(f, w) || !time(f, "time", at)) return false;
    if (f.at_end()) return f.fail("an event without a type", "TYPE:VALUE");
    if (w.first_application && w.first_thread) last_[w.task] = std::max(last_[w.task], at);
    while (!f.at_end()) {
      const Fields at_type = f;
      std::int64_t type = 0, value = 0;
      if (!f.whole("type", 0, INT64_MAX, type) || !f.value("value", value)) return false;
      if (!w.first_application) {
        ++losses_.other_applications;
      } else if (!w.first_thread) {
        if (dimemas::is_mpi_event(type)) {
          f = at_type;
          return f.refuse("a call of MPI of another thread of a task than the first in a Paraver trace",
                          "calls of thread 1");
        }
        ++losses_.events;
      } else if (dimemas::is_mpi_event(type) || is_said_beside(type)) {
        if (!is_sound(type, value, w.task, at_type, f)) return false;
        rows_.add({at, order_++, type, value, 0, line_, w.task, 0, Row::What::event});
      } else if (!dimemas::is_about_mpi(type)) {
        ++losses_.events;
      }
    }
    return true;
  }

  // What is said can be. `at`: before the type.
  bool is_sound(std::int64_t type, std::int64_t value, std::uint32_t task, const Fields& at,
                Fields& f) const {
    const auto fail = [&](const char* what, const char* expected) {
      f = at;
      f.skip();
      return f.fail(what, expected);
    };
    if (type == kMessageCommunicator) {
      const auto comm = head_.groups.find(value);
      if (!comm) return fail("a communicator that is not defined", "one of those above");
      if (!head_.groups.rank_in(*comm, task))
        return fail("a communicator that the task is not in", "one of its own");
    } else if (type == kStartedAs) {
      const dimemas::MpiCall* c = dimemas::find_mpi_call(value);
      if (c == nullptr || c->role != dimemas::CallRole::message || !is_nonblocking_send(c->kind))
        return fail("no call that sends without blocking", "3, 36, 37 or 38");
    }
    return true;
  }

  bool message(Fields& f) {
    Whose from, to;
    std::int64_t sent = 0, left = 0, posted = 0, received = 0, bytes = 0, tag = 0;
    if (!whose(f, from) || !time(f, "logical send", sent) || !time(f, "physical send", left) ||
        !whose(f, to) || !time(f, "logical receive", posted) || !time(f, "physical receive", received) ||
        !f.whole("size", 0, dimemas::kMostBytes, bytes) || !f.whole("tag", 0, INT32_MAX, tag) ||
        !f.nothing_more())
      return false;
    if (!from.first_application || !to.first_application) {
      ++losses_.other_applications;
      return true;
    }
    if (!from.first_thread || !to.first_thread) {
      (void)f.fail_at(from.first_thread ? 10 : 4, {});
      return f.refuse("a message between threads (CUDA, OpenCL) of a Paraver trace", "messages of thread 1");
    }
    const auto source = static_cast<std::int32_t>(from.task),
               destination = static_cast<std::int32_t>(to.task);
    rows_.add({sent, order_++, bytes, tag, 0, line_, from.task, destination, Row::What::sent});
    rows_.add({posted, order_++, bytes, tag, received, line_, to.task, source, Row::What::posted});
    // What was there before its receive is over when that begins.
    rows_.add(
        {std::max(posted, received), order_++, bytes, tag, 0, line_, to.task, source, Row::What::received});
    return true;
  }

  const Head& head_;
  Rows& rows_;
  dimemas::Losses& losses_;
  std::int64_t most_time_;
  std::vector<std::int64_t> last_;  // by task
  std::uint64_t order_ = 0;
  std::uint64_t line_ = 0;
};

}  // namespace

Result<std::vector<std::int64_t>> read_rows(dimemas::LineReader& lines, const Head& head, Rows& rows,
                                            dimemas::Losses& losses) {
  RecordReader reader(head, rows, losses);
  Line line;
  lines.seek(head.records);
  for (;;) {
    WEFT_ASSIGN(const bool more, lines.next(line));
    if (!more) break;
    if (line.text.empty()) continue;
    Fields f(line);
    if (!reader.add(line, f)) return std::move(f.error());
  }
  WEFT_TRY(rows.finish());
  return std::move(reader).last_events();
}

}  // namespace weft::traces::paraver
