// Transfers: messages from their send to their end, by events; the steps of their life are in message_steps.hpp.
//
// A send meets its receive in the Matcher, in MPI's order. Here stand the instants of a message and who is told what:
// its sender when the send is over, its receiver when all data have come and a receive was posted, a rank that probes
// or runs ahead when the message may be seen. A row of `messages` is given back when both sides were told.
// Complexity: O(1) a message and step besides Matcher, router and Network; no allocation.
#pragma once

#include <cstdint>
#include <vector>

#include "network/network.hpp"
#include "replay/agenda.hpp"
#include "replay/engine.hpp"
#include "replay/message_cost.hpp"
#include "replay/messages/flow_starts.hpp"
#include "replay/messages/matcher.hpp"
#include "replay/messages/message.hpp"
#include "replay/messages/message_router.hpp"
#include "replay/messages/probes.hpp"
#include "replay/messages/request_messages.hpp"
#include "replay/messages/traffic.hpp"
#include "replay/ranks/collective_runs.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/ranks/run_ahead.hpp"
#include "replay/ranks/tasks.hpp"
#include "replay/ranks/waits.hpp"
#include "replay/why/hindsight.hpp"

namespace weft::replay {

class MatchAudit;  // replay/messages/match_audit.hpp

class Transfers {
 public:
  // Where messages are and what they cross; all outlive it.
  struct Ways {
    Pool<Message>& messages;
    Matcher& matcher;
    MessageRouter& router;
    network::Network& network;
    FlowStarts& starts;
    const MessageCost& cost;
    Traffic& traffic;
    const topology::Fabric& fabric;
    const std::vector<HostId>& placement;
  };
  // Who is told.
  struct Listeners {
    Ranks& ranks;
    Waits& waits;
    CollectiveRuns& collectives;
    Tasks& tasks;
    Probes& probes;
    RunAhead& run_ahead;
    Hindsight& hindsight;
  };
  Transfers(const Ways& ways, const Listeners& listeners, const ReplayOptions& options, Agenda& agenda)
      : messages_(ways.messages),
        matcher_(ways.matcher),
        router_(ways.router),
        network_(ways.network),
        starts_(ways.starts),
        cost_(ways.cost),
        traffic_(ways.traffic),
        fabric_(ways.fabric),
        placement_(ways.placement),
        ranks_(listeners.ranks),
        waits_(listeners.waits),
        collectives_(listeners.collectives),
        tasks_(listeners.tasks),
        probes_(listeners.probes),
        run_ahead_(listeners.run_ahead),
        hindsight_(listeners.hindsight),
        options_(options),
        agenda_(agenda),
        look_ahead_(ranks_.many()) {}

  // ---- What ranks and collectives do. `context`: communicator, with the top bit set for messages of a collective. `paid`: by the call, for its
  // sends. `form`: as Sent::form.
  void post_send(std::uint32_t src, std::uint32_t dst, std::uint32_t context, std::int32_t tag,
                 std::int64_t bytes, traces::OpKind kind, Target target, Elapsed paid,
                 SendForm form = SendForm::kAsAny);
  // Returns the row that it is posted as, kNone if it met its message at once.
  std::uint32_t post_recv(std::uint32_t rank, std::int32_t source, std::uint32_t context, std::int32_t tag,
                          std::int64_t bytes, Target target);
  // Nobody asks for that request any more: what is under way goes on, and nobody is told of its end. `recv`: what post_recv() returned for
  // it, if it is a receive. False: it is none of a message. O(1), but the first time O(messages under way).
  bool forget(std::uint32_t rank, Target target, std::uint32_t recv);
  // Whether that request is a send whose receive has not come, and that waits for it. Complexity as of forget().
  [[nodiscard]] bool lacks_its_receive(std::uint32_t rank, Target target);
  // Takes back the receive of that request, if nothing matched it yet; `recv` is what post_recv() returned.
  bool withdraw(std::uint32_t recv, std::uint32_t rank, Target target);
  // Tells `audit` of every send, receive and match; nothing else changes. REQUIRES: none yet.
  void audit(MatchAudit* audit) { audit_ = audit; }

  // ---- Events of message i.
  // Its envelope is at the receiver. It is delivered if all earlier messages of its channel were; then those that came
  // before their turn and waited for it follow.
  void envelope_arrived(std::uint32_t i);
  // Latency is paid: the data take their share of the links from now on.
  void start_flow(std::uint32_t i);
  // ... when all else of this instant has happened.
  void enter_network(std::uint32_t i);
  // All data have come.
  void arrive(std::uint32_t i);

  // Rank r looks for a message and may find one now: when all of this instant has happened.
  void may_be_seen(std::uint32_t r) {
    if (!ranks_.may_look(r) || !ranks_.looks(r)) return;
    if (ranks_[r].state == RankState::kRunning && !run_ahead_.polls(r)) return;
    lookers_.push_back(r);
    agenda_.ask_for_end();
  }
  // Receives of rank r may yet take messages that came at this instant: probes and polls see neither before that is decided.
  [[nodiscard]] bool undecided(std::uint32_t r) const { return matcher_.undecided(r); }
  // All else of this instant has happened: what came at it meets its receives, and who looks for a message may find it.
  // False: there is none of either.
  bool instant_over();

  // Messages longer than the receive that took them.
  [[nodiscard]] std::uint64_t truncated() const { return truncated_; }

 private:
  // It is posted by a call that its rank is in, not by a collective that goes on beside the program.
  [[nodiscard]] bool of_its_own_call(Target target) const;
  void delivered(std::uint32_t i, std::uint32_t recv);
  // Message i has its turn, and then those that waited for it.
  void take_turns(std::uint32_t i, std::uint32_t recv);
  // `late`: receive `r` is posted only now.
  void match(std::uint32_t i, std::uint32_t r, bool late);
  // Both sides were told.
  void over(std::uint32_t i) {
    hindsight_.over(messages_[i]);
    messages_.give(i);
  }
  void leave(std::uint32_t i, Elapsed before);
  void no_route(const Message& m);
  // For ReplayOptions::on_match: receive `r`, message `i` is posted by the operation that its rank is at; message i belongs to receive r.
  void note_posted(std::uint32_t r, std::uint32_t rank);
  void note_sent(std::uint32_t i);
  void show_match(std::uint32_t i, std::uint32_t r);
  // A side of message i is over; `m`: that message, or null if nobody can have waited for it.
  void tell(std::uint32_t i, std::uint32_t rank, Target t, std::int64_t bytes, const Message* m,
            bool sender) {
    hindsight_.side_over(i, rank, t);
    of_requests_.remove(rank, t);
    if (!t.is_activity())
      waits_.message_over(rank, t, bytes, m, sender);
    else if (t.is_task())
      tasks_.message_over(t.activity(), bytes, m, sender);
    else
      collectives_.message_over(t.activity(), m, sender);
  }

  Pool<Message>& messages_;
  Matcher& matcher_;
  MessageRouter& router_;
  network::Network& network_;
  FlowStarts& starts_;
  const MessageCost& cost_;
  Traffic& traffic_;
  const topology::Fabric& fabric_;
  const std::vector<HostId>& placement_;
  Ranks& ranks_;
  Waits& waits_;
  CollectiveRuns& collectives_;
  Tasks& tasks_;
  Probes& probes_;
  RunAhead& run_ahead_;
  Hindsight& hindsight_;
  const ReplayOptions& options_;
  Agenda& agenda_;
  bool look_ahead_;  // hints to the processor pay
  std::uint64_t truncated_ = 0;
  RequestMessages of_requests_;
  std::vector<std::uint32_t> lookers_;  // ranks that may find a message at this instant
  MatchAudit* audit_ = nullptr;
  struct Poster {
    std::uint64_t op = 0;
    Target target;
  };
  struct Sender {
    std::uint64_t op = 0, number = 0;
  };
  // By receive, by message; only where on_match asks.
  std::vector<Poster> posted_by_;
  std::vector<Sender> sent_by_;
  std::uint64_t sent_ = 0;
};

}  // namespace weft::replay
