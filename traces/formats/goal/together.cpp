#include "traces/formats/goal/together.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <tuple>

#include "traces/formats/goal/ordering.hpp"

namespace weft::traces::goal {
namespace {

struct Side {
  std::uint32_t rank = 0, op = 0;
};

// Receives are of four kinds: of one source and tag, and from any source, of any tag, or both.
constexpr std::uint32_t kReceiveKinds = 4;
using ReceiveKinds = std::uint8_t;  // a bit for each kind
std::uint32_t receive_kind(std::uint32_t from, std::uint32_t tag) {
  return (from == kAny ? 2u : 0u) + (tag == kAny ? 1u : 0u);
}

// Those that the rank of a schedule has.
ReceiveKinds receive_kinds(const Schedule& schedule) {
  unsigned kinds = 0;
  for (const Operation& op : schedule.ops)
    if (op.kind == Kind::kRecv) kinds |= 1u << receive_kind(op.peer, op.tag);
  return static_cast<ReceiveKinds>(kinds);
}

// Sends and receives that wait for their other side. A send takes the receive that was posted first of those that accept it,
// so does a receive. A send waits once for each kind of receive that its destination has.
class Unmatched {
 public:
  // Of the receives of each rank.
  explicit Unmatched(std::vector<ReceiveKinds> kinds) : kinds_(std::move(kinds)) {}

  // The receive that takes a send, which waits if there is none.
  std::optional<Side> send(const Side& s, std::uint32_t to, std::uint32_t tag) {
    Sides* receives = nullptr;
    Sides::iterator first;
    each_kind(to, [&](std::uint32_t k) {
      const auto it = first_of(receives_[k], key(k, to, s.rank, tag, 0));
      if (it == receives_[k].end() || (receives != nullptr && first->first.order < it->first.order)) return;
      receives = &receives_[k];
      first = it;
    });
    if (receives == nullptr) {
      ++last_;
      each_kind(to, [&](std::uint32_t k) {
        sends_[k].emplace(key(k, to, s.rank, tag, last_), Waiting{s.rank, tag, s.op});
      });
      return std::nullopt;
    }
    const Side r{to, first->second.op};
    receives->erase(first);
    return r;
  }
  // The same of a receive.
  std::optional<Side> receive(const Side& r, std::uint32_t from, std::uint32_t tag) {
    const std::uint32_t kind = receive_kind(from, tag);
    const auto it = first_of(sends_[kind], key(kind, r.rank, from, tag, 0));
    if (it == sends_[kind].end()) {
      receives_[kind].emplace(key(kind, r.rank, from, tag, ++last_), Waiting{from, tag, r.op});
      return std::nullopt;
    }
    const Waiting s = it->second;
    const std::uint64_t order = it->first.order;
    each_kind(r.rank, [&](std::uint32_t k) { sends_[k].erase(key(k, r.rank, s.from, s.tag, order)); });
    return Side{s.from, s.op};
  }

 private:
  struct Key {
    std::uint32_t to = 0, from = 0, tag = 0;
    std::uint64_t order = 0;
    [[nodiscard]] auto tied() const { return std::tie(to, from, tag, order); }
    bool operator<(const Key& o) const { return tied() < o.tied(); }
    [[nodiscard]] bool same_channel(const Key& o) const {
      return to == o.to && from == o.from && tag == o.tag;
    }
  };
  struct Waiting {
    std::uint32_t from = 0, tag = 0, op = 0;
  };
  using Sides = std::map<Key, Waiting>;

  // What a kind of receive does not name is the same for all.
  static Key key(std::uint32_t kind, std::uint32_t to, std::uint32_t from, std::uint32_t tag,
                 std::uint64_t order) {
    return {to, (kind & 2) != 0 ? kAny : from, (kind & 1) != 0 ? kAny : tag, order};
  }
  static Sides::iterator first_of(Sides& sides, const Key& channel) {
    const auto it = sides.lower_bound(channel);
    return it != sides.end() && it->first.same_channel(channel) ? it : sides.end();
  }
  template <class Visit>
  void each_kind(std::uint32_t rank, Visit visit) const {
    for (std::uint32_t k = 0; k < kReceiveKinds; ++k)
      if ((kinds_[rank] >> k & 1) != 0) visit(k);
  }

  std::vector<ReceiveKinds> kinds_;
  std::array<Sides, kReceiveKinds> sends_, receives_;  // by kind of receive
  std::uint64_t last_ = 0;
};

class Together;

// A rank in the middle of its schedule.
class RankOrder final : public Watcher {
 public:
  RankOrder(Together& all, std::uint32_t rank, Schedule& schedule, Program program)
      : all_(all), rank_(rank), ops_(schedule.ops), program_(std::move(program)) {
    drop_doubles(schedule.dependencies);
    not_there_.assign(ops_.size(), 0);
    for (const Dependency& d : schedule.dependencies)
      if ((d.earlier & Dependency::kAtStart) == 0 && ops_[d.earlier].kind != Kind::kCalc)
        ++not_there_[d.later];
    there_.assign(ops_.size(), false);
    awaited_.assign(ops_.size(), false);
    graph_.emplace(schedule);
    ordering_.emplace(ops_, *graph_, place_, program_, this);
  }
  void posted(std::uint32_t v) override;
  void lacking(std::uint32_t v) override {
    if (not_there_[v] == 0) offer(v);
  }
  void begin() { ordering_->begin(); }
  // As far as the order of the file goes. False: the schedule is refused.
  [[nodiscard]] bool go_on();
  // Message v is there. True: all that the rank waits for is.
  [[nodiscard]] bool arrived(std::uint32_t v);
  [[nodiscard]] bool is_there(std::uint32_t v) const { return there_[v]; }
  // Waits for an operation whose messages are all there, rather than for that of the file. False: there is none, or (refused)
  // it cannot be.
  [[nodiscard]] bool take_other(bool& refused);
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] const Operation& op(std::uint32_t v) const { return ops_[v]; }

 private:
  void offer(std::uint32_t v);
  void stop_waiting() {
    for (const std::uint32_t e : waiting_for_) awaited_[e] = false;
    waiting_for_.clear();
    missing_ = 0;
  }

  Together& all_;
  std::uint32_t rank_;
  const std::vector<Operation>& ops_;
  Program program_;
  // Errors are those of the order of the file, which came before.
  Place place_ = [](const Operation&) { return std::string(); };
  std::optional<Graph> graph_;
  std::optional<Ordering> ordering_;
  std::vector<std::uint32_t> not_there_;    // messages that an operation requires and that are not there
  std::vector<bool> there_, awaited_;       // messages
  std::vector<std::uint32_t> waiting_for_;  // those awaited
  std::uint32_t missing_ = 0;               // of them, not there
  LeastFirst<std::uint32_t> others_;        // operations that lacked nothing but waits; some are out of date
  bool over_ = false;
};

class Together {
 public:
  Together(std::vector<Schedule>& schedules, const std::vector<std::uint32_t>& sources, MemoryTrace& out)
      : unmatched_(all_kinds(schedules)) {
    for (std::uint32_t r = 0; r < schedules.size(); ++r)
      ranks_.push_back(
          std::make_unique<RankOrder>(*this, r, schedules[r], Program(out, RankId(r), sources[r])));
  }
  [[nodiscard]] std::optional<std::uint64_t> run();
  void posted(const Side& side);
  void has_other(std::uint32_t rank) { with_others_.push_back(rank); }

 private:
  void there(const Side& side) {
    if (!ranks_[side.rank]->is_there(side.op) && ranks_[side.rank]->arrived(side.op))
      ready_.push_back(side.rank);
  }
  static std::vector<ReceiveKinds> all_kinds(const std::vector<Schedule>& schedules) {
    std::vector<ReceiveKinds> all;
    all.reserve(schedules.size());
    for (const Schedule& s : schedules) all.push_back(receive_kinds(s));
    return all;
  }
  [[nodiscard]] bool take_other(bool& refused);
  [[nodiscard]] bool let_sends_go();

  std::vector<std::unique_ptr<RankOrder>> ranks_;
  Unmatched unmatched_;
  std::deque<std::uint32_t> ready_, with_others_;
  std::vector<Side> sent_;  // sends that were posted, until they are over when they are
  bool sends_go_ = false;
  std::uint64_t others_taken_ = 0;
};

void RankOrder::posted(std::uint32_t v) { all_.posted({rank_, v}); }

void RankOrder::offer(std::uint32_t v) {
  others_.push(v);
  all_.has_other(rank_);
}

bool RankOrder::arrived(std::uint32_t v) {
  there_[v] = true;
  ordering_->each_requiring(v, [this](std::uint32_t w) {
    if (--not_there_[w] == 0 && ordering_->is_lacking(w)) offer(w);
  });
  return awaited_[v] && --missing_ == 0;
}

bool RankOrder::go_on() {
  for (;;) {
    const auto waits = ordering_->start_all();
    if (!waits) return false;
    if (!*waits) {
      over_ = true;
      return ordering_->end().has_value();
    }
    stop_waiting();
    const std::uint32_t next = ordering_->lacks_fewest();
    ordering_->each_lacked(next, [this](std::uint32_t e) {
      if (there_[e]) return;
      awaited_[e] = true;
      waiting_for_.push_back(e);
      ++missing_;
    });
    if (missing_ > 0) return true;
    if (!ordering_->wait_for(next)) return false;
  }
}

bool RankOrder::take_other(bool& refused) {
  while (!others_.empty()) {
    const std::uint32_t v = others_.top();
    others_.pop();
    if (!ordering_->is_lacking(v)) continue;
    stop_waiting();
    refused = !ordering_->wait_for(v) || !go_on();
    return true;
  }
  return false;
}

void Together::posted(const Side& side) {
  const Operation& op = ranks_[side.rank]->op(side.op);
  const bool send = op.kind == Kind::kSend;
  const auto other =
      send ? unmatched_.send(side, op.peer, op.tag) : unmatched_.receive(side, op.peer, op.tag);
  if (send && sends_go_) there(side);
  if (send && !sends_go_ && !other) sent_.push_back(side);
  if (!other) return;
  there(side);
  there(*other);
}

bool Together::take_other(bool& refused) {
  while (!with_others_.empty()) {
    const std::uint32_t r = with_others_.front();
    with_others_.pop_front();
    if (!ranks_[r]->take_other(refused)) continue;
    ++others_taken_;
    return true;
  }
  return false;
}

bool Together::let_sends_go() {
  if (sends_go_) return false;
  sends_go_ = true;
  for (const Side& s : sent_) there(s);
  sent_ = {};
  return true;
}

std::optional<std::uint64_t> Together::run() {
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    ranks_[r]->begin();
    ready_.push_back(r);
  }
  for (;;) {
    while (!ready_.empty()) {
      const std::uint32_t r = ready_.front();
      ready_.pop_front();
      if (!ranks_[r]->go_on()) return std::nullopt;
    }
    if (std::ranges::all_of(ranks_, [](const auto& r) { return r->over(); })) return others_taken_;
    bool refused = false;
    if (take_other(refused) ? refused : !let_sends_go()) return std::nullopt;
  }
}

}  // namespace

std::optional<std::uint64_t> put_in_order_together(std::vector<Schedule>& schedules,
                                                   const std::vector<std::uint32_t>& sources,
                                                   MemoryTrace& out) {
  return Together(schedules, sources, out).run();
}

}  // namespace weft::traces::goal
