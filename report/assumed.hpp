// What platforms do not say and defaults stand for, as outputs tell it: once, whatever the number of runs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "predict/run_facts.hpp"

namespace weft::report {

class Assumed {
 public:
  // Of one run. `names`: predict::assumed_of(). What several runs on one platform assume is told together.
  void add(const std::string& platform, const std::vector<std::string>& names);
  // One line, with the values of bw, lat and speed, and with the platforms where some say what others do not; empty where nothing is
  // assumed.
  [[nodiscard]] std::string text() const;
  // The names by platform.
  [[nodiscard]] nlohmann::ordered_json json() const;

 private:
  struct Of {
    std::string platform;
    std::vector<std::string> names;
  };
  std::vector<Of> all_;
};

}  // namespace weft::report
