// Bytes of the datatypes of one rank.
//
// A datatype that the stream constructs has the size that its constructor makes; any other has the size that the file
// says, or, in files that say none, that of a 64-bit machine. The constructor goes first because handles are given out
// again after MPI_Type_free and a file says one size for each handle.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "traces/formats/dumpi/record.hpp"

namespace weft::traces::dumpi {

inline constexpr std::uint16_t kFirstUserType = 28;

class TypeSizes {
 public:
  explicit TypeSizes(const RankFile& file) : file_(&file) {}

  // Nothing: not known.
  [[nodiscard]] std::optional<std::int64_t> of(std::int64_t type) const;
  // Follows a call of the class `define` that makes a datatype; any other is left alone.
  void define(const Record& r);
  // Constructors whose size is not the one that the file says.
  [[nodiscard]] std::uint64_t conflicts() const { return conflicts_; }

 private:
  const RankFile* file_;
  std::unordered_map<std::int64_t, std::int64_t> made_;  // looked up only; -1 = not known
  std::uint64_t conflicts_ = 0;
};

}  // namespace weft::traces::dumpi
