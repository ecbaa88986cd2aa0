#include "cli/summary.hpp"

#include "report/json_text.hpp"
#include "report/table.hpp"

namespace weft::cli {

Result<void> write_summary(const CommonOptions& common, const nlohmann::ordered_json& summary) {
  std::vector<std::string> keys, values;
  for (const auto& [key, value] : summary.items()) {
    if (key == "schema" || value.is_structured()) continue;
    keys.push_back(key);
    values.push_back(value.is_string() ? value.get<std::string>() : value.dump());
  }
  WEFT_TRY(common.write_json(report::json_text(summary)));
  return common.write_csv(report::csv_line(keys) + report::csv_line(values));
}

}  // namespace weft::cli
