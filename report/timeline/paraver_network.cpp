// What the network did, as a trace of its own: to who reads the program's trace as a program, a message of a collective would be
// one of the program, and a link a rank.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "report/timeline/paraver.hpp"
#include "report/timeline/paraver_head.hpp"

namespace weft::report {
namespace {

constexpr std::uint32_t kLinkLoad = 60000219;

struct MessagesByTime {
  bool operator()(const TimelineMessage& a, const TimelineMessage& b) const {
    return std::tuple(prv_time(a.seen.posted), a.number) < std::tuple(prv_time(b.seen.posted), b.number);
  }
};

struct Load {
  std::int64_t at;
  std::uint32_t link;
  std::int32_t used;
};
std::vector<Load> loads_by_time(const Timeline& timeline) {
  std::vector<Load> loads;
  for (std::uint32_t l = 0; l < timeline.link_names.size(); ++l)
    for (const LoadStep& step : load_steps(timeline, l)) loads.push_back({prv_time(step.at), l, step.used});
  std::ranges::stable_sort(loads, {}, &Load::at);
  return loads;
}

PrvSystem network_system(const Timeline& timeline, const std::vector<std::uint32_t>& node_of_rank) {
  return {node_of_rank, std::vector<std::uint32_t>(timeline.ranks, 1),
          static_cast<std::uint32_t>(timeline.link_names.size())};
}

}  // namespace

Result<void> write_network_prv(const Timeline& timeline, const std::vector<std::uint32_t>& node_of_rank,
                               const TextSink& to) {
  const PrvSystem system = network_system(timeline, node_of_rank);
  SortedRows<TimelineMessage, MessagesByTime> messages(timeline.beside, timeline.memory);
  SimTime end = timeline.end;  // a message that nobody waits for can come later
  auto seen = timeline.messages.reader();
  for (; seen.more(); seen.next()) {
    messages.add(seen.row());
    end = std::max({end, seen.row().seen.arrived, seen.row().seen.received});
  }
  WEFT_TRY(seen.status());
  WEFT_TRY(messages.finish());
  const std::vector<Load> loads = loads_by_time(timeline);

  TextPieces out(to);
  system.write_head(out, prv_time(end), {});
  auto message = messages.reader();
  auto load = loads.begin();
  while (message.more() || load != loads.end()) {
    if (message.more() && (load == loads.end() || prv_time(message.row().seen.posted) <= load->at)) {
      const replay::MessageSeen& m = message.row().seen;
      const std::uint32_t a = m.src.index(), b = m.dst.index();
      out.add("3:{}:1:{}:1:{}:{}:{}:1:{}:1:{}:{}:{}:{}\n", system.cpu[a], a + 1, prv_time(m.posted),
              prv_time(m.left), system.cpu[b], b + 1, prv_time(m.received), prv_time(m.arrived), m.bytes,
              m.tag);
      message.next();
    } else {
      out.add("2:{}:2:1:{}:{}:{}:{}\n", system.of_ranks + load->link + 1, load->link + 1, load->at, kLinkLoad,
              load->used);
      ++load;
    }
  }
  WEFT_TRY(message.status());
  out.flush();
  return {};
}

std::string network_pcf(const Timeline& timeline) {
  std::string out =
      "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\n\n\n"
      "DEFAULT_SEMANTIC\n\nTHREAD_FUNC          Last Evt Val\n";
  if (!timeline.link_names.empty())
    out += fmt::format("\n\nEVENT_TYPE\n1    {}    Link load, hundredths of a percent of the bandwidth\n",
                       kLinkLoad);
  return out + "\n";
}

std::string network_row(const Timeline& timeline, const std::vector<std::uint32_t>& node_of_rank) {
  std::vector<std::string> names;
  for (std::uint32_t r = 0; r < timeline.ranks; ++r) names.push_back(fmt::format("rank {}", r));
  names.insert(names.end(), timeline.link_names.begin(), timeline.link_names.end());
  return network_system(timeline, node_of_rank).row(names, "links");
}

}  // namespace weft::report
