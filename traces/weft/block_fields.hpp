// Fields of the messages OpBlock and OpGroup (trace.proto), and what one block holds at most. The block codec writes and
// reads these messages itself: an object of each group and a list of each column would be half of what a block costs.
//
// A block of five operations of rank 0, as columns:
//   isend 1 tag 7 800 B request 0                         group_of 0 0 1 1 2: which group each is of
//   isend 2 tag 7 900 B request 1        groups[0]  kind isend, tag 7, peers 1 2, amounts 800 900, requests 1 2
//   compute 2e9 flops                    groups[1]  kind compute_flops, WHOLE_DOUBLE, amounts 2000000000 3000000000
//   compute 3e9 flops                    groups[2]  kind waitall, list_size 3, list_values 0 1
//   waitall {0, 1}
// Operations with the same kind, flags and communicator are a group. A field is a constant ("tag 7") where all of a
// group have the same value, else a column ("peers 1 2"). Requests and sizes of lists are stored plus one: 0 is none.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::traces {

enum class BlockField : std::uint32_t { kGroupOf = 1, kGroups = 2 };

enum class GroupField : std::uint32_t {
  kKind = 1,
  kFlags = 2,
  kComm = 3,
  kPeer = 4,
  kPeers = 5,
  kTag = 6,
  kTags = 7,
  kAmountCoding = 8,
  kAmount = 9,
  kAmounts = 10,
  kRealAmounts = 11,
  kRequest = 12,
  kRequests = 13,
  kListSize = 14,
  kListSizes = 15,
  kListValues = 16,
};
inline constexpr std::uint64_t kWholeDouble = 1;  // OpGroup::AmountCoding
inline constexpr std::int64_t kWholeLimit = std::int64_t{1} << 53;

inline constexpr std::size_t kMaxGroups = 256;

}  // namespace weft::traces
