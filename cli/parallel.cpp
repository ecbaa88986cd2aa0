#include "cli/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

namespace weft::cli {

Result<void> run_parallel(std::size_t count, unsigned threads,
                          const std::function<Result<void>(std::size_t)>& work) {
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
  const auto loop = [&] {
    for (std::size_t i = next++; i < first_failed; i = next++) {
      try {
        if (auto r = work(i); !r) {
          errors[i] = std::move(r.error());
          failed(i);
        }
      } catch (...) {
        thrown[i] = std::current_exception();
        failed(i);
      }
    }
  };
  std::vector<std::thread> workers;
  for (std::size_t t = 1; t < std::min<std::size_t>(threads, count); ++t) workers.emplace_back(loop);
  loop();
  for (auto& w : workers) w.join();
  for (std::size_t i = 0; i < count; ++i) {
    if (thrown[i]) std::rethrow_exception(thrown[i]);
    if (errors[i]) return std::move(*errors[i]);
  }
  return {};
}

}  // namespace weft::cli
