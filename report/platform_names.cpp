#include "report/platform_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/check.hpp"
#include "predict/run_facts.hpp"

namespace weft::report {
namespace {
constexpr std::size_t kLongName = 32;
}  // namespace

void PlatformNames::add(const std::string& label, const std::string& name) {
  const std::string key = label + '=' + name;
  if (std::find(keys_.begin(), keys_.end(), key) != keys_.end()) return;
  keys_.push_back(key);
  const std::string shorter = predict::short_name(name);
  shown_.push_back(!label.empty()                ? label
                   : shorter.size() <= kLongName ? shorter
                                                 : fmt::format("P{}", keys_.size()));
  if (shown_.back() != shorter) legend_ += fmt::format("{} = {}\n", shown_.back(), shorter);
}

const std::string& PlatformNames::of(const std::string& label, const std::string& name) const {
  const auto at = std::find(keys_.begin(), keys_.end(), label + '=' + name);
  WEFT_CHECK(at != keys_.end(), "a platform without a name in the table");
  return shown_[static_cast<std::size_t>(at - keys_.begin())];
}

}  // namespace weft::report
