// SymmetricSpace: the schedules that a group of symmetries leaves as they are.
//
// If a symmetry takes rank a to rank b, b's order is the image of a's: one rank per orbit is free. Good
// schedules of regular exchanges are often symmetric, and their space is the root of the whole one: 16 GPUs in a
// 4x2x2 grid have 1.8e17 schedules, 20,736 of them invariant under a group of four. A group qualifies if no
// member keeps a rank in place and permutes its messages: no order would be invariant.
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/evaluator.hpp"
#include "schedule/symmetry.hpp"

namespace weft::schedule {

struct SymmetricSpace {
  struct Image {
    std::uint32_t rank = 0;
    std::vector<std::uint32_t> message;  // for the k-th message of the free rank, the image
  };
  struct Orbit {
    std::uint32_t rank = 0;     // the free one, the lowest
    std::vector<Image> images;  // of the other ranks
  };
  std::vector<Orbit> orbits;  // of ranks with at least two sends
  double schedules = 1;
  std::uint32_t group_order = 1;

  // Rewrites the orders of the images after the free rank's order changed at [from, to).
  void spread(const Exchange& exchange, const Orbit& orbit, Order& order) const {
    const std::uint32_t first = exchange.first[orbit.rank];
    for (const Image& image : orbit.images) {
      std::uint32_t* out = order.data() + exchange.first[image.rank];
      for (std::uint32_t k = 0; k < image.message.size(); ++k)
        out[k] = image.message[order[first + k] - first];
    }
  }
};

// The whole space (the trivial group), then those of the qualifying subgroups with one or two generators and of
// the whole group, in ascending number of schedules. Groups of more than 64 elements contribute the first 64.
[[nodiscard]] std::vector<SymmetricSpace> symmetric_spaces(const Exchange& exchange,
                                                           const SymmetryGroup& symmetry);

}  // namespace weft::schedule
