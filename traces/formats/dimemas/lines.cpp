#include "traces/formats/dimemas/lines.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "core/files/spill_file.hpp"
#include "core/source_pos.hpp"
#include "traces/packed/unpacked_copy.hpp"
#include "traces/packed/walk_archive.hpp"
#include "traces/weft/format.hpp"

namespace weft::traces::dimemas {

// Read only.
class LineReader::File {
 public:
  explicit File(int fd) : fd_(fd) {}
  explicit File(SpillFile unpacked) : unpacked_(std::move(unpacked)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] std::uint64_t size() const {
    if (unpacked_) return unpacked_->size();
    struct stat st {};
    return ::fstat(fd_, &st) == 0 ? static_cast<std::uint64_t>(st.st_size) : 0;
  }
  // How many bytes from `at` on were read: fewer than there is room for at its end, or before; 0: none are left.
  [[nodiscard]] Result<std::size_t> read(const std::string& path, std::uint64_t at,
                                         std::span<char> room) const {
    if (unpacked_) {
      const std::uint64_t left = unpacked_->size() - std::min(at, unpacked_->size());
      room = room.first(static_cast<std::size_t>(std::min<std::uint64_t>(left, room.size())));
      WEFT_TRY(unpacked_->read(at, std::as_writable_bytes(room)));
      return room.size();
    }
    for (;;) {
      const auto n = ::pread(fd_, room.data(), room.size(), static_cast<off_t>(at));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return bad_input(path, fmt::format("cannot read: {}", std::strerror(errno)));
      return static_cast<std::size_t>(n);
    }
  }

 private:
  int fd_ = -1;
  std::optional<SpillFile> unpacked_;
};

Result<void> LineReader::open(const std::string& path) {
  path_ = path;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return bad_input(path, fmt::format("cannot open: {}", std::strerror(errno)));
  auto file = std::make_shared<const File>(fd);
  std::array<char, 8> first{};
  WEFT_ASSIGN(const std::size_t n, file->read(path, 0, first));
  if (packing_of({first.data(), n}) != nullptr) {
    WEFT_ASSIGN(SpillFile unpacked, unpacked_copy(path));
    file = std::make_shared<const File>(std::move(unpacked));
  }
  file_ = std::move(file);
  buffer_.resize(kFirst);
  return {};
}

void LineReader::open(const LineReader& other) {
  path_ = other.path_;
  file_ = other.file_;
  buffer_.resize(kFirst);
}

std::uint64_t LineReader::most_tasks() const {
  constexpr std::uint64_t kBytesOfATask = 16;  // of its name in the head and a record
  return std::max(format::kFreeRanks, file_->size() / kBytesOfATask);
}

void LineReader::seek(const LinePos& pos) {
  pos_ = pos;
  if (pos.offset >= begin_ && pos.offset <= begin_ + held_) return;
  begin_ = pos.offset;
  held_ = 0;
}

// More of the file behind what is held, of which only what stands from pos_ on is kept. False at the end of the file.
Result<bool> LineReader::fill() {
  const auto done = static_cast<std::size_t>(pos_.offset - begin_);
  held_ -= done;
  std::memmove(buffer_.data(), buffer_.data() + done, held_);
  begin_ = pos_.offset;
  if (held_ == buffer_.size()) {
    if (buffer_.size() >= kMost)
      return bad_input(SourcePos{path_, static_cast<std::uint32_t>(pos_.number), 0}.text(),
                       "the line is too long", fmt::format("{} bytes or more", held_),
                       fmt::format("less than {}", kMost));
    buffer_.resize(buffer_.size() * 2);
  }
  WEFT_ASSIGN(const std::size_t n, file_->read(path_, begin_ + held_, std::span(buffer_).subspan(held_)));
  held_ += n;
  return n > 0;
}

Result<bool> LineReader::next(Line& line) {
  line = {&path_, pos_.number, {}};
  std::size_t looked = 0;  // bytes without a line feed
  for (;;) {
    const auto done = static_cast<std::size_t>(pos_.offset - begin_);
    const char* const from = buffer_.data() + done;
    const std::size_t size = held_ - done;
    const void* const feed = std::memchr(from + looked, '\n', size - looked);
    std::size_t length = size;
    if (feed == nullptr) {
      looked = size;
      WEFT_ASSIGN(const bool more, fill());
      if (more) continue;
      if (size == 0) return false;
    } else {
      length = static_cast<std::size_t>(static_cast<const char*>(feed) - from);
    }
    // fill() may have moved what is held.
    line.text = {buffer_.data() + (pos_.offset - begin_), length};
    while (!line.text.empty() &&
           (line.text.back() == '\r' || line.text.back() == ' ' || line.text.back() == '\t'))
      line.text.remove_suffix(1);
    pos_.offset += length + (feed == nullptr ? 0 : 1);
    ++pos_.number;
    return true;
  }
}

}  // namespace weft::traces::dimemas
