// What a foreign trace has or lacks and no operation says, as sentences of the header: those of every format in one voice.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "core/counted.hpp"
#include "traces/trace.hpp"

namespace weft::traces {

class LossNotes {
 public:
  explicit LossNotes(TraceHeader& header) : header_(header) {}

  // A warning: the replay may differ from the program.
  void warn(bool yes, std::string text) {
    if (yes) header_.warnings.push_back(std::move(text));
  }
  // A note: good to know.
  void note(bool yes, std::string text) {
    if (yes) header_.notes.push_back(std::move(text));
  }

  // Completions of requests that nothing started, and requests that got a number in use.
  void requests(std::uint64_t unknown, std::uint64_t shared) {
    warn(unknown > 0,
         counted(unknown, "completion") + " of requests whose start is not in the trace: left out");
    warn(shared > 0, counted(shared, "request") +
                         " got a number that was in use: a completion is taken to be of the oldest request "
                         "of that number");
  }

 private:
  TraceHeader& header_;
};

}  // namespace weft::traces
