// PointKey: what a point of a study is, in 128 bits: everything that its result depends on, hashed. Two points of one key
// have one result, whoever ran them, when and where.
//
// A key is made of named texts, each with its length, so that no two lists of texts read alike. Of every file that a flag
// names the content counts; which files these are the flag's own reader says, not a guess at its text. The version of Weft is part
// of every key.
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

// What the system says of a regular file: two that are alike are one file that nobody wrote to in between.
struct FileStamp {
  std::uint64_t device = 0, inode = 0;
  std::int64_t size = 0, modified_ns = 0, changed_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// Content of files, each read once, and whether they are still what they were then: a point's run reads them again. Not
// thread-safe, but for changed().
class FileDigests {
 public:
  // 32 digits; empty where `path` is no file or pipe that can be read.
  [[nodiscard]] const std::string& of(const std::string& path);
  // Digests of the files that the platform is made of (topology::platform_files), a line each; "" where it has none or
  // cannot be read.
  [[nodiscard]] const std::string& of_platform(std::string_view spec,
                                               const topology::PlatformChanges& changes);
  // A file whose content others read into a key, from now on.
  void watch(const std::string& path);
  // One that is not what it was when it was first asked for; "" if all are. Thread-safe beside itself. Cost: a stat
  // for each file.
  [[nodiscard]] std::string changed() const;

 private:
  std::map<std::string, std::string> known_;
  std::map<std::string, std::optional<FileStamp>> stamps_;     // none: no regular file
  std::map<std::vector<std::string>, std::string> platforms_;  // by what was asked for
};

class KeyMaker {
 public:
  // `kind`: what sort of point, with the number of its result's format.
  KeyMaker(std::string_view kind, std::string_view version, FileDigests& files);
  KeyMaker& add(std::string_view name, std::string_view text);
  KeyMaker& add(std::string_view name, std::uint64_t number);
  KeyMaker& add(std::string_view name, double number);
  // And the content of the file that it is read from.
  KeyMaker& add_map(std::string_view map);
  KeyMaker& add_collective_rules(std::string_view rules);
  KeyMaker& add_platform_files(std::string_view spec, const topology::PlatformChanges& changes);
  [[nodiscard]] PointKey key() const;

 private:
  KeyMaker& add_file(const std::string& path);
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
