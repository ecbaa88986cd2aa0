#include "schedule/coloring/edge_coloring.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "core/check.hpp"

namespace weft::schedule {
namespace {

constexpr double kParts = 1 << 20;
// Moves for which a message does not come back: at least, drawn from, and for each place that is asked for too much.
constexpr std::uint64_t kTabu = 1;
constexpr std::uint64_t kTabuDrawn = 10;
constexpr double kTabuEach = 0.6;
constexpr std::uint32_t kNoMessage = 0xffffffffu;

// Which message each rank sends in a step, the last step first, as if ports were all there is: every rank that still has that
// many one, to as many receivers as can be, first of all those that need one in every step that is left.
class Matching {
 public:
  Matching(const Exchange& e, Rng& rng)
      : e_(e), out_(e.ranks), in_(e.ranks), left_(e.ranks, 0), sent_(e.messages.size(), 0), ranks_(e.ranks) {
    std::vector<std::uint32_t> drawn(e.messages.size());
    std::iota(drawn.begin(), drawn.end(), 0u);
    rng.shuffle(std::span(drawn));
    for (const std::uint32_t m : drawn) {
      out_[e.messages[m].src].push_back(m);
      in_[e.messages[m].dst].push_back(m);
      ++left_[e.messages[m].dst];
    }
    std::iota(ranks_.begin(), ranks_.end(), 0u);
    seen_.assign(e.ranks, 0);
  }

  // By sender; kNoMessage: none, it has no more than `step`. Call with descending steps.
  const std::vector<std::uint32_t>& of(std::uint32_t step, Rng& rng) {
    step_ = step;
    from_.assign(e_.ranks, kNoMessage);
    to_.assign(e_.ranks, kNoMessage);
    rng.shuffle(std::span(ranks_));
    for (const std::uint32_t r : ranks_) {
      ++search_;
      if (e_.sends(r) > step) (void)send(r);
    }
    for (const std::uint32_t r : ranks_) {
      ++search_;
      if (left_[r] > step && to_[r] == kNoMessage) (void)receive(r);
    }
    for (std::uint32_t r = 0; r < e_.ranks; ++r) {
      if (e_.sends(r) <= step) continue;
      if (from_[r] == kNoMessage)
        from_[r] =
            *std::find_if(out_[r].begin(), out_[r].end(), [&](std::uint32_t m) { return sent_[m] == 0; });
      sent_[from_[r]] = 1;
      --left_[e_.messages[from_[r]].dst];
    }
    return from_;
  }

 private:
  // Augmenting paths: a rank gets a message to send, others send others instead.
  bool send(std::uint32_t rank) {
    for (const std::uint32_t m : out_[rank]) {
      const std::uint32_t dst = e_.messages[m].dst;
      if (sent_[m] != 0 || seen_[dst] == search_) continue;
      seen_[dst] = search_;
      if (to_[dst] != kNoMessage && !send(e_.messages[to_[dst]].src)) continue;
      to_[dst] = m;
      from_[rank] = m;
      return true;
    }
    return false;
  }
  // The same for one to receive; at the end of the path one that can wait goes without.
  bool receive(std::uint32_t rank) {
    for (const std::uint32_t m : in_[rank]) {
      const std::uint32_t src = e_.messages[m].src;
      if (sent_[m] != 0 || e_.sends(src) <= step_ || seen_[src] == search_) continue;
      seen_[src] = search_;
      if (from_[src] != kNoMessage) {
        const std::uint32_t other = e_.messages[from_[src]].dst;
        if (left_[other] > step_ && !receive(other)) continue;
        if (left_[other] <= step_) to_[other] = kNoMessage;
      }
      to_[rank] = m;
      from_[src] = m;
      return true;
    }
    return false;
  }

  const Exchange& e_;
  std::vector<std::vector<std::uint32_t>> out_;  // messages by sender, in random order
  std::vector<std::vector<std::uint32_t>> in_;   // by receiver
  std::vector<std::uint32_t> left_;              // messages that a rank has still to receive
  std::vector<std::uint8_t> sent_;
  std::vector<std::uint32_t> ranks_;  // in random order
  std::uint32_t step_ = 0;
  std::vector<std::uint32_t> from_;  // message by sender
  std::vector<std::uint32_t> to_;    // by receiver
  std::vector<std::uint64_t> seen_;  // by rank: the search that saw it
  std::uint64_t search_ = 0;
};

}  // namespace

EdgeColoring::EdgeColoring(const Workload& workload, double bound_s)
    : w_(workload),
      e_(workload.exchange),
      steps_(e_.most_sends()),
      lanes_(workload.lanes()),
      longest_(steps_, 0),
      room_(steps_, 0),
      load_(std::size_t{steps_} * lanes_, 0),
      step_(workload.messages()),
      at_(load_.size()),
      tabu_(std::size_t{workload.messages()} * steps_),
      best_order_(workload.messages()) {
  double longest_s = 0;
  for (std::uint32_t m = 0; m < w_.messages(); ++m)
    for (const std::uint32_t l : w_.lanes_of(m)) longest_s = std::max(longest_s, w_.seconds_in(m, l));
  WEFT_CHECK(longest_s > 0, "an exchange that takes no time");
  // Needs are rounded down and the bound up, so that what fits is not refused.
  const double part_s = longest_s / kParts;
  bound_ = static_cast<Load>(std::ceil(bound_s / part_s));
  std::vector<Load> own;
  on_start_.assign(lanes_ + std::size_t{1}, 0);
  for (std::uint32_t r = 0; r < e_.ranks; ++r) {
    own.clear();
    for (std::uint32_t m = e_.first[r]; m < e_.first[r + 1]; ++m) {
      own.push_back(0);
      for (const std::uint32_t l : w_.lanes_of(m)) {
        need_.push_back(static_cast<Load>(std::floor(w_.seconds_in(m, l) / part_s)));
        own.back() = std::max(own.back(), need_.back());
        ++on_start_[l + 1];
      }
    }
    std::sort(own.begin(), own.end(), std::greater<>());
    for (std::size_t k = 0; k < own.size(); ++k) longest_[k] = std::max(longest_[k], own[k]);
  }
  std::partial_sum(on_start_.begin(), on_start_.end(), on_start_.begin());
  on_.resize(w_.lane.size());
  std::vector<std::uint32_t> next(on_start_.begin(), on_start_.end() - 1);
  for (std::uint32_t m = 0; m < w_.messages(); ++m)
    for (const std::uint32_t l : w_.lanes_of(m)) on_[next[l]++] = m;
}

// The first way leaves all that is left to the last step, which fewest ranks take part in; the second shares it out evenly, in
// whole messages, the last steps first; all others draw.
void EdgeColoring::share_out(std::uint64_t way, Rng& rng) {
  room_ = longest_;
  Load left = bound_ - std::accumulate(room_.begin(), room_.end(), Load{0});
  const auto part = static_cast<Load>(kParts);
  for (std::uint32_t k = steps_ - 1; left > 0; k = k > 0 ? k - 1 : steps_ - 1) {
    const Load more = way == 0 ? left : std::min(left, part);
    room_[way < 2 ? k : rng.below(steps_)] += more;
    left -= more;
  }
}

void EdgeColoring::load(std::uint32_t message, std::uint32_t step, Load sign) {
  std::size_t i = w_.lane_start[message];
  for (const std::uint32_t l : w_.lanes_of(message)) {
    const std::size_t place = std::size_t{step} * lanes_ + l;
    const Load before = std::max(Load{0}, load_[place] - room_[step]);
    load_[place] += sign * need_[i++];
    const Load after = std::max(Load{0}, load_[place] - room_[step]);
    excess_ += after - before;
    if (before == 0 && after > 0) {
      at_[place] = static_cast<std::uint32_t>(over_.size());
      over_.push_back(static_cast<std::uint32_t>(place));
    } else if (before > 0 && after == 0) {
      at_[over_.back()] = at_[place];
      over_[at_[place]] = over_.back();
      over_.pop_back();
    }
  }
}

// Two messages of one rank change places.
void EdgeColoring::exchange(std::uint32_t a, std::uint32_t b) {
  load(a, step_[a], -1);
  load(b, step_[b], -1);
  std::swap(step_[a], step_[b]);
  load(a, step_[a], 1);
  load(b, step_[b], 1);
}

// From a coloring that is proper for ports, where there is one, or from any.
void EdgeColoring::begin(bool matched, Rng& rng) {
  std::fill(load_.begin(), load_.end(), 0);
  std::fill(tabu_.begin(), tabu_.end(), 0);
  over_.clear();
  excess_ = 0;
  if (matched) {
    Matching matching(e_, rng);
    for (std::uint32_t k = steps_; k-- > 0;)
      for (const std::uint32_t m : matching.of(k, rng))
        if (m != kNoMessage) step_[m] = k;
  } else {
    for (std::uint32_t r = 0; r < e_.ranks; ++r) {
      const auto steps = std::span(step_).subspan(e_.first[r], e_.sends(r));
      std::iota(steps.begin(), steps.end(), 0u);
      rng.shuffle(steps);
    }
  }
  for (std::uint32_t m = 0; m < w_.messages(); ++m) load(m, step_[m], 1);
}

void EdgeColoring::keep() {
  best_ = excess_;
  for (std::uint32_t m = 0; m < w_.messages(); ++m) best_order_[e_.first[e_.messages[m].src] + step_[m]] = m;
}

// One exchange: the best of those that a place that is asked for too much could have.
bool EdgeColoring::improve(Rng& rng, std::uint64_t move, std::uint64_t& tries) {
  const std::uint32_t place = over_[rng.below(over_.size())];
  const std::uint32_t step = place / lanes_;
  const std::uint32_t lane = place % lanes_;
  const auto tabu = [&](std::uint32_t m, std::uint32_t to) -> std::uint64_t& {
    return tabu_[std::size_t{m} * steps_ + to];
  };
  Load least = 0;
  std::uint32_t equal = 0;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  for (std::uint32_t i = on_start_[lane]; i < on_start_[lane + 1]; ++i) {
    const std::uint32_t m = on_[i];
    if (step_[m] != step) continue;
    const std::uint32_t r = e_.messages[m].src;
    for (std::uint32_t n = e_.first[r]; n < e_.first[r + 1]; ++n) {
      if (n == m) continue;
      ++tries;
      const std::uint32_t to = step_[n];
      exchange(m, n);
      const Load then = excess_;
      exchange(m, n);
      if ((tabu(m, to) > move || tabu(n, step) > move) && then >= best_) continue;
      if (equal == 0 || then < least) {
        least = then;
        equal = 0;
      }
      if (then == least && rng.below(++equal) == 0) {
        a = m;
        b = n;
      }
    }
  }
  ++tries;
  if (equal == 0) return false;
  const std::uint64_t until = move + kTabu + rng.below(kTabuDrawn) +
                              static_cast<std::uint64_t>(kTabuEach * static_cast<double>(over_.size()));
  tabu(a, step_[a]) = until;
  tabu(b, step_[b]) = until;
  exchange(a, b);
  return excess_ < best_;
}

void EdgeColoring::color(std::uint64_t attempt, std::uint64_t seed) {
  Rng rng(seed ^ (attempt << 32) ^ 0x636f6c6f72ULL);
  share_out(attempt / 2, rng);
  begin(attempt % 2 == 0, rng);
  keep();
  const std::uint64_t most = kTries * w_.messages();
  std::uint64_t tries = 0;
  for (std::uint64_t move = 1; excess_ > 0 && tries < most; ++move)
    if (improve(rng, move, tries)) keep();
}

}  // namespace weft::schedule
