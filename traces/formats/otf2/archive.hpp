// An OTF2 archive, opened: its definitions, and the events of its locations one batch at a time.
//
// The only file that calls the reading side of the OTF2 library. The library's own messages are not printed; every
// failure is an Error with the file.
// Memory: the definitions, and of at most so many locations as kBufferBytes holds the two chunks that the library keeps;
// a location beyond these is closed and later found again by the number of its next event.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/result.hpp"
#include "traces/formats/otf2/anchor_file.hpp"
#include "traces/formats/otf2/definitions.hpp"
#include "traces/formats/otf2/event_file.hpp"

namespace weft::traces::otf2 {

// Of all open event files together.
inline constexpr std::uint64_t kBufferBytes = std::uint64_t{64} << 20;

enum class EventType : std::uint8_t {
  enter,
  leave,
  send,
  isend,
  isend_complete,
  irecv_request,
  recv,
  irecv,
  request_test,
  request_cancelled,
  collective_end,
  icollective_request,
  icollective_complete,
  comm_create,
  comm_destroy,
  buffer_flush,
  measurement_off,
  measurement_on,
  other  // counts as an event; nothing of it is read
};

// One event with the fields that its type has.
struct Event {
  EventType type = EventType::other;
  std::uint8_t op = 0;  // OTF2_CollectiveOp
  std::uint32_t region = kUndefined32;
  std::uint32_t comm = kUndefined32;
  std::uint32_t peer = kUndefined32;  // rank in comm: of the message, or the root
  std::uint32_t tag = 0;
  std::uint64_t number = 0;  // in its location; the first is 1
  std::uint64_t time = 0;    // ticks, corrected by the clock offsets
  std::uint64_t request = 0;
  std::uint64_t bytes = 0;     // of the message, or sent
  std::uint64_t received = 0;  // by a collective; end of a flush
};

// The library would print its messages on standard error; what went wrong is told by the codes that it returns, and, where
// there is a `first` that is 0, by the code of the first error from here on, which is put there.
void silence_library(int* first = nullptr);

class Archive {
 public:
  // A directory with one archive, or its anchor file.
  static Result<std::unique_ptr<Archive>> open(const std::string& path,
                                               std::uint64_t buffer_bytes = kBufferBytes);
  ~Archive();
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  [[nodiscard]] const Definitions& definitions() const { return definitions_; }
  [[nodiscard]] const std::string& path() const { return anchor_; }
  [[nodiscard]] const std::string& creator() const { return facts_.creator; }
  [[nodiscard]] const std::string& version() const { return facts_.version; }
  [[nodiscard]] std::uint64_t chunk_bytes() const { return facts_.chunk_bytes; }
  [[nodiscard]] std::string event_path(std::uint64_t location) const;

  // Walks the event file of a location (event_file.hpp) and reads its mapping tables and clock offsets. To be called
  // before its events are read. `rank`: for messages, < 0 = none.
  Result<void> prepare(std::uint64_t location, std::int64_t rank);

  // Up to `most` events of a location from number `next` on (the first is 1), into `out`; none at the end.
  Result<void> read(std::uint64_t location, std::int64_t rank, std::uint64_t next, std::size_t most,
                    std::vector<Event>& out);

 private:
  struct Library;  // handles of the OTF2 library
  struct Source;   // an open event file
  Archive(std::string anchor, std::uint64_t buffer_bytes);
  Result<void> open_library();
  Result<void> read_definitions();
  Result<Source*> source(std::uint64_t location, std::int64_t rank);
  Result<void> position(Source& s, std::uint64_t location, std::int64_t rank, std::uint64_t next);
  void close_oldest();
  [[nodiscard]] Error failure(const std::string& where, std::string what, int code) const;

  std::string anchor_, base_;  // base_: the anchor without .otf2
  Anchor facts_;
  std::uint64_t buffer_bytes_;
  Definitions definitions_;
  std::unique_ptr<Library> library_;
  std::list<Source> open_;  // the one used last first
  std::unordered_map<std::uint64_t, std::list<Source>::iterator> by_location_;
  std::unordered_map<std::uint64_t, EventCount> events_;  // of prepared locations
};

// The anchor of `path`; empty if there is none. For sniffing: cheap.
[[nodiscard]] std::string find_anchor(const std::string& path);

}  // namespace weft::traces::otf2
