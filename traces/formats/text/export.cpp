// export --to text: `rank op peer bytes tag comm`, one operation a line in program order, made to diff two
// traces (docs/trace-format.md, "Text export"). Failed probes and regions print nothing.
#include <fmt/format.h>

#include <unordered_map>

#include "core/append_text.hpp"
#include "traces/exports/export.hpp"
#include "traces/exports/export_file.hpp"
#include "traces/op_rules.hpp"
#include "traces/recorded/recorded_matches.hpp"
#include "traces/request_book.hpp"

namespace weft::traces {
namespace {

class TextWriter {
 public:
  TextWriter(const TraceReader& trace, std::string& out) : trace_(trace), out_(out) {}

  void begin_rank(std::uint32_t rank) {
    rank_ = rank;
    names_.clear();
    created_ = 0;
    requests_ = {};
    index_ = 0;
  }
  void write(const Op& op, std::span<const std::int64_t> list);

 private:
  // The world, else split<k> by order of creation on this rank; a communicator that the rank never made keeps
  // its name.
  std::string comm_name(CommId c) const {
    if (c.index() == 0) return "world";
    const auto it = names_.find(c.index());
    return it != names_.end() ? it->second : trace_.communicators()[c.index()].name;
  }
  void line(std::string_view op, std::string_view peer, std::string_view bytes, std::string_view tag,
            std::string_view comm) {
    append(out_, "{} {} {} {} {} {}\n", rank_, op, peer, bytes, tag, comm);
  }
  void message(std::string_view name, std::int64_t peer, std::int64_t bytes, std::int64_t tag, CommId comm) {
    line(name,
         peer == kProcNull    ? "null"
         : peer == kAnySource ? "any"
                              : fmt::format("{}", peer),
         fmt::format("{}", bytes), tag == kAnyTag ? "any" : fmt::format("{}", tag), comm_name(comm));
  }
  void completion(const Op& op);

  const TraceReader& trace_;
  std::string& out_;
  std::uint32_t rank_ = 0;
  std::unordered_map<std::uint32_t, std::string> names_;
  std::uint32_t created_ = 0;
  RequestBook requests_;
  std::uint64_t index_ = 0;
};

void TextWriter::completion(const Op& op) {
  const std::string_view name = op_name(op.kind);
  const RequestBook::Entry* e = requests_.find(op.request);
  if (e == nullptr || e->op.kind == OpKind::launch) {
    line(name, "-", "-", "-", "-");
  } else if (is_nonblocking_collective(e->op.kind)) {
    line(name, "-", "-", "-", comm_name(e->op.comm));
  } else if (is_receive_request(e->op.kind)) {
    message(name, op.peer, op.amount, op.tag, e->op.comm);
  } else {
    message(name, e->op.peer, 0, e->op.tag, e->op.comm);  // the wait of a send receives nothing
  }
}

void TextWriter::write(const Op& op, std::span<const std::int64_t> list) {
  const std::string_view name = op_name(op.kind);
  const std::uint64_t index = index_++;
  // What it asked for, or, where that is known, what it got: {source, tag, bytes} from `*got` on.
  const auto got = match_place(op, list.size());
  const std::int64_t peer = got ? list[*got] : op.peer, tag = got ? list[*got + 1] : op.tag;
  if (op.kind == OpKind::compute_time || op.kind == OpKind::sleep) {
    line(name, "-", fmt::format("{}s", static_cast<double>(op.amount) / kTicksPerSecond), "-", "-");
  } else if (is_compute(op.kind) || op.kind == OpKind::launch) {
    line(name, "-", fmt::format("{}flop", op.flops()), "-", "-");
  } else if (is_send(op.kind) || (op.kind >= OpKind::recv && op.kind <= OpKind::recv_init)) {
    message(name, peer, got && op.kind == OpKind::recv ? list[*got + 2] : op.amount, tag, op.comm);
  } else if (op.kind == OpKind::start) {
    const RequestBook::Entry* e = requests_.find(op.request);
    if (e != nullptr)
      message(name, got ? peer : e->op.peer, e->op.amount, got ? tag : e->op.tag, e->op.comm);
    else
      line(name, "-", "-", "-", "-");
  } else if (op.kind == OpKind::wait || op.kind == OpKind::test) {
    completion(op);
  } else if (op.kind == OpKind::iprobe || op.kind == OpKind::improbe) {
    if (got) message(name, peer, list[*got + 2], tag, op.comm);
  } else if (op.kind == OpKind::probe || op.kind == OpKind::mprobe) {
    message(name, peer, got ? list[*got + 2] : 0, tag, op.comm);
  } else if (is_collective(op.kind)) {
    line(name, is_rooted(op.kind) ? fmt::format("{}", op.peer) : "-",
         blocking_form(op.kind) == OpKind::barrier ? "-" : fmt::format("{}", op.amount), "-",
         comm_name(op.comm));
  } else if (is_comm_create(op.kind) || op.kind == OpKind::comm_free) {
    line(name, "-", "-", "-", comm_name(op.comm));
    if (is_comm_create(op.kind) && op.amount >= 0)
      names_[static_cast<std::uint32_t>(op.amount)] = fmt::format("split{}", ++created_);
  } else if (op.kind != OpKind::region_begin && op.kind != OpKind::region_end) {
    line(name, "-", "-", "-", "-");
  }
  if (makes_request(op.kind) && op.request != kNoRequest) requests_.post(op, index);
  std::int64_t one = 0;
  if (is_completion(op.kind))
    for (const std::int64_t r : completed_requests(op, list, one))
      requests_.complete(static_cast<std::uint32_t>(r));
}

}  // namespace

Result<void> export_text(TraceReader& trace, const std::string& path, const ExportOptions& /*options*/) {
  WEFT_ASSIGN(ExportFile file, ExportFile::open(path));
  TextWriter writer(trace, file.buffer());
  OpBlock block;
  for (std::uint32_t r = 0; r < trace.header().ranks; ++r) {
    writer.begin_rank(r);
    while (true) {
      WEFT_ASSIGN(const bool more, trace.next_block(RankId(r), block));
      if (!more) break;
      for (const Op& op : block.ops) writer.write(op, block.list(op));
      file.drain();
    }
  }
  return file.close();
}

}  // namespace weft::traces
