// Point-to-point calls, persistent requests and probes.
//
// A blocking call is written when it is entered and completed when it returns, so that the trace of a program
// killed in a deadlock ends with the calls it hung in.
#include "traces/recorder/state.hpp"

namespace weft::recorder {
namespace {

// The communicator, or nullptr after counting.
Comm* known(MPI_Comm handle, const Call& call) {
  Comm* c = recorder.comm(handle);
  if (c == nullptr) {
    recorder.count(NotRecorded::unknown_comm);
    recorder.carry(call.gap());
  }
  return c;
}

Fields message(const Comm& c, int peer, int tag, std::int64_t bytes) {
  return {c.id, world_peer(c, peer), spool_tag(tag), bytes, kNoSlot};
}

void fill_match(SpoolRecord* r, const Comm& c, const MPI_Status& s) {
  r->source = world_peer(c, s.MPI_SOURCE);
  r->matched_tag = spool_tag(s.MPI_TAG);
  r->matched_bytes = received_bytes(s);
}

template <class Real>
int blocking_send(OpKind kind, std::int64_t count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                  Real real) {
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

// A receive or probe that blocks; `sent` is the other half of a Sendrecv. `real` takes the status to fill.
template <class Real>
int blocking_recv(OpKind kind, const Fields& f, const Comm& c, const Call& call, MPI_Status* status,
                  Real real, const Fields* sent = nullptr) {
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
      if (half != nullptr) recorder.publish(half, OpKind::sendrecv, 0, 0);
      gap = 0;
    }
    r = recorder.begin(gap, f, 0);
    if (r != nullptr) recorder.publish(r, kind, static_cast<std::uint8_t>(flags | kOpen), 0);
  }
  const int rc = real(s);
  const Outcome o = counted_outcome(rc);
  if (o == Outcome::kNothing && half != nullptr) SpoolWriter::set_flags(half, kFailed);
  if (r == nullptr) return rc;
  if (o != Outcome::kNothing) fill_match(r, c, *s);
  const Lock lock;
  recorder.leave(r, o == Outcome::kNothing ? static_cast<std::uint8_t>(flags | kFailed) : flags);
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
    s.persistent = persistent;
    s.active = !persistent;
    r = recorder.begin(call.gap(), f, 0);
    if (r != nullptr) recorder.publish(r, kind, 0, 0);
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
    if (r != nullptr) SpoolWriter::set_flags(r, kFailed);
  }
  return rc;
}

void take(MPI_Message message, const Comm& c, const MPI_Status& s) {
  recorder.taken.add({message, &c, world_peer(c, s.MPI_SOURCE), spool_tag(s.MPI_TAG)});
}

bool give(MPI_Message message, Taken& out) {
  if (message == WEFT_MESSAGE_NO_PROC) {
    out = {message, recorder.comm(WEFT_COMM_WORLD), traces::kProcNull, traces::kAnyTag};
    return true;
  }
  return recorder.taken.remove(message, out);
}

// Iprobe and Improbe, after the real call.
void poll(OpKind kind, bool hit, const Call& call, int source, int tag, MPI_Comm comm, const MPI_Status& s,
          MPI_Message* message_out) {
  const Lock lock;
  const Comm* c = known(comm, call);
  if (c == nullptr) return;
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
  if (message_out != nullptr && *message_out != WEFT_MESSAGE_NO_PROC) take(*message_out, *c, s);
}

// A probe that returned an error.
void no_poll(const Call& call) {
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

#define WEFT_SEND_REQUEST(name, kind, persistent, COUNT)                                                  \
  WEFT_WRAP(name, (const void* buffer, COUNT count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,  \
                   MPI_Request* request)) {                                                               \
    const Call call;                                                                                      \
    const Comm* c = call ? locked_known(comm, call) : nullptr;                                            \
    return with_request(OpKind::kind, c,                                                                  \
                        c != nullptr ? message(*c, dest, tag, bytes_of(count, type)) : Fields{}, request, \
                        false, persistent, call,                                                          \
                        [&] { return WEFT_NEXT(name)(buffer, count, type, dest, tag, comm, request); });  \
  }
WEFT_SEND_REQUEST(Isend, isend, false, int)
WEFT_SEND_REQUEST(Issend, issend, false, int)
WEFT_SEND_REQUEST(Ibsend, ibsend, false, int)
WEFT_SEND_REQUEST(Irsend, irsend, false, int)
WEFT_SEND_REQUEST(Send_init, send_init, true, int)
WEFT_SEND_REQUEST(Ssend_init, ssend_init, true, int)
WEFT_SEND_REQUEST(Bsend_init, bsend_init, true, int)
WEFT_SEND_REQUEST(Rsend_init, rsend_init, true, int)

#define WEFT_RECV_REQUEST(name, kind, persistent, COUNT)                                                    \
  WEFT_WRAP(name, (void* buffer, COUNT count, MPI_Datatype type, int source, int tag, MPI_Comm comm,        \
                   MPI_Request* request)) {                                                                 \
    const Call call;                                                                                        \
    const Comm* c = call ? locked_known(comm, call) : nullptr;                                              \
    return with_request(OpKind::kind, c,                                                                    \
                        c != nullptr ? message(*c, source, tag, bytes_of(count, type)) : Fields{}, request, \
                        true, persistent, call,                                                             \
                        [&] { return WEFT_NEXT(name)(buffer, count, type, source, tag, comm, request); });  \
  }
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
    if (c == nullptr) return real(status);                                                                \
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
    if (c == nullptr) return real(status);                                                                   \
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
    if (c == nullptr) return real(status);                                                                 \
    const Fields sent = message(*c, dest, stag, bytes_of(count, type));                                    \
    return blocking_recv(OpKind::recv, message(*c, source, rtag, bytes_of(count, type)), *c, call, status, \
                         real, &sent);                                                                     \
  }
WEFT_SENDRECV_REPLACE(Sendrecv_replace, int)

WEFT_WRAP(Probe, (int source, int tag, MPI_Comm comm, MPI_Status* status)) {
  const Call call;
  const auto real = [&](MPI_Status* s) { return WEFT_NEXT(Probe)(source, tag, comm, s); };
  const Comm* c = call ? locked_known(comm, call) : nullptr;
  if (c == nullptr) return real(status);
  return blocking_recv(OpKind::probe, message(*c, source, tag, 0), *c, call, status, real);
}

WEFT_WRAP(Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message* out, MPI_Status* status)) {
  const Call call;
  const auto real = [&](MPI_Status* s) {
    const int rc = WEFT_NEXT(Mprobe)(source, tag, comm, out, s);
    if (call && rc == MPI_SUCCESS && *out != WEFT_MESSAGE_NO_PROC) {
      const Lock lock;
      if (const Comm* c = recorder.comm(comm)) take(*out, *c, *s);
    }
    return rc;
  };
  const Comm* c = call ? locked_known(comm, call) : nullptr;
  if (c == nullptr) return WEFT_NEXT(Mprobe)(source, tag, comm, out, status);
  return blocking_recv(OpKind::mprobe, message(*c, source, tag, 0), *c, call, status, real);
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
    no_poll(call);
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
    no_poll(call);
  return rc;
}

#define WEFT_MRECV(name, COUNT)                                                                         \
  WEFT_WRAP(name, (void* buffer, COUNT count, MPI_Datatype type, MPI_Message* m, MPI_Status* status)) { \
    const Call call;                                                                                    \
    const auto real = [&](MPI_Status* s) { return WEFT_NEXT(name)(buffer, count, type, m, s); };        \
    Taken t{};                                                                                          \
    bool found = false;                                                                                 \
    if (call) {                                                                                         \
      const Lock lock;                                                                                  \
      found = give(*m, t);                                                                              \
      if (!found) recorder.count(NotRecorded::unknown_comm);                                            \
    }                                                                                                   \
    if (!found) return real(status);                                                                    \
    const Fields f{t.comm->id, t.source, t.tag, bytes_of(count, type), kNoSlot};                        \
    return blocking_recv(OpKind::recv, f, *t.comm, call, status, real);                                 \
  }
WEFT_MRECV(Mrecv, int)

#define WEFT_IMRECV(name, COUNT)                                                                             \
  WEFT_WRAP(name, (void* buffer, COUNT count, MPI_Datatype type, MPI_Message* m, MPI_Request* request)) {    \
    const Call call;                                                                                         \
    Taken t{};                                                                                               \
    bool found = false;                                                                                      \
    if (call) {                                                                                              \
      const Lock lock;                                                                                       \
      found = give(*m, t);                                                                                   \
      if (!found) recorder.count(NotRecorded::unknown_comm);                                                 \
    }                                                                                                        \
    const Fields f = found ? Fields{t.comm->id, t.source, t.tag, bytes_of(count, type), kNoSlot} : Fields{}; \
    return with_request(OpKind::irecv, found ? t.comm : nullptr, f, request, true, false, call,              \
                        [&] { return WEFT_NEXT(name)(buffer, count, type, m, request); });                   \
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
WEFT_MRECV(Mrecv_c, MPI_Count)
WEFT_IMRECV(Imrecv_c, MPI_Count)
#endif
