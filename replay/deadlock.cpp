// When nothing can happen any more and ranks are left: who waits for whom, and the cycle if there is one.
#include <fmt/format.h>

#include <algorithm>

#include "core/counted.hpp"

#include "replay/simulation.hpp"
#include "traces/op_rules.hpp"

namespace weft::replay {

using traces::OpKind;

DeadlockReport Simulation::explain_deadlock() {
  DeadlockReport report;
  std::vector<std::size_t> row(ranks_.size(), ~std::size_t{0});
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    Rank& k = ranks_[r];
    if (k.state == RankState::kDone) continue;
    BlockedRank b;
    b.rank = RankId(r);
    b.op_index = k.pc;
    b.position = trace_.position(RankId(r), k.pc);
    row[r] = report.blocked.size();
    if (auto at = k.program.at(k.pc); at && *at != nullptr) {
      const Op& op = **at;
      b.op = std::string(traces::op_name(op.kind));
      const std::string comm = " on " + comms_[op.comm.index()].name;
      const auto peer = [&] {
        return op.peer == traces::kAnySource ? std::string("any source") : std::to_string(op.peer);
      };
      const auto tag = [&] {
        return op.tag == traces::kAnyTag ? std::string("any tag") : fmt::format("tag {}", op.tag);
      };
      if (traces::is_send(op.kind))
        b.op += fmt::format(" of {} bytes to {} {}{}", op.amount, op.peer, tag(), comm);
      else if (op.kind == OpKind::recv || (op.kind >= OpKind::probe && op.kind <= OpKind::improbe))
        b.op += fmt::format(" from {} {}{}", peer(), tag(), comm);
      else if (traces::is_collective(op.kind) || traces::is_comm_create(op.kind))
        b.op += comm;
    }
    report.blocked.push_back(std::move(b));
  }
  // What a rank waits for: the other side of every message of its own that is not over and that it must wait
  // for.
  const auto waits = [&](std::uint32_t rank, Target t, std::uint32_t peer) {
    if (t.value == Target::kNobody || row[rank] == ~std::size_t{0}) return;
    const Rank& k = ranks_[rank];
    std::string what;
    if ((t.value & Target::kActivity) != 0) {
      const Target owner = activities_[t.value & ~Target::kActivity].target;
      if (owner.value < traces::kMaxRequestSlots &&
          !(owner.value < k.slots.size() && k.slots[owner.value].awaited))
        return;
    } else if (t.value != Target::kBlocking) {
      if (!(t.value < k.slots.size() && k.slots[t.value].awaited)) return;
    }
    auto& list = report.blocked[row[rank]].waits_for;
    if (std::find(list.begin(), list.end(), RankId(peer)) == list.end()) list.push_back(RankId(peer));
  };
  const auto live_messages = messages_.live_rows();
  for (std::uint32_t i = 0; i < live_messages.size(); ++i) {
    if (!live_messages[i]) continue;
    const Message& m = messages_[i];
    waits(m.src, m.send_target, m.dst);
    if ((m.state & kMatched) != 0) waits(m.dst, m.recv_target, m.src);
  }
  const auto live_recvs = matcher_.receives().live_rows();
  for (std::uint32_t i = 0; i < live_recvs.size(); ++i) {
    if (!live_recvs[i]) continue;
    const PostedRecv& v = matcher_.receives()[i];
    if (v.source >= 0) waits(v.rank, v.target, static_cast<std::uint32_t>(v.source));
  }
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r].state != RankState::kProbing) continue;
    auto at = ranks_[r].program.at(ranks_[r].pc);
    if (at && *at != nullptr && (*at)->peer >= 0) {
      auto& list = report.blocked[row[r]].waits_for;
      list.push_back(RankId(static_cast<std::uint32_t>((*at)->peer)));
    }
  }
  for (std::uint32_t c = 0; c < series_.size(); ++c) {
    if (series_[c].arrived == 0) continue;
    const auto& members = comms_[c].members;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (series_[c].here[i] == 0) continue;
      auto& list = report.blocked[row[static_cast<std::uint32_t>(members[i])]].waits_for;
      for (std::size_t j = 0; j < members.size(); ++j)
        if (series_[c].here[j] == 0) list.push_back(RankId(static_cast<std::uint32_t>(members[j])));
    }
  }
  for (BlockedRank& b : report.blocked) std::sort(b.waits_for.begin(), b.waits_for.end());

  // First cycle by depth-first search from the lowest rank.
  enum : std::uint8_t { kNew, kOpen, kClosed };
  std::vector<std::uint8_t> mark(report.blocked.size(), kNew);
  std::vector<std::pair<std::size_t, std::size_t>> stack;  // (row, next edge)
  for (std::size_t s = 0; s < report.blocked.size() && report.cycle.empty(); ++s) {
    if (mark[s] != kNew) continue;
    stack.assign(1, {s, 0});
    mark[s] = kOpen;
    while (!stack.empty() && report.cycle.empty()) {
      auto& [at, edge] = stack.back();
      const auto& out = report.blocked[at].waits_for;
      if (edge == out.size()) {
        mark[at] = kClosed;
        stack.pop_back();
        continue;
      }
      const std::size_t to = row[out[edge++].index()];
      if (to == ~std::size_t{0} || mark[to] == kClosed) continue;
      if (mark[to] == kOpen) {
        const auto first =
            std::find_if(stack.begin(), stack.end(), [&](const auto& e) { return e.first == to; });
        for (auto it = first; it != stack.end(); ++it) report.cycle.push_back(it->first);
      } else {
        mark[to] = kOpen;
        stack.emplace_back(to, 0);
      }
    }
  }
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

std::string DeadlockReport::summary() const {
  if (blocked.empty()) return "no rank is blocked";
  const std::string waiting = counted(blocked.size(), "rank") + (blocked.size() == 1 ? " waits" : " wait");
  if (cycle.empty()) {
    const BlockedRank& b = blocked.front();
    return fmt::format(
        "deadlock: {} forever; rank {} in {} (operation {}, {}) waits for something that never comes",
        waiting, b.rank.index(), b.op, b.op_index, b.position);
  }
  std::string s = fmt::format("deadlock: {} forever; cycle: ", waiting);
  for (std::size_t i : cycle) {
    const BlockedRank& b = blocked[i];
    s += fmt::format("rank {} in {} (operation {}) -> ", b.rank.index(), b.op, b.op_index);
  }
  return s + fmt::format("rank {}", blocked[cycle.front()].rank.index());
}

}  // namespace weft::replay
