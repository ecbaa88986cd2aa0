// The rows of models.def: what each model must define, and what others may ask of one by its name.
//
// A model is one source file that includes this header, one row, and the conformance suite that runs over the rows.
// Nothing else names it: defaults, help pages and what other modules decide by model are columns of its row.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "congestion/sharing_model.hpp"

namespace weft::congestion {

// `capacity`: bytes/s by LinkId, > 0; must outlive the model. `pcie`: which links form PCIe trees, null = none; a model
// without kReadsTrees ignores it. It need not outlive the call.
#define WEFT_MODEL(id, name, summary, traits, memoryless)                                 \
  [[nodiscard]] std::unique_ptr<SharingModel> make_##id(std::span<const double> capacity, \
                                                        const PcieNetwork* pcie);
#define WEFT_MODEL_LATER(name, summary)
#include "congestion/models.def"
#undef WEFT_MODEL
#undef WEFT_MODEL_LATER

enum ModelTraits : unsigned {
  kReadsTrees = 1,      // PCIe trees mean something to it
  kNoContention = 2,    // flows never slow each other
  kDefault = 4,         // taken where nobody asked for one
  kDefaultOnTrees = 8,  // the same on a platform with PCIe trees
  kUnlisted = 16,       // help pages leave it out
  kNearExact = 32,      // with an accuracy each rate is as near to the exact one; else max-min to twice of it
};

struct ModelRow {
  std::string_view name;
  std::string_view summary;
  unsigned traits = 0;
  std::string_view memoryless;
  [[nodiscard]] bool is(ModelTraits trait) const { return (traits & trait) != 0; }
};

// In the order of models.def, without those of a later version.
[[nodiscard]] const std::vector<ModelRow>& models();
// Null: no such model.
[[nodiscard]] const ModelRow* find_model(std::string_view name);
// The one row that is kDefault, or kDefaultOnTrees.
[[nodiscard]] const ModelRow& default_model(bool trees);

// For help pages. "max-min|contention-free|pcie", and the rule of the default.
[[nodiscard]] std::string listed_models();
[[nodiscard]] std::string default_model_rule();

}  // namespace weft::congestion
