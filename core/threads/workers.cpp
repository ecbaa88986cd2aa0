#include "core/threads/workers.hpp"

#include <malloc.h>

#include <new>
#include <system_error>
#include <utility>

#include "core/out_of_memory.hpp"

namespace weft {

Workers::Workers(unsigned wanted, std::function<void(unsigned)> work) : work_(std::move(work)) {
  threads_.reserve(wanted);
  unsigned started = 0;
  try {
    const MayRunOutOfMemory then_fewer;
    for (; started < wanted; ++started) threads_.emplace_back(&Workers::wait_and_work, this, started + 1);
  } catch (const std::system_error&) {
    started /= 2;
  } catch (const std::bad_alloc&) {
    started /= 2;
  }
#ifdef __GLIBC__
  // Addresses are short: no heap of 64 MB for each thread beside the one that is there.
  if (started < wanted) mallopt(M_ARENA_MAX, 1);
#endif
  {
    const std::lock_guard lock(mutex_);
    working_ = started;
    go_ = true;
  }
  decided_.notify_all();
  for (std::size_t t = started; t < threads_.size(); ++t) threads_[t].join();
  threads_.resize(started);
}

void Workers::wait_and_work(unsigned index) {
  {
    std::unique_lock lock(mutex_);
    decided_.wait(lock, [this] { return go_; });
    if (index > working_) return;
  }
  work_(index);
}

void Workers::join() {
  for (std::thread& t : threads_) t.join();
  threads_.clear();
}

}  // namespace weft
