// The records of one task to operations.
//
// It runs twice over them: a first time it counts (Survey), a second time it is given what the records of all tasks tell together, and
// makes the same operations. What a record means may depend on the call of MPI that it is in, which events tell: Dimemas has one
// record for all sends that wait for their receive. Its memory: requests that are outstanding, and for each communicator a count.
//
// - Bursts that follow each other are one computation.
// - A wait names no request: it completes the oldest receive of its source, tag and communicator, as in Dimemas; what ends
//   in one call of MPI_Waitall, MPI_Waitsome and so on is one operation. A wait for what was not posted receives it.
// - Of a send that does not block nobody knows when the program waits for it: its request is freed at once, unless the trace names it. What else
//   is not waited for when the task ends is waited for there, before its MPI_Finalize.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "traces/formats/dimemas/channels.hpp"
#include "traces/formats/dimemas/collective_log.hpp"
#include "traces/formats/dimemas/losses.hpp"
#include "traces/formats/dimemas/mpi_calls.hpp"
#include "traces/formats/dimemas/record.hpp"
#include "traces/formats/request_table.hpp"
#include "traces/op_rules.hpp"

namespace weft::traces::dimemas {

// What all tasks share.
struct Shared {
  Shared(const Groups& g, std::string_view of) : groups(g), format(of), channels(g), collectives(g) {}
  const Groups& groups;
  std::string_view format;  // "a Dimemas trace"
  Channels channels;
  CollectiveLog collectives;
};

class Translator {
 public:
  // Requests in the list of one waitall.
  static constexpr std::size_t kMostWaits = 1u << 16;
  // Operations that one record makes at most, and the end of a task.
  static constexpr std::size_t kMostOps = 6 + kMaxRequestSlots / kMostWaits;

  // `losses`: of a first pass, else null.
  Translator(Shared& shared, std::uint32_t task, Losses* losses)
      : shared_(shared), task_(task), losses_(losses) {}

  // Appends what the record means to `out`. False: the error is in `f`, which is of its line.
  [[nodiscard]] bool add(const Record& r, std::uint64_t line, Fields& f, OpBlock& out);
  // At the end of the task.
  void finish(OpBlock& out);

 private:
  void push(Op op, OpBlock& out);
  void flush_compute(OpBlock& out);
  void flush_waits(OpBlock& out);
  bool send(const Record& r, Fields& f, OpBlock& out);
  bool receive(const Record& r, Fields& f, OpBlock& out);
  bool collective(const Record& r, std::uint64_t line, Fields& f, OpBlock& out);
  bool wait_for_collective(const Record& r, OpBlock& out);
  bool named_request(const Record& r, Op& op, Fields& f, OpBlock& out);
  void end_request(const Record& r, OpBlock& out);
  bool make_comm(const Record& r, Fields& f, OpBlock& out);
  bool kind_of(const Record& r, Fields& f, OpKind& out) const;
  void event(const Record& r, OpBlock& out);
  void leave(OpBlock& out);
  void wait_for_the_rest(OpBlock& out);
  bool post(Op& op, const RequestTable::Key& key, bool receive, Fields& f);
  // Whether all that ends in the call ends together.
  [[nodiscard]] bool is_in_waits() const {
    return call_ != nullptr && (call_->role == CallRole::waitall || call_->role == CallRole::waits);
  }
  // Of those that the trace names.
  static constexpr std::int32_t kNamedRequest = -4;
  [[nodiscard]] static RequestTable::Key key_of_request(std::int64_t number) {
    return {kNamedRequest, static_cast<std::int32_t>(number >> 32), static_cast<std::int32_t>(number)};
  }
  [[nodiscard]] RequestTable::Key key_of(const Record& r) const {
    // The communicator is part of what a wait names. Numbers of prv2dim are its INT32.
    return {r.partner, static_cast<std::int32_t>(r.communicator), r.tag};
  }

  Shared& shared_;
  std::uint32_t task_;
  Losses* losses_;
  RequestTable requests_;
  std::unordered_map<std::uint32_t, std::uint64_t> calls_;  // that are kept (CollectiveLog), by communicator
  std::int64_t compute_ps_ = 0;
  std::vector<std::int64_t> waits_;  // of the MPI_Waitall, MPI_Testsome... that it is in
  const MpiCall* call_ = nullptr;    // that it is in, if it is one of the table
  std::int64_t type_ = 0;            // of that call
  // Since the last call ended: Extrae's own translator writes collectives before the event that begins the call.
  bool message_seen_ = false, collective_seen_ = false, made_seen_ = false;
};

}  // namespace weft::traces::dimemas
