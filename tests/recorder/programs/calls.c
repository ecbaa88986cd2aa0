/* Makes every call that the recorder knows, family by family; 4 ranks. The expected operations are in calls_test.cpp. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls that make persistent collectives: since MPI 4; in Open MPI 4 an extension with names of its own. */
#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION == 4
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

#ifndef COUNT /* large.h */
#define COUNT int
#define DISPLACEMENT int
#endif

static int rank, size;
static int rounds = 1; /* second argument: MPICH 4.0 fails at the second start of a scatter */
static double a[64], b[64];

static void p2p(void) {
  const int to = rank + 1, from = rank - 1;
  if (rank % 2 == 0) {
    static char room[4096];
    int n;
    void* p;
    MPI_Send(a, 1, MPI_DOUBLE, to, 1, MPI_COMM_WORLD);
    MPI_Ssend(a, 2, MPI_DOUBLE, to, 2, MPI_COMM_WORLD);
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(a, 3, MPI_DOUBLE, to, 3, MPI_COMM_WORLD);
    MPI_Buffer_detach(&p, &n);
    MPI_Rsend(a, 4, MPI_DOUBLE, to, 4, MPI_COMM_WORLD);
  } else {
    MPI_Status s;
    MPI_Recv(b, 1, MPI_DOUBLE, from, 1, MPI_COMM_WORLD, &s);
    MPI_Recv(b, 64, MPI_DOUBLE, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(b, 64, MPI_DOUBLE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(b, 64, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Sendrecv(a, 5, MPI_INT, (rank + 1) % size, 5, b, 6, MPI_INT, (rank + size - 1) % size, 5,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv_replace(a, 7, MPI_BYTE, (rank + 1) % size, 6, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  MPI_Send(a, 1, MPI_DOUBLE, MPI_PROC_NULL, 7, MPI_COMM_WORLD);
  MPI_Recv(a, 1, MPI_DOUBLE, MPI_PROC_NULL, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void persistent(void) {
  MPI_Request q[5];
  MPI_Recv_init(b, 1, MPI_DOUBLE, (rank + 3) % 4, 1, MPI_COMM_WORLD, &q[0]);
  MPI_Send_init(a, 1, MPI_DOUBLE, (rank + 1) % 4, 1, MPI_COMM_WORLD, &q[1]);
  for (int i = 0; i < 2; ++i) {
    MPI_Start(&q[0]);
    MPI_Start(&q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  }
  MPI_Startall(2, q);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
  MPI_Wait(&q[1], MPI_STATUS_IGNORE);
  MPI_Wait(&q[1], MPI_STATUS_IGNORE); /* inactive: completes nothing */
  MPI_Ssend_init(a, 2, MPI_DOUBLE, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &q[2]);
  MPI_Bsend_init(a, 3, MPI_DOUBLE, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &q[3]);
  MPI_Rsend_init(a, 4, MPI_DOUBLE, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &q[4]);
  for (int i = 0; i < 5; ++i) MPI_Request_free(&q[i]);
}

static void completion(void) {
  const int to = (rank + 1) % 4, from = (rank + 3) % 4;
  MPI_Request q[4];
  MPI_Status s[4];
  int n, at[4], flag;
  MPI_Irecv(b, 8, MPI_DOUBLE, from, 1, MPI_COMM_WORLD, &q[0]);
  MPI_Isend(a, 1, MPI_DOUBLE, to, 1, MPI_COMM_WORLD, &q[1]);
  MPI_Wait(&q[1], MPI_STATUS_IGNORE);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE); /* null: completes nothing */

  MPI_Irecv(b, 1, MPI_DOUBLE, from, 2, MPI_COMM_WORLD, &q[0]);
  MPI_Irecv(b, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &q[1]);
  MPI_Issend(a, 1, MPI_DOUBLE, to, 2, MPI_COMM_WORLD, &q[2]);
  MPI_Issend(a, 1, MPI_DOUBLE, to, 3, MPI_COMM_WORLD, &q[3]);
  MPI_Waitall(4, q, s);

  q[0] = q[2] = MPI_REQUEST_NULL;
  MPI_Irecv(b, 1, MPI_DOUBLE, from, 4, MPI_COMM_WORLD, &q[1]);
  MPI_Send(a, 1, MPI_DOUBLE, to, 4, MPI_COMM_WORLD);
  MPI_Waitany(3, q, &n, MPI_STATUS_IGNORE);
  if (n != 1) MPI_Abort(MPI_COMM_WORLD, 3);
  MPI_Irecv(b, 1, MPI_DOUBLE, from, 5, MPI_COMM_WORLD, &q[1]);
  MPI_Send(a, 1, MPI_DOUBLE, to, 5, MPI_COMM_WORLD);
  MPI_Waitsome(3, q, &n, at, MPI_STATUSES_IGNORE);
  if (n != 1 || at[0] != 1) MPI_Abort(MPI_COMM_WORLD, 3);

  MPI_Irecv(b, 1, MPI_DOUBLE, from, 6, MPI_COMM_WORLD, &q[0]);
  MPI_Send(a, 1, MPI_DOUBLE, to, 6, MPI_COMM_WORLD);
  for (flag = 0; !flag;) MPI_Test(&q[0], &flag, MPI_STATUS_IGNORE);
  MPI_Irecv(b, 1, MPI_DOUBLE, from, 7, MPI_COMM_WORLD, &q[0]);
  MPI_Isend(a, 1, MPI_DOUBLE, to, 7, MPI_COMM_WORLD, &q[1]);
  for (flag = 0; !flag;) MPI_Testall(2, q, &flag, MPI_STATUSES_IGNORE);
  MPI_Irecv(b, 1, MPI_DOUBLE, from, 8, MPI_COMM_WORLD, &q[0]);
  MPI_Send(a, 1, MPI_DOUBLE, to, 8, MPI_COMM_WORLD);
  for (flag = 0; !flag;) MPI_Testany(1, q, &n, &flag, MPI_STATUS_IGNORE);
  MPI_Irecv(b, 1, MPI_DOUBLE, from, 9, MPI_COMM_WORLD, &q[0]);
  MPI_Send(a, 1, MPI_DOUBLE, to, 9, MPI_COMM_WORLD);
  for (n = 0; n == 0;) MPI_Testsome(1, q, &n, at, MPI_STATUSES_IGNORE);

  MPI_Irecv(b, 1, MPI_DOUBLE, from, 99, MPI_COMM_WORLD, &q[0]); /* nobody sends it */
  MPI_Cancel(&q[0]);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
  {
    static char room[4096];
    void* p;
    MPI_Buffer_attach(room, sizeof room);
    MPI_Ibsend(a, 1, MPI_DOUBLE, MPI_PROC_NULL, 10, MPI_COMM_WORLD, &q[0]);
    MPI_Irsend(a, 1, MPI_DOUBLE, MPI_PROC_NULL, 11, MPI_COMM_WORLD, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    MPI_Buffer_detach(&p, &n);
  }
}

static void probe(void) {
  MPI_Status s;
  MPI_Message m;
  MPI_Request q;
  int flag;
  if (rank == 0) {
    for (int t = 1; t <= 4; ++t) MPI_Send(a, t, MPI_DOUBLE, 1, t, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Probe(0, 1, MPI_COMM_WORLD, &s);
    MPI_Recv(b, 64, MPI_DOUBLE, s.MPI_SOURCE, s.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;) MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(b, 64, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Mprobe(0, 3, MPI_COMM_WORLD, &m, &s);
    MPI_Mrecv(b, 64, MPI_DOUBLE, &m, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;) MPI_Improbe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &m, &s);
    MPI_Imrecv(b, 64, MPI_DOUBLE, &m, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
  }
}

/* counts of the v-variants: rank r has r + 1 elements */
static COUNT counts[4] = {1, 2, 3, 4}, ones[4] = {1, 1, 1, 1};
static DISPLACEMENT displs[4] = {0, 1, 3, 6}, seq[4] = {0, 1, 2, 3};

static void collectives(void) {
  MPI_Datatype t[4] = {MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE};
  DISPLACEMENT bytes[4] = {0, 8, 16, 24};
  MPI_Comm w = MPI_COMM_WORLD;
  MPI_Barrier(w);
  MPI_Bcast(a, 3, MPI_DOUBLE, 2, w);
  MPI_Gather(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, 1, w);
  MPI_Gatherv(a, counts[rank], MPI_DOUBLE, b, counts, displs, MPI_DOUBLE, 1, w);
  MPI_Scatter(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, 3, w);
  MPI_Scatterv(a, counts, displs, MPI_DOUBLE, b, counts[rank], MPI_DOUBLE, 3, w);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 2, MPI_DOUBLE, w);
  MPI_Allgatherv(a, counts[rank], MPI_DOUBLE, b, counts, displs, MPI_DOUBLE, w);
  MPI_Alltoall(a, 2, MPI_INT, b, 2, MPI_INT, w);
  MPI_Alltoallv(a, ones, seq, MPI_DOUBLE, b, ones, seq, MPI_DOUBLE, w);
  MPI_Alltoallw(a, ones, bytes, t, b, ones, bytes, t, w);
  MPI_Reduce(a, b, 5, MPI_DOUBLE, MPI_SUM, 0, w);
  MPI_Allreduce(MPI_IN_PLACE, b, 6, MPI_DOUBLE, MPI_SUM, w);
  MPI_Reduce_scatter(a, b, counts, MPI_DOUBLE, MPI_SUM, w);
  MPI_Reduce_scatter_block(a, b, 2, MPI_DOUBLE, MPI_SUM, w);
  MPI_Scan(a, b, 7, MPI_DOUBLE, MPI_SUM, w);
  MPI_Exscan(a, b, 8, MPI_DOUBLE, MPI_SUM, w);
}

static void icollectives(void) {
  MPI_Datatype t[4] = {MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE};
  DISPLACEMENT bytes[4] = {0, 8, 16, 24};
  MPI_Comm w = MPI_COMM_WORLD;
  MPI_Request q;
#define DONE MPI_Wait(&q, MPI_STATUS_IGNORE)
  MPI_Ibarrier(w, &q), DONE;
  MPI_Ibcast(a, 3, MPI_DOUBLE, 2, w, &q), DONE;
  MPI_Igather(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, 1, w, &q), DONE;
  MPI_Igatherv(a, counts[rank], MPI_DOUBLE, b, counts, displs, MPI_DOUBLE, 1, w, &q), DONE;
  MPI_Iscatter(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, 3, w, &q), DONE;
  MPI_Iscatterv(a, counts, displs, MPI_DOUBLE, b, counts[rank], MPI_DOUBLE, 3, w, &q), DONE;
  MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 2, MPI_DOUBLE, w, &q), DONE;
  MPI_Iallgatherv(a, counts[rank], MPI_DOUBLE, b, counts, displs, MPI_DOUBLE, w, &q), DONE;
  MPI_Ialltoall(a, 2, MPI_INT, b, 2, MPI_INT, w, &q), DONE;
  MPI_Ialltoallv(a, ones, seq, MPI_DOUBLE, b, ones, seq, MPI_DOUBLE, w, &q), DONE;
  MPI_Ialltoallw(a, ones, bytes, t, b, ones, bytes, t, w, &q), DONE;
  MPI_Ireduce(a, b, 5, MPI_DOUBLE, MPI_SUM, 0, w, &q), DONE;
  MPI_Iallreduce(MPI_IN_PLACE, b, 6, MPI_DOUBLE, MPI_SUM, w, &q), DONE;
  MPI_Ireduce_scatter(a, b, counts, MPI_DOUBLE, MPI_SUM, w, &q), DONE;
  MPI_Ireduce_scatter_block(a, b, 2, MPI_DOUBLE, MPI_SUM, w, &q), DONE;
  MPI_Iscan(a, b, 7, MPI_DOUBLE, MPI_SUM, w, &q), DONE;
  MPI_Iexscan(a, b, 8, MPI_DOUBLE, MPI_SUM, w, &q), DONE;
}

static void persistent_collectives(void) {
  MPI_Datatype t[4] = {MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE};
  DISPLACEMENT bytes[4] = {0, 8, 16, 24};
  MPI_Comm w = MPI_COMM_WORLD;
  MPI_Request q;
#define ROUNDS                                                      \
  for (int i = 0; i < rounds; ++i) {                                \
    MPI_Start(&q);                                                  \
    DONE, DONE; /* the second time not active: completes nothing */ \
  }                                                                 \
  MPI_Request_free(&q)
  INIT(Barrier)(w, MPI_INFO_NULL, &q);
  ROUNDS;
  INIT(Bcast)(a, 3, MPI_DOUBLE, 2, w, MPI_INFO_NULL, &q);
  ROUNDS;
  INIT(Gather)(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, 1, w, MPI_INFO_NULL, &q);
  ROUNDS;
  INIT(Gatherv)(a, counts[rank], MPI_DOUBLE, b, counts, displs, MPI_DOUBLE, 1, w, MPI_INFO_NULL, &q);
  ROUNDS;
  INIT(Scatter)(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, 3, w, MPI_INFO_NULL, &q);
  ROUNDS;
  INIT(Scatterv)(a, counts, displs, MPI_DOUBLE, b, counts[rank], MPI_DOUBLE, 3, w, MPI_INFO_NULL, &q);
  ROUNDS;
  INIT(Allgather)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 2, MPI_DOUBLE, w, MPI_INFO_NULL, &q);
  ROUNDS;
  INIT(Allgatherv)(a, counts[rank], MPI_DOUBLE, b, counts, displs, MPI_DOUBLE, w, MPI_INFO_NULL, &q);
  ROUNDS;
  INIT(Alltoall)(a, 2, MPI_INT, b, 2, MPI_INT, w, MPI_INFO_NULL, &q);
  ROUNDS;
  INIT(Alltoallv)(a, ones, seq, MPI_DOUBLE, b, ones, seq, MPI_DOUBLE, w, MPI_INFO_NULL, &q);
  ROUNDS;
  INIT(Alltoallw)(a, ones, bytes, t, b, ones, bytes, t, w, MPI_INFO_NULL, &q);
  ROUNDS;
  INIT(Reduce)(a, b, 5, MPI_DOUBLE, MPI_SUM, 0, w, MPI_INFO_NULL, &q);
  ROUNDS;
  INIT(Allreduce)(MPI_IN_PLACE, b, 6, MPI_DOUBLE, MPI_SUM, w, MPI_INFO_NULL, &q);
  ROUNDS;
  INIT(Reduce_scatter)(a, b, counts, MPI_DOUBLE, MPI_SUM, w, MPI_INFO_NULL, &q);
  ROUNDS;
  INIT(Reduce_scatter_block)(a, b, 2, MPI_DOUBLE, MPI_SUM, w, MPI_INFO_NULL, &q);
  ROUNDS;
  INIT(Scan)(a, b, 7, MPI_DOUBLE, MPI_SUM, w, MPI_INFO_NULL, &q);
  ROUNDS;
  INIT(Exscan)(a, b, 8, MPI_DOUBLE, MPI_SUM, w, MPI_INFO_NULL, &q);
  ROUNDS;
}

/* Messages and collectives started together. */
static void persistent_mixed(void) {
  const int to = (rank + 1) % 4, from = (rank + 3) % 4;
  MPI_Request q[5];
  MPI_Recv_init(b, 1, MPI_DOUBLE, from, 1, MPI_COMM_WORLD, &q[0]);
  INIT(Allreduce)(MPI_IN_PLACE, a, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &q[1]);
  MPI_Send_init(a + 4, 1, MPI_DOUBLE, to, 1, MPI_COMM_WORLD, &q[2]);
  INIT(Bcast)(a + 8, 3, MPI_DOUBLE, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &q[3]);
  INIT(Barrier)(MPI_COMM_WORLD, MPI_INFO_NULL, &q[4]);
  for (int i = 0; i < 2; ++i) {
    MPI_Startall(5, q);
    MPI_Waitall(5, q, MPI_STATUSES_IGNORE);
  }
  MPI_Startall(1, &q[4]);
  MPI_Wait(&q[4], MPI_STATUS_IGNORE);
  for (int i = 0; i < 5; ++i) MPI_Request_free(&q[i]);
}

/* Those of even ranks are started in another order than those of odd ones, and with another collective between them. */
static void persistent_order(void) {
  MPI_Request q[3];
  INIT(Allreduce)(MPI_IN_PLACE, a, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
  INIT(Bcast)(b, 3, MPI_DOUBLE, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &q[1]);
  for (int i = 0; i < 2; ++i) {
    MPI_Start(&q[rank % 2]);
    if (rank % 2 == 0) MPI_Ibarrier(MPI_COMM_WORLD, &q[2]);
    MPI_Start(&q[1 - rank % 2]);
    if (rank % 2 == 1) MPI_Ibarrier(MPI_COMM_WORLD, &q[2]);
    MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < 2; ++i) MPI_Request_free(&q[i]);
}

static void neighbours(void) {
  const int dims[1] = {4}, open_ends[1] = {0};
  const MPI_Aint offsets[2] = {0, 8};
  MPI_Datatype t[2] = {MPI_DOUBLE, MPI_DOUBLE};
  COUNT one_two[2] = {1, 2};
  MPI_Comm line;
  MPI_Request q;
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, open_ends, 0, &line);
  MPI_Neighbor_allgather(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, line);
  MPI_Neighbor_allgatherv(a, 1, MPI_DOUBLE, b, ones, seq, MPI_DOUBLE, line);
  MPI_Neighbor_alltoall(a, 3, MPI_DOUBLE, b, 3, MPI_DOUBLE, line);
  MPI_Neighbor_alltoallv(a, ones, seq, MPI_DOUBLE, b, ones, seq, MPI_DOUBLE, line);
  MPI_Neighbor_alltoallw(a, ones, offsets, t, b, ones, offsets, t, line);
  MPI_Ineighbor_alltoall(a, 3, MPI_DOUBLE, b, 3, MPI_DOUBLE, line, &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  INIT(Neighbor_alltoallv)(a, ones, seq, MPI_DOUBLE, b, ones, seq, MPI_DOUBLE, line, MPI_INFO_NULL, &q);
  MPI_Start(&q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  MPI_Request_free(&q);
  /* every rank sends to the next one only, twice as many elements to itself */
  MPI_Comm graph;
  const int in[2] = {(rank + 3) % 4, rank}, out[2] = {(rank + 1) % 4, rank};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, in, MPI_UNWEIGHTED, 2, out, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                 0, &graph);
  MPI_Neighbor_alltoallv(a, one_two, seq, MPI_DOUBLE, b, one_two, seq, MPI_DOUBLE, graph);
  MPI_Comm_free(&graph);
  MPI_Comm_free(&line);
}

static void say(MPI_Comm c, int tag) { /* one message from the first to the last rank of c */
  int r, n;
  if (c == MPI_COMM_NULL) return;
  MPI_Comm_rank(c, &r);
  MPI_Comm_size(c, &n);
  if (n == 1) { /* a Send to oneself may wait for its receive */
    MPI_Sendrecv(a, 1, MPI_DOUBLE, 0, tag, b, 1, MPI_DOUBLE, 0, tag, c, MPI_STATUS_IGNORE);
    return;
  }
  if (r == 0) MPI_Send(a, 1, MPI_DOUBLE, n - 1, tag, c);
  if (r == n - 1) MPI_Recv(b, 1, MPI_DOUBLE, 0, tag, c, MPI_STATUS_IGNORE);
}

static void communicators(void) {
  MPI_Comm c[12];
  MPI_Group world, group;
  MPI_Request q;
  const int odd[2] = {3, 1}, dims[2] = {2, 2}, periods[2] = {1, 1}, keep[2] = {0, 1};
  const int index[4] = {1, 2, 3, 4}, edges[4] = {1, 2, 3, 0};
  const int node = rank, degree = 1, target = (rank + 1) % 4;
  for (int i = 0; i < 12; ++i) c[i] = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 2 ? MPI_UNDEFINED : 0, -rank, &c[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &c[1]);
  MPI_Comm_idup(MPI_COMM_WORLD, &c[2], &q);
  MPI_Wait(&q, MPI_STATUS_IGNORE);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, odd, &group);
  MPI_Comm_create(MPI_COMM_WORLD, group, &c[3]);
  if (rank % 2 == 1) MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &c[4]);
  if (rank % 2 == 1) MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &c[5]);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &c[6]);
  MPI_Cart_sub(c[6], keep, &c[7]);
  MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &c[8]);
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &node, &degree, &target, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &c[9]);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c[10]);
  MPI_Comm_dup_with_info(c[0] == MPI_COMM_NULL ? MPI_COMM_SELF : c[0], MPI_INFO_NULL, &c[11]);
  for (int i = 0; i < 12; ++i) say(c[i], i);
  for (int i = 0; i < 12; ++i)
    if (c[i] != MPI_COMM_NULL) MPI_Comm_free(&c[i]);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

static void intercomm(void) {
  MPI_Comm half, inter, merged;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 9, &inter);
  if (rank == 0) MPI_Send(a, 1, MPI_DOUBLE, 1, 3, inter); /* rank 1 of the other half: world rank 3 */
  if (rank == 3) MPI_Recv(b, 1, MPI_DOUBLE, 0, 3, inter, MPI_STATUS_IGNORE);
  MPI_Barrier(inter); /* not recorded, counted */
  MPI_Intercomm_merge(inter, rank < 2, &merged);
  MPI_Barrier(merged);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static void types(void) {
  MPI_Datatype vector, indexed, both, wide;
  const int lengths[2] = {2, 3}, at[2] = {0, 5};
  const MPI_Aint offsets[2] = {0, 128};
  MPI_Type_vector(5, 2, 4, MPI_DOUBLE, &vector);       /* 80 bytes in 18 doubles */
  MPI_Type_indexed(2, lengths, at, MPI_INT, &indexed); /* 20 bytes */
  const MPI_Datatype parts[2] = {MPI_CHAR, MPI_DOUBLE};
  MPI_Type_create_struct(2, lengths, offsets, parts, &both); /* 2 + 24 bytes */
  MPI_Type_create_resized(both, 0, 256, &wide);              /* still 26 bytes */
  MPI_Type_commit(&vector);
  MPI_Type_commit(&indexed);
  MPI_Type_commit(&wide);
  if (rank == 0) {
    MPI_Send(a, 2, vector, 1, 1, MPI_COMM_WORLD);
    MPI_Send(a, 3, indexed, 1, 2, MPI_COMM_WORLD);
    MPI_Send(a, 1, wide, 1, 3, MPI_COMM_WORLD);
    MPI_Send(a, 0, vector, 1, 4, MPI_COMM_WORLD);
  } else if (rank == 1) {
    MPI_Recv(b, 20, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(b, 3, indexed, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(b, 1, wide, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(b, 1, vector, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Bcast(a, 2, vector, 0, MPI_COMM_WORLD);
  MPI_Type_free(&vector);
  MPI_Type_free(&indexed);
  MPI_Type_free(&both);
  MPI_Type_free(&wide);
}

/* Many sends that Open MPI completes at once share one handle; the program keeps them in no order. */
static void shared_handles(void) {
  MPI_Request q[6];
  const int to = (rank + 1) % 4, from = (rank + 3) % 4;
  for (int i = 0; i < 6; ++i) MPI_Isend(a, 1, MPI_BYTE, to, i, MPI_COMM_WORLD, &q[i]);
  for (int i = 0; i < 6; ++i) MPI_Recv(b, 1, MPI_BYTE, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 5; i >= 0; --i) MPI_Wait(&q[i], MPI_STATUS_IGNORE);
}

/* Things without a place in a trace. */
static void unrecorded(
    void) { /* some libraries make them out of calls that are recorded where the program makes them */
  MPI_Win win;
  MPI_Info info;
  MPI_Offset offset;
  MPI_File file;
  double x = 0;
  char name[] = "weft_recorder_test.bin";
  MPI_Win_create(a, sizeof a, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Put(&x, 1, MPI_DOUBLE, (rank + 1) % 4, 0, 1, MPI_DOUBLE, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_File_set_info(file, info);
  MPI_Info_free(&info);
  MPI_File_set_atomicity(file, 1);
  MPI_File_get_position_shared(file, &offset);
  MPI_File_write_at_all(file, rank * 8, &x, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
}

#if MPI_VERSION >= 4
static void mpi4(void) { /* all counted, none recorded but communicators and the last barrier */
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  MPI_Request q[2];
  MPI_Session session;
  int there = 0;
  MPI_Isendrecv(a, 1, MPI_DOUBLE, next, 1, b, 1, MPI_DOUBLE, last, 1, MPI_COMM_WORLD, &q[0]);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
  const int partition = 0;
  MPI_Psend_init(a, 1, 1, MPI_DOUBLE, next, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &q[0]);
  MPI_Precv_init(b, 1, 1, MPI_DOUBLE, last, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &q[1]);
  MPI_Startall(2, q);
  MPI_Pready(0, q[0]);
  while (!there) MPI_Parrived(q[1], 0, &there);
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  there = 0;
  MPI_Startall(2, q);
  MPI_Pready_list(1, (int*)&partition, q[0]);
  while (!there) MPI_Parrived(q[1], 0, &there);
  MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  MPI_Request_free(&q[0]);
  MPI_Request_free(&q[1]);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Session_finalize(&session);
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 9, &inter);
  MPI_Barrier_init(inter, MPI_INFO_NULL, &q[0]);
  MPI_Start(&q[0]);
  MPI_Wait(&q[0], MPI_STATUS_IGNORE);
  MPI_Request_free(&q[0]);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
  MPI_Barrier(MPI_COMM_WORLD);
}
#endif

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } families[] = {
    {"p2p", p2p},
    {"persistent", persistent},
    {"completion", completion},
    {"probe", probe},
    {"collectives", collectives},
    {"icollectives", icollectives},
    {"persistent_collectives", persistent_collectives},
    {"persistent_mixed", persistent_mixed},
    {"persistent_order", persistent_order},
    {"neighbours", neighbours},
    {"communicators", communicators},
    {"intercomm", intercomm},
    {"types", types},
    {"shared_handles", shared_handles},
#if MPI_VERSION >= 4
    {"mpi4", mpi4},
#endif
    {"unrecorded", unrecorded}
  };
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 2) rounds = atoi(argv[2]);
  for (size_t i = 0; i < sizeof families / sizeof families[0]; ++i)
    if (argc > 1 && strcmp(argv[1], families[i].name) == 0) families[i].run();
  MPI_Finalize();
  return 0;
}
