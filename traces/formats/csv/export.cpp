// export --to csv: every field of every operation, RFC 4180 without quotes (no field needs them).
#include <fmt/format.h>

#include "core/append_text.hpp"
#include "traces/exports/export.hpp"
#include "traces/exports/export_file.hpp"
#include "traces/op_rules.hpp"

namespace weft::traces {
namespace {

std::string_view unit_name(AmountUnit u) {
  switch (u) {
    case AmountUnit::kNone:
      return "";
    case AmountUnit::kPicoseconds:
      return "ps";
    case AmountUnit::kFlops:
      return "flop";
    case AmountUnit::kBytes:
      return "B";
    case AmountUnit::kPolls:
      return "polls";
    case AmountUnit::kComm:
      return "comm";
    case AmountUnit::kRegion:
      return "region";
  }
  return "";
}

}  // namespace

Result<void> export_csv(TraceReader& trace, const std::string& path, const ExportOptions& /*options*/) {
  WEFT_ASSIGN(ExportFile file, ExportFile::open(path));
  std::string& out = file.buffer();
  out = "rank,index,op,flags,comm,peer,tag,amount,unit,request,list\n";
  OpBlock block;
  for (std::uint32_t r = 0; r < trace.header().ranks; ++r) {
    while (true) {
      WEFT_ASSIGN(const bool more, trace.next_block(RankId(r), block));
      if (!more) break;
      std::uint64_t index = block.first_op;
      for (const Op& op : block.ops) {
        const AmountUnit unit = rules_of(op.kind).amount;
        append(out, "{},{},{},{},{},{},{},", r, index++, op_name(op.kind), op.flags, op.comm.index(), op.peer,
               op.tag);
        if (unit == AmountUnit::kFlops)
          append(out, "{}", op.flops());
        else if (unit != AmountUnit::kNone)
          append(out, "{}", op.amount);
        append(out, ",{},", unit_name(unit));
        if (op.request != kNoRequest) append(out, "{}", op.request);
        out += ',';
        const char* gap = "";
        for (const std::int64_t v : block.list(op)) {
          append(out, "{}{}", gap, v);
          gap = " ";
        }
        out += '\n';
      }
      file.drain();
    }
  }
  return file.close();
}

}  // namespace weft::traces
