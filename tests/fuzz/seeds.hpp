// Small valid inputs of every trace reader: what mutations and libFuzzer start from.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/fuzz/trace_fuzz.hpp"
#include "traces/block_codec.hpp"
#include "traces/trace.hpp"
#include "traces/writer.hpp"

namespace weft::traces {

inline const std::string& ti_seed() {
  static const std::string text =
      "0 init\n1 init\n0 send 1 5 8 0\n1 recv 0 5 8 0\n0 irecv 1 6 5e1 1\n1 isend 0 6 50 1\n0 wait 1 0 6\n1 "
      "waitall\n"
      "0 alltoallv 3 1 2 3 1 2\n1 alltoallv 3 2 1 3 2 1\n0 allreduce 4 1e3\n1 allreduce 4 1e3\n0 bcast 3 1 "
      "6\n"
      "1 bcast 3 1 6\n0 gatherv 3 3 5 0\n1 gatherv 5 3 5 0\n0 reducescatter 3 5 7\n1 reducescatter 3 5 7\n"
      "0 sendRecv 3 1 4 1\n1 sendRecv 4 0 3 0\n0 sleep 0.5\n0 compute 1.5e9\n0 finalize\n1 finalize\n";
  return text;
}

// A block that names every kind of operation with well-formed lists, for a world of 3 ranks.
inline OpBlock block_seed() {
  OpBlock b;
  b.rank = RankId(0);
  const auto with = [&b](Op op, std::vector<std::int64_t> list) {
    op.extra = b.add_list(list);
    return op;
  };
  b.ops = {{.kind = OpKind::init},
           {.kind = OpKind::send, .peer = 1, .tag = 5, .amount = 800},
           {.kind = OpKind::isend, .comm = CommId(1), .peer = 1, .tag = 6, .amount = 80, .request = 2},
           {.kind = OpKind::irecv, .peer = kAnySource, .tag = kAnyTag, .amount = 80, .request = 3},
           {.kind = OpKind::wait, .peer = 1, .tag = 6, .amount = 80, .request = 3},
           {.kind = OpKind::recv_init, .peer = 2, .tag = 4, .amount = 8, .request = 0},
           {.kind = OpKind::compute_flops, .amount = std::bit_cast<std::int64_t>(1.25)},
           {.kind = OpKind::compute_time, .amount = 1000},
           {.kind = OpKind::bcast, .peer = 1, .amount = 64},
           {.kind = OpKind::ibarrier, .comm = CommId(1), .peer = kAnySource, .request = 1},
           {.kind = OpKind::comm_dup, .amount = 1},
           {.kind = OpKind::region_begin, .amount = 0}};
  b.ops.push_back(with({.kind = OpKind::waitall}, {1, 2}));
  b.ops.push_back(with({.kind = OpKind::waitany}, {2, 0, 1, 1}));
  b.ops.push_back(
      with({.kind = OpKind::iprobe, .flags = kHit, .peer = 1, .tag = 5, .amount = 2}, {0, 1, 1, 5, 8}));
  b.ops.push_back(with({.kind = OpKind::iprobe, .peer = 1, .tag = 5, .amount = 2}, {2}));
  b.ops.push_back(with({.kind = OpKind::alltoallv, .peer = kAnySource, .amount = 6}, {3, 1, 2, 3, 1, 2, 3}));
  b.ops.push_back(with({.kind = OpKind::allgatherv, .peer = kAnySource, .amount = 2}, {2, 3, 4}));
  b.ops.push_back(with({.kind = OpKind::neighbor_alltoallv, .peer = kAnySource}, {1, 1, 1, 2, 7, 8}));
  b.ops.push_back(with({.kind = OpKind::recv, .peer = kAnySource, .tag = kAnyTag, .amount = 9}, {1, 5, 9}));
  return b;
}
inline std::string block_message_seed() {
  std::string out;
  (void)BlockEncoder().encode(block_seed(), 0, out);
  return out;
}
inline constexpr std::string_view kHeaderMessageSeed = bytes_of(
    "\x08\x03\x12\x01"
    "a\x12\x01"
    "b\x12\x01"
    "c\x1a\x01w\x38\x05\x42\x01n");
inline constexpr std::string_view kDefinitionsMessageSeed =
    bytes_of("\x08\x01\x12\x0c\x0a\x01p\x12\x01\0\x1a\x01\x02\x22\x01\x02\x12\x05\x0a\x01q\x28\x02\x22\x01r");
inline constexpr std::string_view kIndexMessageSeed =
    bytes_of("\x0a\x03\x22\x01r\x10\x14\x18\x01\x20\x08\x2a\x03\x01\0\0\x32\x02\x90\x02\x3a\x01\x14");

// A whole .weft file, written to `path` on the way.
inline std::string weft_seed(const std::string& path) {
  TraceHeader h;
  h.ranks = 3;
  h.recorder = "seed";
  auto w = TraceWriter::create(path, h).value();
  (void)w.add_communicator({"p", {0, 1}});
  (void)w.add_region("r");
  w.append(block_seed());
  w.finish().value();
  std::ifstream in(path, std::ios::binary);
  std::stringstream s;
  s << in.rdbuf();
  return s.str();
}

}  // namespace weft::traces
