// OTF2 archives: files of one, each after a line "== NAME".
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/replay_some.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/files.hpp"
#include "tests/support/otf2_writer.hpp"
#include "traces/check/check.hpp"
#include "traces/exports/export.hpp"
#include "traces/info.hpp"

// What the library allocates before it finds a mapping table damaged, it does not free.
extern "C" const char* __lsan_default_suppressions() { return "leak:libopen-trace-format2\n"; }

namespace weft::fuzz {
namespace {

namespace fs = std::filesystem;
using namespace traces;

constexpr std::string_view kFile = "\n== ";
constexpr const char* kNames[] = {"traces.otf2",  "traces.def",   "traces/0.def",
                                  "traces/0.evt", "traces/1.def", "traces/1.evt"};

fs::path folder(const char* what) {
  return fs::temp_directory_path() /
         (std::string("weft_fuzz_otf2_") + what + "_" + std::to_string(::getpid()));
}

bool run_otf2(std::string_view bytes) {
  const fs::path dir = folder("in"), copy = folder("out");
  std::error_code ec;
  fs::remove_all(dir, ec);
  fs::remove_all(copy, ec);
  fs::create_directories(dir / "traces");
  while (!bytes.empty()) {
    const std::size_t next = bytes.find(kFile, 1);
    std::string_view file = bytes.substr(0, next);
    bytes.remove_prefix(next == std::string_view::npos ? bytes.size() : next);
    if (file.starts_with(kFile)) file.remove_prefix(kFile.size());
    const std::size_t line = std::min(file.find('\n'), file.size());
    // Only names of an archive: nothing is written elsewhere.
    const std::string_view name = file.substr(0, line);
    if (std::ranges::find(kNames, name) == std::end(kNames)) continue;
    std::ofstream(dir / name, std::ios::binary) << file.substr(std::min(line + 1, file.size()));
  }
  auto t = open_trace({dir.string()}, "otf2");
  bool accepted = false;
  if (t) {
    const auto info = scan_trace(**t);
    (void)check_trace(**t);
    replay_some(**t);
    if (info) {
      accepted = true;
      require(info->totals.ops == (*t)->totals().ops && info->totals.bytes == (*t)->totals().bytes,
              "the second reading of an OTF2 archive holds what the first one counted");
      if (info->totals.ops > 0) (void)(*t)->position(RankId(0), info->totals.ops / 2);
      (*t)->rewind();
      if (info->totals.ops < 2000 && export_trace(**t, "otf2", copy.string())) {
        auto again = open_trace({copy.string()}, "otf2");
        require(again.has_value(), "an archive that was written opens");
        require((*again)->totals().messages == info->totals.messages &&
                    (*again)->totals().bytes == info->totals.bytes,
                "an archive that was written holds the same messages");
      }
    }
  }
  fs::remove_all(dir, ec);
  fs::remove_all(copy, ec);
  return accepted;
}

std::vector<std::string> seeds() {
  const fs::path dir = folder("seed");
  std::error_code ec;
  fs::remove_all(dir, ec);
  {
    weft::testing::Otf2Writer w(dir.string(), 2);
    const auto dup = w.comm({1, 0}, "dup");
    for (std::uint32_t r = 0; r < 2; ++r) {
      auto& rank = w[r];
      rank.clock_offsets = {{0, 5}, {100'000, 7}};
      rank.region_map[90] = w.region("main");
      rank.enter_ref(90).call("MPI_Init").call("MPI_Iprobe");
      rank.enter("MPI_Comm_dup")
          .collective(OTF2_COLLECTIVE_OP_CREATE_HANDLE, 0, 0, weft::testing::Otf2Writer::kNone, 0, dup)
          .leave();
      rank.enter("MPI_Irecv").irecv(1).leave().enter("MPI_Issend").isend(1 - r, 3, 100, 2).leave();
      rank.enter("MPI_Waitany")
          .tested(2)
          .received(1 - r, 3, 100, 1)
          .leave()
          .enter("MPI_Wait")
          .sent(2)
          .leave();
      rank.enter("MPI_Sendrecv").send(r, 4, 8, dup).recv(r, 4, 8, dup).leave().flush(50);
      rank.enter("MPI_Iallgatherv").icollective(3).leave();
      rank.enter("MPI_Wait").icollective_done(OTF2_COLLECTIVE_OP_ALLGATHERV, 2 * (r + 1), 3, 3).leave();
      rank.enter("MPI_Alltoallv").collective(OTF2_COLLECTIVE_OP_ALLTOALLV, 30, 30).leave();
      rank.enter("MPI_Bcast").collective(OTF2_COLLECTIVE_OP_BCAST, r == 0 ? 16 : 0, 8, 0).leave();
      rank.enter("MPI_Comm_free").destroy(dup).leave().call("MPI_Finalize").leave_ref(90);
    }
  }
  std::string all;
  for (const char* name : kNames) all += std::string(kFile) + name + "\n" + support::slurp(dir / name);
  fs::remove_all(dir, ec);
  return {all};
}

}  // namespace

std::vector<Target> otf2_targets() {
  return {{"otf2",
           seeds,
           {std::string(4, '\xff'), std::string(8, '\0'), std::string("\x0c\x01\x01", 3),
            std::string("\x0d\x01\x01", 3), std::string("\x0e\x06\x00\x00\x01\x01\x01\x08", 8),
            std::string("\x10\x01\x02", 3), std::string("\x05\x00\x00\x00\x00\x00\x00\x00\x7f", 9),
            std::string("\x02", 1), std::string("\x06\x01\x00", 3)},
           600,
           run_otf2}};
}

}  // namespace weft::fuzz
