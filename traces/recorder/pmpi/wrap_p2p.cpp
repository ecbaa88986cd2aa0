// Point-to-point calls, persistent requests and probes.
//
// A blocking call is written when it is entered and completed when it returns, so that the trace of a program
// killed in a deadlock ends with the calls it hung in.
#include "traces/recorder/pmpi/state.hpp"

namespace weft::recorder {
namespace {

// The communicator, or nullptr; that is counted.
Comm* known(MPI_Comm handle, const Call& call) {
  Comm* c = recorder.comm(handle);
  if (c == nullptr) {
    count_unseen(NotRecorded::unknown_comm);
    recorder.carry(call.gap());
  }
  return c;
}

Fields message(const Comm& c, int peer, int tag, std::int64_t bytes) {
  return {c.id, world_peer(c, peer), spool_tag(tag), bytes, kNoSlot};
}

Fields message_of(const Comm& c, const MPI_Status& s) {
  return {c.id, world_peer(c, s.MPI_SOURCE), spool_tag(s.MPI_TAG), received_bytes(s), kNoSlot};
}

void fill_match(SpoolRecord* r, const Comm& c, const MPI_Status& s) {
  r->source = world_peer(c, s.MPI_SOURCE);
  r->matched_tag = spool_tag(s.MPI_TAG);
  r->matched_bytes = received_bytes(s);
}

template <class Real>
[[gnu::always_inline]] inline int blocking_send(OpKind kind, std::int64_t count, MPI_Datatype type, int dest,
                                                int tag, MPI_Comm comm, Real real) {
  const Call call;
  SpoolRecord* r = nullptr;
  if (call) {
    const Lock lock;
    if (const Comm* c = known(comm, call)) {
      r = recorder.begin(call.gap(), message(*c, dest, tag, bytes_of(count, type)), 0);
      if (r != nullptr) recorder.publish(r, kind, kOpen, 0);
    }
  }
  const int rc = real();
  if (call) {
    const Outcome o = counted_outcome(rc);
    if (r != nullptr) {
      const Lock lock;
      recorder.leave(r, o == Outcome::kNothing ? kFailed : 0);
    }
  }
  return rc;
}

// A receive or probe that blocks; `sent` is the other half of a Sendrecv. `real` takes the status to fill; `after`
// runs locked when it has left, with the status.
template <class Real, class After>
int blocking_recv(OpKind kind, const Fields& f, const Comm& c, const Call& call, MPI_Status* status,
                  Real real, const Fields* sent, After after) {
  MPI_Status own{};
  MPI_Status* s = status == MPI_STATUS_IGNORE ? &own : status;
  const std::uint8_t flags = sent != nullptr ? traces::kPairedRecv : 0;
  SpoolRecord* half = nullptr;
  SpoolRecord* r = nullptr;
  {
    const Lock lock;
    std::int64_t gap = call.gap();
    if (sent != nullptr) {
      half = recorder.begin(gap, *sent, 0);
      if (half != nullptr) recorder.publish(half, OpKind::sendrecv, kOpen, 0);
      gap = 0;
    }
    r = recorder.begin(gap, f, 0);
    if (r != nullptr) recorder.publish(r, kind, static_cast<std::uint8_t>(flags | kOpen), 0);
  }
  const int rc = real(s);
  const Outcome o = counted_outcome(rc);
  if (half != nullptr) SpoolWriter::set_flags(half, o == Outcome::kNothing ? kFailed : 0);
  if (r == nullptr) return rc;
  if (o != Outcome::kNothing) fill_match(r, c, *s);
  const Lock lock;
  recorder.leave(r, o == Outcome::kNothing ? static_cast<std::uint8_t>(flags | kFailed) : flags);
  if (o != Outcome::kNothing) after(*s);
  return rc;
}
template <class Real>
int blocking_recv(OpKind kind, const Fields& f, const Comm& c, const Call& call, MPI_Status* status,
                  Real real, const Fields* sent = nullptr) {
  return blocking_recv(kind, f, c, call, status, real, sent, [](const MPI_Status&) {});
}

// The end of a call that was only passed on.
int passed(const Call& call, int rc) {
  if (call) static_cast<void>(counted_outcome(rc));
  return rc;
}

const Comm* locked_known(MPI_Comm comm, const Call& call) {
  const Lock lock;
  return known(comm, call);
}

// Isend, Irecv, *_init: written before the real call, so that nobody answers what is not yet in the spool; the
// request gets its handle after it.
template <class Real>
int with_request(OpKind kind, const Comm* c, Fields f, MPI_Request* request, bool receive, bool persistent,
                 const Call& call, Real real) {
  SpoolRecord* r = nullptr;
  if (c != nullptr) {
    const Lock lock;
    f.request = recorder.requests.reserve();
    Slot& s = recorder.requests[f.request];
    s.comm = c;
    s.receive = receive;
    s.from_nobody = receive && f.peer == traces::kProcNull;
    s.persistent = persistent;
    s.active = !persistent;
    r = recorder.begin(call.gap(), f, 0);
    if (r != nullptr) recorder.publish(r, kind, kOpen, 0);
  }
  const int rc = real();
  if (!call) return rc;
  const Outcome o = counted_outcome(rc);
  if (c == nullptr) return rc;
  const Lock lock;
  if (o == Outcome::kDone) {
    recorder.requests.bind(f.request, *request, request);
  } else {
    recorder.requests.remove(f.request);
  }
  if (r != nullptr) SpoolWriter::set_flags(r, o == Outcome::kDone ? 0 : kFailed);
  return rc;
}

// An Mprobe or Improbe has taken a message: its receive begins, whoever ends it. Call locked.
void take(MPI_Message message, const Comm& c, const MPI_Status& s) {
  if (message == WEFT_MESSAGE_NO_PROC) return;
  Fields f = message_of(c, s);
  f.request = recorder.requests.reserve();
  Slot& slot = recorder.requests[f.request];
  slot.comm = &c;
  slot.receive = true;
  slot.active = true;
  if (SpoolRecord* r = recorder.begin(0, f, 0)) recorder.publish(r, OpKind::irecv, 0, 0);
  recorder.taken.add({message, f.request});
}

template <class Real>
int receive_taken(MPI_Message message, MPI_Request* request, const Call& call, Real real) {
  if (message == WEFT_MESSAGE_NO_PROC) {
    const Comm* world = call ? locked_known(WEFT_COMM_WORLD, call) : nullptr;
    const Fields f =
        world == nullptr ? Fields{} : Fields{world->id, traces::kProcNull, traces::kAnyTag, 0, kNoSlot};
    return with_request(OpKind::irecv, world, f, request, true, false, call, real);
  }
  std::uint32_t slot = kNoSlot;
  if (call) {
    const Lock lock;
    slot = recorder.taken.remove(message);
    recorder.carry(call.gap());
  }
  const int rc = real();
  if (slot == kNoSlot) return rc;  // of nobody: what waits for it is counted
  const Outcome o = counted_outcome(rc);
  const Lock lock;
  if (o == Outcome::kDone) {
    recorder.requests.bind(slot, *request, request);
  } else {
    recorder.taken.add({message, slot});
  }
  return rc;
}

// Iprobe and Improbe, after the real call.
void poll(OpKind kind, bool hit, const Call& call, int source, int tag, MPI_Comm comm, const MPI_Status& s,
          MPI_Message* message_out) {
  const Lock lock;
  const Comm* c = recorder.comm(comm);
  if (c == nullptr) {
    count_unseen(NotRecorded::unknown_comm);
    return hit ? recorder.carry(call.gap()) : recorder.idle_poll(call.gap());
  }
  const Fields f = message(*c, source, tag, 0);
  if (!hit) {
    recorder.miss(kind, call.gap(), f);
    return;
  }
  SpoolRecord* r = recorder.begin(call.gap(), f, 0);
  if (r == nullptr) return;
  r->amount = 1;
  fill_match(r, *c, s);
  recorder.publish(r, kind, traces::kHit, 0);
  if (message_out != nullptr) take(*message_out, *c, s);
}

// A call that is no operation.
void nothing_of(const Call& call) {
  const Lock lock;
  recorder.carry(call.gap());
}

}  // namespace
}  // namespace weft::recorder

using namespace weft::recorder;  // the wrappers are C functions, outside any namespace

#define WEFT_SEND(name, kind, COUNT)                                                                        \
  WEFT_WRAP(name, (const void* buffer, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)) { \
    return blocking_send(OpKind::kind, count, type, dest, tag, comm,                                        \
                         [&] { return WEFT_NEXT(name)(buffer, count, type, dest, tag, comm); });            \
  }
WEFT_SEND(Send, send, int)
WEFT_SEND(Ssend, ssend, int)
WEFT_SEND(Bsend, bsend, int)
WEFT_SEND(Rsend, rsend, int)

#define WEFT_REQUEST(name, kind, BUFFER, receives, persistent, COUNT)                                     \
  WEFT_WRAP(name, (BUFFER buffer, COUNT count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,       \
                   MPI_Request* request)) {                                                               \
    const Call call;                                                                                      \
    const Comm* c = call ? locked_known(comm, call) : nullptr;                                            \
    return with_request(OpKind::kind, c,                                                                  \
                        c != nullptr ? message(*c, peer, tag, bytes_of(count, type)) : Fields{}, request, \
                        receives, persistent, call,                                                       \
                        [&] { return WEFT_NEXT(name)(buffer, count, type, peer, tag, comm, request); });  \
  }
#define WEFT_SEND_REQUEST(name, kind, persistent, COUNT) \
  WEFT_REQUEST(name, kind, const void*, false, persistent, COUNT)
#define WEFT_RECV_REQUEST(name, kind, persistent, COUNT) \
  WEFT_REQUEST(name, kind, void*, true, persistent, COUNT)
WEFT_SEND_REQUEST(Isend, isend, false, int)
WEFT_SEND_REQUEST(Issend, issend, false, int)
WEFT_SEND_REQUEST(Ibsend, ibsend, false, int)
WEFT_SEND_REQUEST(Irsend, irsend, false, int)
WEFT_SEND_REQUEST(Send_init, send_init, true, int)
WEFT_SEND_REQUEST(Ssend_init, ssend_init, true, int)
WEFT_SEND_REQUEST(Bsend_init, bsend_init, true, int)
WEFT_SEND_REQUEST(Rsend_init, rsend_init, true, int)

WEFT_RECV_REQUEST(Irecv, irecv, false, int)
WEFT_RECV_REQUEST(Recv_init, recv_init, true, int)

#define WEFT_RECV(name, COUNT)                                                                            \
  WEFT_WRAP(name, (void* buffer, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm,      \
                   MPI_Status* status)) {                                                                 \
    const Call call;                                                                                      \
    const auto real = [&](MPI_Status* s) {                                                                \
      return WEFT_NEXT(name)(buffer, count, type, source, tag, comm, s);                                  \
    };                                                                                                    \
    const Comm* c = call ? locked_known(comm, call) : nullptr;                                            \
    if (c == nullptr) return passed(call, real(status));                                                  \
    return blocking_recv(OpKind::recv, message(*c, source, tag, bytes_of(count, type)), *c, call, status, \
                         real);                                                                           \
  }
WEFT_RECV(Recv, int)

#define WEFT_SENDRECV(name, COUNT)                                                                           \
  WEFT_WRAP(name,                                                                                            \
            (const void* sbuffer, COUNT scount, MPI_Datatype stype, int dest, int stag, void* rbuffer,       \
             COUNT rcount, MPI_Datatype rtype, int source, int rtag, MPI_Comm comm, MPI_Status* status)) {   \
    const Call call;                                                                                         \
    const auto real = [&](MPI_Status* s) {                                                                   \
      return WEFT_NEXT(name)(sbuffer, scount, stype, dest, stag, rbuffer, rcount, rtype, source, rtag, comm, \
                             s);                                                                             \
    };                                                                                                       \
    const Comm* c = call ? locked_known(comm, call) : nullptr;                                               \
    if (c == nullptr) return passed(call, real(status));                                                     \
    const Fields sent = message(*c, dest, stag, bytes_of(scount, stype));                                    \
    return blocking_recv(OpKind::recv, message(*c, source, rtag, bytes_of(rcount, rtype)), *c, call, status, \
                         real, &sent);                                                                       \
  }
WEFT_SENDRECV(Sendrecv, int)

#define WEFT_SENDRECV_REPLACE(name, COUNT)                                                                 \
  WEFT_WRAP(name, (void* buffer, COUNT count, MPI_Datatype type, int dest, int stag, int source, int rtag, \
                   MPI_Comm comm, MPI_Status* status)) {                                                   \
    const Call call;                                                                                       \
    const auto real = [&](MPI_Status* s) {                                                                 \
      return WEFT_NEXT(name)(buffer, count, type, dest, stag, source, rtag, comm, s);                      \
    };                                                                                                     \
    const Comm* c = call ? locked_known(comm, call) : nullptr;                                             \
    if (c == nullptr) return passed(call, real(status));                                                   \
    const Fields sent = message(*c, dest, stag, bytes_of(count, type));                                    \
    return blocking_recv(OpKind::recv, message(*c, source, rtag, bytes_of(count, type)), *c, call, status, \
                         real, &sent);                                                                     \
  }
WEFT_SENDRECV_REPLACE(Sendrecv_replace, int)

WEFT_WRAP(Probe, (int source, int tag, MPI_Comm comm, MPI_Status* status)) {
  const Call call;
  const auto real = [&](MPI_Status* s) { return WEFT_NEXT(Probe)(source, tag, comm, s); };
  const Comm* c = call ? locked_known(comm, call) : nullptr;
  if (c == nullptr) return passed(call, real(status));
  return blocking_recv(OpKind::probe, message(*c, source, tag, 0), *c, call, status, real);
}

WEFT_WRAP(Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message* out, MPI_Status* status)) {
  const Call call;
  const auto real = [&](MPI_Status* s) { return WEFT_NEXT(Mprobe)(source, tag, comm, out, s); };
  const Comm* c = call ? locked_known(comm, call) : nullptr;
  if (c == nullptr) return passed(call, real(status));
  return blocking_recv(OpKind::mprobe, message(*c, source, tag, 0), *c, call, status, real, nullptr,
                       [&](const MPI_Status& s) { take(*out, *c, s); });
}

WEFT_WRAP(Iprobe, (int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status)) {
  const Call call;
  MPI_Status own{};
  MPI_Status* s = status == MPI_STATUS_IGNORE ? &own : status;
  const int rc = WEFT_NEXT(Iprobe)(source, tag, comm, flag, s);
  if (!call) return rc;
  if (counted_outcome(rc) == Outcome::kDone)
    poll(OpKind::iprobe, *flag != 0, call, source, tag, comm, *s, nullptr);
  else
    nothing_of(call);
  return rc;
}

WEFT_WRAP(Improbe, (int source, int tag, MPI_Comm comm, int* flag, MPI_Message* out, MPI_Status* status)) {
  const Call call;
  MPI_Status own{};
  MPI_Status* s = status == MPI_STATUS_IGNORE ? &own : status;
  const int rc = WEFT_NEXT(Improbe)(source, tag, comm, flag, out, s);
  if (!call) return rc;
  if (counted_outcome(rc) == Outcome::kDone)
    poll(OpKind::improbe, *flag != 0, call, source, tag, comm, *s, out);
  else
    nothing_of(call);
  return rc;
}

// Imrecv gives the receive that its probe began (take) a request.
#define WEFT_IMRECV(name, COUNT)                                                                          \
  WEFT_WRAP(name, (void* buffer, COUNT count, MPI_Datatype type, MPI_Message* m, MPI_Request* request)) { \
    const Call call;                                                                                      \
    const auto real = [&] { return WEFT_NEXT(name)(buffer, count, type, m, request); };                   \
    return receive_taken(m != nullptr ? *m : MPI_Message{}, request, call, real);                         \
  }
WEFT_IMRECV(Imrecv, int)

#ifdef WEFT_LARGE_COUNTS
WEFT_SEND(Send_c, send, MPI_Count)
WEFT_SEND(Ssend_c, ssend, MPI_Count)
WEFT_SEND(Bsend_c, bsend, MPI_Count)
WEFT_SEND(Rsend_c, rsend, MPI_Count)
WEFT_SEND_REQUEST(Isend_c, isend, false, MPI_Count)
WEFT_SEND_REQUEST(Issend_c, issend, false, MPI_Count)
WEFT_SEND_REQUEST(Ibsend_c, ibsend, false, MPI_Count)
WEFT_SEND_REQUEST(Irsend_c, irsend, false, MPI_Count)
WEFT_SEND_REQUEST(Send_init_c, send_init, true, MPI_Count)
WEFT_SEND_REQUEST(Ssend_init_c, ssend_init, true, MPI_Count)
WEFT_SEND_REQUEST(Bsend_init_c, bsend_init, true, MPI_Count)
WEFT_SEND_REQUEST(Rsend_init_c, rsend_init, true, MPI_Count)
WEFT_RECV_REQUEST(Irecv_c, irecv, false, MPI_Count)
WEFT_RECV_REQUEST(Recv_init_c, recv_init, true, MPI_Count)
WEFT_RECV(Recv_c, MPI_Count)
WEFT_SENDRECV(Sendrecv_c, MPI_Count)
WEFT_SENDRECV_REPLACE(Sendrecv_replace_c, MPI_Count)
WEFT_IMRECV(Imrecv_c, MPI_Count)
#endif
