// The output of an exporter: a file that appears whole, or standard output.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "core/atomic_file.hpp"

namespace weft::traces {

class ExportFile {
 public:
  static Result<ExportFile> open(const std::string& path) {
    ExportFile f;
    if (path != "-") {
      WEFT_ASSIGN(f.file_, AtomicFile::open(path));
    }
    return f;
  }
  std::string& buffer() { return buffer_; }
  // Writes the buffer out once it is large.
  void drain(bool all = false) {
    constexpr std::size_t kDrainBytes = 1u << 18;
    if (!all && buffer_.size() < kDrainBytes) return;
    if (file_)
      file_->write(buffer_);
    else if (std::fwrite(buffer_.data(), 1, buffer_.size(), stdout) != buffer_.size())
      failed_ = true;
    buffer_.clear();
  }
  Result<void> close() {
    drain(true);
    if (file_) return file_->commit();
    if (std::fflush(stdout) != 0 || failed_) return bad_input("stdout", "cannot write");
    return {};
  }

 private:
  std::optional<AtomicFile> file_;
  std::string buffer_;
  bool failed_ = false;
};

}  // namespace weft::traces
