#include "traces/formats/dimemas/record.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "traces/op.hpp"

namespace weft::traces::dimemas {
namespace {

// What a thread of a partner may be: one of a task with one, or nobody's (-2 is an old translator's -1).
bool no_other_thread(Fields& f) {
  const Fields before = f;
  std::int64_t thread = 0;
  if (!f.whole("thread of the partner", INT32_MIN, INT32_MAX, thread)) return false;
  if (thread <= 0 && thread >= -2) return true;
  f = before;
  return f.refuse("a message between threads (CUDA, OpenCL, OpenMP) of a Dimemas trace", "thread -1 or 0");
}

bool message(Fields& f, std::uint32_t tasks, bool receive, Record& r) {
  const std::size_t left = f.left();
  // From any are -1 of prv2dim and -2 of mpi2dim, which has the numbers of its MPI; any tag is -1 there.
  if (!f.whole(receive ? "source" : "destination", receive ? -2 : 0, std::int64_t{tasks} - 1, r.partner))
    return false;
  r.partner = std::max(r.partner, kAnySource);
  if (left > 5 && !no_other_thread(f)) return false;
  std::int64_t how = 0;
  if (!f.whole("size", 0, kMostBytes, r.bytes) || !f.whole("tag", receive ? kAnyTag : 0, INT32_MAX, r.tag) ||
      !f.whole("communicator", INT32_MIN, INT32_MAX, r.communicator) ||
      !f.whole(receive ? "kind of receive" : "kind of send", 0, receive ? 2 : 3, how))
    return false;
  r.immediate = (how & 2) != 0;
  r.receive = static_cast<ReceiveHow>(receive ? how : 0);
  return true;
}

bool collective(Fields& f, Record& r) {
  std::int64_t ignored = 0, how = 1;
  if (!f.whole("global operation", INT32_MIN, INT32_MAX, r.operation) ||
      !f.whole("communicator", INT32_MIN, INT32_MAX, r.communicator) ||
      !f.whole("root", INT32_MIN, INT32_MAX, r.root) ||
      !f.whole("thread of the root", INT32_MIN, INT32_MAX, ignored) ||
      !f.whole("bytes sent", 0, kMostBytes, r.sent) || !f.whole("bytes received", 0, kMostBytes, r.received))
    return false;
  r.says_how = !f.at_end();
  if (r.says_how && !f.whole("synchronisation", 0, 3, how)) return false;
  r.how = static_cast<CollectiveHow>(how);
  return true;
}

bool kind_of(Fields& f, RecordKind& out) {
  const Fields before = f;
  std::int64_t number = 0;
  if (!f.whole("kind of record", 0, INT32_MAX, number)) return false;
  switch (number) {
#define WEFT_X(id, n)     \
  case n:                 \
    out = RecordKind::id; \
    return true;
    WEFT_DIMEMAS_RECORDS(WEFT_X)
#undef WEFT_X
    default:
      f = before;
      return f.refuse(number == 11 ? "a GPU burst of a Dimemas trace (record 11)"
                                   : fmt::format("record {} of a Dimemas trace", number),
                      "records 0, 1, 2, 3, 10 and 20");
  }
}

}  // namespace

bool read_record(Fields& f, std::uint32_t tasks, Record& out) {
  std::int64_t thread = 0;
  if (!kind_of(f, out.kind) || !f.whole("task", 0, std::int64_t{tasks} - 1, out.task) ||
      !f.whole("thread", 0, 0, thread))
    return false;
  switch (out.kind) {
    case RecordKind::ends_request:
    case RecordKind::makes_comm:
    case RecordKind::nothing:
      break;
    case RecordKind::burst:
      if (!f.seconds("duration", out.picoseconds)) return false;
      break;
    case RecordKind::send:
    case RecordKind::receive:
      if (!message(f, tasks, out.kind == RecordKind::receive, out)) return false;
      break;
    case RecordKind::collective:
      if (!collective(f, out)) return false;
      break;
    case RecordKind::event:
      if (!f.whole("type", INT64_MIN, INT64_MAX, out.type) || !f.value("value", out.value)) return false;
  }
  return f.nothing_more();
}

}  // namespace weft::traces::dimemas
