// What tables and sentences call traces and platforms: as short as tells them apart.
#pragma once

#include <string>
#include <vector>

namespace weft::report {

// Traces: the last folder and the file of their paths, or the whole path where another trace has these, too.
class TraceNames {
 public:
  // Again is no harm. O(traces).
  void add(const std::string& path);
  // O(traces).
  [[nodiscard]] std::string of(const std::string& path) const;

 private:
  std::vector<std::string> paths_;
};

// Platforms: the label that the user gave (--on LABEL=PLATFORM), else the name, its paths shortened where that leaves it
// another one than all others, or P1, P2... where names are too long for a table; a legend says which is which.
class PlatformNames {
 public:
  // kWhole: for sentences that no legend follows.
  enum class LongNames { kNumbered, kWhole };
  explicit PlatformNames(LongNames long_names = LongNames::kNumbered) : long_names_(long_names) {}
  // In the order in which they are numbered; again is no harm. O(platforms), of a new one O(platforms^2).
  void add(const std::string& label, const std::string& name);
  // Precondition: was added.
  [[nodiscard]] const std::string& of(const std::string& label, const std::string& name) const;
  // The name without the label, never P1. Precondition: was added.
  [[nodiscard]] const std::string& spelled(const std::string& name) const;
  // A line for each platform that is called something else than its name; may be empty.
  [[nodiscard]] const std::string& legend() const { return legend_; }

 private:
  struct Entry {
    std::string label, name, shorter, shown;
  };
  [[nodiscard]] const std::string& text(const Entry& e) const;
  [[nodiscard]] std::string numbered(std::size_t i) const;
  LongNames long_names_;
  std::vector<Entry> entries_;
  std::string legend_;
};

}  // namespace weft::report
