#include "hpl_gen/steps/panel_bcast.hpp"

#include "hpl_gen/steps/scatter_roll.hpp"

namespace weft::hpl_gen {
namespace {

// Of an update with binary exchanges on up to 1,024 process rows, and of a roll on a few.
constexpr std::size_t kMostlyPolls = 16;

int next_of(int i, int n) { return ring_add(i, 1, n); }
int prev_of(int i, int n) { return ring_sub(i, 1, n); }

// Where the second chain of the two-ring broadcasts starts.
int middle_of(int root, int q) { return ring_add(root, (q + 1) / 2 % q, q); }

}  // namespace

int PanelBcast::ring_source() const {
  const int q = seat_.grid->q, me = seat_.col, root = seat_.panel.col;
  const int prev = prev_of(me, q);
  const bool second = prev_of(prev, q) == root;  // two after the root
  switch (seat_.kind) {
    case Bcast::k1RingM:
      return q > 2 && second ? root : prev;
    case Bcast::k2Ring:
      return prev == root || me == middle_of(root, q) ? root : prev;
    case Bcast::k2RingM:
      return prev == root || me == middle_of(root, q) || second ? root : prev;
    default:
      return prev;
  }
}

bool PanelBcast::ring_forwards() const {
  const int q = seat_.grid->q, me = seat_.col, root = seat_.panel.col;
  const int next = next_of(me, q), prev = prev_of(me, q);
  switch (seat_.kind) {
    case Bcast::k1RingM:
      return prev != root && next != root;
    case Bcast::k2Ring:
      return next != middle_of(root, q) && next != root;
    case Bcast::k2RingM:
      return prev != root && next != middle_of(root, q) && next != root;
    default:
      return next != root;
  }
}

void PanelBcast::ring_root(OpSink& out) {
  const ProcessGrid& g = *seat_.grid;
  const int q = g.q, next = next_of(seat_.col, q);
  const CommId comm = seat_.row_comm();
  const auto send = [&](int col) {
    out.send(g.rank_of(seat_.row, col), seat_.tag, seat_.words * kDouble, comm);
  };
  send(next);
  if (q <= 2) return;
  const int second = next_of(next, q), middle = middle_of(seat_.panel.col, q);
  if (seat_.kind == Bcast::k1RingM || (seat_.kind == Bcast::k2RingM && second != middle)) send(second);
  if (seat_.kind == Bcast::k2Ring || seat_.kind == Bcast::k2RingM) send(middle);
}

// Pieces without data travel as empty messages.
void PanelBcast::scatter_roll(OpSink& out, int me, int size, auto&& world) {
  const CommId comm = seat_.row_comm();
  scatter_and_roll(
      me, size, seat_.words,
      [&](int partner, std::int64_t words, bool receives) {
        if (receives)
          out.recv(world(partner), seat_.tag, words * kDouble, comm);
        else
          out.ssend(world(partner), seat_.tag, words * kDouble, comm);
      },
      [&](int partner, std::int64_t sent, std::int64_t received) {
        const int peer = world(partner);
        out.issend(peer, seat_.tag, sent * kDouble, comm);
        out.recv(peer, seat_.tag, received * kDouble, comm);
        out.wait(peer, seat_.tag, 0, comm);
      });
}

void PanelBcast::long_bcast(OpSink& out) {
  const ProcessGrid& g = *seat_.grid;
  scatter_roll(out, ring_sub(seat_.col, seat_.panel.col, g.q), g.q,
               [&](int i) { return g.rank_of(seat_.row, ring_add(seat_.panel.col, i, g.q)); });
}

void PanelBcast::long_modified(OpSink& out) {
  const ProcessGrid& g = *seat_.grid;
  const CommId comm = seat_.row_comm();
  const std::int64_t bytes = seat_.words * kDouble;
  const int me = ring_sub(seat_.col, seat_.panel.col, g.q);
  const auto world = [&](int distance) {
    return g.rank_of(seat_.row, ring_add(seat_.panel.col, distance, g.q));
  };
  if (me == 0) out.ssend(world(1), seat_.tag, bytes, comm);
  if (me == 1) out.recv(world(0), seat_.tag, bytes, comm);
  if (me == 1 || g.q == 2) return;
  // The others: the root is member 0, the process at distance d >= 2 is member d - 1.
  scatter_roll(out, me == 0 ? 0 : me - 1, g.q - 1, [&](int i) { return world(i == 0 ? 0 : i + 1); });
}

bool PanelBcast::begin(OpSink& out) {
  if (!open_) return false;
  const bool rings = seat_.kind != Bcast::kLong && seat_.kind != Bcast::kLongM;
  if (rings && !seat_.owns()) {
    receiver_ = true;
    source_ = seat_.grid->rank_of(seat_.row, ring_source());
    comm_ = seat_.row_comm();
    return true;
  }
  out.begin(kBcast);
  if (rings)
    ring_root(out);
  else if (seat_.kind == Bcast::kLong)
    long_bcast(out);
  else
    long_modified(out);
  out.end(kBcast);
  open_ = false;
  return false;
}

void PanelBcast::complete(OpSink& out) {
  if (begin(out)) finish(out);
}

void PanelBcast::start(OpSink& out) {
  if (begin(out)) poll(out);
}

void PanelBcast::poll(OpSink& out) {
  if (!pending()) return;
  if (misses_.empty()) misses_.reserve(kMostlyPolls);
  misses_.push_back({out.poll(source_, seat_.tag, comm_)});
}

void PanelBcast::finish(OpSink& out) {
  if (!pending()) return;
  const ProcessGrid& g = *seat_.grid;
  const std::int64_t bytes = seat_.words * kDouble;
  out.begin(kBcast);
  const std::size_t hit = out.hit(source_, seat_.tag, bytes, comm_);
  out.recv(source_, seat_.tag, bytes, comm_);
  if (ring_forwards()) out.send(g.rank_of(seat_.row, next_of(seat_.col, g.q)), seat_.tag, bytes, comm_);
  out.set_body(hit);
  out.end(kBcast);
  for (const Misses& m : misses_)
    for (std::size_t i = 0; i < m.times; ++i) out.resolve(m.at(i), hit);
  misses_.clear();
  open_ = false;
}

}  // namespace weft::hpl_gen
