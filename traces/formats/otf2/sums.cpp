#include "traces/formats/otf2/sums.hpp"

#include <algorithm>

namespace weft::traces::otf2 {
namespace {

// A multiple of `members`, or in place of members - 1.
Part divided(std::int64_t sum, std::int64_t members) {
  if (sum == 0) return {};
  if (sum % members == 0) return {sum / members};
  if (members > 1 && sum % (members - 1) == 0) return {sum / (members - 1)};
  return {sum, true};
}

// The root's own part is left out where it is in place.
Part on_root(std::int64_t own, std::int64_t all, std::int64_t members) {
  if (own > 0 || all == 0) return {own};
  if (members > 1 && all % (members - 1) == 0) return {all / (members - 1)};
  return {all, true};
}

Part scan(const Sums& s, bool exclusive) {
  const std::int64_t n = s.members, me = s.me;
  if (!exclusive && s.sent % (n - me) == 0 && s.received % (me + 1) == 0 &&
      s.sent / (n - me) == s.received / (me + 1))
    return {s.sent / (n - me)};
  if (me > 0 && s.received % me == 0) return {s.received / me};
  if (me == 0 && n > 1 && s.sent % (n - 1) == 0) return {s.sent / (n - 1)};
  const std::int64_t most = std::max(s.sent, s.received);
  return {most, most > 0};
}

}  // namespace

Part part_of(OpKind kind, const Sums& s) {
  switch (kind) {
    case OpKind::bcast:
      if (!s.root || s.received > 0) return {s.received};
      return s.sent % s.members == 0 ? Part{s.sent / s.members} : Part{s.sent, true};
    case OpKind::gather:
    case OpKind::reduce:
      return s.root ? on_root(s.sent, s.received, s.members) : Part{s.sent};
    case OpKind::scatter:
      return s.root ? on_root(s.received, s.sent, s.members) : Part{s.received};
    case OpKind::allgather:
    case OpKind::alltoall:
    case OpKind::allreduce:
    case OpKind::reduce_scatter_block:
      return divided(s.received > 0 ? s.received : s.sent, s.members);
    case OpKind::scan:
      return scan(s, false);
    case OpKind::exscan:
      return scan(s, true);
    case OpKind::gatherv:
      return {s.sent};
    case OpKind::scatterv:
      return {s.received};
    case OpKind::allgatherv:
      return divided(s.sent, s.members);
    case OpKind::alltoallv:
    case OpKind::alltoallw:
    case OpKind::reduce_scatter:
      return {s.sent};
    default:
      return {};
  }
}

}  // namespace weft::traces::otf2
