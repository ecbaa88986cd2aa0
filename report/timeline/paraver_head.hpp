// What the two traces for Paraver share: who runs where, in the first line of a .prv and in a .row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/files/text_sink.hpp"
#include "report/timeline/timeline.hpp"

namespace weft::report {

[[nodiscard]] inline std::int64_t prv_time(SimTime t) { return t.time_since_epoch().count() / 1000; }

// A processor for each thread of each rank, numbered node by node; `others`: threads of a second application, on a node of their own.
struct PrvSystem {
  PrvSystem(const std::vector<std::uint32_t>& node_of_rank, const std::vector<std::uint32_t>& threads,
            std::uint32_t others);

  std::vector<std::uint32_t> node, threads;  // by rank, from 0
  std::vector<std::uint32_t> cpu;            // of its first thread, by rank, from 1
  std::vector<std::uint32_t> on_node;        // processors
  std::uint32_t of_ranks = 0, others = 0;    // processors in all

  void write_head(TextPieces& out, std::int64_t end,
                  const std::vector<traces::Communicator>& communicators) const;
  // `names`: of each thread, ranks first; `of_others`: of their node.
  [[nodiscard]] std::string row(const std::vector<std::string>& names, const char* of_others) const;
};

// A name is the rest of its line, and of some files as many lines as are said above them.
[[nodiscard]] std::string on_one_line(std::string name);

}  // namespace weft::report
