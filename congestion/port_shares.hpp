// Ports that carry less to several hosts than to one: while a host exchanges messages with more than one other, its links
// have a share of their capacity (docs/model.md, "Ports with several peers").
//
// The number of peers of a host counts the hosts that a flow under way goes to or comes from. Between two changes of it the
// links have a capacity as all others, so rates are those of the model, max-min fair, and so is its certificate.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "congestion/sharing_model.hpp"

namespace weft::congestion {

struct PortShares {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  struct Step {
    std::uint32_t peers;  // so many or more
    double factor;        // of the capacity, > 0, at most 1
  };
  std::vector<Step> steps;                  // peers ascending, > 1; before the first all of the capacity
  std::vector<std::uint32_t> host_of_link;  // by LinkId: whose port it is
  std::vector<std::vector<LinkId>> links_of_host;  // its ports, both ways
  [[nodiscard]] bool empty() const { return steps.empty(); }
  // O(steps).
  [[nodiscard]] double factor(std::size_t peers) const;
};

// The peers of every host, as flows come and go. Complexity: O(peers of the two hosts) a flow.
class PortPeers {
 public:
  explicit PortPeers(std::size_t hosts) : peers_(hosts) {}
  void open(std::uint32_t a, std::uint32_t b) {
    count(a, b);
    count(b, a);
  }
  void close(std::uint32_t a, std::uint32_t b) {
    discount(a, b);
    discount(b, a);
  }
  [[nodiscard]] std::size_t of(std::uint32_t host) const { return peers_[host].size(); }

 private:
  struct Peer {
    std::uint32_t host;
    std::uint32_t flows;
  };
  void count(std::uint32_t host, std::uint32_t peer);
  void discount(std::uint32_t host, std::uint32_t peer);
  std::vector<std::vector<Peer>> peers_;
};

// The max-min model of that name (or another of models.def without contention, which knows no shares) over ports with shares.
// `capacity` must outlive it. Errors: as make_sharing_model; kNotSupported for models that take no other capacity on the way.
[[nodiscard]] Result<std::unique_ptr<SharingModel>> make_port_model(std::string_view name,
                                                                    std::span<const double> capacity,
                                                                    PortShares shares);

}  // namespace weft::congestion
