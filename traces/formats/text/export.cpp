// export --to text: `rank op peer bytes tag comm`, one operation a line in program order, made to diff two
// traces (docs/trace-format.md, "Text export"). Failed probes and regions print nothing.
#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <unordered_set>

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
    taken_ = {"world"};
    same_name_.clear();
    splits_ = persistent_ = 0;
    requests_ = {};
    index_ = 0;
  }
  void write(const Op& op, std::span<const std::int64_t> list);

 private:
  // Each communicator of a rank has a name of its own there: the world, split<k> for the k-th that the rank makes, else what the trace
  // calls it. A recording calls those that no operation makes (of MPI_Comm_idup, of persistent collectives) by the count of their first
  // member, which two may share: they are counted on this rank, from their first use on.
  const std::string& comm_name(CommId c) {
    const auto [it, fresh] = names_.try_emplace(c.index());
    if (fresh)
      it->second = c.index() == 0 ? "world" : name_of_not_made(trace_.communicators()[c.index()].name);
    return it->second;
  }
  std::string name_of_not_made(const std::string& given) {
    const auto is = [&](std::string_view word) {
      return given.starts_with(word) && given.size() > word.size() &&
             given.find_first_not_of("0123456789", word.size()) == std::string::npos;
    };
    if (given.empty() || is("split")) return fmt::format("split{}", ++splits_);
    if (is("persistent")) return fmt::format("persistent{}", ++persistent_);
    std::uint32_t& n = same_name_[given];
    std::string name;
    do {
      name = ++n == 1 ? given : fmt::format("{}.{}", given, n);
    } while (!taken_.insert(name).second);
    return name;
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
  std::unordered_set<std::string> taken_;                     // of those that are not counted
  std::unordered_map<std::string, std::uint32_t> same_name_;  // so many have that name in the trace
  std::uint32_t splits_ = 0, persistent_ = 0;
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
  if (op.kind == OpKind::compute_time || op.kind == OpKind::sleep || op.kind == OpKind::task_compute) {
    line(name, "-", fmt::format("{}s", static_cast<double>(op.amount) / kTicksPerSecond), "-", "-");
  } else if (is_compute(op.kind) || op.kind == OpKind::launch) {
    line(name, "-", fmt::format("{}flop", op.flops()), "-", "-");
  } else if (is_send(op.kind) || is_receive(op.kind) || op.kind == OpKind::recv_init) {
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
    if (is_comm_create(op.kind) && op.amount > 0)
      names_[static_cast<std::uint32_t>(op.amount)] = fmt::format("split{}", ++splits_);
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
