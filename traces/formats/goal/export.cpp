// Operations -> LogGOPSim's GOAL, text (text.hpp) or binary (binary.hpp). docs/goal.md says what becomes of what.
//
// Text is written as the trace is read. Binary needs the size of every rank's block in front: the trace is read twice, and
// one rank's schedule is in memory.
#include <fmt/format.h>

#include <cstring>

#include "core/append_text.hpp"
#include "core/counted.hpp"
#include "traces/exports/export.hpp"
#include "traces/exports/export_file.hpp"
#include "traces/exports/poll_count.hpp"
#include "traces/formats/goal/binary.hpp"
#include "traces/formats/goal/schedule_maker.hpp"

namespace weft::traces {
namespace {

using goal::Dependency;
using goal::Kind;
using goal::Operation;
using goal::Schedule;
using goal::ScheduleMaker;

// What a schedule cannot say of the programs.
struct Unsaid {
  PollCount polls;
  std::uint64_t paced_sends = 0;

  void tell(std::vector<std::string>* warnings) const {
    polls.tell(PollCount::kLeftOut, warnings);
    if (paced_sends == 0 || warnings == nullptr) return;
    warnings->push_back(fmt::format(
        "{} of segments in collectives: in a replay each is over when its data have come, in a schedule an "
        "eager one when it has started, so that segments that follow one another leave together",
        counted(paced_sends, "send")));
  }
};

// What a rank's program becomes: `part` is called after each block of the trace, and once more at its end.
template <class Part>
Result<void> make_schedule(TraceReader& trace, std::uint32_t rank, Tags& tags, const ExportOptions& options,
                           Unsaid& unsaid, Part part) {
  ScheduleMaker maker(trace, RankId(rank), tags, options);
  OpBlock block;
  for (;;) {
    WEFT_ASSIGN(const bool more, trace.next_block(RankId(rank), block));
    if (!more) break;
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      WEFT_TRY(maker.add(block.ops[i], block.list(block.ops[i]), block.first_op + i));
      unsaid.polls.add(block.ops[i]);
    }
    part(maker, false);
  }
  WEFT_TRY(maker.finish());
  unsaid.paced_sends += maker.paced_sends();
  part(maker, true);
  return {};
}

std::string any_or(std::uint32_t v) { return v == goal::kAny ? "-1" : std::to_string(v); }

// Labels are l1, l2, ... A dependency stands right after the operation that has it.
void write_text(const Schedule& s, std::uint32_t first, std::string& out) {
  std::size_t d = 0;
  for (std::size_t i = 0; i < s.ops.size(); ++i) {
    const Operation& op = s.ops[i];
    const auto v = static_cast<std::uint32_t>(first + i);
    if (op.kind == Kind::kCalc)
      append(out, "l{}: calc {}", v + 1, op.size);
    else
      append(out, "l{}: {} {}b {} {} tag {}", v + 1, op.kind == Kind::kSend ? "send" : "recv", op.size,
             op.kind == Kind::kSend ? "to" : "from", any_or(op.peer), any_or(op.tag));
    if (op.cpu > 0) append(out, " cpu {}", op.cpu);
    out += '\n';
    for (; d < s.dependencies.size() && s.dependencies[d].later == v; ++d) {
      const std::uint32_t e = s.dependencies[d].earlier;
      append(out, "l{} {} l{}\n", v + 1, (e & Dependency::kAtStart) != 0 ? "irequires" : "requires",
             (e & ~Dependency::kAtStart) + 1);
    }
  }
}

template <class T>
void put(std::string& out, T v) {
  char bytes[sizeof v];
  std::memcpy(bytes, &v, sizeof v);
  out.append(bytes, sizeof v);
}

std::uint64_t block_bytes(std::uint64_t nodes, std::uint64_t roots, std::uint64_t dependencies) {
  return 8 + 4 * roots + goal::kNodeBytes * nodes + 4 * dependencies;
}

void write_binary(const Schedule& s, ExportFile& file) {
  std::string& out = file.buffer();
  const std::size_t nodes = s.ops.size();
  std::vector<std::uint32_t> earlier(nodes, 0);
  // Who comes after each, by operation: at its end, at its start.
  std::vector<std::uint32_t> after[2], next[2];
  for (auto& from : after) from.assign(nodes + 1, 0);
  const auto at_start = [](const Dependency& d) { return d.earlier >> 31; };
  const auto operation = [](const Dependency& d) { return d.earlier & ~Dependency::kAtStart; };
  for (const Dependency& d : s.dependencies) {
    ++earlier[d.later];
    ++after[at_start(d)][operation(d)];
  }
  put(out, static_cast<std::uint32_t>(nodes));
  put(out, static_cast<std::uint32_t>(std::ranges::count(earlier, 0u)));
  for (std::uint32_t v = 0; v < nodes; ++v)
    if (earlier[v] == 0) put(out, v);
  std::uint32_t entries = 0;
  for (auto& from : next) from.resize(nodes);
  for (std::size_t v = 0; v < nodes; ++v) {
    const Operation& op = s.ops[v];
    put(out, earlier[v]);
    put(out, static_cast<std::uint8_t>(op.kind));
    put(out, op.peer);
    put(out, op.size);
    put(out, op.tag);
    put(out, op.cpu);
    put(out, op.nic);
    for (const int side : {0, 1}) {
      put(out, after[side][v]);
      put(out, entries);
      next[side][v] = entries;
      entries += after[side][v];
    }
    file.drain();
  }
  std::vector<std::uint32_t> appendix(s.dependencies.size());
  for (const Dependency& d : s.dependencies) appendix[next[at_start(d)][operation(d)]++] = d.later;
  for (const std::uint32_t later : appendix) put(out, later);
  file.drain();
}

}  // namespace

Result<void> export_goal(TraceReader& trace, const std::string& path, const ExportOptions& options) {
  WEFT_ASSIGN(ExportFile file, ExportFile::open(path));
  Tags tags(trace.communicators().size());
  Unsaid unsaid;
  std::string& out = file.buffer();
  out += fmt::format("num_ranks {}\n", trace.header().ranks);
  for (std::uint32_t r = 0; r < trace.header().ranks; ++r) {
    out += fmt::format("\nrank {} {{\n", r);
    WEFT_TRY(make_schedule(trace, r, tags, options, unsaid, [&](ScheduleMaker& maker, bool /*end*/) {
      write_text(maker.schedule(), maker.first(), out);
      maker.forget();
      file.drain();
    }));
    out += "}\n";
  }
  unsaid.tell(options.warnings);
  return file.close();
}

Result<void> export_goal_binary(TraceReader& trace, const std::string& path, const ExportOptions& options) {
  WEFT_ASSIGN(ExportFile file, ExportFile::open(path));
  Tags tags(trace.communicators().size());
  Unsaid unsaid;
  const std::uint32_t ranks = trace.header().ranks;
  std::string& out = file.buffer();
  std::vector<std::uint64_t> sizes;
  std::uint8_t greatest_cpu = 0;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    std::uint64_t nodes = 0, dependencies = 0, roots = 0;
    WEFT_TRY(make_schedule(trace, r, tags, options, unsaid, [&](ScheduleMaker& maker, bool /*end*/) {
      const Schedule& s = maker.schedule();
      nodes += s.ops.size();
      dependencies += s.dependencies.size();
      roots += s.ops.size();
      for (const Operation& o : s.ops) greatest_cpu = std::max(greatest_cpu, o.cpu);
      // The dependencies of an operation stand together.
      for (std::size_t d = 0; d < s.dependencies.size(); ++d)
        roots -= d == 0 || s.dependencies[d].later != s.dependencies[d - 1].later ? 1 : 0;
      maker.forget();
    }));
    sizes.push_back(block_bytes(nodes, roots, dependencies));
  }
  put(out, goal::kMagic);
  put(out, ranks);
  put(out, greatest_cpu);
  put(out, std::uint8_t{0});                         // the greatest nic
  std::uint64_t at = 6 + std::uint64_t{16} * ranks;  // from byte 8
  for (const std::uint64_t size : sizes) {
    put(out, at);
    put(out, at += size);
    file.drain();
  }
  trace.rewind();
  Unsaid again;
  for (std::uint32_t r = 0; r < ranks; ++r)
    WEFT_TRY(make_schedule(trace, r, tags, options, again, [&](ScheduleMaker& maker, bool end) {
      if (end) write_binary(maker.schedule(), file);
    }));
  unsaid.tell(options.warnings);
  return file.close();
}

}  // namespace weft::traces
