// Readers of files of rules. Internal to replay/collectives.
//
// Errors: kBadInput at FILE:LINE:COLUMN; an algorithm that the library has and Weft has not: not supported.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "replay/collectives/rule_text.hpp"
#include "replay/collectives/rules.hpp"

namespace weft::replay::collectives {

// Open MPI, text and JSON: coll_tuned_dynamic_rules_filename. `han`: with it in front.
[[nodiscard]] Result<std::shared_ptr<const CollectiveRules>> read_openmpi_rules(const std::string& file,
                                                                                std::string_view text,
                                                                                bool han);
[[nodiscard]] Result<std::shared_ptr<const CollectiveRules>> read_openmpi_rules(const std::string& file,
                                                                                const Json& root, bool han);
// MPICH: MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE and the same of CH4.
[[nodiscard]] Result<std::shared_ptr<const CollectiveRules>> read_mpich_rules(const std::string& file,
                                                                              const Json& root);

}  // namespace weft::replay::collectives
