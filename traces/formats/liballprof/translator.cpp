#include "traces/formats/liballprof/translator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "traces/op_rules.hpp"
#include "traces/recorded_time.hpp"

namespace weft::traces::allprof {
namespace {

constexpr std::int64_t kMostGapNs = INT64_MAX / 4000;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 60;

}  // namespace

#define WEFT_AT(call, name) arg_of<k##call, name>

bool Translator::fail(std::size_t arg, std::string what, std::string expected) {
  error_ = bad_input(parser_->position(line_->arg[arg].column), fmt::format("MPI_{}: {}", line_->name, what),
                     std::to_string(value(arg)), std::move(expected));
  return false;
}

bool Translator::refuse(std::string what, std::string expected) {
  Error e = not_supported(fmt::format("MPI_{}: {}", line_->name, what), std::move(expected));
  e.where = parser_->position(1);
  error_ = std::move(e);
  return false;
}

// --- time ---

void Translator::enter() {
  gap_ps_ = 0;
  if (line_->start_ns && last_ns_) {
    if (*line_->start_ns < *last_ns_) ++losses_.backwards;
    gap_ps_ = std::min(std::max<std::int64_t>(*line_->start_ns - *last_ns_, 0), kMostGapNs) * 1000;
  }
  for (const auto& t : {line_->start_ns, line_->stop_ns})
    if (t) last_ns_ = std::max(last_ns_.value_or(*t), *t);
}

void Translator::push_compute(std::int64_t ps, OpBlock& out) {
  waiting_ps_ += ps;
  if (waiting_ps_ < kMinComputePs) return;
  out.ops.push_back({.kind = OpKind::compute_time, .amount = waiting_ps_});
  waiting_ps_ = 0;
}

void Translator::push(const Op& op, OpBlock& out) {
  push_compute(gap_ps_ + carried_ps_, out);
  gap_ps_ = carried_ps_ = 0;
  out.ops.push_back(op);
}

// A test that said no, or a poll. Time of a spinning program counts for nothing.
void Translator::idle_poll() {
  if (gap_ps_ < kSpinGapNs * 1000) gap_ps_ = 0;
}

// --- arguments ---

bool Translator::bytes_of(std::int64_t count, std::int64_t size, std::size_t arg, std::int64_t& bytes) {
  if (count < 0 || count > INT32_MAX) return fail(arg, "the count is out of range", "a count >= 0");
  if (size < 0) return fail(arg, "the datatype has no size", "a datatype");
  bytes = count * size;
  return bytes <= kMostBytes || fail(arg, "the message is too large", "at most 2^60 bytes");
}

bool Translator::peer_of(std::size_t arg, bool receive, Op& op) {
  const std::int64_t peer = value(arg);
  if (peer >= 0 && peer < static_cast<std::int64_t>(members_->size())) {
    op.peer = (*members_)[static_cast<std::size_t>(peer)];
  } else if (peer == wildcards_.no_process) {
    op.peer = kProcNull;
  } else if (receive && peer == wildcards_.any_source) {
    op.peer = kAnySource;
    ++losses_.any_sources;
  } else {
    return fail(arg,
                fmt::format("the {} is not a rank of communicator {}", receive ? "source" : "destination",
                            comms_.all[here_.id].name),
                fmt::format("0 to {}{}, or {} for none", members_->size() - 1,
                            receive ? fmt::format(", {} for any", wildcards_.any_source) : "",
                            wildcards_.no_process));
  }
  return true;
}

bool Translator::tag_of(std::size_t arg, bool receive, Op& op) {
  const std::int64_t tag = value(arg);
  op.tag = 0;
  if (tag >= 0 && tag <= INT32_MAX) {
    op.tag = static_cast<std::int32_t>(tag);
    return true;
  }
  if (op.peer == kProcNull) return true;
  op.tag = kAnyTag;
  return (receive && tag == -1) ||
         fail(arg, "the tag is out of range", receive ? "a tag, or -1 for any" : "a tag >= 0");
}

bool Translator::root_of(std::size_t arg, Op& op) {
  const std::int64_t root = value(arg);
  if (root < 0 || root >= static_cast<std::int64_t>(members_->size()))
    return fail(arg, fmt::format("the root is not a rank of communicator {}", comms_.all[here_.id].name),
                fmt::format("0 to {}", members_->size() - 1));
  op.peer = (*members_)[static_cast<std::size_t>(root)];
  return true;
}

bool Translator::heard() {
  if (here_.kin == Kin::normal) return true;
  ++losses_.calls[{here_.kin == Kin::inter ? Left::inter : Left::unknown_comm, std::string(line_->name)}];
  return false;
}

bool Translator::is_cancelled(std::uint64_t ordinal) const {
  return std::ranges::binary_search(ahead_.cancelled, ordinal);
}

std::uint64_t Translator::done_by(std::uint64_t ordinal) const {
  const auto at = std::ranges::lower_bound(ahead_.done, ordinal, {}, &Ahead::Done::ordinal);
  return at != ahead_.done.end() && at->ordinal == ordinal ? at->call : kNoCall;
}

// --- point-to-point ---

bool Translator::send(OpKind kind, OpBlock& out) {
  static_assert(kLayouts[kIsend].text.starts_with(kLayouts[kSend].text));
  const bool blocking = is_blocking_send(kind);
  if (!heard()) return blocking || post({.kind = kind}, false, out);
  Op op{.kind = kind, .comm = CommId(here_.id)};
  if (!peer_of(WEFT_AT(Send, "dest"), false, op) || !tag_of(WEFT_AT(Send, "tag"), false, op) ||
      !bytes_of(value(WEFT_AT(Send, "count")), value(WEFT_AT(Send, "datatype")), WEFT_AT(Send, "count"),
                op.amount))
    return false;
  if (!blocking) return post(op, true, out);
  push(op, out);
  return true;
}

bool Translator::receive(OpKind kind, OpBlock& out) {
  static_assert(WEFT_AT(Recv, "comm") == WEFT_AT(Irecv, "comm"));
  const bool blocking = kind == OpKind::recv;
  if (!heard()) return blocking || post({.kind = kind}, false, out);
  Op op{.kind = kind, .comm = CommId(here_.id)};
  if (!peer_of(WEFT_AT(Recv, "source"), true, op) || !tag_of(WEFT_AT(Recv, "tag"), true, op) ||
      !bytes_of(value(WEFT_AT(Recv, "count")), value(WEFT_AT(Recv, "datatype")), WEFT_AT(Recv, "count"),
                op.amount))
    return false;
  if (!blocking) return post(op, true, out);
  push(op, out);
  return true;
}

bool Translator::sendrecv(OpBlock& out) {
  if (!heard()) return true;
  const bool replace = line_->call == kSendrecv_replace;
#define WEFT_SR(full, short_form) (replace ? WEFT_AT(Sendrecv_replace, short_form) : WEFT_AT(Sendrecv, full))
  Op send{.kind = OpKind::sendrecv, .comm = CommId(here_.id)};
  Op recv{.kind = OpKind::recv, .flags = kPairedRecv, .comm = CommId(here_.id)};
  if (!peer_of(WEFT_SR("dest", "dest"), false, send) || !tag_of(WEFT_SR("sendtag", "sendtag"), false, send) ||
      !peer_of(WEFT_SR("source", "source"), true, recv) ||
      !tag_of(WEFT_SR("recvtag", "recvtag"), true, recv) ||
      !bytes_of(value(WEFT_SR("sendcount", "count")), value(WEFT_SR("sendtype", "datatype")),
                WEFT_SR("sendcount", "count"), send.amount) ||
      !bytes_of(value(WEFT_SR("recvcount", "count")), value(WEFT_SR("recvtype", "datatype")),
                WEFT_SR("recvcount", "count"), recv.amount))
    return false;
#undef WEFT_SR
  push(send, out);
  push(recv, out);
  return true;
}

// What a poll found the line does not say. The receive that follows waits for the message.
bool Translator::probe(OpBlock& out) {
  const bool poll = line_->call == kIprobe || line_->call == kImprobe;
  if (poll) idle_poll();
  if (!heard()) return true;
  Op op{.kind = line_->call == kMprobe ? OpKind::mprobe : OpKind::probe, .comm = CommId(here_.id)};
  static_assert(WEFT_AT(Probe, "source") == WEFT_AT(Iprobe, "source") &&
                WEFT_AT(Probe, "source") == WEFT_AT(Improbe, "source"));
  if (!peer_of(WEFT_AT(Probe, "source"), true, op) || !tag_of(WEFT_AT(Probe, "tag"), true, op)) return false;
  if (line_->call == kMprobe || line_->call == kImprobe)
    probed_[line_->arg[line_->call == kMprobe ? WEFT_AT(Mprobe, "message") : WEFT_AT(Improbe, "message")]
                .bits()] = op;
  if (poll)
    ++losses_.polls;
  else
    push(op, out);
  return true;
}

// MPI_Mrecv, MPI_Imrecv: of what was looked for where the message's handle lies.
bool Translator::receive_probed(OpBlock& out) {
  static_assert(WEFT_AT(Mrecv, "message") == WEFT_AT(Imrecv, "message") &&
                WEFT_AT(Mrecv, "count") == WEFT_AT(Imrecv, "count"));
  const bool blocking = line_->call == kMrecv;
  const auto found = probed_.find(line_->arg[WEFT_AT(Mrecv, "message")].bits());
  if (found == probed_.end()) {
    ++losses_.unknown_requests;
    return blocking || post({.kind = OpKind::irecv}, false, out);
  }
  Op op = found->second;
  op.kind = blocking ? OpKind::recv : OpKind::irecv;
  if (!bytes_of(value(WEFT_AT(Mrecv, "count")), value(WEFT_AT(Mrecv, "datatype")), WEFT_AT(Mrecv, "count"),
                op.amount))
    return false;
  if (!blocking) return post(op, true, out);
  push(op, out);
  return true;
}

Result<void> Translator::add(const Line& line, const LineParser& parser, OpBlock& out) {
  if (line.cls == CallClass::local) return {};
  line_ = &line;
  parser_ = &parser;
  followed_ = follow(line, table_);
  here_ = {};
  if (followed_.use != kNone) {
    here_ = comms_.of_use[rank_][followed_.use];
    if (here_.id != kNone) members_ = &comms_.all[here_.id].members;
    const std::uint64_t handle = table_.log().uses[followed_.use].handle;
    width_ = request_width(handle);
    wildcards_ = wildcards_of(handle);
  }
  if (line.call == kComm_rank || line.call == kComm_size) return {};
  enter();
  if (waiting_ps_ + carried_ps_ > INT64_MAX / 2 - gap_ps_)
    return bad_input(parser.position(), "the time between calls is out of range", {}, "at most 53 days");
  if (!dispatch(out)) return *error_;
  if (requests_.too_many_named()) {
    (void)refuse("the calls of the rank name so many requests so often",
                 fmt::format("at most {} all in all", kMostNamed));
    return *error_;
  }
  // What no operation took goes before the next one.
  carried_ps_ += gap_ps_;
  gap_ps_ = 0;
  return {};
}

void Translator::finish(OpBlock& /*out*/) {
  if (!finalized_) ++losses_.unfinished;
}

}  // namespace weft::traces::allprof
