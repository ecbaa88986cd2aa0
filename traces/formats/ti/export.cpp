// export --to ti: what SimGrid's smpi_replay reads. PATH becomes the index, PATH_files/rank-<r>.txt the
// ranks.
//
// Sizes are written as bytes (datatype 6). TI has no communicators: messages on another than the world get tags of their own
// (exports/tags.hpp), and a collective on less than the world cannot be said (kNotSupported with its position), but one of a
// single rank needs no line. Ssend and
// ISsend are written as SMPI writes them. Which requests a wait line completes: wait_lines.hpp. Probes, regions and
// communicator calls leave no line.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <vector>

#include "core/append_text.hpp"
#include "core/byte_sum.hpp"
#include "core/counted.hpp"
#include "traces/exports/cancelled_receives.hpp"
#include "traces/exports/export.hpp"
#include "traces/exports/export_file.hpp"
#include "traces/exports/poll_count.hpp"
#include "traces/exports/tags.hpp"
#include "traces/formats/ti/fields.hpp"
#include "traces/formats/ti/wait_lines.hpp"
#include "traces/op_rules.hpp"
#include "traces/request_book.hpp"

namespace weft::traces {
namespace {

using ti::WaitLines;

// SimGrid's values for wildcards (include/smpi/smpi.h).
constexpr int kSmpiAnySource = -555;
constexpr int kSmpiAnyTag = -444;
// The slot of half a sendrecv: none of a trace.
constexpr std::uint32_t kHalf = kNoRequest - 1;

// What is another program in TI, of all ranks.
struct TiLosses {
  std::uint64_t early_waits = 0;
  std::uint64_t any_source_waits = 0;
  std::uint64_t comms_made = 0;
  std::uint64_t synchronous = 0;
  PollCount polls;

  void tell(std::vector<std::string>& warnings) const {
    if (comms_made > 0)
      warnings.push_back(
          counted(comms_made, "call") +
          (comms_made == 1 ? " that makes a communicator is" : " that make communicators are") +
          " left out, with the messages and all waiting in it: TI text has no communicators");
    if (early_waits > 0)
      warnings.push_back(
          counted(early_waits, "request") +
          " must be over earlier than in the program: a wait of TI text names a source, a destination and a "
          "tag, and SimGrid takes the oldest request with them");
    if (any_source_waits > 0)
      warnings.push_back("SimGrid passes over " + counted(any_source_waits, "wait") +
                         " for a message of any source: there its rank goes on before the message is there "
                         "(--recorded-matches: receives name what they took in the recording)");
    if (synchronous > 0)
      warnings.push_back(
          counted(synchronous, "synchronous send") + (synchronous == 1 ? " is" : " are") +
          " written as SimGrid traces them, Ssend and ISsend, which its replay (3.32) does not know");
    polls.tell(PollCount::kLeftOut, &warnings);
  }
};

class TiWriter {
 public:
  TiWriter(const TraceReader& trace, std::uint32_t rank, Tags& tags, TiLosses& losses, std::string& out)
      : trace_(trace), rank_(rank), tags_(tags), losses_(losses), out_(out) {}
  Result<void> write(const Op& op, std::span<const std::int64_t> list, std::uint64_t index);
  // After the last operation.
  Result<void> finish() {
    wait_for_what_is_left();
    const auto cancel = cancelled_.open();
    return cancel ? withdrawn(*cancel) : Result<void>();
  }

 private:
  static int source(std::int32_t peer) { return peer == kAnySource ? kSmpiAnySource : peer; }
  // Of a message that can_tell().
  [[nodiscard]] int tag_of(const Op& op) const {
    if (op.tag == kAnyTag) return kSmpiAnyTag;
    return static_cast<int>(*tags_.message(op.comm.index(), static_cast<std::uint32_t>(op.tag)));
  }
  Result<void> can_tell(const Op& op, std::uint64_t index);
  // Whether who reads TI text takes these sizes.
  Result<void> sizes_in_range(const Op& op, std::span<const std::int64_t> list, std::uint64_t index) const;
  [[nodiscard]] WaitLines::Key key_of(const Op& op) const {
    const auto me = static_cast<int>(rank_);
    const bool receive = op.kind == OpKind::recv || is_receive_request(op.kind);
    return receive ? WaitLines::Key{source(op.peer), me, tag_of(op)}
                   : WaitLines::Key{me, op.peer, tag_of(op)};
  }
  void message(std::string_view action, const Op& op) {
    if (op.peer == kProcNull) return;
    losses_.synchronous += action == "Ssend" || action == "ISsend" ? 1 : 0;
    append(out_, "{} {} {} {} {} 6\n", rank_, action, source(op.peer), tag_of(op), op.amount);
  }
  // Its irecv stands in the text and would wait for ever.
  [[nodiscard]] Result<void> withdrawn(std::uint64_t cancel) const {
    return cannot({.kind = OpKind::cancel}, cancel, "no message came for its receive");
  }
  // A message that goes on beside the program until a line waits for it.
  void post(const Op& op, std::uint32_t slot) {
    waits_.free(slot);
    if (op.peer == kProcNull) return;
    switch (op.kind) {
      case OpKind::irecv:
      case OpKind::recv_init:
        message("irecv", op);
        return waits_.post(key_of(op), false, slot);
      case OpKind::issend:
      case OpKind::ssend_init:
        message("ISsend", op);
        return waits_.post(key_of(op), true, slot);
      case OpKind::ibsend:
      case OpKind::bsend_init:
        return buffered(op);
      default:
        message("isend", op);
        return waits_.post(key_of(op), true, slot);
    }
  }
  Result<void> start(const Op& op, std::uint32_t slot, std::uint64_t index,
                     std::span<const std::int64_t> list) {
    WEFT_TRY(can_tell(op, index));
    cancelled_.posted(slot, list);
    post(op, slot);
    return {};
  }
  // It is over for the program, wherever the message is.
  void buffered(const Op& op) {
    message("isend", op);
    if (op.peer != kProcNull) waits_.post_for_nobody(key_of(op));
  }
  void wait(const WaitLines::Key& key) {
    append(out_, "{} wait {} {} {}\n", rank_, key.source, key.destination, key.tag);
    losses_.any_source_waits += key.source == kSmpiAnySource ? 1 : 0;
  }
  void wait_for_what_is_left() {
    waits_.finish([this](const WaitLines::Key& key) { wait(key); });
  }
  void wait(std::span<const std::int64_t> slots) {
    const std::uint64_t before = waits_.early();
    waits_.wait(slots, [this](const WaitLines::Key& key) { wait(key); });
    losses_.early_waits += waits_.early() - before;
  }
  // The receive is there before the send, as in replay and MPI; TI's own sendRecv has no tags. A wait line that SimGrid
  // does not take for this receive is none: there the receive stands behind the send.
  void sendrecv(const Op& receive) {
    const bool named =
        receive.peer != kProcNull && receive.peer != kAnySource && !waits_.holds(key_of(receive));
    if (named && send_half_.peer != kProcNull) {
      message("irecv", receive);
      message("send", send_half_);
      return wait(key_of(receive));
    }
    if (receive.peer == kProcNull) return message("send", send_half_);
    post(send_half_, kHalf);
    message("recv", receive);
    wait(std::array{std::int64_t{kHalf}});
  }
  void list_of(std::span<const std::int64_t> l) {
    for (const std::int64_t v : l) append(out_, " {}", v);
  }
  Result<void> collective(const Op& op, std::span<const std::int64_t> list, std::uint64_t index);
  Result<void> cannot(const Op& op, std::uint64_t index, std::string_view why) const {
    Error e = not_supported(fmt::format("SimGrid TI text cannot say this {}: {}", op_name(op.kind), why));
    e.where = trace_.position(RankId(rank_), index);
    return e;
  }

  const TraceReader& trace_;
  std::uint32_t rank_;
  Tags& tags_;
  TiLosses& losses_;
  ReceivedContexts contexts_;
  std::string& out_;
  RequestBook requests_;  // of persistent ones
  Op send_half_;          // of the sendrecv right before
  WaitLines waits_;
  CancelledReceives cancelled_;
};

// Whether a message has a tag in TI, and no receive of this rank could take one that is not meant for it.
Result<void> TiWriter::can_tell(const Op& op, std::uint64_t index) {
  if (op.peer == kProcNull) return {};
  if (op.tag != kAnyTag && !tags_.message(op.comm.index(), static_cast<std::uint32_t>(op.tag)))
    return cannot(op, index,
                  fmt::format("its communicator has too many tags from {} on", tags_.large(op.comm.index())));
  if (is_send(op.kind) || is_send_init(op.kind)) return {};
  const auto taken = contexts_.receive(op.comm.index(), op.tag, index);
  return taken ? cannot(op, *taken, ReceivedContexts::refusal()) : Result<void>();
}

Result<void> TiWriter::sizes_in_range(const Op& op, std::span<const std::int64_t> list,
                                      std::uint64_t index) const {
  const std::size_t world = trace_.header().ranks;
  double most = static_cast<double>(op.amount);
  if (op.kind == OpKind::reduce_scatter_block) most *= static_cast<double>(world);
  // Counts of all ranks stand together, of alltoallv those to send and those to receive behind one number.
  for (std::size_t i = list.size() % world; i < list.size(); i += world) {
    std::uint64_t sum = 0;
    for (const std::int64_t bytes : list.subspan(i, world))
      sum = add_bytes(sum, static_cast<std::uint64_t>(bytes));
    most = std::max(most, static_cast<double>(sum));
  }
  return most >= ti::kMaxBytes ? cannot(op, index, "it is of 4.6e18 bytes or more") : Result<void>();
}

Result<void> TiWriter::collective(const Op& op, std::span<const std::int64_t> l, std::uint64_t index) {
  // Of one rank alone it sends nothing and waits for nobody; what waits for its request writes nothing either.
  if (op.comm.index() != 0 && trace_.communicators()[op.comm.index()].members.size() == 1) {
    if (op.request != kNoRequest) waits_.free(op.request);
    return {};
  }
  if (is_nonblocking_collective(op.kind)) return cannot(op, index, "it has no non-blocking collectives");
  if (op.comm.index() != 0 &&
      trace_.communicators()[op.comm.index()].members != trace_.communicators()[0].members)
    return cannot(op, index, "its collectives are on the world only");
  WEFT_TRY(sizes_in_range(op, l, index));
  const std::int64_t b = op.amount;
  const auto world = static_cast<std::size_t>(trace_.header().ranks);
  switch (op.kind) {
    case OpKind::barrier:
      append(out_, "{} barrier\n", rank_);
      return {};
    case OpKind::bcast:
      append(out_, "{} bcast {} {} 6\n", rank_, b, op.peer);
      return {};
    case OpKind::reduce:
      append(out_, "{} reduce {} 0 {} 6\n", rank_, b, op.peer);
      return {};
    case OpKind::allreduce:
      append(out_, "{} allreduce {} 0 6\n", rank_, b);
      return {};
    case OpKind::scan:
      append(out_, "{} scan {} 0 6\n", rank_, b);
      return {};
    case OpKind::exscan:
      append(out_, "{} exscan {} 0 6\n", rank_, b);
      return {};
    case OpKind::alltoall:
      append(out_, "{} alltoall {} {} 6 6\n", rank_, b, b);
      return {};
    case OpKind::allgather:
      append(out_, "{} allgather {} {} 6 6\n", rank_, b, b);
      return {};
    case OpKind::gather:
    case OpKind::scatter:
      append(out_, "{} {} {} {} {} 6 6\n", rank_, op_name(op.kind), b, b, op.peer);
      return {};
    case OpKind::allgatherv:
      append(out_, "{} allgatherv {}", rank_, b);
      list_of(l);
      out_ += " 6 6\n";
      return {};
    case OpKind::alltoallv: {
      std::int64_t received = 0;
      for (const std::int64_t v : l.subspan(1 + world)) received += v;
      append(out_, "{} alltoallv {}", rank_, b);
      list_of(l.subspan(1, world));
      append(out_, " {}", received);
      list_of(l.subspan(1 + world));
      out_ += " 6 6\n";
      return {};
    }
    case OpKind::gatherv:
    case OpKind::scatterv: {
      // Only the root knows the counts; the others write zeros, which SimGrid ignores there.
      const std::vector<std::int64_t> zeros(l.empty() ? world : 0);
      const auto counts = l.empty() ? std::span<const std::int64_t>(zeros) : l;
      append(out_, "{} {}", rank_, op_name(op.kind));
      if (op.kind == OpKind::gatherv) append(out_, " {}", b);
      list_of(counts);
      if (op.kind == OpKind::scatterv) append(out_, " {}", b);
      append(out_, " {} 6 6\n", op.peer);
      return {};
    }
    case OpKind::reduce_scatter:
      append(out_, "{} reducescatter", rank_);
      list_of(l);
      out_ += " 0 6\n";
      return {};
    case OpKind::reduce_scatter_block:
      append(out_, "{} reducescatter", rank_);
      for (std::size_t i = 0; i < world; ++i) append(out_, " {}", b);
      out_ += " 0 6\n";
      return {};
    default:
      return cannot(op, index, "it has no such collective");
  }
}

Result<void> TiWriter::write(const Op& op, std::span<const std::int64_t> list, std::uint64_t index) {
  if (op.kind >= OpKind::task_compute)
    return cannot(op, index,
                  "its ranks are lines of calls; weft import --one-order makes lines of a GOAL schedule, if "
                  "it has some");
  if (is_send(op.kind) || is_receive(op.kind)) WEFT_TRY(can_tell(op, index));
  if (is_send(op.kind) || is_receive(op.kind) || is_send_init(op.kind) || op.kind == OpKind::recv_init)
    WEFT_TRY(sizes_in_range(op, {}, index));
  switch (op.kind) {
    case OpKind::init:
      append(out_, "{} init\n", rank_);
      break;
    case OpKind::finalize:
      wait_for_what_is_left();
      append(out_, "{} finalize\n", rank_);
      break;
    case OpKind::compute_flops:
    case OpKind::compute_kernel:
      append(out_, "{} compute {}\n", rank_, op.flops());
      break;
    case OpKind::compute_time:
    case OpKind::sleep:
      if (static_cast<double>(op.amount) / kTicksPerSecond > ti::kMaxSleepSeconds)
        return cannot(op, index, "it is of more than 9e6 seconds");
      append(out_, "{} sleep {}\n", rank_, static_cast<double>(op.amount) / kTicksPerSecond);
      break;
    case OpKind::send:
    case OpKind::rsend:
      message("send", op);
      break;
    case OpKind::bsend:
      buffered(op);
      break;
    case OpKind::ssend:
      message("Ssend", op);
      break;
    case OpKind::recv:
      if ((op.flags & kPairedRecv) != 0)
        sendrecv(op);
      else
        message("recv", op);
      break;
    case OpKind::sendrecv:
      send_half_ = op;
      break;
    case OpKind::start:
      if (const auto* e = requests_.find(op.request))
        WEFT_TRY(start(started(e->op, op), op.request, index, list));
      break;
    case OpKind::startall:
      for (const std::int64_t r : list) {
        const auto slot = static_cast<std::uint32_t>(r);
        if (const auto* e = requests_.find(slot)) WEFT_TRY(start(e->op, slot, index, {}));
      }
      break;
    case OpKind::cancel:
      // A send that was made goes on.
      if (waits_.receives(op.request)) cancelled_.cancel(op.request, index);
      break;
    case OpKind::request_free:
      if (const auto cancel = cancelled_.open(op.request)) return withdrawn(*cancel);
      requests_.free(op.request);
      waits_.free(op.request);
      break;
    case OpKind::launch:
      return cannot(op, index, "its ranks have no accelerators beside them");
    default:
      losses_.polls.add(op);
      // Who is no member of the new group takes no part.
      if (is_comm_create(op.kind))
        losses_.comms_made += op.kind != OpKind::comm_create_group || op.amount >= 0 ? 1 : 0;
      if (is_collective(op.kind)) return collective(op, list, index);
      if (makes_request(op.kind)) {
        if (op.kind <= OpKind::irecv) {
          cancelled_.posted(op.request, list);
          post(op, op.request);
        } else {
          requests_.post(op, index);
        }
      } else if (is_completion(op.kind)) {
        std::int64_t one = 0;
        const auto slots = completed_requests(op, list, one);
        for (const std::int64_t slot : slots)
          if (const auto cancel = cancelled_.complete(op, static_cast<std::uint32_t>(slot)))
            return withdrawn(*cancel);
        wait(slots);
      }
  }
  return {};
}

}  // namespace

Result<void> export_ti(TraceReader& trace, const std::string& path, const ExportOptions& options) {
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
  Tags tags(trace.communicators().size());
  TiLosses losses;
  OpBlock block;
  for (std::uint32_t r = 0; r < trace.header().ranks; ++r) {
    const std::string name = fmt::format("{}/rank-{}.txt", dir, r);
    index.write(name + "\n");
    WEFT_ASSIGN(ExportFile file, ExportFile::open(name, &work));
    TiWriter writer(trace, r, tags, losses, file.buffer());
    while (true) {
      WEFT_ASSIGN(const bool more, trace.next_block(RankId(r), block));
      if (!more) break;
      for (std::size_t i = 0; i < block.ops.size(); ++i)
        WEFT_TRY(writer.write(block.ops[i], block.list(block.ops[i]), block.first_op + i));
      file.drain();
    }
    WEFT_TRY(writer.finish());
    WEFT_ASSIGN(AtomicFile whole, file.hand_over());
    files.push_back(std::move(whole));
  }
  files.push_back(std::move(index));
  if (options.warnings != nullptr) losses.tell(*options.warnings);
  WEFT_TRY(commit_all(files));
  made.keep();
  return {};
}

}  // namespace weft::traces
