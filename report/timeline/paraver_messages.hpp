// Which calls the ends of a message lie in, by when those calls are in a file for Paraver: the send, the receive, and the wait that
// ended it, or the receive again where it blocks.
//
// Calls come rank by rank as they are written, messages as the replay told them; both are joined by operation, then by message, in rows
// on disk. A message whose calls are not all known (not all ranks or times were asked for, or nobody received it) has the times
// of its data instead.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "core/files/sorted_rows.hpp"
#include "report/timeline/timeline.hpp"

namespace weft::report {

// A line of the file, in ns.
struct PrvMessage {
  std::int64_t sent = 0, left = 0;        // logical and physical send
  std::int64_t posted = 0, received = 0;  // logical and physical receive
  std::int64_t bytes = 0;
  std::uint64_t number = 0;  // of the program's messages
  std::uint32_t from = 0, to = 0;
  std::int32_t tag = 0;
};
struct PrvMessagesByTime {
  bool operator()(const PrvMessage& a, const PrvMessage& b) const {
    return std::tie(a.sent, a.number) < std::tie(b.sent, b.number);
  }
};
struct PrvMessages {
  SortedRows<PrvMessage, PrvMessagesByTime> rows;
  std::int64_t last = 0;  // time that one of them has
};

class PrvCalls {
 public:
  explicit PrvCalls(const Timeline& timeline)
      : timeline_(timeline),
        calls_(timeline.beside, timeline.memory / 4),
        ended_(timeline.beside, timeline.memory / 4),
        over_(timeline.ranks, 0) {}

  // Operation `op` of a rank, which sends or receives, is a call from `begin` to `end`.
  void add(std::uint32_t rank, std::uint64_t op, std::int64_t begin, std::int64_t end) {
    calls_.add({op, begin, end, rank});
  }
  // Operation `op`, which starts requests, is several calls: this is the one of its `send`-th send, or of the receive of a request.
  void add_send_of(std::uint32_t rank, std::uint64_t op, std::int64_t begin, std::int64_t end,
                   std::uint32_t send) {
    calls_.add({op, begin, end, rank, send, What::kSend, true});
  }
  void add_receive_of(std::uint32_t rank, std::uint64_t op, std::int64_t begin, std::int64_t end,
                      std::uint32_t request) {
    calls_.add({op, begin, end, rank, request, What::kReceive, true});
  }
  // A call ends the request that `made` made.
  void add_end(const TimelineRequest& request, std::int64_t begin, std::int64_t end) {
    ended_.add({request.made, begin, end, request.rank, request.slot});
  }
  // The last thing that a rank does is over.
  void rank_over(std::uint32_t rank, std::int64_t at) { over_[rank] = at; }

  // All messages of the program.
  [[nodiscard]] Result<PrvMessages> messages() &&;

 private:
  // Which operation an end of a message is of, and then when that call is.
  enum class What : std::uint8_t { kSend, kReceive, kOver };
  struct Call {
    std::uint64_t op = 0;
    std::int64_t begin = 0, end = 0;
    std::uint32_t rank = 0;
    std::uint32_t which = 0;  // of several: of the sends of the operation, from 0, or the request
    What what = What::kSend;
    bool one_of_several = false;
  };
  struct CallsByOp {
    bool operator()(const Call& a, const Call& b) const {
      return std::tie(a.rank, a.op, a.what, a.which) < std::tie(b.rank, b.op, b.what, b.which);
    }
  };
  struct Ended {
    std::uint64_t made = 0;
    std::int64_t begin = 0, end = 0;
    std::uint32_t rank = 0, slot = 0;
  };
  struct EndedByMaker {
    bool operator()(const Ended& a, const Ended& b) const {
      return std::tie(a.rank, a.made, a.slot, a.begin) < std::tie(b.rank, b.made, b.slot, b.begin);
    }
  };
  struct Of {
    std::uint64_t op = 0, number = 0;
    std::uint32_t rank = 0, request = 0;
    What what{};
  };
  struct OfByOp {
    bool operator()(const Of& a, const Of& b) const {
      return std::tie(a.rank, a.op, a.what, a.request, a.number) <
             std::tie(b.rank, b.op, b.what, b.request, b.number);
    }
  };
  struct End {
    std::uint64_t number = 0;
    std::int64_t begin = 0, end = 0;
    What what{};
  };
  struct EndsByMessage {
    bool operator()(const End& a, const End& b) const {
      return std::tie(a.number, a.what, a.begin) < std::tie(b.number, b.what, b.begin);
    }
  };
  using Ends = SortedRows<End, EndsByMessage>;
  [[nodiscard]] Result<Ends> ends();
  [[nodiscard]] PrvMessage line(const replay::MessageSeen& m, const Call* const (&in)[3]) const;

  const Timeline& timeline_;
  SortedRows<Call, CallsByOp> calls_;
  SortedRows<Ended, EndedByMaker> ended_;
  std::vector<std::int64_t> over_;  // by rank
};

}  // namespace weft::report
