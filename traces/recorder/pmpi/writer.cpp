#include "traces/recorder/pmpi/writer.hpp"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace weft::recorder {
namespace {

constexpr std::size_t kPage =
    65536;  // largest page size of the usual machines: window offsets are multiples of it
constexpr std::size_t kWindowBytes = std::size_t{1} << 22;

// The header occupies a whole page multiple so that every window starts on one.
constexpr std::size_t kHeaderRoom = kPage;

// Makes room for `bytes` more at `offset`. A limit on the size of files (ulimit -f) must not be tried out: the
// system would kill the program for it (SIGXFSZ).
bool allocate(int fd, std::uint64_t offset, std::size_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      (limit.rlim_cur < bytes || limit.rlim_cur - bytes < offset))
    return false;
  return ::posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0;
}

// Out of the way of programs that close the first few descriptors, or count on the number of their next file. Below the usual
// limit of 1024.
int moved_up(int fd) {
  constexpr int kOutOfTheWay = 960;
  const int high = fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, kOutOfTheWay);
  if (high < 0) return fd;
  ::close(fd);
  return high;
}

}  // namespace

bool SpoolWriter::open(const char* path) {
  if (::strlen(path) >= sizeof path_) return false;
  ::strcpy(path_, path);
  fd_ = moved_up(::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (fd_ < 0) return false;
  void* at = MAP_FAILED;
  if (::fstat(fd_, &file_) == 0 && allocate(fd_, 0, kHeaderRoom))
    at = ::mmap(nullptr, kHeaderRoom, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (at == MAP_FAILED) {
    ::unlink(path);  // a spool without a header is none
    ::close(fd_);
    fd_ = -1;
    return false;
  }
  header_ = static_cast<SpoolHeader*>(at);
  header_->version = kSpoolVersion;
  header_->header_bytes = kHeaderRoom;
  file_bytes_ = kHeaderRoom;
  return true;
}

bool SpoolWriter::is_spool(int fd) const {
  struct stat now {};
  return ::fstat(fd, &now) == 0 && now.st_dev == file_.st_dev && now.st_ino == file_.st_ino;
}

// The program may have closed it: then the number is nobody's, or of a file of the program.
bool SpoolWriter::have_descriptor() {
  if (is_spool(fd_)) return true;
  fd_ = moved_up(::open(path_, O_RDWR | O_CLOEXEC));
  if (fd_ < 0 || is_spool(fd_)) return fd_ >= 0;
  ::close(fd_);
  fd_ = -1;
  return false;
}

bool SpoolWriter::give_up(std::uint32_t why) {
  header_->out_of_space = why;
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  return false;
}

bool SpoolWriter::next_window(std::size_t bytes) {
  if (fd_ < 0) return false;
  if (!have_descriptor()) return give_up(kFileLost);
  if (window_ != nullptr && window_bytes_ - used_ >= 8) {
    auto* r = reinterpret_cast<SpoolRecord*>(window_ + used_);
    publish(r, kPadding, 0, (window_bytes_ - used_) / 8 - 1);
  }
  const std::size_t size = bytes <= kWindowBytes ? kWindowBytes : (bytes + kPage - 1) / kPage * kPage;
  if (!allocate(fd_, file_bytes_, size)) return give_up(kDiskFull);
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, static_cast<off_t>(file_bytes_));
  if (at == MAP_FAILED) return give_up(kDiskFull);
  if (previous_ != nullptr && !keep_) ::munmap(previous_, previous_bytes_);
  previous_ = window_;
  previous_bytes_ = window_bytes_;
  window_ = static_cast<char*>(at);
  window_bytes_ = size;
  used_ = 0;
  file_bytes_ += size;
  return true;
}

SpoolRecord* SpoolWriter::reserve(std::size_t list_words) {
  const std::size_t bytes = sizeof(SpoolRecord) + 8 * list_words;
  if (window_bytes_ - used_ < bytes && !next_window(bytes)) return nullptr;
  auto* r = reinterpret_cast<SpoolRecord*>(window_ + used_);
  used_ += bytes;
  return r;
}

void SpoolWriter::publish(SpoolRecord* r, std::uint8_t kind, std::uint8_t flags, std::size_t list_words,
                          std::uint16_t thread) {
  const std::uint64_t word = std::uint64_t{kind} | (std::uint64_t{flags} << 8) |
                             (std::uint64_t{thread} << 16) | (std::uint64_t{list_words} << 32);
  __atomic_store_n(reinterpret_cast<std::uint64_t*>(r), word, __ATOMIC_RELEASE);
}

void SpoolWriter::set_flags(SpoolRecord* r, std::uint8_t flags) {
  __atomic_store_n(&r->flags, flags, __ATOMIC_RELEASE);
}

}  // namespace weft::recorder
