// What sentences call traces: the last folder and the file of their paths, or the whole path where another trace has
// these, too.
#pragma once

#include <string>
#include <vector>

namespace weft::report {

class TraceNames {
 public:
  // Again is no harm. O(traces).
  void add(const std::string& path);
  // O(traces).
  [[nodiscard]] std::string of(const std::string& path) const;

 private:
  std::vector<std::string> paths_;
};

}  // namespace weft::report
