// The rate of a PCI Express link: what a generation and a width leave for payload.
//
//   raw      = transfers/s x width x encoding      8b/10b (gen 1, 2), 128b/130b (gen 3 to 5)
//   packets  = raw (1 - 8/ack - 8/fc - 4/1538)     acknowledgements and flow-control updates of 8 B, one per
//                                                  `ack` and `fc` bytes; skip ordered sets
//   payload  = packets x s / (s + 24 ceil(s/mps))  a write of s bytes in packets of at most mps, each with 24 B
//              of framing, sequence number, checksum and header (64-bit address)
// after Neugebauer et al., "Understanding PCIe performance for end host networking", SIGCOMM 2018. The limits
// ack = fc are the guidance of the base specification: with n symbols per byte-time of a lane,
//   limit    = floor((mps + 28) factor / width) + delay,  delay = 19, 70, 115 at gen 1, 2, 3 and later
// and factor a table over width and mps.
// Gen 6 sends flits of 256 B: 236 for packets, the rest for acknowledgements, flow control, checksum and error
// correction, so packets = raw x 236/256; a packet has 16 B of header and neither framing nor checksum.
#pragma once

#include <cstdint>

#include "core/units.hpp"

namespace weft::topology {

struct PcieLinkKind {
  std::uint32_t generation = 3;  // 1 to 6
  std::uint32_t width = 16;      // 1, 2, 4, 8, 16
  std::uint32_t mps = 256;       // largest payload of a packet: 128, 256, 512, 1024, 2048, 4096
  std::uint64_t payload = 0;     // bytes of a write; 0: long ones, full packets only
};

// After encoding, one direction.
[[nodiscard]] Bandwidth pcie_raw_rate(const PcieLinkKind& link);
// What packets may use of it.
[[nodiscard]] Bandwidth pcie_packet_rate(const PcieLinkKind& link);
// What payload gets: B of the congestion model.
[[nodiscard]] Bandwidth pcie_payload_rate(const PcieLinkKind& link);

}  // namespace weft::topology
