// Read access to one spool file. It may be cut or damaged anywhere: every step says so, with the position.
#pragma once

#include <span>
#include <string>

#include "core/result.hpp"
#include "traces/recorder/spool.hpp"

namespace weft::recorder {

class SpoolReader {
 public:
  // Errors: kBadInput with the position (not a spool, another version, a header that cannot be). A spool whose
  // process never finished MPI_Init is `!started()`; its header means nothing.
  [[nodiscard]] static Result<SpoolReader> open(const std::string& path);
  SpoolReader(SpoolReader&& o) noexcept;
  SpoolReader& operator=(SpoolReader&& o) noexcept;
  SpoolReader(const SpoolReader&) = delete;
  SpoolReader& operator=(const SpoolReader&) = delete;
  ~SpoolReader();

  [[nodiscard]] bool started() const { return data_ != nullptr && header().magic == kSpoolMagic; }
  [[nodiscard]] const SpoolHeader& header() const { return *reinterpret_cast<const SpoolHeader*>(data_); }
  [[nodiscard]] const std::string& path() const { return path_; }

  struct Record {
    const SpoolRecord* fixed = nullptr;
    std::span<const std::int64_t> list;
    std::uint64_t offset = 0;  // in the file
  };
  enum class Step { kRecord, kEnd, kDamaged };
  // The record at `offset`, advancing it. kEnd: zeroes, or the file's end between two records. kDamaged: no
  // record can be here; `offset` stays. Start with offset = first().
  [[nodiscard]] Step next(std::uint64_t& offset, Record& out) const;
  [[nodiscard]] std::uint64_t first() const { return header().header_bytes; }
  // "FILE@byte 0x2000 (rank 3)".
  [[nodiscard]] std::string position(std::uint64_t offset) const;

 private:
  SpoolReader() = default;
  [[nodiscard]] Result<void> check_header() const;
  void release();
  std::string path_;
  const char* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace weft::recorder
