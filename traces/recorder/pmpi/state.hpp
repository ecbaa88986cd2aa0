// What the recorder knows while the program runs: communicators, requests, the record being written.
//
// One Recorder per process (a preloaded library has no constructor to be passed through: this is the one
// place of Weft with a global). Everything below runs in the recorded process: no exception, no allocation on
// the usual path, no message, and MPI only through its PMPI_ entry points.
//
// Threads: with MPI_THREAD_SERIALIZED or MULTIPLE, or once a second thread has called, a spin lock guards
// tables and spool; it is never held across MPI.
#pragma once

#include "traces/op.hpp"
#include "traces/recorded_time.hpp"
#include "traces/recorder/pmpi/clock.hpp"
#include "traces/recorder/pmpi/real_mpi.hpp"
#include "traces/recorder/pmpi/threads.hpp"
#include "traces/recorder/pmpi/writer.hpp"

namespace weft::recorder {

using traces::OpKind;

// A communicator as long as its handle lives. Never freed: a late wait may still need its rank table.
struct Comm {
  MPI_Comm handle;
  std::uint32_t id;
  int size;             // ranks that `world` translates: the remote group of an inter-communicator
  int rank;             // own rank
  std::int32_t* world;  // communicator rank -> world rank
  bool inter;
  std::int32_t*
      members;  // what the spool has of it: world ranks, of an inter-communicator the lower group first
  int member_count;
  CommKey key;
  std::uint32_t children;  // calls so far that made one of its members, the same on all
  Comm* next;              // of the same hash bucket
};

// Arguments of one record; what is not set is "none".
struct Fields {
  std::uint32_t comm = 0;
  std::int32_t peer = traces::kAnySource;
  std::int32_t tag = traces::kAnyTag;
  std::int64_t amount = 0;
  std::uint32_t request = kNoSlot;
};

// A persistent collective: each start writes this record, that of the non-blocking call; its making and its end leave
// none. `words` of list behind it; one piece of malloc.
struct Prepared {
  OpKind kind;
  Fields fields;
  std::size_t words;
  [[nodiscard]] std::int64_t* list() { return reinterpret_cast<std::int64_t*>(this + 1); }
};

// One request of the program. `slot` = its index.
struct Slot {
  MPI_Request handle;
  const void*
      address;  // of the program's variable: tells Open MPI's shared "already complete" requests apart
  const Comm* comm;
  bool used;
  bool bound;  // in its hash buckets
  bool persistent;
  bool active;
  bool receive;
  bool from_nobody;  // a receive from MPI_PROC_NULL
  bool
      hidden;  // its completion is not written: not in the trace (MPI_Buffer_iflush), or told (MPI_Request_get_status)
  Prepared* prepared;                    // of a persistent collective, which is hidden while it is not active
  std::uint32_t claimed;                 // number of the call that last looked it up
  std::uint16_t claimed_by;              // and its thread
  std::uint32_t next, previous;          // in the bucket of its handle; kNoSlot = none
  std::uint32_t own_next, own_previous;  // in the bucket of its handle and address, if it has an address
};

// A call that looks requests up: until it is over those are no other thread's, whatever handles they share with others.
struct Claim {
  std::uint32_t call;
  std::uint16_t thread;
};

class Requests {
 public:
  // A slot for a request that MPI is about to make, and its handle once it has.
  std::uint32_t reserve();
  void bind(std::uint32_t slot, MPI_Request handle, const void* address);
  // Its handle is another one now: MPI_Start may give the program a new request.
  void rebind(std::uint32_t slot, MPI_Request handle, const void* address);
  // A call of `thread` begins; the one before is over, even if it was left by a jump. Call locked.
  Claim claim(std::uint16_t thread) {
    if (++calls_ == 0) ++calls_;  // 0: none
    __atomic_store_n(&in_progress_[thread], calls_, __ATOMIC_RELAXED);
    return {calls_, thread};
  }
  void unclaim(std::uint16_t thread) { __atomic_store_n(&in_progress_[thread], 0, __ATOMIC_RELEASE); }
  // The slot of a handle, each one once per call; kNoSlot if unknown.
  std::uint32_t find(MPI_Request handle, const void* address, const Claim& claim);
  // The same of a call that ends no request: of one that another thread waits for, too.
  std::uint32_t find_any(MPI_Request handle, const void* address, const Claim& claim);
  void remove(std::uint32_t slot);
  Slot& operator[](std::uint32_t slot) { return slots_[slot]; }

 private:
  void grow();
  void link(std::uint32_t slot);
  void unlink(std::uint32_t slot);
  void link_own(std::uint32_t slot);
  void unlink_own(std::uint32_t slot);
  [[nodiscard]] std::uint32_t find_own(MPI_Request handle, const void* address) const;
  [[nodiscard]] bool is_others(const Slot& s, const Claim& claim) const {
    return s.claimed != 0 && s.claimed != claim.call &&
           __atomic_load_n(&in_progress_[s.claimed_by], __ATOMIC_ACQUIRE) == s.claimed;
  }
  [[nodiscard]] std::uint32_t bucket_of(MPI_Request h) const {
    return static_cast<std::uint32_t>(CommKey::scramble(bits_of(h))) & (capacity_ - 1);
  }
  [[nodiscard]] std::uint32_t bucket_of(MPI_Request h, const void* address) const {
    const std::uint64_t both = bits_of(h) ^ CommKey::scramble(reinterpret_cast<std::uintptr_t>(address));
    return static_cast<std::uint32_t>(CommKey::scramble(both)) & (capacity_ - 1);
  }
  Slot* slots_ = nullptr;
  std::uint32_t capacity_ = 0;  // also the number of buckets: a power of two
  std::uint32_t* head_ = nullptr;
  std::uint32_t* tail_ = nullptr;
  std::uint32_t* own_ = nullptr;   // first slot of each handle and address
  std::uint32_t* free_ = nullptr;  // stack; the smallest number on top at first
  std::uint32_t free_count_ = 0;
  std::uint32_t calls_ = 0;
  // Calls by thread. Not in the object, which is not zero at first: pages that nobody touches, and no bytes of the file.
  static inline std::uint32_t in_progress_[std::size_t{UINT16_MAX} + 1];
};

// Messages taken out of the queue by Mprobe or Improbe, until they are received: nobody else can receive them, so the
// spool has their irecv already, under `slot`.
struct Taken {
  MPI_Message message;
  std::uint32_t slot;
};
class TakenMessages {
 public:
  void add(const Taken& t);
  std::uint32_t remove(MPI_Message message);  // its slot; kNoSlot: unknown

 private:
  Taken* all_ = nullptr;
  std::size_t count_ = 0;
  std::size_t room_ = 0;
};

class Recorder {
 public:
  void start(int thread_level);                // after MPI_Init
  void finish();                               // in MPI_Finalize
  void abandon() { on_ = finished_ = false; }  // in a forked child
  [[nodiscard]] bool on() const { return on_; }
  [[nodiscard]] bool cpu_clock() const { return cpu_; }

  void count(NotRecorded what) {
    if (on_ || finished_)  // MPI_Finalize may call back
      __atomic_fetch_add(&writer_.header().not_recorded[static_cast<std::size_t>(what)], 1, __ATOMIC_RELAXED);
  }
  // A call of the program begins, after `outside`; the time to record for it. Of several threads that compute at
  // the same time, one counts. Sets the number of a new thread, or ends the recording: there is none left.
  std::int64_t enter(const Stretch& outside, std::uint32_t& thread) {
    if (thread == kNoThread) thread = add_thread();
    std::int64_t gap = cpu_ ? outside.cpu : outside.wall;
    lock();
    SpoolHeader& h = writer_.header();
    h.cpu_ns += outside.cpu;
    h.wall_ns += outside.wall;
    if (threaded_) {
      const std::int64_t since = outside.end > last_enter_ ? outside.end - last_enter_ : 0;
      if (gap > since) gap = since;
      if (outside.end > last_enter_) last_enter_ = outside.end;
    }
    unlock();
    return gap;
  }
  [[nodiscard]] bool threaded() const { return threaded_; }
  void end_thread(std::uint32_t number);  // which is in no call
  void count_concurrent() { __atomic_fetch_add(&writer_.header().concurrent, 1, __ATOMIC_RELAXED); }
  void lock() {
    if (!threaded_) return;
    while (__atomic_test_and_set(&locked_, __ATOMIC_ACQUIRE)) {
    }
  }
  void unlock() {
    if (threaded_) __atomic_clear(&locked_, __ATOMIC_RELEASE);
  }

  // Communicators. nullptr = unknown.
  Comm* comm(MPI_Comm handle);
  // Enters a new communicator into the tables and the spool; call locked.
  // `repeats`: the same key can come again (calls that only the new members make); count it.
  Comm* define(MPI_Comm handle, CommKey key, bool repeats = false);
  // The same for a communicator that may not be asked yet (MPI_Comm_idup: until its request is complete, MPI 3.1, 6.4.2):
  // it has the members of `of`. Without a handle: of a persistent collective.
  Comm* define_copy(MPI_Comm handle, CommKey key, const Comm& of);
  // Takes it out of the tables; nullptr = unknown. What could not be freed after all is put back.
  Comm* forget(MPI_Comm handle);
  void put_back(Comm* c, MPI_Comm handle);
  // Key of the next communicator that a collective call on `parent` makes, or that of the next persistent collective on it.
  static CommKey child_key(Comm& parent);
  // That call was the `number`th, and failed by `rc`. If this rank alone may have been refused it, it was none: the others may
  // be in no creation call at all.
  static void take_key_back(Comm& parent, std::uint32_t number, int rc);
  // The world ranks of a group, into `out` (size entries).
  void world_ranks(MPI_Group group, int size, std::int32_t* out);
  Requests requests;
  TakenMessages taken;

  // Records; call locked. `gap` is consumed by the first record of a call.
  SpoolRecord* begin(std::int64_t gap, const Fields& f, std::size_t list_words);
  void publish(SpoolRecord* r, OpKind kind, std::uint8_t flags, std::size_t list_words) {
    SpoolWriter::publish(r, static_cast<std::uint8_t>(static_cast<int>(kind) + 1), flags, list_words,
                         this_thread());
  }
  // A persistent collective starts; its record, if it has one.
  SpoolRecord* start_collective(std::uint32_t slot, std::int64_t gap);
  // The blocking call whose record was published with kOpen returned. Call locked, together with freeing its
  // requests: their slots may be another thread's right after.
  void leave(SpoolRecord* r, std::uint8_t flags) {
    SpoolWriter::set_flags(r, flags);
    if (threaded_) write_left();
  }
  // A poll that said no: Iprobe and Improbe join the miss before them when nothing but spinning lies between.
  void miss(OpKind kind, std::int64_t gap, const Fields& f);
  void idle_poll(std::int64_t gap);  // a Test that said no, or any poll that has no place in a trace
  // A call that leaves no record: the time before it belongs to the next one that does.
  void carry(std::int64_t gap) {
    carried_ += gap;
    miss_count_ = 0;
  }
  Claim claim() { return requests.claim(this_thread()); }
  void over() { requests.unclaim(this_thread()); }  // the call of this thread

  std::uint32_t inside = 0;  // threads inside MPI; counted while threaded()

 private:
  Comm* enter_comm(Comm* c, CommKey key, bool repeats);
  std::uint32_t add_thread();
  ThreadNumbers thread_numbers_;
  static std::uint16_t this_thread();
  void write_left();
  // A stretch that is left out. Shorter ones are what a poll in a loop takes, which no program works in.
  void spin(std::int64_t gap) {
    if (gap * 1000 >= traces::kMinComputePs) writer_.header().spun_ns += gap;
  }
  struct Miss {
    SpoolRecord* record;
    OpKind kind;
  };
  static constexpr int kMisses = traces::kSpinPlaces;
  // Polls closer than this are one wait in a loop; farther apart, the program worked in between.
  static constexpr std::int64_t kSpinGap = traces::kSpinGapNs;

  bool on_ = false;
  bool finished_ = false;
  bool cpu_ = true;
  bool threaded_ = false;
  char locked_ = 0;
  std::int64_t last_enter_ = 0;  // when a thread last called, CLOCK_MONOTONIC; kept while threaded_
  std::int64_t carried_ = 0;     // gap of calls that left no record
  Miss misses_[kMisses] = {};
  int miss_count_ = 0;
  SpoolWriter writer_;
  static constexpr std::uint32_t kBuckets = 256;
  Comm* buckets_[kBuckets] = {};
  Comm* last_ = nullptr;
  std::uint32_t comm_count_ = 0;
  std::int64_t created_ = 0;     // communicators of the program
  std::int64_t persistent_ = 0;  // those of persistent collectives
  // Keys seen with `repeats`, each once with how often.
  struct Repeated {
    std::uint64_t key, times;
    Repeated* next;
  };
  Repeated* repeated_[kBuckets] = {};
  MPI_Group world_group_{};
  int world_size_ = 0;
};

extern Recorder recorder;

// One wrapped call: stamps the clock at both ends. Calls that MPI or another tool makes inside a wrapped call
// are not the program's and are not active. Nor are calls of a callback: they are counted, those that communicate apart.
//
// An error handler of the program may leave a call by an exception or a jump: no destructor runs here then. The next call
// of the thread notices it.
class Call {
 public:
  // What the function does: sends, receives or waits; or makes and frees what others send by.
  enum class Does : std::uint8_t { kCommunicate, kManage };
  // To be made by the function that the program calls, or by one that is always inlined there. `stack`: where the stack of the
  // caller ends; `from`: where it goes on when the call is over.
  explicit Call(Does what = Does::kCommunicate, const void* stack = __builtin_dwarf_cfa(),
                const void* from = __builtin_return_address(0));
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  explicit operator bool() const { return active_; }
  [[nodiscard]] bool outermost() const { return outermost_; }
  [[nodiscard]] std::int64_t gap() const { return gap_; }

 private:
  bool active_ = false;
  bool outermost_ = false;
  std::int64_t gap_ = 0;
};

// What became of a call that returned `rc`. kNothing: an error, and nothing was sent or received (a rank that
// does not exist, a wrong datatype). kMoved: an error, but a message was taken (it was longer than the
// receive), or some of several requests completed.
enum class Outcome : std::uint8_t { kDone, kMoved, kNothing };
[[nodiscard]] Outcome outcome_of(int rc);
// The call of this thread is about something that was not seen made. Counted when the call is over, unless it failed: then
// there was nothing to see (MPI_COMM_NULL, a request that is none).
void count_unseen(NotRecorded what);
void nothing_unseen();

// The same as outcome_of, counted in the header.
inline Outcome counted_outcome(int rc) {
  const Outcome o = outcome_of(rc);
  if (o == Outcome::kNothing) nothing_unseen();
  if (o != Outcome::kDone)
    recorder.count(o == Outcome::kMoved ? NotRecorded::truncated : NotRecorded::failed);
  return o;
}

// Starts the calling thread's clock anew (after MPI_Init).
void restart_clock();

class Lock {
 public:
  Lock() { recorder.lock(); }
  ~Lock() { recorder.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

[[nodiscard]] inline std::int32_t world_peer(const Comm& c, int rank) {
  if (rank >= 0 && rank < c.size) return c.world[rank];
  return rank == MPI_ANY_SOURCE ? traces::kAnySource : traces::kProcNull;
}
[[nodiscard]] inline std::int32_t spool_tag(int tag) { return tag == MPI_ANY_TAG ? traces::kAnyTag : tag; }
[[nodiscard]] std::int64_t type_bytes(MPI_Datatype type);
// More bytes than any message has: what a receive of "as much as there may be" can ask for counts as so many.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;
[[nodiscard]] inline std::int64_t bytes_times(std::int64_t count, std::int64_t unit) {
  std::int64_t bytes = 0;
  return __builtin_mul_overflow(count, unit, &bytes) || bytes > kMostBytes ? kMostBytes : bytes;
}
[[nodiscard]] inline std::int64_t bytes_plus(std::int64_t a, std::int64_t b) {  // of what bytes_times says
  std::int64_t bytes = 0;
  return __builtin_add_overflow(a, b, &bytes) || bytes > kMostBytes ? kMostBytes : bytes;
}
[[nodiscard]] inline std::int64_t bytes_of(std::int64_t count, MPI_Datatype type) {
  return bytes_times(count, type_bytes(type));
}
[[nodiscard]] std::int64_t received_bytes(const MPI_Status& status);
[[nodiscard]] bool cancelled(const MPI_Status& status);

}  // namespace weft::recorder
