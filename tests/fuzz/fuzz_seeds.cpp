// Writes the seeds of trace_fuzz into the directory given.
#include <cstdio>

#include "tests/fuzz/seeds.hpp"

int main(int argc, char** argv) {
  using namespace weft::traces;
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds DIRECTORY\n");
    return 2;
  }
  const std::string dir = std::string(argv[1]) + "/";
  const auto put = [&](const char* name, char mode, std::string_view bytes) {
    std::ofstream out(dir + name, std::ios::binary);
    if (mode > 0) out << mode << static_cast<char>(block_seed().ops.size());
    out << bytes;
  };
  put("ti", -1, ti_seed());
  put("header", 1, kHeaderMessageSeed);
  put("definitions", 2, kDefinitionsMessageSeed);
  put("block", 3, block_message_seed());
  put("index", 4, kIndexMessageSeed);
  (void)weft_seed(dir + "file");
}
