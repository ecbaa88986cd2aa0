// Independent pieces of work on several threads, with the errors of one thread.
#pragma once

#include <cstddef>
#include <functional>

#include "core/result.hpp"

namespace weft::cli {

// Calls work(0) ... work(count - 1), `threads` of them at once, each exactly once unless an earlier one fails. Returns
// the first error in order, whatever finished first; an exception of a piece is thrown again here.
[[nodiscard]] Result<void> run_parallel(std::size_t count, unsigned threads,
                                        const std::function<Result<void>(std::size_t)>& work);

}  // namespace weft::cli
