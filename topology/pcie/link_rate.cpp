#include "topology/pcie/link_rate.hpp"

#include <array>

#include "core/check.hpp"

namespace weft::topology {
namespace {

constexpr std::array<double, 6> kTransfers = {2.5e9, 5e9, 8e9, 16e9, 32e9, 64e9};
constexpr double kDllp = 8;              // an acknowledgement or flow-control update with its framing
constexpr double kSkip = 4.0 / 1538;     // skip ordered sets
constexpr double kFlit = 236.0 / 256;    // of a gen 6 flit is for packets
constexpr std::uint64_t kOverhead = 24;  // framing 4, sequence number and checksum 4, header 16
constexpr std::uint64_t kFlitHeader = 16;

// Bytes of packets per acknowledgement, and per flow-control update.
std::uint64_t update_limit(const PcieLinkKind& k) {
  constexpr std::uint64_t kTlpOverhead = 28;
  constexpr std::array<std::uint64_t, 3> kDelay = {19, 70, 115};
  const bool small = k.mps <= 256;
  // Tenths of the specification's factor.
  const std::uint64_t factor = k.width <= 4   ? (small ? 14 : 10)
                               : k.width == 8 ? (small ? 25 : 10)
                                              : (small ? 30 : 20);
  return (k.mps + kTlpOverhead) * factor / (10 * k.width) + kDelay[k.generation > 3 ? 2 : k.generation - 1];
}

}  // namespace

Bandwidth pcie_raw_rate(const PcieLinkKind& k) {
  WEFT_CHECK(k.generation >= 1 && k.generation <= 6 && k.width >= 1 && k.mps > 0, "not a PCIe link");
  const double coding = k.generation <= 2 ? 8.0 / 10 : k.generation <= 5 ? 128.0 / 130 : 1.0;
  return Bandwidth(kTransfers[k.generation - 1] * k.width * coding / 8);
}

Bandwidth pcie_packet_rate(const PcieLinkKind& k) {
  const double raw = pcie_raw_rate(k).value();
  if (k.generation == 6) return Bandwidth(raw * kFlit);
  return Bandwidth(raw * (1 - 2 * kDllp / static_cast<double>(update_limit(k)) - kSkip));
}

Bandwidth pcie_payload_rate(const PcieLinkKind& k) {
  const std::uint64_t s = k.payload == 0 ? k.mps : k.payload;
  const std::uint64_t packets = (s + k.mps - 1) / k.mps;
  const auto overhead = static_cast<double>(packets * (k.generation == 6 ? kFlitHeader : kOverhead));
  const auto bytes = static_cast<double>(s);
  return Bandwidth(pcie_packet_rate(k).value() * bytes / (bytes + overhead));
}

}  // namespace weft::topology
