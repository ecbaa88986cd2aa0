// Network: while the model keeps rates by groups of flows, so do the accounts.
#include <algorithm>

#include "congestion/level_groups.hpp"
#include "network/network.hpp"

namespace weft::network {

void Network::advance_group(std::uint32_t group, Instant now) {
  accounts_.advance(group, now, [&](std::uint32_t g, double seconds, double alone) {
    if (g < links_.size()) links_[g].waited += seconds - alone;  // else they are at limits of their own
  });
}

double Network::leave_group(std::uint32_t flow, Instant now) {
  advance_group(accounts_.group_of(flow), now);
  tell_held(flow);
  return accounts_.leave(flow);
}

// To its row, by which link it was held back in its group. The group was advanced.
void Network::tell_held(std::uint32_t flow) {
  const std::uint32_t group = accounts_.group_of(flow);
  if (group < links_.size() && (accounts_.slowed(flow) || !flows_[flow].held_by.valid()))
    flows_[flow].held_by = LinkId(group);
}

// A flow or a bundle whose row says what is to go.
void Network::join_group(std::uint32_t flow, const congestion::LevelGroups& groups, double service) {
  const double weight = groups.weight(flow);
  const Bundle* const b = bundle_of(FlowId(flow));
  const std::uint32_t heads = b != nullptr ? static_cast<std::uint32_t>(b->members.size()) : 1;
  accounts_.join(flow, groups.group(flow), service, weight * flows_[flow].inverse_alone, heads);
}

double Network::service_to_go(std::uint32_t flow, const congestion::LevelGroups& groups) {
  if (const Bundle* const b = bundle_of(FlowId(flow)); b != nullptr)
    return std::max(0.0, b->members.front().end - b->served) / b->weight;
  return flows_[flow].remaining / groups.weight(flow);
}

void Network::settle_groups(const congestion::LevelGroups& groups, std::span<const FlowId> moved, Instant now,
                            std::uint64_t& sequence) {
  accounts_.grow(groups.groups());
  if (!grouped_) {
    enter_groups(groups, now);
  } else {
    for (const FlowId id : moved) {
      const std::uint32_t flow = id.index();
      const double service = accounts_.group_of(flow) != GroupAccounts::kNone ? leave_group(flow, now)
                                                                              : service_to_go(flow, groups);
      advance_group(groups.group(flow), now);
      join_group(flow, groups, service);
      accounts_.set_level(groups.group(flow), groups.level(groups.group(flow)));
    }
    for (const std::uint32_t group : groups.changed()) {
      advance_group(group, now);
      accounts_.set_level(group, groups.level(group));
    }
  }
  accounts_.requeue(completions_, sequence);
}

void Network::enter_groups(const congestion::LevelGroups& groups, Instant now) {
  completions_.clear();
  for (std::uint32_t group = 0; group < groups.groups(); ++group) {
    if (groups.members(group).empty()) continue;
    advance_group(group, now);
    for (const congestion::LevelGroups::Member& m : groups.members(group)) {
      Flow& f = flows_[m.flow];
      if (Bundle* const b = bundle_of(FlowId(m.flow)); b != nullptr) {
        advance(*b, now);
      } else {
        const double seconds = (now - f.updated).seconds();
        const double bytes = f.rate * seconds;
        book(f, seconds, bytes);
        f.remaining = std::max(0.0, f.remaining - bytes);
        f.updated = now;
      }
      accounts_.set_order(m.flow, m.flow);  // those that start later have started more flows before them
      join_group(m.flow, groups, service_to_go(m.flow, groups));
    }
    accounts_.set_level(group, groups.level(group));
  }
  grouped_ = true;
}

// The model gave groups up: every flow has an account of its own again, and is about to be told its rate.
void Network::leave_groups(Instant now) {
  for (std::uint32_t flow = 0; flow < accounts_.flows(); ++flow) {
    if (accounts_.group_of(flow) == GroupAccounts::kNone) continue;
    const double weight = accounts_.alone(flow) / flows_[flow].inverse_alone;
    const double service = leave_group(flow, now);
    flows_[flow].rate = 0;
    flows_[flow].updated = now;
    if (Bundle* const b = bundle_of(FlowId(flow)); b != nullptr) {
      b->served = b->members.front().end - service * b->weight;
      b->rate = 0;
      b->updated = now;
    } else {
      flows_[flow].remaining = service * weight;
    }
  }
  completions_.clear();
  accounts_.clear();
  grouped_ = false;
}

std::uint32_t Network::finish_in_group(Instant now) {
  const std::uint32_t group = completions_.top().flow.index();
  std::uint64_t sequence = completions_.top().sequence;
  advance_group(group, now);
  accounts_.arrive(group);
  const FlowId id(accounts_.next(group));
  for (const LinkId link : model_->route(id)) uncarry(link, now);
  tell_held(id.index());
  last_held_by_ = flows_[id.index()].held_by;
  std::uint32_t owner = flows_[id.index()].owner;
  if (bundle_of(id) != nullptr) {
    owner = finish_member(id, now);
  } else {
    accounts_.leave(id.index());
    model_->remove(id);
    dirty_ = true;
  }
  accounts_.requeue(completions_, sequence);  // others may end now, too
  return owner;
}

}  // namespace weft::network
