// Id<Tag>: a 32-bit index that only fits where its tag says. LinkId cannot be passed as a HostId.
//
// Ids are dense indices into columns; kInvalid (all ones) means "none". Order is the order of creation.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace weft {

template <class Tag>
class Id {
 public:
  using rep = std::uint32_t;
  static constexpr rep kNone = 0xffffffffu;
  constexpr Id() = default;
  constexpr explicit Id(rep v) : v_(v) {}
  [[nodiscard]] constexpr rep index() const { return v_; }
  [[nodiscard]] constexpr bool valid() const { return v_ != kNone; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  rep v_ = kNone;
};

using LinkId = Id<struct LinkTag>;      // one directed link of a fabric
using VertexId = Id<struct VertexTag>;  // a host or switch: vertex of the fabric graph
using HostId = Id<struct HostTag>;      // an endpoint that ranks run on; hosts are vertices 0..H-1
using FlowId = Id<struct FlowTag>;      // a row of the flow table; reused after removal
using RankId = Id<struct RankTag>;      // MPI rank in the world of a trace
using CommId = Id<struct CommTag>;      // communicator of a trace; 0 is the world
using RegionId = Id<struct RegionTag>;  // named region of a trace

}  // namespace weft

template <class Tag>
struct std::hash<weft::Id<Tag>> {
  std::size_t operator()(weft::Id<Tag> id) const noexcept { return id.index(); }
};
