#include "traces/formats/goal/file_order.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "traces/formats/goal/posts.hpp"

namespace weft::traces::goal {
namespace {

// Which of those that are ready goes first: the least.
enum Class : std::uint8_t { kPass, kReceive, kSend, kComputation };

Class class_of(const Operation& o) {
  switch (o.kind) {
    case Kind::kRecv:
      return kReceive;
    case Kind::kSend:
      return kSend;
    case Kind::kCalc:
      break;
  }
  return o.size == 0 ? kPass : kComputation;
}

class FileOrder {
 public:
  FileOrder(const Schedule& s, Program& out)
      : ops_(s.ops),
        next_(s.dependencies.data()),
        last_dependency_(next_ + s.dependencies.size()),
        rows_(s.ops.size()),
        slots_(s.ops.size()),
        posts_(s.ops, slots_, out) {}
  [[nodiscard]] bool run() {
    for (std::uint32_t v = 0; v < ops_.size(); ++v) {
      const std::span<const Dependency> mine = dependencies_of(v);
      // The halves of a sendrecv are ready together: receives go first.
      if (v + 1 < ops_.size() && ops_[v].kind == Kind::kSend && ops_[v + 1].kind == Kind::kRecv) {
        const std::span<const Dependency> next = dependencies_of(v + 1);
        const bool halves = std::ranges::equal(mine, next, {}, &Dependency::earlier, &Dependency::earlier);
        if (halves ? !turn(v + 1, next, v) || !turn(v, mine, v)
                   : !turn(v, mine, v) || !turn(v + 1, next, v + 1))
          return false;
        ++v;
      } else if (!turn(v, mine, v)) {
        return false;
      }
    }
    if (next_ != last_dependency_ || posts_.too_many()) return false;
    posted_.clear();
    for (std::uint32_t v = 0; v < ops_.size(); ++v)
      if (rows_[v].over == 0) posted_.push_back(v);
    if (!posted_.empty()) posts_.wait(posted_, ops_.back().line);
    return true;
  }

 private:
  using Time = std::uint32_t;  // how many starts and waits there were; none is at 0
  struct Row {
    Time start = 0, over = 0;       // over: 0, a message that was not waited for
    std::uint32_t over_before = 0;  // messages that were over when it started
  };
  // REQUIRES: asked of each in the order of the file.
  [[nodiscard]] std::span<const Dependency> dependencies_of(std::uint32_t v) {
    const Dependency* const from = next_;
    while (next_ != last_dependency_ && next_->later == v) ++next_;
    return {from, next_};
  }
  // v is next, and requires what `required` names. If that is waited for, `first` waits, the first of those in the file that require it.
  [[nodiscard]] bool turn(std::uint32_t v, std::span<const Dependency> required, std::uint32_t first);
  [[nodiscard]] Time last_message() const { return std::max(last_of_[kReceive], last_of_[kSend]); }

  const std::vector<Operation>& ops_;
  const Dependency* next_;
  const Dependency* const last_dependency_;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> slots_;
  Posts posts_;
  std::vector<std::uint32_t> posted_;
  Time now_ = 0;
  std::uint32_t over_ = 0;         // messages
  std::array<Time, 4> last_of_{};  // start of the last one of a class
  Time posted_before_wait_ = 0;    // start of the last message before the last wait
  Time first_send_ = 0;  // start of the first send since the last wait or computation; 0: there was none
  Time late_send_ = 0;   // when last a send became ready after such a one
};

bool FileOrder::turn(std::uint32_t v, std::span<const Dependency> required, std::uint32_t first) {
  posted_.clear();
  Row since;  // of those that it requires the one that started last: it lacks none since then, but ends of messages
  Time ready = 0;
  for (const Dependency& d : required) {
    const bool at_start = (d.earlier & Dependency::kAtStart) != 0;
    const std::uint32_t e = d.earlier & ~Dependency::kAtStart;
    if (e >= v) return false;  // not started
    const Row& row = rows_[e];
    const Class c = class_of(ops_[e]);
    if (row.start > since.start) since = row;
    if (at_start) {
      if (c == kComputation) return false;  // beside it
      continue;
    }
    ready = std::max(ready, row.over);
    if (row.over == 0) posted_.push_back(e);
  }
  if (since.over_before != over_) {
    // Others were waited for since then: right, if it lacked all of them.
    std::uint32_t lacked = 0;
    for (const Dependency& d : required)
      lacked += (d.earlier & Dependency::kAtStart) == 0 && rows_[d.earlier].over > since.start ? 1 : 0;
    if (lacked != over_ - since.over_before || posted_before_wait_ > since.start) return false;
  }
  if (!posted_.empty()) {
    posted_before_wait_ = last_message();
    if (posted_before_wait_ > since.start) return false;
    first_send_ = 0;
    ++now_;
    posts_.wait(posted_, ops_[first].line);
    for (const std::uint32_t e : posted_) rows_[e].over = now_;
    over_ += static_cast<std::uint32_t>(posted_.size());
    ready = now_;
  }
  ready = std::max(ready, since.start);
  if (last_of_[kComputation] > since.start) return false;
  const Class mine = class_of(ops_[v]);
  for (unsigned c = mine + 1u; c < kComputation; ++c)
    if (last_of_[c] > ready) return false;
  if (mine == kComputation && late_send_ >= ready && late_send_ != 0) return false;
  if (mine == kSend && first_send_ != 0 && ready >= first_send_) late_send_ = std::max(late_send_, ready);
  ++now_;
  if (mine == kComputation) first_send_ = 0;
  if (mine == kSend && first_send_ == 0) first_send_ = now_;
  last_of_[mine] = now_;
  const bool message = mine == kReceive || mine == kSend;
  rows_[v] = {now_, message ? 0 : now_, over_};
  if (message)
    posts_.post(v);
  else if (mine == kComputation)
    posts_.compute(v);
  return true;
}

}  // namespace

bool put_in_file_order(const Schedule& schedule, Program& out) {
  if (!FileOrder(schedule, out).run()) return false;
  out.flush();
  return true;
}

}  // namespace weft::traces::goal
