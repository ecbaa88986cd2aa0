// An output file that appears whole or not at all: written beside the target, renamed by commit().
// An interrupted or failed write leaves the old file as it was; the temporary is removed by the destructor.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace weft {

class AtomicFile {
 public:
  // Opens PATH.tmp.<pid> for writing. Errors: kBadInput with the path and the system's reason.
  [[nodiscard]] static Result<AtomicFile> open(std::string path);
  AtomicFile(AtomicFile&& o) noexcept;
  AtomicFile& operator=(AtomicFile&& o) noexcept;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  // Buffered; a failure (disk full) is remembered and reported by commit().
  void write(std::string_view bytes);
  [[nodiscard]] std::uint64_t written() const { return written_; }
  // Flushes, syncs, renames over the target. After it the object is closed.
  [[nodiscard]] Result<void> commit();

 private:
  AtomicFile(std::string path, std::string temporary, std::FILE* file);
  void discard();
  std::string path_;
  std::string temporary_;
  std::FILE* file_ = nullptr;
  std::uint64_t written_ = 0;
  int first_error_ = 0;
};

// Writes `text` to `path` in one go; "-" is standard output.
[[nodiscard]] Result<void> write_output(const std::string& path, std::string_view text);

}  // namespace weft
