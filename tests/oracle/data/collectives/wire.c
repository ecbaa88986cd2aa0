/* Prints what each MPI collective sends: "collective ranks root bytes", then "from>to:messages:bytes" of every pair. How it
 * was run: SOURCE.txt.
 *
 * Open MPI: counts in the point-to-point layer: mca_pml is a table of functions (ompi/mca/pml/pml.h), of which isend_init
 * is the 10th, isend the 11th and send the 12th, in 5.0 one later; what is initialised is started once.
 * With -DUNEVEN: other calls and sizes, none among them; after the bytes e comes a number: 0, all counts are e; 1, rank r has
 * (r % 3) e and 8 more if it is odd, and s sends (3 s + 5 t) % 4 e to t; 2, odd ranks have e and even ones nothing, and s sends e
 * to t if one of them is odd.
 * With -DNODES: first "nodes" and the node of every rank; three roots; without -DUNEVEN the calls that HAN has and two that
 * are made of them, with its segments among the sizes.
 * With -DCOUNT_UCX (MPICH on UCX): counts the calls of ucp_tag_send_nbx and ucp_tag_send_sync_nbx by their end point, which
 * a first message to each rank tells, and measures derived datatypes as UCX would pack them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long messages[64], bytes_sent[64];

#ifdef COUNT_UCX
static void* peers[64];
static void* last;

static void count(void* peer, size_t n) {
  last = peer;
  for (int r = 0; r < 64; ++r)
    if (peers[r] != NULL && peers[r] == peer) ++messages[r], bytes_sent[r] += n;
}
/* Of ucp/api/ucp.h. */
struct ucp_ops {
  void* (*start_pack)(void*, const void*, size_t);
  void* (*start_unpack)(void*, void*, size_t);
  size_t (*packed_size)(void*);
  size_t (*pack)(void*, size_t, void*, size_t);
  int (*unpack)(void*, size_t, const void*, size_t);
  void (*finish)(void*);
};
struct ucp_how {
  unsigned fields, flags;
  void *request, *callback;
  unsigned long datatype;
};
static struct {
  unsigned long datatype;
  struct ucp_ops ops;
  void* context;
} derived[256];
static unsigned next_derived;

int ucp_dt_create_generic(const struct ucp_ops* ops, void* context, unsigned long* datatype) {
  const int status = ((int (*)(const struct ucp_ops*, void*, unsigned long*))dlsym(
      RTLD_NEXT, "ucp_dt_create_generic"))(ops, context, datatype);
  const unsigned k = next_derived++ % 256;
  derived[k].datatype = *datatype, derived[k].ops = *ops, derived[k].context = context;
  return status;
}
static size_t bytes_of(const void* b, size_t n, const struct ucp_how* how) {
  if ((how->fields & 8) == 0 || (how->datatype & 7) != 7) return n; /* MPICH's others are of bytes */
  for (unsigned k = next_derived; k-- > 0 && k + 256 >= next_derived;)
    if (derived[k % 256].datatype == how->datatype) {
      /* The state stays: to finish it would give the datatype back. */
      return derived[k % 256].ops.packed_size(
          derived[k % 256].ops.start_pack(derived[k % 256].context, b, n));
    }
  abort();
}
typedef void* (*ucp_fn)(void*, const void*, size_t, unsigned long, const void*);
void* ucp_tag_send_nbx(void* peer, const void* b, size_t n, unsigned long tag, const void* how) {
  count(peer, bytes_of(b, n, how));
  return ((ucp_fn)dlsym(RTLD_NEXT, "ucp_tag_send_nbx"))(peer, b, n, tag, how);
}
void* ucp_tag_send_sync_nbx(void* peer, const void* b, size_t n, unsigned long tag, const void* how) {
  count(peer, bytes_of(b, n, how));
  return ((ucp_fn)dlsym(RTLD_NEXT, "ucp_tag_send_sync_nbx"))(peer, b, n, tag, how);
}
unsigned ucp_worker_progress(void* worker) { /* more ranks than cores */
  const unsigned n = ((unsigned (*)(void*))dlsym(RTLD_NEXT, "ucp_worker_progress"))(worker);
  if (n == 0) sched_yield();
  return n;
}
static void start_counting(int me, int p) {
  for (int d = 1; d < p; ++d) {
    int v = 0;
    MPI_Request q;
    MPI_Irecv(&v, 1, MPI_INT, (me - d + p) % p, 9, MPI_COMM_WORLD, &q);
    last = NULL;
    MPI_Send(&v, 1, MPI_INT, (me + d) % p, 9, MPI_COMM_WORLD);
    peers[(me + d) % p] = last;
    MPI_Wait(&q, MPI_STATUS_IGNORE);
  }
}
#else
extern void* mca_pml[];
enum { kTable = OMPI_MAJOR_VERSION < 5 ? 9 : 10 }; /* of isend_init */
typedef int (*isend_fn)(const void*, size_t, MPI_Datatype, int, int, int, MPI_Comm, MPI_Request*);
typedef int (*send_fn)(const void*, size_t, MPI_Datatype, int, int, int, MPI_Comm);
static isend_fn real_init, real_isend;
static send_fn real_send;

/* Rank `to` of c in the world: HAN sends over communicators of its own. */
static int in_world(int to, MPI_Comm c) {
  if (c == MPI_COMM_WORLD) return to;
  MPI_Group some, all;
  int rank;
  PMPI_Comm_group(c, &some);
  PMPI_Comm_group(MPI_COMM_WORLD, &all);
  PMPI_Group_translate_ranks(some, 1, &to, all, &rank);
  PMPI_Group_free(&some);
  PMPI_Group_free(&all);
  return rank;
}
static void count(int to, size_t n, MPI_Datatype type, MPI_Comm c) {
  int size;
  PMPI_Type_size(type, &size);
  to = in_world(to, c);
  ++messages[to];
  bytes_sent[to] += n * (size_t)size;
}
static int counted_init(const void* b, size_t n, MPI_Datatype d, int to, int tag, int mode, MPI_Comm c,
                        MPI_Request* r) {
  count(to, n, d, c);
  return real_init(b, n, d, to, tag, mode, c, r);
}
static int counted_isend(const void* b, size_t n, MPI_Datatype d, int to, int tag, int mode, MPI_Comm c,
                         MPI_Request* r) {
  count(to, n, d, c);
  return real_isend(b, n, d, to, tag, mode, c, r);
}
static int counted_send(const void* b, size_t n, MPI_Datatype d, int to, int tag, int mode, MPI_Comm c) {
  count(to, n, d, c);
  return real_send(b, n, d, to, tag, mode, c);
}
static void start_counting(int me, int p) {
  (void)me, (void)p;
  real_init = (isend_fn)mca_pml[kTable], mca_pml[kTable] = (void*)counted_init;
  real_isend = (isend_fn)mca_pml[kTable + 1], mca_pml[kTable + 1] = (void*)counted_isend;
  real_send = (send_fn)mca_pml[kTable + 2], mca_pml[kTable + 2] = (void*)counted_send;
}
#endif

#ifdef UNEVEN
static const char* const kCalls[] = {
    "gatherv",     "scatterv",   "allgatherv",      "alltoallv", "reduce_scatter", "igatherv", "iscatterv",
    "iallgatherv", "ialltoallv", "ireduce_scatter", "bcast",     "gather",         "scatter",  "allgather",
    "alltoall",    "reduce",     "allreduce",       "scan",      "exscan",         "ibcast",   "igather",
    "iscatter",    "iallgather", "ialltoall",       "ireduce",   "iallreduce",     "iscan",    "iexscan"};
static const long kSizes[] = {0, 8, 104, 65528, 560008};
#elif defined NODES /* what HAN has, and what is made of it */
static const long kSizes[] = {0, 8, 1000, 4096, 16384, 65536, 65544, 131080, 524288, 3145736};
static const char* const kCalls[] = {"barrier",   "bcast",      "gather",
                                     "scatter",   "allgather",  "reduce",
                                     "allreduce", "allgatherv", "reduce_scatter_block"};
#else
static const long kSizes[] = {8, 64, 512, 1024, 4096, 16384, 65536, 262144, 1048576};
static const char* const kCalls[] = {"barrier",
                                     "bcast",
                                     "gather",
                                     "gatherv",
                                     "scatter",
                                     "scatterv",
                                     "allgather",
                                     "allgatherv",
                                     "alltoall",
                                     "alltoallv",
                                     "reduce",
                                     "allreduce",
                                     "reduce_scatter",
                                     "reduce_scatter_block",
                                     "scan",
                                     "exscan",
                                     "ibarrier",
                                     "ibcast",
                                     "ireduce",
                                     "iallreduce",
                                     "iallgather",
                                     "ialltoall",
                                     "igather",
                                     "iscatter",
                                     "ireduce_scatter_block",
                                     "iscan"};
#endif

static char *x, *y;
static int *counts, *places, *to, *from, *to_place, *from_place;

static void set_counts(int e, int mode, int me, int p) {
  for (int r = 0, at = 0, out = 0, in = 0; r < p; ++r) {
    counts[r] = mode == 0 ? e : mode == 1 ? r % 3 * e + r % 2 : r % 2 * e;
    to[r] = mode == 0 ? e : mode == 1 ? (3 * me + 5 * r) % 4 * e : (me + r) % 2 * e;
    from[r] = mode == 0 ? e : mode == 1 ? (3 * r + 5 * me) % 4 * e : (me + r) % 2 * e;
    places[r] = at, at += counts[r];
    to_place[r] = out, out += to[r];
    from_place[r] = in, in += from[r];
  }
}

static void call(const char* name, int e, int root, int mine, MPI_Request* q) {
  const MPI_Comm w = MPI_COMM_WORLD;
  const MPI_Datatype d = MPI_DOUBLE;
#define IS(text) (strcmp(name, text) == 0)
  if (IS("barrier")) MPI_Barrier(w);
  if (IS("bcast")) MPI_Bcast(x, e, d, root, w);
  if (IS("gather")) MPI_Gather(x, e, d, y, e, d, root, w);
  if (IS("gatherv")) MPI_Gatherv(x, mine, d, y, counts, places, d, root, w);
  if (IS("scatter")) MPI_Scatter(x, e, d, y, e, d, root, w);
  if (IS("scatterv")) MPI_Scatterv(x, counts, places, d, y, mine, d, root, w);
  if (IS("allgather")) MPI_Allgather(x, e, d, y, e, d, w);
  if (IS("allgatherv")) MPI_Allgatherv(x, mine, d, y, counts, places, d, w);
  if (IS("alltoall")) MPI_Alltoall(x, e, d, y, e, d, w);
  if (IS("alltoallv")) MPI_Alltoallv(x, to, to_place, d, y, from, from_place, d, w);
  if (IS("reduce")) MPI_Reduce(x, y, e, d, MPI_SUM, root, w);
  if (IS("allreduce")) MPI_Allreduce(x, y, e, d, MPI_SUM, w);
  if (IS("reduce_scatter")) MPI_Reduce_scatter(x, y, counts, d, MPI_SUM, w);
  if (IS("reduce_scatter_block")) MPI_Reduce_scatter_block(x, y, e, d, MPI_SUM, w);
  if (IS("scan")) MPI_Scan(x, y, e, d, MPI_SUM, w);
  if (IS("exscan")) MPI_Exscan(x, y, e, d, MPI_SUM, w);
  if (IS("ibarrier")) MPI_Ibarrier(w, q);
  if (IS("ibcast")) MPI_Ibcast(x, e, d, root, w, q);
  if (IS("ireduce")) MPI_Ireduce(x, y, e, d, MPI_SUM, root, w, q);
  if (IS("iallreduce")) MPI_Iallreduce(x, y, e, d, MPI_SUM, w, q);
  if (IS("iallgather")) MPI_Iallgather(x, e, d, y, e, d, w, q);
  if (IS("ialltoall")) MPI_Ialltoall(x, e, d, y, e, d, w, q);
  if (IS("igather")) MPI_Igather(x, e, d, y, e, d, root, w, q);
  if (IS("iscatter")) MPI_Iscatter(x, e, d, y, e, d, root, w, q);
  if (IS("ireduce_scatter_block")) MPI_Ireduce_scatter_block(x, y, e, d, MPI_SUM, w, q);
  if (IS("iscan")) MPI_Iscan(x, y, e, d, MPI_SUM, w, q);
  if (IS("iexscan")) MPI_Iexscan(x, y, e, d, MPI_SUM, w, q);
  if (IS("igatherv")) MPI_Igatherv(x, mine, d, y, counts, places, d, root, w, q);
  if (IS("iscatterv")) MPI_Iscatterv(x, counts, places, d, y, mine, d, root, w, q);
  if (IS("iallgatherv")) MPI_Iallgatherv(x, mine, d, y, counts, places, d, w, q);
  if (IS("ialltoallv")) MPI_Ialltoallv(x, to, to_place, d, y, from, from_place, d, w, q);
  if (IS("ireduce_scatter")) MPI_Ireduce_scatter(x, y, counts, d, MPI_SUM, w, q);
}

#ifdef NODES
/* "nodes" and the node of every rank. */
static void print_nodes(int me, int p) {
  MPI_Comm node;
  int first, place[64];
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Allreduce(&me, &first, 1, MPI_INT, MPI_MIN, node);
  MPI_Comm_free(&node);
  MPI_Gather(&first, 1, MPI_INT, place, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (me != 0) return;
  printf("nodes");
  for (int r = 0; r < p; ++r) printf(" %d", place[r]);
  printf("\n");
}
#endif

int main(int argc, char** argv) {
  int p, me;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &p);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  if (p > 64) MPI_Abort(MPI_COMM_WORLD, 2);
  const size_t n = (size_t)p;
#ifdef NODES
  print_nodes(me, p);
#endif
  start_counting(me, p);
  x = calloc(4 * n, 1048576), y = calloc(4 * n, 1048576);
  to = calloc(n, sizeof *to), from = calloc(n, sizeof *from);
  to_place = calloc(n, sizeof *to), from_place = calloc(n, sizeof *from);
  counts = calloc(n, sizeof *counts), places = calloc(n, sizeof *places);
  unsigned long *mine = calloc(2 * n, sizeof *mine), *all = calloc(2 * n * n, sizeof *all);
  for (size_t i = 0; i < sizeof kCalls / sizeof *kCalls;
       ++i) { /* HAN makes its communicators in the first calls */
    MPI_Request q = MPI_REQUEST_NULL;
    set_counts(1, 0, me, p);
    call(kCalls[i], 1, 0, 1, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
  }
  for (size_t i = 0; i < sizeof kCalls / sizeof *kCalls; ++i) {
    const char* name = kCalls[i];
    const char* blocking = name[0] == 'i' ? name + 1 : name;
    const int rooted = strcmp(blocking, "bcast") == 0 || strncmp(blocking, "gather", 6) == 0 ||
                       strncmp(blocking, "scatter", 7) == 0 || strcmp(blocking, "reduce") == 0;
    const size_t sizes = strcmp(blocking, "barrier") == 0 ? 1 : sizeof kSizes / sizeof *kSizes;
    int modes = 1;
#ifdef UNEVEN
    if (strcmp(blocking, "reduce_scatter") == 0 || name[strlen(name) - 1] == 'v') modes = 3;
#endif
#ifdef NODES
    const int roots = rooted ? 3 : 1;
#else
    const int roots = rooted ? 2 : 1;
#endif
    for (int nth = 0; nth < roots; ++nth)
      for (size_t k = 0; k < sizes * (size_t)modes; ++k) {
        const int root = nth == 0 ? 0 : nth * (p - 1) / (roots - 1);
        const int mode = (int)(k / sizes);
        const long size = sizes == 1 ? 0 : kSizes[k % sizes];
        const int e = (int)(size / 8);
        MPI_Request q = MPI_REQUEST_NULL;
        set_counts(e, mode, me, p);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int r = 0; r < p; ++r) mine[r] = messages[r], mine[p + r] = bytes_sent[r];
        call(name, e, root, counts[me], &q);
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        for (int r = 0; r < p; ++r)
          mine[r] = messages[r] - mine[r], mine[p + r] = bytes_sent[r] - mine[p + r];
        MPI_Gather(mine, 2 * p, MPI_UNSIGNED_LONG, all, 2 * p, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
        if (me != 0) continue;
        printf("%s %d %d %ld", name, p, root, size);
#ifdef UNEVEN
        printf(" %d", mode);
#endif
        for (int s = 0; s < p; ++s)
          for (int t = 0; t < p; ++t)
            if (s != t && all[2 * p * s + t] != 0)
              printf(" %d>%d:%lu:%lu", s, t, all[2 * p * s + t], all[2 * p * s + p + t]);
        printf("\n");
      }
  }
  MPI_Finalize();
  return 0;
}
