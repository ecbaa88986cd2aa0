#include "traces/formats/dumpi/communicators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "core/source_pos.hpp"
#include "traces/weft/format.hpp"

namespace weft::traces::dumpi {
namespace {

using Ranks = std::vector<std::int32_t>;

// Ranks of all groups that are worked out: bounds what a file can cost that makes groups of groups.
constexpr std::uint64_t kMostGroupWork = format::kMaxMembers;

std::string_view name_of(std::uint16_t call) { return kLayouts[call].name; }

class Maker {
 public:
  Maker(const std::vector<RankFile>& files, std::vector<CommLog> logs, Losses& losses)
      : files_(files),
        logs_(std::move(logs)),
        losses_(losses),
        calls_(logs_.size()),
        seen_(logs_.size(), 0) {}

  Result<Communicators> run() {
    const std::size_t n = logs_.size();
    out_.here.resize(n);
    for (std::size_t r = 0; r < n; ++r) {
      out_.here[r].resize(logs_[r].rank_in.size());
      // Calls by parent, in order.
      calls_[r].resize(logs_[r].rank_in.size());
      for (std::uint32_t i = 0; i < logs_[r].made.size(); ++i)
        calls_[r][logs_[r].made[i].parent].push_back(i);
    }
    Ranks world(n);
    std::iota(world.begin(), world.end(), 0);
    WEFT_TRY(define(
        "world", world, [](std::size_t) { return kWorld; }, nullptr));
    for (std::size_t r = 0; r < n; ++r)
      if (logs_[r].uses_self || !calls_[r][kSelf].empty())
        WEFT_TRY(define(
            "self", {static_cast<std::int32_t>(r)}, [](std::size_t) { return kSelf; }, nullptr));
    while (!ready_.empty()) {
      const std::uint32_t id = ready_.front();
      ready_.pop_front();
      WEFT_TRY(go_on(id));
    }
    for (std::uint32_t id = 0; id < shapes_.size(); ++id)
      if (!shapes_[id].done) return unexplained(id);
    return std::move(out_);
  }

 private:
  // What goes beside Communicator.
  struct Shape {
    std::vector<LocalComm> local;                   // of each member
    std::optional<std::vector<std::int32_t>> dims;  // of a Cartesian one, which may have none
    std::size_t next = 0;                           // its call that is to be looked at next
    bool done = false;
  };

  [[nodiscard]] const Ranks& members(std::uint32_t id) const { return out_.all[id].members; }
  [[nodiscard]] const CommMade* call_of(std::uint32_t id, std::size_t member) const {
    const auto rank = static_cast<std::size_t>(members(id)[member]);
    const auto& calls = calls_[rank][shapes_[id].local[member]];
    return shapes_[id].next < calls.size() ? &logs_[rank].made[calls[shapes_[id].next]] : nullptr;
  }
  [[nodiscard]] Error fault(std::int32_t rank, const CommMade& m, std::string what, std::string got = {},
                            std::string expected = {}) const {
    const auto& file = files_[static_cast<std::size_t>(rank)];
    return bad_input(BytePos{file.path, m.at.offset, static_cast<std::int64_t>(m.at.record), rank}.text(),
                     fmt::format("MPI_{}: {}", name_of(m.call), what), std::move(got), std::move(expected));
  }

  template <class LocalOf>
  Result<void> define(std::string name, const Ranks& ranks, LocalOf local_of,
                      const std::vector<std::int32_t>* dims) {
    members_ += ranks.size();
    if (members_ > format::kMaxMembers) {
      Error e =
          not_supported("communicators of so many members", fmt::format("at most {}", format::kMaxMembers));
      e.where = files_[0].path;
      return e;
    }
    const auto id = static_cast<std::uint32_t>(out_.all.size());
    Shape shape;
    if (dims != nullptr) shape.dims = *dims;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const auto rank = static_cast<std::size_t>(ranks[i]);
      const LocalComm local = local_of(i);
      shape.local.push_back(local);
      out_.here[rank][local] = {id, static_cast<std::int32_t>(i)};
      // Who waited for this one, for a group of it, can go on.
      if (const auto it = waiting_.find(std::pair{ranks[i], local}); it != waiting_.end()) {
        for (const std::uint32_t w : it->second) ready_.push_back(w);
        waiting_.erase(it);
      }
      const auto& log = logs_[rank];
      const auto said = [&](std::int32_t what, std::int64_t is, const char* call) -> Result<void> {
        if (what < 0 || what == is) return {};
        return bad_input(files_[rank].path,
                         fmt::format("MPI_{} of rank {} does not fit to communicator {}", call, rank, name),
                         std::to_string(what), std::to_string(is));
      };
      WEFT_TRY(said(log.size_of[local], static_cast<std::int64_t>(ranks.size()), "Comm_size"));
      WEFT_TRY(said(log.rank_in[local], static_cast<std::int64_t>(i), "Comm_rank"));
    }
    out_.all.push_back({std::move(name), ranks});
    shapes_.push_back(std::move(shape));
    ready_.push_back(id);
    return {};
  }

  // The calls of a communicator, until they end or one needs a communicator that is still to come.
  Result<void> go_on(std::uint32_t id) {
    while (!shapes_[id].done) {
      const CommMade* first = call_of(id, 0);
      for (std::size_t i = 1; i < members(id).size(); ++i) {
        const CommMade* m = call_of(id, i);
        if ((m == nullptr) != (first == nullptr)) {
          const bool mine = m != nullptr;
          return fault(members(id)[mine ? i : 0], mine ? *m : *first,
                       fmt::format("rank {} does not make this call on communicator {}",
                                   members(id)[mine ? 0 : i], out_.all[id].name),
                       {}, "the same calls from all members");
        }
        if (m != nullptr && m->how != first->how)
          return fault(members(id)[i], *m, fmt::format("rank {} calls another function here", members(id)[0]),
                       fmt::format("MPI_{}", name_of(m->call)), fmt::format("MPI_{}", name_of(first->call)));
      }
      if (first == nullptr) {
        shapes_[id].done = true;
        return {};
      }
      WEFT_ASSIGN(const bool made, make(id, *first));
      if (!made) return {};
      ++shapes_[id].next;
    }
    return {};
  }

  // One new communicator of `of`: who (positions in `of`, in the order of the new one) belongs to it.
  Result<void> make_one(std::uint32_t of, const std::vector<std::size_t>& who, bool reorder,
                        const std::vector<std::int32_t>* dims) {
    std::vector<std::size_t> order = who;
    if (reorder) {
      WEFT_ASSIGN(order, reordered(of, who));
    }
    Ranks ranks;
    std::vector<LocalComm> local;
    for (const std::size_t i : order) {
      const CommMade& m = *call_of(of, i);
      if (m.child == kNone)
        return fault(members(of)[i], m, "the call made no communicator for a rank that belongs to it",
                     "MPI_COMM_NULL", "a communicator");
      ranks.push_back(members(of)[i]);
      local.push_back(m.child);
    }
    // Names go by the order of creation on the first member: 0 and 1 are there from the start.
    const std::string name = fmt::format("split{}", local[0] - kSelf);
    return define(
        name, ranks, [&local](std::size_t i) { return local[i]; }, dims);
  }

  Result<std::vector<std::size_t>> reordered(std::uint32_t of, const std::vector<std::size_t>& who) {
    std::vector<std::size_t> order(who.size(), SIZE_MAX);
    bool all = true, parents = true;
    for (std::size_t k = 0; k < who.size(); ++k) {
      const CommMade& m = *call_of(of, who[k]);
      const auto& log = logs_[static_cast<std::size_t>(members(of)[who[k]])];
      const std::int32_t said = m.child == kNone ? -1 : log.rank_in[m.child];
      if (said < 0) {
        all = false;
        continue;
      }
      parents = parents && said == static_cast<std::int32_t>(k);
      if (static_cast<std::size_t>(said) >= who.size() || order[static_cast<std::size_t>(said)] != SIZE_MAX)
        return fault(members(of)[who[k]], m, "the ranks in the new communicator are no order of its members",
                     std::to_string(said), fmt::format("0 to {}, each once", who.size() - 1));
      order[static_cast<std::size_t>(said)] = who[k];
    }
    if (all) return order;
    if (!parents) {
      Error e =
          not_supported(fmt::format("MPI_{} that gave other ranks, and not all members asked for theirs",
                                    name_of(call_of(of, who[0])->call)),
                        "MPI_Comm_rank of all members in the trace");
      e.where = files_[static_cast<std::size_t>(members(of)[who[0]])].path;
      return e;
    }
    ++losses_.assumed_order;
    return who;
  }

  // Nobody else may have got one.
  Result<void> no_others(std::uint32_t of, const std::vector<char>& belongs) {
    for (std::size_t i = 0; i < belongs.size(); ++i) {
      const CommMade& m = *call_of(of, i);
      if (belongs[i] == 0 && m.child != kNone)
        return fault(members(of)[i], m, "the call made a communicator for a rank that does not belong to it",
                     {}, "MPI_COMM_NULL");
    }
    return {};
  }

  // All members' n-th call. False: it waits for another communicator.
  Result<bool> make(std::uint32_t of, const CommMade& first) {
    const std::size_t n = members(of).size();
    std::vector<std::size_t> who(n);
    std::iota(who.begin(), who.end(), std::size_t{0});
    using How = CommMade::How;
    switch (first.how) {
      case How::dup: {
        const auto dims = shapes_[of].dims;
        WEFT_TRY(make_one(of, who, false, dims ? &*dims : nullptr));
        return true;
      }
      case How::split: {
        std::map<std::int32_t, std::vector<std::size_t>> colors;
        for (const std::size_t i : who)
          if (call_of(of, i)->child != kNone) colors[call_of(of, i)->color].push_back(i);
        for (auto& [color, some] : colors) {
          std::ranges::stable_sort(some, {}, [&](std::size_t i) { return call_of(of, i)->key; });
          WEFT_TRY(make_one(of, some, false, nullptr));
        }
        return true;
      }
      case How::create:
        return make_of_groups(of);
      case How::cart:
      case How::graph: {
        std::int64_t most = first.how == How::graph ? first.color : 1;
        for (const std::int32_t d : first.dims)
          if (d <= 0 || __builtin_mul_overflow(most, std::int64_t{d}, &most) ||
              most > static_cast<std::int64_t>(n))
            most = -1;
        if (most < 0 || most > static_cast<std::int64_t>(n))
          return fault(members(of)[0], first, "the new communicator does not fit into the old one", {},
                       fmt::format("at most {} ranks", n));
        for (const std::size_t i : who)
          if (const CommMade& m = *call_of(of, i); m.dims != first.dims || m.color != first.color)
            return fault(members(of)[i], m, fmt::format("the shape is not that of rank {}", members(of)[0]));
        who.resize(static_cast<std::size_t>(most));
        std::vector<char> belongs(n, 0);
        for (const std::size_t i : who) belongs[i] = 1;
        WEFT_TRY(no_others(of, belongs));
        const auto* dims = first.how == How::cart ? &first.dims : nullptr;
        if (!who.empty()) WEFT_TRY(make_one(of, who, first.reorder, dims));
        return true;
      }
      case How::cart_sub:
        return make_sub(of, first);
    }
    return true;
  }

  // Cartesian ranks are row-major: the last dimension runs fastest.
  Result<bool> make_sub(std::uint32_t of, const CommMade& first) {
    if (!shapes_[of].dims) return fault(members(of)[0], first, "the communicator is not a Cartesian one");
    const auto dims = *shapes_[of].dims;
    if (first.dims.size() != dims.size())
      return fault(members(of)[0], first, "the dimensions are not those of a Cartesian communicator",
                   std::to_string(first.dims.size()), std::to_string(dims.size()));
    std::vector<std::int32_t> remaining;
    for (std::size_t d = 0; d < dims.size(); ++d)
      if (first.dims[d] != 0) remaining.push_back(dims[d]);
    std::map<std::vector<std::int32_t>, std::vector<std::size_t>> parts;
    for (std::size_t i = 0; i < members(of).size(); ++i) {
      if (call_of(of, i)->dims != first.dims)
        return fault(members(of)[i], *call_of(of, i),
                     fmt::format("the dimensions that remain are not those of rank {}", members(of)[0]));
      std::vector<std::int32_t> fixed(dims.size(), 0);
      std::size_t rest = i;
      for (std::size_t d = dims.size(); d-- > 0; rest /= static_cast<std::size_t>(dims[d]))
        if (first.dims[d] == 0)
          fixed[d] = static_cast<std::int32_t>(rest % static_cast<std::size_t>(dims[d]));
      parts[fixed].push_back(i);
    }
    for (const auto& [fixed, some] : parts) WEFT_TRY(make_one(of, some, false, &remaining));
    return true;
  }

  // MPI_Comm_create: each member of a group names it; different members may name different groups.
  Result<bool> make_of_groups(std::uint32_t of) {
    const std::size_t n = members(of).size();
    std::map<Ranks, std::size_t> groups;  // and a position that named it
    for (std::size_t i = 0; i < n; ++i) {
      const CommMade& m = *call_of(of, i);
      if (m.child == kNone) continue;
      Ranks ranks;
      const std::int32_t rank = members(of)[i];
      WEFT_ASSIGN(const bool known, group_ranks(rank, m, m.group, ranks));
      if (!known) {
        waiting_[*missing_].push_back(of);
        return false;
      }
      groups.emplace(std::move(ranks), i);
    }
    std::unordered_map<std::int32_t, std::size_t> position;
    for (std::size_t i = 0; i < n; ++i) position[members(of)[i]] = i;
    std::vector<char> belongs(n, 0);
    for (const auto& [ranks, by] : groups) {
      std::vector<std::size_t> who;
      for (const std::int32_t r : ranks) {
        const auto at = position.find(r);
        if (at == position.end() || belongs[at->second] != 0)
          return fault(members(of)[by], *call_of(of, by),
                       at == position.end() ? "the group is not within the communicator"
                                            : "a rank belongs to two of the groups",
                       fmt::format("rank {}", r));
        belongs[at->second] = 1;
        who.push_back(at->second);
      }
      if (!who.empty()) WEFT_TRY(make_one(of, who, false, nullptr));
    }
    WEFT_TRY(no_others(of, belongs));
    return true;
  }

  // World ranks of a group of `rank`; false: it has a communicator that is still to come (missing_). Groups refer to
  // earlier ones, so the walk ends.
  Result<bool> group_ranks(std::int32_t rank, const CommMade& m, std::uint32_t group, Ranks& out) {
    const auto& groups = logs_[static_cast<std::size_t>(rank)].groups;
    // The groups that are needed, each once; by number a group comes after those that it is made of.
    std::map<std::uint32_t, Ranks> known;
    std::vector<std::uint32_t> open{group};
    while (!open.empty()) {
      const std::uint32_t g = open.back();
      open.pop_back();
      if (!known.try_emplace(g).second) continue;
      using How = GroupMade::How;
      const How how = groups[g].how;
      if (how == How::incl || how == How::excl || how == How::unite || how == How::intersect ||
          how == How::subtract)
        open.push_back(groups[g].a);
      if (how == How::unite || how == How::intersect || how == How::subtract) open.push_back(groups[g].b);
    }
    for (auto& [g, ranks] : known) {
      WEFT_ASSIGN(const bool ok, one_group(rank, m, groups[g], known, ranks));
      if (!ok) return false;
      group_work_ += ranks.size() + 1;
      if (group_work_ > kMostGroupWork) {
        Error e = not_supported("groups made of so many others",
                                fmt::format("at most {} ranks in all", kMostGroupWork));
        e.where = fault(rank, m, "").where;
        return e;
      }
    }
    out = known[group];
    return true;
  }

  Result<bool> one_group(std::int32_t rank, const CommMade& m, const GroupMade& g,
                         const std::map<std::uint32_t, Ranks>& known, Ranks& out) {
    using How = GroupMade::How;
    // Marks the ranks of a list; what `f` does sees them marked.
    const auto with = [this](const Ranks& ranks, auto&& f) {
      for (const std::int32_t r : ranks) seen_[static_cast<std::size_t>(r)] = 1;
      f([this](std::int32_t r) { return seen_[static_cast<std::size_t>(r)] != 0; });
      for (const std::int32_t r : ranks) seen_[static_cast<std::size_t>(r)] = 0;
    };
    switch (g.how) {
      case How::unknown: {
        Error e =
            not_supported(fmt::format("MPI_{} of a group that nothing in the file makes", name_of(m.call)),
                          "a group of MPI_Comm_group, MPI_Group_incl and their like");
        e.where = fault(rank, m, "").where;
        return e;
      }
      case How::empty:
        return true;
      case How::of_comm: {
        const CommHere here = out_.here[static_cast<std::size_t>(rank)][g.a];
        if (here.id == kNone) {
          missing_ = {rank, g.a};
          return false;
        }
        out = members(here.id);
        return true;
      }
      case How::incl:
      case How::excl: {
        const Ranks& from = known.at(g.a);
        std::vector<char> named(from.size(), 0);
        for (const std::int32_t r : g.ranks) {
          if (r < 0 || static_cast<std::size_t>(r) >= from.size() || named[static_cast<std::size_t>(r)] != 0)
            return fault(rank, m, "a group names a rank that its own group does not have, or names it twice",
                         std::to_string(r),
                         fmt::format("0 to {}, each once", static_cast<std::int64_t>(from.size()) - 1));
          named[static_cast<std::size_t>(r)] = 1;
          if (g.how == How::incl) out.push_back(from[static_cast<std::size_t>(r)]);
        }
        if (g.how == How::excl)
          for (std::size_t i = 0; i < from.size(); ++i)
            if (named[i] == 0) out.push_back(from[i]);
        return true;
      }
      default:
        break;
    }
    const Ranks& a = known.at(g.a);
    const Ranks& b = known.at(g.b);
    if (g.how == How::unite) {
      out = a;
      with(a, [&](auto in) {
        std::ranges::copy_if(b, std::back_inserter(out), [&](auto r) { return !in(r); });
      });
    } else {
      with(b, [&](auto in) {
        std::ranges::copy_if(a, std::back_inserter(out),
                             [&](auto r) { return in(r) == (g.how == How::intersect); });
      });
    }
    return true;
  }

  // Communicators whose calls wait for each other, or for one whose own calls do.
  [[nodiscard]] Error unexplained(std::uint32_t id) const {
    const CommMade& m = *call_of(id, 0);
    Error e = not_supported(
        fmt::format("MPI_{} with a group of a communicator that nothing explains", name_of(m.call)),
        "a group of a communicator that was made before");
    e.where = fault(members(id)[0], m, "").where;
    return e;
  }

  const std::vector<RankFile>& files_;
  std::vector<CommLog> logs_;
  Losses& losses_;
  std::vector<std::vector<std::vector<std::uint32_t>>> calls_;  // [rank][LocalComm], of logs_[rank].made
  std::vector<char> seen_;                                      // by rank, all 0 in between
  Communicators out_;
  std::vector<Shape> shapes_;
  std::deque<std::uint32_t> ready_;
  std::map<std::pair<std::int32_t, LocalComm>, std::vector<std::uint32_t>> waiting_;
  std::optional<std::pair<std::int32_t, LocalComm>> missing_;
  std::uint64_t members_ = 0, group_work_ = 0;
};

}  // namespace

Result<Communicators> make_communicators(const std::vector<RankFile>& files, std::vector<CommLog> logs,
                                         Losses& losses) {
  return Maker(files, std::move(logs), losses).run();
}

}  // namespace weft::traces::dumpi
