#include "traces/weft/copy.hpp"

#include "traces/exports/export.hpp"
#include "traces/weft/writer.hpp"

namespace weft::traces {

Result<std::uint64_t> copy_to_weft(TraceReader& from, const std::string& path,
                                   const std::function<void(std::uint64_t)>& progress) {
  WEFT_ASSIGN(TraceWriter out, TraceWriter::create(path, from.header()));
  for (std::size_t c = 1; c < from.communicators().size(); ++c)
    (void)out.add_communicator(from.communicators()[c]);
  for (const auto& r : from.regions()) (void)out.add_region(r);
  from.rewind();
  OpBlock block;
  std::uint64_t done = 0;
  for (std::uint32_t r = 0; r < from.header().ranks; ++r) {
    while (true) {
      WEFT_ASSIGN(const bool more, from.next_block(RankId(r), block));
      if (!more) break;
      out.append(block);
      done += block.ops.size();
      if (progress) progress(done);
    }
  }
  WEFT_TRY(out.finish());
  return out.bytes_written();
}

Result<void> export_weft(TraceReader& trace, const std::string& path, const ExportOptions& /*options*/) {
  WEFT_TRY(copy_to_weft(trace, path));
  return {};
}

}  // namespace weft::traces
