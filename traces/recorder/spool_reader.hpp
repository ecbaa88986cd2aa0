// Read access to one spool file. The file may be cut anywhere: reading ends at the last whole record.
#pragma once

#include <span>
#include <string>

#include "core/result.hpp"
#include "traces/recorder/spool.hpp"

namespace weft::recorder {

class SpoolReader {
 public:
  // Errors: kBadInput (not a spool, other version). A spool whose process never finished MPI_Init is
  // `!started()`.
  [[nodiscard]] static Result<SpoolReader> open(const std::string& path);
  SpoolReader(SpoolReader&& o) noexcept;
  SpoolReader& operator=(SpoolReader&& o) noexcept;
  SpoolReader(const SpoolReader&) = delete;
  SpoolReader& operator=(const SpoolReader&) = delete;
  ~SpoolReader();

  [[nodiscard]] bool started() const { return header().magic == kSpoolMagic; }
  [[nodiscard]] const SpoolHeader& header() const { return *reinterpret_cast<const SpoolHeader*>(data_); }
  [[nodiscard]] const std::string& path() const { return path_; }

  struct Record {
    const SpoolRecord* fixed = nullptr;
    std::span<const std::int64_t> list;
  };
  // The record at `offset`, advancing it; false at the end. Start with offset = first().
  [[nodiscard]] bool next(std::uint64_t& offset, Record& out) const;
  [[nodiscard]] std::uint64_t first() const { return header().header_bytes; }

 private:
  SpoolReader() = default;
  void release();
  std::string path_;
  const char* data_ = nullptr;
  std::uint64_t size_ = 0;
};

}  // namespace weft::recorder
