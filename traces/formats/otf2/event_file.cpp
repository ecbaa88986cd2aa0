#include "traces/formats/otf2/event_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "core/source_pos.hpp"
#include "traces/formats/otf2/record_shape.hpp"

namespace weft::traces::otf2 {
namespace {

constexpr std::size_t kChunkHeader = 18;
enum Entry : std::uint8_t {
  kEndOfChunk = 0,
  kEndOfFile = 2,
  kHeader = 3,
  kTime = 5,
  kAttributes = 6,
  kFirstRecord = 10
};

bool one_number(std::uint8_t id) {
  return id == 12 || id == 13 || id == 16 || id == 17 || id == 20 || id == 21 || id == 24 ||
         (id >= 28 && id <= 30);
}

struct Walk {
  std::string path;
  std::int64_t rank;
  std::uint64_t chunk_bytes;
  std::uint64_t events = 0;
  bool known = true;                   // so far
  std::uint64_t stop_at = UINT64_MAX;  // the event to find
  std::uint64_t found = 0;             // its byte

  std::uint64_t base = 0;  // of the chunk in the file
  std::vector<std::uint8_t> chunk;
  std::size_t size = 0;

  [[nodiscard]] std::string at(std::size_t pos) const {
    return BytePos{path, base + pos, static_cast<std::int64_t>(events + 1), rank}.text();
  }
  [[nodiscard]] Error cut_off(std::size_t pos) const {
    return bad_input(at(pos), "the event file ends in the middle", fmt::format("{} bytes", base + size),
                     "the mark that ends the file (02)");
  }
  Result<void> run();
  Result<bool> walk_chunk();
  Result<std::size_t> length_of(std::size_t pos, bool little) const;
};

// Of the record (or list of attributes) at `pos`, from its first byte on.
Result<std::size_t> Walk::length_of(std::size_t pos, bool little) const {
  if (pos + 1 >= size) return cut_off(pos);
  const std::uint8_t n = chunk[pos + 1];
  std::uint64_t length = 0;
  if (one_number(chunk[pos])) {
    if (n > 8 && n != 0xff)
      return bad_input(at(pos + 1), "a number of a record is too long", std::to_string(n), "at most 8 bytes");
    length = 2 + (n == 0xff ? std::uint64_t{0} : n);
  } else if (n != 0xff) {
    length = std::uint64_t{2} + n;
  } else {
    if (pos + 10 > size) return cut_off(pos);
    length = u64_at(&chunk[pos + 2], little);
    if (length <= chunk_bytes) length += 10;
  }
  if (length > chunk_bytes - pos)
    return bad_input(at(pos), "a record does not fit into its chunk", fmt::format("{} bytes", length),
                     fmt::format("at most {}", chunk_bytes - pos));
  if (length > size - pos) return cut_off(pos);
  const std::size_t head = one_number(chunk[pos]) ? 1 : n == 0xff ? 10 : 2;
  if (!fields_fit(std::span(chunk).subspan(pos + head, length - head), event_layout(chunk[pos]), little))
    return bad_input(at(pos), "the fields of a record do not fit into it",
                     fmt::format("record {} of {} bytes", chunk[pos], length - head));
  return static_cast<std::size_t>(length);
}

// True: another chunk follows.
Result<bool> Walk::walk_chunk() {
  if (size < kChunkHeader) return cut_off(0);
  if (chunk[0] != kHeader)
    return bad_input(at(0), "no chunk of OTF2 events begins here", fmt::format("byte {:02x}", chunk[0]),
                     "03");
  if (chunk[1] != 'B' && chunk[1] != '#')
    return bad_input(at(1), "the order of bytes is not one of OTF2", fmt::format("byte {:02x}", chunk[1]),
                     "42 (little-endian) or 23 (big-endian)");
  const bool little = chunk[1] == 'B';
  const std::uint64_t first = u64_at(&chunk[2], little), last = u64_at(&chunk[10], little);
  if (first != events + 1)
    return bad_input(at(2), "the first event of the chunk has another number", std::to_string(first),
                     std::to_string(events + 1));
  bool attributes = false;
  for (std::size_t pos = kChunkHeader;;) {
    if (pos >= size) return cut_off(pos);
    const std::uint8_t id = chunk[pos];
    if (id == kTime) {
      if (pos + 9 > size) return cut_off(pos);
      pos += 9;
      continue;
    }
    if (id == kEndOfChunk || id == kEndOfFile) {
      // The last event of the chunk that a writer closed while it was empty is the one before the first.
      if (last != events && !(id == kEndOfFile && first > last))
        return bad_input(at(10), "the last event of the chunk has another number", std::to_string(last),
                         std::to_string(events));
      return id == kEndOfChunk;
    }
    if (id != kAttributes && id < kFirstRecord)
      return bad_input(at(pos), "no event of OTF2 has this number", std::to_string(id), "10 or more");
    WEFT_ASSIGN(const std::size_t length, length_of(pos, little));
    if (id == kAttributes) {
      if (attributes) return bad_input(at(pos), "a list of attributes has no event");
      attributes = true;
    } else {
      attributes = false;
      known = known && known_event(id);
      ++events;
      if (events == stop_at) {
        found = base + pos;
        return false;
      }
    }
    pos += length;
  }
}

Result<void> Walk::run() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file)
    return bad_input(path, fmt::format("cannot open the events of a location: {}", std::strerror(errno)), {},
                     "the event files of the archive beside its anchor");
  chunk.resize(chunk_bytes);
  for (;; base += size) {
    size = std::fread(chunk.data(), 1, chunk.size(), file.get());
    if (std::ferror(file.get()) != 0)
      return bad_input(path, fmt::format("cannot read: {}", std::strerror(errno)));
    WEFT_ASSIGN(const bool more, walk_chunk());
    if (!more) return {};
  }
}

}  // namespace

Result<EventCount> count_events(const std::string& path, std::uint64_t chunk_bytes, std::int64_t rank) {
  Walk walk{.path = path, .rank = rank, .chunk_bytes = chunk_bytes, .chunk = {}};
  WEFT_TRY(walk.run());
  return EventCount{walk.events, walk.known};
}

std::string event_position(const std::string& path, std::uint64_t chunk_bytes, std::int64_t rank,
                           std::uint64_t number) {
  Walk walk{.path = path, .rank = rank, .chunk_bytes = chunk_bytes, .stop_at = number, .chunk = {}};
  if (!walk.run() || walk.found == 0) return path;
  return BytePos{path, walk.found, static_cast<std::int64_t>(number), rank}.text();
}

}  // namespace weft::traces::otf2
