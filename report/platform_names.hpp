// What tables call platforms: the label that the user gave (--on LABEL=PLATFORM), else the name, or P1, P2... where
// names are too long for a table; a legend says which is which.
#pragma once

#include <string>
#include <vector>

namespace weft::report {

class PlatformNames {
 public:
  // In the order of the tables; again is no harm. O(platforms).
  void add(const std::string& label, const std::string& name);
  // Precondition: was added.
  [[nodiscard]] const std::string& of(const std::string& label, const std::string& name) const;
  // A line for each platform that is called something else than its name; may be empty.
  [[nodiscard]] const std::string& legend() const { return legend_; }

 private:
  std::vector<std::string> keys_, shown_;
  std::string legend_;
};

}  // namespace weft::report
