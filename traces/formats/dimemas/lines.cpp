#include "traces/formats/dimemas/lines.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/source_pos.hpp"
#include "traces/weft/format.hpp"

namespace weft::traces::dimemas {

LineReader::~LineReader() {
  if (file_ >= 0) ::close(file_);
}

Result<void> LineReader::open(const std::string& path) {
  path_ = path;
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) return bad_input(path, fmt::format("cannot open: {}", std::strerror(errno)));
  buffer_.resize(kFirst);
  return {};
}

std::uint64_t LineReader::most_tasks() const {
  constexpr std::uint64_t kBytesOfATask = 16;  // of its name in the head and a record
  struct stat st {};
  const std::uint64_t bytes = ::fstat(file_, &st) == 0 ? static_cast<std::uint64_t>(st.st_size) : 0;
  return std::max(format::kFreeRanks, bytes / kBytesOfATask);
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
  for (;;) {
    const auto n =
        ::pread(file_, buffer_.data() + held_, buffer_.size() - held_, static_cast<off_t>(begin_ + held_));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return bad_input(path_, fmt::format("cannot read: {}", std::strerror(errno)));
    held_ += static_cast<std::size_t>(n);
    return n > 0;
  }
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
