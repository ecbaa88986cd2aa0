// Random programs of all that a rank can do without looking at the time, written in an order in which all of it could happen one
// after the other, so that none deadlocks.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/rng.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::testing {

class RandomProgram {
 public:
  enum class Collectives : std::uint8_t { kNone, kBlocking, kAll };
  // `probes`: half of the blocking receives wait in a probe first, most of them after a computation.
  explicit RandomProgram(std::uint64_t seed, Collectives collectives = Collectives::kAll, bool probes = false)
      : rng_(seed),
        collectives_(collectives),
        probes_(probes),
        ranks_(static_cast<std::uint32_t>(2 + rng_.below(7))),
        trace_(ranks_),
        open_(ranks_),
        slots_(ranks_) {
    for (const char* const name : {"a", "b"}) trace_.add_region(name);
    for (int step = 0; step < 120; ++step) (this->*kSteps[rng_.below(std::size(kSteps))])();
    for (std::uint32_t r = 0; r < ranks_; ++r) wait_for_all(r);
  }
  [[nodiscard]] MemoryTrace& trace() { return trace_; }

 private:
  using Step = void (RandomProgram::*)();
  static const Step kSteps[7];

  std::uint32_t any() { return static_cast<std::uint32_t>(rng_.below(ranks_)); }
  std::int64_t bytes() {
    return static_cast<std::int64_t>(rng_.below(3) == 0 ? rng_.below(900'000) : rng_.below(9'000));
  }
  std::uint32_t slot(std::uint32_t r) {
    open_[r].push_back(slots_[r]);
    return slots_[r]++;
  }
  void compute() { trace_.compute(any(), Duration(static_cast<std::int64_t>(rng_.below(20'000'000)))); }
  void message() {
    const std::uint32_t from = any(), to = any();
    if (from == to) return;
    const auto tag = static_cast<std::int32_t>(rng_.below(2));
    const std::int64_t size = bytes();
    send(from, static_cast<std::int32_t>(to), tag, size);
    const auto source = static_cast<std::int32_t>(from);
    if (rng_.below(2) == 0)
      trace_.p2p(to, traces::OpKind::irecv, source, tag, size, CommId(0), slot(to));
    else
      blocking_receive(to, source, tag);
  }
  // Earlier receives of the channel that are still open take earlier messages.
  void blocking_receive(std::uint32_t to, std::int32_t source, std::int32_t tag) {
    if (probes_ && rng_.below(2) == 0) {
      if (rng_.below(4) > 0) trace_.compute(to, Duration(static_cast<std::int64_t>(rng_.below(20'000'000))));
      trace_.p2p(to, traces::OpKind::probe, source, tag, 0);
    }
    trace_.p2p(to, traces::OpKind::recv, source, tag, 1'000'000);
  }
  void send(std::uint32_t from, std::int32_t to, std::int32_t tag, std::int64_t size) {
    constexpr traces::OpKind kBlocking[] = {traces::OpKind::send, traces::OpKind::ssend,
                                            traces::OpKind::bsend, traces::OpKind::rsend};
    constexpr traces::OpKind kOthers[] = {traces::OpKind::isend, traces::OpKind::issend,
                                          traces::OpKind::ibsend};
    switch (rng_.below(3)) {
      case 0:
        return trace_.p2p(from, kBlocking[rng_.below(std::size(kBlocking))], to, tag, size);
      case 1:
        return trace_.p2p(from, kOthers[rng_.below(std::size(kOthers))], to, tag, size, CommId(0),
                          slot(from));
      default: {  // a persistent one
        const std::uint32_t s = slot(from);
        trace_.p2p(from, traces::OpKind::send_init, to, tag, size, CommId(0), s);
        traces::Op start;
        start.kind = traces::OpKind::start;
        start.request = s;
        trace_.add(from, start);
      }
    }
  }
  void exchange() {
    const std::uint32_t a = any(), b = any();
    if (a == b) return;
    const std::int64_t size = bytes();
    for (const auto& [r, other] : {std::pair(a, b), std::pair(b, a)}) {
      // Not of one length: two that end at one instant would be told apart by their order.
      trace_.p2p(r, traces::OpKind::sendrecv, static_cast<std::int32_t>(other), 7, r == a ? size : size / 2);
      traces::Op half;
      half.kind = traces::OpKind::recv;
      half.peer = static_cast<std::int32_t>(other);
      half.tag = 7;
      half.amount = size;
      half.flags = traces::kPairedRecv;
      trace_.add(r, half);
    }
  }
  void wait_for_some() {
    const std::uint32_t r = any();
    auto& open = open_[r];
    if (open.empty()) return;
    rng_.shuffle(std::span<std::uint32_t>(open));
    traces::Op op;
    switch (rng_.below(3)) {
      case 0:
        op.kind = rng_.below(2) == 0 ? traces::OpKind::wait : traces::OpKind::test;
        op.request = open.back();
        trace_.add(r, op);
        open.pop_back();
        return;
      case 1: {  // those asked for, then those that were over
        op.kind = rng_.below(2) == 0 ? traces::OpKind::waitsome : traces::OpKind::testsome;
        std::vector<std::int64_t> list{static_cast<std::int64_t>(open.size())};
        list.insert(list.end(), open.begin(), open.end());
        for (std::uint64_t n = 1 + rng_.below(open.size()); n > 0; --n) {
          list.push_back(open.back());
          open.pop_back();
        }
        return trace_.add(r, op, list);
      }
      default:
        return wait_for_all(r);
    }
  }
  void wait_for_all(std::uint32_t r) {
    if (open_[r].empty()) return;
    traces::Op op;
    op.kind = rng_.below(2) == 0 ? traces::OpKind::waitall : traces::OpKind::testall;
    trace_.add(r, op, {open_[r].begin(), open_[r].end()});
    open_[r].clear();
  }
  void collective() {
    constexpr traces::OpKind kKinds[] = {traces::OpKind::barrier,   traces::OpKind::bcast,
                                         traces::OpKind::allreduce, traces::OpKind::alltoall,
                                         traces::OpKind::gather,    traces::OpKind::ibcast,
                                         traces::OpKind::ibarrier,  traces::OpKind::iallreduce,
                                         traces::OpKind::scan,      traces::OpKind::ialltoall};
    const traces::OpKind kind = kKinds[rng_.below(std::size(kKinds))];
    const traces::OpKind plain = traces::blocking_form(kind);
    if (collectives_ == Collectives::kNone || (kind != plain && collectives_ != Collectives::kAll)) return;
    const bool rooted = plain == traces::OpKind::bcast || plain == traces::OpKind::gather;
    traces::Op op;
    op.kind = kind;
    op.peer = rooted ? static_cast<std::int32_t>(any()) : traces::kAnySource;
    op.amount = plain == traces::OpKind::barrier ? 0 : bytes();
    for (std::uint32_t r = 0; r < ranks_; ++r) {
      op.request = traces::is_nonblocking_collective(kind) ? slot(r) : traces::kNoRequest;
      trace_.add(r, op);
    }
  }
  void region() {
    traces::Op op;
    op.kind = rng_.below(2) == 0 ? traces::OpKind::region_begin : traces::OpKind::region_end;
    op.amount = static_cast<std::int64_t>(rng_.below(2));
    trace_.add(any(), op);
  }

  Rng rng_;
  Collectives collectives_;
  bool probes_;
  std::uint32_t ranks_;
  MemoryTrace trace_;
  std::vector<std::vector<std::uint32_t>> open_;  // requests, by rank
  std::vector<std::uint32_t> slots_;
};
inline const RandomProgram::Step RandomProgram::kSteps[7] = {
    &RandomProgram::compute,      &RandomProgram::compute,    &RandomProgram::message,
    &RandomProgram::exchange,     &RandomProgram::collective, &RandomProgram::region,
    &RandomProgram::wait_for_some};

}  // namespace weft::testing
