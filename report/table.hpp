// Aligned text tables for people, and the same rows as CSV.
#pragma once

#include <string>
#include <vector>

namespace weft::report {

class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kRight;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Precondition: as many cells as columns.
  void add(std::vector<std::string> cells);
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::size_t size() const { return rows_.size(); }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// One CSV line with quoting (RFC 4180), "\n" at its end.
[[nodiscard]] std::string csv_line(const std::vector<std::string>& cells);

}  // namespace weft::report
