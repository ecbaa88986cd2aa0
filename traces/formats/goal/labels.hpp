// The labels of one rank's operations. Most files number them "l1", "l2", ...: those are an array, all others a hash map.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft::traces::goal {

class Labels {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  void clear() {
    numbered_.clear();
    defined_ = 0;
    named_.clear();
  }
  // False: the label is there already.
  bool define(std::string_view label, std::uint32_t operation) {
    const std::uint64_t n = number_of(label);
    if (n < numbered_.size() || n < 2 * defined_ + kFree) {
      if (n >= numbered_.size()) {
        // A number that was named before the array reached it stays in the map.
        if (find(label) != kNone) return false;
        numbered_.resize(n + 1, kNone);
      }
      if (numbered_[n] != kNone || (!named_.empty() && named_.contains(label))) return false;
      numbered_[n] = operation;
      ++defined_;
      return true;
    }
    return named_.emplace(label, operation).second;
  }
  // kNone: there is no such label.
  [[nodiscard]] std::uint32_t find(std::string_view label) const {
    const std::uint64_t n = number_of(label);
    if (n < numbered_.size() && numbered_[n] != kNone) return numbered_[n];
    if (named_.empty()) return kNone;
    const auto it = named_.find(label);
    return it == named_.end() ? kNone : it->second;
  }

 private:
  static constexpr std::uint64_t kFree = 1024;
  static constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};
  // The k of "l<k>" as it is written without leading zeros.
  [[nodiscard]] static std::uint64_t number_of(std::string_view label) {
    if (label.size() < 2 || label.size() > 11 || label[0] != 'l' || label[1] == '0') return kNoNumber;
    std::uint64_t n = 0;
    for (const char c : label.substr(1)) {
      const auto digit = static_cast<unsigned char>(c - '0');
      if (digit > 9) return kNoNumber;
      n = n * 10 + digit;
    }
    return n;
  }
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept { return std::hash<std::string_view>()(s); }
  };
  std::vector<std::uint32_t> numbered_;                                          // by number
  std::uint64_t defined_ = 0;                                                    // of them
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> named_;  // never iterated
};

}  // namespace weft::traces::goal
