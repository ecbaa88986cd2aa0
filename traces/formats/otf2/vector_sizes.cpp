#include "traces/formats/otf2/vector_sizes.hpp"

#include <algorithm>
#include <numeric>

#include "traces/formats/otf2/sums.hpp"

namespace weft::traces::otf2 {

void VectorSizes::finish(Cursor& at, std::uint32_t rank,
                         const std::unordered_map<std::uint32_t, std::int64_t>& me_in) {
  for (const auto& [ordinal, call] : at.later) {
    auto& calls = later_[call.first][me_in.at(call.first)];
    call_of_[{rank, ordinal}] = calls.size();
    calls.push_back(call.second);
  }
  at.later.clear();
}

void VectorSizes::collect(const Members& of, std::uint64_t call, std::int64_t members,
                          std::vector<Sum>& out) {
  out.assign(static_cast<std::size_t>(members), {});
  for (const auto& [member, calls] : of)
    if (call < calls.size()) out[static_cast<std::size_t>(member)] = calls[call];
}

void VectorSizes::blocking(Cursor& at, std::uint32_t comm, std::int64_t members,
                           std::vector<Sum>& out) const {
  collect(blocking_.at(comm), at.blocking[comm]++, members, out);
}

void VectorSizes::later(std::uint32_t rank, std::uint64_t ordinal, std::uint32_t comm, std::int64_t members,
                        std::vector<Sum>& out) const {
  collect(later_.at(comm), call_of_.at({rank, ordinal}), members, out);
}

namespace {

constexpr std::int64_t kMostSum = std::int64_t{1} << 61;  // of all members; each is below it, too

// Bytes from i to j of all that is sent (prefix sums `sent`) and received (`received`): a table with these sums at its
// edges, each cell the difference of four corners of floor(S_i R_j / R).
struct Table {
  std::vector<std::int64_t> sent{0}, received{0};
  [[nodiscard]] std::int64_t corner(std::size_t i, std::size_t j) const {
    const std::int64_t all = received.back();
    return all == 0 ? 0 : static_cast<std::int64_t>(static_cast<__int128>(sent[i]) * received[j] / all);
  }
  [[nodiscard]] std::int64_t cell(std::size_t i, std::size_t j) const {
    const std::int64_t v = corner(i + 1, j + 1) - corner(i, j + 1) - corner(i + 1, j) + corner(i, j);
    return v > 0 ? v : 0;
  }
};

// How Score-P sums an allgatherv or a reduce_scatter. All members of a call give MPI_IN_PLACE or none does (but for
// those of a reduce_scatter that get nothing, whose sums are the same), so one rule holds for all.
enum class SumRule {
  kAll,        // N own, all
  kInPlace,    // (N-1) own, all but own
  kInPlaceOld  // (N-1) own, all but an element: older Score-P, of a reduce_scatter
};
using SumOf = std::int64_t VectorSizes::Sum::*;

// What each member has of its own, where `rule` explains what all of them recorded. `many`: the side on which a
// member's own part counts many times, `all`: the one that has the parts of all.
bool own_parts(SumRule rule, const std::vector<VectorSizes::Sum>& sums, SumOf many, SumOf all,
               std::vector<std::int64_t>& own) {
  const auto times = static_cast<std::int64_t>(sums.size()) - (rule == SumRule::kAll ? 0 : 1);
  if (times == 0) return false;
  own.clear();
  __int128 total = 0;
  for (const auto& s : sums) {
    if (s.*many % times != 0) return false;
    own.push_back(s.*many / times);
    total += own.back();
  }
  const __int128 element = total - sums[0].*all;
  if (rule == SumRule::kInPlaceOld && element <= 0) return false;
  for (std::size_t m = 0; m < sums.size(); ++m) {
    __int128 left_out = 0;
    if (rule == SumRule::kInPlace) left_out = own[m];
    if (rule == SumRule::kInPlaceOld) {
      if (own[m] % element != 0) return false;
      left_out = element;
    }
    if (sums[m].*all != total - left_out) return false;
  }
  return true;
}

// Of an allgatherv; where no rule explains all sums, each member's own is taken alone.
std::vector<std::int64_t> gathered(const std::vector<VectorSizes::Sum>& sums) {
  std::vector<std::int64_t> own;
  using Sum = VectorSizes::Sum;
  for (const SumRule rule : {SumRule::kAll, SumRule::kInPlace})
    if (own_parts(rule, sums, &Sum::sent, &Sum::received, own)) return own;
  own.clear();
  for (const auto& s : sums)
    own.push_back(
        part_of(OpKind::allgatherv,
                {.members = static_cast<std::int64_t>(sums.size()), .sent = s.sent, .received = s.received})
            .bytes);
  return own;
}

// Of a reduce_scatter; where no rule explains all sums, what was sent is divided evenly, by all members alike.
std::vector<std::int64_t> scattered(const std::vector<VectorSizes::Sum>& sums) {
  std::vector<std::int64_t> own;
  using Sum = VectorSizes::Sum;
  for (const SumRule rule : {SumRule::kAll, SumRule::kInPlace, SumRule::kInPlaceOld})
    if (own_parts(rule, sums, &Sum::received, &Sum::sent, own)) return own;
  const std::int64_t sent = std::ranges::max(sums, {}, &Sum::sent).sent;
  const auto n = static_cast<std::int64_t>(sums.size());
  own.clear();
  for (std::int64_t m = 0; m < n; ++m) own.push_back(sent / n + (m < sent % n ? 1 : 0));
  return own;
}

}  // namespace

std::vector<std::int64_t> vector_list(OpKind kind, const std::vector<VectorSizes::Sum>& sums, std::int64_t me,
                                      std::int64_t root, std::int64_t& amount) {
  const std::size_t n = sums.size();
  const auto i_am = static_cast<std::size_t>(me);
  std::vector<std::int64_t> list;
  if (kind == OpKind::alltoallv || kind == OpKind::alltoallw) {
    Table t;
    for (const auto& s : sums) {
      t.sent.push_back(std::min(t.sent.back() + s.sent, kMostSum));
      t.received.push_back(std::min(t.received.back() + s.received, kMostSum));
    }
    list.push_back(static_cast<std::int64_t>(n));
    amount = 0;
    for (std::size_t j = 0; j < n; ++j) {
      list.push_back(t.cell(i_am, j));
      amount += list.back();
    }
    for (std::size_t j = 0; j < n; ++j) list.push_back(t.cell(j, i_am));
    return list;
  }
  if (kind == OpKind::reduce_scatter) {
    list = scattered(sums);
    amount = std::accumulate(list.begin(), list.end(), std::int64_t{0});
    return list;
  }
  if (kind == OpKind::allgatherv) {
    list = gathered(sums);
    amount = list[i_am];
    return list;
  }
  // What each member has of its own is what it recorded.
  for (std::size_t m = 0; m < n; ++m)
    list.push_back(part_of(kind, {static_cast<std::int64_t>(n), static_cast<std::int64_t>(m),
                                  static_cast<std::int64_t>(m) == root, sums[m].sent, sums[m].received})
                       .bytes);
  amount = list[i_am];
  if (me != root) list.clear();
  return list;
}

}  // namespace weft::traces::otf2
