#include "congestion/contention_free.hpp"
#include "congestion/max_min.hpp"
#include "congestion/pcie_model.hpp"
#include "congestion/sharing_model.hpp"

namespace weft::congestion {
namespace {

std::string known_models() {
  std::string names;
#define WEFT_MODEL(name, summary, make) names += names.empty() ? "one of: " name : ", " name;
#define WEFT_MODEL_LATER(name, summary) names += ", " name " (not yet)";
#include "congestion/models.def"
#undef WEFT_MODEL
#undef WEFT_MODEL_LATER
  return names;
}

}  // namespace

Result<std::unique_ptr<SharingModel>> make_sharing_model(std::string_view name,
                                                         std::span<const double> capacity,
                                                         [[maybe_unused]] const PcieNetwork* pcie) {
#define WEFT_MODEL(known, summary, make) \
  if (name == known) return Result<std::unique_ptr<SharingModel>>(make);
#define WEFT_MODEL_LATER(known, summary) \
  if (name == known)                     \
    return not_supported("network model " known ": " summary, "another model: " + known_models());
#include "congestion/models.def"
#undef WEFT_MODEL
#undef WEFT_MODEL_LATER
  return usage_error("unknown network model", std::string(name), known_models());
}

}  // namespace weft::congestion
