#include "traces/formats/otf2/definition_file.hpp"

#include <fmt/format.h>

#include "core/files/input_file.hpp"
#include "core/source_pos.hpp"
#include "traces/formats/otf2/record_shape.hpp"

namespace weft::traces::otf2 {

Result<void> check_definitions(const std::string& path, bool global) {
  WEFT_ASSIGN(const std::string text, read_file(path));
  const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  std::int64_t record = 1;
  const auto at = [&](std::size_t pos) { return BytePos{path, pos, record, -1}.text(); };
  const auto cut_off = [&](std::size_t pos) {
    return bad_input(at(pos), "the definitions end in the middle", fmt::format("{} bytes", bytes.size()),
                     "the mark that ends the file (02)");
  };
  constexpr std::size_t kHeader = 18;
  if (bytes.size() < kHeader) return cut_off(0);
  if (bytes[0] != 3 || (bytes[1] != 'B' && bytes[1] != '#'))
    return bad_input(at(0), "no definitions of OTF2 begin here",
                     fmt::format("bytes {:02x} {:02x}", bytes[0], bytes[1]),
                     "03, then 42 (little-endian) or 23 (big-endian)");
  const bool little = bytes[1] == 'B';
  for (std::size_t pos = kHeader;; ++record) {
    if (pos >= bytes.size()) return cut_off(pos);
    if (bytes[pos] == 2) return {};
    if (bytes[pos] < 5)
      return bad_input(at(pos), "no definition of OTF2 has this number", std::to_string(bytes[pos]),
                       "5 or more");
    if (pos + 1 >= bytes.size()) return cut_off(pos);
    std::uint64_t length = bytes[pos + 1];
    std::size_t head = 2;
    if (length == 0xff) {
      if (pos + 10 > bytes.size()) return cut_off(pos);
      length = u64_at(&bytes[pos + 2], little);
      head = 10;
    }
    if (length > bytes.size() - pos - head) return cut_off(pos);
    if (!fields_fit(bytes.subspan(pos + head, length), definition_layout(bytes[pos], global), little))
      return bad_input(at(pos), "the fields of a definition do not fit into it",
                       fmt::format("{} bytes", length));
    pos += head + length;
  }
}

}  // namespace weft::traces::otf2
