// KernelNumbers: the kernels of a file, which numbers them by its own list of names, as the kernels of this version.
//
// A newer version may know more kernels and write them in another order: names are what lasts. A file without a list
// (made before there was one, or without kernels) numbers them as WEFT_KERNELS does.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "traces/kernel.hpp"
#include "traces/op.hpp"

namespace weft::traces {

class KernelNumbers {
 public:
  static constexpr std::size_t kMaxNames = 4096;
  static constexpr std::size_t kMaxNameBytes = 256;

  // The names of a file by number. Errors: too many, or too long.
  [[nodiscard]] static Result<KernelNumbers> of(std::vector<std::string> names);
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

  // Turns the kernel numbers in the list of `op` from the file's to this version's. Errors, without a place: kBadInput
  // for a number that the file does not name, kNotSupported for a name that this version does not know. Lists of other
  // kinds, and what is malformed (op_rules.hpp says that), stay as they are. O(list of a kernel or a series).
  [[nodiscard]] Result<void> translate(const Op& op, std::span<std::int64_t> list) const;

 private:
  [[nodiscard]] Result<void> translate(std::int64_t& number) const;

  std::vector<std::string> names_;
  std::vector<std::int64_t> here_;  // by number in the file; -1 = a name unknown here
};

// True if the list of an operation of this kind holds numbers of kernels.
[[nodiscard]] constexpr bool names_kernels(OpKind k) {
  return k == OpKind::compute_kernel || k == OpKind::launch || k == OpKind::exchange_series;
}

}  // namespace weft::traces
