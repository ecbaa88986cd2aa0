// Finished pieces of a schedule search as points of a journal.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "predict/journal/points.hpp"
#include "schedule/search.hpp"

namespace weft::cli {

class SearchPoints {
 public:
  // `search`: all that the search depends on. The plan must have a journal, and outlive this.
  SearchPoints(const predict::PointsPlan& plan, predict::KeyMaker search);
  [[nodiscard]] const schedule::KeptPieces& pieces() const { return pieces_; }
  // Why pieces could not be kept or are missing, if so.
  [[nodiscard]] Result<void> outcome() const;
  [[nodiscard]] const predict::PointsDone& done() const { return done_; }
  // Pieces that were taken, those of pieces too.
  [[nodiscard]] std::size_t finished() const { return finished_; }

 private:
  template <class T>
  bool run(const std::vector<schedule::Piece>& pieces, unsigned threads, const schedule::PieceWork<T>& work,
           const predict::PointsPlan& plan, predict::PointsDone& sum);

  const predict::PointsPlan& plan_;
  predict::PointsPlan inner_plan_;
  predict::KeyMaker search_;
  schedule::KeptPieces pieces_;
  std::optional<Error> error_;
  predict::PointsDone done_, inner_done_;
  std::atomic<std::size_t> finished_{0};
};

}  // namespace weft::cli
