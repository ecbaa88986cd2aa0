#include "core/files/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "core/files/temporary_name.hpp"

namespace weft {
namespace {

constexpr int kMaxLinks = 40;  // as Linux

// Where a path leads once its links are followed.
struct Target {
  std::string path;
  int descriptor = -1;  // one of ours that is open, or -1
  bool exists = false;
  struct stat st {};
};

// N of /dev/fd/N and /proc/self/fd/N, else -1. Opening those again would start at the file's first byte.
int descriptor_named(std::string_view path) {
  const std::string mine = fmt::format("/proc/{}/fd/", ::getpid());
  for (const std::string_view prefix : {std::string_view("/dev/fd/"), std::string_view("/proc/self/fd/"),
                                        std::string_view("/proc/thread-self/fd/"), std::string_view(mine)}) {
    if (!path.starts_with(prefix)) continue;
    int n = -1;
    const char* end = path.data() + path.size();
    const auto [at, code] = std::from_chars(path.data() + prefix.size(), end, n);
    if (code == std::errc{} && at == end) return n;
  }
  return -1;
}

// 0, or the system's reason.
int follow(std::string path, Target& out) {
  for (int links = 0; links <= kMaxLinks; ++links) {
    out.path = path;
    out.descriptor = descriptor_named(path);
    out.exists = ::stat(path.c_str(), &out.st) == 0;
    if (!out.exists && errno != ENOENT) return errno;
    if (out.descriptor >= 0) return 0;
    struct stat own {};
    if (::lstat(path.c_str(), &own) != 0) return errno == ENOENT ? 0 : errno;
    if (!S_ISLNK(own.st_mode)) return 0;
    char to[4096];
    const ssize_t n = ::readlink(path.c_str(), to, sizeof to);
    if (n < 0) return errno;
    const std::string_view link(to, static_cast<std::size_t>(n));
    const auto slash = path.rfind('/');
    std::string next = link.starts_with('/') || slash == std::string::npos
                           ? std::string(link)
                           : path.substr(0, slash + 1) + std::string(link);
    // The links of /proc to pipes and the like lead to no path: what stat() said about them is all there is.
    if (out.exists && descriptor_named(next) < 0 && ::lstat(next.c_str(), &own) != 0) return 0;
    path = std::move(next);
  }
  return ELOOP;
}

// Removes what stands under the name if it is a file that a process of this user left behind. Whether it did.
bool remove_stale(const std::string& name) {
  const int fd = ::open(name.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return false;
  struct stat st {};
  const bool left = ::fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == ::geteuid() &&
                    st.st_nlink == 1 && take_lock(fd) && is_at(fd, name) && ::unlink(name.c_str()) == 0;
  ::close(fd);
  return left;
}

// `make(name)` under new names beside `target`, or without the first one, until one is free. What it gave, or -1 and
// errno.
template <class Make>
int under_new_name(const std::string& target, bool first, std::string& name, const Make& make) {
  for (int tries = 0; tries < 100; ++tries) {
    name = temporary_name(target, first);
    if (name.empty()) return -1;
    const int made = make(name);
    if (made >= 0 || errno != EEXIST) return made;
    first = first && remove_stale(name);
  }
  return -1;
}

// A new file beside `target`, locked. -1 and errno on failure.
int open_beside(const std::string& target, mode_t mode, std::string& name) {
  return under_new_name(target, true, name, [mode](const std::string& n) {
    const int fd = ::open(n.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd < 0 || (take_lock(fd), is_at(fd, n))) return fd;
    ::close(fd);  // another process took it for one that was left
    errno = EEXIST;
    return -1;
  });
}

// A file without a name in the folder of `target`, which is gone when its process is. -1 where the system has none: some
// file systems, and where no /proc leads to a name for it later.
int open_without_name(const std::string& target, mode_t mode) {
  const std::string folder = folder_of(target);
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
  if (fd < 0) return -1;
  if (::access(fmt::format("/proc/self/fd/{}", fd).c_str(), F_OK) == 0) {
    take_lock(fd);
    return fd;
  }
  ::close(fd);
  return -1;
}

int give_name(int fd, const std::string& name) {
  return ::linkat(AT_FDCWD, fmt::format("/proc/self/fd/{}", fd).c_str(), AT_FDCWD, name.c_str(),
                  AT_SYMLINK_FOLLOW);
}

// Owner, group and permissions of the file that is to be replaced.
int keep_mode(int fd, const struct stat& old) {
  mode_t mode = old.st_mode & 0777;
  struct stat now {};
  if (::fstat(fd, &now) != 0) return errno;
  if (now.st_uid != old.st_uid || now.st_gid != old.st_gid)
    if (::fchown(fd, old.st_uid, old.st_gid) != 0 && ::fchown(fd, static_cast<uid_t>(-1), old.st_gid) != 0 &&
        now.st_gid != old.st_gid)
      mode &= ~static_cast<mode_t>(070);  // what one group was allowed is not another's
  return ::fchmod(fd, mode) == 0 ? 0 : errno;
}

}  // namespace

AtomicFile::AtomicFile(AtomicFile&& o) noexcept
    : path_(std::move(o.path_)),
      target_(std::move(o.target_)),
      beside_(std::move(o.beside_)),
      temporary_(std::move(o.temporary_)),
      file_(std::exchange(o.file_, nullptr)),
      written_(o.written_),
      first_error_(o.first_error_),
      straight_(o.straight_),
      nameless_(o.nameless_),
      synced_(o.synced_),
      done_(std::exchange(o.done_, true)) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& o) noexcept {
  if (this != &o) {
    discard();
    path_ = std::move(o.path_);
    target_ = std::move(o.target_);
    beside_ = std::move(o.beside_);
    temporary_ = std::move(o.temporary_);
    file_ = std::exchange(o.file_, nullptr);
    written_ = o.written_;
    first_error_ = o.first_error_;
    straight_ = o.straight_;
    nameless_ = o.nameless_;
    synced_ = o.synced_;
    done_ = std::exchange(o.done_, true);
  }
  return *this;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (file_ != nullptr && file_ != stdout) std::fclose(file_);
  file_ = nullptr;
  temporary_.remove();
  done_ = true;
}

Error AtomicFile::failure(int error) const {
  return bad_input(path_ == "-" ? "stdout" : path_, fmt::format("cannot write: {}", std::strerror(error)));
}

Result<AtomicFile> AtomicFile::open(std::string path, const WorkFolder* work) {
  AtomicFile f;
  f.path_ = std::move(path);
  if (f.path_ == "-") {
    f.file_ = stdout;
    f.straight_ = true;
    return f;
  }
  Target target;
  if (const int error = follow(f.path_, target); error != 0) return f.failure(error);
  if (target.exists && S_ISDIR(target.st.st_mode))
    return bad_input(f.path_, "cannot write: it is a directory");
  f.target_ = target.path;
  // Only where the folder is the one that holds the target: a link may lead to another file system.
  f.beside_ =
      work != nullptr && folder_of(work->path()) == folder_of(f.target_) ? work->path() + "/x" : f.target_;
  int fd = -1;
  if (target.descriptor == STDOUT_FILENO) {
    f.file_ = stdout;  // in one order with what is printed
    f.straight_ = true;
    return f;
  }
  if (target.descriptor >= 0 || (target.exists && !S_ISREG(target.st.st_mode))) {
    f.straight_ = true;
    fd = target.descriptor >= 0 ? ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 3)
                                : ::open(f.target_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) return f.failure(errno);
  } else {
    if (target.exists && ::faccessat(AT_FDCWD, f.target_.c_str(), W_OK, AT_EACCESS) != 0)
      return f.failure(errno);
    const mode_t mode = target.exists ? 0600 : 0666;
    fd = open_without_name(f.beside_, mode);
    f.nameless_ = fd >= 0;
    if (!f.nameless_) {
      std::string name;
      const HoldInterrupts hold;
      fd = open_beside(f.beside_, mode, name);
      if (fd < 0) return f.failure(errno);
      f.keep_name(name, fd);
    }
    if (target.exists)
      if (const int error = keep_mode(fd, target.st); error != 0) {
        ::close(fd);
        return f.failure(error);
      }
  }
  f.file_ = ::fdopen(fd, "wb");
  if (f.file_ == nullptr) {
    const int error = errno;
    ::close(fd);
    return f.failure(error);
  }
  return f;
}

void AtomicFile::write(std::string_view bytes) {
  WEFT_CHECK(file_ != nullptr, "write after close");
  if (first_error_ != 0 || bytes.empty()) return;
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size())
    first_error_ = errno != 0 ? errno : EIO;
  written_ += bytes.size();
}

void AtomicFile::keep_name(const std::string& name, int fd) {
  try {
    temporary_ = Temporary(name, Temporary::Kind::kFile);
  } catch (...) {
    ::close(fd);
    throw;
  }
}

// 0, or why the temporary has not got a name. `first`: the one that another run may take when the lock is gone.
int AtomicFile::name_temporary(int fd, bool first) {
  const HoldInterrupts hold;
  const auto make = [&](const std::string& n) {
    return nameless_ ? give_name(fd, n) : std::rename(temporary_.path(), n.c_str());
  };
  std::string name;
  if (under_new_name(beside_, first, name, make) < 0) return errno;
  Temporary named(name, Temporary::Kind::kFile);
  temporary_.keep();  // it is not there any more
  temporary_ = std::move(named);
  nameless_ = false;
  return 0;
}

// `held`: all bytes are on the disk when it returns, and the file stays open under this number, and with it the lock.
Result<void> AtomicFile::finish(int* held) {
  if (first_error_ == 0 && std::fflush(file_) != 0) first_error_ = errno;
  if (!straight_) {
    if (first_error_ == 0 && held != nullptr && !synced_ && ::fsync(::fileno(file_)) != 0 && errno != EINVAL)
      first_error_ = errno;
    if (first_error_ == 0 && held == nullptr) first_error_ = name_temporary(::fileno(file_), false);
    if (first_error_ == 0 && held != nullptr) {
      *held = ::fcntl(::fileno(file_), F_DUPFD_CLOEXEC, 3);
      if (*held < 0) first_error_ = errno;
    }
  }
  if (file_ != stdout && std::fclose(file_) != 0 && first_error_ == 0) first_error_ = errno;
  file_ = nullptr;
  if (first_error_ == 0) return {};
  const int error = first_error_;
  discard();
  return failure(error);
}

Result<void> AtomicFile::close() {
  if (file_ == nullptr) {
    WEFT_CHECK(!done_, "close after commit");
    return {};
  }
  return finish(nullptr);
}

// 0, or why the file is not under its name.
int AtomicFile::put_in_place(int fd) {
  if (nameless_) {
    if (give_name(fd, target_) == 0) return 0;  // there was none
    if (errno != EEXIST) return errno;
    if (const int error = name_temporary(fd, true); error != 0) return error;
  }
  if (fd >= 0 && !is_at(fd, temporary_.path())) return ESTALE;  // never another's file
  return std::rename(temporary_.path(), target_.c_str()) == 0 ? 0 : errno;
}

Result<void> AtomicFile::commit() {
  WEFT_CHECK(!done_, "commit twice");
  struct Held {
    int fd = -1;
    ~Held() {
      if (fd >= 0) ::close(fd);
    }
  } held;
  if (file_ != nullptr) WEFT_TRY(finish(&held.fd));
  done_ = true;
  if (straight_) return {};
  if (const int error = put_in_place(held.fd); error != 0) {
    temporary_.remove();
    return failure(error);
  }
  temporary_.keep();
  return {};
}

// A descriptor on the file system of one that is closed; -1 and errno on failure.
int AtomicFile::open_for_sync() const {
  const int fd = ::open(temporary_.path(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd >= 0 || errno != EACCES) return fd;
  const std::string folder = folder_of(temporary_.path());
  return ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

// Of one that is open: what was written is on the disk, and it has no name of its own yet.
Result<void> AtomicFile::sync_open() {
  if (first_error_ == 0 && std::fflush(file_) != 0) first_error_ = errno;
  if (first_error_ == 0 && !straight_ && ::fsync(::fileno(file_)) != 0 && errno != EINVAL)
    first_error_ = errno;
  if (first_error_ == 0) {
    synced_ = true;
    return {};
  }
  const int error = first_error_;
  discard();
  return failure(error);
}

// Brings files to the disk. Many of one file system that are closed take one sync of all of it: a millisecond a file is more
// than what others have written there.
Result<void> sync_all(std::span<AtomicFile> files) {
  constexpr std::size_t kMany = 16;
  std::set<std::string> folders;
  std::set<dev_t> synced;
  for (AtomicFile& f : files) {
    if (f.file_ != nullptr) {
      WEFT_TRY(f.sync_open());
      continue;
    }
    if (!f.temporary_.active()) continue;  // straight
    if (files.size() >= kMany && !folders.insert(folder_of(f.temporary_.path())).second) continue;
    const int fd = f.open_for_sync();
    if (fd < 0) return f.failure(errno);
    struct stat st {};
    int error = ::fstat(fd, &st) == 0 ? 0 : errno;
    const bool whole = files.size() >= kMany || S_ISDIR(st.st_mode);
    if (error == 0 && (!whole || synced.insert(st.st_dev).second) &&
        (whole ? ::syncfs(fd) : ::fsync(fd)) != 0 && errno != EINVAL)
      error = errno;
    ::close(fd);
    if (error != 0) return f.failure(error);
  }
  return {};
}

Result<void> commit_all(std::span<AtomicFile> files) {
  WEFT_TRY(sync_all(files));
  const HoldInterrupts hold;
  for (AtomicFile& f : files) WEFT_TRY(f.commit());
  return {};
}

Result<void> write_output(const std::string& path, std::string_view text) {
  WEFT_ASSIGN(AtomicFile f, AtomicFile::open(path));
  f.write(text);
  return f.commit();
}

std::string output_identity(const std::string& path) {
  Target target;
  if (path == "-") return "descriptor 1";
  if (follow(path, target) != 0) return "path " + path;
  if (target.descriptor >= 0) return fmt::format("descriptor {}", target.descriptor);
  if (target.exists) return fmt::format("device {} inode {}", target.st.st_dev, target.st.st_ino);
  std::error_code ec;
  const auto whole = std::filesystem::weakly_canonical(std::filesystem::absolute(target.path, ec), ec);
  return "path " + (ec ? target.path : whole.string());
}

bool is_standard_output(const std::string& path) {
  Target target;
  return path == "-" || (follow(path, target) == 0 && target.descriptor == STDOUT_FILENO);
}

}  // namespace weft
