// StepMemo: how long a step with barriers takes, by the key of its set of messages (rate_memo.hpp), each set computed once.
//
// Few sets: a plain table. Many: a hash, emptied when it is full (memory is bounded). Sets whose keys would clash are not
// remembered. One per thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace weft::schedule {

class StepMemo {
 public:
  static constexpr std::size_t kMostDense = std::size_t{1} << 22;
  static constexpr std::size_t kMostHashed = std::size_t{1} << 21;

  // Keys are below `sets`; 0: keys clash. At most `most_dense` or `most_hashed` steps are remembered.
  explicit StepMemo(std::uint64_t sets, std::size_t most_dense = kMostDense,
                    std::size_t most_hashed = kMostHashed)
      : remembers_(sets != 0), most_hashed_(most_hashed) {
    if (remembers_ && sets <= most_dense) dense_.assign(sets, -1.0);
  }

  // Seconds >= 0, of `compute()` where they are not known.
  template <class Compute>
  [[nodiscard]] double seconds(std::uint64_t key, Compute&& compute) {
    if (!remembers_) return compute();
    if (!dense_.empty()) {
      double& t = dense_[key];
      if (t < 0) t = compute();
      return t;
    }
    if (const auto at = hashed_.find(key); at != hashed_.end()) return at->second;
    if (hashed_.size() >= most_hashed_) hashed_.clear();
    return hashed_.emplace(key, compute()).first->second;
  }
  [[nodiscard]] std::size_t hashed() const { return hashed_.size(); }

 private:
  bool remembers_;
  std::size_t most_hashed_;
  std::vector<double> dense_;
  std::unordered_map<std::uint64_t, double> hashed_;
};

}  // namespace weft::schedule
