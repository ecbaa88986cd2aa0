// Header, communicators and regions <-> their messages of trace.proto; shared by the .weft writer and reader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "traces/trace.hpp"

namespace weft::traces::pb {
class Definitions;
class Header;
}  // namespace weft::traces::pb

namespace weft::traces {

void encode_header(const TraceHeader& header, pb::Header& out);
[[nodiscard]] Result<TraceHeader> decode_header(const pb::Header& message);

// Appends communicators[from_comm..] and regions[from_region..] to `out`. Members equal to those of an
// earlier communicator become a reference to it. O(members), plus one comparison for each earlier one of the
// same size.
void encode_definitions(const std::vector<Communicator>& communicators, std::size_t from_comm,
                        const std::vector<std::string>& regions, std::size_t from_region,
                        pb::Definitions& out);

// Appends what `message` defines. Ids that are known already are skipped (the index repeats all definitions).
// Errors: kBadInput for gaps, members out of range or twice, or too many members in all.
[[nodiscard]] Result<void> decode_definitions(const pb::Definitions& message, std::uint32_t ranks,
                                              std::vector<Communicator>& communicators,
                                              std::vector<std::string>& regions);

}  // namespace weft::traces
