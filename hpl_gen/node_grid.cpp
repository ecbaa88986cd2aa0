#include "hpl_gen/node_grid.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/counted.hpp"

namespace weft::hpl_gen {

Result<HplConfig> with_node_grid(HplConfig c, int on_node) {
  if (c.program != Program::kRocHpl) return c;
  int &p = c.rochpl.local_p, &q = c.rochpl.local_q;
  const bool says_p = p > 0, says_q = q > 0;
  if (on_node == 0) {
    if (says_p != says_q)
      return usage_error(
          fmt::format("--local-{} alone: the other is what it leaves of a node's processes, and "
                      "nothing says how many these are",
                      says_p ? 'p' : 'q'),
          fmt::format("{}", says_p ? p : q), "--local-p and --local-q, or neither");
    return c;
  }
  if (!says_p && !says_q) {
    q = std::min(c.q, on_node);
    p = on_node / q;
    if (p * q != on_node || c.p % p != 0 || c.q % q != 0)
      return bad_input(
          {}, "rocHPL does not lay the grid on the nodes by itself",
          fmt::format("{} x {} on nodes of {}", c.p, c.q, counted(on_node, "process")),
          fmt::format("--local-p and --local-q that multiply to {} and divide {} and {}", on_node, c.p, c.q));
    return c;
  }
  if (says_p && says_q) {
    if (std::int64_t{p} * q != on_node)
      return bad_input({}, "process rows x columns on a node are not its processes",
                       fmt::format("{} x {}", p, q), counted(on_node, "process"));
  } else {
    int& open = says_p ? q : p;
    const int said = says_p ? p : q;
    if (on_node % said != 0)
      return bad_input(
          {},
          fmt::format("a node's processes are no multiple of its process {}", says_p ? "rows" : "columns"),
          fmt::format("{}", said), fmt::format("a divisor of {}", on_node));
    open = on_node / said;
  }
  WEFT_TRY(check_config(c));
  return c;
}

bool takes_grid(const HplDat& dat, const Grid& grid, int on_node) {
  HplConfig c;
  c.p = grid.p, c.q = grid.q;
  c.program = dat.program, c.rochpl = dat.rochpl;
  return check_config(c).has_value() && with_node_grid(c, on_node).has_value();
}

}  // namespace weft::hpl_gen
