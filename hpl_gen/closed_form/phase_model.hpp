// Phase model: the time of an HPL run summed panel by panel from what each panel computes and moves, without
// replaying a message. For machines too large to replay (27,000 GPUs) and as a check of the replay.
//
// One panel k of width NB on a P x Q grid, m and n = rows and columns that are left, local: (N - k NB) / P and / Q.
//   update     gemm = (2 m n NB + n NB^2) / R;  if the local matrix does not fit into the device's memory, the part
//   that
//              does not, crosses the host link in and out once:  max(gemm, s (8 m n - memory) / host), s ranks on a link
//   broadcast  L = 8 m NB bytes through each process row:  bcast = max over nodes of (rows leaving it L / injection),
//              or what the node's devices take from a shared host link, or L as one message
//   swap       U = 8 n NB bytes in each process column, spread and rolled: the rank that has the panel's rows sends
//              (P - 1) / P U to the others, then each of the P sends (P - 1) / P U around the ring. So h ranks of a
//              column on one node, one of them that rank, send (1 + h) (P - h) / P U out of it, and (1 + h) (P - 1) / P
//              U over a host link that they share; alone 2 (P - 1) / P U. Over injection or host link or as the
//              messages of one rank, whichever is slowest, plus (lg P + P - 1) latency
//   pivots     NB exchanges, 2 lg P latencies each
//   T_k = max(update + exposed swap, bcast + pivots)
// One message gets at most message_share of the narrowest link on its way, links and ports are shared at their full
// rates (the max-rate model: Gropp, Olson, Samfass, EuroMPI'16). It is what a replay's bandwidth_factor does.
// Netlib's order (DEPTH >= 1): the look-ahead hides the broadcast behind the update, nothing hides the swap.
// Overlap::kSwap is an update that hides the swap whole. Overlap::kNone is DEPTH 0.
// Overlap::kSplit is rocHPL's order (docs/hpl.md, 11). c columns take update(c) and swap(c), the terms above with c for n;
// of n columns w = min(NB, n) are the look-ahead's, s = min(n - w, split N / Q) the second part (P = 1: n - w), f the rest:
//   panel = copies of the panel + factorisation + pivots + bcast
//   T_k   = update(w) + max(update(s), panel + swap(f)) + max(update(f), swap(s)) + swap(w)
// (rocHPL's matrix must fit into the devices' memory; one that does not slows all parts of the update alike here.)
//
// Sources: the algorithm of netlib HPL (its scalability page gives the same terms, eq. 3, with 3 U instead of the
// 2 U (P - 1) / P of the spread-roll critical path). Host link and memory: the layers of the MCL HPL model, used as
// what they physically are. Complexity: O(panels + ranks log ranks).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/units.hpp"

namespace weft::hpl_gen {

enum class Overlap : std::uint8_t {
  kNone,   // every phase after the other
  kPanel,  // look-ahead: panel factorisation and broadcast behind the update
  kSwap,   // and the swap behind the update too
  kSplit,  // rocHPL: panel and one part of the swap behind one part of the update, the other behind the other
};

// A machine as the phase model sees it: nodes of equal ranks. A rank is what has one place in the P x Q grid:
// a device (GPU), or a whole node of CPUs.
struct PhaseMachine {
  FlopRate gemm;                         // of a rank, sustained on large updates
  std::uint32_t ranks_per_node = 1;      // consecutive ranks share a node, unless ...
  std::vector<std::uint32_t> node_of{};  // ... this says by rank which node it is on
  Bandwidth injection;                   // of a node into the fabric, one direction, all its NICs
  Duration latency{};                    // of a short message between nodes
  std::optional<Bandwidth> host_link =
      std::nullopt;                       // device to host memory, one direction; nullopt: no such link
  std::uint32_t ranks_per_host_link = 1;  // ranks that share it
  Bytes device_memory{0};                 // of a rank; 0: no limit
  // Of a rank, what goes to the device while as much comes back; nullopt: as host_link, shared.
  std::optional<Bandwidth> stream_link = std::nullopt;
  double message_share = 1;  // in (0, 1]: what staging and protocol leave of the narrowest link
  // kSplit only: the host factors panels.
  std::optional<Bandwidth> panel_link =
      std::nullopt;                               // of a rank to its host, one direction; nullopt: no copies
  std::optional<FlopRate> factor = std::nullopt;  // of the cores that factor a rank's rows; nullopt: no time
};

struct PhaseRun {
  std::int64_t n = 0, nb = 0;
  std::int64_t p = 1, q = 1;
  bool row_major = true;  // PMAP: rank = row * Q + column
  std::int64_t local_p = 0,
               local_q = 0;  // of a node that is filled at a time (grid.hpp), without row_major; 0: none
  Overlap overlap = Overlap::kPanel;
  double split = 0.6;  // kSplit: the second part's share of all columns
};

// Seconds over all panels. time_s is their overlap, not their sum.
struct PhaseTimes {
  double time_s = 0;
  double update_s = 0;  // arithmetic
  double stream_s = 0;  // what the host link adds to the update, where the matrix does not fit
  double swap_s = 0;    // exposed
  double bcast_s = 0;   // exposed broadcast and pivots
  double hidden_s = 0;  // broadcast, pivots, swap behind the update
  double gflops = 0;    // by HPL's own formula
};

// Precondition: n, nb, p, q >= 1; gemm and injection > 0; message_share in (0, 1].
[[nodiscard]] PhaseTimes phase_model(const PhaseMachine& machine, const PhaseRun& run);

// The rate of `gemm` with which `run` on this machine gives `gflops`: calibration on one measured run, by bisection to
// 1e-12. Precondition: gflops can be reached.
[[nodiscard]] FlopRate gemm_from_run(PhaseMachine machine, const PhaseRun& run, double gflops);

// The message_share with which `run` gives `gflops`, likewise. 1 where even that is too slow.
[[nodiscard]] double message_share_from_run(PhaseMachine machine, const PhaseRun& run, double gflops);

}  // namespace weft::hpl_gen
