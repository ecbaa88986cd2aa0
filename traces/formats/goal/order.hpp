// The operations of a GOAL schedule as a sequential program: which is posted when, and what is waited for before.
//
// Every operation that may start is started: receives first, which take no processor time, then sends, then computations,
// each in the order of the file. When none may, the program waits for what the operation that lacks fewest messages lacks.
// A send or receive is non-blocking, unless it is waited for at once. At its end the program waits for all that is left.
//
// What that says exactly, and what it cannot say:
//  - Dependencies are kept, all of them: nothing starts before what it requires.
//  - Where several operations of one cpu could be next, one goes first, though on some network the message that another of
//    them waits for is there earlier. GOAL leaves their order open, too; Open counts these places.
//  - Different cpus run side by side. A rank has one line of control, so an operation of one cpu that would hold up one of
//    another is refused (kNotSupported). Only the processor time of sends and receives is not told apart by cpus.
// Time O((operations + dependencies) log operations); memory 32 bytes an operation and 9 a dependency.
#pragma once

#include <cstdint>

#include <vector>
#include "core/result.hpp"

#include "traces/formats/goal/graph.hpp"
#include "traces/formats/goal/program.hpp"
#include "traces/formats/goal/schedule.hpp"

namespace weft::traces::goal {

// Places where GOAL leaves open what is next on a cpu.
struct Open {
  std::uint64_t places = 0;
  Operation first;  // before the first of them
};

// Puts the schedule of one rank in order, into `out`. It takes the dependencies out of `schedule`: their memory is free
// before the rest is needed. REQUIRES: dependencies without doubles. Errors: kBadInput (dependencies that go round in a circle), kNotSupported (cpus side by
// side, too many requests).
[[nodiscard]] Result<Open> put_in_order(Schedule& schedule, const Place& place, Program& out);

// The same if the schedule has one order only; false where it leaves some open, or cpus run side by side: then `out` is to be thrown away.
// Errors: kBadInput, kNotSupported (too many requests).
[[nodiscard]] Result<bool> put_in_its_order(const std::vector<Operation>& ops, const Graph& graph,
                                            const Place& place, Program& out);

}  // namespace weft::traces::goal
