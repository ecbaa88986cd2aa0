// JSON as every verb writes it: two spaces, keys in the order in which they were set, and bytes that are no UTF-8 (file
// and host names may hold any) replaced instead of thrown at.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace weft::report {

[[nodiscard]] inline std::string json_text(const nlohmann::ordered_json& j) {
  return j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace weft::report
