#include "predict/journal/run_point.hpp"

#include "predict/journal/fields.hpp"

namespace weft::replay {

template <class V>
void fields(V& visit, MessageCosts& c) {
  visit("count", c.count);
  visit("bytes", c.bytes);
  visit("hops", c.hops);
  visit("latency_ps", c.latency);
  visit("transfer_ps", c.transfer);
  visit("contention_ps", c.contention);
  visit("late_sender_ps", c.late_sender);
  visit("late_receiver_ps", c.late_receiver);
}

template <class V>
void fields(V& visit, BlockedRank& b) {
  visit("rank", b.rank);
  visit("op_index", b.op_index);
  visit("op", b.op);
  visit("position", b.position);
  visit("waits_for", b.waits_for);
}

template <class V>
void fields(V& visit, DeadlockReport& d) {
  visit("blocked", d.blocked);
  visit("cycle", d.cycle);
}

template <class V>
void fields(V& visit, ReplayResult& r) {
  visit("makespan_ps", r.makespan);
  visit("fingerprint", r.fingerprint);
  visit("finished", r.finished);
  visit("point_to_point", r.point_to_point);
  visit("network", r.network);
  visit("deadlock", r.deadlock);
  visit("unmatched_messages", r.unmatched_messages);
  visit("unmatched_receives", r.unmatched_receives);
  visit("warnings", r.warnings);
}

template <class V>
void fields(V& visit, Verification& v) {
  auto& [conditions, solves, rates, messages, links, worst_bytes_error, matches, instants, events, wrong,
         told] = v;
  visit("conditions", conditions);
  visit("solves", solves);
  visit("rates", rates);
  visit("messages", messages);
  visit("links", links);
  visit("worst_bytes_error", worst_bytes_error);
  visit("matches", matches);
  visit("instants", instants);
  visit("events", events);
  visit("wrong", wrong);
  visit("told", told);
}

}  // namespace weft::replay

namespace weft::network {

template <class V>
void fields(V& visit, LinkUse& u) {
  visit("bytes", u.bytes);
  visit("busy_ps", u.busy);
  visit("peak_flows", u.peak_flows);
  visit("waited_ps", u.waited);
}

}  // namespace weft::network

namespace weft::predict {

template <class V>
void fields(V& visit, TimeSums& s) {
  visit("finish_s", s.finish);
  visit("compute_s", s.compute);
  visit("send_s", s.send);
  visit("recv_s", s.recv);
  visit("wait_s", s.wait);
  visit("collective_s", s.collective);
  visit("causes_s", s.causes);
}

template <class V>
void fields(V& visit, UsedLink& l) {
  visit("link", l.link);
  visit("use", l.use);
}

template <class V>
void fields(V& visit, PathDigest& p) {
  visit("parts_ps", p.parts);
  visit("most_contended", p.most_contended);
}

template <class V>
void fields(V& visit, RunDigest& d) {
  visit("ranks", d.ranks);
  visit("sums", d.sums);
  visit("worst", d.worst);
  visit("most_waited", d.most_waited);
  visit("waited_alike", d.waited_alike);
  visit("narrowest_used_Bps", d.narrowest_used);
  visit("path", d.path);
}

template <class V>
void fields(V& visit, LinkSharer& s) {
  visit("src", s.src);
  visit("dst", s.dst);
  visit("bytes", s.bytes);
}

template <class V>
void fields(V& visit, LinkSharers& s) {
  visit("known", s.known);
  visit("pairs", s.pairs);
  visit("bytes", s.bytes);
  visit("most", s.most);
  visit("copied", s.copied);
}

template <class V>
void fields(V& visit, RunPoint& p) {
  visit("result", p.result);
  visit("digest", p.digest);
  visit("sharers", p.sharers);
  visit("ideal_ps", p.ideal);
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
