#include "hpl_gen/steps/rochpl_step.hpp"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "hpl_gen/steps/rochpl_comm.hpp"

namespace weft::hpl_gen {
namespace {

using traces::Kernel;
using traces::KernelShape;
using enum RocHplPart;

// Events: the end of each part's update, of the packing of its rows, of the copy of L1, of the columns in the host's
// memory.
enum Event : std::uint32_t { kUpdated = 0, kPacked = 3, kL1 = 6, kStreamed = 7, kEvents = 8 };
constexpr Event updated(RocHplPart p) { return static_cast<Event>(kUpdated + static_cast<int>(p)); }
constexpr Event packed(RocHplPart p) { return static_cast<Event>(kPacked + static_cast<int>(p)); }

// Leading dimensions avoid multiples of 128.
constexpr std::int64_t padded(std::int64_t n) { return (n + 95) / 128 * 128 + 32; }
// Numbers of 4 bytes, as doubles.
constexpr std::int64_t ints(std::int64_t n) { return (n * kInt + kDouble - 1) / kDouble; }

class Iteration {
 public:
  Iteration(RocHplLaunches& launched, OpSink& out) : launched_(launched), out_(out) {}

  // The last kernel that has anything to do is the event.
  void launch(Event e, std::initializer_list<KernelShape> kernels) {
    const KernelShape* last = nullptr;
    for (const KernelShape& k : kernels)
      if (k.m > 0 && k.n > 0 && k.k > 0) last = &k;
    if (last == nullptr) return;
    for (const KernelShape& k : kernels) {
      out_.launch(k, &k == last ? request(e) : traces::kNoRequest);
      if (&k == last) break;
    }
    launched_ |= static_cast<RocHplLaunches>(1u << e);
  }
  void wait(Event e) {
    if ((launched_ >> e & 1) == 0) return;
    launched_ &= static_cast<RocHplLaunches>(~(1u << e));
    out_.begin(kUpdate);
    out_.wait_launched(request(e));
    out_.end(kUpdate);
  }
  void wait_for_all() {
    if (launched_ == 0) return;
    out_.begin(kUpdate);
    for (std::uint32_t e = 0; e < kEvents; ++e)
      if ((launched_ >> e & 1) != 0) out_.wait_launched(request(static_cast<Event>(e)));
    out_.end(kUpdate);
    launched_ = 0;
  }

  // Rows that were exchanged to their places, then the solve for U and the product.
  void update(const RocHplPanel& p, RocHplPart part) {
    const std::int64_t n = p.columns_of(part), jb = p.panel.width, below = p.below();
    if (n <= 0 || jb <= 0) return;
    if (p.grid->p == 1)
      return launch(updated(part), {{Kernel::device_dlaswp, jb, n},
                                    {Kernel::device_dtrsm_left, jb, n},
                                    {Kernel::device_dlatcpy, n, jb},
                                    {Kernel::device_dgemm, below, n, jb}});
    const bool current = p.current();
    const std::int64_t in = current ? p.moves->rows_from[static_cast<std::size_t>(p.row)] - jb : own_rows(p);
    launch(updated(part), {{Kernel::device_dlaswp, in, n},
                           {Kernel::device_dlaswp, jb, n},
                           {Kernel::device_dtrsm_right, n, jb},
                           {Kernel::device_dgemm, below, n, jb},
                           {Kernel::device_dlatcpy, current ? jb : 0, n}});
  }
  // Rows that are to be exchanged into U.
  void pack(const RocHplPanel& p, RocHplPart part) {
    const std::int64_t n = p.columns_of(part);
    if (p.grid->p == 1 || n <= 0 || p.panel.width <= 0) return;
    // Without rows of its own a process still waits for what is queued before: one row stands for the event.
    const std::int64_t rows = p.current() ? p.panel.width : std::max<std::int64_t>(own_rows(p), 1);
    launch(packed(part), {{Kernel::device_dlaswp, rows, n}});
  }
  void exchange(const RocHplPanel& p, RocHplPart part) {
    if (p.grid->p == 1 || p.columns_of(part) <= 0 || p.panel.width <= 0) return;
    wait(packed(part));
    std::vector<std::int64_t> counts;
    counts.reserve(static_cast<std::size_t>(p.grid->p));
    for (int row = 0; row < p.grid->p; ++row) counts.push_back(rows_of(p, row));
    const std::int64_t width = p.width[static_cast<std::size_t>(part)];
    out_.begin(kSwap);
    if (p.through_host()) out_.kernel(Kernel::copy_to_host, p.current() ? p.panel.width : own_rows(p), width);
    emit_rochpl_rows(p, counts, width, out_);
    if (p.through_host()) {
      out_.kernel(Kernel::copy_to_device, p.panel.width, width);
      if (p.current())
        out_.kernel(Kernel::copy_to_host, p.panel.width, width);  // U, solved for, to its place
    }
    out_.end(kSwap);
  }
  void broadcast(const RocHplPanel& p) {
    if (p.grid->q == 1 && !p.through_host()) return;
    out_.begin(kBcast);
    // From its place in the matrix to where it is sent from, as in HPL 2.1 (HPL_copyL).
    if (p.through_host() && p.owns() && p.grid->q > 1) out_.kernel(Kernel::dlacpy, p.below(), p.panel.width);
    emit_rochpl_bcast(p, p.config->bcast, p.words, out_);
    if (p.through_host())
      out_.kernel(Kernel::copy_to_device, p.words);
    else if (!p.owns())  // the host reads how many rows go where
      out_.kernel(Kernel::copy_to_host, ints(p.grid->p + 2));
    out_.end(kBcast);
  }
  // What stays with the host goes to the accelerator and comes back: 2 = both ways at once.
  void stream(const RocHplPanel& p) { launch(kStreamed, {{Kernel::copy_to_device, p.rows, p.streamed, 2}}); }

 private:
  static std::uint32_t request(Event e) {
    return static_cast<std::uint32_t>(kLaunched) + static_cast<std::uint32_t>(e);
  }
  static std::int64_t rows_of(const RocHplPanel& p, int row) {
    const auto slot = static_cast<std::size_t>(p.moves->slot_of[static_cast<std::size_t>(row)]);
    return p.moves->u_prefix[slot + 1] - p.moves->u_prefix[slot];
  }
  static std::int64_t own_rows(const RocHplPanel& p) { return rows_of(p, p.row); }

  RocHplLaunches& launched_;
  OpSink& out_;
};

}  // namespace

std::int64_t columns_without_room(std::int64_t memory, std::int64_t rows, std::int64_t columns,
                                  std::int64_t nb) {
  if (memory == 0 || rows <= 0) return 0;
  const std::int64_t room =
      std::max<std::int64_t>(memory - device_buffers(nb, rows, columns), 0) / (rows * kDouble);
  return std::min((std::max<std::int64_t>(columns - room, 0) + nb - 1) / nb * nb, columns);
}

RocHplPanel rochpl_panel(const HplConfig& c, const PanelSeat& seat, const RowExchange* moves) {
  RocHplPanel p{seat, &c, moves, {}, {}, 0, 0};
  const std::int64_t jb = seat.panel.width, nb = c.nb;
  const std::int64_t left =
      local_count(seat.panel.first, c.n + 1, nb, seat.col, c.q) - (seat.owns() ? jb : 0);
  const bool next_is_mine = seat.col == ring_add(seat.panel.col, 1, c.q);
  const std::int64_t mine = local_count(c.n + 1, nb, seat.col, c.q);
  const std::int64_t outside =
      columns_without_room(c.rochpl.device_memory, local_count(c.n, nb, seat.row, c.p), mine, nb);
  p.streamed = std::max<std::int64_t>(left - (mine - outside), 0);
  const std::int64_t ahead = next_is_mine ? std::min(jb, left) : 0;
  std::int64_t second = left - ahead;
  if (c.p > 1) {
    second =
        std::min(second, static_cast<std::int64_t>(static_cast<double>(mine) * c.rochpl.split) / nb * nb);
  }
  const std::int64_t first = left - ahead - second;
  p.columns = {ahead, first, second};
  p.width = {ahead, padded(first), padded(second)};
  // L2, padded, with L1 behind it and what a process needs to know of the pivots.
  p.words = padded(seat.rows) * jb + jb * jb + ints(4 * nb + 1 + c.p + 1);
  return p;
}

void emit_rochpl_until_factor(const RocHplPanel* curr, const RocHplPanel& next, RocHplLaunches& launched,
                              OpSink& out) {
  Iteration it(launched, out);
  if (curr != nullptr) {
    if (next.owns()) it.update(*curr, kLookAhead);
    it.update(*curr, kSecond);
    it.stream(*curr);
  }
  if (!next.owns()) return;
  it.wait(updated(kLookAhead));
  out.begin(kPfact);
  out.kernel(Kernel::copy_to_host, next.rows, next.panel.width);
  out.end(kPfact);
}

void emit_rochpl_after_factor(const RocHplPanel* curr, const RocHplPanel& next, RocHplLaunches& launched,
                              OpSink& out) {
  Iteration it(launched, out);
  const std::int64_t jb = next.panel.width;
  if (next.owns()) {
    if (!next.through_host()) {
      out.begin(kPfact);
      out.kernel(Kernel::copy_to_device, next.words);
      out.kernel(Kernel::copy_to_device, ints(next.grid->p == 1 ? 2 * jb : 4 * jb + 1 + next.grid->p + 1));
      out.end(kPfact);
    }
    // The first iteration does not wait for its accelerator at its end.
    it.wait(kL1);
    if (next.current()) it.launch(kL1, {{Kernel::device_dlatcpy, jb, jb}});
  }
  it.broadcast(next);
  it.pack(next, kSecond);
  if (curr == nullptr) {
    it.pack(next, kLookAhead);
    it.pack(next, kFirst);
    it.exchange(next, kSecond);
    it.exchange(next, kLookAhead);
    return;
  }
  it.exchange(*curr, kFirst);
  it.update(*curr, kFirst);
  it.pack(next, kLookAhead);
  it.pack(next, kFirst);
  it.exchange(next, kSecond);
  it.exchange(next, kLookAhead);
  it.wait_for_all();
}

void emit_rochpl_end(const RocHplPanel& last, RocHplLaunches& launched, OpSink& out) {
  Iteration it(launched, out);
  it.update(last, kLookAhead);
  it.update(last, kSecond);
  it.wait_for_all();
}

}  // namespace weft::hpl_gen
