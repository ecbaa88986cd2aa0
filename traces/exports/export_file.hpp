// The output of an exporter: its text is collected here and goes out in large pieces. "-" is standard output.
#pragma once

#include <string>

#include "core/files/atomic_file.hpp"

namespace weft::traces {

class ExportFile {
 public:
  static Result<ExportFile> open(const std::string& path, const WorkFolder* work = nullptr) {
    WEFT_ASSIGN(AtomicFile file, AtomicFile::open(path, work));
    return ExportFile(std::move(file));
  }
  std::string& buffer() { return buffer_; }
  // Writes the buffer out once it is large.
  void drain(bool all = false) {
    constexpr std::size_t kDrainBytes = 1u << 18;
    if (!all && buffer_.size() < kDrainBytes) return;
    file_.write(buffer_);
    buffer_.clear();
  }
  Result<void> close() {
    drain(true);
    return file_.commit();
  }
  // For one of several files that appear together: everything is written, only the name is missing (commit_all()).
  Result<AtomicFile> hand_over() {
    drain(true);
    WEFT_TRY(file_.close());
    return std::move(file_);
  }

 private:
  explicit ExportFile(AtomicFile file) : file_(std::move(file)) {}
  AtomicFile file_;
  std::string buffer_;
};

}  // namespace weft::traces
