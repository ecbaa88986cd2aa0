// WEFT_CHECK: an invariant of ours is broken. Prints what was violated and ends the program with exit code 70.
// WEFT_DCHECK: the same, in debug builds only (hot paths). Never use either for a user's input: that is a Result.
#pragma once

#include <string>
#include <string_view>

namespace weft {
[[noreturn]] void check_failed(const char* file, int line, const char* condition, std::string_view message);
}  // namespace weft

#define WEFT_CHECK(cond, message)                                 \
  do {                                                            \
    if (!(cond)) [[unlikely]]                                     \
      ::weft::check_failed(__FILE__, __LINE__, #cond, (message)); \
  } while (false)

#ifdef NDEBUG
#define WEFT_DCHECK(cond, message) \
  do {                             \
  } while (false)
#else
#define WEFT_DCHECK(cond, message) WEFT_CHECK(cond, message)
#endif
