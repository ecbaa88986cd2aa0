// One collective of MPI, repeated, with computation between: the micro-benchmark of a platform's algorithms.
//
// $ weft generate collective --ranks 4 --op bcast --bytes 1KiB --iterations 1
//   1 bcast 0 1024 - world
#include "traces/synthetic/pattern.hpp"

namespace weft::traces::pattern_collective {
namespace {

struct Kind {
  std::string_view name;
  OpKind op;
  bool rooted;
};
constexpr Kind kKinds[] = {
    {"allreduce", OpKind::allreduce, false},
    {"barrier", OpKind::barrier, false},
    {"bcast", OpKind::bcast, true},
    {"reduce", OpKind::reduce, true},
    {"gather", OpKind::gather, true},
    {"scatter", OpKind::scatter, true},
    {"allgather", OpKind::allgather, false},
    {"alltoall", OpKind::alltoall, false},
    {"reduce_scatter_block", OpKind::reduce_scatter_block, false},
    {"scan", OpKind::scan, false},
};

class Collective final : public Pattern {
 public:
  Collective(std::uint32_t ranks, Kind kind, std::int64_t bytes, std::int32_t root, std::uint64_t iterations,
             PatternWork work)
      : ranks_(ranks), kind_(kind), bytes_(bytes), root_(root), iterations_(iterations), work_(work) {}
  std::uint32_t ranks() const override { return ranks_; }
  std::uint64_t steps() const override { return iterations_; }
  void step(std::uint32_t, std::uint64_t, OpBlock& out) const override {
    put_collective(out, kind_.op, kind_.op == OpKind::barrier ? 0 : bytes_, CommId(0), {},
                   kind_.rooted ? root_ : kAnySource);
    work_.append(out);
  }

 private:
  std::uint32_t ranks_;
  Kind kind_;
  std::int64_t bytes_;
  std::int32_t root_;
  std::uint64_t iterations_;
  PatternWork work_;
};

constexpr PatternKey kKeys[] = {
    {"ranks", "required", "how many"},
    {"op", "allreduce",
     "allreduce, barrier, bcast, reduce, gather, scatter, allgather, alltoall, reduce_scatter_block or scan"},
    {"bytes", "64KiB",
     "of the vector (allreduce, bcast, reduce, scan), of a rank's part or of a pair's (others)"},
    {"root", "0", "rank of the root"},
    kIterationsKey,
    kComputeKey,
    kFlopsKey,
};

}  // namespace

std::span<const PatternKey> keys() { return kKeys; }

Result<std::unique_ptr<Pattern>> make(const PatternArgs& args, std::uint64_t) {
  WEFT_ASSIGN(const std::int64_t ranks, args.integer("ranks", 1, kMaxPatternRanks));
  std::vector<std::string_view> names;
  for (const Kind& k : kKinds) names.push_back(k.name);
  WEFT_ASSIGN(const std::string op, args.choice("op", names));
  WEFT_ASSIGN(const std::int64_t bytes, args.bytes("bytes"));
  WEFT_ASSIGN(const std::int64_t root, args.integer("root", 0, ranks - 1));
  WEFT_ASSIGN(const std::uint64_t iterations, pattern_iterations(args));
  WEFT_ASSIGN(const PatternWork work, pattern_work(args));
  Kind kind = kKinds[0];
  for (const Kind& k : kKinds)
    if (k.name == op) kind = k;
  if (args.has("root") && !kind.rooted)
    return usage_error("--root of a collective without a root", op, "bcast, reduce, gather or scatter");
  if (args.has("bytes") && kind.op == OpKind::barrier)
    return usage_error("--bytes of a barrier, which sends no data", op, "no --bytes");
  return std::unique_ptr<Pattern>(std::make_unique<Collective>(
      static_cast<std::uint32_t>(ranks), kind, bytes, static_cast<std::int32_t>(root), iterations, work));
}

}  // namespace weft::traces::pattern_collective
