/* Handles that say less than they seem to: communicators that may not be asked yet, requests that MPI_Start replaces, requests of
 * one handle, a communicator that cannot be freed. Ends with 1 where MPI answers otherwise than it does without a recorder. */
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static char data[1 << 16];

/* The third of a line of communicators, its ranks the other way round. */
static int idup(void) {
  MPI_Comm line, twice;
  MPI_Request request;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &line);
  MPI_Comm_idup(line, &twice, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Group mine, world;
  MPI_Comm_group(twice, &mine);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int zero = 0, root;
  MPI_Group_translate_ranks(mine, 1, &zero, world, &root);
  MPI_Bcast(data, 24, MPI_CHAR, 0, twice);
  if (rank == 3) MPI_Send(data, 8, MPI_CHAR, 1, 7, twice);
  if (rank == 2) MPI_Recv(data, 8, MPI_CHAR, 0, 7, twice, MPI_STATUS_IGNORE);
  return root != size - 1;
}

/* Rank 0 begins to duplicate before it receives what rank 1 has to get rid of before it does: the world, the same with hints
 * where MPI has that, and what lies between two halves. */
static int idup_early(void) {
  MPI_Comm half, between, copy[3];
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 5, &between);
  for (int i = 0; i < 3; ++i) {
    MPI_Request request;
    if (rank == 1) MPI_Ssend(data, 8, MPI_CHAR, 0, i, MPI_COMM_WORLD);
    if (i == 0) MPI_Comm_idup(MPI_COMM_WORLD, &copy[i], &request);
#if MPI_VERSION >= 4
    if (i == 1) MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &copy[i], &request);
#else
    if (i == 1) MPI_Comm_idup(MPI_COMM_WORLD, &copy[i], &request);
#endif
    if (i == 2) MPI_Comm_idup(between, &copy[i], &request);
    if (rank == 0) MPI_Recv(data, 8, MPI_CHAR, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(copy[0]);
  if (rank == 0) MPI_Send(data, 8, MPI_CHAR, 1, 7, copy[2]);
  if (rank == 3) MPI_Recv(data, 8, MPI_CHAR, 0, 7, copy[2], MPI_STATUS_IGNORE);
  for (int i = 0; i < 3; ++i) MPI_Comm_free(&copy[i]);
  return 0;
}

/* Open MPI gives another request where the last message is complete and not yet there. */
static int start(void) {
  if (rank == 0) {
    static char room[8 * (sizeof data + 4096)];
    MPI_Request request[2];
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend_init(data, sizeof data, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request[0]);
    MPI_Bsend_init(data, sizeof data, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &request[1]);
    for (int i = 0; i < 2; ++i) {
      MPI_Start(&request[0]);
      MPI_Wait(&request[0], MPI_STATUS_IGNORE);
      MPI_Startall(2, request);
      MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
    void* back;
    int bytes;
    MPI_Buffer_detach(&back, &bytes);
  } else if (rank == 1) {
    usleep(20000);
    for (int i = 0; i < 4; ++i)
      MPI_Recv(data, sizeof data, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; ++i)
      MPI_Recv(data, sizeof data, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return 0;
}

/* The first request lives on in another variable; small sends are complete at once and may have one handle. */
static int moved(void) {
  if (rank == 0) {
    MPI_Request request, kept;
    MPI_Isend(data, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
    kept = request;
    MPI_Isend(data, 16, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&kept, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Recv(data, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(data, 16, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return 0;
}

static int freed(void) {
  MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (MPI_Comm_free(&world) == MPI_SUCCESS) return 1;
  if (rank == 0) MPI_Send(data, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(data, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return 0;
}

/* What a probe has taken is nobody else's: the receive between gets the second message. */
static int taken(void) {
  if (rank == 0) {
    MPI_Send(data, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    MPI_Send(data, 16, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Message message;
    MPI_Status status;
    int first, second;
    MPI_Mprobe(0, 1, MPI_COMM_WORLD, &message, &status);
    MPI_Recv(data, 64, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &second);
    MPI_Mrecv(data, 64, MPI_CHAR, &message, &status);
    MPI_Get_count(&status, MPI_CHAR, &first);
    return first != 8 || second != 16;
  }
  return 0;
}

/* The program goes on when it hears that its receive is complete, and completes it later. */
static int heard(void) {
  int yes;
  if (rank == 0) {
    MPI_Send(data, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    MPI_Send(data, 8, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    MPI_Recv(data, 8, MPI_CHAR, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    MPI_Request request[2];
    MPI_Irecv(data, 8, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request[0]);
    MPI_Recv_init(data, 8, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &request[1]);
    MPI_Start(&request[1]);
    for (int i = 0; i < 2; ++i)
      for (yes = 0; !yes;) MPI_Request_get_status(request[i], &yes, MPI_STATUS_IGNORE);
    MPI_Send(data, 8, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    MPI_Request_free(&request[1]);
  }
  return 0;
}

/* The same of several receives at a time, heard of twice, and a flush of buffers, which is no message. Ends with 77 where MPI is
 * older than 4.1, which has these calls. */
static int heard_of_several(void) {
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  MPI_Request request[3];
  int yes, index, there, indices[2];
  if (rank == 0) {
    char buffer[1024 + MPI_BSEND_OVERHEAD], *detached;
    MPI_Comm_attach_buffer(MPI_COMM_WORLD, buffer, sizeof buffer);
    for (int tag = 1; tag <= 5; ++tag) MPI_Bsend(data, 8, MPI_CHAR, 1, tag, MPI_COMM_WORLD);
    MPI_Comm_iflush_buffer(MPI_COMM_WORLD, &request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Comm_flush_buffer(MPI_COMM_WORLD);
    MPI_Buffer_iflush(&request[0]);
    MPI_Waitall(1, request, MPI_STATUSES_IGNORE);
    MPI_Buffer_flush();
    MPI_Comm_detach_buffer(MPI_COMM_WORLD, &detached, &yes);
  } else if (rank == 1) {
    MPI_Irecv(data, 8, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request[0]);
    MPI_Recv_init(data, 8, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &request[1]);
    MPI_Start(&request[1]);
    for (int twice = 0; twice < 2; ++twice)
      for (yes = 0; !yes;) MPI_Request_get_status_all(2, request, &yes, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    MPI_Request_free(&request[1]);
    MPI_Irecv(data, 8, MPI_CHAR, 0, 3, MPI_COMM_WORLD, &request[0]);
    MPI_Irecv(data, 8, MPI_CHAR, 0, 9, MPI_COMM_WORLD, &request[1]);
    for (int twice = 0; twice < 2; ++twice)
      for (yes = 0; !yes;) MPI_Request_get_status_any(2, request, &index, &yes, MPI_STATUS_IGNORE);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Irecv(data, 8, MPI_CHAR, 0, 4, MPI_COMM_WORLD, &request[0]);
    for (int twice = 0; twice < 2; ++twice)
      for (there = 0; there == 0;)
        MPI_Request_get_status_some(2, request, &there, indices, MPI_STATUSES_IGNORE);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Cancel(&request[1]);
    MPI_Wait(&request[1], MPI_STATUS_IGNORE);
    MPI_Recv(data, 8, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return index != 0;
  }
  return 0;
#else
  return 77;
#endif
}

/* Receives that are started together, one of which is cancelled. */
static int cancelled(void) {
  if (rank == 0) {
    MPI_Send(data, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Request request[2];
    MPI_Status status[2];
    int gone;
    for (int i = 0; i < 2; ++i) MPI_Recv_init(data, 8, MPI_CHAR, 0, 1 + i, MPI_COMM_WORLD, &request[i]);
    MPI_Startall(2, request);
    MPI_Cancel(&request[1]);
    MPI_Waitall(2, request, status);
    MPI_Test_cancelled(&status[1], &gone);
    for (int i = 0; i < 2; ++i) MPI_Request_free(&request[i]);
    return !gone;
  }
  return 0;
}

/* Receives from nobody: what their statuses say is not looked at, MPICH 4.0.2 leaves a rank in them. */
static int nobody(void) {
  if (rank == 0) {
    MPI_Request request;
    MPI_Message message;
    MPI_Irecv(data, 8, MPI_CHAR, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv_init(data, 8, MPI_CHAR, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(data, 8, MPI_CHAR, &message, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return 0;
}

/* A library that keeps a communicator of its own in an attribute: made where the user duplicates, freed where the user
 * frees. Open MPI gives the new one the handle of the freed one, of other members. */
static int copy_own(MPI_Comm of, int key, void* extra, void* in, void* out, int* flag) {
  MPI_Comm* own = malloc(sizeof *own);
  MPI_Comm_dup(*(MPI_Comm*)in, own);
  *(void**)out = own;
  *flag = 1;
  return MPI_SUCCESS;
}
static int free_own(MPI_Comm of, int key, void* value, void* extra) {
  MPI_Comm_free(value);
  free(value);
  return MPI_SUCCESS;
}
static int attribute(void) {
  int key, there;
  MPI_Comm first, second, third, *half = malloc(sizeof *half), *all = malloc(sizeof *all), *own;
  MPI_Comm_create_keyval(copy_own, free_own, &key, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_dup(MPI_COMM_WORLD, &second);
  MPI_Comm_dup(MPI_COMM_WORLD, all);
  MPI_Comm_set_attr(second, key, all);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, half);
  MPI_Comm_set_attr(first, key, half);
  MPI_Barrier(*half);
  MPI_Comm_free(&first);
  MPI_Comm_dup(second, &third);
  MPI_Comm_get_attr(third, key, &own, &there);
  MPI_Sendrecv(data, 8, MPI_CHAR, (rank + 1) % size, 3, data + 8, 8, MPI_CHAR, (rank + size - 1) % size, 3,
               *own, MPI_STATUS_IGNORE);
  MPI_Barrier(*own);
  return 0;
}

/* A request that no wrapped call made, asked about with ten others and completed once. */
static int query(void* extra, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_SUCCESS;
}
static int nothing(void* extra) { return MPI_SUCCESS; }
static int never(void* extra, int complete) { return MPI_SUCCESS; }
static int generalized(void) {
  MPI_Request requests[11];
  int index, there;
  MPI_Grequest_start(query, nothing, never, NULL, &requests[10]);
  for (int i = 0; i < 10; ++i) MPI_Irecv(data + i, 1, MPI_CHAR, 0, i, MPI_COMM_SELF, &requests[i]);
  for (int i = 0; i < 10; ++i) {
    MPI_Send(data + 99, 1, MPI_CHAR, 0, i, MPI_COMM_SELF);
    if (i % 2 == 0)
      MPI_Waitany(11, requests, &index, MPI_STATUS_IGNORE);
    else
      for (there = 0; !there;) MPI_Testany(11, requests, &index, &there, MPI_STATUS_IGNORE);
  }
  MPI_Grequest_complete(requests[10]);
  MPI_Waitall(11, requests, MPI_STATUSES_IGNORE);
  return 0;
}

/* A receive of as much as there may be. */
static int huge(void) {
  MPI_Datatype part, whole;
  MPI_Type_contiguous(INT_MAX, MPI_CHAR, &part);
  MPI_Type_contiguous(3, part, &whole);
  MPI_Type_commit(&whole);
  MPI_Recv(data, INT_MAX, whole, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return 0;
}

/* Two hundred receives, one ended after the other, then all in one call: the message after theirs has come. */
static int many(void) {
  enum { kMany = 200 };
  MPI_Request q[kMany];
  int index, flag, done, indices[kMany], wrong = 0;
  for (int round = 0; round < 4 && rank < 2; ++round) {
    if (rank == 1) {
      MPI_Recv(data, 1, MPI_CHAR, 0, kMany, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i <= kMany; ++i) MPI_Send(data, 1, MPI_CHAR, 0, i, MPI_COMM_WORLD);
      continue;
    }
    for (int i = 0; i < kMany; ++i) MPI_Irecv(data + i, 1, MPI_CHAR, 1, i, MPI_COMM_WORLD, &q[i]);
    MPI_Send(data, 1, MPI_CHAR, 1, kMany, MPI_COMM_WORLD);
    MPI_Recv(data + kMany, 1, MPI_CHAR, 1, kMany, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int left = kMany; left > 0; left -= done) {
      done = 1;
      if (round == 0) MPI_Waitany(kMany, q, &index, MPI_STATUS_IGNORE);
      if (round == 1)
        for (flag = 0; !flag;) MPI_Testany(kMany, q, &index, &flag, MPI_STATUS_IGNORE);
      if (round == 2) MPI_Waitsome(kMany, q, &done, indices, MPI_STATUSES_IGNORE);
      if (round == 3) MPI_Testsome(kMany, q, &done, indices, MPI_STATUSES_IGNORE);
      wrong += round >= 2 && done != kMany;
    }
  }
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* what = argc > 1 ? argv[1] : "";
  int wrong = 1;
  if (strcmp(what, "idup") == 0) wrong = idup();
  if (strcmp(what, "idup_early") == 0) wrong = idup_early();
  if (strcmp(what, "start") == 0) wrong = start();
  if (strcmp(what, "moved") == 0) wrong = moved();
  if (strcmp(what, "freed") == 0) wrong = freed();
  if (strcmp(what, "attribute") == 0) wrong = attribute();
  if (strcmp(what, "taken") == 0) wrong = taken();
  if (strcmp(what, "heard") == 0) wrong = heard();
  if (strcmp(what, "heard_of_several") == 0) wrong = heard_of_several();
  if (strcmp(what, "nobody") == 0) wrong = nobody();
  if (strcmp(what, "generalized") == 0) wrong = generalized();
  if (strcmp(what, "huge") == 0) wrong = huge();
  if (strcmp(what, "many") == 0) wrong = many();
  if (strcmp(what, "cancelled") == 0) wrong = cancelled();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return wrong;
}
