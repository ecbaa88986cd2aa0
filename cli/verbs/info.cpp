// weft info T: ranks, operations by kind, bytes, communicators, message-size histogram, regions, provenance.
#include <fmt/format.h>

#include <memory>

#include "cli/text_width.hpp"
#include "cli/verb.hpp"
#include "core/counted.hpp"
#include "core/printable.hpp"
#include "core/quantity_text.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"
#include "traces/info.hpp"
#include "traces/trace_warnings.hpp"

namespace weft::cli::verb_info {
namespace {

using report::Table;
using traces::TraceInfo;
using Json = nlohmann::ordered_json;

constexpr std::size_t kShownRows = 20;

struct InfoOptions {
  CommonOptions common;
  std::vector<std::string> inputs;
  bool salvage = false;
};

std::string number(std::uint64_t n) { return show_count(static_cast<double>(n)); }

// The kind's own name where several kinds share the text "compute".
std::string kind_name(std::size_t k) {
  switch (static_cast<traces::OpKind>(k)) {
    case traces::OpKind::compute_time:
      return "compute (time)";
    case traces::OpKind::compute_flops:
      return "compute (flops)";
    case traces::OpKind::compute_kernel:
      return "compute (kernel)";
    default:
      return std::string(traces::op_name(static_cast<traces::OpKind>(k)));
  }
}

std::uint64_t bucket_low(std::size_t i) { return i == 0 ? 0 : std::uint64_t{1} << (i - 1); }
std::uint64_t bucket_high(std::size_t i) {
  return i == 0 ? 0 : i == 64 ? UINT64_MAX : (std::uint64_t{1} << i) - 1;
}

std::string text_of(const std::string& name, const traces::TraceReader& t, const TraceInfo& info) {
  const auto& h = t.header();
  std::string s = fmt::format("{}: {}, {} ({} a rank), {}, {}\n", name, counted(h.ranks, "rank"),
                              counted(info.totals.ops, "operation"),
                              from_to(number(info.least_ops), number(info.most_ops)),
                              counted(info.totals.messages, "message"), show_bytes(info.totals.bytes));
  const auto field = [&](const char* label, const std::string& v) {
    if (!v.empty()) s += fmt::format("{:<10} {}\n", label, printable(v));
  };
  field("recorder", h.recorder);
  field("MPI", h.mpi_version.substr(0, h.mpi_version.find('\n')));
  field("command", h.command_line);
  if (!h.hostnames.empty()) field("hosts", fmt::format("{} ... {}", h.hostnames.front(), h.hostnames.back()));
  if (h.clock_resolution_ps > 0) field("clock", show(Duration(h.clock_resolution_ps)));
  if (!h.hpl_dat.empty()) field("HPL.dat", "included (--json shows it)");
  for (const auto& n : h.notes) field("note", n);
  for (const auto& w : traces::trace_warnings(h)) field("warning", w);
  if (info.flops > 0) field("work", show(Flops(info.flops)));
  if (info.compute.count() > 0) field("compute", show(info.compute) + " in all ranks together");
  if (info.polls_hit + info.polls_missed > 0)
    field("polls", fmt::format("{} hit, {} missed", number(info.polls_hit), number(info.polls_missed)));
  Table kinds({{"operation", Table::Align::kLeft}, {"count"}, {"bytes"}});
  for (std::size_t k = 0; k < info.kinds.size(); ++k)
    if (info.kinds[k].count > 0)
      kinds.add({kind_name(k), number(info.kinds[k].count),
                 info.kinds[k].bytes > 0 ? show_bytes(info.kinds[k].bytes) : ""});
  s += "\n" + kinds.text(text_width());
  Table sizes({{"message size"}, {"messages"}, {"bytes"}, {"share of bytes"}});
  for (std::size_t i = 0; i < info.sizes.size(); ++i) {
    if (info.sizes[i].count == 0) continue;
    const double share = info.totals.bytes > 0 ? static_cast<double>(info.sizes[i].bytes) /
                                                     static_cast<double>(info.totals.bytes)
                                               : 0;
    sizes.add({from_to(show_bytes(bucket_low(i)), show_bytes(bucket_high(i))), number(info.sizes[i].count),
               show_bytes(info.sizes[i].bytes), show_percent(share)});
  }
  if (sizes.size() > 0) s += "\n" + sizes.text(text_width());
  Table comms({{"communicator", Table::Align::kLeft}, {"members"}, {"messages"}, {"bytes"}, {"collectives"}});
  for (std::size_t c = 0; c < info.communicators.size() && c < kShownRows; ++c)
    comms.add({t.communicators()[c].name, number(t.communicators()[c].members.size()),
               number(info.communicators[c].messages), show_bytes(info.communicators[c].bytes),
               number(info.communicators[c].collectives)});
  s += "\n" + comms.text(text_width());
  if (info.communicators.size() > kShownRows)
    s += fmt::format("... and {} more (--json shows all)\n", info.communicators.size() - kShownRows);
  if (!t.regions().empty()) {
    Table regions({{"region", Table::Align::kLeft}, {"entered"}});
    for (std::size_t r = 0; r < t.regions().size() && r < kShownRows; ++r)
      regions.add({t.regions()[r], number(info.region_counts[r])});
    s += "\n" + regions.text(text_width());
    if (t.regions().size() > kShownRows)
      s += fmt::format("... and {} more (--json shows all)\n", t.regions().size() - kShownRows);
  }
  return s;
}

Json json_of(const traces::TraceReader& t, const TraceInfo& info) {
  const auto& h = t.header();
  Json j = {{"schema", "weft.info/1"},
            {"ranks", h.ranks},
            {"ops", info.totals.ops},
            {"messages", info.totals.messages},
            {"bytes", info.totals.bytes},
            {"flops", info.flops},
            {"compute_s", to_seconds(info.compute)},
            {"least_ops_of_a_rank", info.least_ops},
            {"most_ops_of_a_rank", info.most_ops},
            {"polls", {{"hit", info.polls_hit}, {"missed", info.polls_missed}}}};
  j["kinds"] = Json::object();
  for (std::size_t k = 0; k < info.kinds.size(); ++k)
    if (info.kinds[k].count > 0)
      j["kinds"][kind_name(k)] = {{"count", info.kinds[k].count}, {"bytes", info.kinds[k].bytes}};
  j["message_sizes"] = Json::array();
  for (std::size_t i = 0; i < info.sizes.size(); ++i)
    if (info.sizes[i].count > 0)
      j["message_sizes"].push_back({{"from_bytes", bucket_low(i)},
                                    {"to_bytes", bucket_high(i)},
                                    {"count", info.sizes[i].count},
                                    {"bytes", info.sizes[i].bytes}});
  j["communicators"] = Json::array();
  for (std::size_t c = 0; c < info.communicators.size(); ++c)
    j["communicators"].push_back({{"name", t.communicators()[c].name},
                                  {"members", t.communicators()[c].members.size()},
                                  {"messages", info.communicators[c].messages},
                                  {"bytes", info.communicators[c].bytes},
                                  {"collectives", info.communicators[c].collectives}});
  j["regions"] = Json::array();
  for (std::size_t r = 0; r < t.regions().size(); ++r)
    j["regions"].push_back({{"name", t.regions()[r]}, {"count", info.region_counts[r]}});
  j["provenance"] = {{"recorder", h.recorder},
                     {"mpi_version", h.mpi_version},
                     {"command_line", h.command_line},
                     {"hostnames", h.hostnames},
                     {"clock_resolution_s", static_cast<double>(h.clock_resolution_ps) / kTicksPerSecond},
                     {"hpl_dat", h.hpl_dat},
                     {"notes", h.notes}};
  j["warnings"] = traces::trace_warnings(h);
  return j;
}

// One row for each line of the tables: what is counted, its name, how many, bytes.
std::string csv_of(const traces::TraceReader& t, const TraceInfo& info) {
  std::string csv = report::csv_line({"what", "name", "count", "bytes"});
  const auto row = [&](const char* what, const std::string& name, std::uint64_t count, std::uint64_t bytes) {
    csv += report::csv_line({what, name, std::to_string(count), std::to_string(bytes)});
  };
  row("trace", "ranks", t.header().ranks, 0);
  row("trace", "operations", info.totals.ops, 0);
  row("trace", "messages", info.totals.messages, info.totals.bytes);
  for (std::size_t k = 0; k < info.kinds.size(); ++k)
    if (info.kinds[k].count > 0) row("operation", kind_name(k), info.kinds[k].count, info.kinds[k].bytes);
  for (std::size_t i = 0; i < info.sizes.size(); ++i)
    if (info.sizes[i].count > 0)
      row("message size", fmt::format("{}-{}", bucket_low(i), bucket_high(i)), info.sizes[i].count,
          info.sizes[i].bytes);
  for (std::size_t c = 0; c < info.communicators.size(); ++c)
    row("communicator", t.communicators()[c].name, info.communicators[c].messages,
        info.communicators[c].bytes);
  for (std::size_t r = 0; r < t.regions().size(); ++r)
    row("region", t.regions()[r], info.region_counts[r], 0);
  return csv;
}

Result<void> run_info(const InfoOptions& o) {
  WEFT_ASSIGN(const auto trace, traces::open_trace_with(o.inputs, {{}, o.salvage}));
  WEFT_ASSIGN(const TraceInfo info, traces::scan_trace(*trace));
  o.common.print(text_of(o.inputs[0], *trace, info));
  WEFT_TRY(o.common.write_json(report::json_text(json_of(*trace, info))));
  if (!o.common.csv.empty()) WEFT_TRY(o.common.write_csv(csv_of(*trace, info)));
  return {};
}

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<InfoOptions>();
  add_common(app, o->common);
  app.add_option("T", o->inputs, "the trace")->required();
  app.add_flag("--salvage", o->salvage, "read the whole blocks of a .weft file that was cut off");
  return with_outputs(o->common, [o] { return run_info(*o); });
}

}  // namespace weft::cli::verb_info
