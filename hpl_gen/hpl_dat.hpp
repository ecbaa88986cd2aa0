// HPL.dat: the input file of HPL, and one run of it.
//
// The file is a list of 31 lines whose meaning is their position; most hold a count and then that many values, and
// HPL runs the cross product: grids outermost, then N, NB, DEPTH, BCAST, RFACT, PFACT, NBMIN, NDIV.
//
// HplDat is the file (lists), HplConfig one run. Both can be written back as a file that HPL reads the same way.
// Units: N, NB and the like count matrix rows or columns; `align` counts doubles.
//
// Numbers out of range that HPL replaces without a word (PFACT 7 becomes right-looking, BCAST 9 becomes 1rM, SWAP 5
// becomes long) are replaced in the same way and named in `notes`. What HPL refuses is an error with FILE:LINE:COLUMN.
// rocHPL reads the same file otherwise (HPL_pdinfo.cpp): BCAST 9 becomes LnM, and it refuses any DEPTH and SWAP but 1, U and
// equilibration but 0.
// Beyond HPL: text where a number must stand, missing lines, and blanks that make HPL's own reader misread a list
// (it steps over a value and one blank, so that extra blanks shift it) are errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace weft::hpl_gen {

enum class Factor : std::uint8_t { kLeft, kCrout, kRight };                           // PFACT, RFACT
enum class Bcast : std::uint8_t { k1Ring, k1RingM, k2Ring, k2RingM, kLong, kLongM };  // BCAST
enum class Swap : std::uint8_t { kBinaryExchange, kSpreadRoll, kMix };                // SWAP
enum class ProcessMap : std::uint8_t { kRowMajor, kColumnMajor };                     // PMAP

// Which program reads the file, and what it is told beside it.
enum class Program : std::uint8_t {
  kNetlib,  // HPL 2.3
  kRocHpl,  // AMD's for its GPUs, ROCm/rocHPL 6.1 (steps/rochpl_step.hpp)
  kNvidia,  // NVIDIA's for its GPUs, HPL-NVIDIA 1.0, as far as it is known: rocHPL's order, rows and panels through hosts
};
// Processes have accelerators, which update while hosts factor.
[[nodiscard]] constexpr bool on_accelerators(Program p) { return p != Program::kNetlib; }
struct RocHplArguments {
  double split = 0.6;            // -f: share of a process's columns that the second part of an update has
  int local_p = 0, local_q = 0;  // -p, -q: process rows and columns on a node; 0 = not said (node_grid.hpp)
  // nvidia: bytes of an accelerator for the matrix and its buffers; columns beyond stay with the host. 0: all fits
  std::int64_t device_memory = 0;
  friend bool operator==(const RocHplArguments&, const RocHplArguments&) = default;
};
// Bytes that an accelerator of nvidia holds besides columns of the matrix: four panels and four blocks of rows of U, of a process with
// so many rows and columns (docs/hpl.md, section 12).
[[nodiscard]] constexpr std::int64_t device_buffers(std::int64_t nb, std::int64_t rows,
                                                    std::int64_t columns) {
  return 4 * nb * (rows + columns) * static_cast<std::int64_t>(sizeof(double));
}

// One run of HPL.
struct HplConfig {
  std::int64_t n = 0;    // order of the matrix
  std::int64_t nb = 64;  // width of a block and of a panel
  int p = 1, q = 1;      // process rows and columns
  ProcessMap pmap = ProcessMap::kRowMajor;
  Factor pfact = Factor::kRight;
  int nbmin = 4;  // recursion stops at this many columns
  int ndiv = 2;   // parts of a recursion step
  Factor rfact = Factor::kCrout;
  Bcast bcast = Bcast::k1RingM;
  int depth = 0;  // look-ahead
  Swap swap = Swap::kMix;
  std::int64_t swap_threshold = 64;  // kMix: spread-roll above this many columns
  bool l1_transposed = true;
  bool u_transposed = true;
  bool equil = true;
  int align = 8;
  double threshold = 16.0;  // of the residual check; <= 0: no check
  Program program = Program::kNetlib;
  RocHplArguments rochpl{};

  [[nodiscard]] int ranks() const { return p * q; }
  // Panels of the main loop: ceil(n / nb).
  [[nodiscard]] std::int64_t panels() const { return (n + nb - 1) / nb; }
  // DEPTH as it takes effect: with one process column there is nothing to look ahead to; accelerators' programs always look one ahead.
  [[nodiscard]] int look_ahead() const { return on_accelerators(program) ? 1 : q == 1 ? 0 : depth; }
  // Which of the two algorithms swaps the rows of so many local columns.
  [[nodiscard]] bool long_swap(std::int64_t columns) const {
    return swap == Swap::kSpreadRoll || (swap == Swap::kMix && columns > swap_threshold);
  }
  friend bool operator==(const HplConfig&, const HplConfig&) = default;
};

struct Grid {
  int p = 1, q = 1;
  friend bool operator==(const Grid&, const Grid&) = default;
};

// The file: lists where HPL takes lists.
struct HplDat {
  static constexpr HplConfig kDefault{.n = 1000};  // where there is no file, and no flag
  std::vector<std::int64_t> n{kDefault.n};
  std::vector<std::int64_t> nb{kDefault.nb};
  ProcessMap pmap = kDefault.pmap;
  std::vector<Grid> grids{Grid{kDefault.p, kDefault.q}};
  double threshold = kDefault.threshold;
  std::vector<Factor> pfact{kDefault.pfact};
  std::vector<int> nbmin{kDefault.nbmin};
  std::vector<int> ndiv{kDefault.ndiv};
  std::vector<Factor> rfact{kDefault.rfact};
  std::vector<Bcast> bcast{kDefault.bcast};
  std::vector<int> depth{kDefault.depth};
  Swap swap = kDefault.swap;
  std::int64_t swap_threshold = kDefault.swap_threshold;
  bool l1_transposed = kDefault.l1_transposed;
  bool u_transposed = kDefault.u_transposed;
  bool equil = kDefault.equil;
  int align = kDefault.align;
  Program program = kDefault.program;  // not in the file, but who reads it
  RocHplArguments rochpl = kDefault.rochpl;
  std::vector<std::string> notes;  // what the program replaces silently or does not read, one sentence each

  // The ranks that a job for all grids needs.
  [[nodiscard]] int ranks() const;
  // The cross product in HPL's order. Its size is at most 20^9; see run_count().
  [[nodiscard]] std::vector<HplConfig> runs() const;
  [[nodiscard]] std::uint64_t run_count() const;
};

inline constexpr int kMaxListValues = 20;                  // HPL_MAX_PARAM
inline constexpr std::int64_t kMaxOrder = 2147483647 - 1;  // N and a column more in HPL's int
inline constexpr std::int64_t kMaxNb = 32768;
inline constexpr std::int64_t kMaxDepth = 64;
inline constexpr std::int64_t kMaxProcesses = 1 << 20;  // of a grid; bounds what a generated trace allocates

// Parses the text of a file as `program` does; `name` is for messages. Of nvidia DEPTH is {1}, whatever the file says.
// Errors: kBadInput with NAME:LINE:COLUMN.
[[nodiscard]] Result<HplDat> parse_hpl_dat(std::string_view text, const std::string& name,
                                           Program program = HplDat::kDefault.program);
// Reads the file. Errors: as above, and kBadInput if it can't be read.
[[nodiscard]] Result<HplDat> read_hpl_dat(const std::string& path,
                                          Program program = HplDat::kDefault.program);
// The lists with one value each.
[[nodiscard]] HplDat to_dat(const HplConfig& config);
// The text of a file that dat.program reads as `dat`. What rocHPL takes one value of has that one.
[[nodiscard]] std::string write_hpl_dat(const HplDat& dat);
// What HPL, or a process with that many ranks, can't run: n < 0, nb < 1, sizes beyond HPL's int. kBadInput.
[[nodiscard]] Result<void> check_config(const HplConfig& config);

// HPL's number or a name: "right", "1rM", "bin-exch", "row". Errors: kUsage with the known names.
[[nodiscard]] Result<Factor> parse_factor(std::string_view text, std::string_view option);
[[nodiscard]] Result<Bcast> parse_bcast(std::string_view text, std::string_view option);
[[nodiscard]] Result<Swap> parse_swap(std::string_view text, std::string_view option);
[[nodiscard]] Result<ProcessMap> parse_pmap(std::string_view text, std::string_view option);
[[nodiscard]] Result<Program> parse_program(std::string_view text, std::string_view option);

[[nodiscard]] std::string_view name_of(Factor f);
[[nodiscard]] std::string_view name_of(Bcast b);
[[nodiscard]] std::string_view name_of(Swap s);
[[nodiscard]] std::string_view name_of(ProcessMap m);
[[nodiscard]] std::string_view name_of(Program p);

}  // namespace weft::hpl_gen
