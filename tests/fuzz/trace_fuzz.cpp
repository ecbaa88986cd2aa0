// Any bytes as a trace: the readers answer with operations or an error, never a crash. Build with
// clang++ -fsanitize=fuzzer,address, or run the seeded loop of tests/traces/fuzz_test.cpp.
#include "tests/fuzz/trace_fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::traces::fuzz_one(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
