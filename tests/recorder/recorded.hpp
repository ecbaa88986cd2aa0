// What was recorded, read back as lines.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "traces/op_rules.hpp"
#include "traces/trace.hpp"
#include "traces/trace_warnings.hpp"

namespace weft::recorder::testing {

using Lines = std::vector<std::string>;

struct Recorded {
  traces::TraceHeader header;
  std::vector<traces::Communicator> communicators;
  std::vector<std::vector<traces::Op>> ops;  // [rank], computation included
  std::vector<std::vector<std::vector<std::int64_t>>> lists;
  std::vector<Lines> lines;         // [rank], without computation and failed polls
  std::vector<std::string> faults;  // of op_fault
};

// "op peer amount tag comm [list]", "-" for none; "+" after op: second half of a sendrecv.
inline std::string line_of(const traces::Op& op, std::span<const std::int64_t> list, const Recorded& r) {
  const auto peer = op.peer == traces::kAnySource  ? std::string("-")
                    : op.peer == traces::kProcNull ? std::string("null")
                                                   : std::to_string(op.peer);
  std::string amount = std::to_string(op.amount);
  if (traces::is_comm_create(op.kind))
    amount = op.amount < 0 ? "none" : r.communicators[static_cast<std::size_t>(op.amount)].name;
  if (op.kind == traces::OpKind::iprobe || op.kind == traces::OpKind::improbe) amount = "hit";
  std::string line = fmt::format("{}{} {} {} {} {}", traces::op_name(op.kind),
                                 (op.flags & traces::kPairedRecv) != 0 ? "+" : "", peer, amount,
                                 op.tag == traces::kAnyTag ? std::string("-") : std::to_string(op.tag),
                                 r.communicators[op.comm.index()].name);
  if (op.kind == traces::OpKind::iprobe || op.kind == traces::OpKind::improbe)
    return line +
           fmt::format(" [{} {} {}]", list[2], list[3], list[4]);  // distances count computation: not stable
  if (list.empty()) return line;
  line += " [";
  for (const std::int64_t v : list) line += fmt::format("{}{}", line.back() == '[' ? "" : " ", v);
  return line + "]";
}

inline Recorded read_back(const std::string& path) {
  Recorded r;
  auto reader = traces::open_trace({path});
  EXPECT_TRUE(reader) << (reader ? "" : reader.error().message());
  if (!reader) return r;
  r.header = (*reader)->header();
  r.communicators = (*reader)->communicators();
  const traces::OpLimits limits{r.header.ranks, &r.communicators, 0};
  for (std::uint32_t rank = 0; rank < r.header.ranks; ++rank) {
    r.ops.emplace_back();
    r.lists.emplace_back();
    r.lines.emplace_back();
    traces::OpBlock block;
    for (;;) {
      auto more = (*reader)->next_block(RankId(rank), block);
      EXPECT_TRUE(more) << (more ? "" : more.error().message());
      if (!more || !*more) break;
      for (const traces::Op& op : block.ops) {
        const auto list = block.list(op);
        if (const char* fault = traces::op_fault(op, list, limits))
          r.faults.push_back(fmt::format("rank {} {}: {}", rank, traces::op_name(op.kind), fault));
        r.ops.back().push_back(op);
        r.lists.back().emplace_back(list.begin(), list.end());
        const bool poll = op.kind == traces::OpKind::iprobe || op.kind == traces::OpKind::improbe;
        if (traces::is_compute(op.kind) || (poll && (op.flags & traces::kHit) == 0)) continue;
        r.lines.back().push_back(line_of(op, list, r));
      }
    }
  }
  EXPECT_THAT(r.faults, ::testing::IsEmpty());
  return r;
}

// The lines between init and finalize.
inline Lines inside(const Lines& all) {
  EXPECT_GE(all.size(), 2u);
  if (all.size() < 2) return {};
  EXPECT_EQ(all.front(), "init - 0 - world");
  EXPECT_EQ(all.back(), "finalize - 0 - world");
  return {all.begin() + 1, all.end() - 1};
}

// Among the notes and warnings of the trace.
// Warnings of what the program did: not of how long it waited for a core, which hangs on what else the machine does.
inline Lines warnings_of(const Recorded& r) {
  Lines all = traces::trace_warnings(r.header);
  std::erase_if(all, [](const std::string& w) { return w.starts_with("outside MPI "); });
  return all;
}

inline bool has_note(const Recorded& r, const std::string& part) {
  Lines all = traces::trace_warnings(r.header);
  all.insert(all.end(), r.header.notes.begin(), r.header.notes.end());
  for (const std::string& note : all)
    if (note.find(part) != std::string::npos) return true;
  return false;
}

}  // namespace weft::recorder::testing
