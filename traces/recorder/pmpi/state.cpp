#include "traces/recorder/pmpi/state.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traces/recorder/pmpi/job.hpp"
#include "traces/recorder/pmpi/on_stack.hpp"
#include "traces/recorder/pmpi/right_library.hpp"

namespace weft::recorder {

Recorder recorder;

namespace {

thread_local ThreadClock thread_clock;
thread_local std::uint32_t depth = 0;
thread_local const Call* outermost_call = nullptr;   // while depth > 0
thread_local const void* outermost_stack = nullptr;  // of its caller, where that ends
thread_local const void* outermost_end = nullptr;    // the same of the function that made it
thread_local bool counted_inside = false;            // the call in progress is counted in Recorder::inside
thread_local std::uint32_t thread_number = kNoThread;
thread_local std::uint32_t unseen_count = 0;  // count_unseen of the call in progress, all of one kind
thread_local NotRecorded unseen_what{};

// A program can load MPI privately (an interpreter's module): then it is not in the search order of the
// loader.
void* private_library() {
  static void* library = nullptr;
  if (library == nullptr) {
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void*) {
          if (abi_of_library(info->dlpi_name) == Abi::kNone) return 0;
          library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
          return library != nullptr ? 1 : 0;
        },
        nullptr);
  }
  return library;
}

void* find_symbol(void* order, const char* name) {
  void* found = dlsym(order, name);
  if (found == nullptr && private_library() != nullptr) found = dlsym(private_library(), name);
  if (found == nullptr) {
    fprintf(stderr, "weft record: the program's MPI library has no %s\n", name);
    abort();
  }
  return found;
}

void copy_text(char* to, std::size_t room, const char* from) {
  const std::size_t n = strnlen(from, room - 1);
  memcpy(to, from, n);
  to[n] = '\0';
}

void program_name(char* to, std::size_t room) {
  FILE* f = fopen("/proc/self/cmdline", "re");
  if (f == nullptr) return;
  const std::size_t n = fread(to, 1, room - 1, f);
  to[n < room ? n : room - 1] = '\0';  // argv[0] ends at its own NUL
  fclose(f);
}

// An error of an argument: raised before anything is sent.
bool refused_argument(int rc) {
  int error_class = rc;
  WEFT_REAL(Error_class)(rc, &error_class);
  for (const int c : {MPI_ERR_ARG, MPI_ERR_GROUP, MPI_ERR_COMM, MPI_ERR_DIMS, MPI_ERR_COUNT, MPI_ERR_RANK,
                      MPI_ERR_TOPOLOGY})
    if (error_class == c) return true;
  return false;
}

std::size_t bucket_of(MPI_Comm handle, std::size_t buckets) {
  return CommKey::scramble(bits_of(handle)) % buckets;
}

}  // namespace

void* mpi_symbol(const char* name) { return find_symbol(RTLD_NEXT, name); }
void* mpi_data(const char* name) { return find_symbol(RTLD_DEFAULT, name); }

namespace {

// Who makes a call from `from`, whose stack ends at `stack`, while one is in progress or was left. What is inside of that one is
// called by what it called, so the stack tells, unless the program has called deeper functions since. Then the stack has to be
// followed, once for each place that calls.
Caller caller_of(const void* stack, const void* from) {
  if (stack > outermost_end) return Caller::kProgram;
  struct Place {
    const void* from;
    Caller caller;
  };
  constexpr std::size_t kPlaces = 64;
  static thread_local Place inside[kPlaces] = {};  // places that called from inside a wrapped call
  Place& known = inside[CommKey::scramble(reinterpret_cast<std::uintptr_t>(from)) % kPlaces];
  if (known.from == from) return known.caller;
  // A tool that ends by going on to the next one may have left the stack by then: that looks as if the recorder called itself.
  const Caller caller = is_recorders(from) ? Caller::kLibrary : caller_on_stack(outermost_stack);
  if (caller != Caller::kProgram) known = {from, caller};
  return caller;
}

}  // namespace

// Never inlined: where the stack of who makes it ends is the begin of its own.
[[gnu::noinline]] Call::Call(Does what, const void* stack, const void* from) {
  const Caller caller = depth > 0 ? caller_of(stack, from) : Caller::kProgram;
  if (caller == Caller::kCallback)
    recorder.count(what == Does::kCommunicate ? NotRecorded::callback_message : NotRecorded::in_callback);
  if (depth > 0 && caller == Caller::kProgram) {
    depth = 0;
    unseen_count = 0;
    if (counted_inside) __atomic_fetch_sub(&recorder.inside, 1, __ATOMIC_RELAXED);
    counted_inside = false;
    recorder.over();
    recorder.count(NotRecorded::left);
    thread_clock.leave(recorder.cpu_clock());
  }
  outermost_ = depth++ == 0;
  if (!outermost_) return;
  outermost_call = this;
  outermost_stack = stack;
  outermost_end = __builtin_dwarf_cfa();
  if (!recorder.on()) return;
  gap_ = recorder.enter(thread_clock.enter(recorder.cpu_clock()), thread_number);
  active_ = recorder.on();
  if (!active_ || !recorder.threaded()) return;
  counted_inside = true;
  if (__atomic_fetch_add(&recorder.inside, 1, __ATOMIC_RELAXED) != 0) recorder.count_concurrent();
}

Call::~Call() {
  if (outermost_ && outermost_call != this)
    return;  // another one began meanwhile: threads that MPI does not know
  --depth;
  if (!active_) return;
  for (; unseen_count > 0; --unseen_count) recorder.count(unseen_what);
  if (counted_inside) __atomic_fetch_sub(&recorder.inside, 1, __ATOMIC_RELAXED);
  counted_inside = false;
  recorder.over();
  thread_clock.leave(recorder.cpu_clock());
}

void count_unseen(NotRecorded what) {
  unseen_what = what;
  ++unseen_count;
}
void nothing_unseen() { unseen_count = 0; }

Outcome outcome_of(int rc) {
  if (rc == MPI_SUCCESS) return Outcome::kDone;
  int error_class = rc;
  WEFT_REAL(Error_class)(rc, &error_class);
  return error_class == MPI_ERR_TRUNCATE || error_class == MPI_ERR_IN_STATUS ? Outcome::kMoved
                                                                             : Outcome::kNothing;
}

void restart_clock() {
  thread_clock.enter(recorder.cpu_clock());
  thread_clock.leave(recorder.cpu_clock());
}

void Recorder::start(int thread_level) {
  const char* directory = getenv(kEnvDirectory);
  if (directory == nullptr || on_ || writer_.is_open()) return;
  const LoadedMpi mpi = loaded_mpi();
  if (mpi.abi != kOwnAbi &&
      mpi.abi != Abi::kNone) {  // loaded by the program itself: too late for the other recorder
    tell_wrong_mpi(mpi);
    return;
  }
  int rank = 0;
  int size = 0;
  WEFT_REAL(Comm_rank)(WEFT_COMM_WORLD, &rank);
  WEFT_REAL(Comm_size)(WEFT_COMM_WORLD, &size);
  if (!open_spool(writer_, directory, rank, size)) return;
  SpoolHeader& h = writer_.header();
  h.pid = getpid();
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  h.start_time_ns = std::int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
  const char* clock = getenv(kEnvClock);
  cpu_ = clock == nullptr || strcmp(clock, "wall") != 0;
  h.cpu_clock = cpu_ ? 1 : 0;
  clock_getres(cpu_ ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  h.clock_resolution_ns = std::int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
  h.thread_level = static_cast<std::uint32_t>(thread_level);
  h.threads = 1;
  thread_number = thread_numbers_.take();
  watch_threads([] {
    ThreadMemory::free_all();
    // One that was left by a jump, or ended inside MPI, has a call without an end in the spool: its number stays its own.
    if (depth == 0 && thread_number != kNoThread) recorder.end_thread(thread_number);
    thread_number = kNoThread;
  });
  watch_thread();
  threaded_ = thread_level >= MPI_THREAD_SERIALIZED;
  if (threaded_) writer_.keep_windows();
  gethostname(h.hostname, sizeof h.hostname - 1);
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  WEFT_REAL(Get_library_version)(version, &length);
  copy_text(h.mpi_version, sizeof h.mpi_version, version);
  program_name(h.program, sizeof h.program);

  world_size_ = size;
  WEFT_REAL(Comm_group)(WEFT_COMM_WORLD, &world_group_);
  auto* world = static_cast<Comm*>(calloc(1, sizeof(Comm)));
  world->handle = WEFT_COMM_WORLD;
  world->size = size;
  world->rank = rank;
  world->world = static_cast<std::int32_t*>(malloc(sizeof(std::int32_t) * static_cast<std::size_t>(size)));
  for (int i = 0; i < size; ++i) world->world[i] = i;
  world->members = world->world;
  world->member_count = size;
  buckets_[bucket_of(world->handle, kBuckets)] = world;
  last_ = world;
  comm_count_ = 1;

  pthread_atfork(nullptr, nullptr, [] { recorder.abandon(); });
  __atomic_store_n(&h.magic, kSpoolMagic, __ATOMIC_RELEASE);
  on_ = true;
}

std::uint32_t Recorder::add_thread() {
  __atomic_fetch_add(&writer_.header().threads, 1, __ATOMIC_RELAXED);
  if (!threaded_) {
    writer_.keep_windows();
    threaded_ = true;  // a program that asked for less than it does: from here on it is guarded
  }
  watch_thread();
  const Lock lock;
  const std::uint32_t number = thread_numbers_.take();
  if (number == kNoThread) {
    writer_.header().out_of_space = kTooManyThreads;
    on_ = false;
  }
  return number;
}

void Recorder::end_thread(std::uint32_t number) {
  if (!on_) return;  // nor in a forked child, whose lock may be held for ever
  const Lock lock;
  thread_numbers_.give_back(number);
}

std::uint16_t Recorder::this_thread() { return static_cast<std::uint16_t>(thread_number); }

void Recorder::write_left() {
  if (SpoolRecord* r = writer_.reserve(0)) SpoolWriter::publish(r, kLeft, 0, 0, this_thread());
}

void Recorder::finish() {
  writer_.header().finalized = 1;
  on_ = false;
  finished_ = true;
}

Comm* Recorder::comm(MPI_Comm handle) {
  if (last_->handle == handle) return last_;
  for (Comm* c = buckets_[bucket_of(handle, kBuckets)]; c != nullptr; c = c->next)
    if (c->handle == handle) {
      last_ = c;
      return c;
    }
  if (handle == WEFT_COMM_SELF) {
    CommKey key;
    key.mix(static_cast<std::uint64_t>(writer_.header().world_rank) | (std::uint64_t{1} << 40));
    return define(handle, key);
  }
  return nullptr;
}

CommKey Recorder::child_key(Comm& parent) {
  CommKey key = parent.key;
  key.mix(++parent.children);
  return key;
}

void Recorder::take_key_back(Comm& parent, std::uint32_t number, int rc) {
  if (parent.children == number && refused_argument(rc)) --parent.children;
}

void Recorder::world_ranks(MPI_Group group, int size, std::int32_t* out) {
  auto* from = static_cast<int*>(malloc(2 * sizeof(int) * static_cast<std::size_t>(size)));
  int* to = from + size;
  for (int i = 0; i < size; ++i) from[i] = i;
  if (size > 0) WEFT_REAL(Group_translate_ranks)(group, size, from, world_group_, to);
  for (int i = 0; i < size; ++i) out[i] = to[i];
  free(from);
}

Comm* Recorder::define(MPI_Comm handle, CommKey key, bool repeats) {
  int inter = 0;
  int size = 0;
  int rank = 0;
  WEFT_REAL(Comm_test_inter)(handle, &inter);
  WEFT_REAL(Comm_size)(handle, &size);
  WEFT_REAL(Comm_rank)(handle, &rank);
  int remote = 0;
  if (inter != 0) WEFT_REAL(Comm_remote_size)(handle, &remote);
  auto* members =
      static_cast<std::int32_t*>(malloc(sizeof(std::int32_t) * static_cast<std::size_t>(size + remote)));
  MPI_Group group{};
  WEFT_REAL(Comm_group)(handle, &group);
  world_ranks(group, size, members);
  WEFT_REAL(Group_free)(&group);
  if (inter != 0) {
    WEFT_REAL(Comm_remote_group)(handle, &group);
    world_ranks(group, remote, members + size);
    WEFT_REAL(Group_free)(&group);
  }
  for (int i = 0; i < size + remote; ++i)
    if (members[i] < 0) {  // a process of another world: no rank of this trace
      free(members);
      return nullptr;
    }

  auto* c = static_cast<Comm*>(calloc(1, sizeof(Comm)));
  c->handle = handle;
  c->rank = rank;
  c->inter = inter != 0;
  c->size = inter != 0 ? remote : size;
  c->world = inter != 0 ? members + size : members;
  if (inter != 0 &&
      members[0] > members[size]) {  // both sides must write the same list: the lower group first
    auto* both =
        static_cast<std::int32_t*>(malloc(sizeof(std::int32_t) * static_cast<std::size_t>(size + remote)));
    memcpy(both, members + size, sizeof(std::int32_t) * static_cast<std::size_t>(remote));
    memcpy(both + remote, members, sizeof(std::int32_t) * static_cast<std::size_t>(size));
    c->world = both;
    free(members);
    members = both;
  }
  c->members = members;
  c->member_count = size + remote;
  return enter_comm(c, key, repeats);
}

Comm* Recorder::define_copy(MPI_Comm handle, CommKey key, const Comm& of) {
  auto* c = static_cast<Comm*>(calloc(1, sizeof(Comm)));
  c->handle = handle;
  c->rank = of.rank;
  c->inter = of.inter;
  c->size = of.size;
  c->world = of.world;  // lists are never given back
  c->members = of.members;
  c->member_count = of.member_count;
  return enter_comm(c, key, false);
}

Comm* Recorder::enter_comm(Comm* c, CommKey key, bool repeats) {
  c->id = comm_count_++;
  for (int i = 0; i < c->member_count; ++i) key.mix(static_cast<std::uint64_t>(c->members[i]));
  if (repeats) {
    Repeated** const bucket = &repeated_[key.high % kBuckets];
    Repeated* seen = *bucket;
    while (seen != nullptr && seen->key != key.high) seen = seen->next;
    if (seen == nullptr) {
      seen = static_cast<Repeated*>(malloc(sizeof(Repeated)));
      *seen = {key.high, 0, *bucket};
      *bucket = seen;
    }
    key.mix(seen->times++);
  }
  c->key = key;
  const bool has_handle = c->handle != MPI_Comm{};
  if (has_handle) put_back(c, c->handle);

  const std::size_t words = 3 + static_cast<std::size_t>(c->member_count);
  if (SpoolRecord* r = writer_.reserve(words)) {
    r->comm = c->id;
    r->amount = c->member_count;
    std::int64_t* list = SpoolWriter::list(r);
    list[0] = static_cast<std::int64_t>(key.high);
    list[1] = static_cast<std::int64_t>(key.low);
    list[2] = !has_handle ? -++persistent_ : c->handle == WEFT_COMM_SELF ? 0 : ++created_;
    for (int i = 0; i < c->member_count; ++i) list[3 + i] = c->members[i];
    SpoolWriter::publish(r, kCommDefine, c->inter ? 1 : 0, words);
  } else {
    on_ = false;  // no record may name it
  }
  return c;
}

Comm* Recorder::forget(MPI_Comm handle) {
  for (Comm** at = &buckets_[bucket_of(handle, kBuckets)]; *at != nullptr; at = &(*at)->next)
    if ((*at)->handle == handle) {
      Comm* const c = *at;
      *at = c->next;
      c->handle = MPI_Comm{};  // last_ and other pointers to it must not match again
      return c;
    }
  return nullptr;
}

void Recorder::put_back(Comm* c, MPI_Comm handle) {
  const std::size_t bucket = bucket_of(handle, kBuckets);
  c->handle = handle;
  c->next = buckets_[bucket];
  buckets_[bucket] = c;
}

SpoolRecord* Recorder::begin(std::int64_t gap, const Fields& f, std::size_t list_words) {
  miss_count_ = 0;
  SpoolRecord* r = writer_.reserve(list_words);
  if (r == nullptr) {
    on_ = false;
    return nullptr;
  }
  r->gap_ns = gap + carried_;
  carried_ = 0;
  r->comm = f.comm;
  r->request = f.request;
  r->peer = f.peer;
  r->tag = f.tag;
  r->amount = f.amount;
  r->source = kNoMatch;
  return r;
}

void Recorder::idle_poll(std::int64_t gap) {
  if (gap < kSpinGap) return spin(gap);
  carried_ += gap;
  miss_count_ = 0;
}

void Recorder::miss(OpKind kind, std::int64_t gap, const Fields& f) {
  if (gap + carried_ < kSpinGap) {
    for (int i = 0; i < miss_count_; ++i) {
      SpoolRecord* r = misses_[i].record;
      if (misses_[i].kind == kind && r->comm == f.comm && r->peer == f.peer && r->tag == f.tag) {
        ++r->amount;
        return spin(gap);
      }
    }
  } else {
    miss_count_ = 0;
  }
  const int count = miss_count_;
  SpoolRecord* r = begin(gap, f, 0);
  if (r == nullptr) return;
  r->amount = 1;
  publish(r, kind, 0, 0);
  if (count < kMisses) {
    misses_[count] = {r, kind};
    miss_count_ = count + 1;
  }
}

SpoolRecord* Recorder::start_collective(std::uint32_t slot, std::int64_t gap) {
  Slot& s = requests[slot];
  if (s.comm->inter) {
    count(NotRecorded::intercomm_collective);
    carry(gap);
    return nullptr;
  }
  s.hidden = false;
  Prepared& p = *s.prepared;
  SpoolRecord* r = begin(gap, p.fields, p.words);
  if (r == nullptr) return nullptr;
  if (p.words > 0) memcpy(SpoolWriter::list(r), p.list(), p.words * sizeof(std::int64_t));
  publish(r, p.kind, 0, p.words);
  return r;
}

void TakenMessages::add(const Taken& t) {
  if (count_ == room_) {
    room_ = room_ == 0 ? 16 : 2 * room_;
    all_ = static_cast<Taken*>(realloc(all_, sizeof(Taken) * room_));
  }
  all_[count_++] = t;
}

std::uint32_t TakenMessages::remove(MPI_Message message) {
  for (std::size_t i = 0; i < count_; ++i)
    if (all_[i].message == message) {
      const std::uint32_t slot = all_[i].slot;
      all_[i] = all_[--count_];
      return slot;
    }
  return kNoSlot;
}

std::int64_t type_bytes(MPI_Datatype type) {
  if (type == WEFT_DATATYPE_NULL) return 0;
  MPI_Count size = 0;
  WEFT_REAL(Type_size_x)(type, &size);
  return size > 0 ? static_cast<std::int64_t>(size) : 0;
}

std::int64_t received_bytes(const MPI_Status& status) {
#ifdef OPEN_MPI
  return static_cast<std::int64_t>(status._ucount);
#else
  MPI_Count n = 0;
  WEFT_REAL(Get_elements_x)(&status, WEFT_BYTE, &n);
  return n > 0 ? static_cast<std::int64_t>(n) : 0;
#endif
}

bool cancelled(const MPI_Status& status) {
#ifdef OPEN_MPI
  return status._cancelled != 0;
#else
  int flag = 0;
  WEFT_REAL(Test_cancelled)(&status, &flag);
  return flag != 0;
#endif
}

}  // namespace weft::recorder
