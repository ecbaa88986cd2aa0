#include "core/threads/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <vector>

#include "core/out_of_memory.hpp"
#include "core/threads/workers.hpp"

namespace weft {

Result<void> run_parallel(std::size_t count, unsigned threads,
                          const std::function<Result<void>(std::size_t)>& work,
                          const OnFewerThreads& on_fewer) {
  // After a failure only pieces that come later in the order are skipped, so the first error is the same whatever the
  // number of threads.
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> first_failed{count};
  std::vector<std::optional<Error>> errors(count);
  std::vector<std::exception_ptr> thrown(count);
  const auto failed = [&](std::size_t i) {
    std::size_t first = first_failed;
    while (i < first && !first_failed.compare_exchange_weak(first, i)) {
    }
  };
  std::vector<std::uint8_t> once_more(count, 0);
  const auto attempt = [&](std::size_t i, bool alone) {
    std::optional<MayRunOutOfMemory> tried_again;
    if (!alone) tried_again.emplace();
    try {
      if (auto r = work(i); !r) {
        errors[i] = std::move(r.error());
        failed(i);
      }
    } catch (const std::bad_alloc&) {
      if (!alone) {
        once_more[i] = 1;
        return;
      }
      thrown[i] = std::current_exception();
      failed(i);
    } catch (...) {
      thrown[i] = std::current_exception();
      failed(i);
    }
  };
  const auto wanted = static_cast<unsigned>(std::min<std::size_t>(std::max(1u, threads), count));
  const auto loop = [&] {
    for (std::size_t i = next++; i < first_failed; i = next++) attempt(i, wanted == 1);
  };
  if (wanted > 0) {
    Workers workers(wanted - 1, [&](unsigned) { loop(); });
    if (on_fewer && workers.started() + 1 < wanted) on_fewer(workers.started() + 1, wanted);
    loop();
  }
  // What found no memory beside others may find it alone.
  for (std::size_t i = 0; i < first_failed; ++i)
    if (once_more[i] != 0) attempt(i, true);
  for (std::size_t i = 0; i < count; ++i) {
    if (thrown[i]) std::rethrow_exception(thrown[i]);
    if (errors[i]) return std::move(*errors[i]);
  }
  return {};
}

}  // namespace weft
