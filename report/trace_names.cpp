#include "report/trace_names.hpp"

#include <algorithm>

#include "core/printable.hpp"
#include "predict/run_facts.hpp"

namespace weft::report {

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

}  // namespace weft::report
