// Communicators: every one that is made gets an identity that its members agree on without a message
// (CommKey).
#include "traces/recorder/pmpi/state.hpp"

namespace weft::recorder {
namespace {

// A creation call that is collective over `parent`. `hide`: the request of MPI_Comm_idup, which no trace
// shows.
template <class Real>
int create(OpKind kind, MPI_Comm parent, MPI_Comm* made, Real real, MPI_Request* hide = nullptr) {
  const Call call;
  CommKey key;
  std::uint32_t parent_id = 0;
  const Comm* from = nullptr;
  if (call) {
    const Lock lock;
    if (Comm* c = recorder.comm(parent)) {
      key = Recorder::child_key(*c);
      parent_id = c->id;
      from = c;
    } else {
      recorder.count(NotRecorded::unknown_comm);
      recorder.carry(call.gap());
    }
  }
  const int rc = real();
  if (from == nullptr) return rc;
  const Lock lock;
  if (counted_outcome(rc) != Outcome::kDone) {
    recorder.carry(call.gap());
    return rc;
  }
  Fields f;
  f.comm = parent_id;
  f.amount = -1;
  if (*made != WEFT_COMM_NULL)
    if (const Comm* c =
            hide != nullptr ? recorder.define_copy(*made, key, *from) : recorder.define(*made, key))
      f.amount = c->id;
  if (hide != nullptr) {
    const std::uint32_t slot = recorder.requests.reserve();
    recorder.requests.bind(slot, *hide, hide);
    recorder.requests[slot].active = true;
    recorder.requests[slot].hidden = true;
  }
  if (SpoolRecord* r = recorder.begin(call.gap(), f, 0)) recorder.publish(r, kind, 0, 0);
  return rc;
}

// A creation call that only the new members make: (salt, members, how often before) names the communicator.
template <class Real>
int create_among_members(std::uint64_t salt, int tag, MPI_Comm parent, MPI_Comm* made, Real real) {
  const Call call;
  const int rc = real();
  if (!call) return rc;
  const Lock lock;
  if (rc != MPI_SUCCESS || *made == WEFT_COMM_NULL) {
    static_cast<void>(counted_outcome(rc));
    recorder.carry(call.gap());
    return rc;
  }
  const Comm* from = recorder.comm(parent);
  CommKey key = from != nullptr ? from->key : CommKey{};
  key.mix(salt);
  key.mix(static_cast<std::uint64_t>(tag));
  const Comm* c = recorder.define(*made, key, true);
  if (c == nullptr) {
    recorder.count(NotRecorded::unknown_comm);
    recorder.carry(call.gap());
    return rc;
  }
  Fields f;
  f.comm = from != nullptr ? from->id : 0;
  f.amount = c->id;
  if (SpoolRecord* r = recorder.begin(call.gap(), f, 0)) recorder.publish(r, OpKind::comm_create_group, 0, 0);
  return rc;
}

// Frees by `real`. The handle is taken out of the tables before: another thread may get the same for a new communicator.
template <class Real>
int free_comm(MPI_Comm handle, Real real) {
  const Call call;
  Comm* c = nullptr;
  if (call) {
    const Lock lock;
    c = recorder.forget(handle);
  }
  const int rc = real();
  if (!call) return rc;
  const Lock lock;
  if (c == nullptr) {
    recorder.count(NotRecorded::unknown_comm);
    recorder.carry(call.gap());
    return rc;
  }
  if (counted_outcome(rc) != Outcome::kDone) {
    recorder.put_back(c, handle);
    recorder.carry(call.gap());
    return rc;
  }
  Fields f;
  f.comm = c->id;
  if (SpoolRecord* r = recorder.begin(call.gap(), f, 0)) recorder.publish(r, OpKind::comm_free, 0, 0);
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
  return create(
      OpKind::comm_dup, comm, made, [&] { return WEFT_NEXT(Comm_idup)(comm, made, request); }, request);
}
#ifdef WEFT_LARGE_COUNTS  // MPI 4
WEFT_WRAP(Comm_idup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* made, MPI_Request* request)) {
  return create(
      OpKind::comm_dup, comm, made, [&] { return WEFT_NEXT(Comm_idup_with_info)(comm, info, made, request); },
      request);
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
  return free_comm(*comm, [&] { return WEFT_NEXT(Comm_free)(comm); });
}
WEFT_WRAP(Comm_disconnect, (MPI_Comm * comm)) {
  return free_comm(*comm, [&] { return WEFT_NEXT(Comm_disconnect)(comm); });
}
