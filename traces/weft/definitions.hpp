// Header, communicators, regions and names of kernels <-> their messages of trace.proto; shared by the .weft writer and
// reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.hpp"
#include "traces/trace.hpp"
#include "traces/weft/kernel_numbers.hpp"

namespace weft::traces::pb {
class Definitions;
class Header;
}  // namespace weft::traces::pb

namespace weft::traces {

void encode_header(const TraceHeader& header, pb::Header& out);
// The header in a serialized Header message. Errors: kBadInput, without a place.
[[nodiscard]] Result<TraceHeader> decode_header(std::string_view message);

// For each communicator the first one with the same members in the same order: an MPI_Comm_dup. Each is looked up once
// by a hash of its members, however often definitions are encoded. O(members) in all; memory 40 bytes a communicator.
class SameMembers {
 public:
  // 0: communicators[i] is the first of its kind, else the first one's id + 1.
  // REQUIRES: the same communicators in all calls, but for those that were added at the end.
  [[nodiscard]] std::uint32_t of(const std::vector<Communicator>& communicators, std::size_t i);

 private:
  std::vector<std::uint32_t> same_as_;
  // Ids of firsts by hash: no result depends on the order of a hash, as members are compared.
  std::unordered_multimap<std::uint64_t, std::uint32_t> firsts_;
};

// Appends communicators[from_comm..] and regions[from_region..] to `out`, and the names of all kernels if asked.
// Members equal to those of an earlier communicator become a reference to it. O(members).
void encode_definitions(const std::vector<Communicator>& communicators, std::size_t from_comm,
                        SameMembers& same_members, const std::vector<std::string>& regions,
                        std::size_t from_region, bool kernels, pb::Definitions& out);

// What the Definitions messages of a file define, as far as they were read. Memory: at most
// format::most_definition_bytes() of the file beside the world, whatever the messages claim.
class Definitions {
 public:
  Definitions() = default;
  // The world of `ranks` ranks is communicator 0.
  Definitions(std::uint32_t ranks, std::uint64_t file_bytes);

  // Adds what a serialized message defines. Ids that are known already are skipped (the index repeats all of them).
  // Errors, without a place: kBadInput for gaps, members out of range or twice, too much in all.
  [[nodiscard]] Result<void> add(std::string_view message);

  [[nodiscard]] const std::vector<Communicator>& communicators() const { return communicators_; }
  [[nodiscard]] const std::vector<std::string>& regions() const { return regions_; }
  [[nodiscard]] const KernelNumbers& kernels() const { return kernels_; }

 private:
  [[nodiscard]] Result<void> add_communicator(std::string_view message);
  [[nodiscard]] Result<void> pay(std::uint64_t cost);

  std::uint32_t ranks_ = 0;
  std::uint64_t most_ = 0, cost_ = 0, members_ = 0;
  std::vector<Communicator> communicators_;
  std::vector<std::string> regions_;
  KernelNumbers kernels_;
  std::vector<std::uint32_t> seen_;  // by rank: the last communicator that it was found in
};

}  // namespace weft::traces
