// Readers of small tables: HPL.dat, lists of flows, exchanges, measurements to fit.
#include "hpl_gen/hpl_dat.hpp"
#include "hpl_gen/hpl_trace.hpp"
#include "network/flow_list.hpp"
#include "network/flow_run.hpp"
#include "replay/collectives/rules.hpp"
#include "schedule/exchange.hpp"
#include "tests/fuzz/replay_some.hpp"
#include "tests/fuzz/target.hpp"
#include "topology/fit/kernel_fit.hpp"
#include "topology/fit/network_fit.hpp"
#include "topology/platform/platform.hpp"
#include "topology/routing/route_cache.hpp"

namespace weft::fuzz {
namespace {

bool run_hpl_dat(std::string_view bytes) {
  const auto read_as = [&](hpl_gen::Program program) {
    auto dat = hpl_gen::parse_hpl_dat(bytes, "F", program);
    if (!dat) return dat;
    const auto again = hpl_gen::parse_hpl_dat(hpl_gen::write_hpl_dat(*dat), "again", program);
    require(again && again->n == dat->n && again->grids == dat->grids && again->bcast == dat->bcast &&
                again->depth == dat->depth && again->swap == dat->swap,
            "an HPL.dat that was written back says the same");
    return dat;
  };
  const auto dat = read_as(hpl_gen::Program::kNetlib);
  const auto rochpl = read_as(hpl_gen::Program::kRocHpl);
  const auto nvidia = read_as(hpl_gen::Program::kNvidia);
  require(!dat == !nvidia && (dat || !rochpl), "accelerators' programs take nothing that HPL does not");
  if (!dat) return false;
  if (dat->run_count() > 2 || dat->ranks() > 16) return true;
  for (const hpl_gen::HplConfig& c : dat->runs()) {
    if (c.n > 200 || c.n / c.nb > 40 || !hpl_gen::check_config(c)) continue;
    if (auto t = hpl_gen::HplTrace::create(hpl_gen::to_dat(c))) replay_some(**t);
  }
  return true;
}

const topology::Platform& crossbar() {
  static const topology::Platform p = topology::load_platform("crossbar:n=16,bw=100Gbps,lat=1us").value();
  return p;
}

bool run_flows(std::string_view bytes) {
  const auto flows = network::parse_flow_list(bytes, "F.csv", crossbar().fabric);
  if (!flows) return false;
  if (flows->size() > 200) return true;
  auto run = network::FlowRun::create("max-min", crossbar().fabric);
  require(run.has_value(), "the default model exists");
  topology::RouteCache routes(crossbar().fabric);
  for (const auto& f : *flows) {
    const auto r = routes.find(f.src, f.dst);
    run->add(r.links, f.bytes, f.start, r.latency);
  }
  (void)run->run(true);
  return true;
}

bool run_collective_rules(std::string_view bytes) {
  const auto rules = replay::parse_collective_rules("F", bytes);
  if (!rules) return false;
  for (const std::uint32_t ranks : {1u, 2u, 7u})
    for (const std::int64_t size : {0, 100, 100000}) {
      replay::RankSchedule s;
      replay::build_chosen(**rules, {.kind = traces::OpKind::bcast, .ranks = ranks, .bytes = size}, 0, s);
    }
  return true;
}

bool run_pattern(std::string_view bytes) { return schedule::parse_pattern(bytes, "F.csv").has_value(); }

bool run_kernel_fit(std::string_view bytes) {
  using namespace topology::fit;
  const auto m = Measurements::parse("F", std::string(bytes));
  if (!m) return false;
  KernelFitOptions o;
  o.flops = [](double a, double b, double c) { return 2 * a * b * c; };
  bool fitted = false;
  for (const KernelModel model : {KernelModel::kLinear, KernelModel::kFull, KernelModel::kRate}) {
    o.model = model;
    if (const auto fit = fit_kernel(*m, o)) {
      fitted = true;
      (void)fit->textproto();
    }
  }
  return fitted;
}

bool run_network_fit(std::string_view bytes) {
  using namespace topology::fit;
  auto m = Measurements::parse("F", std::string(bytes));
  if (!m) return false;
  std::vector<Measurements> data;
  data.push_back(std::move(*m));
  const auto fit = fit_network(data, {});
  if (fit) (void)fit->textproto();
  return fit.has_value();
}

}  // namespace

std::vector<Target> table_targets() {
  return {
      {"hpl_dat",
       [] {
         hpl_gen::HplDat d;
         d.n = {50}, d.nb = {8}, d.grids = {{2, 2}};
         hpl_gen::HplDat lists = d;
         lists.n = {20, 30}, lists.nb = {4, 5}, lists.depth = {0, 1}, lists.bcast = {hpl_gen::Bcast::kLong};
         return std::vector<std::string>{hpl_gen::write_hpl_dat(d), hpl_gen::write_hpl_dat(lists)};
       },
       {"20           ", "1 2 3 4 5", "-1", "\r\n", "0\n", "1\n", "\xef\xbb\xbf", "16.0"},
       250,
       run_hpl_dat},
      {"flows",
       [] {
         return std::vector<std::string>{
             "src,dst,bytes,start\n0,1,300MiB,1us\r\n\n node-2 , \"node-3\" ,64KiB,0\n",
             "start_s,bytes_B,dst,src\n1.5e-6,65536,1,0"};
       },
       {"KiB", "us", "\"\"", "node-3", "bytes_B", "\r\n", "1e18", "EiB"},
       1000,
       run_flows},
      {"collective_rules",
       [] {
         return std::vector<std::string>{
             "# text\n2\n7 2\n 8 2\n  0 6 0 0\n  4096 3 0 8192\n 64 1\n  0 0 0 0\n0 1 4 1  0 4 0 0\n",
             R"({"rule_file_version":3,"collectives":{"bcast":[{"rules":[{"msg_size_max":"inf","alg":3}]}]}})",
             R"({"collective=bcast":{"comm_size<8":{"algorithm=MPIR_Bcast_intra_smp":{}},"count<pow2":{}}})"};
       },
       {"rule-file-version-2", "comm_hierarchy=parent", "=any", "\"inf\"", "-1", "{}", "[", "99999999999"},
       1000,
       run_collective_rules},
      {"pattern",
       [] {
         return std::vector<std::string>{"src,dst,bytes\n0,1,64KiB\n1,2,0\n",
                                         "src,dst,bytes_B\n0,1,7\n3,0,9\n"};
       },
       {"KiB", "4095", "\"\"", "bytes_B", "\r\n"},
       1000,
       run_pattern},
      {"dgemm_csv",
       [] {
         return std::vector<std::string>{
             "m,n,k,seconds\n100,100,100,1e-3\n200,200,200,7e-3\n300,300,300,2e-2\n50,50,50,2e-4\n70,20,90,"
             "3e-4\n"
             "100,7,9,1e-5\n",
             "node,cpu,m,n,k,duration\n1,0,100,100,100,1e-3\n1,1,200,200,200,7e-3\n2,0,300,300,300,2e-2\n2,1,"
             "9,9,9,1e-6\n"};
       },
       {"node", "cpu", "start_time", "duration", "seconds", "\"", "1e300", "-1", "#", "\n1,1,1,1"},
       600,
       run_kernel_fit},
      {"network",
       [] {
         return std::vector<std::string>{
             "# OSU MPI Latency Test v5.6\n# Size          Latency (us)\n0 1.0\n1000 2.0\n10000 11.0\n100000 "
             "101.0\n",
             "# OSU MPI Bandwidth Test v5.6\n# Size      Bandwidth (MB/s)\n1 1.0\n1000 500.0\n100000 "
             "9000.0\n",
             "#---\n# Benchmarking PingPong\n       #bytes #repetitions      t[usec]   Mbytes/sec\n          "
             "  0         "
             "1000         1.00         0.00\n         1024         1000         2.00       512.00\n        "
             "65536       "
             "   640         9.00      7281.00\n",
             "op,size,start,duration\nRecv,0,0,1e-6\nRecv,1000,1,2e-6\nPingPong,1000,2,4e-6\nPingPong,100000,"
             "3,1e-4\n"};
       },
       {"Bandwidth (MB/s)", "Latency", "#bytes", "t[usec]", "Isend", "PingPong", "cluster", "1e300",
        "\n4194304 500.0"},
       600,
       run_network_fit}};
}

}  // namespace weft::fuzz
