#include "report/json_text.hpp"

#include "network/sharing.hpp"

namespace weft::report {

nlohmann::ordered_json sharing_json(std::string_view model, double accuracy) {
  nlohmann::ordered_json j{{"name", model}};
  if (accuracy == 0) return j;
  j["accuracy"] = accuracy;
  if (network::near_exact(model))
    j["rates_to"] = accuracy;
  else
    j["max_min_to"] = 2 * accuracy;
  return j;
}

}  // namespace weft::report
