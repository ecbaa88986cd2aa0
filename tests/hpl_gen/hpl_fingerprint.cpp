// Turns configurations into HPL.dat files and recordings into the lines of recorded_runs.txt (record_hpl.sh).
//   hpl_fingerprint dat "CONFIGURATION"                 HPL.dat on stdout
//   hpl_fingerprint trace "CONFIGURATION" TRACE         the oracle's lines on stdout; exit 1 and the lists that differ
//                                                       on stderr if the generated run is not the same
#include <cstdio>
#include <string>

#include "hpl_gen/hpl_trace.hpp"
#include "tests/hpl_gen/recorded_runs.hpp"

int main(int argc, char** argv) {
  using namespace weft;
  using namespace weft::testing_hpl;
  if (argc < 3) return 2;
  const std::string what = argv[1];
  const Configuration c = parse_configuration(argv[2]);
  if (what == "dat") {
    std::fputs(hpl_gen::write_hpl_dat(hpl_gen::to_dat(c.config)).c_str(), stdout);
    return 0;
  }
  if (argc < 4) return 2;
  auto trace = traces::open_trace({argv[3]});
  if (!trace) {
    std::fprintf(stderr, "%s\n", trace.error().message().c_str());
    return 3;
  }
  const AllLists recorded = lists_of(**trace);
  std::printf("run %s\n", c.line.c_str());
  for (const std::string& line : fingerprint_lines(recorded)) std::printf("%s\n", line.c_str());
  hpl_gen::HplTraceOptions options;
  options.pivots = hpl_gen::PivotKind::kExact;
  options.matrix_seed = c.matrix_seed;
  auto made = hpl_gen::HplTrace::create(hpl_gen::to_dat(c.config), options);
  if (!made) return 3;
  const AllLists generated = lists_of(**made);
  if (recorded.sent == generated.sent && recorded.received == generated.received) return 0;
  std::fprintf(stderr, "differs: %s\n%s%s", c.line.c_str(),
               differences(recorded.sent, generated.sent).c_str(),
               differences(recorded.received, generated.received).c_str());
  return 1;
}
