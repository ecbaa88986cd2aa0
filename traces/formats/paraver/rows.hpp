// The records of a Paraver trace that say what a program did, task by task in the order of their times: a file has those of all tasks by
// turns, and both ends of a message in one line.
//
// Memory: that of SortedRows; what is more goes to a file without a name in TMPDIR or /tmp: the trace's folder may be for reading only.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "core/files/sorted_rows.hpp"
#include "traces/formats/dimemas/losses.hpp"
#include "traces/formats/paraver/head.hpp"

namespace weft::traces::paraver {

struct Row {
  enum class What : std::uint8_t {
    event,     // first = type, second = value: of calls of MPI, and what is said beside them
    sent,      // first = bytes, second = tag; at its logical send
    posted,    // likewise, at its logical receive; over = its physical receive
    received,  // likewise, at its physical receive
  };
  std::int64_t time = 0;
  std::uint64_t order = 0;  // in the file
  std::int64_t first = 0, second = 0;
  std::int64_t over = 0;
  std::uint64_t line = 0;  // of a message its number, too
  std::uint32_t task = 0;
  std::int32_t partner = 0;
  What what{};
};
struct RowsByTask {
  bool operator()(const Row& a, const Row& b) const {
    return std::tie(a.task, a.time, a.order) < std::tie(b.task, b.time, b.order);
  }
};
using Rows = SortedRows<Row, RowsByTask>;

// Times of the last event of each task, whatever it is of: up to there it computed behind its last call. Errors: kBadInput with line and
// column, kNotSupported.
[[nodiscard]] Result<std::vector<std::int64_t>> read_rows(dimemas::LineReader& lines, const Head& head,
                                                          Rows& rows, dimemas::Losses& losses);

}  // namespace weft::traces::paraver
