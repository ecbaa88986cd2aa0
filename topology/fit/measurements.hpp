// Measurements: files of numbers that benchmarks write, as named columns with the position of every cell.
//
// Known: CSV with a header line; OSU micro-benchmarks (osu_latency and osu_bw, by the title in their first comment); Intel
// MPI Benchmarks, of whose blocks ("# Benchmarking NAME") those of PingPong count. Other OSU programs are refused: a
// collective, both directions at once or several pairs say nothing of one message.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace weft::topology::fit {

class Measurements {
 public:
  enum class Format : std::uint8_t { kCsv, kOsuLatency, kOsuBandwidth, kImbPingPong };

  // Errors: unreadable, no known format, rows of another length than the header (with the position).
  [[nodiscard]] static Result<Measurements> read(const std::string& path);
  // `file` names the text in errors.
  [[nodiscard]] static Result<Measurements> parse(const std::string& file, std::string text);

  [[nodiscard]] Format format() const { return format_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  // IMB: names of the other blocks, each once.
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }
  [[nodiscard]] std::size_t rows() const { return columns_.empty() ? 0 : cells_.size() / columns_.size(); }
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  // First of `names` that is a column.
  [[nodiscard]] std::optional<std::size_t> find(std::initializer_list<std::string_view> names) const;
  [[nodiscard]] std::string_view text(std::size_t row, std::size_t column) const {
    const Cell& c = cells_[row * columns_.size() + column];
    return std::string_view(text_).substr(c.offset, c.length);
  }
  // Error at the cell: not a number, or outside [lo, hi].
  [[nodiscard]] Result<double> number(std::size_t row, std::size_t column, double lo = -1e300,
                                      double hi = 1e300) const;
  [[nodiscard]] std::string where(std::size_t row, std::size_t column) const;

 private:
  struct Cell {
    std::size_t offset;
    std::uint32_t length;
    std::uint32_t line;
    std::uint32_t column;
  };
  [[nodiscard]] Result<void> parse_csv(std::size_t header_line);
  [[nodiscard]] Result<void> parse_blanks();
  // `wanted`: rows from here on are measurements.
  [[nodiscard]] Result<void> begin_block(std::string_view line, std::uint32_t number, bool& wanted);
  [[nodiscard]] Result<void> add_row(std::string_view line, std::size_t offset, std::uint32_t number);

  std::string file_, text_;
  Format format_ = Format::kCsv;
  std::vector<std::string> columns_;
  std::vector<std::string> left_out_;
  std::vector<Cell> cells_;  // row by row
};

}  // namespace weft::topology::fit
