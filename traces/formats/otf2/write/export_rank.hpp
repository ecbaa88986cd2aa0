// Operations of one rank -> events of its location, at the times that the caller says.
//
// What comes back from reading the archive are the same messages, completions, collectives and communicators in the same
// order (docs/otf2.md). What OTF2 has no record for is refused with the position of the operation, or, where nothing of
// it moves data (probes, polls, launches of kernels and waits for them), kept as a region only.
// Memory: the request slots in use, receives that were freed, and of each communicator that the rank uses where it stands
// in it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "traces/formats/otf2/write/archive_writer.hpp"
#include "traces/formats/otf2/write/replayed.hpp"
#include "traces/request_book.hpp"

namespace weft::traces::otf2 {

// What the receives of a rank took in a replay, found by who posted them in O(log receives).
class Matches {
 public:
  explicit Matches(std::vector<OpMatch> all);
  [[nodiscard]] const OpMatch* find(std::uint64_t op, std::uint32_t request) const;

 private:
  std::vector<OpMatch> all_;  // by operation and request
};

[[nodiscard]] std::string kernel_name(Kernel kernel);

class RankExporter {
 public:
  // `matches`: of a replay; none: receives took what they took in the recording.
  RankExporter(const TraceReader& trace, std::uint32_t rank, ArchiveWriter& out,
               std::optional<Matches> matches = {})
      : trace_(trace), rank_(rank), out_(out), matches_(std::move(matches)) {}

  // An operation that is no computation, from `begin` to `end` (picoseconds). Errors: kNotSupported.
  Result<void> write(const Op& op, std::span<const std::int64_t> list, std::uint64_t index,
                     std::int64_t begin, std::int64_t end);
  // What nothing completed and has no record yet: receives, freed ones, too, and collectives. Of a replay: receives that
  // took a message there, or were cancelled.
  [[nodiscard]] bool something_is_left() const { return !left().empty(); }
  // Waits for it at `time`. To be called behind the last operation; write() does so before a finalize.
  // Errors: kNotSupported.
  Result<void> wait_for_what_is_left(std::int64_t time);

 private:
  struct Posted {
    std::uint64_t id = 0;  // OTF2's number of the request
    std::uint64_t by = 0;  // the operation that posted or started it
    bool cancelled = false;
    std::vector<std::int64_t> list;  // of the operation that made it, of a persistent one of its start
  };
  // A request that nothing completed.
  struct Left {
    Op op;  // that made it
    std::uint64_t index = 0;
    Posted posted;
    std::uint32_t slot = kNoRequest;
  };
  struct Matched {
    std::int64_t peer, tag, bytes;
  };
  // A receive that `by` posted for `request`: what it took; nothing where that is not known, or no message came.
  [[nodiscard]] std::optional<Matched> matched(const Op& op, std::span<const std::int64_t> list,
                                               std::uint64_t by, std::uint32_t request) const;
  [[nodiscard]] Error unknown_match(const Op& op, std::uint64_t index) const;
  struct Totals {
    std::uint64_t sent = 0, received = 0;
  };
  // Whether an archive may have a message of so many bytes.
  [[nodiscard]] Result<void> in_range(const Op& op, std::int64_t bytes, std::uint64_t index) const;
  [[nodiscard]] Error cannot(const Op& op, std::uint64_t index, const std::string& why) const;
  // Rank of a world rank in a communicator.
  [[nodiscard]] std::uint32_t rank_in(CommId comm, std::int64_t world);
  Result<void> send(const Op& op, std::int64_t time);
  Result<void> receive(const Op& op, std::span<const std::int64_t> list, std::uint64_t index,
                       std::int64_t time);
  Result<void> post(const Op& op, std::span<const std::int64_t> list, std::uint64_t index, std::int64_t time);
  void start(std::uint32_t slot, std::span<const std::int64_t> list, std::uint64_t index, std::int64_t time);
  void post_now(const Op& op, std::uint64_t index, std::int64_t time);
  Result<void> complete(const Op& op, std::span<const std::int64_t> list, std::uint64_t index,
                        std::int64_t time);
  Result<void> complete_receive(const Op& completion, const Op& op, const Posted& p, std::uint32_t slot,
                                std::uint64_t posted, std::int64_t time);
  Result<void> complete_one(const Op& completion, std::uint32_t slot, std::uint64_t index, std::int64_t time);
  Result<void> complete_collective(const Op& op, const Posted& p, std::uint64_t index, std::int64_t time);
  [[nodiscard]] static bool goes_on(const RequestBook::Entry& e);
  [[nodiscard]] std::vector<Left> left() const;
  void free(std::uint32_t slot);
  Result<void> collective(const Op& op, std::span<const std::int64_t> list, std::uint64_t index,
                          std::int64_t begin, std::int64_t end);
  Result<Totals> totals(const Op& op, std::span<const std::int64_t> list, std::uint64_t index);
  void make_comm(const Op& op, std::int64_t begin, std::int64_t end);
  Result<void> launch(const Op& op, std::span<const std::int64_t> list, std::uint64_t index,
                      std::int64_t begin, std::int64_t end);
  // Of something else than calls of MPI: its time is the program's.
  void stretch(const std::string& name, std::int64_t begin, std::int64_t end);

  const TraceReader& trace_;
  const std::uint32_t rank_;
  ArchiveWriter& out_;
  const std::optional<Matches> matches_;
  RequestBook requests_;
  std::unordered_map<std::uint32_t, Posted> posted_;  // by slot
  std::vector<Left> freed_;
  std::uint64_t next_id_ = 0;
  std::unordered_map<std::uint32_t, std::unordered_map<std::int32_t, std::uint32_t>>
      ranks_in_;  // by communicator
  bool in_sendrecv_ = false;
};

}  // namespace weft::traces::otf2
