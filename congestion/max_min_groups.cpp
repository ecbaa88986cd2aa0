// MaxMin: once a solve was large, rates are kept by groups.
#include <algorithm>

#include "congestion/certificate.hpp"
#include "congestion/max_min.hpp"
#include "core/check.hpp"

namespace weft::congestion {
namespace {

// Once more than one flow in so many came or went at once, all are filled anew.
constexpr std::size_t kMostChange = 8;
// Solves by groups that may be given up before groups are.
constexpr std::uint32_t kMostGivenUp = 64;

}  // namespace

// After a solve: its rates are where groups begin.
void MaxMin::enter_groups() {
  for (std::uint32_t flow = 0; flow < flow_.size(); ++flow)
    if (flow_[flow].lone) end_lone(flow);
  lone_flows_ = false;
  groups_ = std::make_unique<LevelGroups>(table_, capacity_, most_capacity_, accuracy_, bottleneck_, rate_,
                                          most_visits_);
  gone_ = 1;  // what rounding set apart within a group is a change, too
  const std::vector<FlowId> changed(changed_);
  const std::vector<FlowId> moved(moved_);
  const std::uint64_t solves = stats_.solves;
  (void)solve_groups();
  stats_.solves = solves;  // the same change, seen once more
  if (!groups_ || report_groups_) return;
  // What either of the two solves changed. The first solve by groups names all groups, so rate_ has the rates of all.
  for (const FlowId flow : changed_) rising_[flow.index()] = kChanged;
  for (const FlowId flow : changed) rising_[flow.index()] = kChanged;
  moved_.insert(moved_.end(), moved.begin(), moved.end());
  std::erase_if(moved_, [&](FlowId flow) { return rising_[flow.index()] == kChanged; });
  changed_.clear();
  for (std::uint32_t flow = 0; flow < table_.rows(); ++flow) {
    if (rising_[flow] != kChanged) continue;
    rising_[flow] = 0;
    changed_.emplace_back(flow);
  }
}

// All rates anew, from scratch; rate_ stays what solve() has told.
void MaxMin::regroup_all() {
  old_rate_ = rate_;
  fill_all();
  groups_->assign(bottleneck_, rate_);
  rate_.swap(old_rate_);
}

// Of the last solve by groups.
void MaxMin::count_visits() {
  stats_.flows_solved += groups_->flows_visited();
  stats_.links_touched += groups_->links_visited();
  stats_.max_component = std::max(stats_.max_component, static_cast<std::uint32_t>(std::min<std::uint64_t>(
                                                            groups_->flows_visited(), table_.active())));
}

std::span<const FlowId> MaxMin::solve_groups() {
  changed_.clear();
  moved_.clear();
  if (added_.empty() && gone_ == 0) return {};
  const bool most_change =
      added_.size() + gone_ > std::max<std::size_t>(large_solve_, table_.active() / kMostChange);
  gone_ = 0;
  if (most_change) {
    // From link to link would take longer than from scratch.
    regroup_all();
  } else {
    for (const std::uint32_t flow : added_)
      if (table_.alive(flow) && groups_->group(flow) == LevelGroups::kNone) groups_->add(flow);
  }
  added_.clear();
  if (!groups_->solve()) {
    // Levels that are nearly equal may creep for long. From scratch they come out at once, and groups go on from there.
    count_visits();
    regroup_all();
    if (++gave_up_ > kMostGivenUp || !groups_->solve()) {
      ++stats_.solves;
      leave_groups();
      return changed_;
    }
  }
  if (groups_->links_visited() == 0 && groups_->moved().empty() && groups_->changed().empty())
    return {};  // nobody was held back by what left
  ++stats_.solves;
  if (certificate_due()) check_groups();
  count_visits();
  const auto place = [&](std::uint32_t flow) {
    const std::uint32_t group = groups_->group(flow);
    bottleneck_[flow] = group < link_.size() ? LinkId(group) : LinkId();
  };
  if (report_groups_) {
    for (const std::uint32_t flow : groups_->moved()) {
      place(flow);
      changed_.emplace_back(flow);
    }
    return changed_;
  }
  for (const std::uint32_t flow : groups_->moved()) {
    place(flow);
    rising_[flow] = kChanged;
    const double rate = groups_->rate(flow);
    (rate_[flow] == rate ? moved_ : changed_).emplace_back(flow);
    rate_[flow] = rate;
  }
  for (const std::uint32_t group : groups_->changed()) {
    for (const LevelGroups::Member& m : groups_->members(group)) {
      const double rate = groups_->rate(m.flow);
      if (rising_[m.flow] == kChanged || rate_[m.flow] == rate) continue;
      rate_[m.flow] = rate;
      changed_.emplace_back(m.flow);
    }
  }
  for (const std::uint32_t flow : groups_->moved()) rising_[flow] = 0;
  sort_changed();
  return changed_;
}

// All that changed is checked against the rates of all.
void MaxMin::check_groups() {
  std::vector<double> rate(table_.rows());
  for (std::uint32_t flow = 0; flow < table_.rows(); ++flow)
    if (table_.alive(flow)) rate[flow] = groups_->rate(flow);
  members_.assign(groups_->moved());
  for (const std::uint32_t group : groups_->changed())
    for (const LevelGroups::Member& m : groups_->members(group)) members_.push_back(m.flow);
  check_certificate(rate);
}

void MaxMin::fill_all() {
  members_.clear();
  for (std::uint32_t l = 0; l < link_.size(); ++l) {
    link_[l].free = link_[l].quanta(capacity_[l]);
    link_[l].bound = 0;
  }
  for (std::uint32_t flow = 0; flow < table_.rows(); ++flow) {
    if (!table_.alive(flow)) continue;
    flow_[flow].rate = rate_[flow] = 0;
    flow_[flow].bottleneck = kNone;
    bottleneck_[flow] = LinkId();
    join(flow);
  }
  if (!members_.empty()) {
    fill();
    commit();
  }
  ++solve_;
  changed_.clear();
  moved_.clear();
}

// Gives groups up: all flows are filled anew, and are named.
void MaxMin::leave_groups() {
  groups_.reset();
  never_group_ = true;
  lone_flows_ = rates_lone_;
  fill_all();
  for (std::uint32_t flow = 0; flow < table_.rows(); ++flow)
    if (table_.alive(flow)) changed_.emplace_back(flow);
}

}  // namespace weft::congestion
