// Finished pieces of a search, kept by whoever starts it (a file, a journal), so that a search that was stopped goes on
// where it was and several processes do one. The result is that of one undisturbed search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "schedule/evaluator.hpp"
#include "schedule/time_tally.hpp"

namespace weft::schedule {

struct SearchResult;

// Some roots of an exhaustive search (exhaustive.hpp).
struct ExhaustivePiece {
  TallyCells times;
  std::uint64_t simulated = 0;
  double best_s = 0, worst_s = 0;
  std::uint32_t best_root = 0, worst_root = 0;
  Order best, worst;
};

// A part of a search that can be done by itself.
struct Piece {
  std::string name;   // of all pieces of a search no other one has it
  double weight = 1;  // how long it takes, beside others
};

template <class T>
struct PieceWork {
  // Does a piece; false: stopped in the middle. As `take` from any thread.
  std::function<bool(std::size_t piece, T& out)> run;
  // A piece that is done, by whomever; in any order, each once.
  std::function<void(std::size_t piece, T&& done)> take;
  // Empty: all are. False once those that were taken show that a piece decides nothing.
  std::function<bool(std::size_t piece)> needed;
};

// Sees to it that all pieces are done that are needed, here (`threads` at once) or elsewhere. False: some are not,
// because the search is stopped, they cannot be kept, or others see to them: it then ends as if it was stopped.
template <class T>
using RunPieces =
    std::function<bool(const std::vector<Piece>& pieces, unsigned threads, const PieceWork<T>& work)>;

struct KeptPieces {
  RunPieces<ExhaustivePiece> roots;
  RunPieces<SearchResult> results;
  // Pieces of a piece: all of them are done by whoever does that one.
  RunPieces<ExhaustivePiece> inner_roots;
};

}  // namespace weft::schedule
