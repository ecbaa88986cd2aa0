// A timeline as tests look at it: all of it in memory, each format as one text.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "report/timeline/paraver.hpp"
#include "report/timeline/timeline.hpp"

namespace weft::report {

inline std::string perfetto_text(const Timeline& timeline, std::string_view title) {
  std::string text;
  const auto ok = write_perfetto(timeline, title, [&text](std::string_view piece) { text += piece; });
  EXPECT_TRUE(ok) << (ok ? "" : ok.error().message());
  return text;
}

struct ParaverTexts {
  std::string prv, pcf, row, network_prv, network_pcf, network_row;
};
inline ParaverTexts paraver_texts(const Timeline& timeline, const std::vector<std::uint32_t>& node_of_rank,
                                  const std::vector<traces::Communicator>& communicators) {
  ParaverTexts texts;
  const auto ok = write_prv(timeline, node_of_rank, communicators,
                            [&texts](std::string_view piece) { texts.prv += piece; });
  EXPECT_TRUE(ok) << (ok ? "" : ok.error().message());
  texts.pcf = paraver_pcf(timeline);
  texts.row = paraver_row(timeline, node_of_rank);
  const auto network = write_network_prv(timeline, node_of_rank,
                                         [&texts](std::string_view piece) { texts.network_prv += piece; });
  EXPECT_TRUE(network) << (network ? "" : network.error().message());
  texts.network_pcf = network_pcf(timeline);
  texts.network_row = network_row(timeline, node_of_rank);
  return texts;
}

// By rank, in order of time.
inline std::vector<std::vector<TimelineSpan>> spans_by_rank(const Timeline& timeline) {
  std::vector<std::vector<TimelineSpan>> spans(timeline.ranks);
  auto s = timeline.spans.reader();
  for (; s.more(); s.next()) spans.at(s.row().rank).push_back(s.row());
  EXPECT_TRUE(s.status());
  return spans;
}

inline std::vector<replay::MessageSeen> messages_of(const Timeline& timeline) {
  std::vector<replay::MessageSeen> messages;
  auto m = timeline.messages.reader();
  for (; m.more(); m.next()) messages.push_back(m.row().seen);
  EXPECT_TRUE(m.status());
  return messages;
}

}  // namespace weft::report
