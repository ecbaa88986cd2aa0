/* A profiling tool as users preload or link it: counts the program's sends and asks MPI things of its own. */
#include <mpi.h>
#include <stdio.h>

static int sends, barriers;
static MPI_Comm own; /* of the tool */

int MPI_Init(int* argc, char*** argv) {
  const int rc = PMPI_Init(argc, argv);
  PMPI_Comm_dup(MPI_COMM_WORLD, &own);
  return rc;
}
int MPI_Send(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(buffer, count, type, dest, tag, comm);
}
int MPI_Barrier(MPI_Comm comm) {
  ++barriers;
  PMPI_Barrier(own); /* not the program's */
  return PMPI_Barrier(comm);
}
int MPI_Finalize(void) {
  int mine[2], all[2] = {0, 0}, rank;
  mine[0] = sends;
  mine[1] = barriers;
  PMPI_Comm_rank(own, &rank);
  PMPI_Reduce(mine, all, 2, MPI_INT, MPI_SUM, 0, own);
  if (rank == 0) printf("tool: %d sends, %d barriers\n", all[0], all[1]);
  PMPI_Comm_free(&own);
  return PMPI_Finalize();
}
