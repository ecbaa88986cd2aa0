// PointKey: what a point of a study is, in 128 bits: everything that its result depends on, hashed. Two points of one key
// have one result, whoever ran them, when and where.
//
// A key is made of named texts, each with its length, so that no two lists of texts read alike. What a text names is
// part of it: of every regular file that it mentions the content counts (KeyMaker::add_naming_files), of a platform that
// of every file that it is loaded from (KeyMaker::add_platform_files). The version of Weft is part of every key.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "replay/engine.hpp"
#include "topology/platform/platform.hpp"
#include "traces/trace.hpp"

namespace weft::predict {

struct PointKey {
  std::uint64_t high = 0, low = 0;
  friend auto operator<=>(const PointKey&, const PointKey&) = default;
  [[nodiscard]] std::string text() const;  // 32 hexadecimal digits
  [[nodiscard]] static std::optional<PointKey> parse(std::string_view text);
};

// XXH64, for lines of a journal.
[[nodiscard]] std::uint64_t checksum(std::string_view bytes);

// Content of files, each read once. Not thread-safe.
class FileDigests {
 public:
  // 32 digits; empty where `path` is no regular file that can be read.
  [[nodiscard]] const std::string& of(const std::string& path);
  // Digests of the files that the platform is made of (topology::platform_files), a line each; "" where it has none or
  // cannot be read. The loader says which they are, not a guess at its text.
  [[nodiscard]] const std::string& of_platform(std::string_view spec,
                                               const topology::PlatformChanges& changes);
  // Files that `text` names, each once: words between blanks, quotes, ",", ":", "=", braces and brackets; the whole of
  // what stands in quotes, and of that what follows the first "=".
  [[nodiscard]] std::vector<std::string> named_in(std::string_view text);
  // Those that the file's text names; none where it is larger than 1 MiB.
  [[nodiscard]] const std::vector<std::string>& named_in_file(const std::string& path);

 private:
  std::map<std::string, std::string> known_;
  std::map<std::string, std::vector<std::string>> named_;      // by the file that names them
  std::map<std::vector<std::string>, std::string> platforms_;  // by what was asked for
};

class KeyMaker {
 public:
  // `kind`: what sort of point, with the number of its result's format.
  KeyMaker(std::string_view kind, std::string_view version, FileDigests& files);
  KeyMaker& add(std::string_view name, std::string_view text);
  KeyMaker& add(std::string_view name, std::uint64_t number);
  KeyMaker& add(std::string_view name, double number);
  // And the content of the files that it names (FileDigests::named_in), and of those that these name, three deep; each
  // file counts once. Of names as a user writes them; a platform's files are known better.
  KeyMaker& add_naming_files(std::string_view name, std::string_view text);
  KeyMaker& add_platform_files(std::string_view spec, const topology::PlatformChanges& changes);
  [[nodiscard]] PointKey key() const;

 private:
  std::string text_;
  FileDigests* files_;
};

// What was asked for, as parts of a key. A new option does not compile until it is part of it.
void add_options(KeyMaker& key, const replay::ReplayOptions& options);
void add_platform(KeyMaker& key, std::string_view spec, const topology::PlatformChanges& changes);

// Digest of what a trace says: header, communicators, regions and every operation, whatever the file looks like. Reads
// the trace once and rewinds it. Errors: the trace's.
[[nodiscard]] Result<std::string> trace_digest(traces::TraceReader& trace);

}  // namespace weft::predict
