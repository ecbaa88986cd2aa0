#include "cli/flags/replay_flags.hpp"

#include <sys/resource.h>

#include "cli/flags/model_flag.hpp"
#include "cli/flags/values.hpp"
#include "core/of_flag.hpp"
#include "core/quantity_text.hpp"
#include "topology/platform/platform_source.hpp"
#include "traces/formats.hpp"

namespace weft::cli {

void ReplayFlags::add(CLI::App& app) {
  add_set(app);
  add_fail(app);
  app.add_flag("--raw{eager}", raw,
               "no overheads, simple rules: --raw, --raw=eager, --raw=detached, --raw=rendezvous [the "
               "platform's costs]")
      ->check(word({"eager", "detached", "rendezvous"}))
      ->type_name("eager|detached|rendezvous");
  app.add_option("--raw-switch", raw_switch,
                 "raw: payloads below go detached, from it on rendezvous [all as --raw says]")
      ->type_name("BYTES");
  app.add_option(
         "--header", header,
         with_default("added to every message, empty ones too", replay::ReplayOptions{}.header.value()))
      ->type_name("BYTES");
  app.add_option("--weights", weights,
                 with_default("rtt: a flow's share is proportional to 1 / latency of its route", weights))
      ->check(word({"none", "rtt"}))
      ->type_name("none|rtt");
  add_model(app, model);
  add_accuracy(app, accuracy);
  app.add_option(
         "--compute-scale", compute_scale,
         with_default("multiplies recorded durations of computation", replay::ReplayOptions{}.compute_scale))
      ->type_name("RATIO");
  app.add_flag("--noise", noise, "kernels vary from call to call as the platform says, drawn from --seed");
  app.add_flag("--recorded-matches", recorded_matches, kRecordedMatchesHelp);
  CollectiveFlags::add(app, "the platform's", "the platform's, else the recorded library's, else default");
  app.add_option("--from", from, "format of the trace [sniffed]")
      ->type_name(traces::supported_names(traces::trace_formats(), "|"));
}

Result<replay::ReplayOptions> ReplayFlags::options(std::uint64_t seed) const {
  replay::ReplayOptions o;
  o.seed = seed;
  o.model = model;
  o.rtt_weights = weights == "rtt";
  WEFT_ASSIGN(o.accuracy, read_accuracy(accuracy, model, o.rtt_weights));
  o.noise = noise;
  o.recorded_matches = recorded_matches;
  if (raw == "eager") o.raw = replay::RawMode::kEager;
  if (raw == "detached") o.raw = replay::RawMode::kDetached;
  if (raw == "rendezvous") o.raw = replay::RawMode::kRendezvous;
  if (!raw_switch.empty()) {
    WEFT_ASSIGN(o.raw_switch, of_flag(parse_bytes(raw_switch, "--raw-switch")));
    // The switch makes sense only without overheads, and of the raw modes it is part of this one.
    if (o.raw != replay::RawMode::kOff && o.raw != replay::RawMode::kDetached)
      return usage_error(fmt::format("--raw-switch with --raw={}", raw), raw_switch,
                         "--raw=detached or no --raw: from the switch on messages go rendezvous");
    o.raw = replay::RawMode::kDetached;
  }
  if (!header.empty()) {
    WEFT_ASSIGN(o.header, of_flag(parse_bytes(header, "--header")));
  }
  if (!compute_scale.empty()) {
    WEFT_ASSIGN(o.compute_scale, of_flag(parse_ratio(compute_scale, "--compute-scale")));
    WEFT_TRY(replay::check_compute_scale(o.compute_scale, "--compute-scale"));
  }
  WEFT_ASSIGN(o.collectives, algorithms());
  if (!collective_rules.empty())
    for (const std::string& setting : set)
      WEFT_TRY(topology::check_beside_flag(setting, "mpi.collectives", "--collectives"));
  o.collective_rules = collective_rules;
  return o;
}

std::vector<std::string> ReplayFlags::told(std::uint64_t seed) const {
  static const ReplayFlags defaults;
  std::vector<std::string> out = PlatformFlags::told();
  const auto tell = [&](const char* flag, const std::string& value, const std::string& usual) {
    if (value != usual) out.push_back(std::string("--") + flag + ' ' + value);
  };
  if (!raw.empty()) out.push_back("--raw=" + raw);
  tell("raw-switch", raw_switch, defaults.raw_switch);
  tell("header", header, defaults.header);
  tell("weights", weights, defaults.weights);
  tell("model", model, defaults.model);
  tell("accuracy", accuracy, defaults.accuracy);
  tell("compute-scale", compute_scale, defaults.compute_scale);
  tell("collectives", collective_rules, defaults.collective_rules);
  for (const auto& c : collectives) out.push_back("--collective " + c);
  if (noise) out.emplace_back("--noise");
  if (recorded_matches) out.emplace_back("--recorded-matches");
  tell("from", from, defaults.from);
  if (seed != 0) out.push_back("--seed " + std::to_string(seed));
  return out;
}

std::uint64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace weft::cli
