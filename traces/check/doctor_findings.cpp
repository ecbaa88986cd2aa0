// What is wrong with a finished run: cycles of waiting ranks, messages and requests left over.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "traces/check/doctor.hpp"
#include "traces/op_rules.hpp"
#include "traces/recorded/recorded_matches.hpp"
#include "traces/request_book.hpp"

namespace weft::traces::doctor {

std::optional<std::uint32_t> Doctor::waits_for(std::uint32_t r, std::string& what) {
  const Rank& me = ranks_[r];
  const Op* op = &me.block.ops[me.at];
  const auto list = me.block.list(*op);
  const auto stuck = [&](std::int64_t x) {
    return x >= 0 && x < static_cast<std::int64_t>(ranks_.size()) &&
           ranks_[static_cast<std::size_t>(x)].blocked;
  };
  const auto any_of = [&](CommId comm) -> std::optional<std::uint32_t> {
    for (const std::int32_t m : trace_.communicators()[comm.index()].members)
      if (static_cast<std::uint32_t>(m) != r && stuck(m)) return static_cast<std::uint32_t>(m);
    return std::nullopt;
  };
  const auto peer_text = [](std::int64_t p) {
    return p < 0 ? std::string("any rank") : fmt::format("rank {}", p);
  };
  const auto tag_text = [](std::int64_t t) {
    return t == kAnyTag ? std::string("any tag") : fmt::format("tag {}", t);
  };
  std::string prefix(op_name(op->kind));
  std::uint64_t instance = me.instance;
  Op on = *op;
  if (op->kind == OpKind::comm_create_group) on.comm = CommId(static_cast<std::uint32_t>(op->amount));
  if (op->kind == OpKind::task_wait) {
    const Request* first = nullptr;  // message that is under way
    for (const auto& [slot, q] : me.requests)
      if (RankTasks::is_slot(slot) && !q.done && (first == nullptr || q.index < first->index)) first = &q;
    if (first != nullptr) {
      on = first->op;
      if (is_receive_request(on.kind)) {
        on.peer = first->source;
        on.tag = first->tag;
      }
      prefix += fmt::format(" of the task_{} at operation {}", is_send_request(on.kind) ? "send" : "recv",
                            first->index);
    }
  }
  if (is_completion(op->kind)) {
    std::int64_t one = 0;
    for (const std::int64_t s : completed_requests(*op, list, one)) {
      const auto it = me.requests.find(static_cast<std::uint32_t>(s));
      if (it == me.requests.end() || !it->second.active || it->second.done) continue;
      on = it->second.op;
      if (is_receive_request(on.kind)) {
        on.peer = it->second.source;
        on.tag = it->second.tag;
      }
      instance = it->second.instance;
      prefix += fmt::format(" of the {} at operation {}", op_name(on.kind), it->second.index);
      break;
    }
  }
  if (is_collective(on.kind) || is_comm_create(on.kind)) {
    what = fmt::format("{} on {}", prefix, trace_.communicators()[on.comm.index()].name);
    const auto m = collectives_.missing(on, r, instance, synchronous_);
    if (!m) return std::nullopt;
    what += fmt::format(" waits for rank {}", *m);
    return stuck(*m) ? m : std::nullopt;
  }
  if (on.kind == OpKind::recv && (on.flags & kPairedRecv) != 0 && me.pair_open &&
      (me.current_done || on.peer == kProcNull)) {
    what = fmt::format("sendrecv to rank {}", me.pair_peer);
    if (stuck(me.pair_peer)) return static_cast<std::uint32_t>(me.pair_peer);
    return std::nullopt;
  }
  if (is_send(on.kind) || is_send_request(on.kind)) {
    what =
        fmt::format("{} to {} with {} ({} bytes)", prefix, peer_text(on.peer), tag_text(on.tag), on.amount);
  } else {
    const Envelope e = is_completion(op->kind) || op->kind == OpKind::task_wait ? Envelope{on.peer, on.tag}
                                                                                : asked_or_got(on, list);
    what = fmt::format("{} from {} with {}", prefix, peer_text(e.source), tag_text(e.tag));
    if (e.source < 0) return any_of(on.comm);
    on.peer = e.source;
  }
  if (stuck(on.peer)) return static_cast<std::uint32_t>(on.peer);
  return std::nullopt;
}

void Doctor::report_blocked() {
  const auto n = static_cast<std::uint32_t>(ranks_.size());
  std::vector<std::optional<std::uint32_t>> next(n);
  std::vector<std::string> what(n);
  for (std::uint32_t r = 0; r < n; ++r)
    if (ranks_[r].blocked) next[r] = waits_for(r, what[r]);
  const auto here = [&](std::uint32_t r) {
    return fmt::format("rank {} at operation {} ({}): {}", r, ranks_[r].index(),
                       trace_.position(RankId(r), ranks_[r].index()), what[r]);
  };
  const auto tell = [&](std::uint32_t r, std::string text) {
    const auto op = static_cast<std::int64_t>(ranks_[r].index());
    find_.keep_global(synchronous_ ? buffering_ : faults_, r, op, std::move(text));
  };
  std::vector<std::uint32_t> seen(n, 0);  // the walk that saw it
  std::uint32_t walk = 0;
  for (std::uint32_t start = 0; start < n; ++start) {
    if (!ranks_[start].blocked) continue;
    if (!next[start] && !synchronous_) {
      tell(start, here(start) + " waits forever: what it waits for never comes, the other side has finished");
      continue;
    }
    if (seen[start] != 0) continue;
    ++walk;
    std::uint32_t r = start;
    while (seen[r] == 0 && next[r]) {
      seen[r] = walk;
      r = *next[r];
    }
    if (seen[r] != walk || !next[r]) continue;
    std::string text =
        synchronous_ ? "depends on buffering: with synchronous sends this is a deadlock: " : "deadlock: ";
    const std::uint32_t first = r;
    do {
      text += here(r);
      r = *next[r];
      text += fmt::format(", waits for rank {}{}", r, r == first ? "" : "; ");
    } while (r != first);
    tell(first, std::move(text));
  }
}

// Some ranks make a communicator, and another uses it that was given none. One that nobody makes was there before.
void Doctor::report_denied_communicators() {
  std::unordered_map<std::uint32_t, std::uint32_t> maker;  // of each communicator the first rank
  for (std::uint32_t r = 0; r < ranks_.size(); ++r)
    ranks_[r].program.for_each_communicator([&](std::uint32_t comm, bool made, std::uint64_t, OpKind) {
      if (made) maker.try_emplace(comm, r);
    });
  if (maker.empty()) return;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    std::map<std::uint64_t, std::pair<std::uint32_t, OpKind>> denied;  // by operation
    ranks_[r].program.for_each_communicator(
        [&](std::uint32_t comm, bool made, std::uint64_t first_use, OpKind kind) {
          if (!made && first_use != RankProgram::kNever && maker.contains(comm))
            denied.emplace(first_use, std::pair{comm, kind});
        });
    for (const auto& [op, use] : denied)
      find_.add(Severity::kError, r, op, op_name(use.second),
                fmt::format("rank {} makes communicator {}, this rank does not", maker.at(use.first),
                            trace_.communicators()[use.first].name));
  }
}

void Doctor::settle_guesses() {
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    Rank& me = ranks_[r];
    std::vector<std::uint32_t> guessed;
    for (const auto& [slot, q] : me.requests)
      if (q.guess) guessed.push_back(slot);
    std::ranges::sort(guessed);
    for (const std::uint32_t slot : guessed) settle_guess(r, me, slot, me.requests.at(slot));
  }
}

void Doctor::finish() {
  settle_guesses();
  const bool stuck = std::ranges::any_of(ranks_, [](const Rank& r) { return r.blocked; });
  if (stuck) report_blocked();
  if (synchronous_) return;  // everything below was found with buffered sends
  report_denied_communicators();
  for (const Channel& c : matching_.channels()) {
    // In a deadlock the receiver may only not have come that far; what a finished rank left is unmatched for
    // certain.
    if (!ranks_[c.dst].ended) continue;
    matching_.for_each_message(c, [&](const Message& m) {
      fault(c.src, m.op, "send",
            fmt::format("rank {} never receives this message (tag {}, {} bytes, communicator {})", c.dst,
                        m.tag, m.bytes, trace_.communicators()[c.comm.index()].name));
    });
    if (!ranks_[c.src].ended) continue;
    matching_.for_each_receive(c, [&](const Posted& p) {
      if (p.slot != kCurrent)
        fault(c.dst, p.op, "receive",
              fmt::format("rank {} never sends a message with {} for it", c.src,
                          p.tag == kAnyTag ? "any tag" : fmt::format("tag {}", p.tag)));
    });
  }
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    const Rank& me = ranks_[r];
    if (!me.ended) continue;
    if (!stuck)
      for (const auto& [order, w] : matching_.wildcards(r))
        fault(r, w.op, "receive",
              fmt::format("nobody sends a message with {} for it",
                          w.tag == kAnyTag ? "any tag" : fmt::format("tag {}", w.tag)));
    std::map<std::uint64_t, const Request*> left;  // by operation
    for (const auto& [slot, q] : me.requests)
      if (q.active) left.emplace(q.index, &q);
    if (left.empty()) continue;
    const Request& q = *left.begin()->second;
    find_.add(Severity::kWarning, r, q.index, op_name(q.op.kind),
              left.size() == 1
                  ? std::string("its request is never completed")
                  : fmt::format("its request and {} more of this rank are never completed", left.size() - 1));
  }
  if (!stuck)
    for (const auto& f : collectives_.unfinished())
      find_.add(Severity::kError, f.other_rank, f.other_op, "collective", f.text);
}

}  // namespace weft::traces::doctor
