// What tables and sentences call traces and platforms: as short as tells them apart.
#pragma once

#include <compare>
#include <map>
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
  struct Platform {
    std::string label, name;
    friend auto operator<=>(const Platform&, const Platform&) = default;
  };
  // In the order in which they are numbered; again is no harm. O(platforms log platforms).
  PlatformNames(const std::vector<Platform>& platforms, LongNames long_names);
  // Precondition: is one of them. O(log platforms).
  [[nodiscard]] const std::string& of(const std::string& label, const std::string& name) const;
  // The name without the label, never P1. Precondition: is one of them. O(log platforms).
  [[nodiscard]] const std::string& spelled(const std::string& name) const;
  // A line for each platform that is called something else than its name; may be empty.
  [[nodiscard]] const std::string& legend() const { return legend_; }

 private:
  std::map<Platform, std::string> shown_;
  std::map<std::string, std::string> spelled_;  // by name
  std::string legend_;
};

}  // namespace weft::report
