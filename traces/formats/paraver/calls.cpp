#include "traces/formats/paraver/calls.hpp"

#include <algorithm>
#include <tuple>

#include "traces/formats/paraver/events.hpp"

namespace weft::traces::paraver {
namespace {

using dimemas::CallRole;
using dimemas::MpiCall;
using dimemas::Record;
using dimemas::RecordKind;

constexpr std::int64_t kSendrecv = 41, kSendrecvReplace = 42, kStartall = 124;

const MpiCall* call_of(std::int64_t type, std::int64_t value) {
  return type <= dimemas::kOtherCalls ? dimemas::find_mpi_call(value) : nullptr;
}

bool is_sendrecv(std::int64_t value) { return value == kSendrecv || value == kSendrecvReplace; }

// In the order in which MPI_Sendrecv has them.
int rank_of(const Record& r) {
  if (r.kind == RecordKind::send) return 1;
  return r.receive == dimemas::ReceiveHow::wait ? 2 : 0;
}

}  // namespace

void Calls::put(Record r, std::uint64_t line, std::vector<Made>& out) {
  r.task = task_;
  out.push_back({r, line});
}

// The call that goes on and those that begin at this instant, in their order; an end is of the call that is open.
void Calls::collect_calls(std::vector<Call>& calls, std::vector<Mark>& marks) {
  calls = std::move(open_);
  open_.clear();
  for (Call& c : calls) c.before = true;
  bool is_open = !calls.empty();
  for (const Row& row : instant_) {
    if (row.what != Row::What::event) continue;
    if (!dimemas::is_mpi_event(row.first)) {
      if (is_open && !calls.back().before) say(calls.back(), row);
      continue;
    }
    // One that ends without having begun was cut off; one that begins in another ends that.
    if (is_open) marks.push_back({calls.size() - 1, false, row.line});
    is_open = row.second != 0;
    if (!is_open) continue;
    Call& call = calls.emplace_back();
    call.type = row.first, call.value = row.second, call.line = row.line;
    call.communicator = head_.world;
    marks.push_back({calls.size() - 1, true, row.line});
  }
}

void Calls::say(Call& call, const Row& row) const {
  if (row.first == kRequest)
    call.requests.push_back(row.second);
  else if (row.first == kMessageCommunicator)
    call.communicator = row.second;
  else if (row.first == kMadeCommunicator)
    call.made = row.second;
  else if (row.first == kStartedAs)
    call.started_as = row.second;
  else
    call.said[static_cast<std::size_t>(row.first - kSentSize)] = row.second;
}

bool Calls::takes(const Call& call, Row::What what) {
  const MpiCall* c = call_of(call.type, call.value);
  if (c == nullptr) return false;
  const bool both = is_sendrecv(call.value);
  switch (c->role) {
    case CallRole::message:
      if (what == Row::What::sent) return (both || is_send(c->kind)) && !call.sent;
      if (what == Row::What::posted) return (both || is_receive(c->kind)) && !call.posted;
      return both && call.received == 0 && !call.posted;  // else it has its own
    case CallRole::start:
      return what != Row::What::received && !(call.sent || call.posted);
    case CallRole::wait:
      return what == Row::What::received && call.received == 0;
    case CallRole::waitall:
    case CallRole::waits:
      return what == Row::What::received;
    default:
      return false;
  }
}

// Receives that are posted at one instant, one of a call that blocks as it begins and one of an MPI_Irecv as it ends, in whatever order
// the file has them: the former is over before anything else is, so what is received soonest is its. A simulator's physical receive may
// lie before, which tells nothing.
void Calls::give_blocking_the_soonest(std::vector<Given>& posted) {
  const auto blocks = [](const Given& g) {
    const MpiCall* c = call_of(g.call->type, g.call->value);
    return is_sendrecv(g.call->value) || (c->role == CallRole::message && c->kind == OpKind::recv);
  };
  const auto blocking = static_cast<std::size_t>(std::ranges::count_if(posted, blocks));
  if (blocking == 0 || std::ranges::any_of(posted, [](const Given& g) { return g.row->over < g.row->time; }))
    return;
  struct Of {
    std::int64_t over;
    bool later;  // of those that are over at one time the file's order counts
    std::size_t at;
    const Row* row;
  };
  std::vector<Of> of;
  of.reserve(posted.size());
  for (const Given& g : posted) of.push_back({g.row->over, !blocks(g), of.size(), g.row});
  std::ranges::sort(of, {}, [](const Of& o) { return std::tuple(o.over, o.later, o.at); });
  const auto rest = of.begin() + static_cast<std::ptrdiff_t>(blocking);
  std::sort(rest, of.end(), [](const Of& a, const Of& b) { return a.at < b.at; });
  auto soon = of.begin(), late = rest;
  for (Given& g : posted) g.row = (blocks(g) ? soon++ : late++)->row;
}

// Of several calls the first that takes one: if that went on to this instant, it was its last chance. A call that takes none now
// takes none later. Only a MPI_Startall comes last, because it begins with its messages.
void Calls::give_ends(std::vector<Call>& calls) {
  Call* startall = nullptr;
  for (Call& call : calls)
    if (call.value == kStartall && call_of(call.type, call.value) != nullptr) startall = &call;
  std::vector<Given> given;
  std::unordered_map<std::uint64_t, Call*> exchanges;  // MPI_Sendrecv, by the message that it receives
  for (const auto what : {Row::What::posted, Row::What::sent, Row::What::received}) {
    std::size_t next = 0;
    given.clear();
    for (const Row& row : instant_) {
      if (row.what != what) continue;
      const auto posted = what == Row::What::received ? posted_.find(row.line) : posted_.end();
      if (posted != posted_.end() && !posted->second) {  // a receive that blocks is over
        posted_.erase(posted);
        continue;
      }
      const auto own = what == Row::What::received ? exchanges.find(row.line) : exchanges.end();
      if (own != exchanges.end()) {
        ++own->second->received;
        posted_.erase(row.line);
        given.push_back({own->second, &row});
        continue;
      }
      while (next < calls.size() && (&calls[next] == startall || !takes(calls[next], what))) ++next;
      Call* const call = next < calls.size()           ? &calls[next]
                         : what == Row::What::received ? nullptr
                                                       : startall;
      if (call == nullptr) {
        if (losses_ != nullptr && what != Row::What::received) ++losses_->outside;
        if (posted != posted_.end()) {
          there_.push_back(row);
          posted_.erase(posted);
        }
        continue;
      }
      if (what == Row::What::sent) call->sent = true;
      if (what == Row::What::received) ++call->received, posted_.erase(row.line);
      if (what == Row::What::posted) call->posted = true;
      given.push_back({call, &row});
    }
    if (what == Row::What::posted) give_blocking_the_soonest(given);
    for (const auto& [call, row] : given) {
      const MpiCall* c = call_of(call->type, call->value);
      if (what == Row::What::posted && is_sendrecv(call->value)) call->receives = row->line;
      if (what == Row::What::posted)
        posted_[row->line] =
            is_sendrecv(call->value) || c->role == CallRole::start || c->kind == OpKind::irecv;
      call->ends.push_back(row);
    }
    if (what != Row::What::posted) continue;
    for (Call& call : calls)
      if (call.receives) exchanges[*call.receives] = &call;
  }
}

Record Calls::record_of(const Row& row, const Call& of) const {
  Record r;
  r.kind = row.what == Row::What::sent ? RecordKind::send : RecordKind::receive;
  r.task = task_;
  r.partner = row.partner;
  r.bytes = row.first;
  r.tag = static_cast<std::int32_t>(row.second);
  r.communicator = static_cast<std::int64_t>(row.line);
  r.of_message = of.communicator;
  if (const MpiCall* c = call_of(of.type, of.value); c != nullptr && c->role == CallRole::start)
    r.started_as = of.started_as;
  if (row.what == Row::What::received) r.receive = dimemas::ReceiveHow::wait;
  return r;
}

void Calls::take_what_is_there(const Call& call, std::vector<Made>& out) {
  const MpiCall* c = call_of(call.type, call.value);
  if (c == nullptr || (c->role != CallRole::waitall && (c->role != CallRole::wait || call.received > 0)))
    return;
  for (std::size_t n = c->role == CallRole::wait ? 1 : there_.size(); n > 0 && !there_.empty(); --n) {
    out.push_back({record_of(there_.front(), call), there_.front().line});
    there_.pop_front();
  }
}

void Calls::put_ends(Call& call, std::vector<Made>& out) {
  const MpiCall* c = call_of(call.type, call.value);
  for (const Row* row : call.ends) {
    Record r = record_of(*row, call);
    if (row->what == Row::What::sent && call.given < call.requests.size())
      r.request = call.requests[call.given++];
    if (row->what == Row::What::posted && (is_sendrecv(call.value) || c->kind != OpKind::recv))
      r.receive = dimemas::ReceiveHow::post;
    (is_sendrecv(call.value) ? call.held : out).push_back({r, row->line});
  }
  call.ends.clear();
}

void Calls::put_held(Call& call, std::vector<Made>& out) {
  std::ranges::stable_sort(call.held, {}, [](const Made& m) { return rank_of(m.record); });
  out.insert(out.end(), call.held.begin(), call.held.end());
  call.held.clear();
}

void Calls::put_collective(const Call& call, std::vector<Made>& out) {
  const MpiCall* c = call_of(call.type, call.value);
  if (c == nullptr || c->role != CallRole::collective || std::ranges::max(call.said) < 0) return;
  Record r;
  r.kind = RecordKind::collective;
  r.operation = -1;  // the call says which
  r.sent = std::clamp<std::int64_t>(call.said[0], 0, dimemas::kMostBytes);
  r.received = std::clamp<std::int64_t>(call.said[1], 0, dimemas::kMostBytes);
  r.root = call.said[2] == 1 ? 1 : 0;
  r.communicator = call.said[3] >= 0 ? call.said[3] : head_.world;
  r.says_how = true;
  r.how = dimemas::CollectiveHow::blocking;
  if (is_nonblocking_collective(c->kind)) {
    r.how = dimemas::CollectiveHow::post;
    if (call.requests.empty())
      collectives_.push_back(r.communicator);
    else
      r.request = call.requests.front();
  }
  put(r, call.line, out);
}

void Calls::put_made_communicator(const Call& call, std::vector<Made>& out) {
  const MpiCall* c = call_of(call.type, call.value);
  if (c == nullptr || c->role != CallRole::makes_comm || !call.made) return;
  Record r;
  r.kind = RecordKind::makes_comm;
  r.communicator = call.communicator;
  r.made = *call.made;
  put(r, call.line, out);
}

void Calls::put_request_ends(const Call& call, std::uint64_t line, std::vector<Made>& out) {
  const MpiCall* c = call_of(call.type, call.value);
  if (c == nullptr || (c->role != CallRole::wait && c->role != CallRole::waitall &&
                       c->role != CallRole::waits && c->role != CallRole::frees))
    return;
  for (const std::int64_t request : call.requests) {
    Record r;
    r.kind = RecordKind::ends_request;
    r.request = request;
    put(r, line, out);
  }
}

void Calls::begin(Call& call, std::int64_t time, std::vector<Made>& out) {
  Record burst;
  burst.kind = RecordKind::burst;
  burst.picoseconds = (time - idle_since_) * head_.picoseconds;
  if (burst.picoseconds > 0) put(burst, call.line, out);
  Record event;
  event.kind = RecordKind::event;
  event.type = call.type, event.value = call.value;
  put(event, call.line, out);
  put_collective(call, out);
  put_made_communicator(call, out);
  put_ends(call, out);
}

void Calls::end(Call& call, std::int64_t time, std::uint64_t line, std::vector<Made>& out) {
  const MpiCall* c = call_of(call.type, call.value);
  put_ends(call, out);
  const bool some_were_there = !there_.empty();
  take_what_is_there(call, out);
  put_request_ends(call, line, out);
  put_held(call, out);
  if (c != nullptr && c->role == CallRole::init) {
    Record barrier;
    barrier.kind = RecordKind::collective;
    barrier.communicator = head_.world;
    barrier.how = dimemas::CollectiveHow::blocking;
    put(barrier, line, out);
  }
  if (c != nullptr && c->role == CallRole::wait && call.received == 0 && !some_were_there &&
      call.requests.empty() && !collectives_.empty()) {
    Record wait;
    wait.kind = RecordKind::collective;
    wait.operation = -1;
    wait.communicator = collectives_.front();
    wait.how = dimemas::CollectiveHow::wait;
    collectives_.pop_front();
    put(wait, line, out);
  }
  Record event;
  event.kind = RecordKind::event;
  event.type = call.type;
  put(event, line, out);
  idle_since_ = time;
}

void Calls::end_instant(std::vector<Made>& out) {
  const std::int64_t time = instant_.front().time;
  std::vector<Call> calls;
  std::vector<Mark> marks;
  collect_calls(calls, marks);
  give_ends(calls);
  std::vector<bool> over(calls.size(), false);
  for (const Mark& m : marks) {
    if (m.begins) {
      begin(calls[m.call], time, out);
    } else {
      end(calls[m.call], time, m.line, out);
      over[m.call] = true;
    }
  }
  if (!calls.empty() && !over.back()) {
    put_ends(calls.back(), out);
    open_.push_back(std::move(calls.back()));
  }
  instant_.clear();
}

void Calls::finish(std::int64_t last_event, std::vector<Made>& out) {
  const std::uint64_t line = instant_.empty() ? 0 : instant_.back().line;
  if (!instant_.empty()) end_instant(out);
  if (!open_.empty()) put_held(open_.back(), out);  // cut off in an MPI_Sendrecv
  if (!open_.empty() || last_event <= idle_since_) return;
  Record burst;
  burst.kind = RecordKind::burst;
  burst.picoseconds = (last_event - idle_since_) * head_.picoseconds;
  put(burst, line, out);
}

}  // namespace weft::traces::paraver
