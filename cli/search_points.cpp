#include "cli/search_points.hpp"

#include <utility>

#include "cli/verb.hpp"
#include "predict/journal/fields.hpp"

namespace weft::schedule {

template <class V>
void fields(V& visit, TimeBin& b) {
  visit("s", b.seconds);
  visit("n", b.count);
}

template <class V>
void fields(V& visit, TallyCells& t) {
  WEFT_FIELDS(visit, t, times, dropped, lowest, highest);
}

template <class V>
void fields(V& visit, ExhaustivePiece& p) {
  WEFT_FIELDS(visit, p, times, simulated, best_s, worst_s, best_root, worst_root, best, worst);
}

template <class V>
void fields(V& visit, TimeStatistics& t) {
  WEFT_FIELDS(visit, t, distinct, apart, count, best, best_count, next_best, median, mean, worst,
              worst_count);
}

template <class V>
void fields(V& visit, LinkBound& b) {
  visit("s", b.seconds);
  visit("link", b.link);
  visit("messages", b.messages);
  visit("both", b.both);
}

template <class V>
void fields(V& visit, SearchResult& r) {
  WEFT_FIELDS(visit, r, schedules, evaluated, best_s, best, worst, proof, interrupted, exact, statistics,
              link, step_load_s, lower_s, symmetries, sets_solved, stage);
}

}  // namespace weft::schedule

namespace weft::cli {

SearchPoints::SearchPoints(const predict::PointsPlan& plan, predict::KeyMaker search)
    : plan_(plan), inner_plan_(plan), search_(std::move(search)) {
  inner_plan_.shard.reset();
  pieces_.roots = [this](const auto& pieces, unsigned threads, const auto& work) {
    return run(pieces, threads, work, plan_, done_);
  };
  pieces_.results = [this](const auto& pieces, unsigned threads, const auto& work) {
    return run(pieces, threads, work, plan_, done_);
  };
  pieces_.inner_roots = [this](const auto& pieces, unsigned threads, const auto& work) {
    return run(pieces, threads, work, inner_plan_, inner_done_);
  };
}

Result<void> SearchPoints::outcome() const {
  if (error_) return *error_;
  return {};
}

template <class T>
bool SearchPoints::run(const std::vector<schedule::Piece>& pieces, unsigned threads,
                       const schedule::PieceWork<T>& work, const predict::PointsPlan& plan,
                       predict::PointsDone& sum) {
  std::vector<predict::Point> points;
  points.reserve(pieces.size());
  for (const schedule::Piece& p : pieces) {
    predict::KeyMaker key = search_;
    points.push_back({key.add("piece", p.name).key(), p.name, p.weight});
  }
  predict::PointsWork kept;
  kept.run = [&](std::size_t i) -> Result<predict::Json> {
    T out;
    if (!work.run(i, out)) return Error{ErrorCode::kFinding, pieces[i].name, "interrupted", {}, {}};
    return predict::ToJson::of(out);
  };
  kept.take = [&](std::size_t i, const predict::Json& json) {
    auto found = predict::FromJson::to<T>(json);
    if (!found) return false;
    work.take(i, std::move(*found));
    ++finished_;
    return true;
  };
  kept.needed = work.needed;
  const auto done = predict::run_points(points, plan, threads, kept, tell_fewer_threads);
  if (!done) {
    if (!error_) error_ = done.error();
    return false;
  }
  sum += *done;
  return !plan.shard && !done->interrupted;
}

}  // namespace weft::cli
