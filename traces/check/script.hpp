// The choices of one untimed run (doctor.hpp), and which are left for others: every order of arrival once, depth first.
//
// Two choices of different receives lead to the same, whichever is made first: no other can take what an open one can have. So
// what was tried at a choice *sleeps* below the other options of it until its receive has another message, and a run in which
// all sleep is one that was tried (sleep sets: Godefroid, "Partial-order methods for the verification of concurrent systems",
// LNCS 1032).
// Memory: the choices of one run, and what sleeps there. Complexity: O(options, times what sleeps) a choice.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace weft::traces::doctor {

class Script {
 public:
  // Which message a receive from any source takes. The same in all runs that begin alike.
  struct Option {
    std::uint32_t rank;     // of the receive
    std::uint32_t channel;  // of the message
    std::uint64_t wild;     // order of the receive
    friend bool operator==(const Option&, const Option&) = default;
    [[nodiscard]] bool same_receive(const Option& o) const { return rank == o.rank && wild == o.wild; }
  };
  void begin_run() { at_ = 0; }
  // What the next choice of the run takes of these; none: all sleep. Of a choice that no run made before the last one, which
  // is most unlike what a run without a script takes.
  [[nodiscard]] std::optional<Option> next(std::span<const Option> options);
  // Turns to the next run; false if that was the last.
  [[nodiscard]] bool advance();
  // How many sleep at the choice that was made last.
  [[nodiscard]] std::size_t asleep() const { return at_ == 0 ? 0 : choices_[at_ - 1].asleep.size(); }

 private:
  struct Choice {
    std::optional<Option> taken;  // none: the next run decides
    std::size_t left = 0;         // options to be tried after it
    std::vector<Option> asleep;
  };
  std::vector<Choice> choices_;
  std::size_t at_ = 0;  // choices of this run so far
};

}  // namespace weft::traces::doctor
