// What a collective's operands must be before build() may touch them.
#include <fmt/format.h>

#include <string>

#include "replay/collectives/schedule.hpp"

namespace weft::replay {
namespace {

using traces::OpKind;

constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;

struct Checker {
  const CollectiveCall& c;
  std::string_view where;

  [[nodiscard]] Error error(std::string what, std::string got, std::string expected) const {
    return bad_input(std::string(where), std::string(traces::op_name(c.kind)) + ": " + std::move(what),
                     std::move(got), std::move(expected));
  }
  [[nodiscard]] Result<void> length(std::uint64_t want) const {
    if (c.counts.size() == want) return {};
    return error("wrong length of the list of counts", fmt::format("{} values", c.counts.size()),
                 fmt::format("{} for {} ranks", want, c.ranks));
  }
  [[nodiscard]] Result<void> sizes(std::span<const std::int64_t> values) const {
    std::int64_t sum = 0;
    for (const std::int64_t v : values) {
      if (v < 0) return error("negative number of bytes", std::to_string(v), "0 or more");
      if (v > kMaxBytes - sum) return error("more than 2^62 bytes in one call", std::to_string(v), "less");
      sum += v;
    }
    return {};
  }
  [[nodiscard]] Result<void> neighbours(std::span<const std::int64_t> ranks) const {
    for (const std::int64_t r : ranks)
      if (r >= static_cast<std::int64_t>(c.ranks))
        return error("neighbour outside of the communicator", std::to_string(r),
                     fmt::format("a rank below {}", c.ranks));
    return {};
  }
  [[nodiscard]] Result<void> neighbourhood(bool with_sizes) const {
    if (c.counts.empty()) return {};  // a rank without neighbours
    const auto cut = error("neighbour list is cut short", fmt::format("{} values", c.counts.size()),
                           "{n_in, sources..., n_out, destinations...}");
    const std::uint64_t size = c.counts.size();
    if (c.counts[0] < 0 || size < 2 || static_cast<std::uint64_t>(c.counts[0]) > size - 2) return cut;
    const auto n_in = static_cast<std::uint64_t>(c.counts[0]);
    if (c.counts[1 + n_in] < 0 || static_cast<std::uint64_t>(c.counts[1 + n_in]) > size - 2 - n_in)
      return cut;
    const auto n_out = static_cast<std::uint64_t>(c.counts[1 + n_in]);
    WEFT_TRY(length(2 + (n_in + n_out) * (with_sizes ? 2 : 1)));
    WEFT_TRY(neighbours(c.counts.subspan(1, n_in)));
    WEFT_TRY(neighbours(c.counts.subspan(2 + n_in, n_out)));
    return sizes(c.counts.subspan(2 + n_in + n_out));
  }
};

[[nodiscard]] bool has_root(OpKind k) {
  return k == OpKind::bcast || k == OpKind::reduce || k == OpKind::gather || k == OpKind::gatherv ||
         k == OpKind::scatter || k == OpKind::scatterv;
}

}  // namespace

Result<void> check_collective(const CollectiveCall& call, std::uint32_t me, std::string_view where) {
  const Checker check{call, where};
  if (me >= call.ranks)
    return check.error("rank outside of the communicator", std::to_string(me),
                       fmt::format("a rank below {}", call.ranks));
  if (has_root(call.kind) && call.root >= call.ranks)
    return check.error("root outside of the communicator", std::to_string(call.root),
                       fmt::format("a rank below {}", call.ranks));
  if (call.bytes < 0) return check.error("negative number of bytes", std::to_string(call.bytes), "0 or more");
  if (call.bytes > kMaxBytes / static_cast<std::int64_t>(call.ranks))
    return check.error("more than 2^62 bytes in one call", std::to_string(call.bytes), "less");
  switch (call.kind) {
    case OpKind::gatherv:
    case OpKind::scatterv:
      if (me != call.root) return {};
      WEFT_TRY(check.length(call.ranks));
      return check.sizes(call.counts);
    case OpKind::allgatherv:
    case OpKind::reduce_scatter:
      WEFT_TRY(check.length(call.ranks));
      return check.sizes(call.counts);
    case OpKind::alltoallv:
    case OpKind::alltoallw:
      WEFT_TRY(check.length(1 + 2 * std::uint64_t{call.ranks}));
      return check.sizes(call.counts.subspan(1));
    case OpKind::neighbor_allgather:
    case OpKind::neighbor_alltoall:
      return check.neighbourhood(false);
    case OpKind::neighbor_allgatherv:
    case OpKind::neighbor_alltoallv:
    case OpKind::neighbor_alltoallw:
      return check.neighbourhood(true);
    default:
      return {};
  }
}

}  // namespace weft::replay
