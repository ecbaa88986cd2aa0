// The trace doctor's verdict on random programs, ending ones and deadlocking ones, against two witnesses that share
// nothing with it: an explorer of every interleaving of small programs (what can arrive when, MPI-3.1 section 3.5),
// and the replay, which follows one of them in time. WEFT_SEED=N runs one program.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/rng.hpp"
#include "replay/engine.hpp"
#include "tests/replay/deadlocks/interleavings.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/seed.hpp"
#include "traces/check/check.hpp"
#include "traces/recorded/blocks_ahead.hpp"

namespace weft::replay::doctor_verdict_test {
namespace {

using testing::ExploredProgram;
using testing::Explorer;
using testing::first_hosts;
using testing::kAny;
using testing::MemoryTrace;
using testing::Step;
using traces::Op;
using traces::OpKind;

// Events of all ranks in one order in which they can happen, then, in half of the programs, disturbed.
ExploredProgram random_program(std::uint64_t seed) {
  Rng rng(seed), sizes(~seed);
  const int n = static_cast<int>(2 + rng.below(3));
  ExploredProgram p;
  p.ranks.resize(static_cast<std::size_t>(n));
  p.comms.push_back({});
  for (int r = 0; r < n; ++r) p.comms[0].push_back(r);
  p.comms.push_back({n - 1, 0});
  std::vector<int> next_slot(static_cast<std::size_t>(n), 0);
  std::vector<std::vector<int>> open(static_cast<std::size_t>(n));  // slots to wait for
  const auto add = [&](int r, Step s) { p.ranks[static_cast<std::size_t>(r)].push_back(std::move(s)); };
  const auto slot_of = [&](int r) {
    const int s = next_slot[static_cast<std::size_t>(r)]++;
    open[static_cast<std::size_t>(r)].push_back(s);
    return s;
  };
  const auto flush = [&](int r) {
    auto& slots = open[static_cast<std::size_t>(r)];
    if (slots.empty()) return;
    Step w{.kind = Step::kWait};
    if (slots.size() > 1 && rng.below(3) == 0) {  // a waitany first
      Step any{.kind = Step::kWait};
      any.asked = slots;
      any.slots = {slots[rng.below(slots.size())]};
      w.slots = slots;
      std::erase(w.slots, any.slots[0]);
      add(r, any);
    } else {
      w.slots = slots;
    }
    add(r, w);
    slots.clear();
  };
  const int events = static_cast<int>(3 + rng.below(6));
  for (int e = 0; e < events; ++e) {
    const int comm = rng.below(4) == 0 ? 1 : 0;
    const auto& members = p.comms[static_cast<std::size_t>(comm)];
    if (rng.below(5) == 0) {
      // Rooted ones only of two members: of more, who waits for whom is the algorithm's matter.
      constexpr OpKind all[] = {OpKind::barrier, OpKind::allreduce, OpKind::ibarrier};
      constexpr OpKind rooted[] = {OpKind::bcast, OpKind::reduce};
      const bool root = members.size() == 2 && rng.below(2) == 0;
      const OpKind kind = root ? rooted[rng.below(2)] : all[rng.below(3)];
      const int who = root ? members[rng.below(members.size())] : kAny;
      for (const int r : members)
        add(r, {.kind = Step::kCollective,
                .op = kind,
                .peer = who,
                .comm = comm,
                .slot = kind == OpKind::ibarrier ? slot_of(r) : -1});
      continue;
    }
    const int src = members[rng.below(members.size())];
    int dst = members[rng.below(members.size())];
    if (dst == src)
      dst = members[(static_cast<std::size_t>(std::ranges::find(members, src) - members.begin()) + 1) %
                    members.size()];
    const bool own_tag = rng.below(3) == 0;
    const int tag = own_tag ? 100 + e : static_cast<int>(rng.below(2));
    const int bytes = sizes.below(3) == 0 ? 16 : 8;
    Step s{.kind = Step::kSend, .peer = dst, .tag = tag, .comm = comm, .bytes = bytes};
    Step r{.kind = Step::kRecv, .peer = src, .tag = tag, .comm = comm, .from = src, .bytes = bytes};
    if (rng.below(3) == 0) {
      r.peer = kAny;
      r.recorded = own_tag && rng.below(2) == 0;
      p.wildcards = true;
    }
    if (rng.below(8) == 0 && !r.recorded) r.tag = kAny;
    constexpr OpKind blocking[] = {OpKind::send, OpKind::send, OpKind::ssend, OpKind::bsend};
    constexpr OpKind nonblocking[] = {OpKind::isend, OpKind::issend};
    const bool receive_first = rng.below(2) == 0;
    const auto receive = [&] {
      switch (rng.below(4)) {
        case 0:
        case 1:
          r.slot = slot_of(dst);
          break;
        case 2:
          if (r.peer != kAny || rng.below(2) == 0) {
            Step probe = r;
            probe.kind = r.peer != kAny && r.tag != kAny && rng.below(2) == 0 ? Step::kPoll : Step::kProbe;
            if (!receive_first) add(dst, probe);
          }
          break;
        default:
          break;
      }
      if (r.slot < 0) flush(dst);
      add(dst, r);
    };
    const auto send = [&] {
      if (rng.below(2) == 0) {
        s.op = blocking[rng.below(4)];
      } else if (rng.below(4) == 0) {
        s.op = rng.below(2) == 0 ? OpKind::send_init : OpKind::ssend_init;
        s.slot = slot_of(src);
        Step init = s;
        init.kind = Step::kInit;
        add(src, init);
        s.kind = Step::kStart;
      } else {
        s.op = nonblocking[rng.below(2)];
        s.slot = slot_of(src);
      }
      add(src, s);
    };
    if (rng.below(8) == 0 && p.comms[0].size() >= 2) {
      // Both exchange: a sendrecv on one side, a receive and a send on the other.
      add(src, {.kind = Step::kSendrecv,
                .op = OpKind::send,
                .peer = dst,
                .tag = tag,
                .comm = comm,
                .from = dst,
                .bytes = bytes});
      Step back{
          .kind = Step::kSend, .op = OpKind::send, .peer = src, .tag = tag, .comm = comm, .bytes = bytes};
      r.slot = -1;
      flush(dst);
      add(dst, r);
      add(dst, back);
      continue;
    }
    if (receive_first) {
      // A receive before its send must not block in this order: it is posted.
      const bool before = rng.below(2) == 0;
      if (before) {
        r.slot = slot_of(dst);
        add(dst, r);
        send();
      } else {
        send();
        receive();
      }
    } else {
      send();
      receive();
    }
    if (rng.below(3) == 0) flush(src);
    if (rng.below(3) == 0) flush(dst);
  }
  for (int r = 0; r < n; ++r) flush(r);
  if (rng.below(4) != 0) {  // disturb
    for (std::uint64_t k = 1 + rng.below(8); k > 0; --k) {
      auto& steps = p.ranks[rng.below(p.ranks.size())];
      if (steps.size() < 2) continue;
      const std::size_t i = rng.below(steps.size() - 1);
      Step& a = steps[i];
      Step& b = steps[i + 1];
      switch (rng.below(6)) {
        case 0:  // another tag
          if (a.kind == Step::kSend && a.op != OpKind::rsend) a.tag ^= 1;
          break;
        case 1:  // left out
          if (a.kind == Step::kSend && a.slot < 0)
            steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i));
          break;
        case 2:
          if (a.kind == Step::kSend && a.op == OpKind::send) a.op = OpKind::ssend;
          break;
        default: {  // the other way round, unless one needs the other
          const bool tied = a.kind == Step::kWait || b.kind == Step::kWait || a.kind == Step::kInit ||
                            b.kind == Step::kStart || a.kind == Step::kPoll ||
                            // another order of collectives is another fault: they disagree
                            (a.kind == Step::kCollective && b.kind == Step::kCollective && a.comm == b.comm);
          if (!tied) {
            std::swap(a, b);
          } else if (a.kind == Step::kWait && b.kind != Step::kWait) {
            std::swap(a, b);  // a wait later
          } else if (b.kind == Step::kWait && a.slot < 0 && a.kind != Step::kWait && a.kind != Step::kPoll) {
            std::swap(a, b);  // a wait earlier, not before what it waits for
          }
        }
      }
    }
  }
  return p;
}

// A few messages of two sizes, most of them to rank 0, whose receives take what comes; then, in most programs, disturbed.
ExploredProgram random_race(std::uint64_t seed) {
  Rng rng(seed);
  const auto n = static_cast<int>(2 + rng.below(3));
  ExploredProgram p;
  p.ranks.resize(static_cast<std::size_t>(n));
  p.comms = {{}, {n - 1, 0}};
  for (int r = 0; r < n; ++r) p.comms[0].push_back(r);
  std::vector<std::vector<int>> open(p.ranks.size());  // slots to wait for
  int slots = 0;
  const auto steps_of = [&](int r) -> std::vector<Step>& { return p.ranks[static_cast<std::size_t>(r)]; };
  const auto wait = [&](int r, std::size_t of) {
    auto& slots_of = open[static_cast<std::size_t>(r)];
    steps_of(r).push_back({.kind = Step::kWait, .slots = {slots_of[of]}});
    slots_of.erase(slots_of.begin() + static_cast<std::ptrdiff_t>(of));
  };
  for (std::uint64_t e = 2 + rng.below(5); e > 0; --e) {
    const int comm = rng.below(4) == 0 ? 1 : 0;
    const auto& members = p.comms[static_cast<std::size_t>(comm)];
    const std::size_t to = rng.below(5) < 3 ? (comm == 0 ? 0 : 1) : rng.below(members.size());
    const int dst = members[to];
    const int src = members[(to + 1 + rng.below(members.size() - 1)) % members.size()];
    Step send{.kind = Step::kSend, .peer = dst, .tag = static_cast<int>(rng.below(2)), .comm = comm};
    send.bytes = rng.below(5) == 0 ? 16 : 8;
    constexpr OpKind kinds[] = {OpKind::send, OpKind::send, OpKind::ssend, OpKind::isend, OpKind::issend};
    send.op = kinds[rng.below(5)];
    Step receive = send;
    receive.kind = Step::kRecv;
    receive.peer = rng.below(5) < 3 ? kAny : src;
    if (rng.below(3) == 0) receive.tag = kAny;
    for (Step* half : {&send, &receive}) {
      const int r = half == &send ? src : dst;
      const bool waited_for = half == &send ? is_nonblocking_send(send.op) : rng.below(3) == 0;
      if (waited_for) {
        half->slot = slots++;
        open[static_cast<std::size_t>(r)].push_back(half->slot);
      } else if (half == &receive && rng.below(8) == 0) {
        steps_of(r).push_back(receive);
        steps_of(r).back().kind = Step::kProbe;
      }
      steps_of(r).push_back(*half);
    }
    if (rng.below(10) == 0)
      for (int r = 0; r < n; ++r)
        steps_of(r).push_back({.kind = Step::kCollective, .op = OpKind::barrier, .peer = kAny});
    for (int r = 0; r < n; ++r)
      if (const std::size_t some = open[static_cast<std::size_t>(r)].size(); some > 0 && rng.below(3) == 0)
        wait(r, rng.below(some));
  }
  for (int r = 0; r < n; ++r)
    while (!open[static_cast<std::size_t>(r)].empty()) wait(r, 0);
  for (std::uint64_t k = rng.below(3); k > 0; --k) {
    auto& steps = p.ranks[rng.below(p.ranks.size())];
    if (steps.empty()) continue;
    const auto at = steps.begin() + static_cast<std::ptrdiff_t>(rng.below(steps.size()));
    const auto other = steps.begin() + static_cast<std::ptrdiff_t>(rng.below(steps.size()));
    const auto moves = [](const Step& s) {
      return s.kind != Step::kWait && s.kind != Step::kCollective && s.slot < 0;
    };
    switch (rng.below(4)) {
      case 0:
        if (moves(*at)) steps.erase(at);
        break;
      case 1:
        if (moves(*at) && moves(*other)) std::swap(*at, *other);
        break;
      case 2:
        if (at->kind == Step::kRecv || at->kind == Step::kSend) at->bytes = 24 - at->bytes;
        break;
      default:
        if (at->tag >= 0) at->tag ^= 1;
        break;
    }
  }
  return p;
}

MemoryTrace trace_of(const ExploredProgram& p) {
  MemoryTrace t(static_cast<std::uint32_t>(p.ranks.size()));
  for (std::size_t c = 1; c < p.comms.size(); ++c)
    (void)t.add_comm("split1", std::vector<std::int32_t>(p.comms[c].begin(), p.comms[c].end()));
  for (std::uint32_t r = 0; r < p.ranks.size(); ++r)
    for (const Step& s : p.ranks[r]) {
      Op op;
      op.kind = s.op;
      op.comm = CommId(static_cast<std::uint32_t>(s.comm));
      op.peer = s.peer;
      op.tag = s.tag;
      op.amount = s.bytes;
      if (s.slot >= 0) op.request = static_cast<std::uint32_t>(s.slot);
      std::vector<std::int64_t> list;
      switch (s.kind) {
        case Step::kRecv:
          op.kind = s.slot < 0 ? OpKind::recv : OpKind::irecv;
          if (s.recorded) list = {s.from, s.tag, s.bytes};
          break;
        case Step::kProbe:
          op.kind = OpKind::probe;
          op.amount = 0;
          break;
        case Step::kPoll: {
          Op miss = op;
          miss.kind = OpKind::iprobe;
          miss.amount = 1;
          t.add(r, miss, {1});
          op = miss;
          op.flags = traces::kHit;
          list = {0, 0, s.peer, s.tag, s.bytes};
          break;
        }
        case Step::kWait:
          op = Op{};
          op.peer = traces::kAnySource;
          op.tag = traces::kAnyTag;
          if (!s.asked.empty()) {
            op.kind = OpKind::waitany;
            list.push_back(static_cast<std::int64_t>(s.asked.size()));
            list.insert(list.end(), s.asked.begin(), s.asked.end());
          } else {
            op.kind = s.slots.size() == 1 ? OpKind::wait : OpKind::waitall;
          }
          if (op.kind == OpKind::wait)
            op.request = static_cast<std::uint32_t>(s.slots[0]);
          else
            list.insert(list.end(), s.slots.begin(), s.slots.end());
          break;
        case Step::kCollective:
          op.tag = 0;
          if (s.op == OpKind::barrier || s.op == OpKind::ibarrier) op.amount = 0;
          break;
        case Step::kSendrecv: {
          op.kind = OpKind::sendrecv;
          t.add(r, op);
          op.kind = OpKind::recv;
          op.peer = s.from;
          op.flags = traces::kPairedRecv;
          break;
        }
        case Step::kStart:
          op = Op{};
          op.kind = OpKind::start;
          op.request = static_cast<std::uint32_t>(s.slot);
          break;
        default:
          break;
      }
      t.add(r, op, list);
    }
  return t;
}

bool depends_on_buffering(const traces::Finding& f) { return f.message.starts_with("depends on buffering"); }
bool finds_a_synchronous_deadlock(const traces::CheckReport& r) {
  return std::ranges::any_of(r.findings, depends_on_buffering);
}
bool finds_a_fault(const traces::CheckReport& r) {
  return !std::ranges::all_of(r.findings, depends_on_buffering);
}

std::string text_of(const traces::CheckReport& r) {
  std::string s;
  for (const auto& f : r.findings)
    s += (f.severity == traces::Severity::kError ? "E " : "W ") + f.message + "\n";
  return s;
}

TEST(DoctorVerdict, AgreesWithEveryInterleavingAndWithTheReplayOnRandomPrograms) {
  std::vector<std::uint64_t> seeds;
  if (const char* one = std::getenv("WEFT_SEED"))
    seeds.push_back(std::strtoull(one, nullptr, 10));
  else
    for (std::uint64_t s = 1; s <= 4000; ++s) seeds.push_back(s);
  const auto where = topology::load_platform("crossbar:n=4,bw=1GB/s,lat=1us").value();
  std::size_t clean = 0, faulty = 0, depends = 0, wild = 0, buffering = 0, skipped = 0;
  for (const std::uint64_t seed : seeds) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    const ExploredProgram p = random_program(seed);
    const auto truth = Explorer(p, false).run();
    if (!truth.whole) {
      ++skipped;
      continue;
    }
    MemoryTrace t = trace_of(p);
    traces::CheckOptions options;
    options.synchronous = true;
    const auto report = traces::check_trace(t, options);
    ASSERT_TRUE(report) << report.error().message();
    // An error in no order that can happen otherwise, and no error where there is an order that ends.
    ASSERT_EQ(report->ok(), truth.some_clean) << text_of(*report);
    ASSERT_EQ(finds_a_fault(*report), truth.some_faulty) << text_of(*report);
    wild += p.wildcards ? 1 : 0;
    const bool race = truth.some_clean && truth.some_faulty;
    ++(race ? depends : truth.some_clean ? clean : faulty);
    for (const RawMode mode : {RawMode::kEager, RawMode::kOff}) {
      ReplayOptions o;
      o.raw = mode;
      o.model = seed % 2 == 0 ? "contention-free" : "max-min";
      const auto r = replay(t, where, first_hosts(p.ranks.size()), o);
      ASSERT_TRUE(r) << r.error().message();
      if (race) continue;
      ASSERT_EQ(r->finished && r->warnings.empty(), report->ok()) << text_of(*report);
    }
    // With rendezvous, programs whose matching is not the network's choice.
    if (p.wildcards || !report->ok()) continue;
    const auto truth_synchronous = Explorer(p, true).run();
    if (!truth_synchronous.whole) continue;
    const bool stops = finds_a_synchronous_deadlock(*report);
    buffering += stops ? 1 : 0;
    ASSERT_EQ(stops, !truth_synchronous.some_clean) << text_of(*report);
    ReplayOptions o;
    o.raw = RawMode::kRendezvous;
    const auto r = replay(t, where, first_hosts(p.ranks.size()), o);
    ASSERT_TRUE(r) << r.error().message();
    ASSERT_EQ(r->finished, !stops) << text_of(*report);
  }
  RecordProperty("clean", static_cast<int>(clean));
  RecordProperty("faulty", static_cast<int>(faulty));
  std::printf(
      "%zu end, %zu never do, %zu do in some orders; %zu have wildcards, %zu depend on buffering, %zu "
      "skipped\n",
      clean, faulty, depends, wild, buffering, skipped);
  if (seeds.size() > 1) {
    EXPECT_GT(clean, 1000u);
    EXPECT_GT(faulty, 500u);
    EXPECT_GT(depends, 50u);
    EXPECT_GT(wild, 1000u);
    EXPECT_GT(buffering, 30u);
    EXPECT_LT(skipped, 100u);
  }
}

TEST(DoctorVerdict, IsAnErrorWhereNoOrderOfArrivalEndsWellAndAWarningWhereOnlySomeDo) {
  std::size_t clean = 0, faulty = 0, races = 0;
  for (const std::uint64_t seed : support::seeds_to(6'000)) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    const ExploredProgram p = random_race(seed);
    const auto truth = Explorer(p, false).run();
    if (!truth.whole) continue;
    MemoryTrace t = trace_of(p);
    const auto report = traces::check_trace(t);
    ASSERT_TRUE(report) << report.error().message();
    ASSERT_EQ(report->ok(), truth.some_clean) << text_of(*report);
    ASSERT_EQ(report->findings.empty(), !truth.some_faulty) << text_of(*report);
    ++(truth.some_clean && truth.some_faulty ? races : truth.some_clean ? clean : faulty);
  }
  std::printf("%zu end, %zu never do, %zu do in some orders\n", clean, faulty, races);
  if (support::number_in("WEFT_SEED")) return;
  EXPECT_GT(clean, 2'000u);
  EXPECT_GT(faulty, 1'000u);
  EXPECT_GT(races, 300u);
}

// Recorded runs in which a receiver is busy elsewhere when its message comes: a receive from any source posted before
// a barrier, and the sparse exchange of Hoefler, Siebert and Lumsdaine (PPoPP 2010): Issend, Iprobe, Ibarrier.
TEST(DoctorVerdict, RecordedProgramsThatRelyOnProgressEndForBoth) {
  for (const char* name : {"progress", "sparse_exchange"}) {
    SCOPED_TRACE(name);
    auto t = traces::open_trace({support::source_dir() + "/tests/replay/recorded/" + name + ".weft"});
    ASSERT_TRUE(t) << t.error().message();
    traces::CheckOptions options;
    options.synchronous = true;
    const auto report = traces::check_trace(**t, options);
    ASSERT_TRUE(report) << report.error().message();
    EXPECT_EQ(text_of(*report), "");
    const auto where = topology::load_platform("crossbar:n=4,bw=1GB/s,lat=1us").value();
    for (const RawMode mode : {RawMode::kOff, RawMode::kEager, RawMode::kDetached, RawMode::kRendezvous})
      for (const char* model : {"contention-free", "max-min"}) {
        ReplayOptions o;
        o.raw = mode;
        o.model = model;
        const auto r = replay(**t, where, first_hosts((*t)->header().ranks), o);
        ASSERT_TRUE(r) << r.error().message();
        EXPECT_TRUE(r->finished) << r->deadlock.summary();
        EXPECT_TRUE(r->warnings.empty()) << r->warnings.front();
      }
  }
}

// Operations that no doctor looks beyond.
constexpr std::size_t kOutOfSight = (traces::BlocksAhead::kMostAhead + 1) * traces::kMaxBlockOps;

// A program that ran has no findings, whatever a choice made of its receives from any source before their waits told, which stand out
// of sight. The choice is forced early: a receive of rank 1 comes after a synchronous send that only a choice ends.
TEST(DoctorVerdict, WaitsThatTellLateWhatCameLateAreRight) {
  MemoryTrace t(3);
  const CommId other = t.add_comm("other", {0, 1, 2});
  for (const std::uint32_t request : {0u, 1u, 2u}) t.p2p(1, OpKind::irecv, kAny, kAny, 8, CommId(0), request);
  for (std::size_t i = 0; i < kOutOfSight; ++i) t.compute(1, Duration(1));
  t.p2p(0, OpKind::ssend, 1, 5, 8);
  t.p2p(0, OpKind::send, 1, 9, 8, other);
  // By now the choice gave the first request what the second one had.
  t.p2p(1, OpKind::recv, 0, 9, 8, other);
  t.p2p(1, OpKind::send, 2, 1, 8, other);
  t.p2p(2, OpKind::recv, 1, 1, 8, other);
  t.p2p(2, OpKind::send, 1, 6, 8);
  t.p2p(2, OpKind::send, 1, 7, 8);
  const auto wait = [&](std::uint32_t request, std::int32_t source, std::int32_t tag) {
    Op w{.kind = OpKind::wait};
    w.peer = source;
    w.tag = tag;
    w.request = request;
    w.amount = 8;
    t.add(1, w);
  };
  wait(0, 2, 6);
  wait(1, 0, 5);
  wait(2, 2, 7);
  const auto report = traces::check_trace(t);
  ASSERT_TRUE(report);
  for (const auto& f : report->findings) ADD_FAILURE() << f.message;
}

// The same at random: recorded by a replay, whose matches the waits tell.
TEST(DoctorVerdict, ReplaysWhoseWaitsTellTheMatchesAreRight) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const auto n = static_cast<std::uint32_t>(2 + rng.below(6));  // messages of each of two senders
    std::vector<std::pair<std::int32_t, std::int32_t>> matched(2 * n, {kAny, kAny});
    const auto program = [&](Rng r, bool told) {
      MemoryTrace t(3);
      std::uint32_t posted = 0;
      std::vector<std::uint32_t> left{n, n};
      std::vector<std::uint32_t> done(2, 0);
      const auto tag_of = [&] { return static_cast<std::int32_t>(r.below(2)); };
      std::vector<std::int32_t> tags;
      // As many receives as messages; all are posted before the waits.
      for (std::uint32_t i = 0; i < 2 * n; ++i) tags.push_back(tag_of());
      for (std::uint32_t i = 0; i < 2 * n; ++i) {
        t.p2p(1, OpKind::irecv, kAny, kAny, 8, CommId(0), posted++);
        if (r.below(3) == 0) t.compute(1, Duration(static_cast<std::int64_t>(r.below(5'000'000))));
      }
      for (std::size_t i = 0; i < kOutOfSight; ++i) t.compute(1, Duration(1));
      for (std::uint32_t i = 0; i < 2 * n; ++i) {
        const std::uint32_t from = r.below(2) == 0 ? 0 : 2;
        std::uint32_t& of = left[from / 2];
        const std::uint32_t who = of > 0 ? from : 2 - from;
        --left[who / 2];
        t.compute(who, Duration(static_cast<std::int64_t>(r.below(5'000'000))));
        t.p2p(who, r.below(3) == 0 ? OpKind::ssend : OpKind::send, 1, tags[i], 8);
        if (r.below(4) == 0) {  // somebody tells rank 1, which tells the other sender
          t.p2p(who, OpKind::send, 1, 9, 8, CommId(1));
          t.p2p(1, OpKind::recv, static_cast<std::int32_t>(who), 9, 8, CommId(1));
          t.p2p(1, OpKind::send, static_cast<std::int32_t>(2 - who), 9, 8, CommId(1));
          t.p2p(2 - who, OpKind::recv, 1, 9, 8, CommId(1));
        }
      }
      for (std::uint32_t i = 0; i < 2 * n; ++i) {
        Op w{.kind = OpKind::wait};
        w.request = i;
        if (told) {
          w.peer = matched[i].first;
          w.tag = matched[i].second;
          w.amount = 8;
        }
        t.add(1, w);
      }
      return t;
    };
    const auto with_comm = [](MemoryTrace t) {
      t.add_comm("other", {0, 1, 2});
      return t;
    };
    MemoryTrace recorded = with_comm(program(rng, false));
    ReplayOptions o;
    o.on_match = [&](const MatchSeen& m) {
      if (m.rank.index() == 1 && m.request < matched.size())
        matched[m.request] = {static_cast<std::int32_t>(m.source.index()), m.tag};
    };
    const auto p = topology::load_platform("crossbar:n=3,bw=1GB/s,lat=1us").value();
    const auto ran = replay(recorded, p, first_hosts(3), o);
    ASSERT_TRUE(ran);
    if (!ran->finished) continue;  // receives of a tag came too late for their messages
    MemoryTrace t = with_comm(program(rng, true));
    const auto report = traces::check_trace(t);
    ASSERT_TRUE(report);
    for (const auto& f : report->findings) ADD_FAILURE() << f.message;
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::replay::doctor_verdict_test
