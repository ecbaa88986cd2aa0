// Programs that say the same in other calls of MPI: a blocking call as a request and its wait, a persistent request, a sendrecv as its
// halves, calls to and from no process, cancels and frees of what nobody needs, completions of some of many requests. Each form takes
// the same time and makes the same messages, in every protocol, also to oneself and of no bytes, on clocks that tick in whole
// microseconds. WEFT_SEED=N runs one seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "core/rng.hpp"
#include "replay/engine.hpp"
#include "tests/replay/microseconds.hpp"
#include "tests/replay/ties/tie_ways.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/seed.hpp"

namespace weft::replay {
namespace {

using testing::MemoryTrace;
using traces::kAnySource;
using traces::kAnyTag;
using traces::kProcNull;
using traces::Op;
using traces::OpKind;

// `cancels`: not where receives from any source choose among what comes at one instant, since a cancel waits for all of that
// (docs/model.md, "Matching"), and what its rank sends then comes after the choice.
// Writes one program in plain calls, or in others that mean the same, as `forms` draws them.
class Writer {
 public:
  Writer(std::uint32_t ranks, bool plain, bool cancels, std::uint64_t seed)
      : trace_(ranks), plain_(plain), cancels_(cancels), forms_(seed), slots_(ranks, 0) {}
  [[nodiscard]] MemoryTrace& trace() { return trace_; }

  void work(std::uint32_t r, std::int64_t n) {
    nothing(r);
    trace_.compute(r, us(n));
  }
  void send(std::uint32_t r, std::int32_t to, std::int32_t tag, std::int64_t bytes, OpKind kind) {
    nothing(r);
    const bool sync = kind == OpKind::ssend;
    switch (form(4)) {
      case 0:
        return trace_.p2p(r, kind, to, tag, bytes);
      case 1:
        return wait(r, request(r, sync ? OpKind::issend : OpKind::isend, to, tag, bytes));
      case 2:
        return wait(r, persistent(r, sync ? OpKind::ssend_init : OpKind::send_init, to, tag, bytes));
      default:
        if (sync) return trace_.p2p(r, kind, to, tag, bytes);
        return both(r, to, tag, bytes, kProcNull, 0, 0);
    }
  }
  void recv(std::uint32_t r, std::int32_t from, std::int32_t tag, std::int64_t bytes) {
    nothing(r);
    bytes = room(bytes);
    switch (form(4)) {
      case 0:
        return trace_.p2p(r, OpKind::recv, from, tag, bytes);
      case 1:
        return wait(r, request(r, OpKind::irecv, from, tag, bytes));
      case 2:
        return wait(r, persistent(r, OpKind::recv_init, from, tag, bytes));
      default:
        return both(r, kProcNull, 0, 0, from, tag, bytes);
    }
  }
  void sendrecv(std::uint32_t r, std::int32_t to, std::int64_t bytes, std::int32_t from, std::int32_t tag) {
    nothing(r);
    if (form(2) == 0) return both(r, to, tag, bytes, from, tag, 6000);
    const std::int64_t receive = request(r, OpKind::irecv, from, tag, room(6000));
    const std::int64_t send = request(r, OpKind::isend, to, tag, bytes);
    completes(r, {send, receive});
  }
  // Returns the request.
  std::int64_t isend(std::uint32_t r, std::int32_t to, std::int32_t tag, std::int64_t bytes) {
    nothing(r);
    return form(2) == 0 ? request(r, OpKind::isend, to, tag, bytes)
                        : persistent(r, OpKind::send_init, to, tag, bytes);
  }
  std::int64_t irecv(std::uint32_t r, std::int32_t from, std::int32_t tag, std::int64_t bytes) {
    nothing(r);
    return form(2) == 0 ? request(r, OpKind::irecv, from, tag, room(bytes))
                        : persistent(r, OpKind::recv_init, from, tag, room(bytes));
  }
  // A send that nobody waits for.
  void lost(std::uint32_t r, std::int32_t to, std::int32_t tag, std::int64_t bytes) {
    const std::int64_t s = isend(r, to, tag, bytes);
    Op op{.kind = OpKind::request_free};
    op.request = static_cast<std::uint32_t>(s);
    trace_.add(r, op);
  }
  void completes(std::uint32_t r, std::vector<std::int64_t> slots) {
    nothing(r);
    if (slots.empty()) return;
    Op op;
    switch (form(3)) {
      case 0:
        op.kind = OpKind::waitall;
        break;
      case 1:
        op.kind = OpKind::testall;
        break;
      default: {  // of some of those asked for, more than once, requests that are not active among them
        op.kind = OpKind::waitsome;
        const std::vector<std::int64_t> completed = slots;
        slots.push_back(idle(r));
        const auto n = static_cast<std::int64_t>(slots.size());
        slots.insert(slots.begin(), n);
        slots.insert(slots.end(), completed.begin(), completed.end());
      }
    }
    trace_.add(r, op, slots);
  }

 private:
  std::uint64_t form(std::uint64_t n) { return plain_ ? 0 : forms_.below(n); }
  // As much as the message has, or less: it is told that it was truncated, and takes no less time.
  std::int64_t room(std::int64_t bytes) { return form(3) == 1 ? bytes / 8 : bytes; }
  std::int64_t fresh(std::uint32_t r) { return slots_[r]++; }
  std::int64_t request(std::uint32_t r, OpKind kind, std::int32_t peer, std::int32_t tag,
                       std::int64_t bytes) {
    const std::int64_t s = fresh(r);
    trace_.p2p(r, kind, peer, tag, bytes, CommId(0), static_cast<std::uint32_t>(s));
    return s;
  }
  void wait(std::uint32_t r, std::int64_t s) {
    Op op;
    switch (form(3)) {
      case 0:
        return trace_.wait(r, static_cast<std::uint32_t>(s));
      case 1:
        op.kind = OpKind::test;
        op.request = static_cast<std::uint32_t>(s);
        return trace_.add(r, op);
      default:
        op.kind = OpKind::waitany;
        return trace_.add(r, op, {2, s, idle(r), s});
    }
  }
  // Made, started, cancelled and waited for before it serves.
  std::int64_t persistent(std::uint32_t r, OpKind kind, std::int32_t peer, std::int32_t tag,
                          std::int64_t bytes) {
    const std::int64_t s = request(r, kind, peer, tag, bytes);
    Op op;
    op.request = static_cast<std::uint32_t>(s);
    op.kind = OpKind::start;
    if (forms_.below(2) == 0) {
      trace_.add(r, op);
    } else {
      op = {};
      op.kind = OpKind::startall;
      trace_.add(r, op, {s});
    }
    return s;
  }
  // A persistent request that was never started.
  std::int64_t idle(std::uint32_t r) { return request(r, OpKind::recv_init, 0, 77, 8); }
  void both(std::uint32_t r, std::int32_t to, std::int32_t tag, std::int64_t bytes, std::int32_t from,
            std::int32_t with, std::int64_t room) {
    trace_.p2p(r, OpKind::sendrecv, to, tag, bytes);
    Op half{.kind = OpKind::recv, .flags = traces::kPairedRecv};
    half.peer = from;
    half.tag = with;
    half.amount = room;
    trace_.add(r, half);
  }
  // What takes no time and makes no message.
  void nothing(std::uint32_t r) {
    Op op;
    const std::uint64_t which = form(8);
    if ((which == 4 || which == 5) && !cancels_) return;
    switch (which) {
      case 1:
        return trace_.p2p(r, OpKind::send, kProcNull, 1, 1000);
      case 2:
        return wait(r, request(r, OpKind::irecv, kProcNull, kAnyTag, 1000));
      case 3:
        op.kind = form(2) == 0 ? OpKind::probe : OpKind::mprobe;
        op.peer = kProcNull;
        op.tag = 1;
        return trace_.add(r, op);
      case 4: {  // no such message
        const std::int64_t s = request(r, OpKind::irecv, form(2) == 0 ? kAnySource : 0, 78, 1000);
        op.kind = OpKind::cancel;
        op.request = static_cast<std::uint32_t>(s);
        trace_.add(r, op);
        return trace_.wait(r, static_cast<std::uint32_t>(s));
      }
      case 5: {  // the same of a persistent one, twice
        const std::int64_t s = request(r, OpKind::recv_init, kAnySource, 79, 1000);
        for (int i = 0; i < 2; ++i)
          for (const OpKind kind : {OpKind::start, OpKind::cancel, OpKind::wait}) {
            op = {};
            op.kind = kind;
            op.request = static_cast<std::uint32_t>(s);
            trace_.add(r, op);
          }
        op = {};
        op.kind = OpKind::request_free;
        op.request = static_cast<std::uint32_t>(s);
        return trace_.add(r, op);
      }
      case 6:
        return both(r, kProcNull, 1, 1000, kProcNull, 1, 1000);
      default:
        return;
    }
  }

  MemoryTrace trace_;
  bool plain_, cancels_;
  Rng forms_;
  std::vector<std::int64_t> slots_;
};

// The program of that seed; each step could happen before the next one.
void write(Rng& rng, std::uint32_t ranks, bool any_source, Writer& w) {
  const auto any = [&] { return static_cast<std::uint32_t>(rng.below(ranks)); };
  const auto bytes = [&] {
    return std::array<std::int64_t, 7>{0, 0, 1000, 1000, 2000, 3000, 6000}[rng.below(7)];
  };
  std::vector<std::vector<std::int64_t>> open(ranks);
  for (std::uint64_t steps = 4 + rng.below(16); steps > 0; --steps) {
    const std::uint32_t a = any(), b = any();
    const auto from = static_cast<std::int32_t>(a), to = static_cast<std::int32_t>(b);
    w.work(a, static_cast<std::int64_t>(rng.below(4)));
    const auto tag = static_cast<std::int32_t>(rng.below(2));
    const std::int32_t source = any_source && rng.below(3) == 0 ? kAnySource : from;
    switch (rng.below(6)) {
      case 0:
      case 1:
        if (a == b) {  // to oneself: posted first
          const std::int64_t n = bytes(), s = w.irecv(a, source, 10 + tag, 6000);
          w.send(a, to, 10 + tag, n, rng.below(4) == 0 ? OpKind::ssend : OpKind::send);
          w.completes(a, {s});
        } else {
          w.send(a, to, tag, bytes(), rng.below(4) == 0 ? OpKind::ssend : OpKind::send);
          w.recv(b, source, tag, 6000);
        }
        break;
      case 2: {
        const std::int64_t n = bytes(), m = bytes();
        w.sendrecv(a, to, n, to, 2);
        if (a != b) w.sendrecv(b, from, m, from, 2);
        break;
      }
      case 3:
        open[a].push_back(w.isend(a, to, tag, bytes()));
        open[b].push_back(w.irecv(b, source, tag, 6000));
        break;
      case 4:
        w.completes(a, std::exchange(open[a], {}));
        break;
      default:
        w.lost(a, to, 3, bytes());
        open[b].push_back(w.irecv(b, from, 3, 6000));
    }
  }
  for (std::uint32_t r = 0; r < ranks; ++r) {
    w.completes(r, std::exchange(open[r], {}));
    w.work(r, 1);
  }
}

TEST(EquivalentForms, TakeTheSameTime) {
  std::uint64_t finished = 0;
  for (const std::uint64_t seed : support::seeds_to(support::number_in("WEFT_SEEDS").value_or(300))) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    const auto ranks = static_cast<std::uint32_t>(2 + rng.below(4));
    Setting s = setting(rng, ranks);
    s.platform.mpi.test_cost = Duration(0);  // a wait has none
    const bool any_source = rng.below(2) == 0;
    ReplayResult first;
    for (std::uint64_t form = 0; form < 4; ++form) {
      SCOPED_TRACE(form);
      Writer w(ranks, form == 0, !any_source, seed * 16 + form);
      Rng same = rng;
      write(same, ranks, any_source, w);
      const ReplayResult r = expect_alike(w.trace(), s);
      if (form == 0) first = r;
      EXPECT_EQ(r.finished, first.finished) << (r.finished ? "" : r.deadlock.summary());
      EXPECT_EQ(r.fingerprint, first.fingerprint);
      for (std::uint32_t k = 0; k < ranks; ++k) EXPECT_EQ(r.ranks[k].finish, first.ranks[k].finish) << k;
      if (::testing::Test::HasFailure()) return;
    }
    finished += first.finished ? 1 : 0;
  }
  if (!support::number_in("WEFT_SEED")) {
    EXPECT_GT(finished, 150u);
  }
}

}  // namespace
}  // namespace weft::replay
