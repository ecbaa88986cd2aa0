// Any bytes as a trace: the readers answer with operations or an error, never a crash.
// -DWEFT_BUILD_FUZZERS=ON with clang; build/tests/fuzz/fuzz_seeds DIR writes seeds, then
// build/tests/fuzz/trace_fuzz DIR. mutation_test.cpp is the quick form of the same.
#include "tests/fuzz/trace_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::traces::fuzz_bytes(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
