// export --to ti: what SimGrid's smpi_replay reads. PATH becomes the index, PATH_files/rank-<r>.txt the
// ranks.
//
// Sizes are written as bytes (datatype 6). TI has no communicators: messages on another than the world get tags of their own
// (exports/tags.hpp), and a collective on less than the world cannot be said (kNotSupported with its position). Ssend and ISsend are written as SMPI writes them. Probes, regions and communicator calls leave
// no line.
#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <vector>

#include "traces/exports/export.hpp"
#include "traces/exports/export_file.hpp"
#include "traces/exports/tags.hpp"
#include "traces/op_rules.hpp"
#include "traces/request_book.hpp"

namespace weft::traces {
namespace {

// SimGrid's values for wildcards (include/smpi/smpi.h).
constexpr int kSmpiAnySource = -555;
constexpr int kSmpiAnyTag = -444;

class TiWriter {
 public:
  TiWriter(const TraceReader& trace, std::uint32_t rank, const Tags& tags, std::string& out)
      : trace_(trace), rank_(rank), tags_(tags), out_(out), to_(std::back_inserter(out)) {}
  Result<void> write(const Op& op, std::span<const std::int64_t> list, std::uint64_t index);

 private:
  static int source(std::int32_t peer) { return peer == kAnySource ? kSmpiAnySource : peer; }
  // Of a message that can_tell().
  [[nodiscard]] int tag_of(const Op& op) const {
    if (op.tag == kAnyTag) return kSmpiAnyTag;
    return static_cast<int>(*tags_.message(op.comm.index(), static_cast<std::uint32_t>(op.tag)));
  }
  Result<void> can_tell(const Op& op, std::uint64_t index);
  void message(std::string_view action, const Op& op) {
    if (op.peer == kProcNull) return;
    fmt::format_to(to_, "{} {} {} {} {} 6\n", rank_, action, source(op.peer), tag_of(op), op.amount);
  }
  void post(const Op& op) {
    switch (op.kind) {
      case OpKind::irecv:
      case OpKind::recv_init:
        return message("irecv", op);
      case OpKind::issend:
      case OpKind::ssend_init:
        return message("ISsend", op);
      default:
        return message("isend", op);
    }
  }
  void wait(std::uint32_t slot) {
    const RequestBook::Entry* e = requests_.find(slot);
    if (e == nullptr || !e->active || e->op.peer == kProcNull) return;
    if (is_receive_request(e->op.kind))
      fmt::format_to(to_, "{} wait {} {} {}\n", rank_, source(e->op.peer), rank_, tag_of(e->op));
    else
      fmt::format_to(to_, "{} wait {} {} {}\n", rank_, rank_, e->op.peer, tag_of(e->op));
  }
  void list_of(std::span<const std::int64_t> l) {
    for (const std::int64_t v : l) fmt::format_to(to_, " {}", v);
  }
  Result<void> collective(const Op& op, std::span<const std::int64_t> list, std::uint64_t index);
  Result<void> cannot(const Op& op, std::uint64_t index, std::string_view why) const {
    Error e = not_supported(fmt::format("SimGrid TI text cannot say this {}: {}", op_name(op.kind), why));
    e.where = trace_.position(RankId(rank_), index);
    return e;
  }

  const TraceReader& trace_;
  std::uint32_t rank_;
  const Tags& tags_;
  ReceivedContexts contexts_;
  std::string& out_;
  std::back_insert_iterator<std::string> to_;
  RequestBook requests_;
  Op send_half_;  // of the sendrecv right before
};

// Whether a message has a tag in TI, and no receive of this rank could take one that is not meant for it.
Result<void> TiWriter::can_tell(const Op& op, std::uint64_t index) {
  if (op.peer == kProcNull) return {};
  if (op.tag != kAnyTag && !tags_.message(op.comm.index(), static_cast<std::uint32_t>(op.tag)))
    return cannot(op, index, fmt::format("its communicator has tags below {}", tags_.limit(op.comm.index())));
  if (is_send(op.kind) || is_send_init(op.kind)) return {};
  const auto taken = contexts_.receive(op.comm.index(), op.tag, index);
  return taken ? cannot(op, *taken, ReceivedContexts::refusal()) : Result<void>();
}

Result<void> TiWriter::collective(const Op& op, std::span<const std::int64_t> l, std::uint64_t index) {
  if (is_nonblocking_collective(op.kind)) return cannot(op, index, "it has no non-blocking collectives");
  if (op.comm.index() != 0 &&
      trace_.communicators()[op.comm.index()].members != trace_.communicators()[0].members)
    return cannot(op, index, "its collectives are on the world only");
  const std::int64_t b = op.amount;
  const auto world = static_cast<std::size_t>(trace_.header().ranks);
  switch (op.kind) {
    case OpKind::barrier:
      fmt::format_to(to_, "{} barrier\n", rank_);
      return {};
    case OpKind::bcast:
      fmt::format_to(to_, "{} bcast {} {} 6\n", rank_, b, op.peer);
      return {};
    case OpKind::reduce:
      fmt::format_to(to_, "{} reduce {} 0 {} 6\n", rank_, b, op.peer);
      return {};
    case OpKind::allreduce:
      fmt::format_to(to_, "{} allreduce {} 0 6\n", rank_, b);
      return {};
    case OpKind::scan:
      fmt::format_to(to_, "{} scan {} 0 6\n", rank_, b);
      return {};
    case OpKind::exscan:
      fmt::format_to(to_, "{} exscan {} 0 6\n", rank_, b);
      return {};
    case OpKind::alltoall:
      fmt::format_to(to_, "{} alltoall {} {} 6 6\n", rank_, b, b);
      return {};
    case OpKind::allgather:
      fmt::format_to(to_, "{} allgather {} {} 6 6\n", rank_, b, b);
      return {};
    case OpKind::gather:
    case OpKind::scatter:
      fmt::format_to(to_, "{} {} {} {} {} 6 6\n", rank_, op_name(op.kind), b, b, op.peer);
      return {};
    case OpKind::allgatherv:
      fmt::format_to(to_, "{} allgatherv {}", rank_, b);
      list_of(l);
      out_ += " 6 6\n";
      return {};
    case OpKind::alltoallv: {
      std::int64_t received = 0;
      for (const std::int64_t v : l.subspan(1 + world))
        if (__builtin_add_overflow(received, v, &received))
          return cannot(op, index, "its sizes add up to 2^63 bytes");
      fmt::format_to(to_, "{} alltoallv {}", rank_, b);
      list_of(l.subspan(1, world));
      fmt::format_to(to_, " {}", received);
      list_of(l.subspan(1 + world));
      out_ += " 6 6\n";
      return {};
    }
    case OpKind::gatherv:
    case OpKind::scatterv: {
      // Only the root knows the counts; the others write zeros, which SimGrid ignores there.
      const std::vector<std::int64_t> zeros(l.empty() ? world : 0);
      const auto counts = l.empty() ? std::span<const std::int64_t>(zeros) : l;
      fmt::format_to(to_, "{} {}", rank_, op_name(op.kind));
      if (op.kind == OpKind::gatherv) fmt::format_to(to_, " {}", b);
      list_of(counts);
      if (op.kind == OpKind::scatterv) fmt::format_to(to_, " {}", b);
      fmt::format_to(to_, " {} 6 6\n", op.peer);
      return {};
    }
    case OpKind::reduce_scatter:
      fmt::format_to(to_, "{} reducescatter", rank_);
      list_of(l);
      out_ += " 0 6\n";
      return {};
    case OpKind::reduce_scatter_block:
      fmt::format_to(to_, "{} reducescatter", rank_);
      for (std::size_t i = 0; i < world; ++i) fmt::format_to(to_, " {}", b);
      out_ += " 0 6\n";
      return {};
    default:
      return cannot(op, index, "it has no such collective");
  }
}

Result<void> TiWriter::write(const Op& op, std::span<const std::int64_t> list, std::uint64_t index) {
  if (is_send(op.kind) || is_send_init(op.kind) || op.kind == OpKind::recv || is_receive_request(op.kind))
    WEFT_TRY(can_tell(op, index));
  switch (op.kind) {
    case OpKind::init:
      fmt::format_to(to_, "{} init\n", rank_);
      break;
    case OpKind::finalize:
      fmt::format_to(to_, "{} finalize\n", rank_);
      break;
    case OpKind::compute_flops:
    case OpKind::compute_kernel:
      fmt::format_to(to_, "{} compute {}\n", rank_, op.flops());
      break;
    case OpKind::compute_time:
    case OpKind::sleep:
      fmt::format_to(to_, "{} sleep {}\n", rank_, static_cast<double>(op.amount) / kTicksPerSecond);
      break;
    case OpKind::send:
    case OpKind::bsend:
    case OpKind::rsend:
      message("send", op);
      break;
    case OpKind::ssend:
      message("Ssend", op);
      break;
    case OpKind::recv:
      message("recv", op);
      // The send half went out as an isend (TI's own sendRecv has no tags); it ends here.
      if ((op.flags & kPairedRecv) != 0 && send_half_.peer != kProcNull)
        fmt::format_to(to_, "{} wait {} {} {}\n", rank_, rank_, send_half_.peer, tag_of(send_half_));
      break;
    case OpKind::sendrecv:
      message("isend", op);
      send_half_ = op;
      break;
    case OpKind::start:
      if (const auto* e = requests_.find(op.request)) post(e->op);
      requests_.start(op.request);
      break;
    case OpKind::startall:
      for (const std::int64_t r : list) {
        if (const auto* e = requests_.find(static_cast<std::uint32_t>(r))) post(e->op);
        requests_.start(static_cast<std::uint32_t>(r));
      }
      break;
    case OpKind::request_free:
      requests_.free(op.request);
      break;
    case OpKind::launch:
      return cannot(op, index, "its ranks have no accelerators beside them");
    default:
      if (is_collective(op.kind)) return collective(op, list, index);
      if (makes_request(op.kind)) {
        if (op.kind <= OpKind::irecv) post(op);
        requests_.post(op, index);
      } else if (is_completion(op.kind)) {
        std::int64_t one = 0;
        for (const std::int64_t r : completed_requests(op, list, one)) {
          wait(static_cast<std::uint32_t>(r));
          requests_.complete(static_cast<std::uint32_t>(r));
        }
      }
  }
  return {};
}

}  // namespace

Result<void> export_ti(TraceReader& trace, const std::string& path, const ExportOptions& /*options*/) {
  WEFT_ASSIGN(AtomicFile index, AtomicFile::open(path));
  if (index.straight()) return usage_error("SimGrid TI text is several files", path, "-o FILE");
  const std::string dir = path + "_files";
  std::error_code ec;
  Temporary made;  // goes away with the files in it when something ends the export early
  if (std::filesystem::create_directory(dir, ec)) made = Temporary(dir, Temporary::Kind::kFolder);
  if (ec) return bad_input(dir, "cannot create the directory: " + ec.message());
  // The names of all ranks' files and of the index appear at once, when the last of them is whole.
  WEFT_ASSIGN(const WorkFolder work, WorkFolder::open(dir + "/rank"));
  std::vector<AtomicFile> files;
  const Tags tags(trace.communicators().size());
  OpBlock block;
  for (std::uint32_t r = 0; r < trace.header().ranks; ++r) {
    const std::string name = fmt::format("{}/rank-{}.txt", dir, r);
    index.write(name + "\n");
    WEFT_ASSIGN(ExportFile file, ExportFile::open(name, &work));
    TiWriter writer(trace, r, tags, file.buffer());
    while (true) {
      WEFT_ASSIGN(const bool more, trace.next_block(RankId(r), block));
      if (!more) break;
      for (std::size_t i = 0; i < block.ops.size(); ++i)
        WEFT_TRY(writer.write(block.ops[i], block.list(block.ops[i]), block.first_op + i));
      file.drain();
    }
    WEFT_ASSIGN(AtomicFile whole, file.hand_over());
    files.push_back(std::move(whole));
  }
  WEFT_TRY(index.close());
  files.push_back(std::move(index));
  made.keep();
  return commit_all(files);
}

}  // namespace weft::traces
