/* Threads of a rank inside MPI at once: every kind of blocking call, among 3 ranks, each thread on a communicator of its own and on the world. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 3
static int rank, size;
static MPI_Comm own[THREADS];

static void* run(void* number) {
  const int t = *(int*)number, next = (rank + 1) % size, last = (rank + size - 1) % size;
  int x = t, y, flag;
  MPI_Status status;
  MPI_Request q[2];
  for (int i = 0; i < 60; ++i) {
    switch ((i + t) % 6) {
      case 0:
        MPI_Irecv(&y, 1, MPI_INT, last, 100 + t, MPI_COMM_WORLD, q);
        MPI_Send(&x, 1, MPI_INT, next, 100 + t, MPI_COMM_WORLD);
        MPI_Wait(q, MPI_STATUS_IGNORE);
        break;
      case 1:
        MPI_Sendrecv(&x, 1, MPI_INT, next, t, &y, 1, MPI_INT, last, t, own[t], &status);
        break;
      case 2:
        MPI_Barrier(own[t]);
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, own[t]);
        break;
      case 3:
        if (rank == 0) {
          MPI_Ssend(&x, 1, MPI_INT, next, 200 + t, MPI_COMM_WORLD);
          MPI_Recv(&y, 1, MPI_INT, MPI_ANY_SOURCE, 200 + t, MPI_COMM_WORLD, &status);
        } else {
          MPI_Recv(&y, 1, MPI_INT, MPI_ANY_SOURCE, 200 + t, MPI_COMM_WORLD, &status);
          MPI_Ssend(&x, 1, MPI_INT, next, 200 + t, MPI_COMM_WORLD);
        }
        break;
      case 4:
        MPI_Isend(&x, 1, MPI_INT, next, 300 + t, MPI_COMM_WORLD, q);
        MPI_Probe(last, 300 + t, MPI_COMM_WORLD, &status);
        MPI_Recv(&y, 1, MPI_INT, last, 300 + t, MPI_COMM_WORLD, &status);
        MPI_Waitall(1, q, MPI_STATUSES_IGNORE);
        break;
      default:
        MPI_Issend(&x, 1, MPI_INT, next, 400 + t, MPI_COMM_WORLD, q);
        for (flag = 0; !flag;) MPI_Iprobe(last, 400 + t, MPI_COMM_WORLD, &flag, &status);
        MPI_Recv(&y, 1, MPI_INT, last, 400 + t, MPI_COMM_WORLD, &status);
        MPI_Wait(q, MPI_STATUS_IGNORE);
    }
  }
  return 0;
}

static void* receive(void* nothing) {
  int x;
  usleep(30000);
  MPI_Recv(&x, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return nothing;
}

/* Rank 0 alone has a second thread, which comes while the first is in a barrier; around it collectives that nothing falls into. */
static void one(void) {
  int x = 0;
  pthread_t thread;
  MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0)
    pthread_create(&thread, 0, receive, 0);
  else
    usleep(60000);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Send(&x, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
  if (rank == 0) pthread_join(thread, 0);
  MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static pthread_barrier_t begun;

/* Waits for two sends and a late answer by copies of their handles, which sends of the other thread share. */
static void* wait_for_copies(void* nothing) {
  char out[2] = {1, 2};
  int answer;
  for (int i = 0; i < 3; ++i) {
    MPI_Request q, copies[3];
    MPI_Irecv(&answer, 1, MPI_INT, 1, 50, MPI_COMM_WORLD, &q);
    copies[0] = q;
    for (int k = 0; k < 2; ++k) {
      MPI_Isend(&out[k], 1, MPI_BYTE, 1, 51 + k, MPI_COMM_WORLD, &q);
      copies[1 + k] = q;
    }
    pthread_barrier_wait(&begun);
    MPI_Waitall(3, copies, MPI_STATUSES_IGNORE);
  }
  return nothing;
}
static void* wait_meanwhile(void* nothing) {
  char out = 3;
  for (int i = 0; i < 3; ++i) {
    pthread_barrier_wait(&begun);
    usleep(3000);
    for (int k = 0; k < 2; ++k) {
      MPI_Request q, copy;
      MPI_Isend(&out, 1, MPI_BYTE, 1, 60 + k, MPI_COMM_WORLD, &q);
      copy = q;
      MPI_Wait(&copy, MPI_STATUS_IGNORE);
    }
  }
  return nothing;
}
static MPI_Request never;
static void* wait_for_never(void* nothing) {
  MPI_Wait(&never, MPI_STATUS_IGNORE);
  return nothing;
}
static void shared(void) {
  if (rank == 0) {
    pthread_t a, b;
    int x;
    MPI_Irecv(&x, 1, MPI_INT, 1, 99, MPI_COMM_WORLD, &never);
    pthread_create(&a, 0, wait_for_never, 0);
    usleep(20000);
    MPI_Cancel(&never); /* of what the other thread waits for */
    pthread_join(a, 0);
    pthread_barrier_init(&begun, 0, 2);
    pthread_create(&a, 0, wait_for_copies, 0);
    pthread_create(&b, 0, wait_meanwhile, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
  }
  for (int i = 0; i < 3 && rank == 1; ++i) {
    const int tags[] = {51, 52, 60, 61};
    char in;
    for (int k = 0; k < 4; ++k) MPI_Recv(&in, 1, MPI_BYTE, 0, tags[k], MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    usleep(2000);
    MPI_Send(&i, 1, MPI_INT, 0, 50, MPI_COMM_WORLD);
  }
}

/* The main thread of rank 0 waits for an answer to what the last of more threads sends than there are numbers of 16 bits; one lives
 * at a time. */
enum { kMany = 65600 };
static void* send_one(void* last) {
  int x = 0;
  MPI_Send(&x, 1, MPI_INT, last != 0 ? 1 : MPI_PROC_NULL, 8, MPI_COMM_WORLD);
  return 0;
}
static void* start_many(void* nothing) {
  usleep(50000); /* the main thread waits by then */
  for (int i = 1; i <= kMany; ++i) {
    pthread_t thread;
    pthread_create(&thread, 0, send_one, i == kMany ? &rank : 0);
    pthread_join(thread, 0);
  }
  return nothing;
}
static void many(void) {
  int x = 0;
  pthread_t thread;
  if (rank == 0) {
    pthread_create(&thread, 0, start_many, 0);
    MPI_Recv(&x, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_join(thread, 0);
  } else {
    MPI_Recv(&x, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&x, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
  }
}

/* Threads, one after the other, each of which asks about many requests; prints how many kB the process grew by the last hundred. */
static long resident(void) {
  char line[256];
  long kb = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status)) sscanf(line, "RssAnon: %ld", &kb);
  fclose(status);
  return kb;
}
static void* wait_for_nothing(void* nothing) {
  enum { kRequests = 100000 };
  static MPI_Request requests[kRequests];
  for (int i = 0; i < kRequests; ++i) requests[i] = MPI_REQUEST_NULL;
  MPI_Waitall(kRequests, requests, MPI_STATUSES_IGNORE);
  return nothing;
}
static void memory(void) {
  long before = 0;
  for (int i = 0; i < 120; ++i) {
    pthread_t thread;
    if (i == 20) before = resident();
    pthread_create(&thread, 0, wait_for_nothing, 0);
    pthread_join(thread, 0);
  }
  if (rank == 0) printf("%ld\n", resident() - before);
}

int main(int argc, char** argv) {
  int level, number[THREADS];
  pthread_t thread[THREADS];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (level != MPI_THREAD_MULTIPLE) {
    printf("no thread support\n");
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) {
    if (strcmp(argv[1], "one") == 0) one();
    if (strcmp(argv[1], "shared") == 0) shared();
    if (strcmp(argv[1], "many") == 0) many();
    if (strcmp(argv[1], "memory") == 0) memory();
    MPI_Finalize();
    return 0;
  }
  for (int t = 0; t < THREADS; ++t) MPI_Comm_dup(MPI_COMM_WORLD, &own[t]);
  for (int t = 0; t < THREADS; ++t) {
    number[t] = t;
    pthread_create(&thread[t], 0, run, &number[t]);
  }
  for (int t = 0; t < THREADS; ++t) pthread_join(thread[t], 0);
  for (int t = 0; t < THREADS; ++t) MPI_Comm_free(&own[t]);
  MPI_Finalize();
  return 0;
}
