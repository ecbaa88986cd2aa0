#include "network/sharing.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "congestion/models.hpp"
#include "core/check.hpp"
#include "topology/pcie/forest.hpp"

namespace weft::network {

congestion::PcieNetwork pcie_network(const topology::Fabric& fabric) {
  using topology::PcieKind;
  congestion::PcieNetwork out;
  out.pcie_link.assign(fabric.link_count(), congestion::PcieNetwork::kFabric);
  const topology::PcieForest* forest = fabric.pcie();
  if (forest == nullptr) return out;
  congestion::PcieTree& t = out.tree;
  const std::uint32_t n = fabric.vertex_count();
  t.parent.assign(n, congestion::PcieTree::kNoParent);
  t.up_capacity.assign(n, 1.0);
  t.down_capacity.assign(n, 1.0);
  t.root_complex.assign(n, 0);
  t.never_crosses.assign(n, 0);
  t.gate.assign(n, 0);
  t.tau = forest->tau;
  for (std::uint32_t v = 0; v < n; ++v) {
    const PcieKind kind = forest->kind[v];
    t.root_complex[v] = kind == PcieKind::kRootComplex || kind == PcieKind::kInterSocket ? 1 : 0;
    t.never_crosses[v] = kind == PcieKind::kMemory ? 1 : 0;
    t.gate[v] = kind == PcieKind::kNic ? 1 : 0;
    if (!forest->parent[v].valid()) continue;
    t.parent[v] = forest->parent[v].index();
    t.up_capacity[v] = fabric.links().capacity[forest->up[v].index()];
    t.down_capacity[v] = fabric.links().capacity[forest->down[v].index()];
    out.pcie_link[forest->up[v].index()] = congestion::pcie_up(v);
    out.pcie_link[forest->down[v].index()] = congestion::pcie_down(v);
  }
  return out;
}

congestion::LinkGroups link_groups(const topology::Fabric& fabric) {
  congestion::LinkGroups out;
  const topology::PcieForest* forest = fabric.pcie();
  if (forest == nullptr) return out;
  const std::vector<double>& capacity = fabric.links().capacity;
  for (std::uint32_t v = 0; v < fabric.vertex_count(); ++v) {
    if (!forest->parent[v].valid() || forest->both[v] >= 1) continue;
    const std::uint32_t up = forest->up[v].index(), down = forest->down[v].index();
    out.of_link.resize(capacity.size(), congestion::LinkGroups::kNone);
    out.of_link[up] = out.of_link[down] = static_cast<std::uint32_t>(out.capacity.size());
    out.capacity.push_back(forest->both[v] * (capacity[up] + capacity[down]));
  }
  return out;
}

congestion::PortShares port_shares(const topology::Fabric& fabric) {
  congestion::PortShares out;
  if (fabric.port_shares().empty()) return out;
  for (const topology::PortShare& s : fabric.port_shares()) out.steps.push_back({s.peers, s.factor});
  const topology::LinkTable& links = fabric.links();
  out.host_of_link.assign(links.size(), congestion::PortShares::kNone);
  out.links_of_host.resize(fabric.host_count());
  for (std::uint32_t l = 0; l < fabric.wired_links(); ++l) {
    const std::uint32_t host = std::min(links.from[l], links.to[l]).index();
    if (host >= fabric.host_count()) continue;
    out.host_of_link[l] = host;
    out.links_of_host[host].push_back(LinkId(l));
  }
  return out;
}

std::string_view model_name(std::string_view asked, const topology::Fabric& fabric) {
  if (!asked.empty()) return asked;
  return congestion::default_model(fabric.pcie() != nullptr).name;
}

bool shares_links(std::string_view asked, const topology::Fabric& fabric) {
  const congestion::ModelRow* model = congestion::find_model(model_name(asked, fabric));
  return model == nullptr || !model->is(congestion::kNoContention);
}

Result<void> check_accuracy(double accuracy, std::string_view called) {
  constexpr double kMost = 0.1;
  if (accuracy >= 0 && accuracy <= kMost) return {};  // not a number is neither
  return usage_error(fmt::format("{} out of range", called), fmt::format("{}", accuracy),
                     fmt::format("a ratio from 0 (exact) to {}, like 1e-4", kMost));
}

bool near_exact(std::string_view model) {
  const congestion::ModelRow* const row = congestion::find_model(model);
  return row != nullptr && row->is(congestion::kNearExact);
}

std::string accuracy_text(std::string_view model, double accuracy) {
  return near_exact(model) ? fmt::format("every rate is within {:g} of the exact one", accuracy)
                           : fmt::format("every link's load and every rate is max-min to {:g}", 2 * accuracy);
}

Result<std::unique_ptr<congestion::SharingModel>> make_model(std::string_view asked,
                                                             const topology::Fabric& fabric,
                                                             double accuracy) {
  WEFT_TRY(check_accuracy(accuracy));
  const std::span<const double> capacity = fabric.shared_capacity();
  const std::string_view name = model_name(asked, fabric);
  const congestion::ModelRow* model = congestion::find_model(name);
  const bool trees = model != nullptr && model->is(congestion::kReadsTrees) && fabric.pcie() != nullptr;
  // Arbitration reads a flow's limit as what it asks for, not as what a link lets through.
  if (trees && fabric.links().fatpipes)
    return not_supported("--model " + std::string(name) + " on fatpipe links beside PCIe trees",
                         "--model max-min");
  const congestion::PcieNetwork pcie = trees ? pcie_network(fabric) : congestion::PcieNetwork{};
  WEFT_ASSIGN(auto made, fabric.port_shares().empty()
                             ? congestion::make_grouped_model(name, capacity, trees ? &pcie : nullptr,
                                                              link_groups(fabric))
                             : congestion::make_port_model(name, capacity, port_shares(fabric)));
  if (!made->set_accuracy(accuracy))
    return not_supported("--accuracy with --model " + std::string(name), "another --model, or no --accuracy");
  return made;
}

}  // namespace weft::network
