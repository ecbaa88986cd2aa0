// Independent pieces of work on several threads, with the errors of one thread.
#pragma once

#include <cstddef>
#include <functional>

#include "core/result.hpp"

namespace weft::cli {

// Calls work(0) ... work(count - 1), `threads` of them at once, or as many as the system starts (stderr says so), until
// one fails; what found no memory beside others once more, alone. Returns the first error in order, whatever finished
// first; an exception of a piece is thrown again here.
[[nodiscard]] Result<void> run_parallel(std::size_t count, unsigned threads,
                                        const std::function<Result<void>(std::size_t)>& work);

// Says on stderr that fewer threads work than were asked for, if so.
void tell_fewer_threads(unsigned started, unsigned wanted);

}  // namespace weft::cli
