// Which files are the ranks of a liballprof trace: text, packed or not, in a folder, in an archive, or named one by one.
//
//   a folder, an archive   with one family of files NAME-0.txt, NAME-1.txt ...
//   a file                 its family, as schedgen takes it; where it has none it is a trace of one rank
//   several paths          the files of rank 0, 1, ...
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/formats/rank_text.hpp"

namespace weft::traces::allprof {

[[nodiscard]] Result<RankText> open_input(const std::vector<std::string>& paths);

// Whether open_liballprof() gives the better error, at least.
[[nodiscard]] bool looks_like_ours(const std::string& path, std::string_view first_bytes);

// The lines of a text that comes in pieces.
class LineSplitter {
 public:
  static constexpr std::size_t kMaxLine = 16u << 20;
  // Each line, its number, and whether a line feed ends it.
  using Take = std::function<Result<void>(std::string_view line, std::uint32_t number, bool ended)>;

  // `file`: for messages. `last`: nothing follows.
  [[nodiscard]] Result<void> feed(const std::string& file, std::string_view text, bool last,
                                  const Take& take);

 private:
  std::string carry_;
  std::uint32_t line_ = 0;
};

}  // namespace weft::traces::allprof
