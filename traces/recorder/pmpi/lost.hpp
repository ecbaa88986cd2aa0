// The line that a recorded process leaves when a program is not recorded after all, and why; weft tells it.
//
// System calls and the stack only: it may be written between vfork and exec.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/recorder/spool.hpp"

namespace weft::recorder {

// The path of kLostFile or kWrongMpiFile of the recording this process belongs to; false and an empty path if it is none.
inline bool lost_file(const char* file, char* to, std::size_t room) {
  to[0] = '\0';
  const char* directory = getenv(kEnvDirectory);
  if (directory == nullptr || strlen(directory) + strlen(file) + 2 > room) return false;
  strcpy(to, directory);
  strcat(to, "/");
  strcat(to, file);
  return true;
}

class LostLine {
 public:
  void add(const char* text) {
    while (*text != '\0' && used_ + 1 < sizeof text_) text_[used_++] = *text >= ' ' ? *text : '?', ++text;
  }
  void save(const char* path) {
    const int fd = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);  // the first loss is told
    if (fd < 0) return;
    [[maybe_unused]] const ssize_t written = ::write(fd, text_, used_);
    ::close(fd);
  }

 private:
  char text_[1024];
  std::size_t used_ = 0;
};

}  // namespace weft::recorder
