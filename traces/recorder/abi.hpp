// Which binary interface (ABI) an MPI library has, told by the name of its file: the number after ".so." is the
// interface, and each has a recorder of its own.
//
// Asked by weft before it starts a program and by the recorder inside of it: so this header needs no library.
#pragma once

#include <cstring>

namespace weft::recorder {

// kOther: an MPI library, but none that there is a recorder for. kNone: not an MPI library.
enum class Abi { kOpenMpi, kMpich, kOther, kNone };

struct AbiFacts {
  Abi abi;
  const char* id;      // in libweft_record_<id>.so
  const char* so;      // how the library's files end
  const char* spoken;  // "a program of ..."
};
// Fortran and C++ bindings carry the same number as the C library: libmpi_mpifh.so.40, libmpifort.so.12.
inline constexpr AbiFacts kAbis[] = {
    {Abi::kOpenMpi, "openmpi", ".so.40", "Open MPI 3 to 5 (libmpi.so.40)"},
    {Abi::kMpich, "mpich", ".so.12",
     "MPICH, Intel MPI, MVAPICH2 or Cray MPICH (libmpi.so.12, libmpich.so.12)"},
};
inline constexpr char kRecorderPrefix[] = "libweft_record_";  // + id + ".so"

inline const AbiFacts* facts_of(Abi abi) {
  for (const AbiFacts& facts : kAbis)
    if (facts.abi == abi) return &facts;
  return nullptr;
}

// The part of a path after its last slash.
inline const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// Of a path or a file name: "libmpi.so.40", "/opt/cray/lib/libmpi_gnu_91.so.12.0.0".
inline Abi abi_of_library(const char* path) {
  const char* name = base_name(path);
  if (std::strncmp(name, "libmpi", 6) != 0) return Abi::kNone;
  const char* so = std::strstr(name, ".so");
  if (so == nullptr) return Abi::kNone;
  for (const AbiFacts& facts : kAbis) {
    const std::size_t n = std::strlen(facts.so);
    if (std::strncmp(so, facts.so, n) == 0 && (so[n] == '\0' || so[n] == '.')) return facts.abi;
  }
  const auto stem = static_cast<std::size_t>(so - name);
  const bool c_library = stem == 6 || (stem == 8 && std::strncmp(name, "libmpich", 8) == 0) ||
                         (stem == 10 && std::strncmp(name, "libmpi_abi", 10) == 0);
  return c_library ? Abi::kOther : Abi::kNone;
}

}  // namespace weft::recorder
