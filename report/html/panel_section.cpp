#include "report/html/panel_section.hpp"

#include <algorithm>
#include <charconv>

#include "report/html/packed.hpp"

namespace weft::report {
namespace {

enum Phase : std::uint8_t { kPfact, kBcast };  // of kPanelPhases
constexpr std::string_view kPanel = "panel";
constexpr std::uint32_t kMostPanels = 1u << 20;  // a number above is no panel's

}  // namespace

PanelCollector::PanelCollector(const traces::TraceReader& trace) : ranks_(trace.header().ranks) {
  for (const std::string& name : trace.regions()) {
    std::int64_t meaning = kNothing;
    const auto phase = std::find(kPanelPhases.begin(), kPanelPhases.end(), name);
    if (phase != kPanelPhases.end()) meaning = kFirstPhase - (phase - kPanelPhases.begin());
    if (name == kPanel) meaning = kNextPanel;
    if (name.starts_with("panel ")) {
      const char* const digits = name.data() + kPanel.size() + 1;
      const char* const end = name.data() + name.size();
      std::uint32_t number = 0;
      const auto read = std::from_chars(digits, end, number);
      if (read.ec == std::errc() && read.ptr == end && number < kMostPanels) meaning = number;
    }
    meaning_.push_back(meaning);
  }
}

void PanelCollector::add(RankId rank, RegionId region, SimTime begin, SimTime end) {
  if (region.index() >= meaning_.size()) return;
  std::int64_t meaning = meaning_[region.index()];
  Rank& r = ranks_[rank.index()];
  if (meaning <= kFirstPhase) {
    const auto phase = static_cast<std::size_t>(kFirstPhase - meaning);
    r.phase[phase] += end - begin;
    if (phase == kPfact) r.factored = end;
    if (phase == kBcast) r.arrived = end;
    return;
  }
  if (meaning == kNextPanel) meaning = r.panels;
  if (meaning < 0 || meaning >= kMostPanels) return;
  const auto number = static_cast<std::size_t>(meaning);
  if (number >= panels_.size()) panels_.resize(number + 1);
  Panel& p = panels_[number];
  for (std::size_t i = 0; i < r.phase.size(); ++i) p.phase[i] += r.phase[i];
  p.end = std::max(p.end, end);
  ++p.ranks;
  if (r.phase[kPfact] > Duration(0)) {
    p.longest_factor = std::max(p.longest_factor, r.phase[kPfact]);
    p.ready = std::max(p.ready, r.factored);
  } else if (r.arrived >= begin) {
    p.arrived += r.arrived.time_since_epoch();
    p.waited += r.phase[kBcast];
    ++p.receivers;
  }
  ++r.panels;
  r.phase = {};
}

PanelSection PanelCollector::finish() const {
  PanelSection out;
  if (panels_.empty()) return out;
  for (const Panel& p : panels_) {
    if (p.ranks <= ranks_.size()) continue;
    out.none = "the trace holds several runs of HPL";
    return out;
  }
  out.panels = static_cast<std::uint32_t>(panels_.size());
  out.per_point = (out.panels + kPoints - 1) / kPoints;
  for (std::size_t first = 0; first < panels_.size(); first += out.per_point) {
    std::array<double, kPanelPhases.size()> phase{};
    double factor = 0, took = 0, waited = 0;
    SimTime end{};
    for (std::size_t k = first; k < std::min(panels_.size(), first + out.per_point); ++k) {
      const Panel& p = panels_[k];
      end = std::max(end, p.end);
      factor += to_seconds(p.longest_factor);
      for (std::size_t i = 0; i < phase.size(); ++i)
        if (p.ranks > 0) phase[i] += to_seconds(p.phase[i]) / p.ranks;
      // Of ranks that had it before it was ready nothing can be said.
      if (p.receivers == 0 || p.longest_factor == Duration(0)) continue;
      const double way = to_seconds(p.arrived) / p.receivers - to_seconds(p.ready.time_since_epoch());
      took += std::max(0.0, way);
      waited += to_seconds(p.waited) / p.receivers;
    }
    out.end_s.push_back(to_seconds(end.time_since_epoch()));
    out.factor_s.push_back(factor);
    out.bcast_took_s.push_back(took);
    out.bcast_waited_s.push_back(waited);
    for (std::size_t i = 0; i < phase.size(); ++i) out.phase_s[i].push_back(phase[i]);
  }
  return out;
}

nlohmann::ordered_json to_json(const PanelSection& p) {
  using Json = nlohmann::ordered_json;
  if (!p.none.empty()) return Json{{"none", p.none}};
  Json columns{{"end_s", packed(p.end_s)},
               {"factor_s", packed(p.factor_s)},
               {"bcast_took_s", packed(p.bcast_took_s)},
               {"bcast_waited_s", packed(p.bcast_waited_s)}};
  for (std::size_t i = 0; i < kPanelPhases.size(); ++i)
    columns[std::string(kPanelPhases[i]) + "_s"] = packed(p.phase_s[i]);
  return Json{{"panels", p.panels}, {"per_point", p.per_point}, {"columns", std::move(columns)}};
}

}  // namespace weft::report
