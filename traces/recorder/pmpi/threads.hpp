// What the recorder keeps of a thread of the program, and what becomes of it when the thread ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::recorder {

// Numbers of threads, as records have them (SpoolRecord::thread): those of threads that ended are given to later ones.
// Not thread-safe: state.hpp holds the lock.
inline constexpr std::uint32_t kNoThread = 0xffffffffu;
class ThreadNumbers {
 public:
  std::uint32_t take();  // kNoThread: as many threads as there are numbers
  void give_back(std::uint32_t number) { free_[free_count_++] = static_cast<std::uint16_t>(number); }

 private:
  std::uint32_t taken_ = 0;  // ever
  std::uint32_t free_count_ = 0;
  // Not in the object, which is not zero at first: pages that nobody touches, and no bytes of the file.
  static inline std::uint16_t free_[UINT16_MAX];
};

// Memory that grows with what a thread needs at once, and is freed when the thread ends: to be a thread_local.
class ThreadMemory {
 public:
  // At least so many bytes; keeps what is in them.
  void* get(std::size_t bytes) {
    if (bytes > room_) grow(bytes);
    return data_;
  }
  [[nodiscard]] void* data() const { return data_; }
  // All of the calling thread's. It can grow again: what the program runs at the end of a thread may call MPI.
  static void free_all();

 private:
  void grow(std::size_t bytes);
  void* data_ = nullptr;
  std::size_t room_ = 0;
  ThreadMemory* next_ = nullptr;  // of the same thread
};

// An array of it.
template <class T>
struct Scratch {
  ThreadMemory memory;
  T* get(std::size_t n) { return static_cast<T*>(memory.get(sizeof(T) * n)); }
  [[nodiscard]] T* data() const { return static_cast<T*>(memory.data()); }
};

// `at_end` is called when a thread ends that called watch_thread(). Once, before any thread is watched.
void watch_threads(void (*at_end)());
void watch_thread();

}  // namespace weft::recorder
