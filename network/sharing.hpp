// The sharing model of a fabric: what replay knows of both sides, topology and congestion.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "congestion/link_groups.hpp"
#include "congestion/pcie_model.hpp"
#include "congestion/port_shares.hpp"
#include "congestion/sharing_model.hpp"
#include "topology/fabric.hpp"

namespace weft::network {

// Node of the PCIe trees by vertex: the vertex's own number, so that columns are shared; vertices in no tree are
// roots without children.
[[nodiscard]] congestion::PcieNetwork pcie_network(const topology::Fabric& fabric);

// What both directions of a PCIe link share (topology/pcie/forest.hpp), a group a link that has such a limit.
[[nodiscard]] congestion::LinkGroups link_groups(const topology::Fabric& fabric);

// Whose ports the links are, where ports carry less to several peers (Fabric::share_ports); else empty.
[[nodiscard]] congestion::PortShares port_shares(const topology::Fabric& fabric);

// The model that shares the links of `fabric`: `asked`, or where nothing was asked for (empty) the default of
// models.def for a platform with or without PCIe trees. The one place that decides it, for every verb, and what outputs
// name.
[[nodiscard]] std::string_view model_name(std::string_view asked, const topology::Fabric& fabric);

// False: flows of model_name(asked, fabric) never slow each other. A name that is no model's is for make_model to
// refuse.
[[nodiscard]] bool shares_links(std::string_view asked, const topology::Fabric& fabric);

// Error (kUsage), which calls it `called`: no ratio that a rate may be off by, from 0 (exact) to 0.1.
[[nodiscard]] Result<void> check_accuracy(double accuracy, std::string_view called = "accuracy");

// What rates of `model` are at all times with an accuracy > 0: each within it of the exact one, or max-min to twice of it
// (SharingModel::set_accuracy); the same as words.
[[nodiscard]] bool near_exact(std::string_view model);
[[nodiscard]] std::string accuracy_text(std::string_view model, double accuracy);

// As congestion::make_grouped_model for model_name(asked, fabric), with the capacities, the PCIe trees and what links
// share of `fabric`, which must outlive it. Links do not keep flows below the bandwidth of a fatpipe: their limits do
// (RouteCache::Route::limit, fatpipe_limit). `accuracy`: SharingModel::set_accuracy(); one that check_accuracy() refuses, and any with
// a model that knows none, is an error (the latter kNotSupported).
[[nodiscard]] Result<std::unique_ptr<congestion::SharingModel>> make_model(std::string_view asked,
                                                                           const topology::Fabric& fabric,
                                                                           double accuracy = 0);

}  // namespace weft::network
