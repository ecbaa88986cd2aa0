#include "traces/weft/kernel_numbers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "traces/exchange_series.hpp"

namespace weft::traces {
namespace {

// Kernels of version 1.0, which files had no names for.
constexpr std::size_t kUnnamed = static_cast<std::size_t>(Kernel::dlaswp10) + 1;

}  // namespace

Result<KernelNumbers> KernelNumbers::of(std::vector<std::string> names) {
  if (names.size() > kMaxNames)
    return bad_input({}, "the file names too many kernels", std::to_string(names.size()),
                     fmt::format("at most {}", kMaxNames));
  KernelNumbers out;
  for (const std::string& n : names) {
    if (n.empty() || n.size() > kMaxNameBytes)
      return bad_input({}, "the name of a kernel is empty or too long", n,
                       fmt::format("1 to {} bytes", kMaxNameBytes));
    const auto at = std::ranges::find(kKernelNames, n);
    out.here_.push_back(at == kKernelNames.end() ? -1 : at - kKernelNames.begin());
  }
  out.names_ = std::move(names);
  return out;
}

Result<void> KernelNumbers::translate(std::int64_t& number) const {
  const std::size_t known = names_.empty() ? kUnnamed : names_.size();
  if (number < 0 || static_cast<std::uint64_t>(number) >= known)
    return bad_input({}, "unknown kernel", std::to_string(number),
                     fmt::format("a number from 0 to {}", known - 1));
  if (names_.empty()) return {};
  const std::int64_t here = here_[static_cast<std::size_t>(number)];
  if (here < 0)
    return Error{ErrorCode::kNotSupported,
                 {},
                 "the kernel belongs to a newer version of the format",
                 names_[static_cast<std::size_t>(number)],
                 fmt::format("one of {}", fmt::join(kKernelNames, ", "))};
  number = here;
  return {};
}

Result<void> KernelNumbers::translate(const Op& op, std::span<std::int64_t> list) const {
  if (op.kind == OpKind::compute_kernel || op.kind == OpKind::launch) {
    if (list.empty()) return {};
    return translate(list[0]);
  }
  if (op.kind != OpKind::exchange_series) return {};
  for (std::size_t i = 1; list.size() > i && list.size() - i >= 3;) {
    const std::int64_t n = list[i + 2];
    i += 3;
    if (n < 0 || static_cast<std::uint64_t>(n) > (list.size() - i) / SeriesKernel::kValues) return {};
    for (std::int64_t k = 0; k < n; ++k, i += SeriesKernel::kValues) WEFT_TRY(translate(list[i]));
  }
  return {};
}

}  // namespace weft::traces
