#include "report/html/span_thinner.hpp"

#include <algorithm>

namespace weft::report {

bool SpanThinner::join(std::vector<ThinSpan>& list, const ThinSpan& s) const {
  if (list.empty() || width_ == Duration(0) || s.end - list.back().begin > width_) return false;
  ThinSpan& to = list.back();
  to.end = s.end;
  to.ops += s.ops;
  if (s.longest > to.longest) {
    to.longest = s.longest;
    to.op = s.op;
  }
  return true;
}

void SpanThinner::add(std::uint32_t rank, std::uint64_t op, SimTime begin, SimTime end) {
  last_ = std::max(last_, end.time_since_epoch());
  if (begin == end) return;
  ++seen_;
  // Bodies of conditional steps lie within the time of what polled for them: what is drawn does not overlap.
  auto& list = spans_[rank];
  if (!list.empty()) begin = std::max(begin, list.back().end);
  if (begin >= end) return;
  const ThinSpan s{begin, end, op, end - begin, 1};
  if (join(list, s)) return;
  list.push_back(s);
  if (++kept_ >= 2 * std::max(most_, spans_.size())) widen();
}

void SpanThinner::widen() {
  // Never more than last_, with which each rank has one span: twice as much may be beyond what 64 bits hold.
  width_ = width_ == Duration(0) ? std::max(Duration(1), last_ / (1 << 20))
           : width_ <= last_ / 2 ? width_ * 2
                                 : last_;
  kept_ = 0;
  for (auto& list : spans_) {
    std::vector<ThinSpan> fewer;
    for (const ThinSpan& s : list)
      if (!join(fewer, s)) fewer.push_back(s);
    list = std::move(fewer);
    kept_ += list.size();
  }
}

void SpanThinner::finish() {
  while (kept_ > std::max(most_, spans_.size()) && width_ < last_) widen();
}

}  // namespace weft::report
