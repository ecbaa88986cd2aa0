#include "traces/formats/dumpi/translator.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "traces/op_rules.hpp"
#include "traces/recorded_time.hpp"

namespace weft::traces::dumpi {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kWrapNs = 65536 * kSecondNs;
constexpr std::int64_t kMostPs = INT64_MAX / 2;

}  // namespace

Translator::Translator(const RankFile& file, const Ahead* ahead, CommLog* log, Losses* losses)
    : file_(file), ahead_(ahead), log_(log), losses_(losses), types_(file), kin_(2, Kin::normal) {
  if (log_ != nullptr) {
    log_->rank_in.assign(2, -1);
    log_->size_of.assign(2, -1);
  }
}

bool Translator::fail(std::string what, std::string got, std::string expected) {
  error_ = reader_->fault(*r_, std::move(what), std::move(got), std::move(expected));
  return false;
}

// --- time ---

// Seconds are stored modulo 65536: a time far before the last one is after it. One far after it is before it and before the wrap: of
// another thread, or of a call that the last one overlaps.
std::int64_t Translator::Clock::unwrap(std::int64_t t) {
  t += base;
  if (known && base > 0 && t > last + kWrapNs / 2) return t - kWrapNs;
  while (known && t < last - kWrapNs / 2) {
    base += kWrapNs;
    t += kWrapNs;
  }
  return t;
}

void Translator::enter(const Record& r) {
  if (clock_bit_ == 0) clock_bit_ = (r.mask & kMaskWall) != 0 ? kMaskWall : r.mask & kMaskCpu;
  const bool other_thread = threads_ > 0 && r.thread != last_thread_;
  if (threads_ == 0 || other_thread) {
    thread_seen_.resize(std::max<std::size_t>(thread_seen_.size(), r.thread + std::size_t{1}));
    if (!thread_seen_[r.thread]) ++threads_;
    thread_seen_[r.thread] = true;
    last_thread_ = r.thread;
  }
  gap_ns_ = 0;
  if (clock_bit_ == 0 || (r.mask & clock_bit_) == 0) {
    if (losses_ != nullptr) ++losses_->untimed;
    return;
  }
  const Times& t = clock_bit_ == kMaskWall ? r.wall : r.cpu;
  const std::int64_t start = clock_.unwrap(t.start_ns);
  if (clock_.known) {
    gap_ns_ = std::max<std::int64_t>(start - clock_.last, 0);
    if (start < clock_.last && losses_ != nullptr)
      ++(other_thread ? losses_->concurrent : losses_->backwards);
  }
  clock_.last = clock_.known ? std::max(clock_.last, start) : start;
  clock_.known = true;
  clock_.last = std::max(clock_.last, clock_.unwrap(t.stop_ns));
}

void Translator::push_compute(std::int64_t ps, OpBlock& out) {
  waiting_ps_ += ps;
  total_ps_ += ps;
  if (waiting_ps_ < kMinComputePs) return;
  out.ops.push_back({.kind = OpKind::compute_time, .amount = waiting_ps_});
  waiting_ps_ = 0;
}

void Translator::flush_polls(OpBlock& out) {
  for (Place& p : places_) {
    push_compute(p.before_ps, out);
    const std::size_t at = next_poll_++;
    if (ahead_ != nullptr && at < ahead_->polls.size() && ahead_->polls[at] != 0) {
      const std::int64_t distance = ahead_->polls[at];
      p.op.extra = out.add_list({&distance, 1});
    }
    out.ops.push_back(p.op);
  }
  places_.clear();
}

void Translator::push(const Op& op, OpBlock& out) {
  flush_polls(out);
  push_compute(gap_ns_ * 1000 + carried_ps_, out);
  gap_ns_ = carried_ps_ = 0;
  out.ops.push_back(op);
}

// A test that said no. Time of a spinning program counts for nothing.
void Translator::idle_poll() {
  if (gap_ns_ < kSpinGapNs) gap_ns_ = 0;
}

void Translator::miss(const Op& op, OpBlock& out) {
  if (gap_ns_ * 1000 + carried_ps_ < kSpinGapNs * 1000) {
    for (Place& p : places_)
      if (p.op.comm == op.comm && p.op.peer == op.peer && p.op.tag == op.tag) {
        ++p.op.amount;
        gap_ns_ = 0;
        return;
      }
  } else {
    flush_polls(out);
  }
  if (places_.size() == static_cast<std::size_t>(kSpinPlaces)) flush_polls(out);
  places_.push_back({gap_ns_ * 1000 + carried_ps_, op});
  gap_ns_ = carried_ps_ = 0;
}

// --- fields ---

bool Translator::size_of(std::int64_t count, std::int64_t type, std::int64_t& bytes) {
  if (count < 0) return fail("count is negative", std::to_string(count), "a count >= 0");
  bytes = 0;
  if (count == 0) return true;
  const auto size = types_.of(type);
  if (!size) {
    error_ = not_supported(
        fmt::format("MPI_{}: the file does not say the size of datatype {}", r_->layout().name, type),
        "a size in the file, or calls that construct the datatype");
    error_->where = reader_->fault(*r_, "").where;
    return false;
  }
  if (__builtin_mul_overflow(count, *size, &bytes) || bytes > std::int64_t{1} << 60)
    return fail("the message is too large", fmt::format("{} x {} bytes", count, *size), "at most 2^60 bytes");
  return true;
}

bool Translator::tag_of(std::int64_t tag, bool receive, Op& op) {
  op.tag = static_cast<std::int32_t>(tag);
  if (tag >= 0 || (receive && tag == kAnyTag)) return true;
  if (op.peer == kProcNull) {
    op.tag = 0;
    return true;
  }
  return fail("tag is out of range", std::to_string(tag), receive ? "a tag, or -1 for any" : "a tag >= 0");
}

// libdumpi stores MPI_ANY_SOURCE as -1 and MPI_PROC_NULL as the MPI library has it: -1 (MPICH), -2 (Open MPI) or -3. So
// -1 of a receive can be either; what the status says decides.
bool Translator::peer_of(std::int64_t peer, bool receive, const Status* status, Op& op) {
  op.peer = static_cast<std::int32_t>(peer);
  if (peer >= 0) return true;
  if (peer < -3)
    return fail(receive ? "source is not a rank" : "destination is not a rank", std::to_string(peer),
                receive ? "a rank, -1 for any, -2 or -3 for none" : "a rank, or -1 to -3 for none");
  op.peer = kProcNull;
  if (!receive) {
    if (peer == -1 && losses_ != nullptr) ++losses_->sends_to_minus_one;
    return true;
  }
  if (peer == -1 && !(status != nullptr && status->source == -1 && status->bytes == 0)) op.peer = kAnySource;
  return true;
}

bool Translator::comm_of(std::int64_t handle, LocalComm& comm) {
  if (handle == 2 || handle == 3) {
    comm = handle == 2 ? kWorld : kSelf;
    return true;
  }
  if (handle < 2)
    return fail("the communicator is MPI_COMM_NULL", std::to_string(handle), "a communicator: 2 or more");
  const auto it = comms_.find(handle);
  comm = it != comms_.end() ? it->second : bind_comm(handle, Kin::unknown);
  return true;
}

LocalComm Translator::bind_comm(std::int64_t handle, Kin kin) {
  const auto comm = static_cast<LocalComm>(kin_.size());
  kin_.push_back(kin);
  comms_[handle] = comm;
  if (log_ != nullptr) {
    log_->rank_in.push_back(-1);
    log_->size_of.push_back(-1);
  }
  return comm;
}

const Status* Translator::status_at(std::size_t i) const {
  return i < r_->statuses.size() ? &r_->statuses[i] : nullptr;
}

// Whether a status can be that of `posted`: one that the program ignored may hold anything.
bool Translator::tells(const Status* s, const Op& posted) const {
  return s != nullptr && !s->cancelled && s->source >= 0 &&
         (posted.peer == kAnySource || posted.peer == s->source) &&
         (s->has_tag ? s->tag >= 0 && (posted.tag == kAnyTag || posted.tag == s->tag)
                     : posted.tag != kAnyTag) &&
         s->bytes >= 0 && s->bytes <= posted.amount;
}

void Translator::lose(Left why, std::uint16_t call) {
  if (losses_ != nullptr) ++losses_->calls[{why, call}];
}

bool Translator::heard(LocalComm comm) {
  if (comm == kSelf && log_ != nullptr) log_->uses_self = true;
  if (kin_[comm] == Kin::normal) return true;
  lose(kin_[comm] == Kin::inter ? Left::inter : Left::unknown_comm);
  return false;
}

bool Translator::is_cancelled(std::uint64_t ordinal) const {
  return ahead_ != nullptr && std::ranges::binary_search(ahead_->cancelled, ordinal);
}

const Ahead::Matched* Translator::matched(std::uint64_t ordinal) {
  if (ahead_ == nullptr) return nullptr;
  const auto& all = ahead_->matched;
  while (next_matched_ < all.size() && all[next_matched_].ordinal < ordinal) ++next_matched_;
  return next_matched_ < all.size() && all[next_matched_].ordinal == ordinal ? &all[next_matched_] : nullptr;
}

// --- point-to-point ---

#define WEFT_V(call, name) r_->value[field<k##call, name>]

bool Translator::send(OpKind kind, OpBlock& out) {
  static_assert(kLayouts[kIsend].text.starts_with(kLayouts[kSend].text));
  Op op{.kind = kind};
  LocalComm comm = 0;
  if (!peer_of(WEFT_V(Send, "dest"), false, nullptr, op) || !tag_of(WEFT_V(Send, "tag"), false, op) ||
      !comm_of(WEFT_V(Send, "comm"), comm) ||
      !size_of(WEFT_V(Send, "count"), WEFT_V(Send, "datatype"), op.amount))
    return false;
  op.comm = CommId(comm);
  const bool has_operation = heard(comm);
  if (!is_blocking_send(kind))
    return post(op, WEFT_V(Isend, "request"), is_send_init(kind), has_operation, out);
  if (has_operation) push(op, out);
  return true;
}

bool Translator::receive(OpKind kind, OpBlock& out) {
  static_assert(find_field(kRecv, "comm") == find_field(kIrecv, "comm"));
  Op op{.kind = kind};
  LocalComm comm = 0;
  const Status* s = kind == OpKind::recv ? status_at(0) : nullptr;
  if (!peer_of(WEFT_V(Recv, "source"), true, s, op) || !tag_of(WEFT_V(Recv, "tag"), true, op) ||
      !comm_of(WEFT_V(Recv, "comm"), comm) ||
      !size_of(WEFT_V(Recv, "count"), WEFT_V(Recv, "datatype"), op.amount))
    return false;
  op.comm = CommId(comm);
  const bool has_operation = heard(comm);
  if (kind != OpKind::recv)
    return post(op, WEFT_V(Irecv, "request"), kind == OpKind::recv_init, has_operation, out);
  if (!has_operation) return true;
  if (op.peer == kAnySource && s == nullptr && losses_ != nullptr) ++losses_->any_or_none;
  if (op.peer != kProcNull && tells(s, op) &&
      (op.peer == kAnySource || op.tag == kAnyTag || s->bytes != op.amount)) {
    const std::int64_t got[] = {s->source, s->has_tag ? s->tag : op.tag, s->bytes};
    op.extra = out.add_list(got);
  }
  push(op, out);
  return true;
}

bool Translator::sendrecv(bool replace, OpBlock& out) {
  Op send{.kind = OpKind::sendrecv}, recv{.kind = OpKind::recv, .flags = kPairedRecv};
  LocalComm comm = 0;
  const auto v = [this, replace](std::size_t full, std::size_t short_form) {
    return r_->value[replace ? short_form : full];
  };
#define WEFT_SR(full, short_form) v(field<kSendrecv, full>, field<kSendrecv_replace, short_form>)
  const Status* s = status_at(0);
  if (!peer_of(WEFT_SR("dest", "dest"), false, nullptr, send) ||
      !tag_of(WEFT_SR("sendtag", "sendtag"), false, send) ||
      !peer_of(WEFT_SR("source", "source"), true, s, recv) ||
      !tag_of(WEFT_SR("recvtag", "recvtag"), true, recv) || !comm_of(WEFT_SR("comm", "comm"), comm) ||
      !size_of(WEFT_SR("sendcount", "count"), WEFT_SR("sendtype", "datatype"), send.amount) ||
      !size_of(WEFT_SR("recvcount", "count"), WEFT_SR("recvtype", "datatype"), recv.amount))
    return false;
#undef WEFT_SR
  if (!heard(comm)) return true;
  send.comm = recv.comm = CommId(comm);
  if (recv.peer == kAnySource && s == nullptr && losses_ != nullptr) ++losses_->any_or_none;
  push(send, out);
  if (recv.peer != kProcNull && tells(s, recv) &&
      (recv.peer == kAnySource || recv.tag == kAnyTag || s->bytes != recv.amount)) {
    const std::int64_t got[] = {s->source, s->has_tag ? s->tag : recv.tag, s->bytes};
    recv.extra = out.add_list(got);
  }
  push(recv, out);
  return true;
}

bool Translator::probe(OpBlock& out) {
  Op op{.kind = OpKind::probe};
  LocalComm comm = 0;
  const Status* s = status_at(0);
  if (!peer_of(WEFT_V(Probe, "source"), true, s, op) || !tag_of(WEFT_V(Probe, "tag"), true, op) ||
      !comm_of(WEFT_V(Probe, "comm"), comm))
    return false;
  if (!heard(comm)) return true;
  op.comm = CommId(comm);
  op.amount = INT64_MAX;  // of bytes that a status may say
  if (tells(s, op)) {
    const std::int64_t got[] = {s->source, s->has_tag ? s->tag : op.tag, s->bytes};
    op.extra = out.add_list(got);
  }
  op.amount = 0;
  push(op, out);
  return true;
}

bool Translator::iprobe(OpBlock& out) {
  Op op{.kind = OpKind::iprobe};
  LocalComm comm = 0;
  const bool hit = WEFT_V(Iprobe, "flag") != 0;
  const Status* s = hit ? status_at(0) : nullptr;
  if (!peer_of(WEFT_V(Iprobe, "source"), true, s, op) || !tag_of(WEFT_V(Iprobe, "tag"), true, op) ||
      !comm_of(WEFT_V(Iprobe, "comm"), comm))
    return false;
  if (!heard(comm)) return true;
  op.comm = CommId(comm);
  if (!hit) {
    op.amount = 1;
    miss(op, out);
    return true;
  }
  op.flags = kHit;
  op.amount = INT64_MAX;
  std::int64_t got[] = {0, 0, op.peer, op.tag, 0};
  if (tells(s, op)) {
    got[2] = s->source;
    got[3] = s->has_tag ? s->tag : op.tag;
    got[4] = s->bytes;
  } else if (losses_ != nullptr && op.peer != kProcNull) {
    ++losses_->unknown_hits;
  }
  op.amount = 1;
  flush_polls(out);
  const std::size_t at = next_poll_++;
  if (ahead_ != nullptr && at < ahead_->polls.size()) got[1] = ahead_->polls[at];
  op.extra = out.add_list(got);
  push(op, out);
  return true;
}

// A call that makes a request.
bool Translator::post(Op op, std::int64_t id, bool persistent, bool has_operation, OpBlock& out) {
  const bool narrow = file_.version < kWideRequests;
  if (id <= kNullRequest && !narrow)
    return fail("the request that the call made is MPI_REQUEST_NULL", std::to_string(id),
                "a request: 2 or more");
  if (narrow && (id <= kNullRequest || requests_.find(id) != nullptr)) {
    Error e = not_supported(
        fmt::format(
            "MPI_{}: request {} is in use: DUMPI {} keeps 8 bits of the numbers of requests, and this file "
            "does not tell its requests apart",
            r_->layout().name, id, file_.version.text()),
        fmt::format("a file of DUMPI {} or later, or fewer requests at a time", kWideRequests.text()));
    e.where = reader_->fault(*r_, "").where;
    error_ = std::move(e);
    return false;
  }
  Request r;
  r.ordinal = ordinal_++;
  r.op = op;
  r.receive = op.kind == OpKind::irecv || op.kind == OpKind::recv_init;
  r.persistent = persistent;
  r.active = !persistent;
  if (has_operation && is_cancelled(r.ordinal)) {
    has_operation = false;
    if (losses_ != nullptr) ++losses_->cancelled;
  }
  if (requests_.outstanding() >= kMaxRequestSlots)
    return fail("too many requests at a time", std::to_string(requests_.outstanding() + 1),
                fmt::format("at most {}", kMaxRequestSlots));
  const std::uint64_t ordinal = r.ordinal;
  const Request& made = requests_.add(id, r, has_operation);
  if (!has_operation) return true;
  op.request = made.slot;
  if (const Ahead::Matched* m = matched(ordinal)) {
    if (m->source < 0) {
      op.peer = kProcNull;
    } else {
      const std::int64_t got[] = {m->source, m->tag, m->bytes};
      op.extra = out.add_list(got);
    }
  }
  push(op, out);
  return true;
}

Result<void> Translator::add(const Record& r, const RecordReader& reader, OpBlock& out) {
  r_ = &r;
  reader_ = &reader;
  if (losses_ != nullptr && (r.mask & kMaskCounters) != 0) ++losses_->with_counters;
  const CallClass cls = r.layout().cls;
  if (cls == CallClass::local) return {};
  if (cls == CallClass::define) {
    if (!define()) return *error_;
    return {};
  }
  enter(r);
  if (total_ps_ + waiting_ps_ + carried_ps_ > kMostPs - gap_ns_ * 1000) {
    (void)fail("the time between calls is out of range");
    return *error_;
  }
  if (!dispatch(out)) return *error_;
  // What no operation took goes before the next one.
  carried_ps_ += gap_ns_ * 1000;
  gap_ns_ = 0;
  return {};
}

void Translator::finish(OpBlock& out) {
  flush_polls(out);
  if (losses_ == nullptr) return;
  requests_.for_each([this](const Request& r) {
    if (r.receive && r.active && r.cancelled && r.has_operation()) {
      found_.cancelled.push_back(r.ordinal);
      ++losses_->cancelled_assumed;
    }
  });
  std::ranges::sort(found_.cancelled);
  std::ranges::sort(found_.matched, {}, &Ahead::Matched::ordinal);
  losses_->shared_requests += requests_.shared();
  losses_->type_conflicts += types_.conflicts();
  losses_->threads = std::max(losses_->threads, threads_);
  ++(clock_bit_ == kMaskWall  ? losses_->wall_ranks
     : clock_bit_ == kMaskCpu ? losses_->cpu_ranks
                              : losses_->clockless_ranks);
}

}  // namespace weft::traces::dumpi
