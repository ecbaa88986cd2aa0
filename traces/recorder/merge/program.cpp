#include "traces/recorder/merge/program.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "traces/conditional_steps.hpp"
#include "traces/recorded_time.hpp"
#include "traces/recorder/merge/merge.hpp"
#include "traces/request_book.hpp"

namespace weft::recorder {

using traces::Op;
using traces::OpKind;

namespace {

class Translator {
 public:
  // `first_slot`: request slots from here on are free for the blocking calls that are written as a start and a wait.
  Translator(RankProgram& out, const RankContext& context, std::uint32_t first_slot)
      : out_(out), comms_(context.comms), overlaps_(context.overlaps), first_slot_(first_slot) {
    if (overlaps_ != nullptr) calls_ = overlaps_->calls[context.rank];
  }

  // Null, or what is wrong with the record.
  const char* add(const SpoolReader::Record& record) {
    const SpoolRecord& r = *record.fixed;
    at_ = record.offset;
    if (r.kind == kLeft) return left(r.thread);
    if (r.comm >= comms_.size()) return "unknown communicator";
    if (const char* fault = pause(r.gap_ns)) return fault;
    if ((r.flags & kFailed) != 0) return nullptr;
    while (!calls_.empty() && calls_.front() < record.offset) calls_ = calls_.subspan(1);
    const bool overlaps = !calls_.empty() && calls_.front() == record.offset;
    if (overlaps && waits(static_cast<OpKind>(r.kind - 1))) {
      inside_[r.thread].entered.push_back(record);
      return nullptr;
    }
    return translate(record, overlaps);
  }

  // Calls that threads are still in.
  const char* still_inside() {
    for (auto& [thread, call] : inside_)
      if (const char* fault = left(thread)) return fault;
    return nullptr;
  }

  // Once, after the last record: what was cancelled goes. O((operations + lists) x log).
  void finish() {
    if (!cancelled_.empty())
      for (std::size_t i = 0; i < out_.ops.size(); ++i) strip(out_.ops[i], i);
    std::sort(dropped_.begin(), dropped_.end());
    std::size_t to = 0;
    std::size_t next = 0;
    for (std::size_t i = 0; i < out_.ops.size(); ++i) {
      if (next < dropped_.size() && dropped_[next] == i) {
        while (next < dropped_.size() && dropped_[next] == i) ++next;
        continue;
      }
      out_.offsets[to] = out_.offsets[i];
      out_.ops[to++] = out_.ops[i];
    }
    out_.ops.resize(to);
    out_.offsets.resize(to);
  }

 private:
  // A blocking call of a thread in progress.
  struct Inside {
    std::vector<SpoolReader::Record> entered;  // to be translated where it returns
    std::vector<std::int64_t> slots;           // of what it started
  };

  // Those of them that have no start: they stand where they returned.
  [[nodiscard]] static bool waits(OpKind k) {
    return (k >= OpKind::wait && k <= OpKind::waitsome) || k == OpKind::probe || k == OpKind::mprobe ||
           traces::is_comm_create(k) || k == OpKind::comm_free;
  }

  const char* left(std::uint16_t thread) {
    const auto it = inside_.find(thread);
    if (it == inside_.end()) return nullptr;  // a call with nothing to wait for
    Inside call = std::move(it->second);
    it->second = {};
    for (const SpoolReader::Record& r : call.entered)
      if (const char* fault = translate(r, true)) return fault;
    if (call.slots.empty()) return nullptr;
    Op op;
    op.kind = OpKind::waitall;
    op.peer = traces::kAnySource;
    op.tag = traces::kAnyTag;
    set_list(op, call.slots);
    push(op);
    return nullptr;
  }

  // A blocking call becomes its start; left() waits for it.
  void split(Op& op, std::uint16_t thread) {
    const OpKind k = op.kind;
    if (traces::is_blocking_send(k)) {
      op.kind = static_cast<OpKind>(static_cast<int>(k) - static_cast<int>(OpKind::send) +
                                    static_cast<int>(OpKind::isend));
    } else if (k == OpKind::sendrecv) {
      op.kind = OpKind::isend;
    } else if (k == OpKind::recv) {
      op.kind = OpKind::irecv;
      op.flags = 0;
    } else if (traces::is_collective(k) && k < OpKind::ibarrier) {
      op.kind = static_cast<OpKind>(static_cast<int>(k) - static_cast<int>(OpKind::barrier) +
                                    static_cast<int>(OpKind::ibarrier));
    } else {
      return;
    }
    auto& slots = inside_[thread].slots;
    op.request = first_slot_ + 2 * thread + static_cast<std::uint32_t>(slots.size() % 2);
    slots.push_back(op.request);
  }

  // `overlaps`: another thread's call fell into it.
  const char* translate(const SpoolReader::Record& record, bool overlaps) {
    const SpoolRecord& r = *record.fixed;
    if ((r.flags & ~(kOpen | traces::kPairedRecv | traces::kHit)) != 0) return "unknown flags";
    Op op;
    op.kind = static_cast<OpKind>(r.kind - 1);
    op.flags = static_cast<std::uint8_t>(r.flags & ~kOpen);
    op.comm = comms_[r.comm];
    op.peer = r.peer;
    op.tag = r.tag;
    op.amount = r.amount;
    op.request = r.request == kNoSlot ? traces::kNoRequest : r.request;
    if (traces::is_completion(op.kind)) return completion(op, record.list, (r.flags & kOpen) != 0);
    if (op.kind == OpKind::startall && !record.list.empty()) {
      start_all(op, record.list);
      return nullptr;
    }
    switch (op.kind) {
      case OpKind::recv:
      case OpKind::probe:
      case OpKind::mprobe:
        if (r.source != kNoMatch) set_list(op, {r.source, r.matched_tag, r.matched_bytes});
        break;
      case OpKind::iprobe:
      case OpKind::improbe:
        if ((op.flags & traces::kHit) != 0) set_list(op, {0, 0, r.source, r.matched_tag, r.matched_bytes});
        break;
      case OpKind::comm_split:
      case OpKind::comm_dup:
      case OpKind::comm_create:
      case OpKind::comm_create_group:
      case OpKind::cart_create:
        if (r.amount >= 0) {
          if (static_cast<std::uint64_t>(r.amount) >= comms_.size()) return "unknown new communicator";
          op.amount = comms_[static_cast<std::size_t>(r.amount)].index();
        }
        break;
      default:
        if (!record.list.empty()) set_list(op, record.list);
    }
    const bool elsewhere = overlaps_ != nullptr && traces::is_collective(op.kind) &&
                           overlaps_->collectives.contains(
                               {static_cast<std::uint32_t>(op.comm.index()), numbers_.next(op.comm)});
    if (overlaps || elsewhere) split(op, r.thread);
    if (traces::is_send(op.kind) && op.peer == traces::kProcNull && op.tag < 0)
      op.tag = 0;  // any tag will do
    if (op.request != traces::kNoRequest) started(op);
    if (op.kind == OpKind::cancel) cancels_[op.request] = out_.ops.size();
    push(op);
    return elsewhere && !overlaps ? left(r.thread) : nullptr;
  }

  // Computation of `ns`, with what was too short before. All of a rank's stay below the largest time.
  const char* pause(std::int64_t ns) {
    constexpr std::int64_t kMax = INT64_MAX / 2;
    if (ns < 0 || ns > (kMax - total_ps_) / 1000) return "time out of range";
    total_ps_ += ns * 1000;
    waiting_ps_ += ns * 1000;
    if (waiting_ps_ < traces::kMinComputePs) return nullptr;
    Op op;
    op.kind = OpKind::compute_time;
    op.peer = traces::kAnySource;
    op.tag = traces::kAnyTag;
    op.amount = waiting_ps_;
    waiting_ps_ = 0;
    push(op);
    return nullptr;
  }

  struct Posted {
    std::size_t made = 0;  // the operation that made the request, and says what it asks for
    std::size_t op = 0;    // the one that posted it, of a persistent request its last start
    CommId comm{0};
    bool receive = false;
  };

  void push(const Op& op) {
    out_.ops.push_back(op);
    out_.offsets.push_back(at_);
  }
  std::uint32_t add_list(std::span<const std::int64_t> values) {
    const auto at = static_cast<std::uint32_t>(out_.lists.size());
    out_.lists.push_back(static_cast<std::int64_t>(values.size()));
    out_.lists.insert(out_.lists.end(), values.begin(), values.end());
    return at;
  }
  void set_list(Op& op, std::span<const std::int64_t> values) { op.extra = add_list(values); }
  void set_list(Op& op, std::initializer_list<std::int64_t> values) {
    op.extra = add_list(std::span(values.begin(), values.size()));
  }

  void started(const Op& op) {
    if (op.kind == OpKind::cancel || op.kind == OpKind::request_free) return;
    const std::size_t here = out_.ops.size();
    if (op.kind == OpKind::start)
      posted_[op.request].op = here;
    else
      posted_[op.request] = {here, here, op.comm, traces::is_receive_request(op.kind)};
  }

  [[nodiscard]] const Posted* find_posted(std::int64_t slot) const {
    if (!std::in_range<std::uint32_t>(slot)) return nullptr;
    const auto it = posted_.find(static_cast<std::uint32_t>(slot));
    return it == posted_.end() ? nullptr : &it->second;
  }
  // A receive that takes messages of several sources or tags.
  [[nodiscard]] bool is_open(const Posted& p) const {
    const Op& asked = out_.ops[p.made];
    return p.receive && (asked.peer == traces::kAnySource || asked.tag == traces::kAnyTag);
  }

  // Receives with wildcards get a start each, which says what they took; and a list of a trace has an end. A startall posts its
  // receives first, so these go in front, in their order.
  void start_all(const Op& op, std::span<const std::int64_t> slots) {
    std::vector<std::int64_t> part;
    const auto flush = [&] {
      if (part.empty()) return;
      Op some = op;
      set_list(some, part);
      push(some);
      part.clear();
    };
    const auto add = [&](std::int64_t slot) {
      if (part.size() == traces::kMaxListValues) flush();
      if (std::in_range<std::uint32_t>(slot)) posted_[static_cast<std::uint32_t>(slot)].op = out_.ops.size();
      part.push_back(slot);
    };
    const auto receives = [this](std::int64_t slot) {
      const Posted* const p = find_posted(slot);
      return p != nullptr && p->receive;
    };
    const auto opens = [this](std::int64_t slot) {
      const Posted* const p = find_posted(slot);
      return p != nullptr && is_open(*p);
    };
    if (slots.size() <= traces::kMaxListValues && std::ranges::none_of(slots, opens)) {
      for (const std::int64_t slot : slots) add(slot);
      return flush();
    }
    for (const std::int64_t slot : slots) {
      if (!receives(slot)) continue;
      if (!opens(slot)) {
        add(slot);
        continue;
      }
      flush();
      Op one = op;
      one.kind = OpKind::start;
      one.request = static_cast<std::uint32_t>(slot);
      one.comm = posted_[one.request].comm;
      started(one);
      push(one);
    }
    for (const std::int64_t slot : slots)
      if (!receives(slot)) add(slot);
    flush();
  }

  // What a receive matched goes to what posted it when the receive does not tell: wildcards, and shorter messages.
  void matched(const SpoolCompletion& done) {
    const Posted* const p = find_posted(done.slot);
    if (p == nullptr || !p->receive || done.source == kNoMatch) return;
    Op& op = out_.ops[p->op];
    if ((op.kind != OpKind::irecv && op.kind != OpKind::start) || op.extra != traces::kNoList) return;
    if (is_open(*p) || out_.ops[p->made].amount != done.bytes)
      set_list(op, {done.source, done.tag, done.bytes});
  }

  // A cancelled receive took part in nothing: its operations go, so that a replay never waits for it.
  void drop_cancelled(std::uint32_t slot) {
    const auto posted = posted_.find(slot);
    if (posted == posted_.end()) return;
    if (out_.ops[posted->second.op].kind != OpKind::startall) dropped_.push_back(posted->second.op);
    if (const auto it = cancels_.find(slot); it != cancels_.end()) dropped_.push_back(it->second);
    cancelled_[slot].push_back({posted->second.op, out_.ops.size()});
  }
  // Slot `slot` holds a cancelled receive at operation i. A slot's stretches are found in the order of their ends, and
  // so of their beginnings: the first that ends after i is the one that may hold it.
  [[nodiscard]] bool is_cancelled(std::int64_t slot, std::size_t i) const {
    const auto at = cancelled_.find(static_cast<std::uint32_t>(slot));
    if (at == cancelled_.end()) return false;
    const auto it = std::ranges::upper_bound(at->second, i, {}, &Stretch::end);
    return it != at->second.end() && it->begin <= i;
  }
  // Takes cancelled receives out of the requests that operation i, a start or a completion of several, names.
  // O(list x log).
  void strip(const Op& op, std::size_t i) {
    if (op.kind == OpKind::startall) return strip_started(op, i);
    if (!traces::completes_some(op.kind)) return;
    const std::span<std::int64_t> list =
        std::span(out_.lists).subspan(op.extra + 1, static_cast<std::size_t>(out_.lists[op.extra]));
    const auto asked = static_cast<std::size_t>(list[0]);  // {n, n slots, completed...}
    std::size_t to = 1;
    for (std::size_t from = 1; from < list.size(); ++from)
      if (from > asked || !is_cancelled(list[from], i)) list[to++] = list[from];
    const auto gone = static_cast<std::int64_t>(list.size() - to);
    list[0] -= gone;
    out_.lists[op.extra] -= gone;
  }

  void strip_started(const Op& op, std::size_t i) {
    const std::span<std::int64_t> list =
        std::span(out_.lists).subspan(op.extra + 1, static_cast<std::size_t>(out_.lists[op.extra]));
    const auto kept =
        std::remove_if(list.begin(), list.end(), [&](std::int64_t slot) { return is_cancelled(slot, i); });
    out_.lists[op.extra] = kept - list.begin();
    if (kept == list.begin()) dropped_.push_back(i);
  }

  // More requests than a list of a trace holds complete in parts, one right after the other.
  const char* complete_all(Op op, std::span<const std::int64_t> asked) {
    do {
      const std::size_t part = std::min(asked.size(), traces::kMaxListValues);
      set_list(op, asked.first(part));
      push(op);
      asked = asked.subspan(part);
    } while (!asked.empty());
    return nullptr;
  }
  // Of the requests that did not complete a list names those that there is room for: all or none.
  const char* complete_some(Op op, std::span<const std::int64_t> asked,
                            std::span<const std::int64_t> completed) {
    const auto list = [&](std::span<const std::int64_t> of, std::span<const std::int64_t> ended) {
      std::vector<std::int64_t> all{static_cast<std::int64_t>(of.size())};
      all.insert(all.end(), of.begin(), of.end());
      all.insert(all.end(), ended.begin(), ended.end());
      set_list(op, all);
      push(op);
    };
    if (asked.size() + completed.size() < traces::kMaxListValues) {
      list(asked, completed);
      return nullptr;
    }
    do {
      const auto part = completed.first(std::min(completed.size(), (traces::kMaxListValues - 1) / 2));
      list(part, part);
      completed = completed.subspan(part.size());
    } while (!completed.empty());
    return nullptr;
  }

  // `open`: the program ended inside it.
  const char* completion(Op op, std::span<const std::int64_t> list, bool open) {
    if (list.size() < 2 || list[0] < 0 || static_cast<std::size_t>(list[0]) > list.size() - 2)
      return "a completion with a wrong list";
    std::vector<std::int64_t> asked(list.begin() + 1,
                                    list.begin() + 1 + static_cast<std::ptrdiff_t>(list[0]));
    const auto rest = list.subspan(1 + asked.size());
    const auto n = static_cast<std::size_t>(rest[0]);
    const bool of_many = asked.empty() && traces::completes_some(op.kind);
    if ((n > asked.size() && !of_many) || n > (rest.size() - 1) / 4) return "a completion with a wrong list";
    std::vector<SpoolCompletion> done(n);
    // Narrower where they go: cut to size, damage would name another slot, rank or tag.
    bool fits = std::ranges::all_of(asked, [](std::int64_t s) { return std::in_range<std::uint32_t>(s); });
    for (std::size_t i = 0; i < n; ++i) {
      done[i] = {rest[1 + 4 * i], rest[2 + 4 * i], rest[3 + 4 * i], rest[4 + 4 * i]};
      fits = fits && std::in_range<std::uint32_t>(done[i].slot) &&
             std::in_range<std::int32_t>(done[i].source) && std::in_range<std::int32_t>(done[i].tag);
    }
    if (!fits) return "a completion with a wrong list";
    std::vector<std::int64_t> gone;
    for (const SpoolCompletion& d : done) {
      if (d.source == kCancelled) {
        drop_cancelled(static_cast<std::uint32_t>(d.slot));
        gone.push_back(d.slot);
      } else {
        matched(d);
      }
    }
    if (!gone.empty()) {
      std::sort(gone.begin(), gone.end());
      std::erase_if(asked, [&](std::int64_t slot) { return std::ranges::binary_search(gone, slot); });
      std::erase_if(done, [](const SpoolCompletion& d) { return d.source == kCancelled; });
      if (done.empty()) return nullptr;  // it completed cancelled receives only
    }
    op.peer = traces::kAnySource;
    op.tag = traces::kAnyTag;
    op.amount = 0;
    std::vector<std::int64_t> completed;
    completed.reserve(done.size());
    for (const SpoolCompletion& d : done) completed.push_back(d.slot);
    switch (op.kind) {
      case OpKind::wait:
      case OpKind::test: {
        if (asked.size() != 1) return "a completion with a wrong list";
        op.request = static_cast<std::uint32_t>(asked[0]);
        const auto it = posted_.find(op.request);
        if (it != posted_.end()) op.comm = it->second.comm;
        if (!done.empty() && done[0].source != kNoMatch) {
          op.peer = static_cast<std::int32_t>(done[0].source);
          op.tag = static_cast<std::int32_t>(done[0].tag);
          op.amount = done[0].bytes;
        }
        break;
      }
      case OpKind::waitall:
      case OpKind::testall:
        // One that answers MPI_ERR_IN_STATUS may leave some as they were.
        return complete_all(op, open ? asked : completed);
      default:
        return complete_some(op, of_many ? completed : asked, completed);
    }
    push(op);
    return nullptr;
  }

  RankProgram& out_;
  const std::vector<CommId>& comms_;
  const Overlaps* overlaps_;
  std::span<const std::uint64_t> calls_;  // the rest of this rank's in `overlaps_`
  CollectiveNumbers numbers_;
  std::uint32_t first_slot_;
  std::map<std::uint16_t, Inside> inside_;                  // by thread
  std::vector<std::size_t> dropped_;                        // indices of operations that go in finish()
  std::unordered_map<std::uint32_t, std::size_t> cancels_;  // slot -> its last cancel; looked up only
  // Operations, as they are numbered before finish(), while a slot held a receive that was cancelled.
  struct Stretch {
    std::size_t begin = 0, end = 0;
  };
  std::unordered_map<std::uint32_t, std::vector<Stretch>> cancelled_;  // by slot; looked up only
  std::unordered_map<std::uint32_t, Posted> posted_;                   // looked up only, never walked
  std::int64_t waiting_ps_ = 0;
  std::int64_t total_ps_ = 0;
  std::uint64_t at_ = 0;  // offset of the record being added
};

}  // namespace

void link_polls(RankProgram& p) {
  traces::ConditionalSteps steps({[&p](std::uint64_t miss, std::uint64_t distance) {
                                    p.ops[miss].extra = static_cast<std::uint32_t>(p.lists.size());
                                    p.lists.push_back(1);
                                    p.lists.push_back(static_cast<std::int64_t>(distance));
                                  },
                                  [&p](std::uint64_t hit, std::uint64_t length) {
                                    p.lists[p.ops[hit].extra + 2] = static_cast<std::int64_t>(length);
                                  }});
  for (std::size_t i = 0; i < p.ops.size(); ++i) steps.add(i, i, p.ops[i], p.list(p.ops[i]));
  steps.finish();
}

namespace {

// Whether the program never came back from a call. MPI may have ended it for an argument that no trace can hold: that is no
// damage.
bool never_returned(const SpoolReader& spool, std::uint64_t offset) {
  SpoolReader::Record record;
  return spool.next(offset, record) == SpoolReader::Step::kRecord && (record.fixed->flags & kOpen) != 0;
}

// Ends the program at the first operation that no rank can do: that is damage. But a call that never returned just goes,
// and with `threads` what comes after it, which may wait for what it would have started.
template <class Damaged>
void keep_sound(RankProgram& program, const SpoolReader& spool, const traces::OpLimits& limits, bool threads,
                Damaged damaged) {
  std::size_t kept = 0;
  std::size_t n = 1;  // operations of a call
  for (std::size_t i = 0; i < program.ops.size(); i += n) {
    const Op& op = program.ops[i];
    const char* fault = traces::op_fault(op, program.list(op), limits);
    n = 1;
    if (op.kind == OpKind::sendrecv) {
      const bool cut = i + 1 == program.ops.size();  // killed between the halves: what it did before is whole
      if (cut && fault == nullptr) break;
      if (!cut && traces::is_receive_half(program.ops[i + 1])) {
        const Op& half = program.ops[i + 1];
        if (fault == nullptr) fault = traces::op_fault(half, program.list(half), limits);
        n = 2;
      } else if (!cut) {
        fault = "the send of a sendrecv without its receive half";
      }
    } else if ((op.flags & traces::kPairedRecv) != 0) {
      fault = "the receive half of a sendrecv without its send";
    }
    if (fault != nullptr) {
      const bool gone = never_returned(spool, program.offsets[i + n - 1]);
      if (!gone) damaged(program.offsets[i], fault);
      if (!gone || threads) break;
      continue;
    }
    for (std::size_t j = i; j < i + n; ++j) {
      program.ops[kept] = program.ops[j];
      program.offsets[kept++] = program.offsets[j];
    }
  }
  program.ops.resize(kept);
  program.offsets.resize(kept);
}

// The first request slot that no record names.
std::uint32_t free_slots(const SpoolReader& spool, std::uint64_t end) {
  std::uint32_t first = 0;
  std::uint64_t offset = spool.first();
  SpoolReader::Record record;
  while (offset < end && spool.next(offset, record) == SpoolReader::Step::kRecord)
    if (record.fixed->request < traces::kMaxRequestSlots) first = std::max(first, record.fixed->request + 1);
  return first;
}

}  // namespace

RankProgram translate(const SpoolReader& spool, const RankContext& context, std::optional<Error>& damage) {
  RankProgram program;
  Translator t(program, context, context.overlaps != nullptr ? free_slots(spool, context.end) : kNoSlot);
  const auto damaged = [&](std::uint64_t at, const char* what) {
    damage = bad_input(spool.position(at), std::string("a damaged spool: ") + what);
  };
  std::uint64_t offset = spool.first();
  SpoolReader::Record record;
  while (offset < context.end && spool.next(offset, record) == SpoolReader::Step::kRecord) {
    if (record.fixed->kind == kCommDefine) continue;
    if (const char* fault = t.add(record)) {
      damaged(record.offset, fault);
      break;
    }
  }
  if (const char* fault = damage ? nullptr : t.still_inside()) damaged(offset, fault);
  t.finish();
  keep_sound(program, spool, context.limits, context.overlaps != nullptr, damaged);
  if (!overlap(spool.header())) link_polls(program);  // what follows a hit may be another thread's
  return program;
}

}  // namespace weft::recorder
