#include "replay/ranks/compute_times.hpp"

#include <utility>

#include "topology/sockets.hpp"

namespace weft::replay {

using traces::OpKind;

ComputeTimes::ComputeTimes(KernelClock kernels, const std::vector<HostId>& placement, std::size_t hosts,
                           const ReplayOptions& options, const Ranks& ranks, Agenda& agenda)
    : kernels_(std::move(kernels)),
      options_(options),
      ranks_(ranks),
      agenda_(agenda),
      clocks_(kernels_.power(), options.unseen_s) {
  const std::vector<std::uint32_t> local = topology::local_ranks(placement, hosts);
  for (std::uint32_t r = 0; r < ranks.count(); ++r) {
    Row row;
    row.row = kernels_.row_of(placement[r], local[r]);
    row.speed = kernels_.speed(row.row);
    row.draws = KernelClock::draws_of(options.seed, options.first_rank + r);
    rows_.push_back(row);
    if (kernels_.power().varies()) clocks_.add(kernels_.headroom(row.row));
  }
}

double ComputeTimes::at_clock(std::uint32_t r, const traces::KernelShape& shape, double t) {
  clocks_.begin(r, ranks_[r]);
  return kernels_.by_core_clock(rows_[r].row, shape) ? t / clocks_.faster(r) : t;
}

bool ComputeTimes::more_than_copies(const ProgramCursor& program, std::uint64_t pc, const traces::Op& op) {
  if (op.kind != OpKind::compute_kernel) return true;
  const auto list = program.list(pc, op);
  return list.size() < 4 || list[0] < 0 || list[0] >= static_cast<std::int64_t>(traces::kKernelCount) ||
         more_than_copies({static_cast<traces::Kernel>(list[0]), list[1], list[2], list[3]});
}

Elapsed ComputeTimes::of(std::uint32_t r, std::uint64_t pc, const traces::Op& op) {
  if (clocks_.vary()) clocks_.begin(r, ranks_[r]);
  switch (op.kind) {
    case OpKind::compute_time: {
      const Elapsed d{Duration(op.amount)};
      const double scale = options_.compute_scale * options_.what_if.compute;
      return scale == 1.0 ? d : Elapsed::of_seconds(d.seconds() * scale);
    }
    case OpKind::sleep:
      return Elapsed(Duration(op.amount));
    case OpKind::launch:
    case OpKind::compute_kernel: {
      const auto list = ranks_[r].program.list(pc, op);
      if (list.size() < 4 || list[0] < 0 || list[0] >= static_cast<std::int64_t>(traces::kKernelCount)) {
        agenda_.fail(ranks_.bad_operation(r, "a kernel that this version does not know"));
        return kNoTime;
      }
      used_speed_ = used_speed_ || kernels_.uses_speed();
      return Elapsed::of_seconds(
          kernel_seconds(r, {static_cast<traces::Kernel>(list[0]), list[1], list[2], list[3]}));
    }
    default: {
      used_speed_ = true;
      const double faster = clocks_.vary() ? clocks_.faster(r) : 1;
      return Elapsed::of_seconds(options_.what_if.compute * (op.flops() / (rows_[r].speed * faster)));
    }
  }
}

}  // namespace weft::replay
