#include "cli/flags/collective_flags.hpp"

#include "replay/collectives/rules.hpp"

namespace weft::cli {

void CollectiveFlags::add(CLI::App& app, const std::string& algorithm, const std::string& rules) {
  app.add_option("--collective", collectives,
                 "algorithm of a collective, like bcast=ring; once for each [" + algorithm + "]")
      ->type_name("KIND=ALGORITHM")
      ->allow_extra_args(false);
  app.add_option("--collectives", collective_rules,
                 "whose rules choose the algorithms of collectives [" + rules + "]")
      ->type_name(replay::collective_rules_names("|"));
}

Result<replay::AlgorithmNames> CollectiveFlags::algorithms() const {
  // Wrong rules are answered before anything is read.
  if (!collective_rules.empty()) WEFT_TRY(replay::open_collective_rules(collective_rules));
  replay::AlgorithmNames out;
  for (const auto& choice : collectives) {
    const auto eq = choice.find('=');
    if (eq == std::string::npos)
      return usage_error("--collective without \"=\"", choice, "KIND=ALGORITHM, like bcast=ring");
    WEFT_ASSIGN(const traces::OpKind kind, replay::find_collective_kind(choice.substr(0, eq)));
    WEFT_ASSIGN(const auto* algorithm, replay::find_collective(kind, choice.substr(eq + 1)));
    out[std::string(traces::op_name(kind))] = std::string(algorithm->name);
  }
  return out;
}

}  // namespace weft::cli
