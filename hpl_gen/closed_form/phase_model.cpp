#include "hpl_gen/closed_form/phase_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "hpl_gen/closed_form/closed_form.hpp"
#include "hpl_gen/grid.hpp"

namespace weft::hpl_gen {
namespace {

// The most that any group of ranks sends for one panel, in units of L and of U.
struct GroupTraffic {
  double rows_out = 0;   // ranks whose right-hand neighbour is in another group
  double swap_out = 0;   // to other groups, the panel's rows being in this one
  double swap_sent = 0;  // to anybody
};

// `group_of`: a number for the group of a rank.
template <class GroupOf>
GroupTraffic fullest_group(const PhaseRun& run, GroupOf&& group_of) {
  const ProcessGrid grid{static_cast<int>(run.p),
                         static_cast<int>(run.q),
                         run.row_major ? ProcessMap::kRowMajor : ProcessMap::kColumnMajor,
                         1,
                         static_cast<int>(run.local_p),
                         static_cast<int>(run.local_q)};
  const auto p = static_cast<double>(run.p);
  struct Seat {
    std::int64_t group;
    int column;
    bool sends_out;
  };
  std::vector<Seat> seats;
  seats.reserve(static_cast<std::size_t>(grid.size()));
  for (int rank = 0; rank < grid.size(); ++rank) {
    const int column = grid.col_of(rank);
    const int neighbour = grid.rank_of(grid.row_of(rank), ring_add(column, 1, grid.q));
    seats.push_back({group_of(rank), column, group_of(neighbour) != group_of(rank)});
  }
  std::sort(seats.begin(), seats.end(), [](const Seat& a, const Seat& b) {
    return std::pair(a.group, a.column) < std::pair(b.group, b.column);
  });
  GroupTraffic most;
  for (auto at = seats.begin(); at != seats.end();) {
    GroupTraffic group;
    for (const std::int64_t number = at->group; at != seats.end() && at->group == number;) {
      double here = 0;  // ranks of one process column
      for (const int column = at->column; at != seats.end() && at->group == number && at->column == column;
           ++at) {
        if (at->sends_out) group.rows_out += 1;
        here += 1;
      }
      group.swap_out += (1 + here) * (p - here) / p;
      group.swap_sent += (1 + here) * (p - 1) / p;
    }
    most.rows_out = std::max(most.rows_out, group.rows_out);
    most.swap_out = std::max(most.swap_out, group.swap_out);
    most.swap_sent = std::max(most.swap_sent, group.swap_sent);
  }
  return most;
}

// Consecutive ranks, so many each.
auto in_order(std::int64_t per) {
  return [per](int rank) { return rank / per; };
}

}  // namespace

PhaseTimes phase_model(const PhaseMachine& machine, const PhaseRun& run) {
  WEFT_CHECK(run.n >= 1 && run.nb >= 1 && run.p >= 1 && run.q >= 1 && machine.ranks_per_node >= 1 &&
                 machine.ranks_per_host_link >= 1,
             "a run has positive sizes");
  WEFT_CHECK(machine.message_share > 0 && machine.message_share <= 1, "a message gets a part of its link");
  const auto p = static_cast<double>(run.p), q = static_cast<double>(run.q), nb = static_cast<double>(run.nb);
  const double alpha = to_seconds(machine.latency), lg_p = std::log2(p);
  const double own_share = (p - 1) / p;
  WEFT_CHECK(machine.node_of.empty() || machine.node_of.size() == static_cast<std::size_t>(run.p * run.q),
             "a node for every rank");
  const GroupTraffic node = machine.node_of.empty()
                                ? fullest_group(run, in_order(machine.ranks_per_node))
                                : fullest_group(run, [&](int rank) -> std::int64_t {
                                    return machine.node_of[static_cast<std::size_t>(rank)];
                                  });
  const GroupTraffic device = fullest_group(run, in_order(machine.ranks_per_host_link));
  const double sharing = std::min<double>(machine.ranks_per_host_link, p * q);
  const double memory = static_cast<double>(machine.device_memory.value());

  const double stream_rate = machine.stream_link ? machine.stream_link->value()
                             : machine.host_link ? machine.host_link->value() / sharing
                                                 : 0;

  const double inside = machine.host_link ? machine.host_link->value() : INFINITY;
  const double outside = std::min(inside, machine.injection.value());
  const double column_rate = machine.message_share * (node.swap_out > 0 ? outside : inside);
  const double row_rate = machine.message_share * (node.rows_out > 0 ? outside : inside);

  // What U of so many local columns takes.
  const auto swap_of = [&](double columns, double width) {
    const double u_bytes = 8 * columns * width;
    double swap = node.swap_out * u_bytes / machine.injection.value();
    if (run.p > 1) swap = std::max(swap, 2 * own_share * u_bytes / column_rate);
    if (machine.host_link) swap = std::max(swap, device.swap_sent * u_bytes / machine.host_link->value());
    if (run.p > 1 && columns > 0) swap += (lg_p + p - 1) * alpha;
    return swap;
  };
  const auto update_of = [&](double m, double columns, double width) {
    return (2 * m * columns * width + columns * width * width) / machine.gemm.value();
  };

  PhaseTimes t;
  for (std::int64_t done = 0; done < run.n; done += run.nb) {
    const double width = std::min(nb, static_cast<double>(run.n - done));
    const double left = static_cast<double>(run.n - done);
    const double m = left / p, n = left / q;
    const double arithmetic = update_of(m, n, width);
    const double l_bytes = 8 * m * width;

    double update = arithmetic;
    double bcast = node.rows_out * l_bytes / machine.injection.value();
    double swap = swap_of(n, width);
    if (run.q > 1) bcast = std::max(bcast, l_bytes / row_rate);
    if (memory > 0 && stream_rate > 0)
      update = std::max(update, std::max(0.0, 8 * m * n - memory) / stream_rate);
    if (machine.host_link) {
      const double link = machine.host_link->value();
      if (run.q > 1) bcast = std::max(bcast, sharing * l_bytes / link);
    }
    double panel = bcast + 2 * width * lg_p * alpha;

    double total = 0, exposed_swap = swap;
    switch (run.overlap) {
      case Overlap::kNone:
        total = update + swap + panel;
        break;
      case Overlap::kPanel:
        total = std::max(update + swap, panel);
        break;
      case Overlap::kSwap:
        total = std::max({update, swap, panel});
        exposed_swap = std::max(0.0, swap - update);
        break;
      case Overlap::kSplit: {
        if (machine.panel_link) panel += 2 * l_bytes / machine.panel_link->value();
        if (machine.factor) panel += m * width * width / machine.factor->value();
        const double ahead = std::min(width, n);
        const double second =
            run.p > 1 ? std::min(n - ahead, run.split * static_cast<double>(run.n) / q) : n - ahead;
        const double first = n - ahead - second;
        const double streamed =
            arithmetic > 0 ? update / arithmetic : 1;  // what does not fit slows all parts alike
        const double under_second = streamed * update_of(m, second, width),
                     under_first = streamed * update_of(m, first, width);
        const double swap_first = swap_of(first, width), swap_second = swap_of(second, width),
                     swap_ahead = swap_of(ahead, width);
        swap = swap_first + swap_second + swap_ahead;
        const double before = std::max(0.0, panel + swap_first - under_second);
        const double after = std::max(0.0, swap_second - under_first);
        total = update + before + after + swap_ahead;
        exposed_swap = swap_ahead + after + std::min(before, swap_first);
        break;
      }
    }
    t.time_s += total;
    t.update_s += arithmetic;
    t.stream_s += update - arithmetic;
    t.swap_s += exposed_swap;
    const double exposed_panel = std::max(0.0, total - update - exposed_swap);
    t.bcast_s += exposed_panel;
    t.hidden_s += std::max(0.0, (panel - exposed_panel) + (swap - exposed_swap));
  }
  t.gflops = hpl_gflops(run.n, t.time_s);
  return t;
}

FlopRate gemm_from_run(PhaseMachine machine, const PhaseRun& run, double gflops) {
  double low = gflops * 1e9 / static_cast<double>(run.p * run.q) / 4, high = low * 1024;
  for (int i = 0; i < 200 && high / low > 1 + 1e-12; ++i) {
    machine.gemm = FlopRate(std::sqrt(low * high));
    (phase_model(machine, run).gflops < gflops ? low : high) = machine.gemm.value();
  }
  return FlopRate(high);
}

double message_share_from_run(PhaseMachine machine, const PhaseRun& run, double gflops) {
  double low = 1e-6, high = 1;
  while (high / low > 1 + 1e-12) {
    machine.message_share = std::sqrt(low * high);
    (phase_model(machine, run).gflops < gflops ? low : high) = machine.message_share;
  }
  return high;
}

}  // namespace weft::hpl_gen
