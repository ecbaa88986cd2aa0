// Communicators: every one that is made gets an identity that its members agree on without a message
// (CommKey). The calls are collective and may hang: like any that blocks they are written when they are entered, and what
// was made is filled in when they return.
#include "traces/recorder/pmpi/state.hpp"

namespace weft::recorder {
namespace {

// Call locked, when it is entered.
SpoolRecord* entered(OpKind kind, std::uint32_t comm, const Call& call) {
  Fields f;
  f.comm = comm;
  f.amount = traces::is_comm_create(kind) ? -1 : 0;
  SpoolRecord* r = recorder.begin(call.gap(), f, 0);
  if (r != nullptr) recorder.publish(r, kind, kOpen, 0);
  return r;
}

// Call locked, when it has returned; `made` may be nullptr. A communicator that the spool had no room for is none: its record
// stays the last.
void returned(SpoolRecord* r, const Comm* made) {
  if (r == nullptr || !recorder.on()) return;
  if (made != nullptr) r->amount = made->id;
  recorder.leave(r, 0);
}
// It made or freed nothing after all.
void returned_for_nothing(SpoolRecord* r) {
  if (r != nullptr) recorder.leave(r, kFailed);
}

// A creation call that is collective over `parent`.
template <class Real>
[[gnu::always_inline]] inline int create(OpKind kind, MPI_Comm parent, MPI_Comm* made, Real real) {
  const Call call(Call::Does::kManage);
  CommKey key;
  Comm* from = nullptr;
  std::uint32_t number = 0;
  SpoolRecord* r = nullptr;
  if (call) {
    const Lock lock;
    if (Comm* c = recorder.comm(parent)) {
      key = Recorder::child_key(*c);
      from = c;
      number = c->children;
      r = entered(kind, c->id, call);
    } else {
      count_unseen(NotRecorded::unknown_comm);
      recorder.carry(call.gap());
    }
  }
  const int rc = real();
  if (!call) return rc;
  const Outcome o = counted_outcome(rc);
  if (from == nullptr) return rc;
  const Lock lock;
  if (o != Outcome::kDone) {
    Recorder::take_key_back(*from, number, rc);
    returned_for_nothing(r);
    return rc;
  }
  returned(r, *made != WEFT_COMM_NULL ? recorder.define(*made, key) : nullptr);
  return rc;
}

// MPI_Comm_idup, which waits for nobody: MPI orders it among the parent's collectives as it does an MPI_Ibarrier, and until
// its request is complete nobody has to have called it. So it is one in the trace, and nothing else makes the communicator.
template <class Real>
[[gnu::always_inline]] inline int duplicate(MPI_Comm parent, MPI_Comm* made, MPI_Request* request,
                                            Real real) {
  const Call call(Call::Does::kManage);
  CommKey key;
  Comm* from = nullptr;
  Fields f;
  std::uint32_t number = 0;
  SpoolRecord* r = nullptr;
  if (call) {
    const Lock lock;
    from = recorder.comm(parent);
    if (from == nullptr) {
      count_unseen(NotRecorded::unknown_comm);
      recorder.carry(call.gap());
    } else {
      key = Recorder::child_key(*from);
      number = from->children;
      f.comm = from->id;
      f.request = recorder.requests.reserve();
      Slot& s = recorder.requests[f.request];
      s.comm = from;
      s.active = true;
      r = recorder.begin(call.gap(), f, 0);
      if (r != nullptr) recorder.publish(r, OpKind::ibarrier, kOpen, 0);
    }
  }
  const int rc = real();
  if (!call) return rc;
  const Outcome o = counted_outcome(rc);
  if (from == nullptr) return rc;
  const Lock lock;
  if (o == Outcome::kDone) {
    recorder.requests.bind(f.request, *request, request);
    recorder.define_copy(*made, key, *from);
  } else {
    recorder.requests.remove(f.request);
    Recorder::take_key_back(*from, number, rc);
  }
  if (r != nullptr) SpoolWriter::set_flags(r, o == Outcome::kDone ? 0 : kFailed);
  return rc;
}

// A creation call that only the new members make: (salt, members, how often before) names the communicator.
template <class Real>
[[gnu::always_inline]] inline int create_among_members(std::uint64_t salt, int tag, MPI_Comm parent,
                                                       MPI_Comm* made, Real real) {
  const Call call(Call::Does::kManage);
  if (!call) return real();
  recorder.lock();
  const Comm* from = recorder.comm(parent);
  SpoolRecord* r = entered(OpKind::comm_create_group, from != nullptr ? from->id : 0, call);
  recorder.unlock();
  const int rc = real();
  const Lock lock;
  if (counted_outcome(rc) != Outcome::kDone || *made == WEFT_COMM_NULL) {
    returned_for_nothing(r);
    return rc;
  }
  CommKey key = from != nullptr ? from->key : CommKey{};
  key.mix(salt);
  key.mix(static_cast<std::uint64_t>(tag));
  const Comm* c = recorder.define(*made, key, true);
  if (c == nullptr) {
    recorder.count(NotRecorded::unknown_comm);
    returned_for_nothing(r);
    return rc;
  }
  returned(r, c);
  return rc;
}

// Frees by `real`. The handle is taken out of the tables before: another thread may get the same for a new communicator.
// A callback that frees one (of an attribute) leaves no record, but its handle can come again, too.
template <class Real>
[[gnu::always_inline]] inline int free_comm(const MPI_Comm* given, Real real) {
  const Call call(Call::Does::kManage);
  const MPI_Comm handle = given != nullptr ? *given : MPI_Comm{};
  Comm* c = nullptr;
  SpoolRecord* r = nullptr;
  if (recorder.on()) {
    const Lock lock;
    c = recorder.forget(handle);
    if (call && c != nullptr) r = entered(OpKind::comm_free, c->id, call);
  }
  const int rc = real();
  if (!call) {
    const Lock lock;
    if (c != nullptr && outcome_of(rc) != Outcome::kDone) recorder.put_back(c, handle);
    return rc;
  }
  const Outcome o = counted_outcome(rc);
  const Lock lock;
  if (c == nullptr) {
    if (o == Outcome::kDone) recorder.count(NotRecorded::unknown_free);
    recorder.carry(call.gap());
    return rc;
  }
  if (o != Outcome::kDone) {
    recorder.put_back(c, handle);
    returned_for_nothing(r);
    return rc;
  }
  returned(r, nullptr);
  return rc;
}

constexpr std::uint64_t kGroupSalt = 0x67726f7570;
constexpr std::uint64_t kIntercommSalt = 0x696e746572;

}  // namespace
}  // namespace weft::recorder

using namespace weft::recorder;

WEFT_WRAP(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made)) {
  return create(OpKind::comm_split, comm, made,
                [&] { return WEFT_NEXT(Comm_split)(comm, color, key, made); });
}
WEFT_WRAP(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made)) {
  return create(OpKind::comm_split, comm, made,
                [&] { return WEFT_NEXT(Comm_split_type)(comm, type, key, info, made); });
}
WEFT_WRAP(Comm_dup, (MPI_Comm comm, MPI_Comm* made)) {
  return create(OpKind::comm_dup, comm, made, [&] { return WEFT_NEXT(Comm_dup)(comm, made); });
}
WEFT_WRAP(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* made)) {
  return create(OpKind::comm_dup, comm, made,
                [&] { return WEFT_NEXT(Comm_dup_with_info)(comm, info, made); });
}
WEFT_WRAP(Comm_idup, (MPI_Comm comm, MPI_Comm* made, MPI_Request* request)) {
  return duplicate(comm, made, request, [&] { return WEFT_NEXT(Comm_idup)(comm, made, request); });
}
#ifdef WEFT_CALLS_OF_MPI_4
WEFT_WRAP(Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* made, MPI_Request* request)) {
  return duplicate(comm, made, request,
                   [&] { return WEFT_NEXT(Comm_idup_with_info)(comm, info, made, request); });
}
#endif
WEFT_WRAP(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made)) {
  return create(OpKind::comm_create, comm, made, [&] { return WEFT_NEXT(Comm_create)(comm, group, made); });
}
WEFT_WRAP(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made)) {
  return create_among_members(kGroupSalt, tag, comm, made,
                              [&] { return WEFT_NEXT(Comm_create_group)(comm, group, tag, made); });
}
WEFT_WRAP(Cart_create,
          (MPI_Comm comm, int n, const int* dims, const int* periods, int reorder, MPI_Comm* made)) {
  return create(OpKind::cart_create, comm, made,
                [&] { return WEFT_NEXT(Cart_create)(comm, n, dims, periods, reorder, made); });
}
WEFT_WRAP(Cart_sub, (MPI_Comm comm, const int* remain, MPI_Comm* made)) {
  return create(OpKind::comm_split, comm, made, [&] { return WEFT_NEXT(Cart_sub)(comm, remain, made); });
}
WEFT_WRAP(Graph_create,
          (MPI_Comm comm, int n, const int* index, const int* edges, int reorder, MPI_Comm* made)) {
  return create(OpKind::comm_create, comm, made,
                [&] { return WEFT_NEXT(Graph_create)(comm, n, index, edges, reorder, made); });
}
WEFT_WRAP(Dist_graph_create, (MPI_Comm comm, int n, const int* nodes, const int* degrees, const int* targets,
                              const int* weights, MPI_Info info, int reorder, MPI_Comm* made)) {
  return create(OpKind::comm_create, comm, made, [&] {
    return WEFT_NEXT(Dist_graph_create)(comm, n, nodes, degrees, targets, weights, info, reorder, made);
  });
}
WEFT_WRAP(Dist_graph_create_adjacent,
          (MPI_Comm comm, int in, const int* sources, const int* in_weights, int out, const int* destinations,
           const int* out_weights, MPI_Info info, int reorder, MPI_Comm* made)) {
  return create(OpKind::comm_create, comm, made, [&] {
    return WEFT_NEXT(Dist_graph_create_adjacent)(comm, in, sources, in_weights, out, destinations,
                                                 out_weights, info, reorder, made);
  });
}
// Point-to-point over an inter-communicator is recorded on a communicator of both groups' members.
WEFT_WRAP(Intercomm_create,
          (MPI_Comm local, int leader, MPI_Comm bridge, int remote, int tag, MPI_Comm* made)) {
  return create_among_members(kIntercommSalt, tag, WEFT_COMM_WORLD, made, [&] {
    return WEFT_NEXT(Intercomm_create)(local, leader, bridge, remote, tag, made);
  });
}
WEFT_WRAP(Intercomm_merge, (MPI_Comm inter, int high, MPI_Comm* made)) {
  return create(OpKind::comm_create, inter, made,
                [&] { return WEFT_NEXT(Intercomm_merge)(inter, high, made); });
}
WEFT_WRAP(Comm_free, (MPI_Comm * comm)) {
  return free_comm(comm, [&] { return WEFT_NEXT(Comm_free)(comm); });
}
WEFT_WRAP(Comm_disconnect, (MPI_Comm * comm)) {
  return free_comm(comm, [&] { return WEFT_NEXT(Comm_disconnect)(comm); });
}
