// TraceFile: an open file of known size, read at any offset, never past its end, through a window of it.
//
// The blocks of a trace (.weft, binary GOAL) are asked for in any order. Where that is the order of the file, as when ten thousands of ranks begin with a
// small block each, the window doubles up to kWidest, so that the system is called once for hundreds of them; anywhere else
// it is kFirst bytes, or what was asked for. What it holds is as old as its reading: a file that somebody writes to meanwhile is
// known by its checksums.
// Complexity: view() of what is in the window O(1), else one call of the system. Memory: kWidest, or the longest view.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/source_pos.hpp"
#include "core/uninitialized.hpp"

namespace weft::traces {

class TraceFile {
 public:
  static constexpr std::uint64_t kFirst = std::uint64_t{4} << 10,
                                 kWidest = std::uint64_t{256} << 10;  // bytes

  // Error: it cannot be opened, or is no regular file; `expected`: what should be there.
  static Result<TraceFile> open(const std::string& path, std::string expected) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return bad_input(path, fmt::format("cannot open: {}", std::strerror(errno)));
    TraceFile f(path, fd);
    struct stat st {};
    if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
      return bad_input(path, "not a regular file", {}, std::move(expected));
    f.size_ = static_cast<std::uint64_t>(st.st_size);
    return f;
  }
  TraceFile(TraceFile&& o) noexcept
      : path_(std::move(o.path_)),
        fd_(std::exchange(o.fd_, -1)),
        size_(o.size_),
        window_(std::move(o.window_)),
        begin_(o.begin_),
        filled_(std::exchange(o.filled_, 0)),
        next_(o.next_),
        width_(o.width_),
        reads_(o.reads_) {}
  TraceFile& operator=(TraceFile&&) = delete;
  ~TraceFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Bytes `at` to `at` + `n`, which the file had when it was opened; valid until the next call. Error: it has them no more, or they
  // cannot be read.
  [[nodiscard]] Result<std::string_view> view(std::uint64_t at, std::uint64_t n) {
    if (at < begin_ || at - begin_ > filled_ || n > filled_ - (at - begin_)) WEFT_TRY(read(at, n));
    next_ = at + n;
    return std::string_view(window_.data() + (at - begin_), n);
  }
  // Calls of the system so far.
  [[nodiscard]] std::uint64_t reads() const { return reads_; }
  [[nodiscard]] std::string where(std::uint64_t at, std::int64_t record = -1, std::int64_t rank = -1) const {
    return BytePos{path_, at, record, rank}.text();
  }

 private:
  TraceFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  // The window from `at` on, at least `n` bytes of it.
  Result<void> read(std::uint64_t at, std::uint64_t n) {
    width_ = at == next_ ? std::min(2 * width_, kWidest) : kFirst;
    const std::uint64_t most = std::max(n, std::min(width_, size_ - std::min(at, size_)));
    if (most > window_.size()) window_.resize(most);
    begin_ = at;
    filled_ = 0;
    while (filled_ < most) {
      const ssize_t got =
          ::pread(fd_, window_.data() + filled_, most - filled_, static_cast<off_t>(at + filled_));
      if (got < 0 && errno == EINTR) continue;
      ++reads_;
      if (got < 0) {
        filled_ = 0;
        return bad_input(path_, fmt::format("cannot read: {}", std::strerror(errno)));
      }
      if (got == 0) break;
      filled_ += static_cast<std::uint64_t>(got);
    }
    if (filled_ >= n) return {};
    return bad_input(where(at + filled_), "the file ends here", {},
                     fmt::format("{} more bytes", n - filled_));
  }

  std::string path_;
  int fd_;
  std::uint64_t size_ = 0;
  std::vector<char, Uninitialized<char>> window_;
  std::uint64_t begin_ = 0, filled_ = 0;  // what it holds of the file
  std::uint64_t next_ = 0;                // where the last view ended
  std::uint64_t width_ = kFirst;
  std::uint64_t reads_ = 0;
};

}  // namespace weft::traces
