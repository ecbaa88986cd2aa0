// A folder for an output of many files while they are written: .weft-....tmp beside its place. It goes away with the
// object, with an interrupt, and after SIGKILL with the next run that writes the same output: who works in one holds a lock on
// it, so no run removes another's.
#pragma once

#include <string>

#include "core/files/temporaries.hpp"
#include "core/result.hpp"

namespace weft {

class WorkFolder {
 public:
  // An empty folder beside `target`, for its owner only. Errors: kBadInput with the system's reason.
  [[nodiscard]] static Result<WorkFolder> open(const std::string& target);
  WorkFolder() = default;
  WorkFolder(WorkFolder&& o) noexcept;
  WorkFolder& operator=(WorkFolder&& o) noexcept;
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder();

  [[nodiscard]] const std::string& path() const { return path_; }
  // It has been renamed: it is the output now.
  void keep() { folder_.keep(); }

 private:
  std::string path_;
  Temporary folder_;
  int fd_ = -1;
};

}  // namespace weft
