// Network: flows in progress, their completion times, and what every link carried.
//
// A flow ends because its completion event fires, never because its remaining bytes look like zero. Rates
// hold between instants; settle() brings the ones that changed up to date, once per instant, after everything
// at that instant has happened.
//
// A link's `waited` is what the flows that it held lost by it: while a flow goes at `rate` where it would go at `alone`
// on an idle network, it loses 1 - rate / alone seconds a second, booked on the link at which the sharing model stopped
// it then. Over a flow's life that adds up to the time it took less the time alone, so over all links to the contention
// of all messages. Booked only when a flow's rate or bottleneck changes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "congestion/max_min.hpp"
#include "congestion/sharing_model.hpp"
#include "core/byte_sum.hpp"
#include "core/prefetch.hpp"
#include "network/bundles.hpp"
#include "network/completion_queue.hpp"
#include "network/group_accounts.hpp"
#include "network/link_use.hpp"

namespace weft::network {

// Is told every rate that a flow gets, with the link that holds the flow back (none: its own limit).
class FlowWatcher {
 public:
  virtual ~FlowWatcher() = default;
  virtual void rate_changed(std::uint32_t owner, Instant now, double rate, LinkId held_by) = 0;
};

class FlowAudit;  // network/flow_audit.hpp

class Network {
 public:
  // `capacity` by LinkId, bytes/s, must outlive the network.
  Network(std::span<const double> capacity, std::unique_ptr<congestion::SharingModel> model);

  // From now on every flow is one of its own (no bundles), and `watcher` is told of it. REQUIRES: no flow yet.
  void watch(FlowWatcher* watcher);
  // Tells `audit` of every flow and every solve; nothing else changes. REQUIRES: no flow yet.
  void audit(FlowAudit* audit);

  // A flow of `bytes` > 0 over `route`, never faster than `rate_cap` bytes/s (infinity: no limit of its own);
  // `alone`: its rate on an idle network. `owner` comes back from finish_top(). `sequence` numbers its completion where that is
  // known at once, as it has its links to itself. O(route), and O(log flows) then.
  FlowId start(std::span<const LinkId> route, double weight, double rate_cap, double alone,
               std::int64_t bytes, std::uint32_t owner, Instant now, std::uint64_t& sequence,
               std::array<std::uint32_t, 2> ranks = {0, 0});
  // Flows start at this instant that start() is not told of yet: settle() is due when it was.
  void will_start() { dirty_ = true; }
  // Solves what changed and moves completions. `sequence` numbers the moves. O(changed flows x log flows) +
  // the solve.
  void settle(Instant now, std::uint64_t& sequence);
  [[nodiscard]] bool dirty() const { return dirty_; }
  [[nodiscard]] bool idle() const { return completions_.empty(); }
  [[nodiscard]] const CompletionQueue::Entry& next_completion() const { return completions_.top(); }
  // Its time; Instant::never() if there is none.
  [[nodiscard]] Instant next_time() const { return completions_.next_time(); }
  [[nodiscard]] std::uint32_t next_owner() const;  // of the flow of next_completion()
  // Ends the flow of next_completion() and returns its owner.
  std::uint32_t finish_top(Instant now);
  // Both, to be part of the caller (network_steps.hpp).
  FlowId start_here(std::span<const LinkId> route, double weight, double rate_cap, double alone,
                    std::int64_t bytes, std::uint32_t owner, Instant now, std::uint64_t& sequence,
                    std::array<std::uint32_t, 2> ranks);
  std::uint32_t finish_here(Instant now);
  // Of the flow that finish_top() ended last: the link at which it was slower than alone for the last time. If it never
  // was, the first link that set its rate; invalid if only its own rate cap did.
  [[nodiscard]] LinkId last_held_by() const { return last_held_by_; }

  // Hints to the processor: the rows of what ends next, of its owner and, by ahead(rank, stage), of the ranks that wait for it:
  // stage 0, 1, 2, each some events after the one before.
  template <class Owners, class Ahead>
  void prefetch_next(const Owners& owners, Ahead ahead) {
    if (grouped_) return;
    completions_.next_few([&](const CompletionQueue::Entry& e) {
      const Flow& f = flows_[e.flow.index()];
      const std::uint32_t stage = hints_.next(e.sequence);
      if (stage == 0) {
        __builtin_prefetch(&f);
        if (max_min_ != nullptr) max_min_->prefetch(e.flow);
        return;
      }
      if (stage > 3 || f.owner == kBundled) return;
      for (const std::uint32_t r : f.ranks) ahead(r, stage - 1);
      if (stage > 1) return;
      for (const std::uint32_t l : f.links) prefetch_link(LinkId(l));
      prefetch_row(owners[f.owner]);
    });
  }
  // ... and the links on which a flow starts next.
  void prefetch_links(std::span<const LinkId> route) const {
    for (const LinkId l : route) prefetch_link(l);
  }

  // Counts bytes on a route that no flow carried (series of exchanges).
  void count_bytes(std::span<const LinkId> route, std::uint64_t bytes);
  // Counts a flow that met no other from its start to its end, which the sharing model was not told of. O(route).
  void carried_alone(std::span<const LinkId> route, std::int64_t bytes, Instant from, Instant to) {
    for (const LinkId l : route) {
      Link& k = links_[l.index()];
      k.bytes += static_cast<std::uint64_t>(bytes);
      k.busy += to - from;
      k.peak = std::max(k.peak, 1u);
    }
    ++started_;
    count(bytes);
  }
  // The same of flows that never slow each other, by parts: bytes as one starts, what its link was used in the end.
  void carried(std::span<const LinkId> route, std::int64_t bytes) {
    for (const LinkId l : route) links_[l.index()].bytes += static_cast<std::uint64_t>(bytes);
    ++started_;
    count(bytes);
  }
  void used(LinkId link, Elapsed busy, std::uint32_t peak) {
    links_[link.index()].busy += busy;
    links_[link.index()].peak = std::max(links_[link.index()].peak, peak);
  }

  // Narrowest capacity of a route, bytes/s.
  [[nodiscard]] double narrowest(std::span<const LinkId> route) const;
  [[nodiscard]] std::vector<LinkUse> link_use(Instant end) const;
  [[nodiscard]] std::uint64_t flows_started() const { return started_; }
  // The bytes of all flows, and those counted beside them: no link has more. kTooManyBytes: what links tell may have wrapped.
  [[nodiscard]] std::uint64_t total_bytes() const { return total_bytes_; }
  [[nodiscard]] const congestion::SolveStats& solver_stats() const { return model_->stats(); }

 private:
  static constexpr std::uint32_t kBundled = ~0u;  // owner of the flow that stands for a bundle
  // Each on one cache line.
  struct alignas(kCacheLine) Link {
    std::uint64_t bytes = 0;
    Elapsed busy;
    Instant since;
    double waited = 0;  // seconds
    std::uint32_t flows = 0;
    std::uint32_t peak = 0;
  };
  struct alignas(kCacheLine) Flow {
    double remaining = 0;  // bytes at `updated`
    double rate = 0;       // bytes/s since `updated`
    Instant updated;
    double inverse_alone = 0;  // seconds a byte takes alone
    LinkId held_by;            // as last_held_by() tells it
    std::uint32_t owner = 0;
    // For prefetch_next() only: who waits for it, the first links of its route.
    std::array<std::uint32_t, 2> ranks{};
    std::array<std::uint32_t, 2> links{};
  };
  static_assert(sizeof(Link) == 64 && sizeof(Flow) == 64);
  void prefetch_link(LinkId link) const {
    __builtin_prefetch(&links_[link.index()]);
    if (max_min_ != nullptr) max_min_->prefetch(link);
  }
  // The bundle that a flow of the model stands for; null: a flow of its own.
  template <class Self>
  [[nodiscard]] static auto* bundle_of(Self& n, FlowId f) {
    return n.flows_[f.index()].owner == kBundled ? &n.bundles_[n.bundle_of_[f.index()]] : nullptr;
  }
  [[nodiscard]] Bundle* bundle_of(FlowId f) { return bundle_of(*this, f); }
  [[nodiscard]] const Bundle* bundle_of(FlowId f) const { return bundle_of(*this, f); }
  [[nodiscard]] bool crowded(std::span<const LinkId> route, double rate_cap) const;
  // A new flow as one of a bundle; invalid: it is one of its own.
  FlowId join_bundle(std::span<const LinkId> route, double weight, double rate_cap, double alone,
                     std::int64_t bytes, std::uint32_t owner, Instant now);
  // The bundle for it; kNone: that of its hash is of another kind.
  std::uint32_t bundle_for(std::span<const LinkId> route, double weight, double rate_cap, double alone,
                           Instant now);
  static constexpr std::size_t kHintAhead = 8;
  const FlowId* hint_at(const FlowId* next, const FlowId* last) const;
  template <class Model>
  void share_out(Model& model, Instant now, std::uint64_t& sequence);
  template <class Model>
  std::uint32_t end_top(Model& model, Instant now);
  void advance(Bundle& b, Instant now);
  void settle_groups(const congestion::LevelGroups& groups, std::span<const FlowId> moved, Instant now,
                     std::uint64_t& sequence);
  void enter_groups(const congestion::LevelGroups& groups, Instant now);
  void leave_groups(Instant now);
  void join_group(std::uint32_t flow, const congestion::LevelGroups& groups, double service);
  double service_to_go(std::uint32_t flow, const congestion::LevelGroups& groups);
  void advance_group(std::uint32_t group, Instant now);
  double leave_group(std::uint32_t flow, Instant now);
  void tell_held(std::uint32_t flow);
  std::uint32_t finish_in_group(Instant now);
  // Once a flow, so that its links need not look.
  [[gnu::always_inline]] void count(std::int64_t bytes) {
    total_bytes_ = add_bytes(total_bytes_, static_cast<std::uint64_t>(bytes));
  }
  // One more flow on the link; one less.
  [[gnu::always_inline]] void carry(LinkId link, std::int64_t bytes, Instant now) {
    Link& k = links_[link.index()];
    k.bytes += static_cast<std::uint64_t>(bytes);
    if (k.flows++ == 0) k.since = now;
    k.peak = std::max(k.peak, k.flows);
  }
  [[gnu::always_inline]] void uncarry(LinkId link, Instant now) {
    Link& k = links_[link.index()];
    if (--k.flows == 0) k.busy += now - k.since;
  }
  // The same of the only one.
  [[gnu::always_inline]] void carry_lone(LinkId link, std::int64_t bytes, Instant now) {
    Link& k = links_[link.index()];
    k.bytes += static_cast<std::uint64_t>(bytes);
    k.flows = 1;
    k.since = now;
    k.peak = std::max(k.peak, 1u);
  }
  [[gnu::always_inline]] void uncarry_lone(LinkId link, Instant now) {
    Link& k = links_[link.index()];
    k.flows = 0;
    k.busy += now - k.since;
  }
  void change(std::uint32_t bundle);
  [[gnu::noinline]] void new_rows(std::uint32_t flow);  // up to that of `flow`
  void weigh_bundles(Instant now, std::uint64_t& sequence);
  void go_at(FlowId id, double rate, LinkId held_by, Instant now, std::uint64_t& sequence);
  [[gnu::noinline]] void go_bundled(FlowId id, double rate, LinkId held_by, Instant now,
                                    std::uint64_t& sequence);
  void enter(FlowId id, std::span<const LinkId> route, double alone, std::int64_t bytes, std::uint32_t owner,
             Instant now, std::array<std::uint32_t, 2> ranks);
  [[gnu::noinline]] void tell_watcher(FlowId id, LinkId held_by);  // its rate
  std::uint32_t finish_member(FlowId id, Instant now);
  [[gnu::noinline]] std::uint32_t finish_bundled(FlowId id, Instant now);

  // A link that lets it go as fast as alone, or none, does not take the place of one where it lost: nothing will be booked
  // but rounding, and at its end the flow tells where it was held back last.
  static void hold(Flow& f, double rate, LinkId link) {
    if (!f.held_by.valid() || (link.valid() && rate * f.inverse_alone < GroupAccounts::kAsAlone))
      f.held_by = link;
  }
  // Books what the flow lost since `updated` on the link that held it: `seconds` of them, `bytes` moved.
  void book(const Flow& f, double seconds, double bytes) {
    if (f.held_by.valid()) links_[f.held_by.index()].waited += seconds - bytes * f.inverse_alone;
  }

  std::span<const double> capacity_;
  FlowWatcher* watcher_ = nullptr;
  FlowAudit* audit_ = nullptr;
  std::unique_ptr<congestion::SharingModel> model_;
  congestion::MaxMin* max_min_;  // model_ if it is one, the usual one, to be called by its type; else null
  std::vector<Link> links_;
  std::vector<Flow> flows_;      // by FlowId
  CompletionQueue completions_;  // by FlowId; by number of the group while grouped_
  HintStages hints_;             // by the numbers of completions
  bool grouped_ = false;
  GroupAccounts accounts_;  // while grouped_
  std::uint64_t started_ = 0;
  std::uint64_t total_bytes_ = 0;
  bool dirty_ = false;
  LinkId last_held_by_;
  bool may_bundle_ = false;
  Bundles bundles_;
  std::vector<std::uint32_t> bundle_of_;  // by FlowId, of those that stand for a bundle
  std::vector<std::uint32_t> reweighed_;  // bundles whose members the model does not count right
  std::vector<LinkId> route_;             // of weigh_bundles()
};

}  // namespace weft::network
