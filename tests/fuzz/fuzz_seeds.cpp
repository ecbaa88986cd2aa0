// Lists the targets; writes the seeds of one into a directory and its words as a dictionary of libFuzzer.
#include <cstdio>
#include <fstream>

#include "tests/fuzz/target.hpp"

int main(int argc, char** argv) {
  for (const auto& t : weft::fuzz::all_targets()) {
    if (argc == 1) std::printf("%s\n", t.name);
    if (argc != 4 || std::string_view(argv[1]) != t.name) continue;
    int number = 0;
    for (const auto& s : t.seeds())
      std::ofstream(std::string(argv[2]) + "/seed" + std::to_string(number++), std::ios::binary) << s;
    std::ofstream words(argv[3]);
    for (const auto& w : t.words) {
      words << '"';
      for (const char c : w) {
        char hex[8];
        std::snprintf(hex, sizeof hex, "\\x%02X", static_cast<unsigned char>(c));
        words << hex;
      }
      words << "\"\n";
    }
    return words ? 0 : 1;
  }
  if (argc == 1) return 0;
  std::fprintf(stderr, "usage: fuzz_seeds [TARGET DIRECTORY DICTIONARY]\n");
  return 2;
}
