// How HPL factors its panels, for people: what of PFACT, NBMIN, RFACT and NDIV tells runs apart.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hpl_gen/hpl_search.hpp"

namespace weft::report {

struct FactorisationPart {
  std::string_view name;
  bool named_values;  // "crout", not a number
  std::string (*text)(const hpl_gen::PanelFactorisation&);
};
// pfact, nbmin, rfact, ndiv.
[[nodiscard]] const std::array<FactorisationPart, 4>& factorisation_parts();
// Those of them that are not the same everywhere, in that order.
[[nodiscard]] std::vector<FactorisationPart> varying_parts(std::span<const hpl_gen::PanelFactorisation> all);
// "nbmin 4 ndiv 2"; of no parts: nothing.
[[nodiscard]] std::string factorisation_words(const hpl_gen::PanelFactorisation& f,
                                              std::span<const FactorisationPart> parts);

}  // namespace weft::report
