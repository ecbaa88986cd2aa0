// Matching: which message a receive takes in the untimed run of the trace doctor (doctor.hpp), as far as MPI decides it.
//
//  1. A receive whose source is known stands in the queue of its channel (source, destination, communicator). It takes the first
//     message that it accepts, unless an earlier receive of the channel that is still open accepts it, too.
//  2. A receive from any source of which nobody knows yet what it takes is a *wildcard*: the messages that it accepts are held back
//     from the receives that its rank posted later on the same communicator. Which of them it takes is somebody's choice: options(),
//     take(), and then release().
// Invariant between two calls (but take() and its release()): nothing can match that has not. So a call looks only at what it
// brings: a message or a receive that comes finds its partner by tag, and whole channels are searched only where a wildcard
// let something go.
// A receiver that ever had a wildcard, or a probe from any source, has a *watch* on that communicator: the channels that hold messages,
// by tag and member, those that hold receives as well, and its wildcards by tag. Others do not pay for it.
// Complexity: O(log) an event and a match; release() also O(channels that hold messages and receives), and O(receives of it) of a
// channel where tags do not say who is let go.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/id.hpp"
#include "traces/check/tag_queues.hpp"
#include "traces/op.hpp"

namespace weft::traces::doctor {

struct Message {
  std::int32_t tag;
  std::int64_t bytes;
  std::uint64_t op;       // index of the send in its rank's program
  std::uint32_t waiter;   // request slot, kCurrent, kPair or kNobody: who waits for the match
  std::uint64_t seq = 0;  // among messages of the same operation; Matching's
  static constexpr std::uint32_t kNobody = 0xfffffffeu;
  static constexpr std::uint32_t kPair = 0xfffffffdu;  // the send half of the rank's sendrecv
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> place() const { return {op, seq}; }
};
struct Posted {
  std::int32_t tag;  // or kAnyTag
  std::int64_t bytes;
  std::uint64_t op;
  std::uint32_t slot;   // kCurrent, or kNobody of a request that was freed
  std::uint64_t order;  // among all receives of the rank
  [[nodiscard]] std::uint64_t place() const { return order; }
};
struct Wildcard : Posted {
  CommId comm;
};
// Messages from one rank to another in one communicator. A message and a receive that fit stand here together only
// while an earlier wildcard holds the message.
struct Channel {
  std::uint32_t src;
  std::uint32_t dst;
  CommId comm;
  std::uint32_t number;  // in order of first use
  std::uint32_t inbox;
  std::uint32_t next_in_inbox;
  TagQueues<Message>::Queue unexpected;
  TagQueues<Posted>::Queue posted;
};

// A receiver in a communicator, in one word.
[[nodiscard]] inline std::uint64_t receiver_key(CommId comm, std::uint32_t rank) {
  return std::uint64_t{comm.index()} << 32 | rank;
}

class Matching {
 public:
  // Rank of a world rank in a communicator, negative if it is not a member.
  using Position = std::function<std::int64_t(CommId comm, std::uint32_t rank)>;
  // Is told of a match when both sides have left their queues. It must not call this.
  using OnMatch = std::function<void(const Channel&, const Message&, const Posted&)>;
  Matching(std::uint32_t ranks, Position position, OnMatch on_match)
      : position_(std::move(position)), on_match_(std::move(on_match)), wild_(ranks), served_(ranks) {}

  // ---- what comes. Returns the row of what stands in a queue now, kNoRow if it matched at once.
  std::uint32_t deliver(CommId comm, std::uint32_t src, std::uint32_t dst, Message m);
  // REQUIRES: no receive of r has a greater order.
  std::uint32_t post(CommId comm, std::uint32_t source, std::uint32_t r, const Posted& p);
  void post_any(std::uint32_t r, const Wildcard& w);
  // The source of that wildcard became known: `p`, of the same order, takes its place. The row may have matched meanwhile.
  std::uint32_t post_known(std::uint32_t r, std::uint32_t source, const Posted& p);
  // A message that a wildcard had taken comes back from `from`; `p` is posted instead. The row may have matched meanwhile.
  std::uint32_t give_back(CommId comm, std::uint32_t from, Message back, std::uint32_t source,
                          std::uint32_t r, const Posted& p);

  // The message that a receive had taken, which was withdrawn.
  void come_back(CommId comm, std::uint32_t from, std::uint32_t r, const Message& back);

  // ---- what goes
  void withdraw(CommId comm, std::uint32_t source, std::uint32_t r, std::uint32_t row);
  void withdraw_any(std::uint32_t r, std::uint64_t order);
  // Nobody asks for the end of it any more.
  void forget_receive(std::uint32_t row) { posted_[row].slot = Message::kNobody; }
  void forget_any(std::uint32_t r, std::uint64_t order) {
    if (const auto w = wild_[r].find(order); w != wild_[r].end()) w->second.slot = Message::kNobody;
  }
  void forget_message(std::uint32_t row) { messages_[row].waiter = Message::kNobody; }

  // ---- choices
  struct Option {
    std::uint32_t rank;
    std::uint64_t wild;     // order of the wildcard
    std::uint32_t channel;  // number
    std::uint32_t message;  // row
  };
  // Adds the messages that the first wildcard of rank r that has any accepts, one a channel, in order of members; at most `most`.
  void options(std::uint32_t r, std::size_t most, std::vector<Option>& out);
  // The same of all wildcards of rank r: what each can have next, if no receive before it accepts that, too.
  void all_options(std::uint32_t r, std::vector<Option>& out);
  // So many wildcards of rank r have messages that they accept.
  [[nodiscard]] std::size_t choosers(std::uint32_t r) const { return served_[r].size(); }
  // The wildcard takes the message: both leave. Nobody is told; release() must follow.
  std::pair<Wildcard, Message> take(const Option& o);
  // A wildcard of that tag is gone: what it held may match now.
  void release(std::uint32_t r, CommId comm, std::int32_t tag);

  // ---- questions
  // A probe of rank r sees a message that no wildcard holds; source may be kAnySource.
  [[nodiscard]] bool sees(CommId comm, std::int64_t source, std::uint32_t r, std::int64_t tag);
  // A wildcard of rank r accepts a message of that tag.
  [[nodiscard]] bool held(CommId comm, std::uint32_t r, std::int32_t tag);
  [[nodiscard]] const std::map<std::uint64_t, Wildcard>& wildcards(std::uint32_t r) const { return wild_[r]; }
  // Channels to that rank on that communicator so far.
  [[nodiscard]] std::uint32_t sources(CommId comm, std::uint32_t r) const;
  [[nodiscard]] const std::deque<Channel>& channels() const { return channels_; }
  template <class F>
  void for_each_message(const Channel& c, F&& f) const {
    for (std::uint32_t m = c.unexpected.first; m != kNoRow; m = messages_.next(m)) f(messages_[m]);
  }
  template <class F>
  void for_each_receive(const Channel& c, F&& f) const {
    for (std::uint32_t p = c.posted.first; p != kNoRow; p = posted_.next(p)) f(posted_[p]);
  }
  // Rows and channels that searches went past so far: what grows if something is walked that should be indexed.
  [[nodiscard]] std::uint64_t steps() const { return messages_.steps() + posted_.steps() + steps_; }

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
  // Position of the source in the communicator, number of the channel.
  using Member = std::pair<std::int64_t, std::uint32_t>;
  struct Watch {
    std::set<Member> waiting;                               // channels with messages
    std::set<std::pair<std::int32_t, Member>> by_tag;       // ... for each tag that they have
    std::set<Member> contended;                             // channels with messages and receives
    std::set<std::pair<std::int32_t, std::uint64_t>> wild;  // tag and order of the wildcards
  };
  // All channels of a receiver in a communicator.
  struct Inbox {
    std::uint32_t channels = 0;
    std::uint32_t first = kNoRow;
    std::unique_ptr<Watch> watch;
  };

  Channel& channel(CommId comm, std::uint32_t src, std::uint32_t dst);
  Channel* find_channel(CommId comm, std::uint32_t src, std::uint32_t dst);
  std::uint32_t inbox(CommId comm, std::uint32_t r);
  Watch& watch(CommId comm, std::uint32_t r);
  [[nodiscard]] Watch* watch_of(const Channel& c) const { return inboxes_[c.inbox].watch.get(); }
  [[nodiscard]] Member member(const Channel& c) const { return {position_(c.comm, c.src), c.number}; }

  std::uint32_t add_message(Channel& c, Message m);
  Message remove_message(Channel& c, std::uint32_t row);
  std::uint32_t add_posted(Channel& c, const Posted& p);
  Posted remove_posted(Channel& c, std::uint32_t row);
  Wildcard remove_wildcard(std::uint32_t r, std::uint64_t order);
  // Calls f(channel, row of its first message that the wildcard accepts) in order of members, until f is false.
  template <class F>
  void for_each_candidate(std::uint32_t r, const Wildcard& wild, F&& f);
  // Messages or wildcards of that tag came or went: whether the first of the wildcards has a message now.
  void serve(const Watch& w, std::uint32_t r, std::int32_t tag);

  // The earliest of the channel that a receive of that tag, a message of that tag accepts, or kNoRow.
  std::uint32_t first_message(Channel& c, std::int32_t tag);
  std::uint32_t first_receive(Channel& c, std::int32_t tag);
  // A wildcard posted before `order` accepts a message of that tag.
  static bool held_before(const Watch* w, std::int32_t tag, std::uint64_t order);
  bool take_at_once(Channel& c, const Posted& p);
  bool match_receive(Channel& c, std::uint32_t row);
  void match_channel(Channel& c, std::int32_t tag);

  Position position_;
  OnMatch on_match_;
  std::unordered_map<Key, std::uint32_t, Hash> channel_of_;
  std::deque<Channel> channels_;                               // stable references
  std::unordered_map<std::uint64_t, std::uint32_t> inbox_of_;  // by communicator and receiver
  std::deque<Inbox> inboxes_;
  std::vector<std::map<std::uint64_t, Wildcard>> wild_;  // of each rank, by order
  // Of each rank: of its wildcards of a communicator and a tag the first one, where a message is there that it accepts.
  std::vector<std::set<std::uint64_t>> served_;
  TagQueues<Message> messages_;
  TagQueues<Posted> posted_;
  std::uint64_t next_seq_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace weft::traces::doctor
