#include "predict/journal/run_point.hpp"

#include "predict/journal/fields.hpp"

namespace weft::replay {

template <class V>
void fields(V& visit, MessageCosts& c) {
  auto& [count, bytes, hops, latency, transfer, contention, late_sender, late_receiver] = c;
  visit("count", count);
  visit("bytes", bytes);
  visit("hops", hops);
  visit("latency_ps", latency);
  visit("transfer_ps", transfer);
  visit("contention_ps", contention);
  visit("late_sender_ps", late_sender);
  visit("late_receiver_ps", late_receiver);
}

template <class V>
void fields(V& visit, BlockedRank& b) {
  WEFT_FIELDS(visit, b, rank, op_index, op, position, waits_for);
}

template <class V>
void fields(V& visit, DeadlockReport& d) {
  WEFT_FIELDS(visit, d, blocked, cycle);
}

template <class V>
void fields(V& visit, ReplayResult& r) {
  // What is bound and not visited is not kept (RunPoint::result).
  auto& [makespan, fingerprint, ranks, regions, collectives, collective_rules, links, point_to_point, network,
         engine, way, path, ideal, wait_states, finished, used_speed, deadlock, unmatched_messages,
         unmatched_receives, warnings] = r;
  visit("makespan_ps", makespan);
  visit("fingerprint", fingerprint);
  visit("finished", finished);
  visit("used_speed", used_speed);
  visit("point_to_point", point_to_point);
  visit("network", network);
  visit("deadlock", deadlock);
  visit("unmatched_messages", unmatched_messages);
  visit("unmatched_receives", unmatched_receives);
  visit("warnings", warnings);
}

template <class V>
void fields(V& visit, Verification& v) {
  WEFT_FIELDS(visit, v, conditions, solves, rates, messages, links, worst_bytes_error, matches, instants,
              events, wrong, told);
}

}  // namespace weft::replay

namespace weft::network {

template <class V>
void fields(V& visit, LinkUse& u) {
  auto& [bytes, busy, peak_flows, waited] = u;
  visit("bytes", bytes);
  visit("busy_ps", busy);
  visit("peak_flows", peak_flows);
  visit("waited_ps", waited);
}

}  // namespace weft::network

namespace weft::predict {

template <class V>
void fields(V& visit, TimeSums& s) {
  auto& [finish, compute, send, recv, wait, collective, causes] = s;
  visit("finish_s", finish);
  visit("compute_s", compute);
  visit("send_s", send);
  visit("recv_s", recv);
  visit("wait_s", wait);
  visit("collective_s", collective);
  visit("causes_s", causes);
}

template <class V>
void fields(V& visit, UsedLink& l) {
  WEFT_FIELDS(visit, l, link, use);
}

template <class V>
void fields(V& visit, PathDigest& p) {
  auto& [parts, most_contended] = p;
  visit("parts_ps", parts);
  visit("most_contended", most_contended);
}

template <class V>
void fields(V& visit, RunDigest& d) {
  auto& [ranks, sums, worst, most_waited, waited_alike, narrowest_used, path] = d;
  visit("ranks", ranks);
  visit("sums", sums);
  visit("worst", worst);
  visit("most_waited", most_waited);
  visit("waited_alike", waited_alike);
  visit("narrowest_used_Bps", narrowest_used);
  visit("path", path);
}

template <class V>
void fields(V& visit, LinkSharer& s) {
  WEFT_FIELDS(visit, s, src, dst, bytes);
}

template <class V>
void fields(V& visit, LinkSharers& s) {
  WEFT_FIELDS(visit, s, known, pairs, bytes, most, copied);
}

template <class V>
void fields(V& visit, RunPoint& p) {
  // `verified` is written by run_point_json(), where there is one.
  auto& [result, digest, sharers, ideal, verified] = p;
  visit("result", result);
  visit("digest", digest);
  visit("sharers", sharers);
  visit("ideal_ps", ideal);
}

Json run_point_json(const RunFacts& run) {
  RunPoint p;
  p.result = *run.result;
  p.digest = digest_of(run);
  p.sharers = run.worst_link_sharers;
  p.ideal = run.ideal;
  Json out = ToJson::of(p);
  if (run.verified) {
    replay::Verification checks = *run.verified;
    out["verified"] = ToJson::of(checks);
  }
  return out;
}

std::optional<RunPoint> run_point_of(const Json& json) {
  auto p = FromJson::to<RunPoint>(json);
  if (!p) return p;
  if (const auto at = json.find("verified"); at != json.end()) {
    p->verified = FromJson::to<replay::Verification>(*at);
    if (!p->verified) return std::nullopt;
  }
  const replay::DeadlockReport& d = p->result.deadlock;
  for (const std::size_t i : d.cycle)
    if (i >= d.blocked.size()) return std::nullopt;
  // Its finding names the first.
  if (p->verified && p->verified->wrong > 0 && p->verified->told.empty()) return std::nullopt;
  return p;
}

}  // namespace weft::predict
