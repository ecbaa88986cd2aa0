#include "cli/flags/model_flag.hpp"

#include <fmt/format.h>

#include <utility>

#include "congestion/models.hpp"
#include "core/of_flag.hpp"
#include "core/quantity_text.hpp"
#include "network/sharing.hpp"

namespace weft::cli {
namespace {

Result<double> parse_accuracy(const std::string& accuracy) {
  if (accuracy.empty()) return 0.0;
  WEFT_ASSIGN(const double ratio, of_flag(parse_ratio(accuracy, "--accuracy")));
  WEFT_TRY(network::check_accuracy(ratio, "--accuracy"));
  return ratio;
}

}  // namespace

void add_model(CLI::App& app, std::string& model) {
  app.add_option("--model", model, "how flows share links [" + congestion::default_model_rule() + "]")
      ->type_name(congestion::listed_models());
}

void add_accuracy(CLI::App& app, std::string& accuracy) {
  app.add_option("--accuracy", accuracy,
                 "changes of a rate below it are not passed on; max-min: among hundreds of flows [0: exact]")
      ->type_name("RATIO");
}

Result<double> read_accuracy(const std::string& accuracy, std::string_view model, bool rtt_weights) {
  WEFT_ASSIGN(const double ratio, parse_accuracy(accuracy));
  const congestion::ModelRow* row = congestion::find_model(model);
  if (row == nullptr || !row->is(congestion::kNoContention)) return ratio;
  for (const auto& [flag, given] :
       {std::pair("--weights rtt", rtt_weights), std::pair("--accuracy", ratio > 0)})
    if (given)
      return usage_error(fmt::format("{} with --model {}, where flows share nothing", flag, model), {},
                         "--help says what goes together");
  return ratio;
}

std::string accuracy_note(std::string_view model, double accuracy) {
  if (accuracy == 0) return {};
  return fmt::format("not exact: {} at all times (--accuracy {:g})", network::accuracy_text(model, accuracy),
                     accuracy);
}

}  // namespace weft::cli
