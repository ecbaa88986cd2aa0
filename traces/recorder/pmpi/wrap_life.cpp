// MPI_Init, MPI_Finalize, the calls that are only counted, and those that are no operation but may wait.
#include "traces/recorder/pmpi/right_library.hpp"
#include "traces/recorder/pmpi/state.hpp"

namespace weft::recorder {
namespace {

void started(int level) {
  recorder.start(level);
  if (!recorder.on()) return;
  const Lock lock;
  if (SpoolRecord* r = recorder.begin(0, Fields{}, 0)) recorder.publish(r, OpKind::init, 0, 0);
  restart_clock();
}

template <class Real>
[[gnu::always_inline]] inline int counted(NotRecorded what, Real real) {
  const Call call;
  if (what == NotRecorded::Session_init && call.outermost() && !recorder.on()) tell_session();
  if (call) {
    const Lock lock;
    recorder.count(what);
    recorder.carry(call.gap());
  }
  return real();
}

template <class Real>
[[gnu::always_inline]] inline int counted_poll(NotRecorded what, const int* flag, Real real) {
  const Call call;
  if (call) recorder.count(what);
  const int rc = real();
  if (call) {
    const Lock lock;
    if (rc == MPI_SUCCESS && *flag == 0)
      recorder.idle_poll(call.gap());
    else
      recorder.carry(call.gap());
  }
  return rc;
}

// No operation, but it may wait for others: time inside MPI, which would else be computation.
template <class Real>
[[gnu::always_inline]] inline int no_operation(Real real) {
  const Call call(Call::Does::kManage);
  if (call) {
    const Lock lock;
    recorder.carry(call.gap());
  }
  return real();
}

#ifdef WEFT_CALLS_OF_MPI_4_1
// The same with a request. It is the program's to complete, but stands for no operation.
template <class Real>
[[gnu::always_inline]] inline int no_operation(MPI_Request* request, Real real) {
  const Call call(Call::Does::kManage);
  const int rc = real();
  if (!call) return rc;
  const Outcome o = counted_outcome(rc);
  const Lock lock;
  recorder.carry(call.gap());
  if (o == Outcome::kDone && *request != WEFT_REQUEST_NULL) {
    const std::uint32_t slot = recorder.requests.reserve();
    recorder.requests[slot].hidden = true;
    recorder.requests.bind(slot, *request, request);
  }
  return rc;
}
#endif

}  // namespace
}  // namespace weft::recorder

using namespace weft::recorder;

WEFT_WRAP(Init, (int* argc, char*** argv)) {
  const Call call;
  const int rc = WEFT_NEXT(Init)(argc, argv);
  if (rc == MPI_SUCCESS && call.outermost()) started(MPI_THREAD_SINGLE);
  return rc;
}

WEFT_WRAP(Init_thread, (int* argc, char*** argv, int required, int* provided)) {
  const Call call;
  const int rc = WEFT_NEXT(Init_thread)(argc, argv, required, provided);
  if (rc == MPI_SUCCESS && call.outermost()) started(*provided);
  return rc;
}

WEFT_WRAP(Finalize, (void)) {
  const Call call;
  if (call) {
    const Lock lock;
    if (SpoolRecord* r = recorder.begin(call.gap(), Fields{}, 0)) recorder.publish(r, OpKind::finalize, 0, 0);
    recorder.finish();
  }
  return WEFT_NEXT(Finalize)();
}

// These return when the buffered messages have left.
WEFT_WRAP(Buffer_detach, (void* buffer, int* size)) {
  return no_operation([&] { return WEFT_NEXT(Buffer_detach)(buffer, size); });
}
#ifdef WEFT_LARGE_COUNTS
WEFT_WRAP(Buffer_detach_c, (void* buffer, MPI_Count* size)) {
  return no_operation([&] { return WEFT_NEXT(Buffer_detach_c)(buffer, size); });
}
#endif
#ifdef WEFT_CALLS_OF_MPI_4_1
WEFT_WRAP(Buffer_flush, (void)) {
  return no_operation([&] { return WEFT_NEXT(Buffer_flush)(); });
}
WEFT_WRAP(Buffer_iflush, (MPI_Request * request)) {
  return no_operation(request, [&] { return WEFT_NEXT(Buffer_iflush)(request); });
}
// The same of the buffer of one communicator or session.
#define WEFT_BUFFER_OF(Owner)                                                                       \
  WEFT_WRAP(Owner##_detach_buffer, (MPI_##Owner owner, void* buffer, int* size)) {                  \
    return no_operation([&] { return WEFT_NEXT(Owner##_detach_buffer)(owner, buffer, size); });     \
  }                                                                                                 \
  WEFT_WRAP(Owner##_detach_buffer_c, (MPI_##Owner owner, void* buffer, MPI_Count* size)) {          \
    return no_operation([&] { return WEFT_NEXT(Owner##_detach_buffer_c)(owner, buffer, size); });   \
  }                                                                                                 \
  WEFT_WRAP(Owner##_flush_buffer, (MPI_##Owner owner)) {                                            \
    return no_operation([&] { return WEFT_NEXT(Owner##_flush_buffer)(owner); });                    \
  }                                                                                                 \
  WEFT_WRAP(Owner##_iflush_buffer, (MPI_##Owner owner, MPI_Request * request)) {                    \
    return no_operation(request, [&] { return WEFT_NEXT(Owner##_iflush_buffer)(owner, request); }); \
  }
WEFT_BUFFER_OF(Comm)
WEFT_BUFFER_OF(Session)
#endif
// Collective: a library may make the members meet.
WEFT_WRAP(Comm_set_info, (MPI_Comm comm, MPI_Info info)) {
  return no_operation([&] { return WEFT_NEXT(Comm_set_info)(comm, info); });
}

#define WEFT_COUNTED(group, name, params, args)                              \
  WEFT_WRAP(name, params) {                                                  \
    return counted(NotRecorded::name, [&] { return WEFT_NEXT(name) args; }); \
  }
#define WEFT_COUNTED_POLL(group, name, params, args, flag)                              \
  WEFT_WRAP(name, params) {                                                             \
    return counted_poll(NotRecorded::name, flag, [&] { return WEFT_NEXT(name) args; }); \
  }
#ifdef WEFT_LARGE_COUNTS
#define WEFT_COUNTED_LARGE(name, params, args)                                   \
  WEFT_WRAP(name##_c, params) {                                                  \
    return counted(NotRecorded::name, [&] { return WEFT_NEXT(name##_c) args; }); \
  }
#endif
#ifndef WEFT_CALLS_OF_MPI_4
#define WEFT_COUNTED_4(group, name, params, args)
#define WEFT_COUNTED_POLL_4(group, name, params, args, flag)
#endif
#include "traces/recorder/not_recorded.def"
#undef WEFT_COUNTED
