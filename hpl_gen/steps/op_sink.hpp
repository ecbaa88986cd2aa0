// OpSink: appends one rank's operations to a block; the words that the generator speaks.
//
// A sink belongs to one rank for the time of one step. Sizes are in bytes, peers are world ranks. Kernels with nothing
// to do and messages without data are left out where the program leaves them out (the caller says which).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/id.hpp"
#include "traces/kernel.hpp"
#include "traces/op.hpp"

namespace weft::hpl_gen {

inline constexpr std::int64_t kDouble = 8;  // bytes
inline constexpr std::int64_t kInt = 4;

// Message tags of HPL: one id for the pivots and row swaps, ranges of 1000 for the panels and for the solve.
inline constexpr std::int32_t kTagSwap = 1001;
inline constexpr std::int32_t kTagPanel = 2001;
inline constexpr std::int32_t kTagSolve = 3001;
inline constexpr std::int32_t kTagCollective = 9001;
inline constexpr std::int32_t kTagRange = 1000;

// Regions that every generated trace has; panel k is region kFirstPanel + k.
enum FixedRegion : std::uint32_t { kPfact, kBcast, kSwap, kUpdate, kSolve, kFirstPanel };

class OpSink {
 public:
  explicit OpSink(traces::OpBlock& out) : out_(out) {}

  [[nodiscard]] std::size_t size() const { return out_.ops.size(); }

  // A BLAS call; nothing if a dimension is 0.
  void kernel(traces::Kernel k, std::int64_t m, std::int64_t n = 1, std::int64_t depth = 1) {
    computation(traces::OpKind::compute_kernel, {k, m, n, depth});
  }
  // The same on the accelerator, while the rank goes on; `request`: for wait_launched(), or traces::kNoRequest.
  void launch(const traces::KernelShape& s, std::uint32_t request) {
    if (computation(traces::OpKind::launch, s)) out_.ops.back().request = request;
  }
  void wait_launched(std::uint32_t request) {
    message(traces::OpKind::wait, traces::kAnySource, traces::kAnyTag, 0, CommId(0)).request = request;
  }
  void send(int to, std::int32_t tag, std::int64_t bytes, CommId comm) {
    message(traces::OpKind::send, to, tag, bytes, comm);
  }
  void ssend(int to, std::int32_t tag, std::int64_t bytes, CommId comm) {
    message(traces::OpKind::ssend, to, tag, bytes, comm);
  }
  void recv(int from, std::int32_t tag, std::int64_t bytes, CommId comm) {
    message(traces::OpKind::recv, from, tag, bytes, comm);
  }
  void irecv(int from, std::int32_t tag, std::int64_t bytes, CommId comm) {
    message(traces::OpKind::irecv, from, tag, bytes, comm).request = 0;
  }
  void issend(int to, std::int32_t tag, std::int64_t bytes, CommId comm) {
    message(traces::OpKind::issend, to, tag, bytes, comm).request = 0;
  }
  // Of the one request that HPL has in flight at a time; the fields of the message it completes.
  void wait(int peer, std::int32_t tag, std::int64_t bytes, CommId comm) {
    message(traces::OpKind::wait, peer, tag, bytes, comm).request = 0;
  }
  // Of any number of requests at a time.
  void isend(int to, std::int32_t tag, std::int64_t bytes, CommId comm, std::uint32_t request) {
    message(traces::OpKind::isend, to, tag, bytes, comm).request = request;
  }
  void irecv(int from, std::int32_t tag, std::int64_t bytes, CommId comm, std::uint32_t request) {
    message(traces::OpKind::irecv, from, tag, bytes, comm).request = request;
  }
  void wait(int peer, std::int32_t tag, std::int64_t bytes, CommId comm, std::uint32_t request) {
    message(traces::OpKind::wait, peer, tag, bytes, comm).request = request;
  }
  void waitall(std::span<const std::int64_t> requests) {
    traces::Op op = make(traces::OpKind::waitall);
    op.extra = out_.add_list(requests);
    out_.ops.push_back(op);
  }
  // One call that sends and receives.
  void sendrecv(int partner, std::int32_t tag, std::int64_t sent, std::int64_t received, CommId comm) {
    message(traces::OpKind::sendrecv, partner, tag, sent, comm);
    message(traces::OpKind::recv, partner, tag, received, comm).flags = traces::kPairedRecv;
  }
  // The library's own broadcast. `root`: world rank.
  void bcast(int root, std::int64_t bytes, CommId comm) {
    message(traces::OpKind::bcast, root, 0, bytes, comm);
  }
  // Sends and receives at once, receive posted first; a side of zero bytes does not take place.
  void exchange(int partner, std::int32_t tag, std::int64_t sent, std::int64_t received, CommId comm) {
    if (sent > 0 && received > 0) {
      irecv(partner, tag, received, comm);
      send(partner, tag, sent, comm);
      wait(partner, tag, received, comm);
    } else if (sent > 0) {
      send(partner, tag, sent, comm);
    } else if (received > 0) {
      recv(partner, tag, received, comm);
    }
  }
  // A panel's factorisation as one operation (traces/exchange_series.hpp); `values` is its list.
  void series(int root, std::int64_t candidate_bytes, CommId comm, std::span<const std::int64_t> values) {
    message(traces::OpKind::exchange_series, root, kTagSwap, candidate_bytes, comm).extra =
        out_.add_list(values);
  }
  void begin(std::uint32_t region) { simple(traces::OpKind::region_begin, region); }
  void end(std::uint32_t region) { simple(traces::OpKind::region_end, region); }
  void simple(traces::OpKind kind, std::int64_t amount = 0, CommId comm = CommId(0)) {
    traces::Op op = make(kind);
    op.amount = amount;
    op.comm = comm;
    out_.ops.push_back(op);
  }
  // A poll that did not find its message; resolve() says how far from it the poll is that does. Returns its place.
  [[nodiscard]] std::size_t poll(int from, std::int32_t tag, CommId comm) {
    message(traces::OpKind::iprobe, from, tag, 1, comm).extra = list({0});
    return out_.ops.size() - 1;
  }
  void resolve(std::size_t poll_at, std::size_t hit_at) {
    out_.lists[out_.ops[poll_at].extra + 1] = static_cast<std::int64_t>(hit_at - poll_at);
  }
  // The poll that hits; set_body() says how many operations after it are what it triggers.
  [[nodiscard]] std::size_t hit(int from, std::int32_t tag, std::int64_t bytes, CommId comm) {
    traces::Op& op = message(traces::OpKind::iprobe, from, tag, 1, comm);
    op.flags = traces::kHit;
    op.extra = list({0, 0, from, tag, bytes});
    return out_.ops.size() - 1;
  }
  // The operations from `first` on, computations and polls that missed, `times` times more. Computations have the same lists, each poll
  // has its own.
  void again(std::size_t first, std::size_t times) {
    const std::size_t period = out_.ops.size() - first;
    std::size_t polls = 0;
    for (std::size_t i = first; i < out_.ops.size(); ++i) polls += out_.ops[i].kind == traces::OpKind::iprobe;
    auto extra = static_cast<std::uint32_t>(out_.lists.size());
    out_.lists.resize(extra + 2 * times * polls);
    out_.ops.resize(out_.ops.size() + times * period);
    traces::Op* const end = out_.ops.data() + out_.ops.size();
    for (traces::Op* op = end - times * period; op != end; ++op) {
      *op = op[-static_cast<std::ptrdiff_t>(period)];
      if (op->kind != traces::OpKind::iprobe) continue;
      op->extra = extra;
      out_.lists[extra] = 1;  // and a distance of 0 until resolve()
      extra += 2;
    }
  }
  void set_body(std::size_t hit_at) {
    out_.lists[out_.ops[hit_at].extra + 2] = static_cast<std::int64_t>(out_.ops.size() - hit_at - 1);
  }

 private:
  bool computation(traces::OpKind kind, const traces::KernelShape& s) {
    if (s.m <= 0 || s.n <= 0 || s.k <= 0) return false;
    traces::Op op = make(kind);
    op.amount = std::bit_cast<std::int64_t>(traces::kernel_flops(s));
    op.extra = list({static_cast<std::int64_t>(s.kernel), s.m, s.n, s.k});
    out_.ops.push_back(op);
    return true;
  }
  static traces::Op make(traces::OpKind kind) {
    traces::Op op;
    op.kind = kind;
    return op;
  }
  traces::Op& message(traces::OpKind kind, int peer, std::int32_t tag, std::int64_t bytes, CommId comm) {
    traces::Op op = make(kind);
    op.peer = peer;
    op.tag = tag;
    op.amount = bytes;
    op.comm = comm;
    return out_.ops.emplace_back(op);
  }
  template <std::size_t N>
  std::uint32_t list(const std::int64_t (&values)[N]) {
    std::int64_t row[N + 1] = {N};
    std::copy(values, values + N, row + 1);
    const auto at = static_cast<std::uint32_t>(out_.lists.size());
    out_.lists.insert(out_.lists.end(), row, row + N + 1);
    return at;
  }

  traces::OpBlock& out_;
};

}  // namespace weft::hpl_gen
