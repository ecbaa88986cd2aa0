// JSON as every verb writes it: two spaces, keys in the order in which they were set, and bytes that are no UTF-8 (file
// and host names may hold any) replaced instead of thrown at. And what several verbs have in theirs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace weft::report {

[[nodiscard]] inline std::string json_text(const nlohmann::ordered_json& j) {
  return j.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

// How flows shared links: the model, and how exact rates are where they were not asked to be exact (--accuracy).
[[nodiscard]] nlohmann::ordered_json sharing_json(std::string_view model, double accuracy);

}  // namespace weft::report
