// A trace -> an OTF2 archive in recorded time: the clock of a rank is its computation, calls of MPI take none, since a
// trace does not say how long they took. In the time of a replay: replay --export.
#include <fmt/format.h>

#include "traces/formats.hpp"
#include "traces/formats/otf2/export_rank.hpp"

namespace weft::traces {

Result<void> export_otf2(TraceReader& trace, const std::string& path) {
  WEFT_ASSIGN(const auto out, otf2::ArchiveWriter::open(path));
  OpBlock block;
  for (std::uint32_t r = 0; r < trace.header().ranks; ++r) {
    otf2::RankExporter rank(trace, r, *out);
    out->begin_rank(r);
    std::int64_t now = 0;
    while (true) {
      WEFT_ASSIGN(const bool more, trace.next_block(RankId(r), block));
      if (!more) break;
      for (std::size_t i = 0; i < block.ops.size(); ++i) {
        const Op& op = block.ops[i];
        const std::uint64_t index = block.first_op + i;
        if (op.kind == OpKind::compute_time || op.kind == OpKind::sleep) {
          if (__builtin_add_overflow(now, op.amount, &now))
            return bad_input(trace.position(RankId(r), index), "the computation of the rank is out of range");
        } else if (is_compute(op.kind)) {
          Error e = not_supported("computation without a duration in an OTF2 archive of recorded time",
                                  "a trace with recorded times");
          e.where = trace.position(RankId(r), index);
          return e;
        } else {
          WEFT_TRY(rank.write(op, block.list(op), index, now, now));
        }
      }
    }
    out->end_rank();
  }
  return out->commit(trace);
}

}  // namespace weft::traces
