// Running out of memory ends the program at the place where it happens: with the message, without unfinished files. To
// unwind instead means destructors and libraries that need memory themselves, or trip over what is half made.
//
// Work that is tried again where there was no memory for it says so: in the scope of a MayRunOutOfMemory of its thread
// std::bad_alloc is thrown, as in a program that never called end_when_out_of_memory() (the tests).
#pragma once

namespace weft {

// Called once, by main(). From then on operator new ends the program with exit code 70 where it finds nothing.
void end_when_out_of_memory();
// Says so, removes every Temporary and ends the program. Takes no memory.
[[noreturn]] void end_out_of_memory();
// For libraries that allocate by themselves and say when they find nothing: ends the program where operator new would end
// it, and throws where that would throw. The first form returns there: for callbacks, C code is above them.
void library_ran_out_of_memory();
[[noreturn]] void no_memory_for_a_library();
// What a library allocated: it answers null where operator new throws.
template <class T>
[[nodiscard]] T* allocated(T* made) {
  if (made == nullptr) no_memory_for_a_library();
  return made;
}

class MayRunOutOfMemory {
 public:
  MayRunOutOfMemory();
  ~MayRunOutOfMemory();
  MayRunOutOfMemory(const MayRunOutOfMemory&) = delete;
  MayRunOutOfMemory& operator=(const MayRunOutOfMemory&) = delete;
};

// The opposite, within such work: what trips over std::bad_alloc (nlohmann/json 3.11 leaves an object without its map), and
// what keeps books that an exception would leave half written.
class MustNotRunOutOfMemory {
 public:
  MustNotRunOutOfMemory();
  ~MustNotRunOutOfMemory();
  MustNotRunOutOfMemory(const MustNotRunOutOfMemory&) = delete;
  MustNotRunOutOfMemory& operator=(const MustNotRunOutOfMemory&) = delete;

 private:
  int depth_;
};

}  // namespace weft
