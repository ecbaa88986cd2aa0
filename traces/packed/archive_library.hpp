// libarchive, loaded when an archive is first opened: with what it needs itself (XML, Unicode, ciphers) it is nine libraries of
// 2,000 symbols, which every command of the program would pay as it starts.
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include "core/result.hpp"

namespace weft::traces {

// X(name): the function archive_<name> of the library.
#define WEFT_ARCHIVE_FUNCTIONS(X) \
  X(entry_filetype)               \
  X(entry_pathname)               \
  X(error_string)                 \
  X(filter_bytes)                 \
  X(filter_count)                 \
  X(filter_name)                  \
  X(format)                       \
  X(read_data_block)              \
  X(read_free)                    \
  X(read_new)                     \
  X(read_next_header)             \
  X(read_open)                    \
  X(read_open_filename)           \
  X(read_support_filter_bzip2)    \
  X(read_support_filter_gzip)     \
  X(read_support_filter_xz)       \
  X(read_support_filter_zstd)     \
  X(read_support_format_raw)      \
  X(read_support_format_tar)

struct ArchiveLibrary {
#define WEFT_X(name) decltype(&archive_##name) name = nullptr;
  WEFT_ARCHIVE_FUNCTIONS(WEFT_X)
#undef WEFT_X
};

// From the library that the build found, which the loader looks for by name. Errors: kNotSupported, with what the loader
// says. Throws std::bad_alloc where it had no memory.
[[nodiscard]] Result<ArchiveLibrary> load_archive_library();

}  // namespace weft::traces
