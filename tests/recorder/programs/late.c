/* Loads its MPI library (given when this is compiled) while it runs, as an interpreter does with a module. With an
   argument it looks for the functions in that library itself. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* mpi = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
  /* the first definition in the search order, as the module itself would be bound */
  int (*init)(int*, char***) = (int (*)(int*, char***))dlsym(RTLD_DEFAULT, "MPI_Init");
  int (*size)(MPI_Comm, int*);
  int (*finalize)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "MPI_Finalize");
  int n = 0;
  if (mpi == NULL) return 9;
  if (argc > 1) init = NULL, finalize = NULL;
  if (init == NULL) init = (int (*)(int*, char***))dlsym(mpi, "MPI_Init");
  if (finalize == NULL) finalize = (int (*)(void))dlsym(mpi, "MPI_Finalize");
  size = (int (*)(MPI_Comm, int*))dlsym(mpi, "MPI_Comm_size");
  init(&argc, &argv);
  size(MPI_COMM_WORLD, &n);
  printf("%d rank%s\n", n, n == 1 ? "" : "s");
  return finalize();
}
