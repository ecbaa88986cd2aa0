// Weighted max-min fair shares of one link: the rule of max_min.hpp where a single link and fixed demands are all there is.
//
//   room 10, weights 1 1 2, demands 1 9 9: parts 2.5 2.5 5. The first asks for less than its part and has its demand, 1;
//   the others part the 9 that are left by 1 : 2 and have 3 and 6.
//
// Whoever asks for no more than its part is satisfied, which leaves the parts of the others larger or as they were; so it
// ends after as many rounds as there are shares, and rounds that satisfy somebody only. Where all weights are 0 the parts
// are equal. O(n) a round.
#pragma once

#include <cstddef>

namespace weft::congestion {

struct LinkShare {
  double weight = 0;
  double demand = 0;  // what it can use at most
  double rate = 0;    // the answer
  bool open =
      false;  // not satisfied yet; those that are not open at the start keep their rates and take no room
};

// `shares`: a range of LinkShare or of what is one.
template <class Shares>
void fill_link(Shares& shares, double room) {
  std::size_t open = 0;
  for (const LinkShare& s : shares) open += s.open ? 1 : 0;
  while (open > 0 && room > 0) {
    double weights = 0;
    for (const LinkShare& s : shares) weights += s.open ? s.weight : 0;
    const bool equal = !(weights > 0);
    if (equal) weights = static_cast<double>(open);
    const auto part = [&](const LinkShare& s) { return room * ((equal ? 1.0 : s.weight) / weights); };
    bool satisfied = false;
    double left = room;
    for (LinkShare& s : shares) {
      if (!s.open || s.demand > part(s)) continue;
      s.rate = s.demand;
      s.open = false;
      left -= s.demand;
      --open;
      satisfied = true;
    }
    if (!satisfied) {
      for (LinkShare& s : shares)
        if (s.open) s.rate = part(s);
      return;
    }
    room = left;
  }
}

}  // namespace weft::congestion
