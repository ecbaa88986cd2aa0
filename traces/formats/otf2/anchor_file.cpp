#include "traces/formats/otf2/anchor_file.hpp"

#include <fmt/format.h>

#include "core/files/input_file.hpp"
#include "core/source_pos.hpp"
#include "traces/formats/otf2/record_shape.hpp"

namespace weft::traces::otf2 {
namespace {

constexpr std::uint64_t kMaxAnchorBytes = 1u << 20;
constexpr std::uint64_t kLeastChunk = 256u << 10, kMostChunk = 16u << 20;
constexpr std::uint8_t kPosix = 1, kSion = 2;

struct Reader {
  const std::string& path;
  std::string_view bytes;
  bool little = true;
  std::size_t pos = 0;
  bool short_of = false;  // the file ended

  std::uint8_t u8() {
    if (pos >= bytes.size()) {
      short_of = true;
      return 0;
    }
    return static_cast<std::uint8_t>(bytes[pos++]);
  }
  std::uint64_t full(int n) {
    std::uint64_t v = 0;
    for (int i = 0; i < n; ++i) v |= std::uint64_t{u8()} << (8 * (little ? i : n - 1 - i));
    return v;
  }
  std::string text() {
    const std::size_t end = bytes.find('\0', pos);
    if (end == std::string_view::npos) {
      short_of = true;
      return {};
    }
    std::string t(bytes.substr(pos, end - pos));
    pos = end + 1;
    return t;
  }
  [[nodiscard]] Error fault(std::size_t at, std::string what, std::string got = {},
                            std::string expected = {}) const {
    return bad_input(BytePos{path, at, -1, -1}.text(), std::move(what), std::move(got), std::move(expected));
  }
};

}  // namespace

Result<Anchor> read_anchor(const std::string& path) {
  WEFT_ASSIGN(const std::string text, read_file(path, kMaxAnchorBytes));
  Reader r{path, text};
  if (text.size() < 7 || text[0] != '\x03' || (text[1] != 'B' && text[1] != '#') ||
      std::string_view(text).substr(2, 5) != std::string_view("OTF2\0", 5))
    return r.fault(0, "not the anchor of an OTF2 archive", {}, "bytes 03 42 and OTF2");
  r.little = text[1] == 'B';
  r.pos = 7;
  Anchor a;
  const std::uint8_t format = r.u8();
  if (format < 1)
    return r.fault(7, "the format of the anchor is none of OTF2's", std::to_string(format), "1 to 3");
  if (format > 3) {
    Error e = not_supported(fmt::format("format {} of the anchor of an archive", format),
                            "1 to 3: OTF2 2.0 to 3.x");
    e.where = path;
    return e;
  }
  r.u8();
  const unsigned major = r.u8(), minor = r.u8(), patch = r.u8();
  a.version = fmt::format("{}.{}.{}", major, minor, patch);
  a.chunk_bytes = r.full(8);
  if (a.chunk_bytes < kLeastChunk || a.chunk_bytes > kMostChunk)
    return r.fault(12, "the chunks of events have a size that OTF2 does not have",
                   std::to_string(a.chunk_bytes), fmt::format("{} to {} bytes", kLeastChunk, kMostChunk));
  if (const std::uint64_t chunk = r.full(8); chunk < kLeastChunk || chunk > kMostChunk)
    return r.fault(20, "the chunks of definitions have a size that OTF2 does not have", std::to_string(chunk),
                   fmt::format("{} to {} bytes", kLeastChunk, kMostChunk));
  const std::uint8_t substrate = r.u8(), compression = r.u8();
  if (substrate == kSion || compression > 1) {
    Error e = not_supported(
        substrate == kSion ? "an OTF2 archive in SIONlib files" : "a compressed OTF2 archive", "plain files");
    e.where = path;
    return e;
  }
  if (substrate != kPosix)
    return r.fault(28, "the files of the archive are of an unknown kind", std::to_string(substrate),
                   "1 (plain files)");
  a.locations = r.full(8);
  a.definitions = r.full(8);
  r.text();
  a.creator = r.text();
  r.text();
  if (format >= 2) {
    const std::size_t at = r.pos;
    const std::uint64_t properties = r.full(4);
    if (!r.short_of && properties > (text.size() - r.pos) / 2)
      return r.fault(at, "the anchor has more properties than bytes", std::to_string(properties));
    for (std::uint64_t i = 0; i < 2 * properties && !r.short_of; ++i) r.text();
    a.trace_id_at = r.pos;
    r.full(8);
  }
  if (format >= 3) r.full(8);
  if (r.u8() != 2 || r.short_of)
    return r.fault(r.short_of ? text.size() : r.pos - 1,
                   "the anchor of the archive does not end where it should", {},
                   "the mark that ends the file (02)");
  return a;
}

}  // namespace weft::traces::otf2
