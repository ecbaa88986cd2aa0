// Where the text of a trace comes from whose format has lines of text and a file a rank (SimGrid's time-independent text,
// liballprof): one file per rank (an index file, a directory or several paths), one shared file, or a tar archive of them; any
// of it compressed (gzip, zstd up to --long=27, xz, bzip2), once. A directory is read as a tar of it would be: by the index that it holds, else by the numbers
// in the names of its files, and one file alone has the lines of all ranks.
//
// The text is streamed: memory is one chunk, plus the text of archives below kKeepText so that they unpack
// once only. A compressed file may unpack to most_unpacked() of what is read (core/files/input_file.hpp). An archive is
// read and never written to disk: it does not matter where the names of its members point; links in it are passed over.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace weft::traces {

class RankText {
 public:
  static constexpr std::uint64_t kKeepText = 12u << 20;

  struct Part {
    std::string name;    // for messages: path, or archive!member
    std::string path;    // file to open
    std::string member;  // of the archive `path`; empty = the file itself
    std::string text;    // kept text of an archive member
  };

  // Finds the parts. Errors: kBadInput.
  [[nodiscard]] static Result<RankText> open(const std::vector<std::string>& paths);
  // Of a file with a rank's number in its name: those beside it whose names are the same but for the number and packing.
  [[nodiscard]] static Result<RankText> open_family(const std::string& file);

  // Private: parts()[r] is the file of rank r. Shared: there is one part with the lines of all ranks.
  [[nodiscard]] bool shared() const { return shared_; }
  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  // Files found beside the parts that are not part of the trace.
  [[nodiscard]] const std::vector<std::string>& ignored() const { return ignored_; }

  // Calls chunk(part, text, last) for all text of each part, parts in storage order, each part in one go.
  using Chunk = std::function<Result<void>(std::size_t part, std::string_view text, bool last)>;
  [[nodiscard]] Result<void> read(const Chunk& chunk) const;

 private:
  std::vector<Part> parts_;
  std::vector<std::string> ignored_;
  bool shared_ = false;
  bool kept_ = false;
};

// The first line of a text that is neither empty nor a comment (#), without blanks around it; empty: there is none.
[[nodiscard]] std::string_view first_line(std::string_view text);
// True for text, of the file `path`, of which a line names a file: which of the others are missing is then to be told.
[[nodiscard]] bool looks_like_index(const std::string& path, std::string_view text);

}  // namespace weft::traces
