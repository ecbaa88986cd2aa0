// What a gzip file holds, piece by piece, with the checks of gzip -t, which libarchive does not make: the CRC-32 and the length at
// the end of each member. Members stand one after the other. RFC 1952.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "core/files/input_file.hpp"
#include "core/result.hpp"

struct z_stream_s;

namespace weft::traces {

class GzipStream {
 public:
  // Null where the file cannot be opened or does not begin as gzip's do. Throws std::bad_alloc.
  [[nodiscard]] static std::unique_ptr<GzipStream> open(const std::string& path);

  // The next piece, which stays until the next call; empty: the end, or failed(). For callers in C: nothing is thrown.
  [[nodiscard]] std::string_view next() noexcept;
  [[nodiscard]] bool failed() const { return fault_ != Fault::kNone; }
  // Why, with its byte; `of`: " MEMBER". Throws std::bad_alloc where that was it.
  [[nodiscard]] Error error(std::string_view of) const;
  // Bytes of the file that were unpacked: at the end those of all members, without what stands behind them.
  [[nodiscard]] std::uint64_t read() const { return read_; }

 private:
  enum class Fault : std::uint8_t { kNone, kRead, kCut, kData, kMemory };
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
    void operator()(z_stream_s* z) const;
  };
  GzipStream(const std::string& path, std::unique_ptr<std::FILE, Close> file);
  // Keeps what was not unpacked and reads on behind it. False: nothing follows, or failed().
  bool read_on() noexcept;
  // Whether a member follows the one that ended.
  bool another_member() noexcept;

  const std::string& path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::unique_ptr<z_stream_s, Close> z_;
  FileBytes packed_, unpacked_;
  std::uint64_t read_ = 0;
  bool ended_ = false;
  Fault fault_ = Fault::kNone;
  int errno_ = 0;  // of kRead
};

}  // namespace weft::traces
