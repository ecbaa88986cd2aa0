// SimGrid's answers as an oracle: each recorded HPL trace x platform x protocol x placement that SimGrid 3.32
// replayed, replayed here over the same links and routes, rank by rank.
//
// What must agree (data/SOURCE.txt says why): plain max-min where all routes have one latency (zero-latency
// platforms, the crossbar), max-min weighted by 1 / latency elsewhere.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "replay/engine.hpp"
#include "tests/support/memory_trace.hpp"
#include "topology/platform/platform.hpp"

namespace weft::testing {

struct OracleCase {
  std::string trace;     // "4x4_2000_64", "4x4_2000_64_b4_nosync"
  std::string platform;  // "torus"
  bool lat1us = false;
  std::string model;                       // eager | detach | rdv
  std::string placement;                   // linear | perm
  [[nodiscard]] std::string name() const;  // SimGrid's file name
};

struct OracleRow {
  OracleCase which;
  double worst = 0;        // max over ranks of |ours - SimGrid| / SimGrid
  std::uint32_t rank = 0;  // where
  double makespan = 0;     // ours, seconds
  bool deadlock = false;   // ours stopped
  bool deadlock_expected = false;
};

struct OracleLine {  // one line of one rank
  double start = 0;
  double end = 0;
};

class SimgridOracle {
 public:
  // `traces`: folder with NAME/trace.tar.zst, routes/*.txt.zst and simgrid_finish.tar.zst; `hosts`: folder
  // with hosts256_linear.txt and hosts256_perm.txt.
  [[nodiscard]] static Result<SimgridOracle> open(const std::string& traces, const std::string& hosts);

  // Cases of one trace in a fixed order: those with an answer and a trace in the folder, SMPI's own model
  // left out.
  [[nodiscard]] std::vector<OracleCase> cases(const std::string& trace) const;
  [[nodiscard]] std::vector<std::string> traces() const;

  // Replays one case. `on_op` as in ReplayOptions.
  [[nodiscard]] Result<OracleRow> run(
      const OracleCase& c, const std::function<void(RankId, std::uint64_t, SimTime, SimTime)>& on_op = {});

  // From now on cases on `platform` run on `spec` (shorthand without bw, lat and speed) instead of SimGrid's
  // own routes.
  [[nodiscard]] Result<void> use_builder(const std::string& platform, const std::string& spec);

  // How well posed the case is: the largest relative move of a rank's finish when every computation takes up
  // to 1 ps more (uniform, seeds 1..`seeds`). Contention in eager mode can amplify a picosecond a million
  // times.
  [[nodiscard]] Result<double> sensitivity(const OracleCase& c, int seeds);

  // Start and end of every line by rank, where a TRACE.PLATFORM.MODEL.linear.txt.zst is there.
  [[nodiscard]] Result<std::vector<std::vector<OracleLine>>> lines(const OracleCase& c) const;

  [[nodiscard]] Result<MemoryTrace*> trace(const std::string& name);

 private:
  Result<replay::ReplayResult> replay_case(
      const OracleCase& c, MemoryTrace& program,
      const std::function<void(RankId, std::uint64_t, SimTime, SimTime)>& on_op);
  Result<const topology::Platform*> platform(const std::string& name, bool lat1us);
  std::string folder_;
  std::map<std::string, std::vector<double>> answers_;  // file name -> finish by rank; short = deadlock
  std::map<std::string, std::vector<std::uint32_t>> placements_;
  std::map<std::string, std::unique_ptr<MemoryTrace>> traces_;
  std::map<std::string, std::unique_ptr<topology::Platform>> platforms_;
};

// Files of an archive, or the one file of a compressed file under the name "". Errors: kBadInput.
[[nodiscard]] Result<std::map<std::string, std::string>> read_archive(const std::string& path);

}  // namespace weft::testing
