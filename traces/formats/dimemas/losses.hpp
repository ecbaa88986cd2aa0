// What a Dimemas or Paraver trace has or lacks and no operation says, counted over all tasks; sentences of the header are made of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "traces/trace.hpp"

namespace weft::traces::dimemas {

struct Losses {
  std::map<std::string_view, std::uint64_t> collectives;  // calls without a record, by name
  std::map<std::string_view, std::uint64_t> messages;     // likewise
  std::map<std::int64_t, std::uint64_t> calls;            // of one-sided communication and file I/O, by type
  std::uint64_t makes_comm = 0;                           // calls that make communicators
  std::uint64_t unwaited_sends = 0;                       // non-blocking sends
  std::uint64_t unposted = 0;                             // waits for what was not posted
  std::uint64_t left_to_the_end = 0;                      // requests that nobody waits for
  std::uint64_t unknown_waits = 0;                        // of collectives that nothing started
  std::uint64_t events = 0;                               // of no call of MPI
  std::uint64_t shared_out = 0;                           // collectives with sums only
  std::uint64_t own_tags = 0;                             // channels
  std::uint64_t without_records = 0;                      // tasks
  std::uint64_t outside = 0;             // ends of messages in no call that sends or receives them
  std::uint64_t other_applications = 0;  // records
  bool cut_off = false;                  // no offsets, which the header promises
  std::uint64_t communicators = 0, defined = 0;

  void describe(TraceHeader& header) const;
};

}  // namespace weft::traces::dimemas
