// Studies whose points a journal keeps, as tests of them look at it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/cli/run_weft.hpp"
#include "tests/support/checkout.hpp"

namespace weft::testing {

inline const std::string kTrace = support::source_dir() + "/traces/samples/hpl_4x4_2000_64.weft";

// 12 points of some 20 ms.
inline const std::string kSweep =
    "sweep " + kTrace +
    " --on fat-tree-16 --on T=torus-16 --map block --map cyclic --set bw=10Gbps,40Gbps,100Gbps ";

// A search of parameters in several stages.
inline constexpr const char* kTuning =
    "tune hpl --on crossbar:n=16,bw=10GB/s,lat=1us,speed=20Gflops --n 2000 --nb 50,100 --p 4,2 --q 4,8 "
    "--evaluations 16";

// Points of a journal, each with how many lines hold it.
inline std::map<std::string, int> lines_of(const Workspace& w, const std::string& folder) {
  std::map<std::string, int> out;
  for (const std::string& name : w.list()) {
    if (!name.starts_with(folder + "/points-")) continue;
    std::istringstream in(w.read(name));
    for (std::string line; std::getline(in, line);) {
      const auto j = nlohmann::ordered_json::parse(line, nullptr, false);
      if (j.is_object() && j.contains("point")) ++out[j["point"].get<std::string>()];
    }
  }
  return out;
}

// What a command prints and writes, without the journal's flags.
struct Output {
  std::string text, json, csv;
  friend bool operator==(const Output&, const Output&) = default;
};

inline Output output_of(const Workspace& w, const std::string& command) {
  const Outcome o = w.weft(command + " --json out.json --csv out.csv");
  EXPECT_EQ(o.exit_code, 0) << command << "\n" << o.err;
  return {o.out, w.read("out.json"), w.read("out.csv")};
}

// A JSON output without what the machine took for it.
inline std::string without_costs(const std::string& text) {
  auto j = nlohmann::ordered_json::parse(text);
  j.erase("engine");
  j.erase("wall_s");
  if (j.contains("runs"))
    for (auto& run : j["runs"]) run["engine"].erase("wall_s");
  return j.dump(1);
}

}  // namespace weft::testing
