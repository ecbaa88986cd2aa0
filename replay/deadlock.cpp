#include "replay/deadlock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/counted.hpp"
#include "traces/op_rules.hpp"
#include "traces/request_book.hpp"

namespace weft::replay {
namespace {

using traces::Op;
using traces::OpKind;

constexpr std::size_t kNoRow = ~std::size_t{0};
constexpr std::size_t kRanksInSummary = 3;  // that wait, where they are no cycle
constexpr std::size_t kPeersInText = 10;

// "from 3 tag 7 on world"
std::string from(std::int32_t peer, std::int32_t tag, const std::string& comm) {
  return fmt::format("from {} {} on {}", peer == traces::kAnySource ? "any source" : std::to_string(peer),
                     tag == traces::kAnyTag ? "any tag" : fmt::format("tag {}", tag), comm);
}
std::string to(std::int64_t bytes, std::int32_t peer, std::int32_t tag, const std::string& comm) {
  return fmt::format("of {} bytes to {} tag {} on {}", bytes, peer, tag, comm);
}

// "recv from 3 tag 7 on world"
std::string describe(const Op& op, const Communicators& comms) {
  std::string s(traces::op_name(op.kind));
  const std::string& comm = comms.name(op.comm.index());
  if (traces::is_send(op.kind))
    s += " " + to(op.amount, op.peer, op.tag, comm);
  else if (op.kind == OpKind::recv || (op.kind >= OpKind::probe && op.kind <= OpKind::improbe))
    s += " " + from(op.peer, op.tag, comm);
  else if (traces::is_collective(op.kind) || traces::is_comm_create(op.kind))
    s += " on " + comm;
  return s;
}

// What a rank does of a message.
struct Side {
  bool send = false;
  std::uint32_t comm = 0;
  std::int32_t peer = 0, tag = 0;
  std::int64_t bytes = 0;
};
Side send_side(const Message& m) {
  return {true, m.context, static_cast<std::int32_t>(m.dst), m.tag, m.bytes};
}
Side receive_side(const Message& m) { return {false, m.context, static_cast<std::int32_t>(m.src), m.tag}; }
Side receive_side(const PostedRecv& v) { return {false, v.context, v.source, v.tag}; }

// The ranks that did not end, and where each stands.
class Blocked {
 public:
  Blocked(const Standstill& at, DeadlockReport& report)
      : at_(at), report_(report), row_(at.ranks.count(), kNoRow) {
    for (std::uint32_t r = 0; r < row_.size(); ++r)
      if (at.ranks[r].state != RankState::kDone) add(r);
  }
  [[nodiscard]] std::size_t row(std::uint32_t rank) const { return row_[rank]; }

  // `rank` waits for `side` of a message, if `t`, who is told that it is over, must be waited for.
  void waits_for(std::uint32_t rank, Target t, const Side& side) {
    if (t.value == Target::kNobody || row_[rank] == kNoRow) return;
    const bool of_collective = t.is_activity() && !t.is_task();
    if (of_collective) {
      const Target owner = at_.collectives.target(t.activity());
      if (owner.value < traces::kMaxRequestSlots && !at_.waits.is_awaited(rank, owner)) return;
    } else if (!t.is_activity() && !at_.waits.is_awaited(rank, t)) {
      return;
    }
    if (side.peer >= 0) waits(rank).push_back(RankId(static_cast<std::uint32_t>(side.peer)));
    if (of_collective) return;
    Stand& stand = stands_[row_[rank]];
    const std::uint64_t place = place_of(stand, t);
    if (stand.lacks++ == 0 || place < stand.place) {
      stand.first = side;
      stand.place = place;
    }
    if (side.send && stand.tests) first_test_ = std::min(first_test_, row_[rank]);
  }
  // Completions and task_wait name no message: what they wait for does, the first that they name, the first task.
  void name_what_is_waited_for() {
    for (std::size_t i = 0; i < stands_.size(); ++i) {
      const Stand& stand = stands_[i];
      if (!stand.completes || stand.lacks == 0) continue;
      std::string& text = report_.blocked[i].op;
      const Side& side = stand.first;
      const std::string& comm = at_.comms.name(side.comm);
      text += side.send ? " for its send " + to(side.bytes, side.peer, side.tag, comm)
                        : " for its receive " + from(side.peer, side.tag, comm);
      if (stand.lacks > 1) text += fmt::format(" and {} more", stand.lacks - 1);
    }
  }
  // With repetitions.
  std::vector<RankId>& waits(std::uint32_t rank) { return report_.blocked[row_[rank]].waits_for; }
  // The first rank that waits where the recorded program was told at once that its send is over; null: there is none.
  [[nodiscard]] const BlockedRank* first_test_of_a_send() const {
    return first_test_ == kNoRow ? nullptr : &report_.blocked[first_test_];
  }

 private:
  void add(std::uint32_t r) {
    Rank& k = at_.ranks[r];
    BlockedRank b;
    b.rank = RankId(r);
    b.op_index = k.pc;
    b.position = at_.ranks.position(r);
    Stand stand;
    if (auto op = k.program.at(k.pc); op && *op != nullptr) {
      b.op = describe(**op, at_.comms);
      stand.tests = traces::is_test((*op)->kind);
      stand.completes = traces::is_completion((*op)->kind) || (*op)->kind == OpKind::task_wait;
      if (stand.completes) {
        std::int64_t one = 0;
        for (const std::int64_t slot : traces::completed_requests(**op, k.program.list(k.pc, **op), one))
          stand.slots.emplace_back(slot, stand.slots.size());
        std::ranges::sort(stand.slots);
      }
    }
    stands_.push_back(std::move(stand));
    row_[r] = report_.blocked.size();
    report_.blocked.push_back(std::move(b));
  }

  // The operation of a row of report_.blocked.
  struct Stand {
    bool tests = false, completes = false;
    std::size_t lacks = 0;  // messages of its own that are not over, not those of a collective
    Side first;             // of them
    std::uint64_t place = 0;
    std::vector<std::pair<std::int64_t, std::size_t>> slots;  // that it names, and where
  };
  [[nodiscard]] std::uint64_t place_of(const Stand& stand, Target t) const {
    if (t.is_activity()) return at_.tasks.op_of(t.activity());
    const auto it = std::ranges::lower_bound(stand.slots, std::int64_t{t.value}, {},
                                             &std::pair<std::int64_t, std::size_t>::first);
    return it != stand.slots.end() && it->first == t.value ? it->second : 0;
  }

  const Standstill& at_;
  DeadlockReport& report_;
  std::vector<std::size_t> row_;  // of report_.blocked, by rank
  std::vector<Stand> stands_;
  std::size_t first_test_ = kNoRow;
};

void find_waits(const Standstill& at, Blocked& blocked) {
  const auto live_messages = at.messages.live_rows();
  for (std::uint32_t i = 0; i < live_messages.size(); ++i) {
    if (!live_messages[i]) continue;
    const Message& m = at.messages[i];
    blocked.waits_for(m.src, m.send_target, send_side(m));
    if ((m.state & kMatched) != 0) blocked.waits_for(m.dst, m.recv_target, receive_side(m));
  }
  const auto live_recvs = at.matcher.receives().live_rows();
  for (std::uint32_t i = 0; i < live_recvs.size(); ++i) {
    if (!live_recvs[i]) continue;
    const PostedRecv& v = at.matcher.receives()[i];
    blocked.waits_for(v.rank, v.target, receive_side(v));
  }
  for (std::uint32_t r = 0; r < at.ranks.count(); ++r) {
    Rank& k = at.ranks[r];
    if (k.state != RankState::kProbing) continue;
    const auto op = k.program.at(k.pc);
    if (op && *op != nullptr && (*op)->peer >= 0)
      blocked.waits(r).push_back(RankId(static_cast<std::uint32_t>((*op)->peer)));
  }
  at.series.for_each_wait(
      [&](std::uint32_t rank, std::uint32_t missing) { blocked.waits(rank).push_back(RankId(missing)); });
}

// Each of its ranks waits for the next, the last for the first.
std::vector<std::size_t> first_cycle(const std::vector<BlockedRank>& ranks, const Blocked& blocked) {
  enum : std::uint8_t { kNew, kOpen, kClosed };
  std::vector<std::uint8_t> mark(ranks.size(), kNew);
  std::vector<std::pair<std::size_t, std::size_t>> stack;  // (row, next edge)
  std::vector<std::size_t> cycle;
  for (std::size_t s = 0; s < ranks.size(); ++s) {
    if (mark[s] != kNew) continue;
    stack.assign(1, {s, 0});
    mark[s] = kOpen;
    while (!stack.empty()) {
      auto& [row, edge] = stack.back();
      const auto& out = ranks[row].waits_for;
      if (edge == out.size()) {
        mark[row] = kClosed;
        stack.pop_back();
        continue;
      }
      const std::size_t to = blocked.row(out[edge++].index());
      if (to == kNoRow || mark[to] == kClosed) continue;
      if (mark[to] == kNew) {
        mark[to] = kOpen;
        stack.emplace_back(to, 0);
        continue;
      }
      auto it = std::find_if(stack.begin(), stack.end(), [&](const auto& e) { return e.first == to; });
      for (; it != stack.end(); ++it) cycle.push_back(it->first);
      return cycle;
    }
  }
  return cycle;
}

}  // namespace

DeadlockReport explain_deadlock(const Standstill& at, std::vector<std::string>& warnings) {
  DeadlockReport report;
  Blocked blocked(at, report);
  find_waits(at, blocked);
  blocked.name_what_is_waited_for();
  for (BlockedRank& b : report.blocked) {
    std::sort(b.waits_for.begin(), b.waits_for.end());
    b.waits_for.erase(std::unique(b.waits_for.begin(), b.waits_for.end()), b.waits_for.end());
  }
  report.cycle = first_cycle(report.blocked, blocked);
  if (const BlockedRank* b = blocked.first_test_of_a_send())
    warnings.push_back(fmt::format(
        "rank {} waits in a {} that said yes to a send in the recording: here its message waits for its "
        "receive, and a program that polls would be told no and go on; a larger mpi.eager_limit or "
        "--raw=eager lets sends go that are not synchronous",
        b->rank.index(), b->op));
  return report;
}

std::string ReplayResult::finding() const {
  if (!finished) return deadlock.summary();
  const auto count = [](std::uint64_t n, const char* one, const char* many) {
    return n == 0 ? std::string() : fmt::format("{} {}", n, n == 1 ? one : many);
  };
  std::string s = count(unmatched_messages, "message was sent but never received",
                        "messages were sent but never received");
  const std::string r = count(unmatched_receives, "receive was posted but never matched",
                              "receives were posted but never matched");
  if (!s.empty() && !r.empty()) s += "; ";
  return s + r;
}

std::string BlockedRank::text() const {
  std::string s = fmt::format("rank {} in {} (operation {}{}{}) waits for ", rank.index(), op, op_index,
                              position.empty() ? "" : ", ", position);
  if (waits_for.empty()) return s + "something that never comes";
  const std::size_t named = std::min(waits_for.size(), kPeersInText);
  s += waits_for.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < named; ++i) s += fmt::format("{} {}", i == 0 ? "" : ",", waits_for[i].index());
  return waits_for.size() == named ? s : s + fmt::format(" and {} more", waits_for.size() - named);
}

std::string DeadlockReport::summary() const {
  if (blocked.empty()) return "no rank is blocked";
  const std::string waiting = counted(blocked.size(), "rank") + (blocked.size() == 1 ? " waits" : " wait");
  if (cycle.empty()) {
    std::string s = fmt::format("deadlock: {} forever", waiting);
    const std::size_t named = std::min(blocked.size(), kRanksInSummary);
    for (std::size_t i = 0; i < named; ++i) s += "; " + blocked[i].text();
    return blocked.size() == named ? s : s + fmt::format("; and {} more", blocked.size() - named);
  }
  std::string s = fmt::format("deadlock: {} forever; cycle: ", waiting);
  for (std::size_t i : cycle) {
    const BlockedRank& b = blocked[i];
    s += fmt::format("rank {} in {} (operation {}) -> ", b.rank.index(), b.op, b.op_index);
  }
  return s + fmt::format("rank {}", blocked[cycle.front()].rank.index());
}

}  // namespace weft::replay
