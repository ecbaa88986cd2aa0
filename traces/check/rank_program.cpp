#include "traces/check/rank_program.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/counted.hpp"

namespace weft::traces {

void RankProgram::see_polls(std::uint64_t index, const Op& op, std::span<const std::int64_t> list,
                            std::vector<Fault>& faults) {
  const bool poll = op.kind == OpKind::iprobe || op.kind == OpKind::improbe;
  const bool hit = poll && (op.flags & kHit) != 0;
  const auto another = [](const Op& a, const Op& b) {
    return a.kind != b.kind || a.comm != b.comm || a.peer != b.peer || a.tag != b.tag;
  };
  if (const auto due = hits_.begin(); due != hits_.end() && due->first == index) {
    const Miss& miss = due->second;
    if (!hit || another(op, miss.poll))
      faults.push_back({miss.op, miss.poll.kind,
                        fmt::format("operation {}, which it says is its hit, is {}", index,
                                    hit ? "that of another poll"
                                        : std::string(op_name(op.kind)) + (poll ? " without a hit" : ""))});
    else if (!list.empty() && list[1] > 0 && (!in_body_ || in_body_->body.end < index))
      in_body_ = {{index, index + static_cast<std::uint64_t>(list[1]), op.kind}, miss.op, {}};
    hits_.erase(due);
    next_hit_ = hits_.empty() ? UINT64_MAX : hits_.begin()->first;
  }
  if (!poll || list.empty()) return;
  if (hit) {
    const std::uint64_t end = index + static_cast<std::uint64_t>(list[1]);
    if (body_.end < end) body_ = {index, end, op.kind};
    return;
  }
  const auto [due, fresh] = hits_.try_emplace(index + static_cast<std::uint64_t>(list[0]), Miss{index, op});
  if (!fresh && another(op, due->second.poll))
    faults.push_back({index, op.kind,
                      fmt::format("its hit, operation {}, is that of another poll, operation {}", due->first,
                                  due->second.op)});
  next_hit_ = hits_.begin()->first;
}

// A body that runs at an earlier poll overtakes what stands between: that may still use its slots, or find them used.
void RankProgram::see_slots(std::uint64_t index, const Op& op, std::span<const std::int64_t> list,
                            std::vector<Fault>& faults) {
  if (in_body_ && in_body_->body.end < index) in_body_.reset();
  if (in_body_ && in_body_->body.hit != index) {
    const auto see = [&](std::uint32_t slot) {
      if (!in_body_->named.insert(slot).second || !uses_.since(in_body_->first_miss, slot)) return;
      faults.push_back(
          {in_body_->body.hit, in_body_->body.kind,
           fmt::format(
               "its body uses request {} at operation {}, which operations since the poll at operation {} "
               "use, too: where it runs at that poll the request may be in use, or not be there yet",
               slot, index, in_body_->first_miss),
           true});
    };
    if (op.request != kNoRequest) see(op.request);
    for (const std::int64_t slot : listed_requests(op, list)) see(static_cast<std::uint32_t>(slot));
  }
  if (hits_.empty() && !in_body_)
    uses_.forget();
  else
    uses_.add(index, op, list);
}

void RankProgram::see_requests(std::uint64_t index, const Op& op, std::span<const std::int64_t> list,
                               std::vector<Fault>& faults) {
  if (completes_some(op.kind)) list = list.subspan(1, static_cast<std::size_t>(list[0]));  // those asked for
  if (std::ranges::is_sorted(list, std::less_equal<>())) return;
  sorted_.assign(list.begin(), list.end());
  std::ranges::sort(sorted_);
  if (const auto twice = std::ranges::adjacent_find(sorted_); twice != sorted_.end())
    faults.push_back({index, op.kind, fmt::format("request {} stands twice among its requests", *twice)});
}

// The communicator of `op`, which is not the one at hand.
void RankProgram::see_communicator(std::uint64_t index, const Op& op,
                                   const std::vector<Communicator>& communicators,
                                   std::vector<Fault>& faults) {
  if (op.comm.index() == 0) return;
  CommState& s = communicators_[static_cast<std::uint32_t>(op.comm.index())];
  if (s.first_use == kNever) {
    s.first_use = index;
    s.used_by = op.kind;
  }
  if (s.freed == kNever) {
    at_hand_ = op.comm;
  } else {
    faults.push_back({index, op.kind,
                      fmt::format("communicator {} was freed at operation {}",
                                  communicators[op.comm.index()].name, s.freed)});
  }
}

void RankProgram::see_life(std::uint64_t index, const Op& op) {
  if (is_comm_create(op.kind) && op.amount > 0) {
    CommState& s = communicators_[static_cast<std::uint32_t>(op.amount)];
    s.made = true;
    s.freed = kNever;
  } else if (op.kind == OpKind::comm_free && op.comm.index() != 0) {
    communicators_[static_cast<std::uint32_t>(op.comm.index())].freed = index;
    at_hand_ = CommId(0);
  } else if (op.kind == OpKind::finalize && !finalized_) {
    finalized_ = index;
  }
}

// Computation and the ends of regions may come after it.
void RankProgram::see_late_call(std::uint64_t index, const Op& op, std::vector<Fault>& faults) {
  if (is_compute(op.kind) || op.kind == OpKind::launch || op.kind == OpKind::region_begin ||
      op.kind == OpKind::region_end)
    return;
  faults.push_back({index, op.kind, fmt::format("comes after the finalize at operation {}", *finalized_)});
}

void RankProgram::finish(std::uint64_t ops, std::vector<Fault>& faults) const {
  for (const auto& [at, miss] : hits_)
    faults.push_back(
        {miss.op, miss.poll.kind,
         fmt::format("operation {}, which it says is its hit, is beyond the end of the program", at)});
  if (body_.end >= ops && body_.end > body_.hit)
    faults.push_back({body_.hit, body_.kind,
                      fmt::format("its body of {} is longer than the rest of the program",
                                  counted(body_.end - body_.hit, "operation"))});
}

}  // namespace weft::traces
