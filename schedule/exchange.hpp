// Exchange: which rank sends how much to whom, each message once, in an order that is still to be found.
//
// Halo exchanges of a regular grid (rank = x + X y + X Y z) with faces of a size per dimension, and edges and
// corners (in three dimensions the 26-point neighbourhood) if asked for; or any pattern from a CSV. A periodic
// dimension of two ranks has two messages to the one neighbour, one per face; of one rank none.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"

namespace weft::schedule {

struct Message {
  std::uint32_t src = 0;
  std::uint32_t dst = 0;
  Bytes bytes{0};
  friend bool operator==(const Message&, const Message&) = default;
};

struct Exchange {
  std::uint32_t ranks = 0;
  std::vector<Message> messages;     // ascending src; within a source, the order of declaration
  std::vector<std::uint32_t> first;  // ranks + 1: messages of r are first[r]..first[r + 1]
  [[nodiscard]] std::uint32_t sends(std::uint32_t rank) const { return first[rank + 1] - first[rank]; }
  [[nodiscard]] std::uint32_t most_sends() const;
  // Number of schedules, the product of the factorials of the sends; may be beyond any integer type.
  [[nodiscard]] double schedules() const;
};

struct Grid {
  std::array<std::uint32_t, 3> size{1, 1, 1};
  std::uint32_t dimensions = 1;
  bool periodic = false;
  bool diagonals = false;       // edges and corners too
  std::array<Bytes, 3> face{};  // by dimension
  Bytes edge{0};
  Bytes corner{0};
};

// "4x2", "2x2x2": one to three numbers >= 1, at most 4096 ranks together.
[[nodiscard]] Result<Grid> parse_grid(std::string_view text, std::string_view where);

[[nodiscard]] Exchange halo_exchange(const Grid& grid);

// Header line src,dst,bytes (64KiB) or src,dst,bytes_B (65536); ranks from 0. Two rows may name one pair. Errors:
// kBadInput with FILE:LINE:COLUMN; a rank that sends to itself, more than 4096 ranks, no message.
[[nodiscard]] Result<Exchange> parse_pattern(std::string_view text, std::string_view file);

// Sorts by source, keeping the order within one. REQUIRES: ranks below `ranks`.
[[nodiscard]] Exchange make_exchange(std::uint32_t ranks, std::vector<Message> messages);

}  // namespace weft::schedule
