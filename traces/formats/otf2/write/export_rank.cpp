#include "traces/formats/otf2/write/export_rank.hpp"

#include <fmt/format.h>
#include <otf2/otf2.h>

#include <algorithm>
#include <unordered_set>

#include "core/byte_sum.hpp"
#include "traces/accelerator.hpp"
#include "traces/formats/otf2/limits.hpp"
#include "traces/op_rules.hpp"

namespace weft::traces::otf2 {
namespace {

// OTF2's number of a blocking form, barrier to exscan.
std::uint8_t collective_number(OpKind k) {
  switch (k) {
    case OpKind::barrier:
      return OTF2_COLLECTIVE_OP_BARRIER;
    case OpKind::bcast:
      return OTF2_COLLECTIVE_OP_BCAST;
    case OpKind::gather:
      return OTF2_COLLECTIVE_OP_GATHER;
    case OpKind::gatherv:
      return OTF2_COLLECTIVE_OP_GATHERV;
    case OpKind::scatter:
      return OTF2_COLLECTIVE_OP_SCATTER;
    case OpKind::scatterv:
      return OTF2_COLLECTIVE_OP_SCATTERV;
    case OpKind::allgather:
      return OTF2_COLLECTIVE_OP_ALLGATHER;
    case OpKind::allgatherv:
      return OTF2_COLLECTIVE_OP_ALLGATHERV;
    case OpKind::alltoall:
      return OTF2_COLLECTIVE_OP_ALLTOALL;
    case OpKind::alltoallv:
      return OTF2_COLLECTIVE_OP_ALLTOALLV;
    case OpKind::alltoallw:
      return OTF2_COLLECTIVE_OP_ALLTOALLW;
    case OpKind::allreduce:
      return OTF2_COLLECTIVE_OP_ALLREDUCE;
    case OpKind::reduce:
      return OTF2_COLLECTIVE_OP_REDUCE;
    case OpKind::reduce_scatter:
      return OTF2_COLLECTIVE_OP_REDUCE_SCATTER;
    case OpKind::reduce_scatter_block:
      return OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK;
    case OpKind::scan:
      return OTF2_COLLECTIVE_OP_SCAN;
    default:
      return OTF2_COLLECTIVE_OP_EXSCAN;
  }
}

bool is_neighbor(OpKind k) {
  return blocking_form(k) >= OpKind::neighbor_allgather && blocking_form(k) <= OpKind::neighbor_alltoallw;
}

}  // namespace

Matches::Matches(std::vector<OpMatch> all) : all_(std::move(all)) {
  std::ranges::sort(all_, {}, [](const OpMatch& m) { return std::pair(m.op, m.request); });
}

const OpMatch* Matches::find(std::uint64_t op, std::uint32_t request) const {
  const auto it = std::ranges::lower_bound(all_, std::pair(op, request), {},
                                           [](const OpMatch& m) { return std::pair(m.op, m.request); });
  return it != all_.end() && it->op == op && it->request == request ? &*it : nullptr;
}

Error RankExporter::cannot(const Op& op, std::uint64_t index, const std::string& why) const {
  Error e = not_supported(fmt::format("OTF2 cannot say this {}: {}", op_name(op.kind), why));
  e.where = trace_.position(RankId(rank_), index);
  return e;
}

std::uint32_t RankExporter::rank_in(CommId comm, std::int64_t world) {
  if (comm.index() == 0) return static_cast<std::uint32_t>(world);
  const auto [it, fresh] = ranks_in_.try_emplace(comm.index());
  const auto& members = trace_.communicators()[comm.index()].members;
  if (fresh)
    for (std::size_t i = 0; i < members.size(); ++i)
      it->second.emplace(members[i], static_cast<std::uint32_t>(i));
  const auto at = it->second.find(static_cast<std::int32_t>(world));
  return at == it->second.end() ? OTF2_UNDEFINED_UINT32 : at->second;
}

// --- messages ---

Result<void> RankExporter::in_range(const Op& op, std::int64_t bytes, std::uint64_t index) const {
  if (static_cast<std::uint64_t>(bytes) <= kMostBytes) return {};
  return cannot(op, index, "the message is of more than 2^60 bytes");
}

Result<void> RankExporter::send(const Op& op, std::int64_t time) {
  if (op.peer >= 0) out_.send(time, rank_in(op.comm, op.peer), op.comm.index(), op.tag, op.amount);
  return {};
}

std::optional<RankExporter::Matched> RankExporter::matched(const Op& op, std::span<const std::int64_t> list,
                                                           std::uint64_t by, std::uint32_t request) const {
  if (matches_) {
    const OpMatch* const took = matches_->find(by, request);
    if (took == nullptr) return std::nullopt;
    return Matched{took->source, took->tag, took->bytes};
  }
  Matched m{op.peer, op.tag, op.amount};
  if (list.size() == 3) m = {list[0], list[1], list[2]};
  if (m.peer < 0 || m.tag < 0) return std::nullopt;
  return m;
}

Error RankExporter::unknown_match(const Op& op, std::uint64_t index) const {
  return cannot(op, index, "it receives from any source or of any tag, and the trace does not say what came");
}

Result<void> RankExporter::receive(const Op& op, std::span<const std::int64_t> list, std::uint64_t index,
                                   std::int64_t time) {
  if (op.peer == kProcNull) return {};
  // A replay knows a sendrecv by its first half.
  const std::uint64_t by = (op.flags & kPairedRecv) != 0 ? index - 1 : index;
  const auto m = matched(op, list, by, kNoRequest);
  if (!m) return unknown_match(op, index);
  WEFT_TRY(in_range(op, m->bytes, index));
  out_.recv(time, rank_in(op.comm, m->peer), op.comm.index(), static_cast<std::int32_t>(m->tag), m->bytes);
  return {};
}

void RankExporter::post_now(const Op& op, std::uint64_t index, std::int64_t time) {
  Posted& p = posted_[op.request];
  p.id = ++next_id_;
  p.by = index;
  p.cancelled = false;
  if (is_nonblocking_collective(op.kind)) {
    out_.icollective_request(time, p.id);
  } else if (op.peer == kProcNull) {
    return;
  } else if (is_receive_request(op.kind)) {
    out_.irecv_request(time, p.id);
  } else {
    out_.isend(time, rank_in(op.comm, op.peer), op.comm.index(), op.tag, op.amount, p.id);
  }
}

Result<void> RankExporter::post(const Op& op, std::span<const std::int64_t> list, std::uint64_t index,
                                std::int64_t time) {
  if (is_neighbor(op.kind)) return cannot(op, index, "it has no record of neighbours");
  requests_.post(op, index);
  Posted& p = posted_[op.request];
  p.list.assign(list.begin(), list.end());
  if (!is_send_init(op.kind) && op.kind != OpKind::recv_init) post_now(op, index, time);
  return {};
}

void RankExporter::start(std::uint32_t slot, std::span<const std::int64_t> list, std::uint64_t index,
                         std::int64_t time) {
  requests_.start(slot);
  posted_[slot].list.assign(list.begin(), list.end());
  if (const RequestBook::Entry* e = requests_.find(slot)) post_now(e->op, index, time);
}

// Of the request p, which operation `posted` made.
Result<void> RankExporter::complete_receive(const Op& completion, const Op& op, const Posted& p,
                                            std::uint32_t slot, std::uint64_t posted, std::int64_t time) {
  auto m = matched(op, p.list, p.by, slot);
  bool withdrawn = p.cancelled && !m;
  if (!matches_) {
    if ((completion.kind == OpKind::wait || completion.kind == OpKind::test) && completion.peer >= 0) {
      m = Matched{completion.peer, completion.tag, completion.amount};
      if (m->tag < 0) m.reset();
    }
    withdrawn = p.cancelled && (!m || (p.list.size() != 3 && completes_withdrawn(completion)));
  }
  if (withdrawn) {
    out_.request_cancelled(time, p.id);
    return {};
  }
  if (!m) return unknown_match(op, posted);
  WEFT_TRY(in_range(op, m->bytes, posted));
  out_.irecv(time, rank_in(op.comm, m->peer), op.comm.index(), static_cast<std::int32_t>(m->tag), m->bytes,
             p.id);
  return {};
}

Result<void> RankExporter::complete_collective(const Op& op, const Posted& p, std::uint64_t index,
                                               std::int64_t time) {
  WEFT_ASSIGN(const Totals t, totals(op, p.list, index));
  out_.icollective_complete(time, collective_number(blocking_form(op.kind)), op.comm.index(),
                            is_rooted(op.kind) ? rank_in(op.comm, op.peer) : ArchiveWriter::kNoRoot, t.sent,
                            t.received, p.id);
  return {};
}

Result<void> RankExporter::complete_one(const Op& completion, std::uint32_t slot, std::uint64_t index,
                                        std::int64_t time) {
  const RequestBook::Entry* e = requests_.find(slot);
  if (e == nullptr || !e->active) return {};
  const Op& op = e->op;
  const Posted& p = posted_[slot];
  if (is_nonblocking_collective(op.kind)) {
    return complete_collective(op, p, index, time);
  } else if (op.peer == kProcNull) {
    // nothing was posted
  } else if (is_receive_request(op.kind)) {
    return complete_receive(completion, op, p, slot, e->index, time);
  } else {
    out_.isend_complete(time, p.id);
  }
  return {};
}

Result<void> RankExporter::complete(const Op& op, std::span<const std::int64_t> list, std::uint64_t index,
                                    std::int64_t time) {
  std::int64_t one = 0;
  const auto done = completed_requests(op, list, one);
  if (completes_some(op.kind) && !list.empty()) {
    // In the order that they were asked for: completed, or tested only.
    const auto asked = list.subspan(1, static_cast<std::size_t>(list[0]));
    const std::unordered_set<std::int64_t> completed(done.begin(), done.end());
    for (const std::int64_t slot : asked) {
      const auto s = static_cast<std::uint32_t>(slot);
      const RequestBook::Entry* e = requests_.find(s);
      if (e == nullptr || !e->active) continue;
      if (completed.contains(slot)) {
        WEFT_TRY(complete_one(op, s, index, time));
        requests_.complete(s);
      } else if (e->op.peer != kProcNull || is_nonblocking_collective(e->op.kind)) {
        out_.request_test(time, posted_[s].id);
      }
    }
    return {};
  }
  for (const std::int64_t slot : done) {
    const auto s = static_cast<std::uint32_t>(slot);
    WEFT_TRY(complete_one(op, s, index, time));
    requests_.complete(s);
  }
  return {};
}

// --- what nobody waits for ---

// A receive or a collective that is under way. A send that nobody waits for needs no record of its end.
bool RankExporter::goes_on(const RequestBook::Entry& e) {
  if (!e.active) return false;
  return is_nonblocking_collective(e.op.kind) || (is_receive_request(e.op.kind) && e.op.peer != kProcNull);
}

void RankExporter::free(std::uint32_t slot) {
  if (const RequestBook::Entry* e = requests_.find(slot); e != nullptr && goes_on(*e))
    freed_.push_back({e->op, e->index, posted_[slot], slot});
  requests_.free(slot);
}

// In the order in which they were posted.
std::vector<RankExporter::Left> RankExporter::left() const {
  std::vector<Left> all = freed_;
  requests_.for_each([&](std::uint32_t slot, const RequestBook::Entry& e) {
    if (goes_on(e)) all.push_back({e.op, e.index, posted_.at(slot), slot});
  });
  // A receive that took nothing in the replay is under way for ever.
  std::erase_if(all, [this](const Left& l) {
    return matches_ && is_receive_request(l.op.kind) && !l.posted.cancelled &&
           matches_->find(l.posted.by, l.slot) == nullptr;
  });
  std::ranges::sort(all, {}, [](const Left& l) { return l.posted.id; });
  return all;
}

Result<void> RankExporter::wait_for_what_is_left(std::int64_t time) {
  // The wait that the program lacks: it does not say what came.
  const Op wait{.kind = OpKind::wait, .peer = kAnySource, .tag = kAnyTag};
  for (const Left& l : left()) {
    out_.enter(time, region_of(OpKind::wait));
    if (is_receive_request(l.op.kind))
      WEFT_TRY(complete_receive(wait, l.op, l.posted, l.slot, l.index, time));
    else
      WEFT_TRY(complete_collective(l.op, l.posted, l.index, time));
    out_.leave(time, region_of(OpKind::wait));
  }
  freed_.clear();
  std::vector<std::uint32_t> over;
  requests_.for_each([&](std::uint32_t slot, const RequestBook::Entry& e) {
    if (goes_on(e)) over.push_back(slot);
  });
  for (const std::uint32_t slot : over) requests_.complete(slot);
  return {};
}

// --- collectives ---

// Sums over the communicator, as Score-P makes them (sums.hpp).
Result<RankExporter::Totals> RankExporter::totals(const Op& op, std::span<const std::int64_t> list,
                                                  std::uint64_t index) {
  const auto& members = trace_.communicators()[op.comm.index()].members;
  const auto n = static_cast<std::uint64_t>(members.size());
  const std::uint64_t me = rank_in(op.comm, rank_);
  const auto bytes = static_cast<std::uint64_t>(op.amount);
  const bool root = op.peer == static_cast<std::int32_t>(rank_);
  std::uint64_t all = 0;  // of the list
  const auto sum = [&](std::size_t from, std::size_t count) {
    all = 0;
    for (std::size_t i = from; i < from + count && i < list.size(); ++i)
      all = add_bytes(all, static_cast<std::uint64_t>(list[i]));
    return all;
  };
  Totals t;
  switch (blocking_form(op.kind)) {
    case OpKind::barrier:
      break;
    case OpKind::bcast:
      t = {root ? times_bytes(n, bytes) : 0, bytes};
      break;
    case OpKind::gather:
    case OpKind::reduce:
      t = {bytes, root ? times_bytes(n, bytes) : 0};
      break;
    case OpKind::scatter:
      t = {root ? times_bytes(n, bytes) : 0, bytes};
      break;
    case OpKind::gatherv:
      t = {bytes, root ? sum(0, n) : 0};
      break;
    case OpKind::scatterv:
      t = {root ? sum(0, n) : 0, bytes};
      break;
    case OpKind::allgatherv:
      t = {times_bytes(n, bytes), sum(0, n)};
      break;
    case OpKind::alltoallv:
    case OpKind::alltoallw:
      t.sent = sum(1, n);
      t.received = sum(1 + n, n);
      break;
    case OpKind::reduce_scatter:
      t = {bytes, me < list.size() ? times_bytes(n, static_cast<std::uint64_t>(list[me])) : 0};
      break;
    case OpKind::scan:
      t = {times_bytes(n - me, bytes), times_bytes(me + 1, bytes)};
      break;
    case OpKind::exscan:
      t = {times_bytes(n - me - 1, bytes), times_bytes(me, bytes)};
      break;
    default:
      t = {times_bytes(n, bytes), times_bytes(n, bytes)};
      break;
  }
  if (std::max(t.sent, t.received) > kMostBytes)
    return cannot(op, index, "the sum over the communicator is beyond 2^60 bytes");
  return t;
}

Result<void> RankExporter::collective(const Op& op, std::span<const std::int64_t> list, std::uint64_t index,
                                      std::int64_t begin, std::int64_t end) {
  if (is_neighbor(op.kind)) return cannot(op, index, "it has no record of neighbours");
  WEFT_ASSIGN(const Totals t, totals(op, list, index));
  out_.collective_begin(begin);
  out_.collective_end(end, collective_number(op.kind), op.comm.index(),
                      is_rooted(op.kind) ? rank_in(op.comm, op.peer) : ArchiveWriter::kNoRoot, t.sent,
                      t.received);
  return {};
}

void RankExporter::make_comm(const Op& op, std::int64_t begin, std::int64_t end) {
  out_.collective_begin(begin);
  if (op.kind == OpKind::comm_free)
    out_.comm_destroy(end, op.comm.index());
  else if (op.amount >= 0)
    out_.comm_create(end, static_cast<std::uint32_t>(op.amount));
  out_.collective_end(
      end,
      op.kind == OpKind::comm_free ? OTF2_COLLECTIVE_OP_DESTROY_HANDLE : OTF2_COLLECTIVE_OP_CREATE_HANDLE,
      op.comm.index(), ArchiveWriter::kNoRoot, 0, 0);
}

// --- accelerators ---

std::string kernel_name(Kernel kernel) { return std::string(kKernelNames[static_cast<std::size_t>(kernel)]); }

void RankExporter::stretch(const std::string& name, std::int64_t begin, std::int64_t end) {
  const std::uint32_t region = out_.named(trace_, name);
  out_.enter(begin, region);
  out_.leave(end, region);
}

Result<void> RankExporter::launch(const Op& op, std::span<const std::int64_t> list, std::uint64_t index,
                                  std::int64_t begin, std::int64_t end) {
  if (!matches_) return cannot(op, index, "a trace does not say when accelerators worked, a replay does");
  if (op.request != kNoRequest) requests_.post(op, index);
  stretch("launch " + kernel_name(static_cast<Kernel>(list[0])), begin, end);
  return {};
}

// --- all ---

Result<void> RankExporter::write(const Op& op, std::span<const std::int64_t> list, std::uint64_t index,
                                 std::int64_t begin, std::int64_t end) {
  if (op.kind == OpKind::region_begin) {
    out_.enter(begin, region_of(op.amount));
    return {};
  }
  if (op.kind == OpKind::region_end) {
    out_.leave(end, region_of(op.amount));
    return {};
  }
  if (op.kind >= OpKind::task_compute)
    return cannot(op, index,
                  "its ranks are lines of calls, and tasks run side by side; weft import --one-order makes "
                  "lines of a GOAL schedule, if it has some");
  if (op.kind == OpKind::exchange_series)
    return cannot(op, index, "it stands for many kernels and exchanges");
  // Both halves of a sendrecv are one region.
  if (in_sendrecv_ && (op.flags & kPairedRecv) == 0) {
    out_.leave(begin, region_of(OpKind::sendrecv));
    in_sendrecv_ = false;
  }
  if (op.kind == OpKind::launch) return launch(op, list, index, begin, end);
  if (op.kind == OpKind::wait) {
    if (const RequestBook::Entry* e = requests_.find(op.request);
        e != nullptr && e->op.kind == OpKind::launch) {
      stretch(std::string(kAcceleratorWait), begin, end);
      requests_.complete(op.request);
      return {};
    }
  }
  if ((is_send(op.kind) || is_send_init(op.kind)) && op.peer >= 0) WEFT_TRY(in_range(op, op.amount, index));
  if (op.kind == OpKind::finalize) WEFT_TRY(wait_for_what_is_left(begin));
  if (!in_sendrecv_) out_.enter(begin, region_of(op.kind));
  const bool second_half = in_sendrecv_;
  in_sendrecv_ = op.kind == OpKind::sendrecv;
  if (is_blocking_send(op.kind) || op.kind == OpKind::sendrecv) {
    WEFT_TRY(send(op, begin));
  } else if (op.kind == OpKind::recv) {
    WEFT_TRY(receive(op, list, index, end));
  } else if (makes_request(op.kind)) {
    WEFT_TRY(post(op, list, index, begin));
  } else if (is_completion(op.kind)) {
    WEFT_TRY(complete(op, list, index, end));
  } else if (is_collective(op.kind)) {
    WEFT_TRY(collective(op, list, index, begin, end));
  } else if (is_comm_create(op.kind) || op.kind == OpKind::comm_free) {
    make_comm(op, begin, end);
  } else if (op.kind == OpKind::start) {
    start(op.request, list, index, begin);
  } else if (op.kind == OpKind::startall) {
    for (const std::int64_t slot : list) start(static_cast<std::uint32_t>(slot), {}, index, begin);
  } else if (op.kind == OpKind::request_free) {
    free(op.request);
  } else if (op.kind == OpKind::cancel) {
    posted_[op.request].cancelled = true;
  }
  if (!in_sendrecv_) out_.leave(end, region_of(second_half ? OpKind::sendrecv : op.kind));
  return {};
}

}  // namespace weft::traces::otf2
