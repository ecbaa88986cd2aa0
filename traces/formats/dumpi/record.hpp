// Records of a stream of calls, one after the other, by the layouts of calls.def.
//
//   u16 function | u8 mask | [6: u16 thread] | [2: CPU time] | [3: wall time] | [7: u8 n, n x 2 x u64] | arguments
//   mask bits 0-1: the arguments hold statuses. A time is four numbers: u16 seconds, u32 nanoseconds of the start, the
//   same of the end; seconds count from that of the stream and wrap at 65536.
//
// Memory: one window of kWindowBytes, whatever the file; and the arrays of one record, each checked against the rest of
// the stream and against kMaxListValues (op_rules.hpp) before it is read. Errors: kBadInput with byte, record, rank.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "traces/formats/dumpi/layout.hpp"
#include "traces/formats/dumpi/rank_file.hpp"

namespace weft::traces::dumpi {

// The mask of a record.
inline constexpr std::uint8_t kMaskStatuses = 3, kMaskCpu = 1 << 2, kMaskWall = 1 << 3, kMaskThread = 1 << 6,
                              kMaskCounters = 1 << 7;
inline constexpr std::uint8_t kMaskKnown = kMaskStatuses | kMaskCpu | kMaskWall | kMaskThread | kMaskCounters;

struct Status {
  std::int32_t bytes = 0;
  std::int32_t source = 0;
  std::int32_t tag = 0;
  bool has_tag = false;
  bool cancelled = false;
};

// Start and end of a call: nanoseconds, seconds modulo 65536.
struct Times {
  std::int64_t start_ns = 0, stop_ns = 0;
};

struct Record {
  std::uint64_t offset = 0;  // in the file
  std::uint64_t number = 0;  // in the stream, from 0
  std::uint16_t call = 0;
  std::uint8_t mask = 0;
  std::uint16_t thread = 0;
  Times cpu, wall;
  std::array<std::int64_t, kMaxFields> value{};   // by field; of an array its length
  std::array<std::uint32_t, kMaxFields> begin{};  // of an array, in `pool`
  std::vector<std::int32_t> pool;
  std::vector<Status> statuses;

  [[nodiscard]] const Layout& layout() const { return kLayouts[call]; }
  [[nodiscard]] std::span<const std::int32_t> array(std::size_t field) const {
    return std::span(pool).subspan(begin[field], static_cast<std::size_t>(value[field]));
  }
};

// Where the next record of a rank begins.
struct StreamPos {
  std::uint64_t offset = 0;
  std::uint64_t record = 0;
};

// Reads records of any rank's file. One at a time is open.
class RecordReader {
 public:
  static constexpr std::size_t kWindowBytes = 128u << 10;

  RecordReader() : window_(kWindowBytes) {}
  ~RecordReader() { close(); }
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  // Goes on at `pos` of `file`, which must live until the next call.
  [[nodiscard]] Result<void> seek(const RankFile& file, std::int64_t rank, StreamPos pos);
  // The next record; false at the end of the stream. After an error only seek() may follow.
  [[nodiscard]] Result<bool> next(Record& out);
  [[nodiscard]] StreamPos pos() const { return {here(), record_}; }

  // An error at the record that was read last.
  [[nodiscard]] Error fault(const Record& at, std::string what, std::string got = {},
                            std::string expected = {}) const;
  [[nodiscard]] std::string where(std::uint64_t offset) const;

 private:
  [[nodiscard]] std::uint64_t here() const { return base_ + at_; }
  [[nodiscard]] std::uint64_t left() const { return file_->end - here(); }
  // True if `n` bytes are at hand. Precondition: n <= kWindowBytes.
  bool need(std::size_t n) { return filled_ - at_ >= n || refill(n); }
  bool refill(std::size_t n);
  template <class T>
  [[nodiscard]] T get();
  bool skip(std::uint64_t n);
  bool count(std::size_t element_bytes, std::uint64_t& n);
  template <class T>
  bool array(Record& out, std::size_t field);
  bool text();
  bool times(Times& out);
  bool head(Record& out);
  bool arguments(Record& out);
  bool argument(Record& out, const Layout& layout, std::size_t field);
  bool statuses(Record& out, std::size_t field);
  bool fail(std::string what, std::string got = {}, std::string expected = {});
  bool ends();
  void close();

  const RankFile* file_ = nullptr;
  std::int64_t rank_ = -1;
  int fd_ = -1;
  std::vector<unsigned char> window_;
  std::uint64_t base_ = 0;  // offset of window_[0]
  std::size_t at_ = 0, filled_ = 0;
  std::uint64_t record_ = 0;
  Error error_;
};

}  // namespace weft::traces::dumpi
