// What a Paraver trace says before its records: the unit of time, the tasks of its first application, and who belongs to which
// communicator.
//
//   #Paraver (DATE at TIME):TIME[_ns|_us|_ms]:NODES(PROCESSORS,...):APPLICATIONS:TASKS(THREADS:NODE,...)[,COMMUNICATORS]:...
//   (between applications Extrae has a comma, others a colon)
//   c:APPLICATION:ID:SIZE:TASK:TASK:...        tasks and applications count from 1; a line that begins with # says nothing
//   i:APPLICATION:ID:COMMUNICATOR:LEADER:COMMUNICATOR:LEADER      an inter-communicator, passed over
#pragma once

#include <cstdint>

#include "traces/formats/dimemas/head.hpp"

namespace weft::traces::paraver {

struct Head {
  explicit Head(std::uint32_t ranks) : tasks(ranks), groups(ranks) {}
  std::uint32_t tasks;
  std::vector<std::uint32_t> threads;  // by task
  dimemas::Groups groups;
  std::int64_t world = 0;           // its number
  std::int64_t picoseconds = 1000;  // of a unit of time
  std::uint64_t communicators = 0, defined = 0;
  dimemas::LinePos records;
};

[[nodiscard]] bool looks_like_head(std::string_view first_bytes);
// Errors: kBadInput.
[[nodiscard]] Result<Head> read_head(dimemas::LineReader& lines);

}  // namespace weft::traces::paraver
