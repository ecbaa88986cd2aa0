// A program that predicts: an HPL run, and a trace of its own on two platforms. Prints what `weft predict hpl` and
// `weft compare` say of the same, as JSON; run.cmake compares the two.
//
//   predict TRACE   writes the trace to this file
#include "predict/hpl_prediction.hpp"

#include <cstdio>

#include "predict/run_matrix.hpp"
#include "topology/platform/platform.hpp"
#include "traces/weft/writer.hpp"

namespace {

using namespace weft;

// Four ranks; each computes, then all pass 1 MiB on around the ring.
Result<void> write_ring(const std::string& path) {
  using traces::Op;
  using traces::OpKind;
  constexpr int kRanks = 4;
  traces::TraceHeader header;
  header.ranks = kRanks;
  header.recorder = "a program outside of Weft";
  WEFT_ASSIGN(auto writer, traces::TraceWriter::create(path, header));
  for (int rank = 0; rank < kRanks; ++rank) {
    traces::OpBlock block;
    block.rank = RankId(static_cast<std::uint32_t>(rank));
    const auto add = [&](OpKind kind, int peer, std::int64_t amount) {
      Op op;
      op.kind = kind;
      op.peer = peer;
      op.amount = amount;
      block.ops.push_back(op);
      return block.ops.size() - 1;
    };
    add(OpKind::init, 0, 0);
    add(OpKind::compute_time, 0, 2'000'000 * (rank + 1));  // picoseconds
    block.ops[add(OpKind::irecv, (rank + kRanks - 1) % kRanks, 1 << 20)].request = 0;
    add(OpKind::send, (rank + 1) % kRanks, 1 << 20);
    const std::size_t wait = add(OpKind::wait, (rank + kRanks - 1) % kRanks, 1 << 20);
    block.ops[wait].request = 0;
    add(OpKind::finalize, 0, 0);
    writer.append(block);
  }
  return writer.finish();
}

Result<void> run(const std::string& path) {
  WEFT_ASSIGN(const auto platform, topology::load_platform("fat-tree:m=4,n=2,bw=100Gbps,speed=1Tflops"));
  hpl_gen::HplConfig config;
  config.n = 3000;
  config.nb = 64;
  config.p = 2;
  config.q = 4;
  config.depth = 1;
  WEFT_ASSIGN(const auto hpl, predict::predict_hpl(config, platform, {}));

  WEFT_TRY(write_ring(path));
  predict::MatrixRequest request;
  request.traces = {path};
  request.platforms = {{"fat-tree:m=4,n=2,bw=100Gbps", {}}, {"torus:dims=2x2,bw=25Gbps", {}}};
  predict::Matrix matrix;
  WEFT_TRY(predict::run_matrix(request, matrix));

  std::printf("{\"predict\": {\"time_s\": %.17g, \"gflops\": %.17g},\n \"rows\": [", hpl.time_s, hpl.gflops);
  const char* between = "";
  for (const predict::MatrixRun& r : matrix.runs) {
    std::printf("%s\n  {\"platform\": \"%s\", \"makespan_s\": %.17g}", between,
                r.facts.platform->name.c_str(), to_seconds(r.result.makespan));
    between = ",";
  }
  std::printf("]}\n");
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto done = run(argv[1]);
  if (!done) std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
