#include "traces/packed/archive_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>
#include <new>

namespace weft::traces {

Result<ArchiveLibrary> load_archive_library() {
  // Once; it stays. A library that is not there may come.
  void* const library = dlopen(WEFT_ARCHIVE, RTLD_LAZY | RTLD_LOCAL);
  ArchiveLibrary out;
  bool whole = library != nullptr;
#define WEFT_X(name)                                                                   \
  if (whole) {                                                                         \
    out.name = reinterpret_cast<decltype(out.name)>(dlsym(library, "archive_" #name)); \
    whole = out.name != nullptr;                                                       \
  }
  WEFT_ARCHIVE_FUNCTIONS(WEFT_X)
#undef WEFT_X
  if (whole) return out;
  const char* const why = dlerror();
  if (why == nullptr || std::strstr(why, "memory") != nullptr) throw std::bad_alloc();
  return not_supported(fmt::format("archives and compressed text without libarchive; got \"{}\"", why),
                       "the library " WEFT_ARCHIVE " (Debian: libarchive13), or files that were unpacked");
}

}  // namespace weft::traces
