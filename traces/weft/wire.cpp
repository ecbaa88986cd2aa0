#include "traces/weft/wire.hpp"

#include <algorithm>

namespace weft::traces {

bool WireScanner::varint(std::uint64_t& out) {
  out = 0;
  for (unsigned shift = 0; shift < 70 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    if (shift < 64) out |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool WireScanner::take(std::uint64_t n) {
  if (n > rest_.size()) return false;
  bytes_ = rest_.substr(0, n);
  rest_.remove_prefix(n);
  return true;
}

bool WireScanner::next() {
  if (!ok_ || rest_.empty()) return false;
  bytes_ = {};
  number_ = 0;
  has_bytes_ = false;
  std::uint64_t tag = 0;
  ok_ = varint(tag) && tag >> 3 != 0 && tag >> 32 == 0;
  if (!ok_) return false;
  field_ = static_cast<std::uint32_t>(tag >> 3);
  switch (tag & 7) {
    case 0:
      ok_ = varint(number_);
      break;
    case 1:
    case 5: {
      const std::uint64_t width = (tag & 7) == 1 ? 8 : 4;
      ok_ = take(width);
      for (std::size_t i = 0; ok_ && i < width; ++i)
        number_ |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
      bytes_ = {};
      break;
    }
    case 2: {
      std::uint64_t n = 0;
      has_bytes_ = true;
      ok_ = varint(n) && take(n);
      break;
    }
    default:
      ok_ = false;  // groups: trace.proto has none
  }
  return ok_;
}

std::uint64_t WireScanner::varints() const {
  if (!has_bytes_) return 1;
  return static_cast<std::uint64_t>(
      std::ranges::count_if(bytes_, [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

}  // namespace weft::traces
