// SortedRows: any number of rows, put in any order, read in their order, as often as one likes; in bounded memory.
//
// So many bytes of rows are kept; what is more goes, sorted, to a SpillFile, and is merged while it is read. Rows are plain
// bytes; `Before` is a total order, so that what is read depends on the rows alone.
// Memory: kRowsMemory, or as asked for, while rows are put in; the same for each reader, above 16 GiB a page more for each 8 MiB.
// Complexity: O(log n) a row, each written once and read once by every reader.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/files/spill_file.hpp"
#include "core/result.hpp"

namespace weft {

inline constexpr std::size_t kRowsMemory = std::size_t{8} << 20;

template <class Row, class Before>
class SortedRows {
  static_assert(std::is_trivially_copyable_v<Row>);

 public:
  // `beside`: where what is too much for memory goes, as SpillFile::open() says.
  SortedRows() : SortedRows("-") {}
  explicit SortedRows(std::string beside, std::size_t memory = kRowsMemory)
      : beside_(std::move(beside)), most_(std::max<std::size_t>(1, memory / sizeof(Row))) {}

  // A failure (disk full) is remembered and told by finish(); rows that come after it are dropped.
  void add(const Row& row) {
    if (rows_.size() == most_) spill();
    if (failed_) return;
    if (rows_.size() == rows_.capacity())
      rows_.reserve(std::min(most_, std::max<std::size_t>(64, 2 * rows_.size())));
    rows_.push_back(row);
    ++size_;
  }
  // No more rows; from here on they can be read. Errors: kBadInput.
  [[nodiscard]] Result<void> finish() {
    if (file_ && !rows_.empty()) spill();
    if (failed_) return *failed_;
    if (file_) std::vector<Row>().swap(rows_);  // a reader has as much
    sort();
    return {};
  }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

  // for (auto r = rows.reader(); r.more(); r.next()) use(r.row()); then r.status(): it ends early where the file cannot be read.
  class Reader {
   public:
    explicit Reader(const SortedRows& of) : of_(of) {
      if (!of.file_) return;
      const std::size_t each = std::max<std::size_t>(4096 / sizeof(Row), of.most_ / of.runs_.size());
      for (const Run& run : of.runs_) {
        Part& p = parts_.emplace_back();
        p.next = run.at;
        p.left = run.rows;
        p.most = std::max<std::size_t>(1, each);
        if (refill(p)) heap_.push_back(parts_.size() - 1);
      }
      std::ranges::make_heap(heap_, later());
    }
    [[nodiscard]] bool more() const {
      return of_.file_ ? !heap_.empty() && !failed_ : at_ < of_.rows_.size();
    }
    [[nodiscard]] const Row& row() const { return of_.file_ ? parts_[heap_.front()].row() : of_.rows_[at_]; }
    void next() {
      if (!of_.file_) {
        ++at_;
        return;
      }
      std::ranges::pop_heap(heap_, later());
      Part& p = parts_[heap_.back()];
      if (++p.at < p.rows.size() || refill(p))
        std::ranges::push_heap(heap_, later());
      else
        heap_.pop_back();
    }
    [[nodiscard]] Result<void> status() const { return failed_ ? Result<void>(*failed_) : Result<void>(); }

   private:
    struct Part {
      std::vector<Row> rows;
      std::size_t at = 0, most = 0;
      std::uint64_t next = 0, left = 0;  // byte in the file, rows from there on
      [[nodiscard]] const Row& row() const { return rows[at]; }
    };
    [[nodiscard]] auto later() const {
      return [this](std::size_t a, std::size_t b) { return Before{}(parts_[b].row(), parts_[a].row()); };
    }
    bool refill(Part& p) {
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(p.most, p.left));
      if (n == 0) return false;
      p.rows.resize(n);
      p.at = 0;
      if (auto ok = of_.file_->read(p.next, std::as_writable_bytes(std::span(p.rows))); !ok) {
        failed_ = ok.error();
        return false;
      }
      p.next += n * sizeof(Row);
      p.left -= n;
      return true;
    }
    const SortedRows& of_;
    std::size_t at_ = 0;  // where all is in memory
    std::vector<Part> parts_;
    std::vector<std::size_t> heap_;  // parts that have more, the first row in front
    std::optional<Error> failed_;
  };
  // After finish(); this must outlive it and stay where it is.
  [[nodiscard]] Reader reader() const { return Reader(*this); }

 private:
  struct Run {
    std::uint64_t at, rows;
  };
  void sort() {
    if (!std::ranges::is_sorted(rows_, Before{})) std::ranges::sort(rows_, Before{});
  }
  void spill() {
    if (failed_) return;
    if (!file_) {
      auto made = SpillFile::open(beside_);
      if (!made) {
        failed_ = made.error();
        return;
      }
      file_ = std::move(made).value();
    }
    sort();
    runs_.push_back({file_->size(), rows_.size()});
    if (auto ok = file_->append(std::as_bytes(std::span(rows_))); !ok) failed_ = ok.error();
    rows_.clear();
  }

  std::string beside_;
  std::size_t most_;
  std::vector<Row> rows_;
  std::vector<Run> runs_;
  std::optional<SpillFile> file_;
  std::optional<Error> failed_;
  std::uint64_t size_ = 0;
};

}  // namespace weft
