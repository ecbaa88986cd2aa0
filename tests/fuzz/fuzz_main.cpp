// One target under libFuzzer; WEFT_FUZZ_TARGET is its name. scripts/fuzz.sh builds and runs them.
#include <cstdint>

#include "tests/fuzz/target.hpp"

namespace {
weft::fuzz::Target chosen() {
  for (const auto& t : weft::fuzz::all_targets())
    if (std::string_view(t.name) == WEFT_FUZZ_TARGET) return t;
  weft::fuzz::require(false, "no target " WEFT_FUZZ_TARGET);
  return {};
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const weft::fuzz::Target target = chosen();
  (void)target.run(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
