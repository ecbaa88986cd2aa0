// FLOWS.csv: a list of flows as a user writes it.
//
// A header line names the columns, in any order: src, dst, then `bytes` (64KiB) or `bytes_B` (65536), and
// `start` (1.5us) or `start_s` (1.5e-6). Hosts by index or name. Fields may be quoted (RFC 4180); blanks
// around a field are dropped; empty lines are skipped. Every error is kBadInput with FILE:LINE:COLUMN.
#pragma once

#include <string_view>
#include <vector>

#include "core/id.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "topology/fabric.hpp"

namespace weft::network {

struct FlowRequest {
  HostId src;
  HostId dst;
  Bytes bytes{0};
  SimTime start;
  std::uint32_t line = 0;  // of the file
};

// `file` is the name for messages. O(text).
[[nodiscard]] Result<std::vector<FlowRequest>> parse_flow_list(std::string_view text, std::string_view file,
                                                               const topology::Fabric& fabric);

}  // namespace weft::network
