#include "report/hpl/factorisation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::report {

using hpl_gen::PanelFactorisation;

const std::array<FactorisationPart, 4>& factorisation_parts() {
  static constexpr std::array<FactorisationPart, 4> kParts = {{
      {"pfact", true, [](const PanelFactorisation& f) { return std::string(hpl_gen::name_of(f.pfact)); }},
      {"nbmin", false, [](const PanelFactorisation& f) { return fmt::format("{}", f.nbmin); }},
      {"rfact", true, [](const PanelFactorisation& f) { return std::string(hpl_gen::name_of(f.rfact)); }},
      {"ndiv", false, [](const PanelFactorisation& f) { return fmt::format("{}", f.ndiv); }},
  }};
  return kParts;
}

std::vector<FactorisationPart> varying_parts(std::span<const PanelFactorisation> all) {
  std::vector<FactorisationPart> out;
  for (const FactorisationPart& part : factorisation_parts())
    if (std::any_of(all.begin(), all.end(),
                    [&](const auto& f) { return part.text(f) != part.text(all.front()); }))
      out.push_back(part);
  return out;
}

std::string factorisation_words(const PanelFactorisation& f, std::span<const FactorisationPart> parts) {
  std::string out;
  for (const FactorisationPart& part : parts)
    out += fmt::format("{}{} {}", out.empty() ? "" : " ", part.name, part.text(f));
  return out;
}

}  // namespace weft::report
