// A sweep: the same traces and platforms over values of platform keys; where the ranking of the platforms
// flips.
//
// JSON "weft.sweep/1": the rows of compare with "set":{key:value}, ordered by trace, then by the values in
// the order given, then by makespan; and "flips": between two neighbouring values of one key, with everything
// else equal, platform A was strictly faster at `from` and B strictly faster at `to`. Where the values are numbers a
// flip also says where between them the two are equal: interpolated (axis_value.hpp), or, after refine_flip(), found by
// replays between the values.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/axis_value.hpp"
#include "report/compare.hpp"

namespace weft::report {

using Setting = std::vector<std::pair<std::string, std::string>>;  // key, value; in the order of the flags

struct SweepRun {
  predict::RunFacts facts;
  std::string platform;             // as the user wrote it, without the values
  std::vector<std::size_t> choice;  // index of the value by key
};
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;
};

struct SweepRow {
  CompareRow row;
  Setting set;
};
struct Flip {
  std::string trace, map, key, from, to;
  std::string faster_before, faster_after;  // platforms, as SweepRun has them
  std::string name_before,
      name_after;  // as the rows have them; as the user wrote them where these are the same
  std::string called_before, called_after;  // by their labels, if they have any
  Setting others;                           // the other keys
  // Seconds by which faster_before is slower than faster_after: < 0 at `from`, > 0 at `to`.
  double gap_from = 0, gap_to = 0;
  std::optional<AxisValue> at;  // where they are equal; none: the values are no numbers, or neighbours
  unsigned replays = 0;         // between the values; 0: interpolated
};
struct Sweep {
  std::vector<SweepRow> rows;
  std::vector<Flip> flips;
  // With several settings several platforms came to an end, no run is missing, and no platform is faster than another
  // with one setting and slower with another one.
  bool ranked_alike = false;
  // What the sweep cannot show: a key none of whose values changes anything in a trace's replays, and why if it is
  // known.
  std::vector<std::string> warnings;
};

// O(runs x platforms + runs log runs).
// `by_path`: every row says by its critical path why it is not as long as the one before it on its platform and map.
// `whole`: no run that was asked for is missing; else nothing is said of all of them together.
[[nodiscard]] Sweep sweep_runs(const std::vector<SweepAxis>& axes, const std::vector<SweepRun>& runs,
                               bool by_path = false, bool whole = true);
// Narrows `flip.at` by `steps` bisections: time(platform, value of the key as text) replays, in seconds, or nothing
// where the value is not possible, which ends the search. Nothing happens to a flip without `at`.
[[nodiscard]] Result<void> refine_flip(
    Flip& flip, unsigned steps,
    const std::function<Result<std::optional<double>>(const std::string& platform, const std::string& value)>&
        time);

// `error`: why some rows are not there; empty: all are.
[[nodiscard]] std::string sweep_json(const Sweep& sweep, const std::string& error = {});
[[nodiscard]] std::string sweep_csv(const Sweep& sweep);
// What is fastest, a sentence a trace, with the whole names of platforms.
[[nodiscard]] std::vector<std::string> sweep_answers(const Sweep& sweep);
[[nodiscard]] std::string sweep_text(const Sweep& sweep, std::size_t width = kUsualWidth);

}  // namespace weft::report
