#include "hpl_gen/steps/rochpl_comm.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "hpl_gen/steps/scatter_roll.hpp"

namespace weft::hpl_gen {
namespace {

// One chain of a ring broadcast: who the process gets the words from and whom it forwards them to.
struct Chain {
  std::int64_t words = 0;
  int from = -1, to = -1;  // process columns; -1: nobody
  std::uint32_t receive = kReceive, send = kSend;
};

class Rings {
 public:
  // `piece`: doubles that travel at a time.
  Rings(const PanelSeat& seat, std::int64_t piece, OpSink& out) : seat_(seat), piece_(piece), out_(out) {}

  void run(std::span<const Chain> chains) {
    for (const Chain& c : chains) ask(c, 0);
    std::int64_t pieces = 0;
    for (const Chain& c : chains) pieces = std::max(pieces, pieces_of(c));
    for (std::int64_t i = 0; i < pieces; ++i)
      for (const Chain& c : chains) {
        if (i >= pieces_of(c)) continue;
        if (c.from >= 0) {
          out_.wait(rank(c.from), c.from, length(c, i), comm(), c.receive);
          ask(c, i + 1);
        }
        if (c.to < 0) continue;
        if (i > 0) sent(c, i - 1);
        out_.isend(rank(c.to), seat_.col, length(c, i), comm(), c.send);
      }
    for (const Chain& c : chains)
      if (c.to >= 0 && pieces_of(c) > 0) sent(c, pieces_of(c) - 1);
  }

 private:
  [[nodiscard]] CommId comm() const { return seat_.row_comm(); }
  [[nodiscard]] int rank(int col) const { return seat_.grid->rank_of(seat_.row, col); }
  [[nodiscard]] std::int64_t pieces_of(const Chain& c) const { return (c.words + piece_ - 1) / piece_; }
  // Bytes of piece i.
  [[nodiscard]] std::int64_t length(const Chain& c, std::int64_t i) const {
    return std::min(piece_, c.words - i * piece_) * kDouble;
  }
  // The sender's column is the tag.
  void ask(const Chain& c, std::int64_t i) {
    if (c.from >= 0 && i < pieces_of(c)) out_.irecv(rank(c.from), c.from, length(c, i), comm(), c.receive);
  }
  void sent(const Chain& c, std::int64_t i) {
    out_.wait(rank(c.to), seat_.col, length(c, i), comm(), c.send);
  }

  const PanelSeat& seat_;
  std::int64_t piece_;
  OpSink& out_;
};

// Through the members of a ring in both directions or one: member 0 is the root. `column`: of a member.
template <class Column>
void ring(const PanelSeat& seat, int me, int size, bool both, std::int64_t words, Column&& column,
          OpSink& out) {
  const std::int64_t piece = std::min(kRocHplPiece, words);
  Rings rings(seat, piece, out);
  const int next = column(ring_add(me, 1, size)), prev = column(ring_sub(me, 1, size));
  Chain up{words, me == 0 ? -1 : prev, me == size - 1 ? -1 : next, kReceive, kSend};
  if (!both) return rings.run(std::array{up});
  // The first half of the pieces goes up, the rest down.
  const std::int64_t pieces = (words + piece - 1) / piece;
  up.words = (pieces + 1) / 2 * piece;
  const Chain down{words - up.words, me == 0 ? -1 : next, me == 1 ? -1 : prev, kReceive + 1, kSend + 1};
  rings.run(std::array{up, down});
}

template <class Column>
void long_one(const PanelSeat& seat, int me, int size, std::int32_t tag, std::int64_t words, Column&& column,
              OpSink& out) {
  const CommId comm = seat.row_comm();
  const auto rank = [&](int member) { return seat.grid->rank_of(seat.row, column(member)); };
  scatter_and_roll(
      me, size, words,
      [&](int partner, std::int64_t n, bool receives) {
        if (n == 0) return;
        if (receives)
          out.recv(rank(partner), tag, n * kDouble, comm);
        else
          out.send(rank(partner), tag, n * kDouble, comm);
      },
      [&](int partner, std::int64_t n_sent, std::int64_t n_received) {
        const int peer = rank(partner);
        if (n_received > 0) out.irecv(peer, tag, n_received * kDouble, comm);
        if (n_sent > 0) out.send(peer, tag, n_sent * kDouble, comm);
        if (n_received > 0) out.wait(peer, tag, n_received * kDouble, comm);
      });
}

}  // namespace

void emit_rochpl_bcast(const PanelSeat& seat, Bcast kind, std::int64_t words, OpSink& out) {
  const int q = seat.grid->q, root = seat.panel.col;
  if (q <= 1 || words <= 0) return;
  const int me = ring_sub(seat.col, root, q);
  const auto all = [&](int member) { return ring_add(root, member, q); };
  const bool modified = kind == Bcast::k1RingM || kind == Bcast::k2RingM || kind == Bcast::kLongM;
  if (modified) {  // the next root has a copy of its own, sent first
    const int next = seat.grid->rank_of(seat.row, all(1)), owner = seat.grid->rank_of(seat.row, root);
    if (me == 0) out.send(next, root, words * kDouble, seat.row_comm());
    if (me == 1) out.recv(owner, root, words * kDouble, seat.row_comm());
    if (me == 1 || q == 2) return;
  }
  const auto others = [&](int member) { return all(member == 0 ? 0 : member + 1); };
  const int among = me == 0 ? 0 : me - 1;
  switch (kind) {
    case Bcast::k1Ring:
      return ring(seat, me, q, false, words, all, out);
    case Bcast::k1RingM:
      return ring(seat, among, q - 1, false, words, others, out);
    case Bcast::k2Ring:
      return ring(seat, me, q, true, words, all, out);
    case Bcast::k2RingM:
      return ring(seat, among, q - 1, true, words, others, out);
    case Bcast::kLong:
      return long_one(seat, me, q, 0, words, all, out);
    case Bcast::kLongM:
      return long_one(seat, among, q - 1, root, words, others, out);
  }
}

void emit_rochpl_rows(const PanelSeat& seat, std::span<const std::int64_t> counts, std::int64_t words,
                      OpSink& out) {
  const int p = seat.grid->p;
  const CommId comm = seat.col_comm();
  const auto rank = [&](int row) { return seat.grid->rank_of(row, seat.col); };
  const auto bytes = [&](int row) { return counts[static_cast<std::size_t>(row)] * words * kDouble; };
  if (seat.current()) {
    std::vector<std::int64_t> requests;
    for (int row = 0; row < p; ++row) {
      if (row == seat.row || bytes(row) == 0) continue;
      const std::uint32_t request = kScattered + static_cast<std::uint32_t>(row);
      out.isend(rank(row), seat.panel.row, bytes(row), comm, request);
      requests.push_back(request);
    }
    if (!requests.empty()) out.waitall(requests);
  } else if (bytes(seat.row) > 0) {
    out.recv(rank(seat.panel.row), seat.panel.row, bytes(seat.row), comm);
  }
  for (int k = 0; k + 1 < p; ++k) {
    const int l = k / 2;
    const bool backward = ((seat.row + k) & 1) != 0;
    const int give = backward ? ring_add(seat.row, l, p) : ring_sub(seat.row, l, p);
    const int get = backward ? ring_sub(seat.row, l + 1, p) : ring_add(seat.row, l + 1, p);
    const int peer = rank(backward ? ring_sub(seat.row, 1, p) : ring_add(seat.row, 1, p));
    if (bytes(get) > 0) out.irecv(peer, 0, bytes(get), comm);
    if (bytes(give) > 0) out.send(peer, 0, bytes(give), comm);
    if (bytes(get) > 0) out.wait(peer, 0, bytes(get), comm);
  }
}

}  // namespace weft::hpl_gen
