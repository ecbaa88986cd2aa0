#include "traces/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "traces/collective_check.hpp"
#include "traces/op_rules.hpp"
#include "traces/request_book.hpp"

namespace weft::traces {
namespace {

constexpr std::uint32_t kCurrent =
    0xffffffffu;                        // "the operation the rank stands at" instead of a request slot
constexpr std::size_t kQuantum = 256;   // operations a rank runs before the next one does
constexpr std::size_t kBacklog = 4096;  // unreceived messages of a sender before others go first

// Collects findings up to the limit, counts all.
class Findings {
 public:
  Findings(const TraceReader& trace, CheckReport& report, std::size_t limit)
      : trace_(trace), report_(report), limit_(limit) {}
  void add(Severity s, std::uint32_t rank, std::uint64_t op, std::string_view what, std::string text) {
    auto& n = s == Severity::kError ? report_.errors : report_.warnings;
    if (n++ >= limit_) return;
    report_.findings.push_back(
        {s, rank, static_cast<std::int64_t>(op),
         fmt::format("{}: rank {} {}: {}", trace_.position(RankId(rank), op), rank, what, text)});
  }
  void add_global(Severity s, std::int64_t rank, std::int64_t op, std::string text) {
    auto& n = s == Severity::kError ? report_.errors : report_.warnings;
    if (n++ >= limit_) return;
    report_.findings.push_back({s, rank, op, std::move(text)});
  }

 private:
  const TraceReader& trace_;
  CheckReport& report_;
  std::size_t limit_;
};

struct Message {
  std::int32_t tag;
  std::int64_t bytes;
  std::uint64_t op;      // index of the send in its rank's program
  std::uint32_t waiter;  // request slot, kCurrent, or kNobody: who waits for the match
  static constexpr std::uint32_t kNobody = 0xfffffffeu;
};
struct Posted {
  std::int32_t tag;  // or kAnyTag
  std::int64_t bytes;
  std::uint64_t op;
  std::uint32_t slot;  // or kCurrent
};
// Messages from one rank to another in one communicator.
struct Channel {
  std::uint32_t src;
  std::uint32_t dst;
  CommId comm;
  std::vector<Message> unexpected;  // short: a deque of each would cost a kilobyte a channel
  std::vector<Posted> posted;
};

struct Request {
  Op op;
  std::uint64_t index = 0;
  bool active = false;
  bool done = false;
  bool persistent = false;
  bool wildcard = false;       // any source: matched when it is completed
  std::uint64_t instance = 0;  // of a non-blocking collective
};

struct Rank {
  OpBlock block;
  std::size_t at = 0;  // in block
  bool ended = false;
  bool blocked = false;
  bool queued = false;
  bool issued = false;        // the operation at `at` has done its first part
  bool current_done = false;  // ... and what it waited for has come
  std::uint64_t instance = 0;
  std::size_t in_flight = 0;  // unreceived messages that it sent
  std::size_t wild_posted = 0;
  std::unordered_map<std::uint32_t, Request> requests;
  std::vector<std::uint32_t> region_stack;
  [[nodiscard]] std::uint64_t index() const { return block.first_op + at; }
};

class Doctor {
 public:
  Doctor(TraceReader& trace, Findings& findings, bool synchronous)
      : trace_(trace),
        find_(findings),
        synchronous_(synchronous),
        ranks_(trace.header().ranks),
        collectives_(trace.communicators()) {}

  Result<void> run();
  [[nodiscard]] bool deadlocked() const { return deadlocked_; }

 private:
  struct Key {
    std::uint32_t comm, src, dst;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& k) const noexcept {
      std::uint64_t h = (std::uint64_t{k.src} << 32 | k.dst) * 0x9e3779b97f4a7c15ULL;
      h = (h ^ h >> 29 ^ k.comm) * 0xbf58476d1ce4e5b9ULL;
      return h ^ h >> 32;
    }
  };

  // One operation of rank r. True if it is done, false if the rank must wait.
  bool step(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);
  bool send(std::uint32_t r, Rank& me, const Op& op);
  bool receive(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);
  bool probe(std::uint32_t r, Rank& me, const Op& op, std::int64_t source, std::int64_t tag);
  bool complete(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);
  bool collective(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);
  void post(std::uint32_t r, Rank& me, const Op& op);
  void activate(std::uint32_t r, Rank& me, Request& q, std::uint32_t slot, std::uint64_t index);
  void request_op(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list);

  Channel& channel(CommId comm, std::uint32_t src, std::uint32_t dst) {
    auto [it, fresh] =
        channel_of_.try_emplace({comm.index(), src, dst}, static_cast<std::uint32_t>(channels_.size()));
    if (fresh) channels_.push_back({src, dst, comm, {}, {}});
    return channels_[it->second];
  }
  Channel* find_channel(CommId comm, std::uint32_t src, std::uint32_t dst) {
    const auto it = channel_of_.find({comm.index(), src, dst});
    return it == channel_of_.end() ? nullptr : &channels_[it->second];
  }
  void deliver(std::uint32_t src, const Op& op, std::uint64_t index, std::uint32_t waiter);
  // Takes the first message that matches; false if there is none.
  bool take(Channel& c, std::int64_t tag, std::int64_t posted_bytes, std::uint64_t recv_index);
  bool take_from_any(std::uint32_t r, CommId comm, std::int64_t source, std::int64_t tag, std::int64_t bytes,
                     std::uint64_t index);
  void matched(const Channel& c, const Message& m, std::int64_t posted_bytes, std::uint64_t recv_index);
  void notify(std::uint32_t rank, std::uint32_t slot);
  void wake(std::uint32_t rank) {
    Rank& k = ranks_[rank];
    if (!k.blocked || k.queued) return;
    k.queued = true;
    ready_.push_back(rank);
  }
  void error(std::uint32_t r, std::uint64_t index, const Op& op, std::string text) {
    find_.add(wild_guess_ ? Severity::kWarning : Severity::kError, r, index, op_name(op.kind),
              std::move(text));
  }
  bool member(std::uint32_t r, const Op& op, std::int32_t who, const char* role, std::uint64_t index);
  void finish();
  void report_blocked();
  // One rank that `r`, which is blocked, waits for; nullopt if none that is blocked too. `what` describes the
  // wait.
  std::optional<std::uint32_t> waits_for(std::uint32_t r, std::string& what);

  TraceReader& trace_;
  Findings& find_;
  bool synchronous_;
  std::vector<Rank> ranks_;
  std::unordered_map<Key, std::uint32_t, Hash> channel_of_;
  std::deque<Channel> channels_;  // stable references, in order of first use
  CollectiveCheck collectives_;
  std::deque<std::uint32_t> ready_;
  std::deque<std::uint32_t> throttled_;
  bool wild_guess_ =
      false;  // a wildcard without a recorded match was guessed: what follows may be our guess's fault
  bool deadlocked_ = false;
};

bool Doctor::member(std::uint32_t r, const Op& op, std::int32_t who, const char* role, std::uint64_t index) {
  if (collectives_.position(op.comm, static_cast<std::uint32_t>(who)) >= 0) return true;
  error(r, index, op,
        fmt::format("{} {} is not in communicator {}", role, who,
                    trace_.communicators()[op.comm.index()].name));
  return false;
}

void Doctor::notify(std::uint32_t rank, std::uint32_t slot) {
  if (slot == Message::kNobody) return;
  Rank& k = ranks_[rank];
  if (slot == kCurrent) {
    k.current_done = true;
  } else if (const auto it = k.requests.find(slot); it != k.requests.end()) {
    it->second.done = true;
  }
  wake(rank);
}

void Doctor::matched(const Channel& c, const Message& m, std::int64_t posted_bytes,
                     std::uint64_t recv_index) {
  if (m.bytes > posted_bytes)
    find_.add(wild_guess_ ? Severity::kWarning : Severity::kError, c.dst, recv_index, "receive",
              fmt::format("posted {} bytes, but the message of rank {} with tag {} has {} ({})", posted_bytes,
                          c.src, m.tag, m.bytes, trace_.position(RankId(c.src), m.op)));
  --ranks_[c.src].in_flight;
  notify(c.src, m.waiter);
}

void Doctor::deliver(std::uint32_t src, const Op& op, std::uint64_t index, std::uint32_t waiter) {
  const auto dst = static_cast<std::uint32_t>(op.peer);
  Channel& c = channel(op.comm, src, dst);
  const Message m{op.tag, op.amount, index, waiter};
  ++ranks_[src].in_flight;
  const auto it =
      std::ranges::find_if(c.posted, [&](const Posted& p) { return p.tag == kAnyTag || p.tag == op.tag; });
  if (it != c.posted.end()) {
    const Posted p = *it;
    c.posted.erase(it);
    matched(c, m, p.bytes, p.op);
    notify(dst, p.slot);
    return;
  }
  c.unexpected.push_back(m);
  // A receive from any source is matched when it is completed; a synchronous sender sees it as soon as it is
  // posted.
  if (waiter != Message::kNobody && ranks_[dst].wild_posted > 0) {
    c.unexpected.back().waiter = Message::kNobody;
    notify(src, waiter);
  }
  wake(dst);
}

bool Doctor::take(Channel& c, std::int64_t tag, std::int64_t posted_bytes, std::uint64_t recv_index) {
  const auto it =
      std::ranges::find_if(c.unexpected, [&](const Message& m) { return tag == kAnyTag || m.tag == tag; });
  if (it == c.unexpected.end()) return false;
  const Message m = *it;
  c.unexpected.erase(it);
  matched(c, m, posted_bytes, recv_index);
  return true;
}

bool Doctor::take_from_any(std::uint32_t r, CommId comm, std::int64_t source, std::int64_t tag,
                           std::int64_t bytes, std::uint64_t index) {
  if (source >= 0) {
    Channel* c = find_channel(comm, static_cast<std::uint32_t>(source), r);
    return c != nullptr && take(*c, tag, bytes, index);
  }
  for (const std::int32_t s : trace_.communicators()[comm.index()].members)
    if (Channel* c = find_channel(comm, static_cast<std::uint32_t>(s), r); c != nullptr) {
      // Set first: a message too large for the receive is our guess's fault, too.
      const bool before = std::exchange(wild_guess_, true);
      if (take(*c, tag, bytes, index)) return true;
      wild_guess_ = before;
    }
  return false;
}

bool Doctor::send(std::uint32_t r, Rank& me, const Op& op) {
  if (op.peer == kProcNull) return true;
  if (!me.issued) {
    if (!member(r, op, op.peer, "destination", me.index())) return true;
    const bool waits =
        op.kind == OpKind::ssend || (synchronous_ && (op.kind == OpKind::send || op.kind == OpKind::rsend));
    me.issued = true;
    me.current_done = !waits;
    deliver(r, op, me.index(), waits ? kCurrent : Message::kNobody);
  }
  return me.current_done;
}

bool Doctor::receive(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  if (op.peer == kProcNull) return true;
  if (op.peer == kAnySource) {
    if (!me.issued) {
      me.issued = true;
      ++me.wild_posted;
    }
    const bool known = !list.empty();
    if (!take_from_any(r, op.comm, known ? list[0] : kAnySource, known ? list[1] : op.tag, op.amount,
                       me.index()))
      return false;
    --me.wild_posted;
    return true;
  }
  if (!me.issued) {
    if (!member(r, op, op.peer, "source", me.index())) return true;
    me.issued = true;
    Channel& c = channel(op.comm, static_cast<std::uint32_t>(op.peer), r);
    me.current_done = take(c, op.tag, op.amount, me.index());
    if (!me.current_done) c.posted.push_back({op.tag, op.amount, me.index(), kCurrent});
  }
  return me.current_done;
}

bool Doctor::probe(std::uint32_t r, Rank& me, const Op& op, std::int64_t source, std::int64_t tag) {
  if (source == kProcNull) return true;
  const auto there = [&](std::int64_t s) {
    const Channel* c = find_channel(op.comm, static_cast<std::uint32_t>(s), r);
    return c != nullptr && std::ranges::any_of(c->unexpected, [&](const Message& m) {
             return tag == kAnyTag || m.tag == tag;
           });
  };
  me.issued = true;
  if (source >= 0) return there(source);
  return std::ranges::any_of(trace_.communicators()[op.comm.index()].members, there);
}

void Doctor::activate(std::uint32_t r, Rank& me, Request& q, std::uint32_t slot, std::uint64_t index) {
  const Op& op = q.op;
  q.active = true;
  q.index = index;
  q.done = false;
  q.wildcard = false;
  if (op.peer == kProcNull) {
    q.done = true;
  } else if (is_receive_request(op.kind)) {
    if (op.peer == kAnySource) {
      q.wildcard = true;
      ++me.wild_posted;
      return;
    }
    q.done = !member(r, op, op.peer, "source", index);
    if (q.done) return;
    Channel& c = channel(op.comm, static_cast<std::uint32_t>(op.peer), r);
    q.done = take(c, op.tag, op.amount, index);
    if (!q.done) c.posted.push_back({op.tag, op.amount, index, slot});
  } else {
    q.done = !member(r, op, op.peer, "destination", index);
    if (q.done) return;
    const bool sync = op.kind == OpKind::issend || op.kind == OpKind::ssend_init;
    const bool buffered = op.kind == OpKind::ibsend || op.kind == OpKind::bsend_init;
    const bool waits = sync || (synchronous_ && !buffered);
    q.done = !waits;
    deliver(r, op, index, waits ? slot : Message::kNobody);
  }
}

void Doctor::post(std::uint32_t r, Rank& me, const Op& op) {
  auto& q = me.requests[op.request];
  if (q.active) {
    error(r, me.index(), op,
          fmt::format("request {} is still in use by the {} at operation {}", op.request, op_name(q.op.kind),
                      q.index));
    if (q.wildcard) --me.wild_posted;
  }
  q = Request{.op = op, .index = me.index()};
  q.persistent = op.kind >= OpKind::send_init && op.kind <= OpKind::recv_init;
  if (!q.persistent) activate(r, me, q, op.request, me.index());
}

void Doctor::request_op(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  const auto start = [&](std::uint32_t slot) {
    const auto it = me.requests.find(slot);
    if (it == me.requests.end() || !it->second.persistent)
      return error(r, me.index(), op, fmt::format("request {} is not a persistent request", slot));
    if (it->second.active)
      return error(r, me.index(), op, fmt::format("request {} is started already", slot));
    activate(r, me, it->second, slot, me.index());
  };
  if (op.kind == OpKind::start) return start(op.request);
  if (op.kind == OpKind::startall) {
    for (const std::int64_t s : list) start(static_cast<std::uint32_t>(s));
    return;
  }
  const auto it = me.requests.find(op.request);
  if (it == me.requests.end())
    return error(r, me.index(), op, fmt::format("request {} does not exist", op.request));
  Request& q = it->second;
  if (op.kind == OpKind::cancel) {
    if (q.active && !q.done && is_receive_request(q.op.kind) && !q.wildcard) {
      Channel& c = channel(q.op.comm, static_cast<std::uint32_t>(q.op.peer), r);
      std::erase_if(c.posted, [&](const Posted& p) { return p.slot == op.request; });
    }
    q.done = true;
    return;
  }
  if (q.wildcard && q.active) --me.wild_posted;
  // A freed receive stays posted (MPI completes it in the background); nobody waits for it any more.
  if (q.active && !q.done && q.op.peer >= 0)
    if (Channel* c = find_channel(q.op.comm, static_cast<std::uint32_t>(q.op.peer), r);
        c != nullptr && is_receive_request(q.op.kind))
      for (Posted& p : c->posted)
        if (p.slot == op.request) p.slot = Message::kNobody;
  me.requests.erase(it);
}

bool Doctor::complete(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  std::int64_t one = 0;
  const auto slots = completed_requests(op, list, one);
  bool all = true;
  for (const std::int64_t s : slots) {
    const auto it = me.requests.find(static_cast<std::uint32_t>(s));
    if (it == me.requests.end()) {
      if (!me.issued) error(r, me.index(), op, fmt::format("request {} is not active", s));
      continue;
    }
    Request& q = it->second;
    if (!q.active || q.done) continue;
    if (is_nonblocking_collective(q.op.kind)) {
      q.done = collectives_.may_leave(q.op, r, q.instance, synchronous_);
    } else if (q.wildcard) {
      const bool known = (op.kind == OpKind::wait || op.kind == OpKind::test) && op.peer >= 0;
      q.done = take_from_any(r, q.op.comm, known ? op.peer : kAnySource, known ? op.tag : q.op.tag,
                             q.op.amount, q.index);
    }
    all = all && q.done;
  }
  me.issued = true;
  if (!all) return false;
  for (const std::int64_t s : slots) {
    const auto it = me.requests.find(static_cast<std::uint32_t>(s));
    if (it == me.requests.end()) continue;
    Request& q = it->second;
    if (q.wildcard && q.active) --me.wild_posted;
    q.active = q.wildcard = false;
    if (!q.persistent) me.requests.erase(it);
  }
  return true;
}

bool Doctor::collective(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  if (!me.issued) {
    // comm_create_group is collective over the members of the new communicator only.
    Op on = op;
    if (op.kind == OpKind::comm_create_group) {
      if (op.amount < 0) return true;
      on.comm = CommId(static_cast<std::uint32_t>(op.amount));
    }
    if (!member(r, on, static_cast<std::int32_t>(r), "rank", me.index())) return true;
    if (is_rooted(op.kind) && !member(r, on, op.peer, "root", me.index())) return true;
    me.issued = true;
    const auto arrival = collectives_.arrive(on, r, me.index(), list);
    me.instance = arrival.instance;
    for (const auto& f : arrival.faults)
      error(r, me.index(), op,
            fmt::format("{} ({})", f.text, trace_.position(RankId(f.other_rank), f.other_op)));
    if (is_nonblocking_collective(op.kind)) {
      auto& q = me.requests[op.request];
      if (q.active) error(r, me.index(), op, fmt::format("request {} is still in use", op.request));
      q = Request{.op = on, .index = me.index(), .active = true, .instance = arrival.instance};
    }
    for (const std::int32_t m : trace_.communicators()[on.comm.index()].members)
      if (arrival.wakes) wake(static_cast<std::uint32_t>(m));
  }
  if (is_nonblocking_collective(op.kind)) return true;
  Op on = op;
  if (op.kind == OpKind::comm_create_group) on.comm = CommId(static_cast<std::uint32_t>(op.amount));
  return collectives_.may_leave(on, r, me.instance, synchronous_);
}

bool Doctor::step(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  const OpKind k = op.kind;
  if (op.comm.index() != 0 && !me.issued && k >= OpKind::send && k <= OpKind::comm_free &&
      (is_send(k) || k == OpKind::recv || makes_request(k)) &&
      !member(r, op, static_cast<std::int32_t>(r), "rank", me.index()))
    return true;
  if (k == OpKind::sendrecv) {  // its send never waits here: the receive half may be what lets it go
    if (op.peer != kProcNull && member(r, op, op.peer, "destination", me.index()))
      deliver(r, op, me.index(), Message::kNobody);
    return true;
  }
  if (is_blocking_send(k)) return send(r, me, op);
  if (k == OpKind::recv) return receive(r, me, op, list);
  if (is_collective(k) || is_comm_create(k)) return collective(r, me, op, list);
  if (makes_request(k)) {
    post(r, me, op);
    return true;
  }
  if (is_completion(k)) return complete(r, me, op, list);
  if (k == OpKind::iprobe || k == OpKind::improbe)
    return (op.flags & kHit) == 0 || probe(r, me, op, list[2], list[3]);
  if (k == OpKind::probe || k == OpKind::mprobe) {
    const bool known = !list.empty();
    return probe(r, me, op, known ? list[0] : op.peer, known ? list[1] : op.tag);
  }
  if (k == OpKind::start || k == OpKind::startall || k == OpKind::request_free || k == OpKind::cancel) {
    request_op(r, me, op, list);
  } else if (k == OpKind::region_begin) {
    me.region_stack.push_back(static_cast<std::uint32_t>(op.amount));
  } else if (k == OpKind::region_end) {
    if (me.region_stack.empty() || me.region_stack.back() != static_cast<std::uint32_t>(op.amount))
      find_.add(Severity::kWarning, r, me.index(), "region_end",
                fmt::format("region {} is not the one that was begun last",
                            trace_.regions()[static_cast<std::size_t>(op.amount)]));
    else
      me.region_stack.pop_back();
  }
  return true;
}

Result<void> Doctor::run() {
  trace_.rewind();
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    ready_.push_back(r);
    ranks_[r].queued = true;
  }
  while (!ready_.empty() || !throttled_.empty()) {
    auto& queue = ready_.empty() ? throttled_ : ready_;
    const std::uint32_t r = queue.front();
    queue.pop_front();
    Rank& me = ranks_[r];
    me.queued = false;
    me.blocked = false;
    for (std::size_t n = 0; n < kQuantum && !me.ended && !me.blocked; ++n) {
      if (me.at == me.block.ops.size()) {
        WEFT_ASSIGN(const bool more, trace_.next_block(RankId(r), me.block));
        me.at = 0;
        if (!more) {
          me.ended = true;
          me.block = {};
          break;
        }
      }
      const Op& op = me.block.ops[me.at];
      if (step(r, me, op, me.block.list(op))) {
        me.issued = me.current_done = false;
        ++me.at;
      } else {
        me.blocked = true;
      }
    }
    if (!me.ended && !me.blocked) {
      me.queued = true;
      (me.in_flight > kBacklog ? throttled_ : ready_).push_back(r);
    }
  }
  finish();
  return {};
}

std::optional<std::uint32_t> Doctor::waits_for(std::uint32_t r, std::string& what) {
  const Rank& me = ranks_[r];
  const Op* op = &me.block.ops[me.at];
  const auto list = me.block.list(*op);
  const auto stuck = [&](std::int64_t x) {
    return x >= 0 && x < static_cast<std::int64_t>(ranks_.size()) &&
           ranks_[static_cast<std::size_t>(x)].blocked;
  };
  const auto any_of = [&](CommId comm) -> std::optional<std::uint32_t> {
    for (const std::int32_t m : trace_.communicators()[comm.index()].members)
      if (static_cast<std::uint32_t>(m) != r && stuck(m)) return static_cast<std::uint32_t>(m);
    return std::nullopt;
  };
  const auto peer_text = [](std::int64_t p) {
    return p < 0 ? std::string("any rank") : fmt::format("rank {}", p);
  };
  const auto tag_text = [](std::int64_t t) {
    return t == kAnyTag ? std::string("any tag") : fmt::format("tag {}", t);
  };
  std::string prefix(op_name(op->kind));
  std::uint64_t instance = me.instance;
  Op on = *op;
  if (op->kind == OpKind::comm_create_group) on.comm = CommId(static_cast<std::uint32_t>(op->amount));
  if (is_completion(op->kind)) {
    std::int64_t one = 0;
    for (const std::int64_t s : completed_requests(*op, list, one)) {
      const auto it = me.requests.find(static_cast<std::uint32_t>(s));
      if (it == me.requests.end() || !it->second.active || it->second.done) continue;
      if (it->second.wildcard && op->peer >= 0 && op->kind == OpKind::wait)
        on.peer = op->peer;
      else
        on = it->second.op;
      on.kind = it->second.op.kind;
      instance = it->second.instance;
      prefix += fmt::format(" of the {} at operation {}", op_name(on.kind), it->second.index);
      break;
    }
  }
  if (is_collective(on.kind) || is_comm_create(on.kind)) {
    what = fmt::format("{} on {}", prefix, trace_.communicators()[on.comm.index()].name);
    for (const std::uint32_t m : collectives_.missing(on, r, instance, synchronous_)) {
      what += fmt::format(" waits for rank {}", m);
      if (stuck(m)) return m;
      return std::nullopt;
    }
    return std::nullopt;
  }
  if (is_send(on.kind) || is_send_request(on.kind)) {
    what =
        fmt::format("{} to {} with {} ({} bytes)", prefix, peer_text(on.peer), tag_text(on.tag), on.amount);
  } else {
    std::int64_t source = on.peer;
    std::int64_t tag = on.tag;
    if (on.kind == OpKind::iprobe || on.kind == OpKind::improbe) {
      source = list[2];
      tag = list[3];
    } else if (!is_completion(op->kind) && !list.empty()) {
      source = list[0];
      tag = list[1];
    }
    what = fmt::format("{} from {} with {}", prefix, peer_text(source), tag_text(tag));
    if (source < 0) return any_of(on.comm);
    on.peer = static_cast<std::int32_t>(source);
  }
  if (stuck(on.peer)) return static_cast<std::uint32_t>(on.peer);
  return std::nullopt;
}

void Doctor::report_blocked() {
  const auto n = static_cast<std::uint32_t>(ranks_.size());
  std::vector<std::optional<std::uint32_t>> next(n);
  std::vector<std::string> what(n);
  for (std::uint32_t r = 0; r < n; ++r)
    if (ranks_[r].blocked) next[r] = waits_for(r, what[r]);
  const auto here = [&](std::uint32_t r) {
    return fmt::format("rank {} at operation {} ({}): {}", r, ranks_[r].index(),
                       trace_.position(RankId(r), ranks_[r].index()), what[r]);
  };
  const Severity severity = synchronous_ || wild_guess_ ? Severity::kWarning : Severity::kError;
  std::vector<std::uint32_t> seen(n, 0);  // the walk that saw it
  std::uint32_t walk = 0;
  std::uint64_t others = 0;
  for (std::uint32_t start = 0; start < n; ++start) {
    if (!ranks_[start].blocked) continue;
    if (!next[start] && !synchronous_) {
      find_.add_global(
          severity, start, static_cast<std::int64_t>(ranks_[start].index()),
          here(start) + " waits for ever: what it waits for never comes, the other side has finished");
      continue;
    }
    if (seen[start] != 0) continue;
    ++walk;
    std::uint32_t r = start;
    while (seen[r] == 0 && next[r]) {
      seen[r] = walk;
      r = *next[r];
    }
    if (seen[r] != walk || !next[r]) {
      ++others;
      continue;
    }
    std::string text =
        synchronous_ ? "depends on buffering: with synchronous sends this is a deadlock: " : "deadlock: ";
    const std::uint32_t first = r;
    do {
      text += here(r);
      r = *next[r];
      text += fmt::format(", waits for rank {}{}", r, r == first ? "" : "; ");
    } while (r != first);
    find_.add_global(severity, first, static_cast<std::int64_t>(ranks_[first].index()), std::move(text));
  }
}

void Doctor::finish() {
  const bool stuck = std::ranges::any_of(ranks_, [](const Rank& r) { return r.blocked; });
  deadlocked_ = stuck;
  if (stuck) report_blocked();
  if (synchronous_) return;  // everything below was found with buffered sends
  for (const Channel& c : channels_) {
    // In a deadlock the receiver may only not have come that far; what a finished rank left is unmatched for
    // certain.
    if (!ranks_[c.dst].ended) continue;
    for (const Message& m : c.unexpected)
      find_.add(wild_guess_ ? Severity::kWarning : Severity::kError, c.src, m.op, "send",
                fmt::format("rank {} never receives this message (tag {}, {} bytes, communicator {})", c.dst,
                            m.tag, m.bytes, trace_.communicators()[c.comm.index()].name));
    if (!ranks_[c.src].ended) continue;
    for (const Posted& p : c.posted)
      if (p.slot != kCurrent)
        find_.add(wild_guess_ ? Severity::kWarning : Severity::kError, c.dst, p.op, "receive",
                  fmt::format("rank {} never sends a message with {} for it", c.src,
                              p.tag == kAnyTag ? "any tag" : fmt::format("tag {}", p.tag)));
  }
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    const Rank& me = ranks_[r];
    if (!me.ended) continue;
    std::map<std::uint64_t, const Request*> left;  // by operation
    for (const auto& [slot, q] : me.requests)
      if (q.active) left.emplace(q.index, &q);
    if (left.empty()) continue;
    const Request& q = *left.begin()->second;
    find_.add(Severity::kWarning, r, q.index, op_name(q.op.kind),
              left.size() == 1
                  ? std::string("its request is never completed")
                  : fmt::format("its request and {} more of this rank are never completed", left.size() - 1));
  }
  if (!stuck)
    for (const auto& f : collectives_.unfinished())
      find_.add(Severity::kError, f.other_rank, f.other_op, "collective", f.text);
}

}  // namespace

Result<CheckReport> check_trace(TraceReader& trace, const CheckOptions& options) {
  CheckReport report;
  Findings findings(trace, report, options.max_findings);
  {
    Doctor buffered(trace, findings, false);
    WEFT_TRY(buffered.run());
  }
  // A program with errors would only repeat them.
  if (options.synchronous && report.errors == 0) {
    CheckReport again;
    Findings second(trace, again, options.max_findings);
    Doctor synchronous(trace, second, true);
    WEFT_TRY(synchronous.run());
    if (synchronous.deadlocked()) {
      for (auto& f : again.findings)
        if (f.message.starts_with("depends on buffering")) {
          ++report.warnings;
          report.findings.push_back(std::move(f));
        }
    }
  }
  std::ranges::stable_sort(report.findings, [](const Finding& a, const Finding& b) {
    return std::tuple(a.severity, a.rank, a.op) < std::tuple(b.severity, b.rank, b.op);
  });
  trace.rewind();
  return report;
}

}  // namespace weft::traces
