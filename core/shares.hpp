// A whole number shared out by weights, so that the parts add up to it.
#pragma once

#include <cstdint>
#include <utility>

namespace weft {

// One call of next() for each weight, in any order; none below 0, their sum `all` > 0. A part is off by less than 1.
class Shares {
 public:
  Shares(std::int64_t of, std::int64_t all) : of_(of), all_(all) {}
  std::int64_t next(std::int64_t weight) {
    seen_ += weight;
    const auto until = static_cast<std::int64_t>(Wide{of_} * seen_ / all_);
    return until - std::exchange(given_, until);
  }

 private:
  __extension__ typedef __int128 Wide;
  std::int64_t of_, all_, seen_ = 0, given_ = 0;
};

}  // namespace weft
