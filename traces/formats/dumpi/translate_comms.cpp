// Communicators and groups: translator.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "traces/formats/dumpi/translator.hpp"

namespace weft::traces::dumpi {

#define WEFT_AT(call, name) field<k##call, name>
#define WEFT_V(call, name) r_->value[field<k##call, name>]

bool Translator::make_comm(OpBlock& out) {
  CommMade made;
  OpKind kind = OpKind::comm_dup;
  std::int64_t parent = 0, child = 0;
  const auto dims = [&](std::size_t f, std::int64_t ndim) {
    const auto all = r_->array(f);
    if (static_cast<std::int64_t>(all.size()) != ndim)
      return fail("the number of dimensions is not that of the array", std::to_string(ndim),
                  std::to_string(all.size()));
    made.dims.assign(all.begin(), all.end());
    return true;
  };
#define WEFT_PAIR(call) parent = WEFT_V(call, "oldcomm"), child = WEFT_V(call, "newcomm")
  switch (r_->call) {
    case kComm_dup:
      WEFT_PAIR(Comm_dup);
      made.how = CommMade::How::dup;
      break;
    case kComm_split:
      WEFT_PAIR(Comm_split);
      kind = OpKind::comm_split;
      made.how = CommMade::How::split;
      made.color = static_cast<std::int32_t>(WEFT_V(Comm_split, "color"));
      made.key = static_cast<std::int32_t>(WEFT_V(Comm_split, "key"));
      break;
    case kComm_create:
      WEFT_PAIR(Comm_create);
      kind = OpKind::comm_create;
      made.how = CommMade::How::create;
      if (log_ != nullptr) made.group = group_at(WEFT_V(Comm_create, "group"));
      break;
    case kCart_create:
      WEFT_PAIR(Cart_create);
      kind = OpKind::cart_create;
      made.how = CommMade::How::cart;
      made.reorder = WEFT_V(Cart_create, "reorder") != 0;
      if (!dims(WEFT_AT(Cart_create, "dims"), WEFT_V(Cart_create, "ndim"))) return false;
      break;
    case kGraph_create:
      WEFT_PAIR(Graph_create);
      kind = OpKind::comm_create;
      made.how = CommMade::How::graph;
      made.reorder = WEFT_V(Graph_create, "reorder") != 0;
      made.color = static_cast<std::int32_t>(WEFT_V(Graph_create, "nodes"));
      break;
    default:
      WEFT_PAIR(Cart_sub);
      kind = OpKind::comm_split;
      made.how = CommMade::How::cart_sub;
      if (!dims(WEFT_AT(Cart_sub, "remain_dims"), WEFT_V(Cart_sub, "ndim"))) return false;
  }
  if (!comm_of(parent, made.parent)) return false;
  if (child == 2 || child == 3)
    return fail("the new communicator is one that MPI has from the start", std::to_string(child),
                "1, or 4 or more");
  const Kin kin = kin_[made.parent];
  const bool has_operation = heard(made.parent);
  if (child > 3) made.child = bind_comm(child, kin);
  if (!has_operation) return true;
  made.at = {r_->offset, r_->number};
  made.call = r_->call;
  Op op{.kind = kind, .comm = CommId(made.parent), .amount = -1};
  if (made.child != kNone) op.amount = made.child;
  push(op, out);
  if (log_ != nullptr) log_->made.push_back(std::move(made));
  return true;
}

bool Translator::free_comm(OpBlock& out) {
  const std::int64_t handle = WEFT_V(Comm_free, "comm");
  LocalComm comm = 0;
  if (!comm_of(handle, comm)) return false;
  if (heard(comm)) push({.kind = OpKind::comm_free, .comm = CommId(comm)}, out);
  comms_.erase(handle);
  return true;
}

std::uint32_t Translator::group_at(std::int64_t handle) {
  if (const auto it = groups_.find(handle); it != groups_.end()) return it->second;
  log_->groups.push_back({handle == 2 ? GroupMade::How::empty : GroupMade::How::unknown, 0, 0, {}});
  const auto at = static_cast<std::uint32_t>(log_->groups.size() - 1);
  groups_[handle] = at;
  return at;
}

void Translator::bind_group(std::int64_t handle, GroupMade g) {
  if (handle <= 2) return;  // error, null and empty
  groups_[handle] = static_cast<std::uint32_t>(log_->groups.size());
  log_->groups.push_back(std::move(g));
}

// Calls that leave no operation and are needed to understand others.
bool Translator::define() {
  types_.define(*r_);
  if (log_ == nullptr) return true;
  using How = GroupMade::How;
  const auto two = [this](How how, std::size_t made) {
    const std::uint32_t a = group_at(r_->value[0]), b = group_at(r_->value[1]);
    bind_group(r_->value[made], {how, a, b, {}});
  };
  // Ranges first:last:stride become ranks.
  const auto list = [this](How how, std::size_t from, std::size_t ranks, std::size_t made, bool ranges) {
    GroupMade g{how, group_at(r_->value[from]), 0, {}};
    const auto all = r_->array(ranks);
    if (!ranges) {
      g.ranks.assign(all.begin(), all.end());
    } else {
      for (std::size_t i = 0; i + 2 < all.size(); i += 3) {
        const std::int64_t first = all[i], last = all[i + 1], stride = all[i + 2];
        if (stride == 0 || first < 0 || last < 0)
          return fail("a range of ranks cannot be", fmt::format("{}:{}:{}", first, last, stride),
                      "first, last, stride with a stride other than 0");
        for (std::int64_t k = first; stride > 0 ? k <= last : k >= last; k += stride) {
          if (++log_->range_ranks > most_range_ranks(file_.bytes))
            return fail("the groups made of ranges have too many ranks", {},
                        fmt::format("at most {}", most_range_ranks(file_.bytes)));
          g.ranks.push_back(static_cast<std::int32_t>(k));
        }
      }
    }
    bind_group(r_->value[made], std::move(g));
    return true;
  };
  switch (r_->call) {
    case kComm_size:
    case kComm_rank: {
      static_assert(WEFT_AT(Comm_size, "size") == WEFT_AT(Comm_rank, "rank"));
      const std::int64_t handle = WEFT_V(Comm_size, "comm");
      const auto it = comms_.find(handle);
      if (handle != 2 && handle != 3 && it == comms_.end()) return true;
      const LocalComm comm = handle == 2 ? kWorld : handle == 3 ? kSelf : it->second;
      auto& said = r_->call == kComm_size ? log_->size_of : log_->rank_in;
      if (said[comm] < 0) said[comm] = static_cast<std::int32_t>(WEFT_V(Comm_size, "size"));
      return true;
    }
    case kComm_group: {
      LocalComm comm = 0;
      if (!comm_of(WEFT_V(Comm_group, "comm"), comm)) return false;
      if (comm == kSelf) log_->uses_self = true;
      bind_group(WEFT_V(Comm_group, "group"),
                 {kin_[comm] == Kin::normal ? How::of_comm : How::unknown, comm, 0, {}});
      return true;
    }
    case kGroup_union:
      two(How::unite, WEFT_AT(Group_union, "newgroup"));
      return true;
    case kGroup_intersection:
      two(How::intersect, WEFT_AT(Group_intersection, "newgroup"));
      return true;
    case kGroup_difference:
      two(How::subtract, WEFT_AT(Group_difference, "newgroup"));
      return true;
    case kGroup_incl:
      return list(How::incl, WEFT_AT(Group_incl, "group"), WEFT_AT(Group_incl, "ranks"),
                  WEFT_AT(Group_incl, "newgroup"), false);
    case kGroup_excl:
      return list(How::excl, WEFT_AT(Group_excl, "group"), WEFT_AT(Group_excl, "ranks"),
                  WEFT_AT(Group_excl, "newgroup"), false);
    case kGroup_range_incl:
      return list(How::incl, WEFT_AT(Group_range_incl, "group"), WEFT_AT(Group_range_incl, "ranges"),
                  WEFT_AT(Group_range_incl, "newgroup"), true);
    case kGroup_range_excl:
      return list(How::excl, WEFT_AT(Group_range_excl, "group"), WEFT_AT(Group_range_excl, "ranges"),
                  WEFT_AT(Group_range_excl, "newgroup"), true);
    case kWin_get_group:
    case kFile_get_group:
    case kComm_remote_group: {
      const std::size_t f = find_field(r_->call, "group");
      bind_group(r_->value[f], {How::unknown, 0, 0, {}});
      return true;
    }
    default:
      return true;
  }
}

}  // namespace weft::traces::dumpi
