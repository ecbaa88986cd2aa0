#include "report/names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/check.hpp"
#include "core/printable.hpp"
#include "predict/run_facts.hpp"

namespace weft::report {
namespace {
constexpr std::size_t kLongName = 32;
}  // namespace

void TraceNames::add(const std::string& path) {
  if (std::find(paths_.begin(), paths_.end(), path) == paths_.end()) paths_.push_back(path);
}

std::string TraceNames::of(const std::string& path) const {
  const std::string_view shorter = predict::short_path(path);
  const bool taken = std::any_of(paths_.begin(), paths_.end(), [&](const std::string& other) {
    return other != path && predict::short_path(other) == shorter;
  });
  return printable(taken ? path : shorter);
}

void PlatformNames::add(const std::string& label, const std::string& name) {
  const auto same = [&](const Entry& e) { return e.label == label && e.name == name; };
  if (std::any_of(entries_.begin(), entries_.end(), same)) return;
  entries_.push_back({label, name, predict::short_name(name), {}});
  legend_.clear();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& e = entries_[i];
    const std::string name_in_text = printable(text(e));
    const bool is_numbered = long_names_ == LongNames::kNumbered && name_in_text.size() > kLongName;
    e.shown = !e.label.empty() ? printable(e.label) : is_numbered ? numbered(i) : name_in_text;
    if (e.shown != name_in_text) legend_ += fmt::format("{} = {}\n", e.shown, name_in_text);
  }
}

// "P3" of the third; a number further on, by as many as there are, where somebody else has this name.
std::string PlatformNames::numbered(std::size_t i) const {
  for (std::size_t number = i + 1;; number += entries_.size()) {
    std::string shown = fmt::format("P{}", number);
    const auto has_it = [&](const Entry& e) {
      return e.label == shown || e.name == shown || e.shorter == shown;
    };
    if (std::ranges::none_of(entries_, has_it)) return shown;
  }
}

// The shorter name, if nothing else is called so.
const std::string& PlatformNames::text(const Entry& e) const {
  const bool taken = std::any_of(entries_.begin(), entries_.end(), [&](const Entry& other) {
    return other.name != e.name && (other.shorter == e.shorter || other.label == e.shorter);
  });
  return taken ? e.name : e.shorter;
}

const std::string& PlatformNames::spelled(const std::string& name) const {
  const auto at =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
  WEFT_CHECK(at != entries_.end(), "a platform without a name in a sentence");
  return text(*at);
}

const std::string& PlatformNames::of(const std::string& label, const std::string& name) const {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& e) { return e.label == label && e.name == name; });
  WEFT_CHECK(at != entries_.end(), "a platform without a name in the table");
  return at->shown;
}

}  // namespace weft::report
