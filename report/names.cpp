#include "report/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

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

PlatformNames::PlatformNames(const std::vector<Platform>& platforms, LongNames long_names) {
  std::vector<const Platform*> each;
  for (const Platform& p : platforms)
    if (const auto [at, is_new] = shown_.try_emplace(p); is_new) each.push_back(&at->first);

  std::set<std::string> words;  // that stand for some platform already
  // Whose a shorter name or a label is; none: of platforms with several names.
  std::map<std::string, std::optional<std::string>> who_has_it;
  const auto has = [&](const std::string& word, const std::string& name) {
    words.insert(word);
    const auto [at, is_new] = who_has_it.try_emplace(word, name);
    if (!is_new && at->second != name) at->second.reset();
  };
  for (const Platform* p : each) {
    words.insert(p->name);
    has(predict::short_name(p->name), p->name);
    has(p->label, p->name);
  }
  for (const Platform* p : each) {
    const std::string shorter = predict::short_name(p->name);
    const bool taken = !who_has_it.at(shorter);
    spelled_.try_emplace(p->name, taken ? p->name : shorter);
  }

  // "P3" of the third; a number further on, by as many as there are, where somebody else has this name.
  const auto numbered = [&](std::size_t i) {
    std::string shown = fmt::format("P{}", i + 1);
    for (std::size_t number = i + 1; words.contains(shown);)
      shown = fmt::format("P{}", number += each.size());
    return shown;
  };
  for (std::size_t i = 0; i < each.size(); ++i) {
    const Platform& p = *each[i];
    const std::string name_in_text = printable(spelled_.at(p.name));
    const bool is_numbered = long_names == LongNames::kNumbered && name_in_text.size() > kLongName;
    std::string& shown = shown_.at(p);
    shown = !p.label.empty() ? printable(p.label) : is_numbered ? numbered(i) : name_in_text;
    if (shown != name_in_text) legend_ += fmt::format("{} = {}\n", shown, name_in_text);
  }
}

const std::string& PlatformNames::spelled(const std::string& name) const {
  const auto at = spelled_.find(name);
  WEFT_CHECK(at != spelled_.end(), "a platform without a name in a sentence");
  return at->second;
}

const std::string& PlatformNames::of(const std::string& label, const std::string& name) const {
  const auto at = shown_.find({label, name});
  WEFT_CHECK(at != shown_.end(), "a platform without a name in the table");
  return at->second;
}

}  // namespace weft::report
