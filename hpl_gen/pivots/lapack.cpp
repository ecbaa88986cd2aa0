#include "hpl_gen/pivots/lapack.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace weft::hpl_gen {

Result<Lapack> load_lapack() {
  // Once; it stays. A library that is not there may come.
  void* library = dlopen(WEFT_LAPACK, RTLD_NOW | RTLD_LOCAL);
  void* found = library == nullptr ? nullptr : dlsym(library, "dgetrf_");
  if (found == nullptr) {
    const char* why = dlerror();
    return not_supported(
        fmt::format("exact pivots without LAPACK; got \"{}\"", why == nullptr ? "no dgetrf" : why),
        "the library " WEFT_LAPACK " (Debian: libopenblas0), or random pivots");
  }
  return Lapack{reinterpret_cast<decltype(Lapack::dgetrf)>(found)};
}

}  // namespace weft::hpl_gen
