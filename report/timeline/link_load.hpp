// What every link carries when: for the heat map of the page and for the counters of viewers.
//
// From messages, and copies between accelerators and their hosts: the bytes of each are spread evenly over the time between
// the instant at which its data leave and that at which all have come, over every link of its route. So the bytes of a link
// over all time are those that the replay counts (network::LinkUse), and how they lie within a message's own time is not
// known. Where flows share links, none carries more than its bandwidth (with an accuracy a, that over 1 - a): what a bin
// would have beyond that moves to the nearest bins with room, as long as the link is in use without a break. (Of two
// messages that overlap, each is faster while it is alone: its even spread has too much where both are, too little beside
// it.) Where they do not (contention-free) a link can carry more than its bandwidth, and is shown to. Where the routing
// chooses per message nothing is known of links. Messages of exchange series are told to nobody (ReplayOptions::on_message).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/units.hpp"
#include "replay/engine.hpp"
#include "topology/fabric.hpp"
#include "topology/routing/socket_routes.hpp"

namespace weft::report {

struct LinkLoad {
  std::string unknown;         // why nothing is known; then the rest is empty
  std::vector<LinkId> links;   // those that carried most for their bandwidth, most first
  std::uint64_t left_out = 0;  // links that carried something and are not in `links`
  std::uint32_t bins = 0;      // of time, each `bin` long, from 0 to the end of the replay
  Duration bin{0};
  Duration end{
      0};  // of the replay, or of the last message where that comes later: the last bin may end before its time
  std::vector<double> used;               // share of the bandwidth, `bins` times a link; above 1 see above
  std::vector<std::uint64_t> link_bytes;  // by LinkId, of all links
};

class LinkLoadCollector {
 public:
  static constexpr std::uint32_t kBins = 512;  // at most; of a run at least half as many
  static constexpr std::uint32_t kLinksShown = 64;
  static constexpr std::size_t kLinksKept = 16'384;  // with a row of bins each: 32 MB

  // Both outlive it. `options`: those of the replay, for the header of messages and how flows share links.
  LinkLoadCollector(const topology::Fabric& fabric, const std::vector<HostId>& placement,
                    const replay::ReplayOptions& options);
  void add(const replay::MessageSeen& m);
  void add(const replay::CopySeen& c);
  // To be called once.
  [[nodiscard]] LinkLoad finish(Duration makespan);

 private:
  const std::vector<LinkId>& route(HostId from, HostId to);
  const std::vector<LinkId>& route(RankId src, RankId dst);
  // Whether so many bytes are to be spread.
  [[nodiscard]] bool counts(double bytes);
  // Bytes that move over `links` from `left` to `arrived`.
  void spread(double bytes, const std::vector<LinkId>& links, Duration left, Duration arrived);
  void widen();
  [[nodiscard]] std::vector<double> bytes_of(LinkId l, Duration end) const;

  const topology::Fabric& fabric_;
  const std::vector<HostId>& placement_;
  topology::SocketRoutes sockets_;
  std::vector<LinkId> between_sockets_;  // the route of the last message that went over one
  double header_;
  bool shares_;
  double full_;  // most use of a link where flows share it: above 1 where rates need not be exact
  std::unordered_map<std::uint64_t, std::vector<LinkId>> routes_;  // by hosts, src << 32 | dst
  std::vector<std::uint32_t> row_of_;                              // by LinkId; kNone: not used yet
  std::vector<std::vector<float>> rows_;
  std::vector<double> carried_;  // by LinkId
  Duration bin_{1};
  Duration latest_{0};  // arrival
  std::string unknown_;
};

}  // namespace weft::report
