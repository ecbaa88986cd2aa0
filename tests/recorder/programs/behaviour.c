/* How programs end and wait: behaviour MODE. */
#include <mpi.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static jmp_buf after_the_call;
static void leave_the_call(MPI_Comm* comm, int* code, ...) {
  MPI_Barrier(MPI_COMM_SELF); /* inside the call that is left */
  longjmp(after_the_call, 1);
}
static void below(
    int frames) { /* calls from a frame below those of all calls before, which stay as they were */
  volatile char room[512];
  if (frames > 0)
    below(frames - 1);
  else
    MPI_Barrier(MPI_COMM_WORLD);
  room[0] = 0;
}

static double work(int microseconds) { /* keeps the core busy that long, in CPU time */
  struct timespec t;
  double x = 1, start, now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  start = (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
  do {
    for (int i = 0; i < 200; ++i) x = x * 1.0000001 + 1e-9;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    now = (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
  } while (now - start < microseconds);
  return x;
}

static MPI_Comm unseen;
static int make_unseen(MPI_Comm of, int key, void* extra, void* in, void* out, int* flag) {
  *flag = 0;
  return MPI_Comm_dup(MPI_COMM_SELF, &unseen);
}

/* Rank 1 polls without pause for what rank 0 does late, by calls that are not recorded: an exposure of a window, a part of a message
 * (MPI 4), and a message on a communicator that a callback made. */
static void unseen_polls(int rank, const char* what) {
  const int other = 1 - rank;
  int flag = 0, x = 0;
  if (strcmp(what, "window") == 0) {
    MPI_Win window;
    MPI_Group world, peer;
    MPI_Win_create(&x, sizeof x, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &other, &peer);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Win_start(peer, 0, window);
      usleep(300000);
      MPI_Win_complete(window);
    } else {
      MPI_Win_post(peer, 0, window);
      while (!flag) MPI_Win_test(window, &flag);
    }
    MPI_Win_free(&window);
  }
#if MPI_VERSION >= 4
  if (strcmp(what, "part") == 0) {
    MPI_Request request;
    if (rank == 0)
      MPI_Psend_init(&x, 1, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
      MPI_Precv_init(&x, 1, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) usleep(300000), MPI_Pready(0, request);
    while (rank == 1 && !flag) MPI_Parrived(request, 0, &flag);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
#endif
  if (strcmp(what, "communicator") == 0) {
    int key;
    MPI_Comm copy;
    double start = MPI_Wtime();
    MPI_Comm_create_keyval(make_unseen, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &x);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    while (rank == 1 && MPI_Wtime() < start + 0.3)
      MPI_Iprobe(0, 1, unseen, &flag, MPI_STATUS_IGNORE); /* nobody sends */
  }
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  int rank, x = 0;
  if (strcmp(mode, "no-mpi") == 0) return argc > 2 ? atoi(argv[2]) : 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(mode, "exit") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return argc > 2 ? atoi(argv[2]) : 0;
  }
  if (strcmp(mode, "killed") == 0) { /* rank 0 is killed, the others hang in a receive */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      usleep(300000);
      raise(SIGKILL);
    }
    MPI_Recv(&x, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (strcmp(mode, "abort") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
      MPI_Abort(MPI_COMM_WORLD, 5);
      pause(); /* MPICH 4.2 comes back, and its launcher ends the process */
    }
    MPI_Recv(&x, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (strcmp(mode, "fatal") == 0) { /* MPI ends the program for an argument of the named call */
    const char* call = argc > 2 ? argv[2] : "";
    MPI_Request request;
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(call, "bcast") == 0) MPI_Bcast(&x, 1, MPI_INT, 99, MPI_COMM_WORLD);
    if (strcmp(call, "isend") == 0) MPI_Isend(&x, -1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
    if (strcmp(call, "send") == 0) MPI_Send(&x, 1, MPI_INT, 0, -5, MPI_COMM_WORLD);
    if (strcmp(call, "recv") == 0) MPI_Recv(&x, 1, MPI_INT, 0, -77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(call, "sendrecv") == 0)
      MPI_Sendrecv(&x, -1, MPI_INT, 0, 1, &x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (strcmp(mode, "fork") == 0) { /* a child that uses nothing of MPI and a parent that goes on */
    if (fork() == 0) _exit(0);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (strcmp(mode, "spin") ==
      0) { /* rank 1 polls without pause for a message that comes late, then forwards it */
    if (rank == 0) {
      usleep(100000);
      MPI_Send(&x, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    } else if (rank == 1) {
      for (int flag = 0; !flag;) MPI_Iprobe(0, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      MPI_Recv(&x, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&x, 1, MPI_INT, 2, 7, MPI_COMM_WORLD);
    } else if (rank == 2) {
      MPI_Recv(&x, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  if (strcmp(mode, "unseen-polls") == 0) unseen_polls(rank, argc > 2 ? argv[2] : "");
  if (strcmp(mode, "poll") ==
      0) { /* three polls with work between; then the message; as a panel broadcast does it */
    MPI_Comm row, column;
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &column);
    if (rank == 1) {
      int flag = 0;
      for (int i = 0; i < 3; ++i) {
        MPI_Iprobe(0, 7, row, &flag, MPI_STATUS_IGNORE);
        work(300);
      }
      MPI_Send(&x, 1, MPI_INT, 0, 8, column); /* only now the message is sent */
      MPI_Recv(&x, 1, MPI_INT, 0, 9, column, MPI_STATUS_IGNORE);
      for (flag = 0; !flag;) {
        MPI_Iprobe(0, 7, row, &flag, MPI_STATUS_IGNORE);
        if (!flag) work(100);
      }
      MPI_Recv(&x, 1, MPI_INT, 0, 7, row, MPI_STATUS_IGNORE);
      MPI_Send(&x, 1, MPI_INT, 2, 7, row);
      MPI_Send(&x, 1, MPI_INT, 3, 10, column);
    } else if (rank == 0) {
      MPI_Recv(&x, 1, MPI_INT, 1, 8, column, MPI_STATUS_IGNORE);
      MPI_Send(&x, 1, MPI_INT, 1, 7, row);
      MPI_Send(&x, 1, MPI_INT, 1, 9, column);
    } else if (rank == 2) {
      MPI_Recv(&x, 1, MPI_INT, 1, 7, row, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&x, 1, MPI_INT, 1, 10, column, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&column);
    MPI_Comm_free(&row);
  }
  if (strcmp(mode, "missed") == 0) { /* polls, gives up, receives: the later hit is of another message */
    if (rank == 1) {
      int flag = 0;
      MPI_Iprobe(0, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      MPI_Send(&x, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
      MPI_Recv(&x, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (flag = 0; !flag;) MPI_Iprobe(0, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      MPI_Recv(&x, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 0) {
      MPI_Recv(&x, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&x, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
      MPI_Send(&x, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
    }
  }
  if (strcmp(mode, "limit") == 0) { /* more calls than a file may hold from now on: about 6 MB of records */
    const struct rlimit limit = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 100000; ++i) MPI_Barrier(MPI_COMM_SELF);
    MPI_Finalize();
    return 5;
  }
  if (strcmp(mode, "descriptors") ==
      0) { /* its own file gets the number of the recorder's; 6 MB of records follow */
    char name[32], file[256];
    FILE* mine = fopen("mine", "w");
    int taken = 0;
    for (int fd = 3; fd < 1024; ++fd) {
      snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
      const ssize_t n = readlink(name, file, sizeof file - 1);
      file[n > 0 ? n : 0] = 0;
      if (strstr(file, ".spool.") != NULL) taken += dup2(fileno(mine), fd) == fd;
    }
    for (int i = 0; i < 100000; ++i) MPI_Barrier(MPI_COMM_SELF);
    fputs("mine", mine);
    fclose(mine);
    MPI_Finalize();
    return taken != 1;
  }
  if (strcmp(mode, "hang") == 0) { /* says that it is there, then waits for ever */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("hanging\n"), fflush(stdout);
    MPI_Recv(&x, 1, MPI_INT, 1 - rank, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (strcmp(mode, "made") ==
      0) { /* 3 ranks: 0 waits for what 1 would send after a call that 0 never makes */
    MPI_Comm made;
    if (rank == 0) MPI_Recv(&x, 1, MPI_INT, 1, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    alarm(2);
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Send(&x, 1, MPI_INT, 0, 77, MPI_COMM_WORLD);
  }
  if (strcmp(mode, "errors") == 0) { /* 2 ranks: calls that fail, with and without a message taken */
    int buffer[100] = {0};
    MPI_Request request;
    MPI_Status status;
    int flag = 0, bad = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    bad += MPI_Send(buffer, 1, MPI_INT, 7, 1, MPI_COMM_WORLD) != MPI_SUCCESS;
    bad += MPI_Isend(buffer, 1, MPI_INT, 7, 1, MPI_COMM_WORLD, &request) != MPI_SUCCESS;
    bad += MPI_Sendrecv(buffer, 1, MPI_INT, 7, 1, buffer + 1, 1, MPI_INT, 7, 1, MPI_COMM_WORLD, &status) !=
           MPI_SUCCESS;
    bad += MPI_Recv(buffer, 1, MPI_INT, 7, 1, MPI_COMM_WORLD, &status) != MPI_SUCCESS;
    bad += MPI_Bcast(buffer, 1, MPI_INT, 7, MPI_COMM_WORLD) != MPI_SUCCESS;
    bad += MPI_Iprobe(7, 1, MPI_COMM_WORLD, &flag, &status) != MPI_SUCCESS;
    MPI_Send(buffer, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Send(buffer, 100, MPI_INT, 1, 2, MPI_COMM_WORLD);
      MPI_Send(buffer, 100, MPI_INT, 1, 3, MPI_COMM_WORLD);
    } else { /* both are longer than their receive */
      bad += MPI_Recv(buffer, 10, MPI_INT, 0, 2, MPI_COMM_WORLD, &status) != MPI_SUCCESS;
      MPI_Irecv(buffer, 10, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request);
      bad += MPI_Wait(&request, &status) != MPI_SUCCESS;
    }
    if (bad != (rank == 0 ? 6 : 8)) MPI_Abort(MPI_COMM_WORLD, 6);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (strcmp(mode, "codes") == 0) { /* 2 ranks: answers of calls that receive too much */
    static const char* const names[] = {"Waitall", "Waitsome", "Testall", "Testsome"};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 8; ++i) {
      const int n = 1 + i % 2;
      char bytes[64] = {0};
      MPI_Request q[2];
      int code = 0, class = 0, flag, done, indices[2];
      if (rank == 0) {
        MPI_Send(bytes, 64, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
        MPI_Send(bytes, 4, MPI_BYTE, 1, 6, MPI_COMM_WORLD);
        MPI_Send(bytes, 4, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
        continue;
      }
      for (int k = 0; k < 2; ++k) MPI_Irecv(bytes + 8 * k, 8, MPI_BYTE, 0, 5 + k, MPI_COMM_WORLD, &q[k]);
      MPI_Recv(bytes + 16, 4, MPI_BYTE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* so both have come */
      if (i / 2 == 0) code = MPI_Waitall(n, q, MPI_STATUSES_IGNORE);
      if (i / 2 == 1) code = MPI_Waitsome(n, q, &done, indices, MPI_STATUSES_IGNORE);
      if (i / 2 == 2) code = MPI_Testall(n, q, &flag, MPI_STATUSES_IGNORE);
      if (i / 2 == 3) code = MPI_Testsome(n, q, &done, indices, MPI_STATUSES_IGNORE);
      MPI_Error_class(code, &class);
      printf("%s of %d: %d\n", names[i / 2], n, class);
      for (int k = 0; k < 2; ++k)
        if (q[k] != MPI_REQUEST_NULL) MPI_Wait(&q[k], MPI_STATUS_IGNORE);
    }
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (strcmp(mode, "left") == 0) { /* 2 ranks: calls that fail are left by the error handler */
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(leave_the_call, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (setjmp(after_the_call) == 0) MPI_Send(&x, 1, MPI_INT, 7, 1, MPI_COMM_WORLD);
    if (setjmp(after_the_call) == 0) MPI_Bcast(&x, 1, MPI_INT, 7, MPI_COMM_WORLD);
    if (rank == 0) MPI_Send(&x, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (setjmp(after_the_call) == 0) MPI_Send(&x, 1, MPI_INT, 7, 3, MPI_COMM_WORLD);
    below(8);
  }
  if (strcmp(mode, "nulls") == 0) { /* calls on handles of nothing */
    MPI_Comm none = MPI_COMM_NULL, made;
    MPI_Request request = MPI_REQUEST_NULL;
    int bad = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    bad += MPI_Send(&x, 1, MPI_INT, 0, 1, none) != MPI_SUCCESS;
    bad += MPI_Recv(&x, 1, MPI_INT, 0, 1, none, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    bad += MPI_Barrier(none) != MPI_SUCCESS;
    bad += MPI_Comm_dup(none, &made) != MPI_SUCCESS;
    bad += MPI_Comm_free(&none) != MPI_SUCCESS;
    bad += MPI_Start(&request) != MPI_SUCCESS;
    bad += MPI_Request_free(&request) != MPI_SUCCESS;
    if (bad != 7) MPI_Abort(MPI_COMM_WORLD, 6);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (strcmp(mode, "clock") == 0) { /* 20 ms of work and 200 ms of sleep between two barriers */
    MPI_Barrier(MPI_COMM_WORLD);
    work(20000);
    usleep(200000);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
