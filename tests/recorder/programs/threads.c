/* Two threads inside MPI at once (MPI_THREAD_MULTIPLE), 2 ranks. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

static int rank;

static void* exchange(void* tag) {
  const int t = *(int*)tag;
  int x = t, y = 0;
  for (int i = 0; i < 200; ++i) {
    MPI_Sendrecv(&x, 1, MPI_INT, 1 - rank, t, &y, 1, MPI_INT, 1 - rank, t, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (y != t) MPI_Abort(MPI_COMM_WORLD, 4);
  }
  return 0;
}

int main(int argc, char** argv) {
  int level, tags[2] = {1, 2};
  pthread_t other;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (level != MPI_THREAD_MULTIPLE) {
    printf("no thread support\n");
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  pthread_create(&other, 0, exchange, &tags[1]);
  exchange(&tags[0]);
  pthread_join(other, 0);
  MPI_Finalize();
  return 0;
}
