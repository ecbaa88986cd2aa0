// Tasks in the untimed run: each begins when what it is after is over.
#include "traces/check/doctor.hpp"
#include "traces/request_book.hpp"

namespace weft::traces::doctor {

void Doctor::task(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  if (!me.tasks.add(op, me.index(), task_list(list).after))
    error(r, me.index(), op, "it is after a task that does not stand before it");
  go_on_with_tasks(r, me);
}

void Doctor::go_on_with_tasks(std::uint32_t r, Rank& me) {
  me.tasks.go_on(
      [&](std::uint32_t number, const RankTasks::Task& task) {
        if (task.op.kind == OpKind::task_compute || task.op.peer == kProcNull) return true;
        const std::uint32_t slot = RankTasks::slot_of(number);
        Request& q = me.requests[slot];
        q = {};
        q.op = task.op;
        q.op.kind = task.op.kind == OpKind::task_send ? OpKind::isend : OpKind::irecv;
        q.op.request = slot;
        q.op.extra = kNoList;
        const bool sends = task.op.kind == OpKind::task_send;
        const std::uint64_t index = task.index;
        activate(r, me, q, slot, index, {});
        // Who waits for its other side is told of it, here or later.
        if (sends && !synchronous_) me.tasks.came(slot);
        return false;
      },
      [&](std::uint32_t number) {
        const std::uint32_t slot = RankTasks::slot_of(number);
        const auto it = me.requests.find(slot);
        if (it == me.requests.end()) return;
        settle_guess(r, me, slot, it->second);
        me.requests.erase(it);
      });
}

bool Doctor::task_wait(Rank& me) {
  if (me.tasks.left() > 0) return false;
  me.tasks.forget();
  return true;
}

}  // namespace weft::traces::doctor
