// Tags for formats without communicators: one space of 2^31 tags for messages of all communicators and of collectives.
//
// A tag of a message on the world stays what it is. From kShared on every other context has a share of its own: messages
// of another communicator, and the collectives of each communicator, numbered as each rank calls
// them. In the lower half of a communicator's share stand its tags as they are, in the upper half those that are too large for that
// (libraries take theirs from MPI_TAG_UB downwards), numbered as they are asked for: matching compares tags for equality only.
// So no message meets a receive that it would not meet in MPI, as long as no rank receives messages of several contexts
// and those of any tag, or of a tag on the world that is in the share of another.
// O(1) a tag; memory: the large tags.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "traces/op.hpp"

namespace weft::traces {

class Tags {
 public:
  static constexpr std::uint32_t kShared = 1u << 30;

  explicit Tags(std::size_t communicators)
      : comms_(communicators),
        bits_(kBits - std::min(kBits, static_cast<int>(std::bit_width(2 * communicators - 1)))) {}

  // Tags on communicator `comm` from here on are numbered; as many as this are as they are.
  [[nodiscard]] std::uint32_t large(std::uint32_t comm) const {
    return comm == 0 ? std::uint32_t{1} << (kBits + 1) : share_size() / 2;
  }
  // The same for the same communicator and tag. None: it is one large tag too many.
  [[nodiscard]] std::optional<std::uint32_t> message(std::uint32_t comm, std::uint32_t tag) {
    const std::uint32_t from = large(comm);
    if (tag < from) return comm == 0 ? tag : share(comm) + tag;
    if (comm == 0) return std::nullopt;
    if (const auto at = numbers_.find(key(comm, tag)); at != numbers_.end()) return share(comm) + at->second;
    std::uint32_t& next = next_.try_emplace(comm, from).first->second;
    if (next == share_size()) return std::nullopt;
    numbers_.emplace(key(comm, tag), next);
    return share(comm) + next++;
  }
  // The n-th collective of a rank on `comm`. Numbers come round: that many are never under way at once.
  [[nodiscard]] std::uint32_t collective(std::uint32_t comm, std::uint32_t n) const {
    return share(static_cast<std::uint32_t>(comms_) + comm) + (n & (share_size() - 1));
  }

 private:
  static constexpr int kBits = 30;
  static std::uint64_t key(std::uint32_t comm, std::uint32_t tag) { return std::uint64_t{comm} << 32 | tag; }
  [[nodiscard]] std::uint32_t share_size() const { return std::uint32_t{1} << bits_; }
  [[nodiscard]] std::uint32_t share(std::uint32_t context) const { return kShared + (context << bits_); }
  std::size_t comms_;
  int bits_;  // of a tag within a share
  std::unordered_map<std::uint64_t, std::uint32_t>
      numbers_;  // of large tags, within their share; never iterated
  std::unordered_map<std::uint32_t, std::uint32_t> next_;  // by communicator; never iterated
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
           " on, beside collectives or messages of other communicators (--recorded-matches: receives name "
           "what they took "
           "in the recording)";
  }

 private:
  std::optional<std::uint32_t> context_;  // of the last receive
  bool several_ = false;
  std::optional<std::uint64_t> open_;
};

}  // namespace weft::traces
