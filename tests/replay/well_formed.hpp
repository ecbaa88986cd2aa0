// Random programs in which every message has its receive.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/rng.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::testing {

struct Program {
  MemoryTrace trace;
  std::vector<std::uint64_t> sent, received;  // bytes by rank
  std::vector<std::int64_t> compute;          // ticks by rank
  std::uint64_t messages = 0;
};

// Phases. In each, every rank computes, then random pairs exchange messages: receives posted first (some from
// any source, with a tag of their own), then sends, then a waitall; now and then a collective or a blocking
// ring.
inline Program well_formed(std::uint64_t seed) {
  Rng rng(seed);
  const auto ranks = static_cast<std::uint32_t>(2 + rng.below(15));
  Program p{MemoryTrace(ranks), std::vector<std::uint64_t>(ranks), std::vector<std::uint64_t>(ranks),
            std::vector<std::int64_t>(ranks), 0};
  const int phases = static_cast<int>(1 + rng.below(12));
  for (int phase = 0; phase < phases; ++phase) {
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const auto d = static_cast<std::int64_t>(rng.below(20'000'000));
      p.trace.compute(r, Duration(d));
      p.compute[r] += d;
    }
    struct Message {
      std::uint32_t src, dst;
      std::int32_t tag;
      std::int64_t bytes;
    };
    std::vector<Message> list;
    for (std::uint64_t i = rng.below(3 * ranks); i > 0; --i) {
      const auto src = static_cast<std::uint32_t>(rng.below(ranks)),
                 dst = static_cast<std::uint32_t>(rng.below(ranks));
      list.push_back(
          {src, dst, static_cast<std::int32_t>(phase * 1000 + static_cast<int>(list.size())),
           static_cast<std::int64_t>(rng.below(4) == 0 ? rng.below(2'000'000) : rng.below(5'000))});
    }
    std::vector<std::uint32_t> slots(ranks, 0);
    std::vector<std::vector<std::int64_t>> asked(ranks);
    const auto next = [&](std::uint32_t r) {
      asked[r].push_back(slots[r]);
      return slots[r]++;
    };
    std::vector<Message> shuffled = list;
    rng.shuffle(std::span<Message>(shuffled));
    for (const Message& m : shuffled)
      p.trace.p2p(m.dst, traces::OpKind::irecv,
                  rng.below(3) == 0 ? traces::kAnySource : static_cast<std::int32_t>(m.src), m.tag, m.bytes,
                  CommId(0), next(m.dst));
    for (const Message& m : list) {
      p.trace.p2p(m.src, rng.below(4) == 0 ? traces::OpKind::issend : traces::OpKind::isend,
                  static_cast<std::int32_t>(m.dst), m.tag, m.bytes, CommId(0), next(m.src));
      p.sent[m.src] += static_cast<std::uint64_t>(m.bytes);
      p.received[m.dst] += static_cast<std::uint64_t>(m.bytes);
      ++p.messages;
    }
    for (std::uint32_t r = 0; r < ranks; ++r)
      if (!asked[r].empty()) {
        traces::Op w;
        w.kind = traces::OpKind::waitall;
        p.trace.add(r, w, asked[r]);
      }
    if (rng.below(3) == 0) {
      constexpr traces::OpKind kinds[] = {traces::OpKind::barrier,   traces::OpKind::bcast,
                                          traces::OpKind::allreduce, traces::OpKind::alltoall,
                                          traces::OpKind::gather,    traces::OpKind::scan};
      const traces::OpKind kind = kinds[rng.below(std::size(kinds))];
      const auto bytes = static_cast<std::int64_t>(rng.below(100'000));
      const bool rooted = kind == traces::OpKind::bcast || kind == traces::OpKind::gather;
      const auto root = static_cast<std::int32_t>(rng.below(ranks));
      for (std::uint32_t r = 0; r < ranks; ++r)
        p.trace.collective(r, kind, rooted ? root : traces::kAnySource, bytes, CommId(0));
    }
  }
  return p;
}

}  // namespace weft::testing
