#include "core/out_of_memory.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

#include "core/files/temporaries.hpp"

namespace weft {
namespace {

thread_local int depth = 0;  // scopes of this thread in which it is thrown

void no_memory() {
  if (depth > 0) throw std::bad_alloc();
  end_out_of_memory();
}

}  // namespace

void end_when_out_of_memory() { std::set_new_handler(no_memory); }

void end_out_of_memory() {
  // Of several threads that find nothing the first one speaks.
  static std::atomic<bool> ending{false};
  if (ending.exchange(true))
    for (;;) ::pause();
  remove_temporaries();
  std::fputs("error: out of memory\n", stderr);
  std::_Exit(70);
}

void library_ran_out_of_memory() {
  if (depth == 0 && std::get_new_handler() == no_memory) end_out_of_memory();
}
void no_memory_for_a_library() {
  library_ran_out_of_memory();
  throw std::bad_alloc();
}

MayRunOutOfMemory::MayRunOutOfMemory() { ++depth; }
MayRunOutOfMemory::~MayRunOutOfMemory() { --depth; }
MustNotRunOutOfMemory::MustNotRunOutOfMemory() : depth_(std::exchange(depth, 0)) {}
MustNotRunOutOfMemory::~MustNotRunOutOfMemory() { depth = depth_; }

}  // namespace weft
