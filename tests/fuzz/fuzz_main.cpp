// One target under libFuzzer: the one that the environment names in WEFT_FUZZ_TARGET. scripts/fuzz.sh builds and runs it.
#include <cstdint>
#include <cstdlib>

#include "tests/fuzz/target.hpp"

namespace {
weft::fuzz::Target chosen() {
  const char* name = std::getenv("WEFT_FUZZ_TARGET");
  weft::fuzz::require(name != nullptr, "WEFT_FUZZ_TARGET is not set to a name that fuzz_seeds lists");
  for (const auto& t : weft::fuzz::all_targets())
    if (std::string_view(t.name) == name) return t;
  weft::fuzz::require(false, std::string("no target ") + name);
  return {};
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const weft::fuzz::Target target = chosen();
  (void)target.run(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
