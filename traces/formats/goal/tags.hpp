// Tags for formats without communicators: one space of 2^31 tags for messages of all communicators and of collectives.
//
// A tag of a message on the world stays what it is. From kShared on every other context has a share of its own: messages
// of another communicator, with their tag in it, and the collectives of each communicator, numbered as each rank calls
// them. So no message meets a receive that it would not meet in MPI, as long as no rank has both, messages of other
// contexts and receives on the world of such a tag or of any.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

namespace weft::traces::goal {

class Tags {
 public:
  static constexpr std::uint32_t kShared = 1u << 30;

  explicit Tags(std::size_t communicators)
      : comms_(communicators),
        bits_(kBits - std::min(kBits, static_cast<int>(std::bit_width(2 * communicators - 1)))) {}

  // Tags that the format has for messages on communicator `comm`: 0 to limit - 1.
  [[nodiscard]] std::uint32_t limit(std::uint32_t comm) const {
    return std::uint32_t{1} << (comm == 0 ? kBits + 1 : bits_);
  }
  // None: `tag` is beyond the limit.
  [[nodiscard]] std::optional<std::uint32_t> message(std::uint32_t comm, std::uint32_t tag) const {
    if (tag >= limit(comm)) return std::nullopt;
    return comm == 0 ? tag : share(comm) + tag;
  }
  // The n-th collective of a rank on `comm`. Numbers come round: that many are never under way at once.
  [[nodiscard]] std::uint32_t collective(std::uint32_t comm, std::uint32_t n) const {
    return share(static_cast<std::uint32_t>(comms_) + comm) + (n & (limit(1) - 1));
  }

 private:
  static constexpr int kBits = 30;
  [[nodiscard]] std::uint32_t share(std::uint32_t context) const { return kShared + (context << bits_); }
  std::size_t comms_;
  int bits_;  // of a tag within a share
};

}  // namespace weft::traces::goal
