// Files that are packed: a compressed text, or a tar archive, compressed or not. gzip, zstd up to --long=27, xz, bzip2; once.
//
// gzip is unpacked by zlib, which checks it (gzip_stream.hpp), all else by libarchive. What is packed is streamed and never written to
// disk: it does not matter where the names of an archive's members point; links in it are passed over. A file may unpack to
// most_unpacked() of what is read (core/files/input_file.hpp).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace weft::traces {

// What compresses one text.
struct Packing {
  std::string_view extension, first, unpack;  // ".gz"; the first bytes; "gzip -d"
};
// By the first bytes of a file; nullptr: none.
[[nodiscard]] const Packing* packing_of(std::string_view first_bytes);
// ".gz" and the like.
[[nodiscard]] std::span<const std::string_view> packing_extensions();

[[nodiscard]] bool looks_compressed_or_tar(std::string_view first_bytes);

// Visits every regular file of an archive, or the one text of a compressed file (name empty).
// enter(name) says whether the data are wanted; then data(chunk, last), whose error ends the walk. What is not wanted is
// unpacked all the same, and all counts: no more than most_unpacked() of what was read so far. Errors: kBadInput,
// kNotSupported (no library).
[[nodiscard]] Result<void> walk_archive(const std::string& path,
                                        const std::function<bool(const std::string&)>& enter,
                                        const std::function<Result<void>(std::string_view, bool)>& data);

}  // namespace weft::traces
