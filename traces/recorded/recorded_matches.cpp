#include "traces/recorded/recorded_matches.hpp"

#include <utility>

#include "core/counted.hpp"
#include "traces/request_book.hpp"

namespace weft::traces {

std::optional<std::size_t> match_place(const Op& op, std::size_t size) {
  switch (op.kind) {
    case OpKind::recv:
    case OpKind::irecv:
    case OpKind::recv_init:
    case OpKind::start:
    case OpKind::probe:
    case OpKind::mprobe:
      if (size == 3) return 0;
      return std::nullopt;
    case OpKind::iprobe:
    case OpKind::improbe:  // {0, body, source, tag, bytes}
      if ((op.flags & kHit) != 0 && size == 5) return 2;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

Envelope asked_or_got(const Op& op, std::span<const std::int64_t> list) {
  Envelope e{op.peer, op.tag};
  const auto at = match_place(op, list.size());
  if (!at || list[*at] < 0) return e;
  if (e.source == kAnySource) e.source = static_cast<std::int32_t>(list[*at]);
  if (e.tag == kAnyTag) e.tag = static_cast<std::int32_t>(list[*at + 1]);
  return e;
}

bool contradicts_itself(const Op& op, std::span<const std::int64_t> list) {
  const auto at = match_place(op, list.size());
  if (!at || list[*at] < 0) return false;
  const Envelope e = asked_or_got(op, list);
  return e.source != list[*at] || e.tag != list[*at + 1];
}

namespace {

bool is_open(const Envelope& e) {
  return e.source == kAnySource || (e.tag == kAnyTag && e.source != kProcNull);
}

// Goes from the end of a block to its front: what completes the request of a slot, after each place. `visit(at)` first.
template <class Completed, class Visit>
void look_back(const OpBlock& block, Completed& completed, Visit visit) {
  typename Completed::mapped_type among_others;
  among_others.over = true;
  for (std::size_t i = block.ops.size(); i-- > 0;) {
    const Op& op = block.ops[i];
    visit(i);
    std::int64_t one = 0;
    if ((op.kind == OpKind::wait || op.kind == OpKind::test) && op.request != kNoRequest) {
      auto& end = completed[op.request];
      end = {};
      end.over = end.alone = true;
      if (op.peer >= 0) end.got = Envelope{op.peer, op.tag};
    } else if (is_completion(op.kind)) {
      for (const std::int64_t s : completed_requests(op, block.list(op), one))
        completed[static_cast<std::uint32_t>(s)] = among_others;
    } else if (op.kind == OpKind::startall) {
      for (const std::int64_t s : block.list(op)) completed[static_cast<std::uint32_t>(s)] = {};
    } else if (op.kind == OpKind::cancel) {
      completed[op.request].cancelled = true;
    } else if (op.request != kNoRequest) {
      completed[op.request] = {};
    }
  }
}

}  // namespace

std::optional<std::string> RecordedMatches::warning() const {
  if (open_receives_ == 0) return std::nullopt;
  const bool one = open_receives_ == 1;
  return counted(open_receives_, "receive") + " from any source or of any tag take" + (one ? "s" : "") +
         " what comes: the trace does not say what " + (one ? "it" : "they") + " took in the recording";
}

void RecordedMatches::ask(RankId rank, OpBlock& block) {
  questions_.clear();
  const auto found = ranks_.find(rank.index());
  Rank* state = found == ranks_.end() ? nullptr : &found->second;
  // What the own list of a request's receive says, to its cancel.
  const auto posted = [&](const Op& op) {
    const bool told = says_what_it_took(block.list(op));
    if (told && state == nullptr) state = &ranks_[rank.index()];
    if (told)
      state->told.insert(op.request);
    else if (state != nullptr)
      state->told.erase(op.request);
  };
  for (std::size_t i = 0; i < block.ops.size(); ++i) {
    Op& op = block.ops[i];
    const std::uint32_t slot = op.request;
    switch (op.kind) {
      case OpKind::irecv:
        if (slot == kNoRequest) break;
        posted(op);
        if (is_open({op.peer, op.tag})) questions_.push_back({i, slot});
        break;
      case OpKind::recv_init:
        if (is_open({op.peer, op.tag})) {
          state = &ranks_[rank.index()];
          state->persistent[slot] = {op.peer, op.tag};
          break;
        }
        [[fallthrough]];
      case OpKind::request_free:
        if (state != nullptr) state->persistent.erase(slot);
        break;
      case OpKind::start:
        posted(op);
        if (state == nullptr) break;
        if (const auto it = state->persistent.find(slot); it != state->persistent.end()) {
          op.peer = it->second.source;
          op.tag = it->second.tag;
          op.flags |= kNarrowed;
          narrow(op, asked_or_got(op, block.list(op)), std::nullopt);
          if (is_open({op.peer, op.tag})) questions_.push_back({i, slot});
        }
        break;
      case OpKind::startall:
        if (state == nullptr) break;
        for (const std::int64_t s : block.list(op)) {
          open_receives_ += state->persistent.count(static_cast<std::uint32_t>(s));
          state->told.erase(static_cast<std::uint32_t>(s));
        }
        break;
      case OpKind::cancel:
        questions_.push_back({i, slot, state != nullptr && state->told.contains(slot)});
        break;
      default:
        break;
    }
  }
}

// False: some are completed beyond what was read.
bool RecordedMatches::answer(const Rank& state, const OpBlock& block) {
  completed_.clear();
  const auto& ahead = state.blocks.ahead();
  for (auto b = ahead.rbegin(); b != ahead.rend(); ++b) look_back(*b, completed_, [](std::size_t) {});
  bool all = true;
  std::size_t next = questions_.size();
  look_back(block, completed_, [&](std::size_t at) {
    if (next == 0 || questions_[next - 1].at != at) return;
    Question& q = questions_[--next];
    const auto it = completed_.find(q.slot);
    all = all && it != completed_.end();
    if (it != completed_.end()) q.end = it->second;
  });
  return all;
}

void RecordedMatches::narrow(Op& op, const Envelope& asked, const std::optional<Envelope>& got) {
  Envelope e = asked;
  if (got && e.source == kAnySource) e.source = got->source;
  if (got && e.tag == kAnyTag) e.tag = got->tag;
  if (e.source == op.peer && e.tag == op.tag) return;
  op.peer = e.source;
  op.tag = e.tag;
  ++changed_;
}

Result<bool> RecordedMatches::next_block(RankId rank, OpBlock& out) {
  const auto known = ranks_.find(rank.index());
  WEFT_ASSIGN(const bool more, known == ranks_.end() ? trace_.next_block(rank, out)
                                                     : known->second.blocks.next_block(trace_, rank, out));
  if (!more) return false;
  for (Op& op : out.ops) {
    if (op.extra == kNoList || op.kind == OpKind::start || (op.peer != kAnySource && op.tag != kAnyTag))
      continue;
    narrow(op, asked_or_got(op, out.list(op)), std::nullopt);
  }
  ask(rank, out);
  if (!questions_.empty()) {
    Rank& state = ranks_[rank.index()];
    while (!answer(state, out) && state.blocks.read_on(trace_, rank)) {
    }
  }
  for (const Question& q : questions_) {
    Op& op = out.ops[q.at];
    if (op.kind == OpKind::irecv && q.end.withdrawn() && q.end.cancelled) {
      op.peer = kProcNull;
      op.tag = 0;
      ++changed_;
    } else if (op.kind != OpKind::cancel) {
      narrow(op, {op.peer, op.tag}, q.end.got);
    } else if (q.end.over && (q.told || !q.end.withdrawn())) {  // too late: nothing happens in its place
      op = {.kind = OpKind::sleep};
      ++changed_;
    }
  }
  for (const Op& op : out.ops)
    if ((is_receive(op.kind) || (op.flags & kNarrowed) != 0) && is_open({op.peer, op.tag})) ++open_receives_;
  return true;
}

}  // namespace weft::traces
