// A file for what is too much for memory: it has no name, so it is gone when its process is, however that ends.
//
// Beside the output that is being made of it, whose disk has room for it if any has; where that is no file (standard output, a device)
// or its folder takes no new files, in TMPDIR, or /tmp.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/result.hpp"

namespace weft {

class SpillFile {
 public:
  // `beside`: the path of an output. Errors: kBadInput with the folder and the system's reason.
  [[nodiscard]] static Result<SpillFile> open(const std::string& beside);
  SpillFile(SpillFile&& o) noexcept;
  SpillFile& operator=(SpillFile&& o) noexcept;
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;
  ~SpillFile();

  // At the end. Errors: kBadInput, as a full disk.
  [[nodiscard]] Result<void> append(std::span<const std::byte> bytes);
  // What was appended, from byte `at` on; all of it must be there. Errors: kBadInput.
  [[nodiscard]] Result<void> read(std::uint64_t at, std::span<std::byte> bytes) const;
  [[nodiscard]] std::uint64_t size() const { return size_; }

 private:
  SpillFile(int fd, std::string folder) : fd_(fd), folder_(std::move(folder)) {}
  int fd_;
  std::string folder_;
  std::uint64_t size_ = 0;
};

}  // namespace weft
