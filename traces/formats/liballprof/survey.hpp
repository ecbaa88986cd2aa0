// The first reading of a rank: what its communicators are, and which requests the calls completed that do not say so.
//
// MPI_Test and its like write the address of their flag, MPI_Waitany that of its index. But a variable that held a request is
// posted to again, or left alone, only once the request is complete: so it was completed by the last call that named it before.
#pragma once

#include "traces/formats/liballprof/follow.hpp"

namespace weft::traces::allprof {

class Survey {
 public:
  void add(const Line& line);
  // At the end of the rank.
  void finish();
  [[nodiscard]] bool too_many_named() const { return requests_.too_many_named(); }
  [[nodiscard]] Ahead& ahead() { return ahead_; }
  [[nodiscard]] CommLog& comms() { return table_.log(); }

 private:
  void traffic(const Line& line, LocalComm use);
  void post(const Line& line, const Posting& posting);
  void named(const Line& line, const Naming& naming);
  // Those that polls named since the last call that changed anything.
  void polled();
  // A request is over, unless a wait said so before.
  void over(const Request& r);

  CommTable table_;
  Requests requests_;
  Ahead ahead_;
  std::optional<Naming> polls_;  // of the array that they all name
  std::uint64_t last_poll_ = 0;
  std::uint64_t ordinal_ = 0, calls_ = 0;
  std::uint32_t width_ = 8;
};

}  // namespace weft::traces::allprof
