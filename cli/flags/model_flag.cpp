#include "cli/flags/model_flag.hpp"

#include "congestion/models.hpp"

namespace weft::cli {

void add_model(CLI::App& app, std::string& model) {
  app.add_option("--model", model, "how flows share links [" + congestion::default_model_rule() + "]")
      ->type_name(congestion::listed_models());
}

}  // namespace weft::cli
