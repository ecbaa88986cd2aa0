// Requests: the requests of one rank, by slot, and what MPI lets a program do with each (MPI-3.1, section 3.7).
//
//   idle --begin--> active --complete--> complete --collect--> idle        plain
//   inactive --restart--> active --complete--> complete --collect--> inactive   persistent, made by init()
//
// Invariants: a request is made only in a slot that is idle, or complete and never asked for and of no persistent one, which stays
// until it is freed; a persistent one is started only when it is inactive; what `await()` counted is told by complete() exactly
// once each; release() forgets a slot whatever it is.
// It knows no message and no time: whoever starts a request posts its message and calls complete() at its end. What
// somebody wants to keep with a request is `Note`, which is theirs from begin() on.
// Complexity: O(1) a slot. A program uses few slots and reuses them; rows are made when first used.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/op.hpp"
#include "traces/request_book.hpp"

namespace weft::replay {

struct NoNote {};

template <class Note>
class RequestRows {
 public:
  // A request that is no persistent one starts; `synchronous`: of a send whose end says that its receive was there. False: it is in
  // use.
  [[nodiscard]] bool begin(std::uint32_t slot, bool receive, bool synchronous = false) {
    if (slot >= count_) make(slot);
    Row& row = rows_[slot];
    if (in_use(row)) return false;
    row.persistent = false;
    row.receive = receive;
    row.launched = false;
    row.synchronous = synchronous;
    row.start();
    return true;
  }
  // It was begun for a launched kernel, not for a message. REQUIRES: the slot was made.
  void mark_launched(std::uint32_t slot) { rows_[slot].launched = true; }
  [[nodiscard]] bool is_launched(std::int64_t slot) const {
    return static_cast<std::uint64_t>(slot) < count_ && rows_[slot].launched &&
           rows_[slot].state != State::kIdle;
  }
  // A persistent one is made; restart() posts `op`, the *_init operation as its non-blocking form. False: the slot is in use.
  [[nodiscard]] bool init(std::uint32_t slot, const traces::Op& op) {
    if (slot >= count_) make(slot);
    Row& row = rows_[slot];
    if (in_use(row)) return false;
    if (slot >= ops_.size()) ops_.resize(slot + std::size_t{1});
    row = Row{};
    row.state = State::kInactive;
    row.persistent = true;
    row.receive = op.kind == traces::OpKind::recv_init;
    row.synchronous = op.kind == traces::OpKind::ssend_init;
    ops_[slot] = op;
    ops_[slot].kind = traces::started_form(op.kind);
    return true;
  }
  // May be started: an inactive persistent one. Slots as a trace names them.
  [[nodiscard]] bool is_inactive(std::int64_t slot) const {
    return static_cast<std::uint64_t>(slot) < count_ && rows_[slot].state == State::kInactive;
  }
  // `start` starts it again; returns what is to be posted. REQUIRES: is_inactive().
  [[nodiscard]] traces::Op restart(std::uint32_t slot, const traces::Op& start) {
    rows_[slot].start();
    return traces::started(ops_[slot], start);
  }
  // REQUIRES of these: the slot was made.
  [[nodiscard]] bool is_receive(std::uint32_t slot) const { return rows_[slot].receive; }
  [[nodiscard]] bool is_synchronous(std::uint32_t slot) const { return rows_[slot].synchronous; }
  [[nodiscard]] const traces::Op& operation(std::uint32_t slot) const { return ops_[slot]; }
  [[nodiscard]] Note& note(std::int64_t slot) { return rows_[slot].note; }

  // Where its receive waits, or which run its collective is, a number of whoever posted it, until it is complete; 0 if nobody said.
  // REQUIRES: active.
  void stands_in(std::uint32_t slot, std::uint32_t row) { rows_[slot].bytes = row; }
  [[nodiscard]] std::uint32_t row(std::uint32_t slot) const {
    return static_cast<std::uint32_t>(rows_[slot].bytes);
  }
  // What comes of a request that no message ends: one to or from MPI_PROC_NULL, a receive that was cancelled.
  static constexpr std::int64_t kNoMessage = -1;
  // Its message is over; `bytes` came. True: somebody awaits it. REQUIRES: active.
  bool complete(std::uint32_t slot, std::int64_t bytes) {
    Row& row = rows_[slot];
    row.state = State::kComplete;
    row.bytes = bytes;
    const bool awaited = row.awaited;
    row.awaited = false;
    return awaited;
  }

  // A completion operation names these slots: adds up in `pending` those that are active, each once. Returns the
  // first that was never started, or null.
  template <class Slots>
  [[nodiscard]] const std::int64_t* await(const Slots& slots, std::uint32_t& pending) {
    pending = 0;
    Row* const rows = rows_.data();
    const std::uint64_t count = count_;
    for (const std::int64_t& v : slots) {
      if (static_cast<std::uint64_t>(v) >= count || rows[v].state == State::kIdle) return &v;
      Row& row = rows[v];
      if (row.state != State::kActive || row.awaited) continue;
      row.awaited = true;
      ++pending;
    }
    return nullptr;
  }
  [[nodiscard]] bool is_awaited(std::uint32_t slot) const { return slot < count_ && rows_[slot].awaited; }
  // visit(note) for each of them that is complete. REQUIRES: await() found none that was never started.
  template <class Slots, class F>
  void visit_complete(const Slots& slots, F visit) const {
    const Row* const rows = rows_.data();
    for (const std::int64_t v : slots)
      if (rows[v].state == State::kComplete) visit(rows[v].note);
  }
  // ... and they are over: each that is complete is idle or inactive from here on. `over(note, receive, bytes)` for each,
  // which starts none.
  template <class Slots, class F>
  void collect(const Slots& slots, F over) {
    Row* const rows = rows_.data();
    for (const std::int64_t v : slots) {
      Row& row = rows[v];
      if (row.state != State::kComplete) continue;
      over(row.note, row.receive, row.bytes);
      row.state = row.persistent ? State::kInactive : State::kIdle;
    }
  }

  [[nodiscard]] bool is_active(std::uint32_t slot) const {
    return slot < count_ && rows_[slot].state == State::kActive;
  }
  [[nodiscard]] bool is_complete(std::int64_t slot) const {
    return static_cast<std::uint64_t>(slot) < count_ && rows_[slot].state == State::kComplete;
  }
  [[nodiscard]] bool is_idle(std::int64_t slot) const {
    return static_cast<std::uint64_t>(slot) >= count_ || rows_[slot].state == State::kIdle;
  }
  // The slot is idle at once. What is under way for it must be told that nobody asks any more.
  void release(std::uint32_t slot) {
    if (slot < count_) rows_[slot] = Row{};
  }

  // A hint to the processor: some slot is asked for soon.
  void prefetch() const { __builtin_prefetch(rows_.data()); }

 private:
  // Rows up to that of `slot`. Apart, so that begin() is short enough to stand where it is called.
  [[gnu::noinline]] void make(std::uint32_t slot) {
    rows_.resize(slot + std::size_t{1});
    count_ = slot + 1;
  }
  enum class State : std::uint8_t { kIdle, kInactive, kActive, kComplete };
  struct Row {
    State state = State::kIdle;
    bool awaited = false;
    bool persistent = false;
    bool receive = false;
    bool launched = false;
    bool synchronous = false;
    std::int64_t bytes =
        0;  // of a completed receive: its overhead is paid when it is waited for; of an active one: row()
    [[no_unique_address]] Note note;
    void start() {
      state = State::kActive;
      awaited = false;
      bytes = 0;
    }
  };
  // No other request can be made there.
  static bool in_use(const Row& row) {
    return row.state != State::kIdle && (row.state != State::kComplete || row.persistent);
  }
  std::uint32_t count_ = 0;  // of rows_
  std::vector<Row> rows_;
  std::vector<traces::Op> ops_;  // of persistent ones, by slot: what restart() posts
};
using Requests = RequestRows<NoNote>;

}  // namespace weft::replay
