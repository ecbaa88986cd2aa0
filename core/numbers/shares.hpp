// A whole number shared out by weights, so that the parts add up to it.
#pragma once

#include <cstdint>
#include <utility>

namespace weft {

// One call of next() for each weight, in any order; none below 0, their sum `all` > 0. A part is off by less than 1.
class Shares {
 public:
  __extension__ typedef __int128 Wide;

  Shares(Wide of, std::int64_t all) : each_(of / all), rest_(of % all), all_(all) {}
  Wide next(std::int64_t weight) {
    seen_ += weight;
    const Wide until = each_ * seen_ + rest_ * seen_ / all_;  // of * seen / all, which may be beyond 128 bits
    return until - std::exchange(given_, until);
  }

 private:
  Wide each_, rest_;
  std::int64_t all_, seen_ = 0;
  Wide given_ = 0;
};

}  // namespace weft
