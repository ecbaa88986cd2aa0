#include "core/files/input_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "core/source_pos.hpp"

namespace weft {
namespace {

// "FILE:LINE:COLUMN" of byte `at` of `text`.
std::string position(const std::string& path, std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t line = before.rfind('\n');  // npos + 1 = 0: the first
  return SourcePos{path, static_cast<std::uint32_t>(1 + std::ranges::count(before, '\n')),
                   static_cast<std::uint32_t>(at - (line + 1) + 1)}
      .text();
}

Error zero_byte(const std::string& path, std::string_view text, std::size_t at) {
  return bad_input(position(path, text, at), "a zero byte: this is no text", {}, "UTF-8 or ASCII text");
}

// Pipes, devices and standard input that were read to their end.
struct ReadStreams {
  using Name = std::tuple<std::string, dev_t, ino_t>;
  struct Kept {
    std::string bytes;
    timespec written{};  // when last, as far as it was read: what comes after that is something else
  };
  std::mutex reading;  // of one at a time
  std::map<Name, Kept> kept;
};
ReadStreams& read_streams() {
  static ReadStreams streams;
  return streams;
}

bool state_of(const std::string& path, struct stat& st) {
  return path == "-" ? ::fstat(STDIN_FILENO, &st) == 0 : ::stat(path.c_str(), &st) == 0;
}

Error too_large(const std::string& path, bool regular, const std::string& got, std::uint64_t most) {
  return bad_input(path, regular ? "the file is too large" : "a pipe or device gives too much", got,
                   fmt::format("at most {} bytes", most));
}

// Bytes: std::string or FileBytes.
template <class Bytes>
Result<Bytes> read_once(const std::string& path, std::uint64_t limit, bool text) {
  struct Close {
    void operator()(std::FILE* f) const {
      if (f != stdin) std::fclose(f);
    }
  };
  const std::unique_ptr<std::FILE, Close> f(path == "-" ? stdin : std::fopen(path.c_str(), "rbe"));
  if (!f) return bad_input(path, fmt::format("cannot open: {}", std::strerror(errno)));
  struct stat st {};
  const bool known = ::fstat(::fileno(f.get()), &st) == 0;
  if (known && S_ISDIR(st.st_mode)) return bad_input(path, "cannot read: it is a directory", {}, "a file");
  // Files of /proc are regular and say 0.
  const bool regular = known && S_ISREG(st.st_mode);
  const std::uint64_t most = regular ? limit : std::min(limit, kMaxStreamBytes);
  if (regular && static_cast<std::uint64_t>(st.st_size) > most)
    return too_large(path, regular, fmt::format("{} bytes", st.st_size), most);
  // One byte more than there should be, so that the end is seen at once.
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  Bytes out;
  out.resize(regular && st.st_size > 0 ? static_cast<std::size_t>(st.st_size) + 1 : kPiece);
  std::size_t have = 0, n = 0;
  while ((n = std::fread(out.data() + have, 1, out.size() - have, f.get())) > 0) {
    const std::size_t before = std::exchange(have, have + n);
    if (have > most) return too_large(path, regular, fmt::format("more than {} bytes", most), most);
    if (const void* zero = text ? std::memchr(out.data() + before, 0, n) : nullptr; zero != nullptr)
      return zero_byte(path, {out.data(), have},
                       static_cast<std::size_t>(static_cast<const char*>(zero) - out.data()));
    if (have == out.size()) out.resize(std::min<std::uint64_t>(2 * have + kPiece, most + 1));
  }
  out.resize(have);
  if (std::ferror(f.get()) != 0) return bad_input(path, fmt::format("cannot read: {}", std::strerror(errno)));
  return out;
}

template <class Bytes>
Result<Bytes> read(const std::string& path, std::uint64_t limit, bool text) {
  struct stat st {};
  if (!state_of(path, st) || (path != "-" && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))))
    return read_once<Bytes>(path, limit, text);
  ReadStreams& streams = read_streams();
  const std::lock_guard lock(streams.reading);
  ReadStreams::Kept& kept = streams.kept[{path, st.st_dev, st.st_ino}];
  const timespec &last = st.st_mtim, &known = kept.written;
  if (last.tv_sec != known.tv_sec || last.tv_nsec != known.tv_nsec) {
    kept = {};
    WEFT_ASSIGN(kept.bytes, read_once<std::string>(path, limit, text));
    if (state_of(path, st)) kept.written = st.st_mtim;
  }
  if (kept.bytes.size() > limit)
    return too_large(path, false, fmt::format("{} bytes", kept.bytes.size()), limit);
  return Bytes(kept.bytes.begin(), kept.bytes.end());
}

}  // namespace

std::size_t stray_return(std::string_view text) {
  for (std::size_t at = 0; (at = text.find('\r', at)) != std::string_view::npos;) {
    const std::size_t after = text.find_first_not_of('\r', at);
    if (after != std::string_view::npos && text[after] != '\n') return at;
    at = after == std::string_view::npos ? text.size() : after;
  }
  return std::string_view::npos;
}

Result<std::string> as_text(const std::string& path, std::string bytes) {
  if (const std::size_t zero = bytes.find('\0'); zero != std::string::npos)
    return zero_byte(path, bytes, zero);
  if (bytes.starts_with(kByteOrderMark)) bytes.erase(0, kByteOrderMark.size());
  if (const std::size_t at = stray_return(bytes); at != std::string::npos)
    return bad_input(position(path, bytes, at), "a carriage return inside a line", {},
                     "lines that end in LF or in CR LF");
  return bytes;
}

Result<std::string> read_file(const std::string& path, std::uint64_t limit) {
  return read<std::string>(path, limit, false);
}

Result<FileBytes> read_bytes(const std::string& path, std::uint64_t limit) {
  return read<FileBytes>(path, limit, false);
}

Result<std::string> read_text(const std::string& path, std::uint64_t limit) {
  WEFT_ASSIGN(std::string bytes, read<std::string>(path, limit, true));
  return as_text(path, std::move(bytes));
}

}  // namespace weft
