#include "traces/packed/unpacked_copy.hpp"

#include <span>
#include <string_view>

#include "traces/packed/walk_archive.hpp"

namespace weft::traces {

Result<SpillFile> unpacked_copy(const std::string& path) {
  WEFT_ASSIGN(SpillFile copy, SpillFile::open(path));
  bool archive = false;
  WEFT_TRY(walk_archive(
      path, [&](const std::string& member) { return !(archive = archive || !member.empty()); },
      [&](std::string_view data, bool /*last*/) {
        return copy.append(std::as_bytes(std::span(data.data(), data.size())));
      }));
  if (!archive) return copy;
  Error e = not_supported("an archive of a trace that is one file", "the trace, unpacked with \"tar -xf\"");
  e.where = path;
  return e;
}

}  // namespace weft::traces
