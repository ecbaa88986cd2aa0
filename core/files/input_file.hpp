// Input files read whole: bytes, and text with the rules that every text of Weft obeys.
//
// What a file may cost is bounded: a regular file by its size and a limit, what comes through a pipe or from a device
// by kMaxStreamBytes, what was compressed by most_unpacked(). "-" is standard input.
//
// A pipe gives its bytes once. They are kept as long as the program runs, for whoever reads it again: each replay of a comparison its
// map, the key of a journal's point the rules of collectives. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/uninitialized.hpp"

namespace weft {

// A pipe or a device may have no end.
inline constexpr std::uint64_t kMaxStreamBytes = std::uint64_t{64} << 20;

// What `packed` bytes of a compressed text, those that were read so far, may unpack to. Traces of programs pack 10 to 60 to 1.
// A decoder keeps as much of what it unpacks as its window has, up to 128 MiB, and a bomb of any size is to be answered
// within half of that.
[[nodiscard]] constexpr std::uint64_t most_unpacked(std::uint64_t packed) {
  return (std::uint64_t{16} << 20) + 128 * packed;
}
inline constexpr std::string_view kMostUnpacked =
    "at most 16 MiB + 128 x what it is packed in, or the unpacked file";

// The whole file. Errors: kBadInput; a directory, and more than `limit` bytes.
[[nodiscard]] Result<std::string> read_file(const std::string& path,
                                            std::uint64_t limit = std::uint64_t{1} << 30);
// The same without zeroes before it is read.
using FileBytes = std::vector<char, Uninitialized<char>>;
[[nodiscard]] Result<FileBytes> read_bytes(const std::string& path,
                                           std::uint64_t limit = std::uint64_t{1} << 30);

// The whole file as text: read_file(), then as_text(). A zero byte ends the reading at once.
[[nodiscard]] Result<std::string> read_text(const std::string& path,
                                            std::uint64_t limit = std::uint64_t{1} << 30);

// `bytes`, read from `path`, as text: without a UTF-8 byte order mark in front. Errors, with line and column: a zero
// byte, and a carriage return inside a line, which readers of lines would take for a blank.
[[nodiscard]] Result<std::string> as_text(const std::string& path, std::string bytes);

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
[[nodiscard]] constexpr std::string_view without_bom(std::string_view text) {
  return text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
}

// Where a carriage return stands inside a line of `text` (not before a line feed, nor at the end): npos if nowhere.
[[nodiscard]] std::size_t stray_return(std::string_view text);

}  // namespace weft
