// Finished pieces of a schedule search as points of a journal.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include "core/result.hpp"
#include "predict/journal/points.hpp"
#include "schedule/search.hpp"

namespace weft::cli {

class SearchPoints {
 public:
  // `search`: all that the search depends on. The plan must have a journal, and outlive this.
  SearchPoints(const predict::PointsPlan& plan, predict::KeyMaker search);
  [[nodiscard]] const schedule::KeptPieces& pieces() const { return pieces_; }
  // Why a piece could not be kept, if one could not.
  [[nodiscard]] Result<void> outcome() const;
  [[nodiscard]] std::size_t finished() const { return finished_; }

 private:
  template <class T>
  bool find(const std::string& piece, T& out);
  template <class T>
  bool keep(const std::string& piece, const T& done);
  void fail(Error error);

  const predict::PointsPlan& plan_;
  predict::KeyMaker search_;
  schedule::KeptPieces pieces_;
  mutable std::mutex mutex_;
  std::optional<Error> error_;
  std::atomic<std::size_t> finished_{0};
};

}  // namespace weft::cli
