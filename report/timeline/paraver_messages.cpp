#include "report/timeline/paraver_messages.hpp"

#include <algorithm>
#include <utility>

#include "report/timeline/paraver.hpp"
#include "report/timeline/paraver_head.hpp"

namespace weft::report {
namespace {

struct ProgramsByNumber {
  bool operator()(const TimelineMessage& a, const TimelineMessage& b) const {
    return std::tie(a.seen.number, a.number) < std::tie(b.seen.number, b.number);
  }
};

}  // namespace

Result<PrvCalls::Ends> PrvCalls::ends() {
  SortedRows<Of, OfByOp> of(timeline_.beside, timeline_.memory / 4);
  if (timeline_.calls) {
    auto m = timeline_.messages.reader();
    for (; m.more(); m.next())
      if (const replay::MessageSeen& s = m.row().seen; !s.of_collective)
        of.add({s.send_op, s.number, s.src.index(), 0, What::kSend});
    WEFT_TRY(m.status());
  }
  {
    auto m = timeline_.matches.reader();
    for (; m.more(); m.next())
      of.add({m.row().op, m.row().message, m.row().rank, m.row().request, What::kReceive});
    WEFT_TRY(m.status());
  }
  WEFT_TRY(of.finish());
  WEFT_TRY(calls_.finish());
  WEFT_TRY(ended_.finish());

  Ends ends(timeline_.beside, timeline_.memory / 4);
  auto call = calls_.reader();
  auto ended = ended_.reader();
  auto row = of.reader();
  std::uint32_t send = 0;  // of those of its operation
  std::pair<std::uint32_t, std::uint64_t> sender;
  for (; row.more(); row.next()) {
    const Of& o = row.row();
    const std::pair key(o.rank, o.op);
    const auto here = [&] { return std::pair(call.row().rank, call.row().op); };
    while (call.more() && here() < key) call.next();
    if (!call.more() || key < here()) continue;
    if (o.what == What::kSend) send = std::exchange(sender, key) == key ? send + 1 : 0;
    if (call.row().one_of_several) {
      // In the order of the messages, too: first sends, which have numbers as they are started, then receives.
      const std::pair which(o.what, o.what == What::kSend ? send : o.request);
      const auto of_this = [&] { return std::pair(call.row().what, call.row().which); };
      while (call.more() && here() == key && of_this() < which) call.next();
      if (!call.more() || here() != key || of_this() != which) continue;
    }
    ends.add({o.number, call.row().begin, call.row().end, o.what});
    if (o.what == What::kSend) continue;
    if (o.request == traces::kNoRequest) {
      ends.add({o.number, call.row().begin, call.row().end, What::kOver});
      continue;
    }
    const auto made = std::tie(o.rank, o.op, o.request);
    while (ended.more() && std::tie(ended.row().rank, ended.row().made, ended.row().slot) < made)
      ended.next();
    if (!ended.more() || made < std::tie(ended.row().rank, ended.row().made, ended.row().slot)) continue;
    ends.add({o.number, ended.row().begin, ended.row().end, What::kOver});
  }
  WEFT_TRY(row.status());
  WEFT_TRY(call.status());
  WEFT_TRY(ended.status());
  WEFT_TRY(ends.finish());
  return ends;
}

// What happens in a call lies between its ends, as near as can be to when it happened. To who reads the file as a program a receive is over
// in the call that says so to the program, though its data may have come before.
PrvMessage PrvCalls::line(const replay::MessageSeen& m, const Call* const (&in)[3]) const {
  const auto within = [](const Call& c, std::int64_t at) { return std::clamp(at, c.begin + 1, c.end - 1); };
  PrvMessage p{
      .bytes = m.bytes, .number = m.number, .from = m.src.index(), .to = m.dst.index(), .tag = m.tag};
  p.sent = prv_time(m.posted), p.left = prv_time(m.left);
  if (const Call* c = in[0]) {
    p.sent = within(*c, p.sent);
    p.left = std::clamp(p.left, p.sent, c->end - 1);
  }
  // Nobody is told of it, unless that is not asked for: behind all that its rank does, or it would be of a call that ends there.
  const bool cut = timeline_.from > SimTime{} || timeline_.to < timeline_.end;
  p.received = cut ? prv_time(m.arrived) : std::max(prv_time(m.arrived), over_[p.to] + 1);
  p.posted = cut ? prv_time(m.received) : p.received;
  if (in[1] != nullptr) p.posted = in[1]->begin + 1;
  if (in[2] != nullptr) p.received = within(*in[2], prv_time(m.arrived));
  return p;
}

Result<PrvMessages> PrvCalls::messages() && {
  WEFT_ASSIGN(const Ends ends_by_message, ends());
  calls_ = {};
  ended_ = {};
  SortedRows<TimelineMessage, ProgramsByNumber> messages(timeline_.beside, timeline_.memory / 2);
  {
    auto m = timeline_.messages.reader();
    for (; m.more(); m.next())
      if (!m.row().seen.of_collective) messages.add(m.row());
    WEFT_TRY(m.status());
  }
  WEFT_TRY(messages.finish());

  PrvMessages lines{SortedRows<PrvMessage, PrvMessagesByTime>(timeline_.beside, timeline_.memory), 0};
  auto end = ends_by_message.reader();
  auto message = messages.reader();
  for (; message.more(); message.next()) {
    const replay::MessageSeen& m = message.row().seen;
    Call calls[3];
    const Call* in[3] = {};
    while (end.more() && end.row().number < m.number) end.next();
    for (; end.more() && end.row().number == m.number; end.next()) {
      const auto which = static_cast<std::size_t>(end.row().what);
      calls[which] = {0, end.row().begin, end.row().end, 0};
      in[which] = &calls[which];
    }
    PrvMessage line = this->line(m, in);
    if (!timeline_.calls) line.number = message.row().number;
    lines.last = std::max({lines.last, line.left, line.posted, line.received});
    lines.rows.add(line);
  }
  WEFT_TRY(end.status());
  WEFT_TRY(message.status());
  WEFT_TRY(lines.rows.finish());
  return lines;
}

}  // namespace weft::report
