// The messages of a trace as lists: for each (source, destination, communicator) the ordered (call, tag, bytes).
//
// The communicator is a number by order of splitting: 0 world, 1 all, 2 row, 3 col.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "traces/trace.hpp"

namespace weft::testing_hpl {

struct Message {
  char call = 'S';  // S send, Y ssend, I isend, J issend
  std::int32_t tag = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const Message&, const Message&) = default;
};
using ListKey = std::array<std::int32_t, 3>;  // source, destination, communicator
using MessageLists = std::map<ListKey, std::vector<Message>>;

// Sends and receives of all ranks of a trace. Receives are keyed by (source, destination, communicator) too; a poll's
// body counts where it stands.
struct AllLists {
  MessageLists sent, received;
};
[[nodiscard]] AllLists lists_of(traces::TraceReader& trace);

// From the text of the recordings (I.txt of each rank in `dir`).
[[nodiscard]] AllLists read_recorded(const std::string& dir, int ranks);

// One line for each list that differs, at most `most`.
[[nodiscard]] std::string differences(const MessageLists& want, const MessageLists& got,
                                      std::size_t most = 5);

}  // namespace weft::testing_hpl
