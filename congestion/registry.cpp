// Which model a name stands for: the rows of models.def as a table.
#include <algorithm>

#include "congestion/models.hpp"
#include "core/check.hpp"
#include "core/suggest.hpp"

namespace weft::congestion {
namespace {

std::string known_models(std::string_view got) {
  std::string names;
  std::vector<std::string_view> all;
#define WEFT_MODEL(id, name, summary, traits, memoryless) \
  names += names.empty() ? "one of: " name : ", " name;   \
  all.emplace_back(name);
#define WEFT_MODEL_LATER(name, summary) \
  names += ", " name " (not yet)";      \
  all.emplace_back(name);
#include "congestion/models.def"
#undef WEFT_MODEL
#undef WEFT_MODEL_LATER
  return names + did_you_mean(got, all);
}

const ModelRow& only_row_that(ModelTraits trait) {
  const auto has = [&](const ModelRow& row) { return row.is(trait); };
  WEFT_CHECK(std::ranges::count_if(models(), has) == 1, "models.def has not one default model");
  return *std::ranges::find_if(models(), has);
}

}  // namespace

const std::vector<ModelRow>& models() {
  static const std::vector<ModelRow> rows = {
#define WEFT_MODEL(id, name, summary, traits, memoryless) {name, summary, traits, memoryless},
#define WEFT_MODEL_LATER(name, summary)
#include "congestion/models.def"
#undef WEFT_MODEL
#undef WEFT_MODEL_LATER
  };
  return rows;
}

const ModelRow* find_model(std::string_view name) {
  const auto row = std::ranges::find(models(), name, &ModelRow::name);
  return row == models().end() ? nullptr : &*row;
}

const ModelRow& default_model(bool trees) { return only_row_that(trees ? kDefaultOnTrees : kDefault); }

std::string listed_models() {
  std::string all;
  for (const ModelRow& row : models()) {
    if (row.is(kUnlisted)) continue;
    if (!all.empty()) all += '|';
    all += row.name;
  }
  return all;
}

std::string default_model_rule() {
  return std::string(default_model(true).name) + " where there are PCIe trees, else " +
         std::string(default_model(false).name);
}

void SharingModel::set_capacity(LinkId /*link*/, double /*bytes_per_s*/) {
  WEFT_CHECK(false, "this model's capacities do not vary");
}

Result<std::unique_ptr<SharingModel>> make_sharing_model(std::string_view name,
                                                         std::span<const double> capacity,
                                                         const PcieNetwork* pcie) {
#define WEFT_MODEL(id, known, summary, traits, memoryless) \
  if (name == known) return Result<std::unique_ptr<SharingModel>>(make_##id(capacity, pcie));
#define WEFT_MODEL_LATER(known, summary) \
  if (name == known)                     \
    return not_supported("network model " known ": " summary, "another model: " + known_models({}));
#include "congestion/models.def"
#undef WEFT_MODEL
#undef WEFT_MODEL_LATER
  return usage_error("unknown network model", std::string(name), known_models(name));
}

}  // namespace weft::congestion
