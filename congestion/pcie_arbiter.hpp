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
//    ports of its switch round robin: weighted max-min over the groups of members that came in by one port. Where
//    groups with a member that crosses the root complex meet others, they take only the part
//    p = (1/2 - tau)/(1/2 + tau) of their turns: with x crossing of n their weights are p/(n - x + x p), those of
//    the others 1/(n - x + x p). For two groups, where it was measured: 1/2 -+ tau. Within a group the loss is
//    proportional. Result: downstream().
//  C back-pressure: members of a *bundle* (linked through shared arbitrated up links) keep their proportions:
//    all of them follow the one that lost most. Result: back_pressure().
//  D release: bundles are frozen and B is run again for all others over what is left, with what they have as a
//    floor. Done in those connected components (by shared links) where C slowed anybody or left room on a
//    contended link: what shares no link, directly or through others, has no say.
//  E rise: where a link was contended by more than two groups. Bundles and single communications rise at one pace,
//    in parts of offered(), until a link of theirs is full or a member has what it offered or what the last port of
//    two groups or less granted it. What such a port leaves unused is part of what was measured.
// docs/pcie.md, "Wide switches", has the reasons for D's floors and for E. All factors are above 0.
//
// By hand, tau = 1/5, eight GPUs on four cards of two, cards (0,1) and (2,3) under one switch, the others under the
// root complex's other port; communications 0->2, 1->4, 3->2, 6->4, all capacities 1:
//     A  0->2 and 1->4 share the link up from card (0,1): 1/2 each. The others offer 1.
//     B  the port to GPU 2 has two groups that do not cross: 0->2 may have 1/2, all it offers, 3->2 has 1/2. The port
//     to
//        card (4,5) has 1->4, which crosses the root complex, beside 6->4: 1/2 - 1/5 = 3/10 and 7/10.
//     C  0->2 and 1->4 are a bundle: 1->4 lost most, 3/10 of the 1/2 that it offered, so 0->2 has 3/10 as well.
//     D  the bundle is frozen, the others share what is left: 3->2 gets 1 - 3/10 = 7/10, 6->4 stays at 7/10.
// (PcieArbiter.WorkedExampleHasTheFractionsOfEveryStep)
//
// C in closed form: after A the members of an arbitrated link are in the proportion of their shares, so a sweep
// over the links until nothing changes ends where each bundle has its smallest rho/offered in common.
//
// Sums are compared with capacities to a relative tolerance of 1e-12: exactly full links arbitrate nothing.
// Several trees may be given at once, and a path may have a part in more than one (node - fabric - node). What leaves or
// enters a tree does so at a *gate*, a network card. Then A and B take the links in the order in which such a path crosses
// them: up links first those that no gate climbs by, then those from a gate to its root; down links first those to a gate.
// Within each part the depth decides. What has left one tree at half its rate asks for no more in the next; and no two
// links of one place in this order share a member (but where a path to one gate climbs by another's), so how trees are
// numbered decides nothing.
// Complexity of a solve: O(hops log hops), two passes at most; E adds O(hops) for each group of bundles that stop
// rising together. No allocation once the columns have grown.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "congestion/link_shares.hpp"

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
  std::vector<std::uint8_t> gate;  // 1: paths leave and enter the tree here (network card); empty: nowhere
  std::vector<double> tau;         // what crossing costs at the ports down from this node, of a port of two
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

  // REQUIRES: all columns of equal length (or no gate), no cycle, capacities > 0, tau >= 0 and finite.
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
  std::span<const double> solve(std::span<const std::uint32_t> active) {
    choose(active);
    return solve();
  }
  // The same in two steps, for those who solve several times with other ceilings: who crosses which link is found once.
  // REQUIRES of solve(): nothing was added or removed since choose(); `active` is still there.
  void choose(std::span<const std::uint32_t> active);
  std::span<const double> solve();

  // Of the last solve, by position: the results of steps A, B, C. D is what solve() returned.
  [[nodiscard]] std::span<const double> offered() const { return offered_; }
  [[nodiscard]] std::span<const double> downstream() const { return downstream_; }
  [[nodiscard]] std::span<const double> back_pressure() const { return back_pressure_; }
  // The link that decided each factor, kNone where the ceiling did: after E a full one, but where a port of two groups or less
  // decided.
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
  // Its demand is that of the members that are not frozen.
  struct Group : LinkShare {
    double floor = 0;  // what these had before the release
    double frozen = 0;
    double fixed = 0;
    bool crosses = false;
    bool pinned = false;
  };

  std::uint32_t take_id(double ceiling);
  void mark_parts(Communication& c);
  void upstream();
  void downstream_pass();
  void contend(std::size_t at, double capacity);
  void share(double room);
  void lift_to_floors(std::size_t at);
  bool press_back();
  bool find_room();
  void rise();
  [[nodiscard]] std::span<const Member> members(std::size_t at) const {
    return {members_.data() + start_[at], start_[at + 1] - start_[at]};
  }
  void mark_slowed_components();
  [[nodiscard]] std::size_t port_index(const Member& m) const {
    return m.port == kNone ? group_of_.size() - 1 : m.port;
  }
  static std::uint32_t find(std::vector<std::uint32_t>& sets, std::uint32_t position);

  PcieTree tree_;
  std::vector<std::uint32_t> rank_;  // by link: order of visits
  std::vector<Communication> communications_;
  std::vector<std::uint32_t> free_ids_;
  // by link
  std::vector<std::uint32_t> slot_;  // in states_, valid if seen_
  std::vector<std::uint32_t> seen_;
  std::vector<std::uint8_t> full_;       // of rise(), valid for links in states_
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
  bool any_wide_ = false;
  bool releasing_ = false;
  std::span<const std::uint32_t> active_;
  std::vector<double> rho_;
  std::vector<double> offered_;
  std::vector<double> downstream_;
  std::vector<double> back_pressure_;
  std::vector<PcieLink> limiter_;
  std::vector<PcieLink> up_limiter_;
  std::vector<std::uint32_t> bundle_;       // union-find
  std::vector<std::uint32_t> component_;    // union-find
  std::vector<double> granted_;             // what ports of the measured width leave
  std::vector<double> height_;              // of rise()
  std::vector<PcieLink> held_by_;           // of rise()
  std::vector<std::uint8_t> limiter_full_;  // of rise()
  std::vector<double> room_;                // of rise(), by link
  std::vector<double> speed_;               // of rise(), by link
  std::vector<std::uint32_t> slowest_;
  std::vector<std::uint8_t> bundled_;
  std::vector<std::uint8_t> slowed_;
  std::vector<std::uint8_t> fixed_;
  std::vector<std::uint8_t> frozen_;
};

}  // namespace weft::congestion
