#include "predict/journal/points.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

namespace weft::predict {
namespace {

constexpr std::size_t kNamed = 5;  // shards and points that a message names

bool raised(const PointsPlan& plan) {
  return plan.stop != nullptr && plan.stop->load(std::memory_order_relaxed);
}

// How long a process that holds a point is left alone.
void wait_a_little() {
  const timespec t{0, 20'000'000};
  ::nanosleep(&t, nullptr);
}

std::vector<double> weights_of(const std::vector<Point>& points) {
  std::vector<double> out;
  out.reserve(points.size());
  for (const Point& p : points) out.push_back(p.weight);
  return out;
}

// Which points, and of which parts of the study if it was divided in one way.
Error missing_points(const std::vector<Point>& points, const std::vector<std::size_t>& missing,
                     const Journal& journal) {
  std::set<std::uint32_t> counts;
  for (const JournalHeader& h : journal.headers())
    if (const auto s = parse_shard(h.shard)) counts.insert(s->count);
  std::string shards, named;
  if (counts.size() == 1 && *counts.begin() > 1) {
    const std::uint32_t count = *counts.begin();
    const auto part = deal_points(weights_of(points), count);
    std::map<std::uint32_t, std::size_t> of_part;
    for (const std::size_t i : missing) ++of_part[part[i]];
    std::size_t told = 0;
    for (const auto& [index, n] : of_part) {
      if (++told > kNamed) break;
      const auto all = static_cast<std::size_t>(std::count(part.begin(), part.end(), index));
      shards += fmt::format("{}{} of the {} of shard {}/{}", told == 1 ? ": " : ", ", n, all, index, count);
    }
    if (of_part.size() > kNamed) shards += fmt::format(", and those of {} more", of_part.size() - kNamed);
  }
  for (std::size_t k = 0; k < std::min(kNamed, missing.size()); ++k)
    named += fmt::format("{}{}", k == 0 ? "" : "; ", points[missing[k]].what);
  return bad_input(journal.folder(),
                   fmt::format("{} of {} points are missing{}", missing.size(), points.size(), shards), named,
                   "all points: run the shards that are missing, or those again that were stopped");
}

}  // namespace

PointsDone& PointsDone::operator+=(const PointsDone& more) {
  done.insert(done.end(), more.done.begin(), more.done.end());
  wanted += more.wanted;
  found += more.found;
  finished += more.finished;
  interrupted = interrupted || more.interrupted;
  return *this;
}

Result<PointsDone> run_points(const std::vector<Point>& points, const PointsPlan& plan, unsigned threads,
                              const PointsWork& work, const OnFewerThreads& on_fewer) {
  WEFT_CHECK(plan.journal != nullptr, "points without a journal");
  Journal& journal = *plan.journal;
  std::vector<std::size_t> mine;
  if (plan.shard) {
    const auto part = deal_points(weights_of(points), plan.shard->count);
    for (std::size_t i = 0; i < points.size(); ++i)
      if (part[i] == plan.shard->index) mine.push_back(i);
  } else {
    mine.resize(points.size());
    std::iota(mine.begin(), mine.end(), std::size_t{0});
  }
  std::vector<std::uint8_t> done(points.size(), 0), left(points.size(), 0);
  PointsDone out;
  std::vector<std::uint8_t> idle(points.size(), 0);  // not needed

  const auto needed = [&](std::size_t i) {
    if (idle[i] == 0 && work.needed && !work.needed(i)) idle[i] = 1;
    return idle[i] == 0;
  };
  const auto take = [&](std::size_t i, int* error = nullptr) {
    if (!journal.find(
            points[i].key, [&](const Json& value) { return work.take(i, value); }, error))
      return false;
    done[i] = 1;
    return true;
  };
  std::vector<std::size_t> missing;
  for (const std::size_t i : mine)
    if (needed(i) && !take(i)) missing.push_back(i);
  out.found = static_cast<std::size_t>(std::count(done.begin(), done.end(), 1));
  if (!plan.run_missing && !missing.empty()) return missing_points(points, missing, journal);

  const auto attempt = [&](std::size_t i) -> Result<void> {
    if (done[i] != 0 || raised(plan) || !needed(i)) return {};
    const auto claim = journal.claim(points[i].key);
    left[i] = claim ? 0 : 1;
    // Who held it before may have finished it.
    if (!claim || take(i)) return {};
    auto value = work.run(i);
    if (!value && raised(plan)) return {};
    // The key says what the files held before.
    if (const std::string file = journal.files().changed(); !file.empty())
      return bad_input(file, "changed while the study ran", {},
                       "the file as it was when the study began; finished points are kept");
    if (!value) return std::move(value).error();
    WEFT_TRY(journal.append(points[i].key, points[i].what, *value));
    // What is shown is what the journal says, so that it is the same when it is read again.
    if (int error = 0; !take(i, &error))
      return error != 0
                 ? bad_input(journal.folder(),
                             fmt::format("cannot read the journal: {}", std::strerror(error)), points[i].what)
                 : bad_input(journal.folder(), "the journal does not hold what was written to it",
                             points[i].what);
    return {};
  };
  // Longest first would change which error is told; parts are dealt by weight already.
  WEFT_TRY(run_parallel(
      missing.size(), threads, [&](std::size_t k) { return attempt(missing[k]); }, on_fewer));
  for (const std::size_t i : missing)
    while (left[i] != 0 && done[i] == 0 && !raised(plan) && needed(i)) {
      if (take(i)) break;
      WEFT_TRY(attempt(i));
      if (left[i] != 0 && done[i] == 0) wait_a_little();
    }

  out.finished = static_cast<std::size_t>(std::count(done.begin(), done.end(), 1));
  out.wanted = mine.size() - static_cast<std::size_t>(std::count(idle.begin(), idle.end(), 1));
  out.interrupted = out.finished < out.wanted;
  if (plan.shard && plan.take_others)
    for (std::size_t i = 0; i < points.size(); ++i)
      if (done[i] == 0 && needed(i)) (void)take(i);
  out.done.assign(done.begin(), done.end());
  return out;
}

}  // namespace weft::predict
