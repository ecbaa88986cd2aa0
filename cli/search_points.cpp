#include "cli/search_points.hpp"

#include <utility>

#include "predict/journal/fields.hpp"

namespace weft::schedule {

template <class V>
void fields(V& visit, TimeBin& b) {
  visit("s", b.seconds);
  visit("n", b.count);
}

template <class V>
void fields(V& visit, ExhaustivePiece& p) {
  auto& [times, simulated, best_s, worst_s, best_root, worst_root, best, worst] = p;
  visit("times", times);
  visit("simulated", simulated);
  visit("best_s", best_s);
  visit("worst_s", worst_s);
  visit("best_root", best_root);
  visit("worst_root", worst_root);
  visit("best", best);
  visit("worst", worst);
}

template <class V>
void fields(V& visit, TimeStatistics& t) {
  auto& [distinct, count, best, best_count, next_best, median, mean, worst, worst_count] = t;
  visit("distinct", distinct);
  visit("count", count);
  visit("best", best);
  visit("best_count", best_count);
  visit("next_best", next_best);
  visit("median", median);
  visit("mean", mean);
  visit("worst", worst);
  visit("worst_count", worst_count);
}

template <class V>
void fields(V& visit, LinkBound& b) {
  visit("s", b.seconds);
  visit("link", b.link);
  visit("messages", b.messages);
}

template <class V>
void fields(V& visit, SearchResult& r) {
  auto& [schedules, evaluated, best_s, best, worst, proof, interrupted, exact, statistics, link, step_load_s,
         lower_s, symmetries, sets_solved, stage] = r;
  visit("schedules", schedules);
  visit("evaluated", evaluated);
  visit("best_s", best_s);
  visit("best", best);
  visit("worst", worst);
  visit("proof", proof);
  visit("interrupted", interrupted);
  visit("exact", exact);
  visit("statistics", statistics);
  visit("link", link);
  visit("step_load_s", step_load_s);
  visit("lower_s", lower_s);
  visit("symmetries", symmetries);
  visit("sets_solved", sets_solved);
  visit("stage", stage);
}

}  // namespace weft::schedule

namespace weft::cli {

SearchPoints::SearchPoints(const predict::PointsPlan& plan, predict::KeyMaker search)
    : plan_(plan), search_(std::move(search)) {
  pieces_.find_roots = [this](const std::string& piece, schedule::ExhaustivePiece& out) {
    return find(piece, out);
  };
  pieces_.find_result = [this](const std::string& piece, schedule::SearchResult& out) {
    return find(piece, out);
  };
  pieces_.keep_roots = [this](const std::string& piece, const auto& done) { return keep(piece, done); };
  pieces_.keep_result = [this](const std::string& piece, const auto& done) { return keep(piece, done); };
}

Result<void> SearchPoints::outcome() const {
  const std::lock_guard lock(mutex_);
  if (error_) return *error_;
  return {};
}

template <class T>
bool SearchPoints::find(const std::string& piece, T& out) {
  predict::KeyMaker key = search_;
  const auto json = plan_.journal->find(key.add("piece", piece).key());
  auto found = json ? predict::FromJson::to<T>(*json) : std::nullopt;
  if (!found) return false;
  out = std::move(*found);
  ++finished_;
  return true;
}

template <class T>
bool SearchPoints::keep(const std::string& piece, const T& done) {
  predict::KeyMaker key = search_;
  T copy = done;
  const auto kept = plan_.journal->append(key.add("piece", piece).key(), piece, predict::ToJson::of(copy));
  ++finished_;
  if (!kept) fail(kept.error());
  return kept.has_value();
}

void SearchPoints::fail(Error error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
}

}  // namespace weft::cli
