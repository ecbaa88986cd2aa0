#include "congestion/max_min.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "congestion/certificate.hpp"
#include "congestion/max_min_flows.hpp"
#include "congestion/models.hpp"
#include "core/check.hpp"

namespace weft::congestion {
namespace {

constexpr auto kNobody = [](LinkId) {};  // hears of the links of a route
// After so many rounds the local scope takes the whole component: bounds the work on adverse loads.
constexpr int kMaxRounds = 12;
#ifdef NDEBUG
constexpr std::uint64_t kCertificatePeriod = 4096;
constexpr std::uint64_t kCertificateBudget = 1u << 16;
#else
constexpr std::uint64_t kCertificatePeriod = 1;
constexpr std::uint64_t kCertificateBudget = ~std::uint64_t{0};
#endif

}  // namespace

MaxMin::MaxMin(std::span<const double> capacity, Scope scope, std::size_t large_solve,
               std::uint64_t most_visits)
    : capacity_(capacity),
      most_capacity_(capacity),
      scope_(scope),
      large_solve_(large_solve),
      most_visits_(most_visits),
      table_(capacity),
      link_(capacity.size()) {
  for (std::size_t l = 0; l < capacity.size(); ++l) {
    WEFT_CHECK(capacity[l] > 0 && std::isfinite(capacity[l]),
               fmt::format("capacity of link {} is {}", l, capacity[l]));
    int exponent = 0;
    (void)std::frexp(capacity[l], &exponent);  // capacity < 2^exponent
    link_[l].to_quanta = std::ldexp(1.0, 61 - exponent);
    link_[l].free = link_[l].quanta(capacity[l]);
  }
}

void MaxMin::new_row() {
  rate_.push_back(0);
  bottleneck_.emplace_back();
  flow_.emplace_back();
  member_.push_back(0);
  rising_.push_back(0);
}

FlowId MaxMin::add(std::span<const LinkId> route, double weight, double rate_cap) {
  return would_be_lone(route) ? add_lone(route, weight, rate_cap, kNobody)
                              : add_to_others(route, weight, rate_cap, kNobody);
}

void MaxMin::remove(FlowId id) {
  if (id.index() < flow_.size() && lone(id)) return remove_lone(id, kNobody);
  remove_from_others(id, kNobody);
}

// It is one of the table from now on, as if solve() had given it its rate.
void MaxMin::end_lone(std::uint32_t flow) {
  Flow& f = flow_[flow];
  f.lone = 0;
  rate_[flow] = f.rate;
  bottleneck_[flow] = LinkId(f.bottleneck);
  table_.enter_rest(flow, route_of(flow));
  if (f.bottleneck == kNone) return;
  link_[f.bottleneck].bound = 1;
  link_[f.bottleneck].level = f.rate / table_.weight(flow);
}

void MaxMin::end_lone_on(std::span<const LinkId> route) {
  for (const LinkId id : route)
    if (table_.count_on(id.index()) == 1)
      if (const std::uint32_t flow = table_.flows_on(id.index())[0].flow; flow_[flow].lone) end_lone(flow);
}

void MaxMin::remove_from_groups(std::uint32_t flow) {
  if (groups_->group(flow) != LevelGroups::kNone) groups_->remove(flow);
  table_.remove(flow);
  ++gone_;
}

void MaxMin::refuse(FlowId flow) {
  WEFT_CHECK(false, fmt::format("flow {} is not in the table", flow.index()));
}

bool MaxMin::vary_capacities() {
  WEFT_CHECK(table_.rows() == 0, "capacities that vary from the first flow on");
  own_capacity_.assign(capacity_.begin(), capacity_.end());
  capacity_ = own_capacity_;
  lone_flows_ = rates_lone_ = false;
  return true;
}

void MaxMin::set_capacity(LinkId id, double bytes_per_s) {
  const std::uint32_t link = id.index();
  Link& l = link_[link];
  WEFT_CHECK(!own_capacity_.empty() && bytes_per_s > 0 && l.quanta(bytes_per_s) < (std::int64_t{1} << 62),
             fmt::format("capacity of link {} becomes {}", link, bytes_per_s));
  const double before = std::exchange(own_capacity_[link], bytes_per_s);
  table_.set_capacity(link, bytes_per_s);
  if (bytes_per_s == before) return;
  if (groups_) {
    groups_->change_capacity(link, before);
    ++gone_;
    return;
  }
  l.give(l.quanta(bytes_per_s) - l.quanta(before));
  if (bytes_per_s < before)
    squeezed_.push_back(link);
  else if (scope_ == Scope::kComponent || l.bound > 0)
    mark_dirty(link);
}

// The flows of links that carry more than they have now.
void MaxMin::join_squeezed() {
  for (const std::uint32_t link : squeezed_) {
    const std::span<const FlowTable::Entry> flows = table_.flows_on(link);
    if (flows.empty()) continue;
    const bool full = flows.size() == 1 ? rate_[flows[0].flow] > capacity_[link] : link_[link].free < 0;
    if (!full) continue;
    if (scope_ == Scope::kComponent) {
      mark_dirty(link);
      continue;
    }
    for (const FlowTable::Entry e : flows) join(e.flow);
  }
}

// Adds everything connected to members_[from...] through shared links.
void MaxMin::close_component(std::size_t from) {
  ++filling_;
  for (std::size_t i = from; i < members_.size(); ++i) {
    for (const LinkId link : table_.route(members_[i])) {
      Link& l = link_[link.index()];
      if (l.stamp == filling_) continue;
      l.stamp = filling_;
      for (const FlowTable::Entry e : table_.flows_on(link.index())) join(e.flow);
    }
  }
}

[[gnu::always_inline]] inline void MaxMin::commit_flows() {
  Link* const links = link_.data();
  Flow* const flows = flow_.data();
  double* const rates = rate_.data();
  for (const std::uint32_t flow : members_) {
    Flow& f = flows[flow];
    const bool elsewhere = f.bottleneck != f.next_bottleneck;
    if (elsewhere) {
      if (f.bottleneck != kNone) --links[f.bottleneck].bound;
      if (f.next_bottleneck != kNone) ++links[f.next_bottleneck].bound;
      f.bottleneck = f.next_bottleneck;
      bottleneck_[flow] = LinkId(f.bottleneck);
    }
    if (f.next_rate != f.rate) {
      rates[flow] = f.rate = f.next_rate;
      changed_.push_back(FlowId(flow));
    } else if (elsewhere) {
      moved_.push_back(FlowId(flow));
    }
  }
  if (certificate_due()) check_certificate(rate_);
}

void MaxMin::commit() {
  for (const std::uint32_t link : stopped_at_) {
    Link& l = link_[link];
    // Flows outside keep the level that they were given, so that levels cannot creep by one tolerance a
    // solve.
    if (l.held == 0) l.level = l.filled_at;
  }
  commit_flows();
}

// One that came onto the link of another: most such pairs are alone there.
inline bool MaxMin::fill_pair() { return members_.size() == 2 && fill_together(); }

// Fills members_ and whom that disturbs.
void MaxMin::fill_and_commit() {
  if (members_.size() > 1) {
    if (fill_together()) return commit_flows();
  } else {
    const std::uint32_t flow = members_[0];
    if (!is_new(flow) && fill_alone(flow)) return commit_flows();
    switch (fill_one(flow)) {
      case Single::kStands:
        return commit();
      case Single::kFilled:
        return fill_others();
      case Single::kDisturbs:
        if (fill_pair()) return commit_flows();
    }
  }
  fill();
  fill_others();
}

// After a filling: whom it disturbs, until it disturbs nobody.
void MaxMin::fill_others() {
  for (int round = 1; disturbs(); ++round) {
    take_back();
    if (round == kMaxRounds) close_component(0);
    if (fill_pair()) return commit_flows();
    fill();
  }
  commit();
}

// REQUIRES: something was added, is dirty or was squeezed; no groups.
std::span<const FlowId> MaxMin::solve_changes() {
  ++stats_.solves;
  members_.clear();
  if (scope_ == Scope::kComponent) {
    join_squeezed();
    // One component after the other: each is filled as if it were alone.
    const auto fill_from = [&](auto&& seed) {
      const std::size_t before = members_.size();
      seed();
      if (members_.size() == before) return;
      close_component(before);
      std::sort(members_.begin() + static_cast<std::ptrdiff_t>(before), members_.end());
    };
    std::size_t begin = 0;
    const auto finish = [&] {
      if (members_.size() == begin) return;
      if (members_.size() == 1)
        (void)fill_one(members_[0]);  // with its links to itself
      else
        fill();
      commit();
      members_.clear();
      begin = 0;
    };
    for (const std::uint32_t flow : added_) {
      if (!table_.alive(flow)) continue;
      fill_from([&] { join(flow); });
      finish();
    }
    for (const std::uint32_t link : dirty_) {
      fill_from([&] {
        if (table_.count_on(link) > 0) join(table_.flows_on(link)[0].flow);
      });
      finish();
    }
  } else {
    for (const std::uint32_t flow : added_) {
      if (!table_.alive(flow) || !join(flow)) continue;
      for (const LinkId link : route_of(flow))
        if (table_.count_on(link.index()) > 1) join_bound(link.index());
    }
    for (const std::uint32_t link : dirty_) join_bound(link);
    if (!squeezed_.empty()) join_squeezed();
    if (!members_.empty()) fill_and_commit();  // else who was held back is gone, too
  }
  const bool large = is_large();
  added_.clear();
  dirty_.clear();
  squeezed_.clear();
  next_solve();
  if (large) enter_groups();
  if (changed_.size() == 2 && changed_[1] < changed_[0]) std::swap(changed_[0], changed_[1]);
  if (changed_.size() > 2) sort_changed();
  return changed_;
}

// Whether it pays to go on by groups: the solve, with added_, dirty_ and squeezed_ as it found them, moved many more flows than came or went.
inline bool MaxMin::is_large() const {
  if (members_.size() <= large_solve_) return false;
  if (scope_ != Scope::kLocal || never_group_) return false;
  return large_solve_ == 0 ||
         members_.size() > kWideSolve * (added_.size() + dirty_.size() + squeezed_.size());
}

inline void MaxMin::next_solve() {
  ++solve_;
  WEFT_CHECK(solve_ != 0 && filling_ < 0xfffffff0u, "more than 2^32 solves by one model");
}

// Ascending; by a pass over all rows where many have changed.
void MaxMin::sort_changed() {
  constexpr std::size_t kFew = 8;
  if (changed_.size() <= kFew) {
    for (std::size_t i = 1; i < changed_.size(); ++i)
      for (std::size_t k = i; k > 0 && changed_[k] < changed_[k - 1]; --k)
        std::swap(changed_[k], changed_[k - 1]);
    return;
  }
  if (changed_.size() < 32 || changed_.size() < table_.rows() / 16) {
    std::sort(changed_.begin(), changed_.end());
    return;
  }
  for (const FlowId flow : changed_) rising_[flow.index()] = kChanged;
  changed_.clear();
  for (std::uint32_t flow = 0; flow < table_.rows(); ++flow) {
    if (rising_[flow] != kChanged) continue;
    rising_[flow] = 0;
    changed_.push_back(FlowId(flow));
  }
}

bool MaxMin::certificate_due() const { return stats_.solves % kCertificatePeriod == 0; }

void MaxMin::check_certificate(std::span<const double> rate) {
  ++stats_.certificates;
  const auto violation =
      certify(table_, capacity_, rate, members_, kCertificateBudget, kCertificateTolerance + 2 * accuracy_);
  WEFT_CHECK(!violation, *violation);
}

std::unique_ptr<SharingModel> make_max_min(std::span<const double> capacity, const PcieNetwork* /*pcie*/) {
  return std::make_unique<MaxMin>(capacity, MaxMin::Scope::kLocal);
}

std::unique_ptr<SharingModel> make_max_min_component(std::span<const double> capacity,
                                                     const PcieNetwork* /*pcie*/) {
  return std::make_unique<MaxMin>(capacity, MaxMin::Scope::kComponent);
}

}  // namespace weft::congestion
