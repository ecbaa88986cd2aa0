#include "tests/faults/inputs.hpp"

#include <cstdlib>
#include <stdexcept>

#include "tests/faults/faulty_run.hpp"
#include "tests/support/dumpi_writer.hpp"

namespace weft::faults {

using testing::DumpiWriter;

void make_inputs(const testing::Workspace& w) {
  w.write(
      "in/fit.csv",
      "m,n,k,seconds\n100,100,100,1e-3\n200,200,200,7e-3\n300,300,300,2e-2\n50,50,50,2e-4\n70,20,90,3e-4\n");
  w.write("in/osu.txt",
          "# OSU MPI Latency Test v5.6\n# Size          Latency (us)\n0 1.0\n1000 2.0\n10000 11.0\n100000 "
          "101.0\n");
  std::vector<DumpiWriter> ranks(2);
  for (DumpiWriter& r : ranks) r.init();
  ranks[0].send(1000, testing::kDumpiByte, 1, 5);
  ranks[1].recv(1000, testing::kDumpiByte, 0, 5, {{1000, 0, 5}});
  for (DumpiWriter& r : ranks) r.allreduce(4, testing::kDumpiDouble).finalize();
  testing::write_dumpi(w.path() + "/in/dumpi", ranks);
  for (const char* r : {"0", "1"})
    w.write(std::string("in/prof/t-") + r + ".txt",
            std::string("# collprof 0.9\nMPI_Init:-:1:2:10\nMPI_Comm_split:11:8000000,") + r +
                ",2:0:0:88:12\nMPI_Irecv:13:1:4:1,4,4:-1:-1:9000000," + r +
                ",2:640:14\nMPI_Isend:15:1:4:1,4,4:" + (*r == '0' ? "1" : "0") + ":3:9000000," + r +
                ",2:648:16\nMPI_Waitall:19:2:640:0:20\nMPI_Finalize:99:-\n");
  w.write("in/t.dim",
          "#DIMEMAS:\"t.dim\":0:2(1,1),1\nd:1:1:2:0:1\n1:0:0:2e-5\n2:0:0:1:-1:1000:5:1:2\n10:0:0:9:1:0:0:64:"
          "64:1\n"
          "3:1:0:0:-1:1000:5:1:0\n10:1:0:9:1:0:0:64:64:1\n");
  w.write("in/t.prv",
          "#Paraver (22/03/26 at 10:11):90_ns:2(1,1):1:2(1:1,1:2),1\nc:1:1:2:1:2\n2:1:1:1:1:3:50000001:1\n"
          "2:1:1:2:1:3:50000001:2\n3:1:1:1:1:3:4:2:1:2:1:3:9:1000:5\n2:1:1:1:1:9:50000001:0\n"
          "2:1:1:2:1:9:50000001:0\n");
  if (std::system(("gzip -k '" + w.path() + "/in/t.dim'").c_str()) != 0) throw std::runtime_error("gzip");
  std::vector<std::string> commands = {
      "generate stencil --dims 2x2 --iterations 2 --compute 20us -o in/t.weft",
      "generate ring --ranks 32 -o in/many.weft", "export in/t.weft --to ti -o in/ti.txt",
      "export in/t.weft --to goal -o in/t.goal", "export in/t.weft --to goal-binary -o in/t.bin"};
  if (kOtf2) commands.push_back("export in/t.weft --to otf2 -o in/otf2");
  for (const std::string& c : commands)
    if (const testing::Outcome o = w.weft(c + " --quiet"); o.exit_code != 0)
      throw std::runtime_error("weft " + c + ": " + o.err);
}

std::vector<Case> cases() {
  const std::string platform = " --on crossbar:n=4,bw=100Gbps,lat=1us";
  std::vector<Case> all = {
      // What every command does first: all verbs set their options up.
      {"options", "--version"},
      {"replay",
       "replay in/t.weft" + platform + " --critical-path --wait-states --json out/r.json --csv out/r.csv",
       {"r.json", "r.csv"},
       {},
       {"in/t.weft"}},
      {"replay_pcie", "replay in/t.weft --on cs-storm --all-links --json out/r.json", {"r.json"}},
      {"sensitivity",
       "replay in/t.weft" + platform + " --sensitivity --explain --threads 2 --json out/r.json",
       {"r.json"}},
      {"predict_hpl",
       "predict hpl --on crossbar:n=4,bw=100Gbps,lat=1us,speed=1Gflops --n 96 --nb 16 --p 2 --q 2 --json "
       "out/p.json",
       {"p.json"}},
      {"compare",
       "compare in/t.weft" + platform +
           " --on torus-16 --map block --map cyclic --threads 2 --journal out/points "
           "--json out/c.json --csv out/c.csv",
       {"c.json", "c.csv"},
       "points",
       {"in/t.weft"}},
      {"search",
       "search halo --grid 2x2 --on cs-storm --json out/s.json --svg out/s.svg --histogram out/h.csv",
       {"s.json", "s.svg", "h.csv"}},
      {"fit_dgemm", "fit dgemm in/fit.csv -o out/fit.textproto", {"fit.textproto"}, {}, {"in/fit.csv"}},
      {"fit_network", "fit network in/osu.txt -o out/fit.textproto", {"fit.textproto"}, {}, {"in/osu.txt"}},
      {"report", "report in/t.weft" + platform + " -o out/page.html", {"page.html"}, {}, {"in/t.weft"}},
      {"import_weft", "import in/t.weft -o out/t.weft", {"t.weft"}, {}, {"in/t.weft"}},
      {"import_ti",
       "import in/ti.txt -o out/t.weft",
       {"t.weft"},
       {},
       {"in/ti.txt", "in/ti.txt_files/rank-1.txt"}},
      {"import_goal", "import in/t.goal -o out/t.weft", {"t.weft"}, {}, {"in/t.goal"}},
      {"import_goal_binary", "import in/t.bin -o out/t.weft", {"t.weft"}, {}, {"in/t.bin"}},
      {"import_dimemas", "import in/t.dim -o out/t.weft", {"t.weft"}, {}, {"in/t.dim"}},
      {"import_packed", "import in/t.dim.gz -o out/t.weft", {"t.weft"}, {}, {"in/t.dim.gz"}},
      {"import_paraver", "import in/t.prv -o out/t.weft", {"t.weft"}, {}, {"in/t.prv"}},
      {"import_dumpi",
       "import in/dumpi -o out/t.weft",
       {"t.weft"},
       {},
       {"in/dumpi/run.meta", "in/dumpi/run-0001.bin"}},
      {"import_liballprof",
       "import in/prof -o out/t.weft",
       {"t.weft"},
       {},
       {"in/prof/t-0.txt", "in/prof/t-1.txt"}},
      {"export_weft", "export in/t.weft --to weft -o out/t.weft", {"t.weft"}},
      {"export_text", "export in/t.weft --to text -o out/t.txt", {"t.txt"}},
      {"export_ti", "export in/t.weft --to ti -o out/ti.txt"},
      {"export_csv", "export in/t.weft --to csv -o out/t.csv", {"t.csv"}},
      {"export_goal", "export in/t.weft --to goal -o out/t.goal", {"t.goal"}, {}, {"in/t.weft"}},
      {"export_goal_binary", "export in/t.weft --to goal-binary -o out/t.bin", {"t.bin"}, {}, {"in/t.weft"}},
      {"export_perfetto",
       "replay in/t.weft" + platform + " --export perfetto:out/t.pb --export goal:out/t.goal",
       {"t.pb", "t.goal"}},
      {"export_paraver", "replay in/t.weft" + platform + " --export paraver:out/t", {}},
  };
  if (kOtf2) {
    all.push_back({"import_otf2", "import in/otf2 -o out/t.weft", {"t.weft"}, {}, {"in/otf2/traces/1.evt"}});
    all.push_back({"export_otf2", "export in/t.weft --to otf2 -o out/otf2"});
  }
  return all;
}

}  // namespace weft::faults
