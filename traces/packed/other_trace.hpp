// Traces that are packed although their format is read unpacked only, or as they are packed: formats.def says which are read so.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "traces/formats/first_bytes.hpp"
#include "traces/packed/walk_archive.hpp"

namespace weft::traces {

// Looks for one in what a packed file holds, which comes text by text.
class OtherTrace {
 public:
  // `head`: the first bytes of the file.
  OtherTrace(const std::string& path, std::string_view head) : path_(path), packing_(packing_of(head)) {}

  // A text begins: a member of an archive, or what was compressed (empty).
  void begin(const std::string& member);
  // Which comes in pieces.
  void add(std::string_view data, bool last);
  // What this text is, is known.
  [[nodiscard]] bool looked() const { return looked_; }
  // One of the texts is of TI: then the file is read, and others are none of the trace.
  [[nodiscard]] bool holds_ti() const { return ti_; }
  // Says of the first that there was which format it is and how to unpack it.
  [[nodiscard]] const std::optional<Error>& found() const { return found_; }

 private:
  const std::string& path_;
  const Packing* packing_;
  std::string member_;
  FirstBytes first_;
  bool looked_ = false, ti_ = false;
  std::optional<Error> found_;
};

// The first bytes of what a compressed text holds, as first_bytes.hpp has those of a file; "" of an archive. Errors: as walk_archive()
// has them up to there.
[[nodiscard]] Result<std::string> first_bytes_unpacked(const std::string& path);

// What OtherTrace finds in a file; nothing also where it is not packed or cannot be unpacked.
[[nodiscard]] std::optional<Error> packed_trace(const std::string& path);
// The same of a file that is not there, but is beside itself as it was packed.
[[nodiscard]] std::optional<Error> packed_trace_of(const std::string& missing);
// The same of one of the files of `of`, "an OTF2 archive", by which no format is known.
[[nodiscard]] std::optional<Error> packed_part_of(const std::string& missing, std::string_view of);

}  // namespace weft::traces
