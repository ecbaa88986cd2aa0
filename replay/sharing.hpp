// The sharing model of a fabric: what replay knows of both sides, topology and congestion.
#pragma once

#include <memory>
#include <string_view>

#include "congestion/pcie_model.hpp"
#include "congestion/sharing_model.hpp"
#include "topology/fabric.hpp"

namespace weft::replay {

// Node of the PCIe trees by vertex: the vertex's own number, so that columns are shared; vertices in no tree are
// roots without children.
[[nodiscard]] congestion::PcieNetwork pcie_network(const topology::Fabric& fabric);

// The model of what a fabric is made of: "pcie" if there are PCIe trees, else "max-min".
[[nodiscard]] std::string_view natural_model(const topology::Fabric& fabric);

// As congestion::make_sharing_model, with the capacities and PCIe trees of `fabric`, which must outlive it.
[[nodiscard]] Result<std::unique_ptr<congestion::SharingModel>> make_model(std::string_view name,
                                                                           const topology::Fabric& fabric);

}  // namespace weft::replay
