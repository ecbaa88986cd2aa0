#include "core/files/spill_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "core/files/temporaries.hpp"
#include "core/files/temporary_name.hpp"

namespace weft {
namespace {

// -1 and errno on failure.
int open_nameless(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  // A file system without files without names: one that loses its name at once.
  const std::string name = temporary_name(folder + "/spill", false);
  if (name.empty()) return -1;
  const HoldInterrupts hold;
  const int named = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

std::vector<std::string> folders(const std::string& beside) {
  std::vector<std::string> out;
  struct stat st {};
  if (beside != "-" && (::stat(beside.c_str(), &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) {
    std::string folder = folder_of(beside);
    out.push_back(folder.empty() ? "." : std::move(folder));
  }
  const char* const usual = std::getenv("TMPDIR");
  out.emplace_back(usual != nullptr && *usual != '\0' ? usual : "/tmp");
  return out;
}

Error failure(const std::string& folder, const char* what, int error) {
  return bad_input(folder, fmt::format("cannot {} a temporary file: {}", what, std::strerror(error)));
}

}  // namespace

SpillFile::SpillFile(SpillFile&& o) noexcept
    : fd_(std::exchange(o.fd_, -1)), folder_(std::move(o.folder_)), size_(o.size_) {}

SpillFile& SpillFile::operator=(SpillFile&& o) noexcept {
  if (this != &o) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = std::exchange(o.fd_, -1);
    folder_ = std::move(o.folder_);
    size_ = o.size_;
  }
  return *this;
}

SpillFile::~SpillFile() {
  if (fd_ >= 0) ::close(fd_);
}

Result<SpillFile> SpillFile::open(const std::string& beside) {
  int error = 0;
  const std::vector<std::string> tried = folders(beside);
  for (const std::string& folder : tried) {
    const int fd = open_nameless(folder);
    if (fd >= 0) return SpillFile(fd, folder);
    if (error == 0) error = errno;
  }
  return failure(tried.front(), "make", error);
}

Result<void> SpillFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failure(folder_, "write", n < 0 ? errno : EIO);
    size_ += static_cast<std::uint64_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

Result<void> SpillFile::read(std::uint64_t at, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failure(folder_, "read", n < 0 ? errno : EIO);
    at += static_cast<std::uint64_t>(n);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace weft
