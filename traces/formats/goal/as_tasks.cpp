#include "traces/formats/goal/as_tasks.hpp"

#include <span>
#include <vector>

#include "traces/tasks.hpp"

namespace weft::traces::goal {
namespace {

constexpr std::size_t kMostRequired = 1u << 17;  // by one task

}  // namespace

Result<void> put_as_tasks(const std::vector<Operation>& ops, const Graph& graph, const Place& place,
                          Program& out) {
  if (ops.empty()) return {};
  if (ops.size() > static_cast<std::size_t>(kMaxTasks)) {
    Error e = not_supported("more than 2^30 operations of a rank that have no one order");
    e.where = place(ops.front());
    return e;
  }
  std::vector<std::uint32_t> lacks = graph.required, number(ops.size(), 0);
  LeastFirst<std::uint32_t> next;
  for (std::uint32_t v = 0; v < ops.size(); ++v)
    if (lacks[v] == 0) next.push(v);
  std::uint32_t written = 0, done = 0;  // tasks, operations
  std::vector<std::int64_t> list;
  while (!next.empty()) {
    const std::uint32_t v = next.top();
    next.pop();
    const Operation& o = ops[v];
    const auto requires_some = [&](std::span<const std::uint32_t> some) {
      list.assign(1, o.cpu);
      for (const std::uint32_t e : some) {
        const std::int64_t up = std::int64_t{written} - number[e & ~Dependency::kAtStart];
        list.push_back((e & Dependency::kAtStart) != 0 ? -up : up);
      }
    };
    // A list has its limits: computations of no time stand for parts of those that are longer.
    auto required = graph.earlier.of(v);
    std::int64_t hubs = 0;
    for (; required.size() > kMostRequired; required = required.subspan(kMostRequired), ++hubs, ++written) {
      requires_some(required.first(kMostRequired));
      out.add({.kind = OpKind::task_compute}, list, o.line);
    }
    requires_some(required);
    for (std::int64_t up = 1; up <= hubs; ++up) list.push_back(up);
    number[v] = written++;
    ++done;
    Op op{.kind = OpKind::task_compute, .amount = static_cast<std::int64_t>(o.size) * 1000};
    if (o.kind != Kind::kCalc)
      op = {.kind = o.kind == Kind::kSend ? OpKind::task_send : OpKind::task_recv,
            .peer = o.peer == kAny ? kAnySource : static_cast<std::int32_t>(o.peer),
            .tag = o.tag == kAny ? kAnyTag : static_cast<std::int32_t>(o.tag),
            .amount = static_cast<std::int64_t>(o.size)};
    out.add(op, list, o.line);
    for (const std::uint32_t e : graph.later.of(v)) {
      const std::uint32_t w = e & ~Dependency::kAtStart;
      if (--lacks[w] == 0) next.push(w);
    }
  }
  if (done < ops.size()) return circle(ops, graph, place, [&](std::uint32_t v) { return lacks[v] > 0; });
  out.add({.kind = OpKind::task_wait}, ops.back().line);
  out.flush();
  return {};
}

}  // namespace weft::traces::goal
