// What a Dimemas trace says before its records: how many tasks there are, and who belongs to which communicator.
//
//   #DIMEMAS:"NAME":OFFSETS[,BYTE]:TASKS(THREADS,THREADS,...),COMMUNICATORS[,ACCELERATORS...][,OPENMP...]
//   d:1:ID:SIZE:TASK:TASK:...           a communicator; d:2 (files) and d:3 (windows) are passed over, as Dimemas does
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "traces/formats/dimemas/lines.hpp"
#include "traces/trace.hpp"

namespace weft::traces::dimemas {

class Groups {
 public:
  explicit Groups(std::uint32_t tasks);
  // False: the number is taken.
  bool add(std::int64_t number, std::vector<std::int32_t> members);
  // The communicator that a number of the file is of.
  [[nodiscard]] std::optional<CommId> find(std::int64_t number) const;
  // The rank of a task in it.
  [[nodiscard]] std::optional<std::uint32_t> rank_in(CommId comm, std::uint32_t task) const;
  [[nodiscard]] const std::vector<Communicator>& all() const { return all_; }

 private:
  std::vector<Communicator> all_;  // [0] is the world
  // Of those whose members do not ascend: (task, rank), by task.
  std::vector<std::vector<std::pair<std::int32_t, std::uint32_t>>> sorted_;
  std::unordered_map<std::int64_t, CommId> by_number_;
  bool world_is_known_ = false;  // a definition of it was there
};

// Number, size and tasks of a communicator, behind "d:1" or Paraver's "c:1"; `first`: the number of the first task. False: `f` has the error.
[[nodiscard]] bool read_communicator(Fields& f, Groups& groups, std::int64_t first);

struct Head {
  explicit Head(std::uint32_t ranks) : tasks(ranks), groups(ranks) {}
  std::uint32_t tasks;
  Groups groups;
  std::uint64_t communicators = 0, defined = 0;  // as the header says; definitions that stand there
  bool offsets = false;  // where tasks begin stands at the end of the file, the header says
  LinePos records;       // the first line after the definitions
};

[[nodiscard]] bool looks_like_head(std::string_view first_bytes);
// Errors: kBadInput, kNotSupported for several threads of a task.
[[nodiscard]] Result<Head> read_head(LineReader& lines);

}  // namespace weft::traces::dimemas
