// The rows of one task to the records that a Dimemas trace of it has, as Dimemas 5.5's prv2dim translates them.
//
// Computation is the time between calls of MPI, and behind the last one that up to the last event. The ends of a message are of the call that they lie in: a send has its logical send, a
// receive its logical receive, a wait the physical receives of what it completed; in MPI_Sendrecv the receive is posted first. Where
// one call ends at the instant at which another begins, the one that has none yet takes it; of receives the one that blocks what is received
// soonest, and MPI_Sendrecv waits for its own. Simulators write the physical receive where
// the data are there, before the wait: then it is of the next MPI_Waitall, or the next MPI_Wait that has none. A collective has what the events beside
// the one that begins its call say of it; MPI_Init is a barrier. Where events say requests (events.hpp), a call ends those of sends and
// collectives that it names.
//
// Memory: the rows of one instant (kMostRows), and a number for each receive that is posted. O(1) a row, O(log n) of n receives that are
// posted at one instant.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/formats/dimemas/losses.hpp"
#include "traces/formats/dimemas/mpi_calls.hpp"
#include "traces/formats/dimemas/record.hpp"
#include "traces/formats/paraver/rows.hpp"

namespace weft::traces::paraver {

class Calls {
 public:
  // A record and the line that it is of.
  struct Made {
    dimemas::Record record;
    std::uint64_t line = 0;
  };

  // `losses`: of a first reading, else null.
  Calls(const Head& head, std::uint32_t task, dimemas::Losses* losses)
      : head_(head), task_(task), losses_(losses) {}

  // Of one task at one time.
  static constexpr std::size_t kMostRows = 1u << 20;

  // Rows in their order; appends to `out` what is known once the time goes on. False: there are too many rows of this time.
  [[nodiscard]] bool add(const Row& row, std::vector<Made>& out) {
    if (!instant_.empty() && row.time != instant_.front().time) end_instant(out);
    instant_.push_back(row);
    return instant_.size() <= kMostRows;
  }
  // At the end of the task, whose last event was then.
  void finish(std::int64_t last_event, std::vector<Made>& out);

 private:
  // A call that is open, or was at this instant.
  struct Call {
    std::int64_t type = 0, value = 0;
    std::uint64_t line = 0;
    bool before = false;                                  // it began at an earlier time
    bool sent = false, posted = false;                    // it has a message of this kind
    std::optional<std::uint64_t> receives;                // the message, of MPI_Sendrecv
    std::uint64_t received = 0;                           // waits that it has
    std::vector<const Row*> ends;                         // of messages, of this instant
    std::vector<Made> held;                               // of MPI_Sendrecv, up to its end
    std::array<std::int64_t, 4> said = {-1, -1, -1, -1};  // kSentSize and so on
    std::vector<std::int64_t> requests;                   // kRequest
    std::size_t given = 0;                                // of them, to sends
    std::int64_t communicator = 0;                        // of its messages
    std::optional<std::int64_t> made;                     // kMadeCommunicator
    std::int64_t started_as = 0;                          // kStartedAs; 0: not said
  };
  struct Mark {  // an event of the instant
    std::size_t call;
    bool begins;
    std::uint64_t line;
  };

  void end_instant(std::vector<Made>& out);
  void collect_calls(std::vector<Call>& calls, std::vector<Mark>& marks);
  void give_ends(std::vector<Call>& calls);
  struct Given {
    Call* call;
    const Row* row;
  };
  static void give_blocking_the_soonest(std::vector<Given>& posted);
  [[nodiscard]] static bool takes(const Call& call, Row::What what);
  void begin(Call& call, std::int64_t time, std::vector<Made>& out);
  void end(Call& call, std::int64_t time, std::uint64_t line, std::vector<Made>& out);
  void say(Call& call, const Row& row) const;
  [[nodiscard]] dimemas::Record record_of(const Row& row, const Call& of) const;
  void take_what_is_there(const Call& call, std::vector<Made>& out);
  void put_ends(Call& call, std::vector<Made>& out);
  static void put_held(Call& call, std::vector<Made>& out);
  void put_collective(const Call& call, std::vector<Made>& out);
  void put_made_communicator(const Call& call, std::vector<Made>& out);
  void put_request_ends(const Call& call, std::uint64_t line, std::vector<Made>& out);
  void put(dimemas::Record r, std::uint64_t line, std::vector<Made>& out);

  const Head& head_;
  std::uint32_t task_;
  dimemas::Losses* losses_;
  std::vector<Row> instant_;
  std::vector<Call> open_;       // none, or the call that goes on
  std::int64_t idle_since_ = 0;  // the end of the last call
  // Receives that were posted and are not over, by message: whether a wait is to complete them.
  std::unordered_map<std::uint64_t, bool> posted_;
  std::deque<Row> there_;                 // physical receives before any wait, of receives that are posted
  std::deque<std::int64_t> collectives_;  // communicators of those that are under way
};

}  // namespace weft::traces::paraver
