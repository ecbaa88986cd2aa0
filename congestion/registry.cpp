#include "congestion/sharing_model.hpp"

namespace weft::congestion {

Result<std::unique_ptr<SharingModel>> make_sharing_model(std::string_view name, std::span<const double> capacity) {
  (void)capacity;
  return usage_error("unknown network model", std::string(name), "one of: max-min, contention-free");
}

}  // namespace weft::congestion
