#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "report/timeline/op_groups.hpp"
#include "report/timeline/replay_export.hpp"
#include "traces/kernel.hpp"

namespace weft::report {
namespace {

using traces::OpKind;

constexpr std::uint32_t kPointToPoint = 50000001, kCollective = 50000002,
                        kOther = 50000003;  // as Extrae numbers them
constexpr std::uint32_t kRegion = 60000019, kKernel = 60000119, kLinkLoad = 60000219, kPathEvent = 60000319;

struct State {
  int number;
  const char* name;
  const char* color;
};
constexpr State kRunning{1, "Running", "{0,0,255}"};
constexpr std::array<State, 18> kStates{{{0, "Idle", "{117,195,255}"},
                                         kRunning,
                                         {2, "Not created", "{255,255,255}"},
                                         {3, "Waiting a message", "{255,0,0}"},
                                         {4, "Blocking Send", "{255,0,174}"},
                                         {5, "Synchronization", "{179,0,0}"},
                                         {6, "Test/Probe", "{0,255,0}"},
                                         {7, "Scheduling and Fork/Join", "{255,255,0}"},
                                         {8, "Wait/WaitAll", "{235,0,0}"},
                                         {9, "Blocked", "{0,162,0}"},
                                         {10, "Immediate Send", "{255,0,255}"},
                                         {11, "Immediate Receive", "{100,100,177}"},
                                         {12, "I/O", "{172,174,41}"},
                                         {13, "Group Communication", "{255,144,26}"},
                                         {14, "Tracing Disabled", "{2,255,177}"},
                                         {15, "Others", "{192,224,0}"},
                                         {16, "Send Receive", "{66,66,66}"},
                                         {17, "Memory transfer", "{255,0,96}"}}};

int state_of(OpKind k) {
  if (traces::is_compute(k)) return 1;
  if (k == OpKind::sendrecv) return 16;
  if (traces::is_blocking_send(k)) return 4;
  if (counts_as_send(k)) return 10;
  if (k == OpKind::recv) return 3;
  if (k == OpKind::irecv) return 11;
  if (k >= OpKind::wait && k <= OpKind::waitsome) return 8;
  if (k >= OpKind::test && k <= OpKind::improbe) return 6;
  if (k == OpKind::barrier) return 5;
  if (traces::is_collective(k) || traces::is_comm_create(k)) return 13;
  return 15;
}

std::uint32_t type_of(OpKind k) {
  if (traces::is_collective(k)) return kCollective;
  if (k < OpKind::barrier) return kPointToPoint;
  return kOther;
}

std::int64_t ns(SimTime t) { return t.time_since_epoch().count() / 1000; }

// One line of the .prv, before it is text.
struct Record {
  enum class What : std::uint8_t { kState, kEvent, kMessage, kLoad };
  std::int64_t at = 0;
  What what{};
  std::uint32_t rank = 0;  // or link
  std::uint32_t type = 0;  // of an event; the number of a message
  std::int64_t value = 0;  // of an event; a state's end
  std::int32_t state = 0;
};

class Records {
 public:
  void state(std::uint32_t rank, SimTime from, SimTime to, int state) {
    if (ns(to) > ns(from)) list_.push_back({ns(from), Record::What::kState, rank, 0, ns(to), state});
  }
  void event(std::uint32_t rank, SimTime at, std::uint32_t type, std::int64_t value) {
    list_.push_back({ns(at), Record::What::kEvent, rank, type, value, 0});
  }
  void message(std::size_t number, SimTime posted) {
    list_.push_back({ns(posted), Record::What::kMessage, 0, static_cast<std::uint32_t>(number), 0, 0});
  }
  void load(std::uint32_t link, const LoadStep& step) {
    list_.push_back({ns(step.at), Record::What::kLoad, link, kLinkLoad, step.used, 0});
  }
  const std::vector<Record>& sorted() {
    // What a rank does at one instant stays in its order.
    std::stable_sort(list_.begin(), list_.end(),
                     [](const Record& a, const Record& b) { return a.at < b.at; });
    return list_;
  }

 private:
  std::vector<Record> list_;
};

void add_rank(Records& out, const Timeline& timeline, std::uint32_t rank) {
  SimTime last{};
  for (const TimelineSpan& s : timeline.spans[rank]) {
    if (s.kind == OpKind::region_begin || s.kind == OpKind::region_end) {
      out.event(rank, s.begin, kRegion, s.kind == OpKind::region_begin ? s.amount + 1 : 0);
      continue;
    }
    out.state(rank, s.begin, s.end, s.for_accelerator ? kRunning.number : state_of(s.kind));
    last = s.end;
    if (s.kind == OpKind::launch || s.for_accelerator) continue;  // no calls of MPI
    if (s.kind == OpKind::compute_kernel) {
      out.event(rank, s.begin, kKernel, s.kernel + 1);
      out.event(rank, s.end, kKernel, 0);
    } else if (!traces::is_compute(s.kind)) {
      out.event(rank, s.begin, type_of(s.kind), static_cast<std::int64_t>(s.kind) + 1);
      out.event(rank, s.end, type_of(s.kind), 0);
    }
  }
  // Operations follow each other, so a rank whose last one is over before the time asked for is done. Of others nothing is known.
  if (timeline.spans_left_out == 0 && timeline.is_chosen(rank))
    out.state(rank, std::max(last, timeline.from), std::min(timeline.to, timeline.end), 0);
}

// Of a rank: its own time is on the critical path, or a message that it waits for is.
constexpr std::int64_t kOwnTime = 1, kAwaited = 2;

void add_path_events(Records& out, const Timeline& timeline) {
  for (const replay::PathSegment& s : timeline.path) {
    const std::uint32_t rank = (s.is_message() ? s.receiver : s.rank).index();
    if (!timeline.is_chosen(rank)) continue;
    out.event(rank, s.from, kPathEvent, s.is_message() ? kAwaited : kOwnTime);
    out.event(rank, s.to, kPathEvent, 0);
  }
}

std::string pcf(const Timeline& timeline) {
  std::string out =
      "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\nLOOK_BACK           "
      "100\nSPEED               1\n"
      "FLAG_ICONS          ENABLED\nNUM_OF_STATE_COLORS 1000\nYMAX_SCALE          "
      "37\n\n\nDEFAULT_SEMANTIC\n\nTHREAD_FUNC         "
      " State As Is\n\n\nSTATES\n";
  for (const State& s : kStates) out += fmt::format("{}    {}\n", s.number, s.name);
  out += "\n\nSTATES_COLOR\n";
  for (const State& s : kStates) out += fmt::format("{}    {}\n", s.number, s.color);
  const auto type = [&](std::uint32_t number, const char* name, const auto& values) {
    out += fmt::format("\n\nEVENT_TYPE\n9    {}    {}\nVALUES\n0      End\n", number, name);
    for (const auto& [value, text] : values) out += fmt::format("{}      {}\n", value, text);
  };
  using Values = std::vector<std::pair<std::int64_t, std::string>>;
  for (const auto& [number, name] :
       {std::pair(kPointToPoint, "MPI Point-to-point"), std::pair(kCollective, "MPI Collective Comm"),
        std::pair(kOther, "MPI Other")}) {
    Values values;
    for (std::size_t k = 0; k < traces::kOpKindCount; ++k) {
      const auto kind = static_cast<OpKind>(k);
      if (!traces::is_compute(kind) && kind != OpKind::launch && kind != OpKind::region_begin &&
          kind != OpKind::region_end && type_of(kind) == number)
        values.emplace_back(static_cast<std::int64_t>(k) + 1, "MPI_" + std::string(traces::op_name(kind)));
    }
    type(number, name, values);
  }
  Values kernels, regions;
  for (std::size_t k = 0; k < traces::kKernelCount; ++k)
    kernels.emplace_back(static_cast<std::int64_t>(k) + 1, std::string(traces::kKernelNames[k]));
  type(kKernel, "Kernel", kernels);
  for (std::size_t i = 0; i < timeline.regions.size(); ++i) {
    std::string name = timeline.regions[i];
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == 127; }, '?');
    regions.emplace_back(static_cast<std::int64_t>(i) + 1, std::move(name));
  }
  type(kRegion, "User function", regions);
  if (!timeline.path.empty())
    type(kPathEvent, "Critical path",
         Values{{kOwnTime, "own time"}, {kAwaited, "message that is waited for"}});
  if (!timeline.link_names.empty())
    out += fmt::format("\n\nEVENT_TYPE\n1    {}    Link load, hundredths of a percent of the bandwidth\n",
                       kLinkLoad);
  return out + "\n";
}

}  // namespace

Paraver paraver(const Timeline& timeline, const std::vector<std::uint32_t>& node_of_rank,
                const std::vector<traces::Communicator>& communicators) {
  // A processor for each rank, numbered node by node.
  std::uint32_t nodes = 0;
  for (const std::uint32_t n : node_of_rank) nodes = std::max(nodes, n + 1);
  std::vector<std::uint32_t> on_node(nodes, 0), first(nodes, 1), cpu(timeline.ranks);
  for (std::uint32_t r = 0; r < timeline.ranks; ++r) cpu[r] = on_node[node_of_rank[r]]++;
  for (std::uint32_t n = 1; n < nodes; ++n) first[n] = first[n - 1] + on_node[n - 1];
  for (std::uint32_t r = 0; r < timeline.ranks; ++r) cpu[r] += first[node_of_rank[r]];

  Records records;
  for (std::uint32_t r = 0; r < timeline.ranks; ++r) add_rank(records, timeline, r);
  add_path_events(records, timeline);
  for (std::size_t i = 0; i < timeline.messages.size(); ++i) records.message(i, timeline.messages[i].posted);

  const auto links = static_cast<std::uint32_t>(timeline.link_names.size());
  for (std::uint32_t l = 0; l < links; ++l)
    for (const LoadStep& step : load_steps(timeline, l)) records.load(l, step);

  Paraver out;
  // No date: the same replay gives the same bytes.
  out.prv =
      fmt::format("#Paraver (01/01/70 at 00:00):{}_ns:{}(", ns(timeline.end), nodes + (links > 0 ? 1 : 0));
  for (std::uint32_t n = 0; n < nodes; ++n) out.prv += fmt::format("{}{}", n == 0 ? "" : ",", on_node[n]);
  if (links > 0) out.prv += fmt::format(",{}", links);
  out.prv += fmt::format("):{}:{}(", links > 0 ? 2 : 1, timeline.ranks);
  for (std::uint32_t r = 0; r < timeline.ranks; ++r)
    out.prv += fmt::format("{}1:{}", r == 0 ? "" : ",", node_of_rank[r] + 1);
  out.prv += ')';
  if (links > 0) out.prv += fmt::format(":1({}:{})", links, nodes + 1);
  out.prv += fmt::format(",{}\n", communicators.size());
  auto to = std::back_inserter(out.prv);
  for (std::size_t c = 0; c < communicators.size(); ++c) {
    fmt::format_to(to, "c:1:{}:{}", c + 1, communicators[c].members.size());
    for (const std::int32_t m : communicators[c].members) fmt::format_to(to, ":{}", m + 1);
    out.prv += '\n';
  }
  for (const Record& r : records.sorted()) {
    switch (r.what) {
      case Record::What::kState:
        fmt::format_to(to, "1:{}:1:{}:1:{}:{}:{}\n", cpu[r.rank], r.rank + 1, r.at, r.value, r.state);
        break;
      case Record::What::kEvent:
        fmt::format_to(to, "2:{}:1:{}:1:{}:{}:{}\n", cpu[r.rank], r.rank + 1, r.at, r.type, r.value);
        break;
      case Record::What::kLoad:
        fmt::format_to(to, "2:{}:2:1:{}:{}:{}:{}\n", timeline.ranks + r.rank + 1, r.rank + 1, r.at, r.type,
                       r.value);
        break;
      case Record::What::kMessage: {
        const auto& m = timeline.messages[r.type];
        const std::uint32_t a = m.src.index(), b = m.dst.index();
        fmt::format_to(to, "3:{}:1:{}:1:{}:{}:{}:1:{}:1:{}:{}:{}:{}\n", cpu[a], a + 1, ns(m.posted),
                       ns(m.left), cpu[b], b + 1, ns(m.received), ns(m.arrived), m.bytes, m.tag);
        break;
      }
    }
  }
  out.pcf = pcf(timeline);
  const auto names = [&](const char* level, std::uint32_t count, const char* name, std::uint32_t first_number,
                         auto&& more) {
    out.row += fmt::format("{}LEVEL {} SIZE {}\n", out.row.empty() ? "" : "\n", level, count + more.size());
    for (std::uint32_t i = 0; i < count; ++i) out.row += fmt::format("{} {}\n", name, i + first_number);
    for (const std::string& text : more) out.row += text + "\n";
  };
  const std::vector<std::string> network(links > 0 ? 1 : 0, "links");
  names("CPU", timeline.ranks, "cpu", 1, timeline.link_names);
  names("NODE", nodes, "node", 1, network);
  names("THREAD", timeline.ranks, "rank", 0, timeline.link_names);
  return out;
}

namespace {

class ParaverFiles final : public ReplayFiles {
 public:
  using ReplayFiles::ReplayFiles;

 private:
  [[nodiscard]] std::vector<std::string> texts(const Replayed& run) const override {
    Paraver p = paraver(run.timeline, run.node_of_rank, run.trace.communicators());
    return {std::move(p.prv), std::move(p.pcf), std::move(p.row)};
  }
};

}  // namespace

// NAME, or NAME.prv as the viewer's own dialogs call it.
std::unique_ptr<ReplayExport> replay_export_paraver(std::string place) {
  if (place.ends_with(".prv")) place.resize(place.size() - 4);
  return std::make_unique<ParaverFiles>(std::vector{place + ".prv", place + ".pcf", place + ".row"});
}

}  // namespace weft::report
