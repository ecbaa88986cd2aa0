/* Programs that something happens to, and that know what should come out: mishaps MODE; some print what MPI answers. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A request of the program's own that ends in an error. */
static int fail(void* extra, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_ERR_OTHER;
}
static int nothing(void* extra) { return MPI_SUCCESS; }
static int never(void* extra, int complete) { return MPI_SUCCESS; }

/* 2 ranks: one that fails beside a persistent send, both asked about without statuses. */
static void without_statuses(int rank) {
  int x = 0, rc, flag;
  for (int i = 0; rank == 0 && i < 2; ++i) {
    MPI_Request q[2];
    MPI_Send_init(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &q[0]);
    MPI_Start(&q[0]);
    MPI_Grequest_start(fail, nothing, never, NULL, &q[1]);
    MPI_Grequest_complete(q[1]);
    do rc = i == 0 ? MPI_Waitall(2, q, MPI_STATUSES_IGNORE) : MPI_Testall(2, q, &flag, MPI_STATUSES_IGNORE);
    while (i > 0 && rc == MPI_SUCCESS && !flag); /* the send may take its time */
    MPI_Error_class(rc, &rc);
    printf("%d %d\n", i, rc);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE); /* complete or not */
    MPI_Request_free(&q[0]);
  }
  for (int i = 0; rank == 1 && i < 2; ++i) MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Calls without an argument that they need, of those that each library answers with an error by itself; prints the errors. */
static void null_arguments(void) {
  int x[2] = {0}, y[2] = {0}, zeroes[2] = {0}, flag, index, codes[32], n = 0;
  MPI_Request q = MPI_REQUEST_NULL;
  MPI_Status status[2];
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  codes[n++] = MPI_Wait(NULL, status);
  codes[n++] = MPI_Waitall(2, NULL, MPI_STATUSES_IGNORE);
  codes[n++] = MPI_Waitany(2, NULL, &index, status);
  codes[n++] = MPI_Waitsome(2, NULL, &index, zeroes, MPI_STATUSES_IGNORE);
  codes[n++] = MPI_Test(NULL, &flag, status);
  codes[n++] = MPI_Test(&q, NULL, status);
  codes[n++] = MPI_Testall(2, NULL, &flag, MPI_STATUSES_IGNORE);
  codes[n++] = MPI_Testany(2, NULL, &index, &flag, status);
  codes[n++] = MPI_Testsome(2, NULL, &index, zeroes, MPI_STATUSES_IGNORE);
  codes[n++] = MPI_Start(NULL);
  codes[n++] = MPI_Startall(2, NULL);
  codes[n++] = MPI_Cancel(NULL);
  codes[n++] = MPI_Request_free(NULL);
#ifdef OPEN_MPI
  codes[n++] = MPI_Gatherv(x, 1, MPI_INT, y, NULL, NULL, MPI_INT, 0, world);
  codes[n++] = MPI_Scatterv(x, NULL, NULL, MPI_INT, y, 0, MPI_INT, 0, world);
  codes[n++] = MPI_Allgatherv(x, 0, MPI_INT, y, NULL, NULL, MPI_INT, world);
  codes[n++] = MPI_Alltoallv(x, NULL, NULL, MPI_INT, y, NULL, NULL, MPI_INT, world);
  codes[n++] = MPI_Alltoallw(x, zeroes, zeroes, NULL, y, zeroes, zeroes, NULL, world);
  codes[n++] = MPI_Reduce_scatter(x, y, NULL, MPI_INT, MPI_SUM, world);
#else
  codes[n++] = MPI_Comm_free(NULL);
  codes[n++] = MPI_Comm_disconnect(NULL);
  codes[n++] = MPI_Mrecv(x, 1, MPI_INT, NULL, status);
  codes[n++] = MPI_Imrecv(x, 1, MPI_INT, NULL, &q);
#endif
  for (int i = 0; i < n; ++i) {
    MPI_Error_class(codes[i], &codes[i]);
    printf("%d%c", codes[i], i + 1 < n ? ' ' : '\n');
  }
  MPI_Barrier(world);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  int rank, size, bad = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (strcmp(mode, "bcast") == 0) { /* the first message of the program is the program's */
    double x = rank == 0 ? 42 : -1;
    MPI_Bcast(&x, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    bad = x != 42;
    if (bad) printf("%g\n", x);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (strcmp(mode, "creation") == 0) { /* a call on rank 0 alone fails; what all make after it is one */
    MPI_Comm copy, none, made;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    if (rank == 0) bad = MPI_Comm_create(copy, MPI_GROUP_NULL, &none) == MPI_SUCCESS;
    MPI_Comm_split(copy, 0, rank, &made);
    MPI_Barrier(made);
  }
  if (strcmp(mode, "start") == 0 || strcmp(mode, "startall") == 0) { /* 2 ranks: of an active request */
    char in[10], out[10] = {0};
    MPI_Request request[2];
    MPI_Recv_init(in, 10, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, request);
    MPI_Send_init(out, 7, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, request + 1);
    MPI_Start(request);
    if (strcmp(mode, "start") == 0)
      bad = MPI_Start(request) == MPI_SUCCESS;
    else
      bad = MPI_Startall(1, request) == MPI_SUCCESS;
    MPI_Start(request + 1);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    MPI_Startall(2, request);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    MPI_Request_free(request);
    MPI_Request_free(request + 1);
  }
  if (strcmp(mode, "shared") == 0) { /* 2 ranks: many sends, the last one awaited first */
    enum { kSends = 100 };
    static MPI_Request request[kSends];
    static char out[8], in[8];
    const int last = kSends - 1;
    if (rank == 0) {
      for (int i = 0; i < kSends; ++i) MPI_Isend(out, 8, MPI_CHAR, 1, i, MPI_COMM_WORLD, request + i);
      MPI_Wait(request + last, MPI_STATUS_IGNORE);
      MPI_Recv(in, 1, MPI_CHAR, 1, 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < last; ++i) MPI_Wait(request + i, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(in, sizeof in, MPI_CHAR, 0, last, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(in, 1, MPI_CHAR, 0, 1000, MPI_COMM_WORLD);
      for (int i = 0; i < last; ++i)
        MPI_Recv(in, sizeof in, MPI_CHAR, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  if (strcmp(mode, "testall") == 0) { /* 2 ranks: the second of three messages is longer than its receive */
    char buffer[3][64];
    MPI_Request request[3];
    MPI_Status status[3];
    int flag = 0, rc = MPI_SUCCESS;
    for (int i = 0; rank == 0 && i < 3; ++i)
      MPI_Irecv(buffer[i], i == 1 ? 4 : 64, MPI_CHAR, 1, i, MPI_COMM_WORLD, request + i);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 1 && i < 3; ++i) MPI_Send(buffer[i], 20 + i, MPI_CHAR, 0, i, MPI_COMM_WORLD);
    while (rank == 0 && !flag && rc == MPI_SUCCESS) rc = MPI_Testall(3, request, &flag, status);
    if (rank == 0) bad = rc == MPI_SUCCESS;
    for (int i = 0; rank == 0 && i < 3; ++i)
      if (request[i] != MPI_REQUEST_NULL) MPI_Wait(request + i, status);
  }
  if (strcmp(mode, "without_statuses") == 0) without_statuses(rank);
  if (strcmp(mode, "null_arguments") == 0) null_arguments();
  if (bad) MPI_Abort(MPI_COMM_WORLD, 6);
  MPI_Finalize();
  return 0;
}
