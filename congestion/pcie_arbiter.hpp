// PcieArbiter: congestion factors of communications in PCIe trees. Sees trees and paths; knows no clock.
//
// The model follows Martinasso, Kwasniewski, Alam, Schulthess, Hoefler, "A PCIe Congestion-Aware Performance
// Model for Densely Populated Accelerator Servers" (SC'16). Every node but a root owns a pair of simplex links
// to its parent, *up* and *down*; capacities are in units of one reference bandwidth B. A communication climbs
// from its source to the lowest common ancestor and descends to its destination; it *crosses the root complex*
// if it turns at a node marked so. Its factor rho is its rate over B. In four steps:
//  A upstream: from the deepest up link to the shallowest, a link asked for more than it has scales its members
//    down in proportion and is *arbitrated*. It is one queue, so a member slowed further up slows the others.
//    Result: offered().
//  B downstream: from the roots down, a link asked for more than it has is *contended*. It serves the input
//    ports of its switch round robin: weighted max-min over the groups of members that came in by one port;
//    all weights are 1/n, but a group with a member that crosses the root complex gives tau of its quota to the
//    groups without, where both kinds meet. Within a group the loss is proportional. Result: downstream().
//  C back-pressure: members of a *bundle* (linked through shared arbitrated up links) keep their proportions:
//    all of them follow the one that lost most. Result: back_pressure().
//  D release: if C slowed anybody, bundles are frozen and B is run again for all others over what is left. This is
//    decided by connected component: what shares no link with a communication, directly or through others, has
//    no say in its rate (on trees of more than 8 GPUs one bundle would else release others far away).
//
// C in closed form: after A the members of an arbitrated link are in the proportion of their shares, so a sweep
// over the links until nothing changes ends where each bundle has its smallest rho/offered in common.
// Where the quotas of all groups that still ask are zero (tau >= 1/n), what is left is shared max-min: arbiters
// are work-conserving.
//
// Sums are compared with capacities to a relative tolerance of 1e-12: exactly full links arbitrate nothing.
// Several trees may be given at once, and a path may have a part in more than one (node - fabric - node).
// Complexity of a solve: O(hops log hops), two passes at most. No allocation once the columns have grown.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace weft::congestion {

// A simplex link: 2 * node for the link up from the node, 2 * node + 1 for the link down to it.
using PcieLink = std::uint32_t;

[[nodiscard]] constexpr PcieLink pcie_up(std::uint32_t node) { return 2 * node; }
[[nodiscard]] constexpr PcieLink pcie_down(std::uint32_t node) { return 2 * node + 1; }

// Columns over node. A child may come before or after its parent.
struct PcieTree {
  static constexpr std::uint32_t kNoParent = 0xffffffffu;
  std::vector<std::uint32_t> parent;        // kNoParent: a root
  std::vector<double> up_capacity;          // over B; > 0; not read for roots
  std::vector<double> down_capacity;        // over B; > 0; not read for roots
  std::vector<std::uint8_t> root_complex;   // 1: a path that turns here crosses (root complex, inter-socket)
  std::vector<std::uint8_t> never_crosses;  // 1: paths from or to this node never count (host memory)
  std::vector<double> tau;                  // quota that crossing costs at the ports down from this node
  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(parent.size()); }
};

class PcieArbiter {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  // What one solve found at one link.
  struct LinkState {
    PcieLink link = 0;
    std::uint32_t members = 0;
    bool short_of_capacity = false;  // up: arbitrated; down: contended
  };

  // REQUIRES: all columns of equal length, no cycle, capacities > 0, tau >= 0 and finite.
  explicit PcieArbiter(PcieTree tree);

  [[nodiscard]] const PcieTree& tree() const { return tree_; }

  // Declares a communication; `ceiling` > 0 is what its factor starts from (a rate from outside over B).
  // The id is dense and reused after remove(), the last removed first. REQUIRES: one tree holds both nodes.
  std::uint32_t add(std::uint32_t src, std::uint32_t dst, double ceiling = 1);
  // The same by links in path order. Each part climbs, then descends; a climb after a descent begins a new
  // part (another tree, or the same one from another leaf). May be empty: the factor is the ceiling.
  std::uint32_t add(std::span<const PcieLink> path, double ceiling = 1);
  void remove(std::uint32_t id);
  void set_ceiling(std::uint32_t id, double ceiling);
  // A fixed communication has its ceiling as its factor whatever the others want: it is limited elsewhere, to
  // less than its due here. Links share what the fixed ones leave; back-pressure does not reach them. REQUIRES
  // of solve(): the fixed ones fit.
  void set_fixed(std::uint32_t id, bool fixed);

  // Factors of `active`, by position in it; valid until the next call. REQUIRES: ids declared, each once.
  std::span<const double> solve(std::span<const std::uint32_t> active);

  // Of the last solve, by position: the results of steps A, B, C. D is what solve() returned.
  [[nodiscard]] std::span<const double> offered() const { return offered_; }
  [[nodiscard]] std::span<const double> downstream() const { return downstream_; }
  [[nodiscard]] std::span<const double> back_pressure() const { return back_pressure_; }
  // The link that decided each factor, kNone where the ceiling did.
  [[nodiscard]] std::span<const PcieLink> limiter() const { return limiter_; }
  // The links crossed by `active`: up links from the deepest, then down links from the roots.
  [[nodiscard]] std::span<const LinkState> links() const { return states_; }

 private:
  struct Hop {
    PcieLink link;
    PcieLink port;  // link by which the path entered the node above a down link; kNone: it began there
    bool crosses;   // this part of the path crosses the root complex
  };
  struct Communication {
    double ceiling = 0;  // 0: removed
    bool fixed = false;
    std::vector<Hop> hops;
  };
  struct Member {
    std::uint32_t position;
    PcieLink port;
    bool crosses;
  };
  struct Group {
    double demand;  // of the members that are not frozen
    double frozen;
    double weight;
    double rate;
    bool crosses;
    bool open;
  };

  std::uint32_t take_id(double ceiling);
  void mark_parts(Communication& c);
  void index_members(std::span<const std::uint32_t> active);
  void upstream();
  void downstream_pass();
  void contend(std::size_t at, double capacity);
  void share(double room);
  bool press_back();
  [[nodiscard]] std::span<const Member> members(std::size_t at) const {
    return {members_.data() + start_[at], start_[at + 1] - start_[at]};
  }
  void mark_slowed_components();
  std::uint32_t find_bundle(std::uint32_t position);

  PcieTree tree_;
  std::vector<std::uint32_t> rank_;  // by link: order of visits
  std::vector<Communication> communications_;
  std::vector<std::uint32_t> free_ids_;
  // by link
  std::vector<std::uint32_t> slot_;  // in states_, valid if seen_
  std::vector<std::uint32_t> seen_;
  std::vector<std::uint32_t> group_of_;  // by link as an entry port; the last element is "began here"
  std::vector<std::uint32_t> group_seen_;
  std::uint32_t stamp_ = 0;
  std::uint32_t group_stamp_ = 0;
  // of the current solve
  std::vector<LinkState> states_;
  std::vector<std::uint32_t> start_;
  std::vector<Member> members_;
  std::vector<double> share_;  // by member of an arbitrated link
  std::vector<Group> groups_;
  std::size_t first_down_ = 0;
  bool any_arbitrated_ = false;
  std::vector<double> rho_;
  std::vector<double> offered_;
  std::vector<double> downstream_;
  std::vector<double> back_pressure_;
  std::vector<PcieLink> limiter_;
  std::vector<PcieLink> up_limiter_;
  std::vector<std::uint32_t> bundle_;  // union-find
  std::vector<std::uint32_t> slowest_;
  std::vector<std::uint8_t> bundled_;
  std::vector<std::uint8_t> slowed_;
  std::vector<std::uint8_t> fixed_;
  std::vector<std::uint8_t> frozen_;
};

}  // namespace weft::congestion
