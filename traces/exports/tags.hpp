// Tags for formats without communicators: one space of 2^31 tags for messages of all communicators and of collectives.
//
// A tag of a message on the world stays what it is. From kShared on every other context has a share of its own: messages
// of another communicator, with their tag in it, and the collectives of each communicator, numbered as each rank calls
// them. So no message meets a receive that it would not meet in MPI, as long as no rank receives messages of several contexts
// and those of any tag, or of a tag on the world that is in the share of another.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>

#include "traces/op.hpp"

namespace weft::traces {

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

// What a rank receives: whether a receive could take a message of another context than its own.
class ReceivedContexts {
 public:
  static constexpr std::uint32_t kCollectives = 0xffffffffu;

  // `operation` receives a message of `comm` (or kCollectives) with `tag`. Returns the operation that could take what is
  // not meant for it, if there is one: this or one before.
  std::optional<std::uint64_t> receive(std::uint32_t comm, std::int32_t tag, std::uint64_t operation) {
    several_ = several_ || (context_ && *context_ != comm);
    context_ = comm;
    const bool of_any = tag == kAnyTag && comm != kCollectives;
    const bool of_a_share = comm == 0 && static_cast<std::uint32_t>(tag) >= Tags::kShared;
    if (of_any || of_a_share) open_ = operation;
    return several_ ? open_ : std::nullopt;
  }
  static std::string refusal() {
    return "a receive of any tag, or of one from " + std::to_string(Tags::kShared) +
           " on, beside collectives or messages of other communicators";
  }

 private:
  std::optional<std::uint32_t> context_;  // of the last receive
  bool several_ = false;
  std::optional<std::uint64_t> open_;
};

}  // namespace weft::traces
