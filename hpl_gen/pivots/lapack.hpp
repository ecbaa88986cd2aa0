// LAPACK, loaded when it is first asked for: a library of linear algebra starts a thread for each core and has 14,000
// symbols to resolve as it is loaded, which every command of the program would pay.
#pragma once

#include "core/result.hpp"

namespace weft::hpl_gen {

struct Lapack {
  // Factors a matrix of m x n doubles, columns lda apart, with partial pivoting (Fortran calling convention).
  void (*dgetrf)(const int* m, const int* n, double* a, const int* lda, int* ipiv, int* info);
};

// From the library that the build found, which the loader looks for by name. Errors: kNotSupported, with what the loader
// says.
[[nodiscard]] Result<Lapack> load_lapack();

}  // namespace weft::hpl_gen
