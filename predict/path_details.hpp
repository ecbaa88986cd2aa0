// What a critical path is made of in detail, for which the replay is run once more: computation by kernel, and contention
// by whose messages, copies over links among them: messages of their rank to itself.
//
// Contention of a message on the path is shared out among the other messages that crossed the link that held it back last
// (PathSegment::held_by; with its other direction where both share what they carry) in the time of the segment, or where
// there are none, that host's other way where its ports carry less to several peers, or else the other links of its
// route, by the bytes, headers too, that each of them moved there meanwhile, if they are taken to move evenly from departure to
// arrival. What nobody is found for (series of exchanges, routings that decide for every message) stays without a name.
// Sums are exact, in picoseconds.
#pragma once

#include <string>
#include <vector>

#include "predict/sensitivity.hpp"

namespace weft::predict {

struct PathDetails {
  struct KernelTime {
    // Of the kernel; "recorded", "flops", "sleep"; "other": in series of exchanges, on accelerators.
    std::string name;
    Duration time{0};
  };
  struct Rival {
    RankId src, dst;  // whose messages; twice the same rank: its copies over links
    Duration contention{0};
    [[nodiscard]] bool are_copies() const { return src == dst; }
  };
  std::vector<KernelTime> kernels;  // the longest first; add up to the computation of the path
  std::vector<Rival> rivals;  // the worst first; with `nobody` they add up to the contention of the path
  Duration nobody{0};
};

// REQUIRES: as sensitivity_of(). O(operations + messages x links of their routes); memory: the operations of the path, and
// the messages that share a link with it.
[[nodiscard]] Result<PathDetails> path_details(const Question& question);

}  // namespace weft::predict
