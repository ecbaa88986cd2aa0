#include "report/assumed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "topology/platform/params.hpp"

namespace weft::report {
namespace {

// More platforms than that are counted.
constexpr std::size_t kNamedPlatforms = 3;

std::string with_value(const std::string& name) {
  for (const auto& [key, value] : {std::pair{std::string_view("bw"), topology::kDefaultBandwidth},
                                   {std::string_view("lat"), topology::kDefaultLatency},
                                   {std::string_view("speed"), topology::kDefaultSpeed}})
    if (name == key) return fmt::format("{} {}", name, value);
  return name;
}

}  // namespace

void Assumed::add(const std::string& platform, const std::vector<std::string>& names) {
  auto of = std::ranges::find(all_, platform, &Of::platform);
  if (of == all_.end()) of = all_.insert(of, {platform, {}});
  for (const std::string& name : names)
    if (std::ranges::find(of->names, name) == of->names.end()) of->names.push_back(name);
}

nlohmann::ordered_json Assumed::json() const {
  nlohmann::ordered_json j = nlohmann::ordered_json::array();
  for (const Of& of : all_) j.push_back({{"platform", of.platform}, {"names", of.names}});
  return j;
}

std::string Assumed::text() const {
  std::vector<std::string> names, told;
  for (const Of& of : all_)
    for (const std::string& name : of.names)
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  for (const std::string& name : names) {
    std::vector<std::string_view> on;
    for (const Of& of : all_)
      if (std::ranges::find(of.names, name) != of.names.end()) on.push_back(of.platform);
    std::string text = with_value(name);
    if (on.size() < all_.size())
      text += on.size() <= kNamedPlatforms ? fmt::format(" ({})", fmt::join(on, ", "))
                                           : fmt::format(" ({} of {} platforms)", on.size(), all_.size());
    told.push_back(std::move(text));
  }
  if (told.empty()) return {};
  return fmt::format("assumed, because neither platform nor command line says: {}\n", fmt::join(told, ", "));
}

}  // namespace weft::report
