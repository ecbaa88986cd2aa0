// UnansweredTests: tests of sends whose receives do not come, and how their ranks go on.
//
// A test is local: while its send waits for its receive it says no, and the program goes on. A trace has only the tests that
// said yes, maybe of sends that were eager in the recording, and a replay waits in them (docs/model.md, "Completion of several
// requests"). So ranks may stand still that would not. Then all that wait in tests of such sends alone go on without them:
// the messages stay, and nobody is told of their ends. Synchronous sends are waited for, as their end says that the receive was
// there.
// Complexity: O(ranks and requests of their tests), each time nobody can go on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "replay/messages/transfers.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/ranks/waits.hpp"
#include "replay/why/cause_book.hpp"
#include "replay/why/hindsight.hpp"

namespace weft::replay {

class UnansweredTests {
 public:
  // All outlive it.
  UnansweredTests(Ranks& ranks, Transfers& transfers, Waits& waits, CauseBook& causes, Hindsight& hindsight,
                  const Agenda& agenda)
      : ranks_(ranks),
        transfers_(transfers),
        waits_(waits),
        causes_(causes),
        hindsight_(hindsight),
        agenda_(agenda) {}

  // Nothing can happen any more. False: nor does it now.
  bool let_go();
  // How many went on so, and how long they had waited; none if there were none.
  [[nodiscard]] std::optional<std::string> warning() const;

 private:
  bool let_go(std::uint32_t r);

  Ranks& ranks_;
  Transfers& transfers_;
  Waits& waits_;
  CauseBook& causes_;
  Hindsight& hindsight_;
  const Agenda& agenda_;
  std::uint64_t tests_ = 0;
  Elapsed waited_;
};

}  // namespace weft::replay
