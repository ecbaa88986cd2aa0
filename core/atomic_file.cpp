#include "core/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace weft {

AtomicFile::AtomicFile(std::string path, std::string temporary, std::FILE* file)
    : path_(std::move(path)), temporary_(std::move(temporary)), file_(file) {}

AtomicFile::AtomicFile(AtomicFile&& o) noexcept
    : path_(std::move(o.path_)),
      temporary_(std::move(o.temporary_)),
      file_(std::exchange(o.file_, nullptr)),
      written_(o.written_),
      first_error_(o.first_error_) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& o) noexcept {
  if (this != &o) {
    discard();
    path_ = std::move(o.path_);
    temporary_ = std::move(o.temporary_);
    file_ = std::exchange(o.file_, nullptr);
    written_ = o.written_;
    first_error_ = o.first_error_;
  }
  return *this;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  file_ = nullptr;
  ::unlink(temporary_.c_str());
}

Result<AtomicFile> AtomicFile::open(std::string path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode))
    return bad_input(path, "cannot write: it is a directory");
  std::string tmp = fmt::format("{}.tmp.{}", path, ::getpid());
  std::FILE* f = std::fopen(tmp.c_str(), "wbe");
  if (f == nullptr) return bad_input(path, fmt::format("cannot write: {}", std::strerror(errno)));
  return AtomicFile(std::move(path), std::move(tmp), f);
}

void AtomicFile::write(std::string_view bytes) {
  WEFT_CHECK(file_ != nullptr, "write after commit");
  if (first_error_ != 0 || bytes.empty()) return;
  errno = 0;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size())
    first_error_ = errno != 0 ? errno : EIO;
  written_ += bytes.size();
}

Result<void> AtomicFile::commit() {
  WEFT_CHECK(file_ != nullptr, "commit twice");
  if (first_error_ == 0 && std::fflush(file_) != 0) first_error_ = errno;
  if (first_error_ == 0 && ::fsync(::fileno(file_)) != 0 && errno != EINVAL) first_error_ = errno;
  if (first_error_ != 0) {
    const int e = first_error_;
    discard();
    return bad_input(path_, fmt::format("cannot write: {}", std::strerror(e)));
  }
  std::fclose(std::exchange(file_, nullptr));
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int e = errno;
    ::unlink(temporary_.c_str());
    return bad_input(path_, fmt::format("cannot write: {}", std::strerror(e)));
  }
  return {};
}

Result<void> write_output(const std::string& path, std::string_view text) {
  if (path == "-") {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
      return bad_input("stdout", fmt::format("cannot write: {}", std::strerror(errno)));
    return {};
  }
  WEFT_ASSIGN(AtomicFile f, AtomicFile::open(path));
  f.write(text);
  return f.commit();
}

}  // namespace weft
