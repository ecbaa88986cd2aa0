// HPL.dat as flags: every line of the file has one, over what --dat says. A flag takes a list of values joined by commas
// where the file does.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "hpl_gen/hpl_dat.hpp"

namespace weft::cli {

struct HplFlags {
  std::string dat;
  std::string n, nb, p, q, pmap, pfact, nbmin, ndiv, rfact, bcast, depth, swap, swap_threshold, l1, u, equil;

  void add(CLI::App& app);
  // The file, or HPL's defaults, with the flags over it. "auto" for N is left to the caller: n.clear() then.
  // Errors: kUsage naming the flag, kBadInput from the file.
  [[nodiscard]] Result<hpl_gen::HplDat> read() const;
  [[nodiscard]] bool has_n() const { return (!n.empty() && n != "auto") || (n.empty() && !dat.empty()); }
  [[nodiscard]] bool has_nb() const { return !nb.empty() || !dat.empty(); }
  [[nodiscard]] bool has_grid() const { return !p.empty() || !q.empty() || !dat.empty(); }
};

}  // namespace weft::cli
