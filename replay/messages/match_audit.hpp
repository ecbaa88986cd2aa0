// MatchAudit: does every receive take the message that MPI says (MPI-3.1, section 3.5)? An account beside the Matcher's, with
// none of its queues and indexes: of every rank the receives that are posted and of every channel the messages that are sent,
// each in order.
//  1. A receive takes no message while an earlier one of the same channel, that it would take, too, has none.
//  2. A message goes to no receive while an earlier one of its receiver, that would take it, too, has none.
// Earlier ones are found by what they take, in ordered sets: O(log pending) each.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "replay/messages/message.hpp"

namespace weft::replay {

struct MatchFindings {
  std::uint64_t matches = 0;
  std::uint64_t wrong = 0;
  std::vector<std::string> told;  // the first few of those
};

class MatchAudit {
 public:
  // Rows of the pools of messages and of receives name the two sides; a row may be used again once it matched.
  void sent(std::uint32_t message, const Message& m);
  void posted(std::uint32_t recv, const PostedRecv& r);
  void matched(std::uint32_t message, std::uint32_t recv);
  // Nobody is told of the end of that request any more; or it is taken back.
  void forgotten(std::uint32_t rank, Target target);
  void withdrawn(std::uint32_t rank, Target target);
  [[nodiscard]] const MatchFindings& findings() const { return findings_; }

 private:
  using Channel = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // source, destination, context
  struct Sent {
    Channel channel;
    std::uint64_t number = 0;
  };
  struct Posted {
    std::uint32_t row = 0, context = 0, target = 0;
    std::int32_t source = 0, tag = 0;
    [[nodiscard]] bool takes(std::uint32_t from, std::uint32_t in, std::int32_t with) const;
  };
  // The messages of a channel that have no receive.
  struct Pending {
    std::map<std::uint64_t, std::int32_t> tags;                                  // by number
    std::set<std::pair<std::int32_t, std::uint64_t>> by_tag;                     // tag, number
    [[nodiscard]] bool has_earlier(std::int32_t tag, std::uint64_t than) const;  // of that tag, or kAnyTag
  };
  // The receives of a rank that have no message.
  struct Open {
    std::map<std::uint64_t, Posted> receives;  // by number
    std::set<std::tuple<std::uint32_t, std::int32_t, std::int32_t, std::uint64_t>>
        by_kind;                                                  // context, source, tag, number
    std::set<std::pair<std::uint32_t, std::uint64_t>> by_target;  // target, number
    void add(std::uint64_t number, const Posted& p);
    void remove(std::map<std::uint64_t, Posted>::iterator at);
    [[nodiscard]] bool has_earlier(const Channel& channel, std::int32_t tag, std::uint64_t than) const;
  };
  void tell(std::string what);
  std::map<Channel, Pending> pending_;
  std::unordered_map<std::uint32_t, Open> open_;                                       // by rank
  std::unordered_map<std::uint32_t, Sent> sent_;                                       // by row
  std::unordered_map<std::uint32_t, std::pair<std::uint32_t, std::uint64_t>> posted_;  // by row: rank, number
  std::uint64_t next_ = 0;
  MatchFindings findings_;
};

}  // namespace weft::replay
