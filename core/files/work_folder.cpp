#include "core/files/work_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/files/temporary_name.hpp"

namespace weft {
namespace {

// The folder under this name if it is one of this user's; or -1.
int open_own(const std::string& name) {
  const int fd = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat st {};
  if (fd < 0 || (::fstat(fd, &st) == 0 && st.st_uid == ::geteuid())) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

WorkFolder::WorkFolder(WorkFolder&& o) noexcept
    : path_(std::move(o.path_)), folder_(std::move(o.folder_)), fd_(std::exchange(o.fd_, -1)) {}

WorkFolder& WorkFolder::operator=(WorkFolder&& o) noexcept {
  if (this != &o) {
    folder_ = std::move(o.folder_);
    path_ = std::move(o.path_);
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(o.fd_, -1);
  }
  return *this;
}

WorkFolder::~WorkFolder() {
  folder_ = Temporary();  // before the lock ends: another run might take it for one that was left
  if (fd_ >= 0) ::close(fd_);
}

Result<WorkFolder> WorkFolder::open(const std::string& target) {
  const auto failed = [&target](int error) {
    return bad_input(target, fmt::format("cannot create the directory: {}", std::strerror(error)));
  };
  WorkFolder w;
  bool first = true;
  for (int tries = 0; tries < 100; ++tries) {
    w.path_ = temporary_name(target, first);
    if (w.path_.empty()) return failed(errno);
    const HoldInterrupts hold;
    const bool made = ::mkdir(w.path_.c_str(), 0700) == 0;
    if (!made && errno != EEXIST) return failed(errno);
    const bool try_it = made || first;  // what a killed run left is under the first name
    first = false;
    const int fd = try_it ? open_own(w.path_) : -1;
    if (fd < 0) continue;
    // A new one may be without a lock where the file system knows none.
    const bool locked = take_lock(fd);
    if ((!locked && (!made || errno == EWOULDBLOCK)) || !is_at(fd, w.path_)) {
      ::close(fd);  // another run works in it, or took the new one for one that was left
      continue;
    }
    w.fd_ = fd;
    w.folder_ = Temporary(w.path_, Temporary::Kind::kTree);
    std::error_code ec;
    for (std::filesystem::directory_iterator it(w.path_, ec), end; !ec && it != end; it.increment(ec)) {
      std::filesystem::remove_all(it->path(), ec);
      if (ec) break;
    }
    if (ec) return failed(ec.value());
    return w;
  }
  return failed(EEXIST);
}

}  // namespace weft
