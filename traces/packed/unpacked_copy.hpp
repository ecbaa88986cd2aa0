// What one compressed text unpacks to, for readers that go to and fro in it: in a file without a name (core/files/spill_file.hpp), which
// walk_archive() bounds.
#pragma once

#include <string>

#include "core/files/spill_file.hpp"
#include "core/result.hpp"

namespace weft::traces {

// Beside the packed file, or where temporary files go. Errors: kBadInput, also of a file that cannot be written; kNotSupported: an
// archive of several files, no library.
[[nodiscard]] Result<SpillFile> unpacked_copy(const std::string& path);

}  // namespace weft::traces
