#include "replay/sums.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/byte_sum.hpp"
#include "core/counted.hpp"
#include "topology/platform/platform.hpp"
#include "traces/trace_warnings.hpp"

namespace weft::replay {

RankTimes times_of_rank(const Rank& k, std::uint32_t r, const CauseBook& causes, bool finished) {
  RankTimes t;
  t.finish = k.finish.rounded().time_since_epoch();
  // Rounding the running sum, not each part, keeps the parts' sum equal to the finish.
  Elapsed sum;
  Duration before{0};
  for (const auto& [part, spent] :
       {std::pair(&t.compute, k.total(Part::kCompute)), std::pair(&t.send, k.total(Part::kSend)),
        std::pair(&t.recv, k.total(Part::kPoll) + k.total(Part::kRecv)),
        std::pair(&t.wait, k.total(Part::kWait)), std::pair(&t.collective, k.total(Part::kCollective))}) {
    sum += spent;
    *part = sum.rounded() - before;
    before = sum.rounded();
  }
  causes.round(t, r, k.total(Part::kCompute), finished);
  return t;
}

bool counted_past_the_end(const Traffic& traffic, const network::Network& network) {
  return traffic.all().bytes == kTooManyBytes || network.total_bytes() == kTooManyBytes;
}

void tell_traffic(const Traffic& traffic, const CauseBook& causes, ReplayResult& out) {
  out.fingerprint = traffic.fingerprint();
  Costs all = traffic.all(), written = traffic.point_to_point();
  for (const auto& [cause, late] : {std::pair(Cause::kLateSender, &Costs::late_sender),
                                    std::pair(Cause::kLateReceiver, &Costs::late_receiver)}) {
    all.*late += causes.sum(cause);
    written.*late += causes.sum(cause) - causes.sum_of_collectives(cause);
  }
  out.point_to_point = written.rounded();
  out.network = all.rounded();
}

void tell_warnings(const traces::TraceHeader& header, bool noise_without_any, std::uint64_t truncated,
                   ReplayResult& out) {
  out.warnings = traces::trace_warnings(header);
  if (noise_without_any) out.warnings.emplace_back(topology::kNoNoise);
  if (truncated > 0)
    out.warnings.push_back(fmt::format("{} longer than the receive that takes {} (MPI would stop)",
                                       counted(truncated, "message") + (truncated == 1 ? " is" : " are"),
                                       truncated == 1 ? "it" : "them"));
  if (out.finished)
    if (std::string text = out.finding(); !text.empty()) out.warnings.push_back(std::move(text));
  out.engine.warnings = out.warnings.size();
}

}  // namespace weft::replay
