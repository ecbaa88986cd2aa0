#include "traces/recorder/pmpi/threads.hpp"

#include <pthread.h>
#include <stdlib.h>

namespace weft::recorder {
namespace {

thread_local ThreadMemory* memory_of_thread = nullptr;
pthread_key_t end_key;
bool watching = false;
void (*at_end_of_thread)() = nullptr;

}  // namespace

std::uint32_t ThreadNumbers::take() {
  if (free_count_ > 0) return free_[--free_count_];
  return taken_ < UINT16_MAX ? taken_++ : kNoThread;
}

void ThreadMemory::grow(std::size_t bytes) {
  if (room_ == 0) {
    next_ = memory_of_thread;
    memory_of_thread = this;
  }
  room_ = bytes < 2 * room_ ? 2 * room_ : bytes;
  data_ = realloc(data_, room_);
}

void ThreadMemory::free_all() {
  for (; memory_of_thread != nullptr; memory_of_thread = memory_of_thread->next_) {
    free(memory_of_thread->data_);
    memory_of_thread->data_ = nullptr;
    memory_of_thread->room_ = 0;
  }
}

void watch_threads(void (*at_end)()) {
  at_end_of_thread = at_end;
  watching = pthread_key_create(&end_key, [](void*) { at_end_of_thread(); }) == 0;
}

void watch_thread() {
  if (watching) pthread_setspecific(end_key, &end_key);  // a value that is not null
}

}  // namespace weft::recorder
