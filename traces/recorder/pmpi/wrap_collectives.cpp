// Collectives, blocking, non-blocking and persistent: each describes itself once for all forms.
//
// Sizes are bytes (count x size of the datatype) of this rank; MPI_IN_PLACE takes them from the other side.
// What stands in the lists is fixed by traces/op.hpp.
#include <stdlib.h>
#include <string.h>

#include "traces/recorder/pmpi/state.hpp"

namespace weft::recorder {
namespace {

// Entries of an array that the program may not have given: MPI answers that with an error, and until then it has no bytes.
template <class Count>
[[nodiscard]] Count count_at(const Count* counts, int i) {
  return counts != nullptr ? counts[i] : Count{0};
}
[[nodiscard]] MPI_Datatype type_at(const MPI_Datatype* types, int i) {
  return types != nullptr ? types[i] : WEFT_DATATYPE_NULL;
}

// The list of a record under construction.
class List {
 public:
  void clear() { size_ = 0; }
  void add(std::int64_t v) {
    values_.get(size_ + 1)[size_] = v;
    ++size_;
  }
  template <class Count>
  void add_bytes(const Count* counts, int n, MPI_Datatype type) {
    const std::int64_t unit = type_bytes(type);
    for (int i = 0; i < n; ++i) add(bytes_times(count_at(counts, i), unit));
  }
  template <class Count>
  void add_bytes(const Count* counts, int n, const MPI_Datatype* types) {
    for (int i = 0; i < n; ++i) add(bytes_of(count_at(counts, i), type_at(types, i)));
  }
  [[nodiscard]] std::int64_t sum(std::size_t from, std::size_t n) const {
    std::int64_t s = 0;
    for (std::size_t i = from; i < from + n; ++i) s = bytes_plus(s, data()[i]);
    return s;
  }
  [[nodiscard]] std::int64_t operator[](std::size_t i) const { return data()[i]; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const std::int64_t* data() const { return values_.data(); }

 private:
  Scratch<std::int64_t> values_;
  std::size_t size_ = 0;
};
thread_local List list_scratch;

constexpr int kNoRoot = MPI_ANY_SOURCE;

// What a collective of this rank says of itself; its list is then in list_scratch. Call locked.
// `describe(comm, list)` returns the bytes and fills the list.
template <class Describe>
Fields fields_of(const Comm& c, int root, std::uint32_t slot, Describe describe) {
  List& list = list_scratch;
  list.clear();
  Fields f;
  f.comm = c.id;
  f.peer = world_peer(c, root);
  f.amount = describe(c, list);
  f.request = slot;
  return f;
}

// Begins the record of a collective, or nullptr (after counting) if it has no place in a trace. Call locked.
template <class Describe>
SpoolRecord* begin(MPI_Comm comm, int root, std::int64_t gap, std::uint32_t slot, Describe describe,
                   std::size_t& words) {
  const Comm* c = recorder.comm(comm);
  if (c == nullptr || c->inter) {
    count_unseen(c == nullptr ? NotRecorded::unknown_comm : NotRecorded::intercomm_collective);
    recorder.carry(gap);
    return nullptr;
  }
  const Fields f = fields_of(*c, root, slot, describe);
  const List& list = list_scratch;
  words = list.size();
  SpoolRecord* r = recorder.begin(gap, f, words);
  if (r != nullptr && words > 0) memcpy(SpoolWriter::list(r), list.data(), words * sizeof(std::int64_t));
  return r;
}

template <class Describe, class Real>
[[gnu::always_inline]] inline int blocking(OpKind kind, MPI_Comm comm, int root, Describe describe,
                                           Real real) {
  const Call call;
  SpoolRecord* r = nullptr;
  if (call) {
    const Lock lock;
    std::size_t words = 0;
    r = begin(comm, root, call.gap(), kNoSlot, describe, words);
    if (r != nullptr) recorder.publish(r, kind, kOpen, words);
  }
  const int rc = real();
  const Outcome o = call ? counted_outcome(rc) : Outcome::kDone;
  if (r != nullptr) {
    const Lock lock;
    recorder.leave(r, o == Outcome::kNothing ? kFailed : 0);
  }
  return rc;
}

template <class Describe, class Real>
[[gnu::always_inline]] inline int nonblocking(OpKind kind, MPI_Comm comm, int root, MPI_Request* request,
                                              Describe describe, Real real) {
  const Call call;
  std::uint32_t slot = kNoSlot;
  SpoolRecord* r = nullptr;
  if (call) {
    const Lock lock;
    slot = recorder.requests.reserve();
    recorder.requests[slot].active = true;
    recorder.requests[slot].comm = recorder.comm(comm);
    std::size_t words = 0;
    r = begin(comm, root, call.gap(), slot, describe, words);
    recorder.requests[slot].hidden = r == nullptr;
    if (r != nullptr) recorder.publish(r, kind, kOpen, words);
  }
  const int rc = real();
  if (!call) return rc;
  const Outcome o = counted_outcome(rc);
  const Lock lock;
  if (o == Outcome::kDone) {
    recorder.requests.bind(slot, *request, request);
  } else {
    recorder.requests.remove(slot);
  }
  if (r != nullptr) SpoolWriter::set_flags(r, o == Outcome::kDone ? 0 : kFailed);
  return rc;
}

// MPI_Bcast_init and the like: nothing is written until a start (Recorder::start_collective). The starts of one match each
// other and no other collective, in whatever order they come (MPI 4.0, 6.13): it has a communicator of its own.
template <class Describe, class Real>
[[gnu::always_inline]] inline int persistent(OpKind kind, MPI_Comm comm, int root, MPI_Request* request,
                                             Describe describe, Real real) {
  const Call call;
  Comm* from = nullptr;
  CommKey key;
  std::uint32_t number = 0;
  std::uint32_t slot = kNoSlot;
  if (call) {
    const Lock lock;
    recorder.carry(call.gap());
    from = recorder.comm(comm);
    if (from != nullptr) {
      key = Recorder::child_key(*from);
      number = from->children;
      slot = recorder.requests.reserve();
      Fields f;
      list_scratch.clear();
      if (!from->inter) f = fields_of(*from, root, slot, describe);
      const std::size_t words = list_scratch.size();
      auto* p = static_cast<Prepared*>(malloc(sizeof(Prepared) + words * sizeof(std::int64_t)));
      *p = {kind, f, words};
      if (words > 0) memcpy(p->list(), list_scratch.data(), words * sizeof(std::int64_t));
      Slot& s = recorder.requests[slot];
      s.comm = from;
      s.persistent = s.hidden = true;
      s.prepared = p;
    }
  }
  const int rc = real();
  if (!call) return rc;
  const Outcome o = counted_outcome(rc);
  if (from == nullptr) return rc;  // its starts are counted
  const Lock lock;
  if (o == Outcome::kDone) {
    recorder.requests.bind(slot, *request, request);
    if (!from->inter) {
      Slot& s = recorder.requests[slot];
      s.comm = recorder.define_copy(MPI_Comm{}, key, *from);
      s.prepared->fields.comm = s.comm->id;
    }
  } else {
    recorder.requests.remove(slot);
    Recorder::take_key_back(*from, number, rc);
  }
  return rc;
}

// The neighbours of this rank in a process topology, as {n_in, sources..., n_out, destinations...}.
// Positions without a neighbour (edge of a grid) carry no message: `in_at`, `out_at` say which positions
// stay.
struct Neighbours {
  int in = 0;
  int out = 0;
  int* ranks = nullptr;  // in sources, then out destinations: communicator ranks or MPI_PROC_NULL
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;
  explicit Neighbours(MPI_Comm comm) {
    int kind = MPI_UNDEFINED;
    WEFT_REAL(Topo_test)(comm, &kind);
    if (kind == MPI_CART) {
      int dims = 0;
      WEFT_REAL(Cartdim_get)(comm, &dims);
      in = out = 2 * dims;
      room();
      for (int d = 0; d < dims; ++d) WEFT_REAL(Cart_shift)(comm, d, 1, &ranks[2 * d], &ranks[2 * d + 1]);
      for (int i = 0; i < in; ++i) ranks[in + i] = ranks[i];
    } else if (kind == MPI_GRAPH) {
      int rank = 0;
      WEFT_REAL(Comm_rank)(comm, &rank);
      WEFT_REAL(Graph_neighbors_count)(comm, rank, &in);
      out = in;
      room();
      WEFT_REAL(Graph_neighbors)(comm, rank, in, ranks);
      for (int i = 0; i < in; ++i) ranks[in + i] = ranks[i];
    } else if (kind == MPI_DIST_GRAPH) {
      int weighted = 0;
      WEFT_REAL(Dist_graph_neighbors_count)(comm, &in, &out, &weighted);
      room();
      auto* weights = static_cast<int*>(malloc(sizeof(int) * static_cast<std::size_t>(in + out + 1)));
      WEFT_REAL(Dist_graph_neighbors)(comm, in, ranks, weights, out, ranks + in, weights + in);
      free(weights);
    }
  }
  ~Neighbours() { free(ranks); }
  void add_to(const Comm& c, List& list) const {
    add_half(c, list, ranks, in);
    add_half(c, list, ranks + in, out);
  }
  [[nodiscard]] bool has_in(int i) const { return ranks[i] != MPI_PROC_NULL; }
  [[nodiscard]] bool has_out(int i) const { return ranks[in + i] != MPI_PROC_NULL; }

 private:
  void room() { ranks = static_cast<int*>(malloc(sizeof(int) * static_cast<std::size_t>(in + out + 1))); }
  static void add_half(const Comm& c, List& list, const int* peers, int n) {
    int present = 0;
    for (int i = 0; i < n; ++i) present += peers[i] != MPI_PROC_NULL ? 1 : 0;
    list.add(present);
    for (int i = 0; i < n; ++i)
      if (peers[i] != MPI_PROC_NULL) list.add(c.world[peers[i]]);
  }
};

template <class In, class Out>
std::int64_t describe_neighbours(MPI_Comm comm, const Comm& c, List& list, In in_bytes, Out out_bytes) {
  const Neighbours n(comm);
  n.add_to(c, list);
  std::int64_t sent = 0;
  for (int i = 0; i < n.in; ++i)
    if (n.has_in(i)) list.add(in_bytes(i));
  for (int i = 0; i < n.out; ++i)
    if (n.has_out(i)) {
      list.add(out_bytes(i));
      sent = bytes_plus(sent, out_bytes(i));
    }
  return sent;
}

// {n, sent to each..., received from each...}; returns the bytes sent.
template <class Sent, class Received>
std::int64_t describe_alltoall(const Comm& c, List& list, bool in_place, Sent sent, Received received) {
  list.add(c.size);
  if (in_place) {
    received();
  } else {
    sent();
  }
  received();
  return list.sum(1, static_cast<std::size_t>(c.size));
}

}  // namespace
}  // namespace weft::recorder

using namespace weft::recorder;

#define WEFT_LIST(...) __VA_ARGS__

#define WEFT_DESCRIPTION(...)                      \
  [&](const Comm& c, List& list) -> std::int64_t { \
    (void)c, (void)list;                           \
    __VA_ARGS__                                    \
  }

#ifdef WEFT_INIT_ENTRY
#define WEFT_PERSISTENT(Name, ikind, PARAMS, ARGS, root, ...)                                         \
  WEFT_WRAP_INIT(WEFT_SIZED(Name##_init), (WEFT_LIST PARAMS, MPI_Info info, MPI_Request * request)) { \
    return persistent(OpKind::ikind, comm, root, request, WEFT_DESCRIPTION(__VA_ARGS__), [&] {        \
      return WEFT_NEXT_INIT(WEFT_SIZED(Name##_init))(WEFT_LIST ARGS, info, request);                  \
    });                                                                                               \
  }
#else
#define WEFT_PERSISTENT(...)
#endif

// All forms of a collective: names, kinds, parameters, arguments, root, and the description: an expression
// of type int64 over `c` (Comm), `list` and the parameters.
#define WEFT_COLLECTIVE(Name, Iname, kind, ikind, PARAMS, ARGS, root, ...)                     \
  WEFT_WRAP(WEFT_SIZED(Name), (WEFT_LIST PARAMS)) {                                            \
    return blocking(OpKind::kind, comm, root, WEFT_DESCRIPTION(__VA_ARGS__),                   \
                    [&] { return WEFT_NEXT(WEFT_SIZED(Name)) ARGS; });                         \
  }                                                                                            \
  WEFT_WRAP(WEFT_SIZED(Iname), (WEFT_LIST PARAMS, MPI_Request * request)) {                    \
    return nonblocking(OpKind::ikind, comm, root, request, WEFT_DESCRIPTION(__VA_ARGS__),      \
                       [&] { return WEFT_NEXT(WEFT_SIZED(Iname))(WEFT_LIST ARGS, request); }); \
  }                                                                                            \
  WEFT_PERSISTENT(Name, ikind, PARAMS, ARGS, root, __VA_ARGS__)

#define WEFT_SIZED(name) name
#define COUNT int
#define DISPLACEMENT int
WEFT_COLLECTIVE(Barrier, Ibarrier, barrier, ibarrier, (MPI_Comm comm), (comm), kNoRoot, return 0;)

#include "traces/recorder/pmpi/collectives.def"
#undef WEFT_SIZED
#undef COUNT
#undef DISPLACEMENT

#ifdef WEFT_LARGE_COUNTS
#define WEFT_SIZED(name) name##_c
#define COUNT MPI_Count
#define DISPLACEMENT MPI_Aint
#include "traces/recorder/pmpi/collectives.def"
#undef WEFT_SIZED
#undef COUNT
#undef DISPLACEMENT
#endif
