// An OTF2 archive being written: the only file that calls the writing side of the OTF2 library.
//
// Ranks are written one after the other; definitions come last, when all is known. The archive appears whole: it is
// written beside its place and renamed by commit().
// Memory: one chunk of events, the names, and 16 bytes a location. Times are picoseconds from 0 on; the clock
// of the archive is at 1 then.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/files/work_folder.hpp"
#include "core/result.hpp"
#include "traces/trace.hpp"

namespace weft::traces::otf2 {

// Regions: one for each kind of operation (named after its MPI function), those of the program, and behind these what an archive
// names besides (ArchiveWriter::named).
[[nodiscard]] inline std::uint32_t region_of(OpKind kind) {
  return static_cast<std::uint32_t>(kind) - static_cast<std::uint32_t>(OpKind::send);  // computation has none
}
[[nodiscard]] inline std::uint32_t region_of(std::int64_t region) {
  return static_cast<std::uint32_t>(kOpKindCount) - static_cast<std::uint32_t>(OpKind::send) +
         static_cast<std::uint32_t>(region);
}

class ArchiveWriter {
 public:
  // `path`: a directory that does not exist, or is empty. Errors: kUsage, kBadInput.
  static Result<std::unique_ptr<ArchiveWriter>> open(const std::string& path);
  ~ArchiveWriter();
  ArchiveWriter(const ArchiveWriter&) = delete;
  ArchiveWriter& operator=(const ArchiveWriter&) = delete;

  // Ranks come first, all of them, each once.
  void begin_rank(std::uint32_t rank);
  // A lane of a rank's accelerator: a location of its own, of which regions are written only.
  void begin_lane(std::uint32_t rank, std::uint32_t lane);
  // Events of the rank or lane, times never falling. Failures (disk full) are remembered for commit().
  void enter(std::int64_t time, std::uint32_t region);
  void leave(std::int64_t time, std::uint32_t region);
  // A region that is neither a call of MPI nor one of `trace`; the same number for the same name.
  [[nodiscard]] std::uint32_t named(const TraceReader& trace, const std::string& name);
  void send(std::int64_t time, std::uint32_t peer, std::uint32_t comm, std::int32_t tag, std::int64_t bytes);
  void isend(std::int64_t time, std::uint32_t peer, std::uint32_t comm, std::int32_t tag, std::int64_t bytes,
             std::uint64_t request);
  void isend_complete(std::int64_t time, std::uint64_t request);
  void irecv_request(std::int64_t time, std::uint64_t request);
  void recv(std::int64_t time, std::uint32_t peer, std::uint32_t comm, std::int32_t tag, std::int64_t bytes);
  void irecv(std::int64_t time, std::uint32_t peer, std::uint32_t comm, std::int32_t tag, std::int64_t bytes,
             std::uint64_t request);
  void request_test(std::int64_t time, std::uint64_t request);
  void request_cancelled(std::int64_t time, std::uint64_t request);
  // `op`: OTF2_CollectiveOp; `root` kNoRoot = none.
  static constexpr std::uint32_t kNoRoot = 0xffffffffu;
  void collective_begin(std::int64_t time);
  void collective_end(std::int64_t time, std::uint8_t op, std::uint32_t comm, std::uint32_t root,
                      std::uint64_t sent, std::uint64_t received);
  void icollective_request(std::int64_t time, std::uint64_t request);
  void icollective_complete(std::int64_t time, std::uint8_t op, std::uint32_t comm, std::uint32_t root,
                            std::uint64_t sent, std::uint64_t received, std::uint64_t request);
  void comm_create(std::int64_t time, std::uint32_t comm);
  void comm_destroy(std::int64_t time, std::uint32_t comm);
  // Of the events of this rank or lane so far, the time outside of calls of MPI: what who reads them takes for computation.
  [[nodiscard]] std::int64_t outside_calls() const { return outside_calls_; }
  void end_events();

  // Definitions of the trace, and the archive gets its name.
  Result<void> commit(const TraceReader& trace);

 private:
  struct Library;
  explicit ArchiveWriter(std::string path);
  void begin(std::uint64_t location);
  void check(int code);
  [[nodiscard]] std::string reason() const;  // ": No space left on device"; "" where nothing failed
  void define(const TraceReader& trace);
  [[nodiscard]] std::uint32_t text(const std::string& s);
  [[nodiscard]] Result<void> settle() const;

  std::string path_;
  WorkFolder folder_;  // where it grows
  std::unique_ptr<Library> library_;
  std::vector<std::uint64_t> events_;  // of each location
  std::int64_t last_time_ = 0;
  std::int64_t outside_calls_ = 0, outside_since_ = 0;
  std::uint64_t calls_open_ = 0;
  int failed_ = 0;  // the library's first error
  std::unordered_map<std::string, std::uint32_t> strings_;
  struct Lane {
    std::uint32_t rank, lane;
  };
  std::vector<Lane> lanes_;         // whose events are behind those of ranks in events_
  std::vector<std::string> named_;  // by number of the region, from the one behind those of the trace on
  std::vector<bool> made_;          // communicators with an event of their making
};

}  // namespace weft::traces::otf2
