// Which call is what, collectives and communicators: translator.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "traces/formats/liballprof/translator.hpp"

namespace weft::traces::allprof {
namespace {

constexpr std::int64_t kMostSum = std::int64_t{1} << 62;

}  // namespace

#define WEFT_AT(call, name) arg_of<k##call, name>

bool Translator::dispatch(OpBlock& out) {
  switch (line_->cls) {
    case CallClass::rma:
    case CallClass::io:
    case CallClass::dynamic:
      ++losses_.calls[{line_->cls == CallClass::rma  ? Left::rma
                       : line_->cls == CallClass::io ? Left::io
                                                     : Left::dynamic,
                       std::string(line_->name)}];
      return true;
    case CallClass::sizes:
      return refuse("liballprof does not record how many bytes this function moves",
                    "a recording by weft record, or with Score-P for OTF2");
    default:
      break;
  }
#define WEFT_CASE(name, what) \
  case k##name:               \
    return what
  switch (line_->call) {
    WEFT_CASE(Send, send(OpKind::send, out));
    WEFT_CASE(Bsend, send(OpKind::bsend, out));
    WEFT_CASE(Ssend, send(OpKind::ssend, out));
    WEFT_CASE(Rsend, send(OpKind::rsend, out));
    WEFT_CASE(Isend, send(OpKind::isend, out));
    WEFT_CASE(Ibsend, send(OpKind::ibsend, out));
    WEFT_CASE(Issend, send(OpKind::issend, out));
    WEFT_CASE(Irsend, send(OpKind::irsend, out));
    WEFT_CASE(Send_init, send(OpKind::send_init, out));
    WEFT_CASE(Bsend_init, send(OpKind::bsend_init, out));
    WEFT_CASE(Ssend_init, send(OpKind::ssend_init, out));
    WEFT_CASE(Rsend_init, send(OpKind::rsend_init, out));
    WEFT_CASE(Recv, receive(OpKind::recv, out));
    WEFT_CASE(Irecv, receive(OpKind::irecv, out));
    WEFT_CASE(Recv_init, receive(OpKind::recv_init, out));
    WEFT_CASE(Sendrecv, sendrecv(out));
    WEFT_CASE(Sendrecv_replace, sendrecv(out));
    WEFT_CASE(Probe, probe(out));
    WEFT_CASE(Iprobe, probe(out));
    WEFT_CASE(Mprobe, probe(out));
    WEFT_CASE(Improbe, probe(out));
    WEFT_CASE(Mrecv, receive_probed(out));
    WEFT_CASE(Imrecv, receive_probed(out));
    WEFT_CASE(Start, start(out));
    WEFT_CASE(Startall, start(out));
    WEFT_CASE(Cancel, give_up(out));
    WEFT_CASE(Request_free, give_up(out));
    case kWait:
    case kWaitall:
      wait(out);
      return true;
    case kWaitany:
    case kWaitsome:
    case kTest:
    case kTestall:
    case kTestany:
    case kTestsome:
      unsure(out);
      return true;
    case kRequest_get_status:
      idle_poll();  // completes nothing: a later wait or test does
      return true;
    case kInit:
    case kInit_thread:
      push({.kind = OpKind::init}, out);
      return true;
    case kFinalize:
      losses_.before_finalize_ps = std::max(losses_.before_finalize_ps, gap_ps_);
      wait_for_the_rest(out);
      push({.kind = OpKind::finalize}, out);
      finalized_ = true;
      return true;
    case kComm_free:
    case kComm_disconnect:
      free_comm(out);
      return true;
    default:
      break;
  }
#undef WEFT_CASE
  if (followed_.made != kNone) {
    make_comm(out);
    return line_->call != kComm_idup || post({.kind = OpKind::isend}, false, out);
  }
  return collective(out);
}

// --- collectives ---

bool Translator::list_of(std::size_t counts, std::size_t type) {
  const auto all = line_->counts_of(counts);
  if (all.size() != members_->size())
    return fail(counts,
                fmt::format("the counts are not one for each rank of communicator {}: {}",
                            comms_.all[here_.id].name, all.size()),
                std::to_string(members_->size()));
  for (const std::int64_t count : all) {
    std::int64_t bytes = 0;
    if (!bytes_of(count, value(type), counts, bytes)) return false;
    list_.push_back(bytes);
  }
  return true;
}

// `list`: list_ is its list.
bool Translator::push_collective(OpKind kind, Op op, bool list, OpBlock& out) {
  op.kind = kind;
  if (is_nonblocking_collective(kind)) return post(op, true, out);
  if (list) op.extra = out.add_list(list_);
  push(op, out);
  return true;
}

// Of two sizes that MPI wants to be the same, the one that MPI_IN_PLACE leaves alone is taken.
bool Translator::collective(OpBlock& out) {
  if (!heard()) {
    const auto posting = posting_of(line_->call);
    return !posting || post({.kind = OpKind::ibarrier}, false, out);
  }
  Op op{.comm = CommId(here_.id), .peer = kAnySource};
  list_.clear();
  const auto size = [&](std::size_t count, std::size_t type) {
    return bytes_of(value(count), value(type), count, op.amount);
  };
  const auto is_root = [&](std::size_t root) { return value(root) == here_.rank; };
  const auto sum = [&](std::size_t arg, std::size_t first, std::size_t n) {
    for (std::size_t i = first; i < first + n; ++i) {
      op.amount += list_[i];
      if (op.amount > kMostSum) return fail(arg, "the messages are too large", "at most 2^62 bytes");
    }
    return true;
  };
#define WEFT_VECTOR(call, kind)                                       \
  case k##call:                                                       \
    return size(WEFT_AT(call, "count"), WEFT_AT(call, "datatype")) && \
           push_collective(OpKind::kind, op, false, out)
#define WEFT_ROOTED(call, kind)                                                                             \
  case k##call:                                                                                             \
    return root_of(WEFT_AT(call, "root"), op) && size(WEFT_AT(call, "count"), WEFT_AT(call, "datatype")) && \
           push_collective(OpKind::kind, op, false, out)
#define WEFT_GATHER(call, kind)                                                                              \
  case k##call:                                                                                              \
    return root_of(WEFT_AT(call, "root"), op) &&                                                             \
           (is_root(WEFT_AT(call, "root")) ? size(WEFT_AT(call, "recvcount"), WEFT_AT(call, "recvtype"))     \
                                           : size(WEFT_AT(call, "sendcount"), WEFT_AT(call, "sendtype"))) && \
           push_collective(OpKind::kind, op, false, out)
#define WEFT_SCATTER(call, kind)                                                                             \
  case k##call:                                                                                              \
    return root_of(WEFT_AT(call, "root"), op) &&                                                             \
           (is_root(WEFT_AT(call, "root")) ? size(WEFT_AT(call, "sendcount"), WEFT_AT(call, "sendtype"))     \
                                           : size(WEFT_AT(call, "recvcount"), WEFT_AT(call, "recvtype"))) && \
           push_collective(OpKind::kind, op, false, out)
#define WEFT_RECEIVED(call, kind, type)                             \
  case k##call:                                                     \
    return size(WEFT_AT(call, "recvcount"), WEFT_AT(call, type)) && \
           push_collective(OpKind::kind, op, false, out)
  if (kLayouts[line_->call].lists > 0 && !line_->has_counts)
    return refuse("the line has no counts: this recorder wrote their address only",
                  "a recorder whose mpi_header.h has them as pointers, or weft record");
  switch (line_->call) {
    case kBarrier:
      return push_collective(OpKind::barrier, op, false, out);
    case kIbarrier:
      return push_collective(OpKind::ibarrier, op, false, out);
      WEFT_ROOTED(Bcast, bcast);
      WEFT_ROOTED(Ibcast, ibcast);
      WEFT_ROOTED(Reduce, reduce);
      WEFT_ROOTED(Ireduce, ireduce);
      WEFT_VECTOR(Allreduce, allreduce);
      WEFT_VECTOR(Iallreduce, iallreduce);
      WEFT_VECTOR(Scan, scan);
      WEFT_VECTOR(Iscan, iscan);
      WEFT_VECTOR(Exscan, exscan);
      WEFT_VECTOR(Iexscan, iexscan);
      WEFT_GATHER(Gather, gather);
      WEFT_GATHER(Igather, igather);
      WEFT_SCATTER(Scatter, scatter);
      WEFT_SCATTER(Iscatter, iscatter);
      WEFT_RECEIVED(Allgather, allgather, "recvtype");
      WEFT_RECEIVED(Iallgather, iallgather, "recvtype");
      WEFT_RECEIVED(Alltoall, alltoall, "recvtype");
      WEFT_RECEIVED(Ialltoall, ialltoall, "recvtype");
      WEFT_RECEIVED(Reduce_scatter_block, reduce_scatter_block, "datatype");
      WEFT_RECEIVED(Ireduce_scatter_block, ireduce_scatter_block, "datatype");
    case kGatherv: {
      // Counts of others than the root may be anything.
      if (!root_of(WEFT_AT(Gatherv, "root"), op)) return false;
      if (!is_root(WEFT_AT(Gatherv, "root")))
        return size(WEFT_AT(Gatherv, "sendcount"), WEFT_AT(Gatherv, "sendtype")) &&
               push_collective(OpKind::gatherv, op, false, out);
      if (!list_of(WEFT_AT(Gatherv, "recvcounts"), WEFT_AT(Gatherv, "recvtype"))) return false;
      op.amount = list_[static_cast<std::size_t>(here_.rank)];
      return push_collective(OpKind::gatherv, op, true, out);
    }
    case kScatterv: {
      if (!root_of(WEFT_AT(Scatterv, "root"), op)) return false;
      if (!is_root(WEFT_AT(Scatterv, "root")))
        return size(WEFT_AT(Scatterv, "recvcount"), WEFT_AT(Scatterv, "recvtype")) &&
               push_collective(OpKind::scatterv, op, false, out);
      if (!list_of(WEFT_AT(Scatterv, "sendcounts"), WEFT_AT(Scatterv, "sendtype"))) return false;
      op.amount = list_[static_cast<std::size_t>(here_.rank)];
      return push_collective(OpKind::scatterv, op, true, out);
    }
    case kAllgatherv:
      if (!list_of(WEFT_AT(Allgatherv, "recvcounts"), WEFT_AT(Allgatherv, "recvtype"))) return false;
      op.amount = list_[static_cast<std::size_t>(here_.rank)];
      return push_collective(OpKind::allgatherv, op, true, out);
    case kReduce_scatter:
      return list_of(WEFT_AT(Reduce_scatter, "recvcounts"), WEFT_AT(Reduce_scatter, "datatype")) &&
             sum(WEFT_AT(Reduce_scatter, "recvcounts"), 0, list_.size()) &&
             push_collective(OpKind::reduce_scatter, op, true, out);
    case kAlltoallv: {
      const std::int64_t buffer = value(WEFT_AT(Alltoallv, "sendbuf"));
      const bool in_place = buffer == (is_mpich_comm(line_->arg[WEFT_AT(Alltoallv, "comm")].bits()) ? -1 : 1);
      const std::size_t n = members_->size();
      list_.push_back(static_cast<std::int64_t>(n));
      return (in_place ? list_of(WEFT_AT(Alltoallv, "recvcounts"), WEFT_AT(Alltoallv, "recvtype"))
                       : list_of(WEFT_AT(Alltoallv, "sendcounts"), WEFT_AT(Alltoallv, "sendtype"))) &&
             list_of(WEFT_AT(Alltoallv, "recvcounts"), WEFT_AT(Alltoallv, "recvtype")) &&
             sum(WEFT_AT(Alltoallv, "sendcounts"), 1, n) && push_collective(OpKind::alltoallv, op, true, out);
    }
    default:
      WEFT_CHECK(false, "a call of the class op is not translated");
  }
  return false;
}

// --- communicators ---

void Translator::make_comm(OpBlock& out) {
  using How = CommMade::How;
  const CommMade& made = table_.log().made[followed_.made];
  if (made.how == How::inter || made.how == How::merge) {
    ++losses_.calls[{Left::inter, std::string(line_->name)}];
    return;
  }
  if (!heard()) return;
  Op op{.kind = OpKind::comm_create, .comm = CommId(here_.id), .amount = -1};
  switch (made.how) {
    case How::dup:
      op.kind = OpKind::comm_dup;
      break;
    case How::split:
    case How::split_type:
    case How::cart_sub:
      op.kind = OpKind::comm_split;
      break;
    case How::prefix:
      if (line_->call == kCart_create) op.kind = OpKind::cart_create;
      break;
    default:
      break;
  }
  if (const std::uint32_t id = comms_.of_made[rank_][followed_.made]; id != kNone) {
    const auto& members = comms_.all[id].members;
    if (std::ranges::find(members, static_cast<std::int32_t>(rank_)) != members.end()) op.amount = id;
  }
  push(op, out);
}

void Translator::free_comm(OpBlock& out) {
  if (followed_.freed == kNone) {
    ++losses_.copied_frees;
    return;
  }
  const std::uint32_t id = comms_.of_made[rank_][followed_.freed];
  if (id != kNone) push({.kind = OpKind::comm_free, .comm = CommId(id)}, out);
}

}  // namespace weft::traces::allprof
