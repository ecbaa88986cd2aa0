/* Nanoseconds per MPI call of small loops inside one process: run it with and without the recorder preloaded.
   Prints "name nanoseconds-per-call", the least of several rounds, in CPU time. scripts: bench/recorder_overhead.sh. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { kRounds = 100, kCalls = 2000 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* a busy machine must not count */
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static char a[64], b[64];

static void iprobe_miss(void) {
  int flag;
  MPI_Iprobe(0, 999, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}
static void type_size(void) { /* not wrapped: the floor of the measurement */
  int n;
  MPI_Type_size(MPI_DOUBLE, &n);
}
static void sendrecv_self(void) {
  MPI_Sendrecv(a, 8, MPI_BYTE, 0, 1, b, 8, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void irecv_send_wait(void) { /* three calls */
  MPI_Request q;
  MPI_Irecv(b, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD, &q);
  MPI_Send(a, 8, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
}
static void barrier_self(void) { MPI_Barrier(MPI_COMM_SELF); }
static void allreduce_self(void) { MPI_Allreduce(a, b, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF); }

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
    int calls;
  } loops[] = {{"type_size_unwrapped", type_size, 1}, {"iprobe_miss", iprobe_miss, 1},
               {"sendrecv", sendrecv_self, 1},        {"irecv_send_wait", irecv_send_wait, 3},
               {"barrier", barrier_self, 1},          {"allreduce", allreduce_self, 1}};
  MPI_Init(&argc, &argv);
  for (unsigned i = 0; i < sizeof loops / sizeof loops[0]; ++i) {
    double best = 1e30;
    for (int round = 0; round < kRounds; ++round) {
      const double start = now_ns();
      for (int c = 0; c < kCalls; ++c) loops[i].run();
      const double per_call = (now_ns() - start) / kCalls / loops[i].calls;
      if (per_call < best) best = per_call;
    }
    printf("%s %.1f\n", loops[i].name, best);
  }
  MPI_Finalize();
  return 0;
}
