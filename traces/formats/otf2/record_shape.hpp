// Whether the fields of a record fit into the record: the OTF2 library believes that they do, and the counts in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weft::traces::otf2 {

// Fields of a record as records.def writes them; nothing is known of a number that no row has.
[[nodiscard]] std::string_view event_layout(std::uint8_t record);
[[nodiscard]] std::string_view definition_layout(std::uint8_t record, bool global);

// True if a row has the number.
[[nodiscard]] bool known_event(std::uint8_t record);

// True if `fields` holds at least what `layout` says.
[[nodiscard]] bool fields_fit(std::span<const std::uint8_t> fields, std::string_view layout,
                              bool little_endian);

[[nodiscard]] inline std::uint64_t u64_at(const std::uint8_t* b, bool little_endian) {
  std::uint64_t v = 0;
  for (int i = 0; i < 8; ++i) v |= std::uint64_t{b[little_endian ? i : 7 - i]} << (8 * i);
  return v;
}

}  // namespace weft::traces::otf2
