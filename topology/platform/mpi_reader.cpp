#include <fmt/format.h>

#include <tuple>

#include "core/quantity_text.hpp"
#include "topology/platform/compute_reader.hpp"

namespace weft::topology {
namespace {

// Where the first segment of a list may start.
enum class First : std::uint8_t { kAtZero, kAnywhere };

// Start of a segment after one that starts at `before` (-1: none).
Result<std::int64_t> read_from(bool has, const std::string& text, std::int64_t before,
                               const std::string& where, First first = First::kAtZero) {
  std::int64_t from = 0;
  if (has) {
    WEFT_ASSIGN(const Bytes b, parse_bytes(text, where));
    from = b.value();
  }
  if (before < 0 && from != 0 && first == First::kAtZero)
    return bad_input(where, "first segment does not start at 0", text, "from: \"0B\"");
  if (from <= before)
    return bad_input(where, "segments are not in ascending order", text, fmt::format("above {}B", before));
  return from;
}

template <class List>
Result<void> read_segments(const List& list, const PlatformSource& s, std::string_view name,
                           std::vector<CostSegment>& out, First first = First::kAtZero) {
  for (int i = 0; i < list.size(); ++i) {
    const proto::CostSegment& in = list.Get(i);
    const std::string path = fmt::format("mpi.{}[{}]", name, i);
    const std::string where = s.where_of(path);
    CostSegment c;
    WEFT_ASSIGN(c.from, read_from(in.has_from(), in.from(), i == 0 ? -1 : out.back().from,
                                  in.has_from() ? s.where_of(path + ".from") : where, first));
    if (in.has_intercept()) {
      WEFT_ASSIGN(c.intercept, parse_seconds(in.intercept(), s.where_of(path + ".intercept")));
    }
    if (in.has_per_byte()) {
      const std::string at = s.where_of(path + ".per_byte");
      WEFT_ASSIGN(c.per_byte, parse_seconds(in.per_byte(), at));
      if (c.per_byte < 0) return bad_input(at, "time of a byte is negative", in.per_byte(), "a time >= 0s");
    }
    // A line may begin below 0 and rise: where it is below, it counts as 0. One that does not rise takes no time at all.
    if (c.intercept < 0 && c.per_byte == 0)
      return bad_input(s.where_of(path + ".intercept"), "messages of every size take less than no time",
                       in.intercept(), "a time >= 0s, or per_byte above 0 beside it");
    out.push_back(c);
  }
  return {};
}

Result<void> read_transfer(const proto::Mpi& m, const PlatformSource& s, std::vector<TransferSegment>& out) {
  for (int i = 0; i < m.transfer_size(); ++i) {
    const proto::TransferSegment& in = m.transfer(i);
    const std::string path = fmt::format("mpi.transfer[{}]", i);
    TransferSegment t;
    WEFT_ASSIGN(t.from, read_from(in.has_from(), in.from(), i == 0 ? -1 : out.back().from,
                                  s.where_of(in.has_from() ? path + ".from" : path)));
    if (in.has_latency_factor()) {
      const std::string where = s.where_of(path + ".latency_factor");
      WEFT_ASSIGN(t.latency_factor, parse_ratio(in.latency_factor(), where));
      if (t.latency_factor < 0 || t.latency_factor > 1e9)
        return bad_input(where, "factor out of range", in.latency_factor(), "0 to 1e9");
    }
    if (in.has_bandwidth_factor()) {
      const std::string where = s.where_of(path + ".bandwidth_factor");
      WEFT_ASSIGN(t.bandwidth_factor, parse_ratio(in.bandwidth_factor(), where));
      if (t.bandwidth_factor < 1e-9 || t.bandwidth_factor > 1e9)
        return bad_input(where, "factor out of range", in.bandwidth_factor(), "1e-9 to 1e9");
    }
    out.push_back(t);
  }
  return {};
}

}  // namespace

Result<MpiParameters> read_mpi(const PlatformSource& s) {
  MpiParameters mpi;
  const proto::Mpi& m = s.message.mpi();
  // Reads one field if it is there, else notes that its value is assumed.
  const auto field = [&](bool has, const std::string& text, std::string_view name, auto parse,
                         auto assign) -> Result<void> {
    if (!has) {
      const bool by_segments = name.starts_with("send_")    ? m.send_cost_size() > 0
                               : name.starts_with("recv_")  ? m.recv_cost_size() > 0
                               : name.starts_with("local_") ? m.local_transfer_size() > 0
                                                            : false;
      if (!by_segments) mpi.assumed.emplace_back(name);
      return {};
    }
    auto v = parse(text, s.where_of(fmt::format("mpi.{}", name)));
    if (!v) return std::move(v).error();
    assign(*v);
    return {};
  };
  const auto per_byte = [](double& to) { return [&to](Bandwidth b) { to = 1.0 / b.value(); }; };
  const auto into = [](Duration& to) { return [&to](Duration d) { to = d; }; };
  WEFT_TRY(field(m.has_eager_limit(), m.eager_limit(), "eager_limit", parse_bytes,
                 [&](Bytes b) { mpi.eager_limit = b; }));
  WEFT_TRY(read_segments(m.send_cost(), s, "send_cost", mpi.send_cost));
  WEFT_TRY(read_segments(m.isend_cost(), s, "isend_cost", mpi.isend_cost));
  WEFT_TRY(read_segments(m.recv_cost(), s, "recv_cost", mpi.recv_cost));
  WEFT_TRY(read_segments(m.local_transfer(), s, "local_transfer", mpi.local_transfer));
  WEFT_TRY(read_transfer(m, s, mpi.transfer));
  WEFT_TRY(read_segments(m.loaded_transfer(), s, "loaded_transfer", mpi.loaded_transfer, First::kAnywhere));
  WEFT_TRY(read_segments(m.loaded_local_transfer(), s, "loaded_local_transfer", mpi.loaded_local_transfer,
                         First::kAnywhere));
  if (mpi.isend_cost.empty()) mpi.isend_cost = mpi.send_cost;
  const std::tuple<bool, std::string_view, bool> twice[] = {
      {m.has_send_overhead() || m.has_send_copy_bandwidth(), "send_cost", m.send_cost_size() > 0},
      {m.has_send_overhead() || m.has_send_copy_bandwidth(), "isend_cost", m.isend_cost_size() > 0},
      {m.has_recv_overhead() || m.has_recv_copy_bandwidth(), "recv_cost", m.recv_cost_size() > 0},
      {m.has_local_latency() || m.has_local_bandwidth(), "local_transfer", m.local_transfer_size() > 0}};
  for (const auto& [one, name, other] : twice)
    if (one && other)
      return bad_input(s.where_of(fmt::format("mpi.{}[0]", name)), "a cost is given in two ways",
                       std::string(name), "segments, or overhead and bandwidth");
  if (m.isend_cost_size() > 0 && m.send_cost_size() == 0)
    return bad_input(s.where_of("mpi.isend_cost[0]"), "isend_cost without send_cost", {}, "both");
  if (m.has_iprobe_cost()) {
    WEFT_ASSIGN(mpi.iprobe_cost, parse_duration(m.iprobe_cost(), s.where_of("mpi.iprobe_cost")));
  }
  if (m.has_test_cost()) {
    WEFT_ASSIGN(mpi.test_cost, parse_duration(m.test_cost(), s.where_of("mpi.test_cost")));
  }
  WEFT_TRY(field(m.has_send_overhead(), m.send_overhead(), "send_overhead", parse_duration,
                 into(mpi.send_overhead)));
  WEFT_TRY(field(m.has_recv_overhead(), m.recv_overhead(), "recv_overhead", parse_duration,
                 into(mpi.recv_overhead)));
  WEFT_TRY(field(m.has_send_copy_bandwidth(), m.send_copy_bandwidth(), "send_copy_bandwidth", parse_bandwidth,
                 per_byte(mpi.send_overhead_per_byte)));
  WEFT_TRY(field(m.has_recv_copy_bandwidth(), m.recv_copy_bandwidth(), "recv_copy_bandwidth", parse_bandwidth,
                 per_byte(mpi.recv_overhead_per_byte)));
  WEFT_TRY(field(m.has_local_latency(), m.local_latency(), "local_latency", parse_duration,
                 into(mpi.local_latency)));
  WEFT_TRY(field(m.has_local_bandwidth(), m.local_bandwidth(), "local_bandwidth", parse_bandwidth,
                 [&](Bandwidth b) { mpi.local_bandwidth = b.value(); }));
  mpi.collective_rules = m.collectives();
  mpi.chosen_where[""] = s.where_of("mpi.collectives");
  for (int i = 0; i < m.collective_size(); ++i) {
    const proto::CollectiveChoice& c = m.collective(i);
    if (c.collective().empty() || c.algorithm().empty())
      return bad_input(s.where_of(fmt::format("mpi.collective[{}]", i)), "incomplete choice", {},
                       "collective: \"bcast\" algorithm: \"binomial\"");
    if (!mpi.collectives.emplace(c.collective(), c.algorithm()).second)
      return bad_input(s.where_of(fmt::format("mpi.collective[{}]", i)), "collective chosen twice",
                       c.collective(), "each collective once");
    mpi.chosen_where[c.collective()] = s.where_of(fmt::format("mpi.collective[{}]", i));
  }
  return mpi;
}

}  // namespace weft::topology
