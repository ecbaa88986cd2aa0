// Starting persistent requests, completing requests, giving them up.
//
// A wait is written when entered (a program killed in it shows it) and completed at return. A test that says
// no leaves nothing: it is a poll. Requests whose start was not recorded are left out of the lists and
// counted.
#include "traces/recorder/pmpi/state.hpp"
#include "traces/request_book.hpp"

namespace weft::recorder {
namespace {

// An array that the program did not give is one of nothing, until MPI answers with an error.
int given(int count, const MPI_Request* requests) { return requests == nullptr || count < 0 ? 0 : count; }
bool says_yes(const int* flag) { return flag != nullptr && *flag != 0; }
bool is_index(const int* index) { return index != nullptr && *index != MPI_UNDEFINED; }

thread_local Scratch<std::uint32_t> slot_scratch;
thread_local Scratch<MPI_Status> status_scratch;

// The requests that a completion call asks about, and its record.
class Completion {
 public:
  // Call locked. Of a message that was taken by a probe.
  explicit Completion(std::uint32_t taken)
      : count_(1), slots_(slot_scratch.get(1)), asked_(1), wants_statuses_(true) {
    slots_[0] = taken;
  }
  // Call locked.
  Completion(int count, const MPI_Request* requests) : count_(given(count, requests)) {
    slots_ = slot_scratch.get(static_cast<std::size_t>(count_) + 1);
    const Claim claim = recorder.claim();
    for (int i = 0; i < count_; ++i) {
      slots_[i] = kNoSlot;
      if (requests[i] == WEFT_REQUEST_NULL) continue;
      const std::uint32_t slot = recorder.requests.find(requests[i], requests + i, claim);
      if (slot == kNoSlot) {
        slots_[i] = kUnseen;
        continue;
      }
      const Slot& s = recorder.requests[slot];
      if (s.persistent && !s.active) continue;
      slots_[i] = slot;
      wants_statuses_ = wants_statuses_ || s.receive || s.persistent;
      if (!s.hidden) ++asked_;
    }
  }
  [[nodiscard]] bool anything() const { return asked_ > 0; }
  // What a receive took, and of a call that failed whether a persistent request is complete, only a status tells.
  [[nodiscard]] bool wants_statuses() const { return wants_statuses_; }

  // Writes the record of the call without any completion.
  void begin(OpKind kind, std::int64_t gap, bool open) {
    kind_ = kind;
    open_ = open;
    // Calls that end one of n at a time would write n^2 slots.
    const bool few = !traces::completes_some(kind) || asked_ <= kMostListed;
    listed_ = few ? asked_ : 0;
    room_ = kind == OpKind::waitany || kind == OpKind::testany ? 1 : few ? asked_ : kMostListed;
    write(gap);
  }
  // Request `index` of the array is complete. `status` may be nullptr for a send.
  void complete(int index, const MPI_Status* status) {
    if (index < 0 || index >= count_) return;
    if (slots_[index] == kUnseen) recorder.count(NotRecorded::unknown_request);
    if (!is_slot(slots_[index])) return;
    const std::uint32_t slot = slots_[index];
    slots_[index] = kNoSlot;
    tell(slot, status);
    Slot& s = recorder.requests[slot];
    if (s.persistent) {
      s.active = false;
      s.hidden = s.prepared != nullptr;
    } else {
      recorder.requests.remove(slot);
    }
  }
  // Request `index` is complete and stays the program's: nothing of it is written again.
  void tell_only(int index, const MPI_Status* status) {
    if (!untold(index)) return;
    tell(slots_[index], status);
    recorder.requests[slots_[index]].hidden = true;
  }
  // Call locked. Whether there is anything to tell of request `index`.
  [[nodiscard]] bool untold(int index) const {
    return index >= 0 && index < count_ && is_slot(slots_[index]) && !recorder.requests[slots_[index]].hidden;
  }
  // `failed`: the call answered that some did; those that neither did nor are complete stay active (MPI 3.1, 3.7.5).
  void complete_all(const MPI_Status* statuses, const MPI_Request* requests, bool failed) {
    for (int i = 0; i < count_; ++i)
      if (!failed || slots_[i] == kNoSlot || !pending(i, statuses, requests))
        complete(i, statuses == nullptr ? nullptr : statuses + i);
  }
  // Call locked. Of a call that failed: whether any of its requests is complete.
  [[nodiscard]] bool some_complete(const MPI_Status* statuses, const MPI_Request* requests) const {
    for (int i = 0; i < count_; ++i)
      if (slots_[i] != kNoSlot && !pending(i, statuses, requests)) return true;
    return false;
  }
  void close(Outcome o) {
    if (record_ != nullptr) recorder.leave(record_, o == Outcome::kNothing ? kFailed : 0);
  }

 private:
  // Calls that complete some of more requests list none of those that they ask for; so many completions then are a record.
  static constexpr int kMostListed = 64;
  // In place of a slot: of a request whose start was not seen.
  static constexpr std::uint32_t kUnseen = kNoSlot - 1;
  static bool is_slot(std::uint32_t slot) { return slot < kUnseen; }

  // After a call that failed: request `index`, which was asked about, is still active.
  bool pending(int index, const MPI_Status* statuses, const MPI_Request* requests) const {
    return is_slot(slots_[index]) && recorder.requests[slots_[index]].persistent
               ? statuses != nullptr && statuses[index].MPI_ERROR == MPI_ERR_PENDING
               : requests[index] != WEFT_REQUEST_NULL;
  }

  void write(std::int64_t gap) {
    const std::size_t words = 2 + static_cast<std::size_t>(listed_) + 4 * static_cast<std::size_t>(room_);
    record_ = recorder.begin(gap, Fields{}, words);
    if (record_ == nullptr) return;
    std::int64_t* list = SpoolWriter::list(record_);
    *list++ = listed_;
    for (int i = 0; i < count_ && listed_ > 0; ++i)
      if (is_slot(slots_[i]) && !recorder.requests[slots_[i]].hidden) *list++ = slots_[i];
    completed_ = list;
    recorder.publish(record_, kind_, open_ ? kOpen : 0, words);
  }
  // The record is full: it has ended, and another one goes on. Its window may not be there for long.
  void go_on() {
    SpoolWriter::set_flags(record_, 0);
    write(0);
  }

  void tell(std::uint32_t slot, const MPI_Status* status) {
    const Slot& s = recorder.requests[slot];
    if (record_ != nullptr && !s.hidden && *completed_ == room_) go_on();
    if (record_ != nullptr && !s.hidden) {
      SpoolCompletion done{slot, kNoMatch, 0, 0};
      if (s.receive && status != nullptr && cancelled(*status)) {
        done.source = kCancelled;
        recorder.count(NotRecorded::cancelled);
      } else if (s.from_nobody) {  // whatever the status says: MPICH 4.0.2 leaves a rank in it
        done.source = traces::kProcNull;
        done.tag = traces::kAnyTag;
      } else if (s.receive && status != nullptr) {
        done.source = world_peer(*s.comm, status->MPI_SOURCE);
        done.tag = spool_tag(status->MPI_TAG);
        done.bytes = received_bytes(*status);
      }
      auto* entries = reinterpret_cast<SpoolCompletion*>(completed_ + 1);
      entries[*completed_] = done;
      __atomic_store_n(completed_, *completed_ + 1, __ATOMIC_RELEASE);
    }
  }

  int count_;
  std::uint32_t* slots_ = nullptr;
  int asked_ = 0;
  bool wants_statuses_ = false;
  OpKind kind_{};
  bool open_ = false;
  int listed_ = 0;  // slots in the record
  int room_ = 0;    // for completions in it
  SpoolRecord* record_ = nullptr;
  std::int64_t* completed_ = nullptr;
};

// The statuses of a call that may complete several requests.
class Statuses {
 public:
  explicit Statuses(MPI_Status* given) : to_(given) {}
  // Ours, where the program gives none and something is to be told by them.
  void want(const Completion& c, int count) {
    if (to_ != MPI_STATUSES_IGNORE || !c.wants_statuses()) return;
    to_ = status_scratch.get(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) to_[i].MPI_ERROR = MPI_SUCCESS;
  }
  // Where the real call writes them.
  [[nodiscard]] MPI_Status* to() const { return to_; }
  // And where they are read; nullptr = nowhere: MPI_STATUSES_IGNORE is 1 in MPICH.
  [[nodiscard]] const MPI_Status* all() const { return to_ == MPI_STATUSES_IGNORE ? nullptr : to_; }
  [[nodiscard]] const MPI_Status* of(int i) const { return all() == nullptr ? nullptr : all() + i; }

 private:
  MPI_Status* to_;
};

// Wait, Waitall, Waitany, Waitsome: `real` makes the call, `done(completion)` tells what completed.
template <class Real, class Done>
[[gnu::always_inline]] inline int wait_for(OpKind kind, int count, const MPI_Request* requests, Real real,
                                           Done done) {
  const Call call;
  if (!call) return real(nullptr);
  recorder.lock();
  Completion c(count, requests);
  if (c.anything()) {
    c.begin(kind, call.gap(), true);
  } else {
    recorder.carry(call.gap());
  }
  recorder.unlock();
  const int rc = real(&c);
  const Outcome o = counted_outcome(rc);
  const Lock lock;
  if (o != Outcome::kNothing) done(c);
  c.close(o);
  return rc;
}

template <class Real>
[[gnu::always_inline]] inline int receive_taken(MPI_Message message, const MPI_Status& status, Real real) {
  const Call call;
  if (!call) return real();
  recorder.lock();
  const std::uint32_t slot = recorder.taken.remove(message);
  if (slot == kNoSlot) {  // of nobody, or of a probe that was not recorded
    recorder.carry(call.gap());
    recorder.unlock();
    return real();
  }
  Completion c(slot);
  c.begin(OpKind::wait, call.gap(), true);
  recorder.unlock();
  const int rc = real();
  const Outcome o = counted_outcome(rc);
  const Lock lock;
  if (o != Outcome::kNothing)
    c.complete(0, &status);
  else
    recorder.taken.add({message, slot});
  c.close(o);
  return rc;
}

// Test, Testall, Testany, Testsome: `real` makes the call and says whether anything completed.
template <class Real, class Done>
[[gnu::always_inline]] inline int test_for(OpKind kind, int count, const MPI_Request* requests, Real real,
                                           Done done) {
  const Call call;
  bool yes = false;
  if (!call) return real(nullptr, yes);
  recorder.lock();
  Completion c(count, requests);
  recorder.unlock();
  const int rc = real(&c, yes);
  const Lock lock;
  const Outcome o = counted_outcome(rc);
  yes = yes && o != Outcome::kNothing;
  if (!yes || !c.anything()) {
    recorder.idle_poll(call.gap());
    if (yes && !c.anything()) done(c);  // of hidden requests, or none that was seen
    return rc;
  }
  c.begin(kind, call.gap(), false);
  done(c);
  return rc;
}

}  // namespace
}  // namespace weft::recorder

using namespace weft::recorder;

WEFT_WRAP(Wait, (MPI_Request * request, MPI_Status* status)) {
  MPI_Status own{};
  MPI_Status* s = status == MPI_STATUS_IGNORE ? &own : status;
  return wait_for(
      OpKind::wait, 1, request, [&](Completion*) { return WEFT_NEXT(Wait)(request, s); },
      [&](Completion& c) { c.complete(0, s); });
}

WEFT_WRAP(Waitall, (int count, MPI_Request* requests, MPI_Status* statuses)) {
  Statuses used(statuses);
  int rc = MPI_SUCCESS;
  return wait_for(
      OpKind::waitall, count, requests,
      [&](Completion* c) {
        if (c != nullptr) used.want(*c, count);
        return rc = WEFT_NEXT(Waitall)(count, requests, used.to());
      },
      [&](Completion& c) { c.complete_all(used.all(), requests, rc != MPI_SUCCESS); });
}

WEFT_WRAP(Waitany, (int count, MPI_Request* requests, int* index, MPI_Status* status)) {
  MPI_Status own{};
  MPI_Status* s = status == MPI_STATUS_IGNORE ? &own : status;
  return wait_for(
      OpKind::waitany, count, requests,
      [&](Completion*) { return WEFT_NEXT(Waitany)(count, requests, index, s); },
      [&](Completion& c) {
        if (*index != MPI_UNDEFINED) c.complete(*index, s);
      });
}

WEFT_WRAP(Waitsome, (int count, MPI_Request* requests, int* done_count, int* indices, MPI_Status* statuses)) {
  Statuses used(statuses);
  return wait_for(
      OpKind::waitsome, count, requests,
      [&](Completion* c) {
        if (c != nullptr) used.want(*c, count);
        return WEFT_NEXT(Waitsome)(count, requests, done_count, indices, used.to());
      },
      [&](Completion& c) {
        if (*done_count == MPI_UNDEFINED) return;
        for (int i = 0; i < *done_count; ++i) c.complete(indices[i], used.of(i));
      });
}

WEFT_WRAP(Test, (MPI_Request * request, int* flag, MPI_Status* status)) {
  MPI_Status own{};
  MPI_Status* s = status == MPI_STATUS_IGNORE ? &own : status;
  return test_for(
      OpKind::test, 1, request,
      [&](Completion*, bool& yes) {
        const int rc = WEFT_NEXT(Test)(request, flag, s);
        yes = says_yes(flag);
        return rc;
      },
      [&](Completion& c) { c.complete(0, s); });
}

WEFT_WRAP(Testall, (int count, MPI_Request* requests, int* flag, MPI_Status* statuses)) {
  Statuses used(statuses);
  int rc = MPI_SUCCESS;
  return test_for(
      OpKind::testall, count, requests,
      [&](Completion* c, bool& yes) {
        if (c != nullptr) used.want(*c, count);
        rc = WEFT_NEXT(Testall)(count, requests, flag, used.to());
        // MPICH completes what it can and answers no where one request failed.
        yes = says_yes(flag);
        if (!yes && rc == MPI_ERR_IN_STATUS && c != nullptr) {
          const Lock lock;
          yes = c->some_complete(used.all(), requests);
        }
        return rc;
      },
      [&](Completion& c) { c.complete_all(used.all(), requests, rc != MPI_SUCCESS); });
}

WEFT_WRAP(Testany, (int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status)) {
  MPI_Status own{};
  MPI_Status* s = status == MPI_STATUS_IGNORE ? &own : status;
  return test_for(
      OpKind::testany, count, requests,
      [&](Completion*, bool& yes) {
        const int rc = WEFT_NEXT(Testany)(count, requests, index, flag, s);
        yes = says_yes(flag) && is_index(index);
        return rc;
      },
      [&](Completion& c) { c.complete(*index, s); });
}

WEFT_WRAP(Testsome, (int count, MPI_Request* requests, int* done_count, int* indices, MPI_Status* statuses)) {
  Statuses used(statuses);
  return test_for(
      OpKind::testsome, count, requests,
      [&](Completion* c, bool& yes) {
        if (c != nullptr) used.want(*c, count);
        const int rc = WEFT_NEXT(Testsome)(count, requests, done_count, indices, used.to());
        yes = is_index(done_count) && *done_count > 0;
        return rc;
      },
      [&](Completion& c) {
        for (int i = 0; i < *done_count; ++i) c.complete(indices[i], used.of(i));
      });
}

// These complete nothing, but a program that hears yes goes on: a test, once, and the call that completes leaves nothing.
WEFT_WRAP(Request_get_status, (MPI_Request request, int* flag, MPI_Status* status)) {
  MPI_Status own{};
  MPI_Status* s = status == MPI_STATUS_IGNORE ? &own : status;
  return test_for(
      OpKind::test, 1, &request,
      [&](Completion*, bool& yes) {
        const int rc = WEFT_NEXT(Request_get_status)(request, flag, s);
        yes = says_yes(flag);
        return rc;
      },
      [&](Completion& c) { c.tell_only(0, s); });
}
#ifdef WEFT_CALLS_OF_MPI_4_1
WEFT_WRAP(Request_get_status_all, (int count, AskedRequests requests, int* flag, MPI_Status* statuses)) {
  Statuses used(statuses);
  return test_for(
      OpKind::testall, count, requests,
      [&](Completion* c, bool& yes) {
        if (c != nullptr) used.want(*c, count);
        const int rc = WEFT_NEXT(Request_get_status_all)(count, requests, flag, used.to());
        yes = says_yes(flag);
        return rc;
      },
      [&](Completion& c) {
        for (int i = 0; i < count; ++i) c.tell_only(i, used.of(i));
      });
}

WEFT_WRAP(Request_get_status_any,
          (int count, AskedRequests requests, int* index, int* flag, MPI_Status* status)) {
  MPI_Status own{};
  MPI_Status* s = status == MPI_STATUS_IGNORE ? &own : status;
  return test_for(
      OpKind::testany, count, requests,
      [&](Completion* c, bool& yes) {
        const int rc = WEFT_NEXT(Request_get_status_any)(count, requests, index, flag, s);
        const Lock lock;
        yes = says_yes(flag) && is_index(index) && c != nullptr && c->untold(*index);
        return rc;
      },
      [&](Completion& c) { c.tell_only(*index, s); });
}

WEFT_WRAP(Request_get_status_some,
          (int count, AskedRequests requests, int* done_count, int* indices, MPI_Status* statuses)) {
  Statuses used(statuses);
  return test_for(
      OpKind::testsome, count, requests,
      [&](Completion* c, bool& yes) {
        if (c != nullptr) used.want(*c, count);
        const int rc = WEFT_NEXT(Request_get_status_some)(count, requests, done_count, indices, used.to());
        const int done = is_index(done_count) ? *done_count : 0;
        const Lock lock;
        for (int i = 0; i < done && c != nullptr; ++i) yes = yes || c->untold(indices[i]);
        return rc;
      },
      [&](Completion& c) {
        for (int i = 0; i < *done_count; ++i) c.tell_only(indices[i], used.of(i));
      });
}
#endif

// Ends the receive that a probe began.
#define WEFT_MRECV(name, COUNT)                                                                         \
  WEFT_WRAP(name, (void* buffer, COUNT count, MPI_Datatype type, MPI_Message* m, MPI_Status* status)) { \
    MPI_Status own{};                                                                                   \
    MPI_Status* s = status == MPI_STATUS_IGNORE ? &own : status;                                        \
    const MPI_Message message = m != nullptr ? *m : MPI_Message{};                                      \
    return receive_taken(message, *s, [&] { return WEFT_NEXT(name)(buffer, count, type, m, s); });      \
  }
WEFT_MRECV(Mrecv, int)
#ifdef WEFT_LARGE_COUNTS
WEFT_MRECV(Mrecv_c, MPI_Count)
#endif

WEFT_WRAP(Start, (MPI_Request * request)) {
  const Call call;
  std::uint32_t slot = kNoSlot;
  SpoolRecord* started = nullptr;
  bool was_active = false;  // a second start fails, and the first goes on
  bool was_hidden = false;
  if (call) {
    const Lock lock;
    const Claim claim = recorder.claim();
    if (request != nullptr) slot = recorder.requests.find(*request, request, claim);
    if (slot == kNoSlot) {
      count_unseen(NotRecorded::unknown_start);
      recorder.carry(call.gap());
    } else {
      Slot& s = recorder.requests[slot];
      was_active = s.active;
      was_hidden = s.hidden;
      s.active = true;
      Fields f;
      f.comm = s.comm->id;
      f.request = slot;
      if (s.prepared != nullptr) {
        started = recorder.start_collective(slot, call.gap());
      } else if ((started = recorder.begin(call.gap(), f, 0)) != nullptr) {
        recorder.publish(started, OpKind::start, 0, 0);
      }
    }
  }
  const int rc = WEFT_NEXT(Start)(request);
  if (!call) return rc;
  const Outcome o = counted_outcome(rc);
  if (slot != kNoSlot) {
    const Lock lock;
    if (o != Outcome::kNothing) {
      recorder.requests.rebind(slot, *request, request);
    } else {
      recorder.requests[slot].active = was_active;
      recorder.requests[slot].hidden = was_hidden;
      if (started != nullptr) SpoolWriter::set_flags(started, kFailed);
    }
  }
  return rc;
}

// Of a Startall that fails the messages are left out; persistent collectives, a record each, stay as written.
WEFT_WRAP(Startall, (int count, MPI_Request* requests)) {
  const Call call;
  const int n = given(count, requests);
  SpoolRecord* started = nullptr;  // of the messages
  if (call) {
    const Lock lock;
    const Claim claim = recorder.claim();
    const auto room = static_cast<std::size_t>(n);
    std::uint32_t* slots = slot_scratch.get(3 * room + 1);
    std::uint32_t* const of_request = slots + room;  // as they stand in `requests`
    std::uint32_t* const was_active = of_request + room;
    std::size_t messages = 0;        // at the front, one record for all of them
    std::size_t collectives = room;  // from the back, a record each after that
    for (std::size_t i = 0; i < room; ++i) {
      const std::uint32_t slot = recorder.requests.find(requests[i], requests + i, claim);
      of_request[i] = slot;
      if (slot == kNoSlot) {
        count_unseen(NotRecorded::unknown_start);
        continue;
      }
      was_active[i] = recorder.requests[slot].active ? 1 : 0;
      recorder.requests[slot].active = true;
      (recorder.requests[slot].prepared != nullptr ? slots[--collectives] : slots[messages++]) = slot;
    }
    std::int64_t gap = call.gap();
    if (messages == 0 && collectives == room) recorder.carry(gap);
    if (messages > 0) {
      started = recorder.begin(gap, Fields{}, messages);
      if (started != nullptr) {
        for (std::size_t i = 0; i < messages; ++i) SpoolWriter::list(started)[i] = slots[i];
        recorder.publish(started, OpKind::startall, 0, messages);
      }
      gap = 0;
    }
    for (std::size_t i = room; i > collectives; --i) {
      recorder.start_collective(slots[i - 1], gap);
      gap = 0;
    }
  }
  const int rc = WEFT_NEXT(Startall)(count, requests);
  if (call) {
    const bool failed = counted_outcome(rc) == Outcome::kNothing;
    const Lock lock;
    const std::uint32_t* const of_request = slot_scratch.data() + n;
    for (int i = 0; i < n; ++i) {
      if (of_request[i] == kNoSlot) continue;
      Slot& s = recorder.requests[of_request[i]];
      if (!failed)
        recorder.requests.rebind(of_request[i], requests[i], requests + i);
      else if (s.prepared == nullptr)
        s.active = of_request[n + i] != 0;
    }
    if (failed && started != nullptr) SpoolWriter::set_flags(started, kFailed);
  }
  return rc;
}

// Cancel and Request_free: one request, recorded at entry because the handle is gone afterwards.
template <class Real>
[[gnu::always_inline]] inline int one_request(OpKind kind, const MPI_Request* request, Real real) {
  const Call call(Call::Does::kManage);
  if (!call) return real();
  SpoolRecord* r = nullptr;
  recorder.lock();
  const Claim claim = recorder.claim();
  std::uint32_t slot = kNoSlot;
  if (request != nullptr)
    slot = kind == OpKind::cancel ? recorder.requests.find_any(*request, request, claim)
                                  : recorder.requests.find(*request, request, claim);
  if (slot == kNoSlot) count_unseen(NotRecorded::unknown_request);
  // What is told already is over, but a persistent request itself is still to be freed.
  const bool over =
      slot == kNoSlot || (recorder.requests[slot].hidden &&
                          !(kind == OpKind::request_free && recorder.requests[slot].persistent &&
                            recorder.requests[slot].prepared == nullptr));
  if (over) {
    recorder.carry(call.gap());
  } else {
    Fields f;
    f.comm = recorder.requests[slot].comm->id;
    f.request = slot;
    r = recorder.begin(call.gap(), f, 0);
    if (r != nullptr) recorder.publish(r, kind, 0, 0);
  }
  recorder.unlock();
  const int rc = real();
  const Outcome o = counted_outcome(rc);
  const Lock lock;
  if (o == Outcome::kNothing) {
    if (r != nullptr) SpoolWriter::set_flags(r, kFailed);
  } else if (kind == OpKind::request_free && slot != kNoSlot) {
    recorder.requests.remove(slot);
  }
  return rc;
}

WEFT_WRAP(Cancel, (MPI_Request * request)) {
  return one_request(OpKind::cancel, request, [&] { return WEFT_NEXT(Cancel)(request); });
}

WEFT_WRAP(Request_free, (MPI_Request * request)) {
  return one_request(OpKind::request_free, request, [&] { return WEFT_NEXT(Request_free)(request); });
}
