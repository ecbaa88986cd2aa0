// Independent pieces of work on several threads, with the errors of one thread.
#pragma once

#include <cstddef>
#include <functional>

#include "core/result.hpp"

namespace weft {

// Told when the system starts fewer threads than were asked for. No result depends on it.
using OnFewerThreads = std::function<void(unsigned started, unsigned wanted)>;

// Calls work(0) ... work(count - 1), `threads` of them at once, or as many as the system starts, until one fails; what
// found no memory beside others once more, alone. Returns the first error in order, whatever finished first; an
// exception of a piece is thrown again here.
[[nodiscard]] Result<void> run_parallel(std::size_t count, unsigned threads,
                                        const std::function<Result<void>(std::size_t)>& work,
                                        const OnFewerThreads& on_fewer = {});

}  // namespace weft
