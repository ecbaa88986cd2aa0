// SpanThinner: what every rank did when, in at most so many spans, however many operations there are.
//
// Operations of a rank come in the order of their ends. While there are few, every one that takes time is a span. Once
// there are too many, neighbours that are shorter than `width` together become one span, named by the longest of them,
// and `width` doubles until few enough are left: what is lost are short operations beside each other, never a long one.
// Invariants: spans of a rank do not overlap; begin of the first and end of the last operation of a span are its ends;
// a span of more than one operation is no longer than width().
#pragma once

#include <cstdint>
#include <vector>

#include "core/units.hpp"

namespace weft::report {

struct ThinSpan {
  SimTime begin, end;
  std::uint64_t op = 0;   // the longest operation in it
  Duration longest{0};    // that one's time
  std::uint32_t ops = 1;  // in it
};

class SpanThinner {
 public:
  // `most`: spans that are kept in the end, over all ranks; at least one a rank.
  SpanThinner(std::uint32_t ranks, std::size_t most) : spans_(ranks), most_(most) {}
  void add(std::uint32_t rank, std::uint64_t op, SimTime begin, SimTime end);
  // Down to `most`. Call it once nothing more comes.
  void finish();

  [[nodiscard]] const std::vector<std::vector<ThinSpan>>& spans() const { return spans_; }
  [[nodiscard]] std::size_t kept() const { return kept_; }
  [[nodiscard]] std::uint64_t seen() const { return seen_; }  // operations that take time
  [[nodiscard]] Duration width() const { return width_; }     // 0: nothing was joined

 private:
  [[nodiscard]] bool join(std::vector<ThinSpan>& list, const ThinSpan& s) const;
  void widen();

  std::vector<std::vector<ThinSpan>> spans_;
  std::size_t most_;
  std::size_t kept_ = 0;
  std::uint64_t seen_ = 0;
  Duration width_{0};
  Duration last_{0};
};

}  // namespace weft::report
