// graft: a PCI Express tree under the hosts of any network, so that GPU - PCIe - network card - fabric -
// network card - PCIe - GPU is one route.
//
// The hosts of the network become the network cards: with k cards a node, hosts n k .. n k + k - 1 are cards 0
// to k-1 of node n. The hosts of the result are the GPUs, node by node, then the host memories if there are
// any. Routes within a node stay in its tree; others leave by the card nearest to the source (fewest links, GPUs
// dealt in turn to equally near ones), cross the network as it routes between the two cards, and come in by the
// card nearest to the destination. Where the network has no route between these two (a card's cable failed), they go by
// other cards: the pair with the fewest links of the trees between which there is one. Names: node3.gpu1, node3.nic0;
// switches of the network keep theirs.
// Memory: 4 bytes per link of the network and some 40 per vertex. O(vertices + links) to build, O(depth) and the
// network's own cost per route, O(cards^2) more where the nearest ones do not serve.
#pragma once

#include "topology/fabric.hpp"
#include "topology/platform/params.hpp"
#include "topology/routing/failures.hpp"

namespace weft::topology {

// `node`: keys of the family pcie, and `speed`. Errors: kBadInput about a key of the node, or hosts that do not divide
// into nodes of so many cards; kNotSupported for failures within a node, a network from a routes file or one that has
// trees already.
[[nodiscard]] Result<Fabric> graft(Fabric network, const Params& node);

// What the hosts of a network are called as cards of such nodes. Errors: kBadInput about a key of the node.
[[nodiscard]] Result<HostNames> card_names(const Params& node);

}  // namespace weft::topology
