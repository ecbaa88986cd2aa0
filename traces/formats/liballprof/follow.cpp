#include "traces/formats/liballprof/follow.hpp"

namespace weft::traces::allprof {
namespace {

using How = CommMade::How;

std::int32_t value(const Line& l, std::size_t arg) { return static_cast<std::int32_t>(l.arg[arg].value); }

// What a call of kind `kCall` makes; the variable that it writes is its argument newcomm.
template <Call kCall>
CommMade made(const Line& l, How how) {
  CommMade m;
  m.how = how;
  m.variable = l.arg[arg_of<kCall, "newcomm">].bits();
  m.line = l.number;
  return m;
}
template <Call kCall>
CommMade made_topology(const Line& l) {
  CommMade m = made<kCall>(l, How::prefix);
  m.reorder = value(l, arg_of<kCall, "reorder">) != 0;
  return m;
}
CommMade made_split(CommMade m, std::int32_t color, std::int32_t key) {
  m.color = color;
  m.key = key;
  return m;
}

std::optional<CommMade> made_by(const Line& l) {
  switch (l.call) {
    case kComm_dup:
      return made<kComm_dup>(l, How::dup);
    case kComm_dup_with_info:
      return made<kComm_dup_with_info>(l, How::dup);
    case kComm_idup:
      return made<kComm_idup>(l, How::dup);
    case kComm_split:
      return made_split(made<kComm_split>(l, How::split), value(l, arg_of<kComm_split, "color">),
                        value(l, arg_of<kComm_split, "key">));
    case kComm_split_type:
      return made_split(made<kComm_split_type>(l, How::split_type),
                        value(l, arg_of<kComm_split_type, "split_type">),
                        value(l, arg_of<kComm_split_type, "key">));
    case kComm_create:
      return made<kComm_create>(l, How::create);
    case kCart_create:
      return made_topology<kCart_create>(l);
    case kGraph_create:
      return made_topology<kGraph_create>(l);
    case kDist_graph_create:
      return made_topology<kDist_graph_create>(l);
    case kDist_graph_create_adjacent:
      return made_topology<kDist_graph_create_adjacent>(l);
    case kCart_sub:
      return made<kCart_sub>(l, How::cart_sub);
    case kIntercomm_create:
      return made<kIntercomm_create>(l, How::inter);
    case kIntercomm_merge:
      return made<kIntercomm_merge>(l, How::merge);
    default:
      return std::nullopt;
  }
}

}  // namespace

Followed follow(const Line& line, CommTable& table) {
  Followed f;
  if (line.cls != CallClass::op) return f;
  const Layout& layout = kLayouts[line.call];
  for (std::size_t a = 0; a < layout.args && f.use == kNone; ++a)
    if (layout.type[a] == 'c') f.use = table.of(line.arg[a].bits(), line.arg[a].rank, line.arg[a].size);
  if (auto made = made_by(line)) {
    made->parent = f.use;
    f.made = table.make(*made);
  } else if (line.call == kComm_free || line.call == kComm_disconnect) {
    f.freed = table.free(line.arg[0].bits());
  }
  return f;
}

std::optional<Posting> posting_of(Call call) {
#define WEFT_POSTS(name, ...) \
  case k##name:               \
    return Posting { arg_of<k##name, "request">, __VA_ARGS__ }
  switch (call) {
    WEFT_POSTS(Isend, false, false);
    WEFT_POSTS(Ibsend, false, false);
    WEFT_POSTS(Issend, false, false);
    WEFT_POSTS(Irsend, false, false);
    WEFT_POSTS(Irecv, true, false);
    WEFT_POSTS(Imrecv, true, false);
    WEFT_POSTS(Send_init, false, true);
    WEFT_POSTS(Bsend_init, false, true);
    WEFT_POSTS(Ssend_init, false, true);
    WEFT_POSTS(Rsend_init, false, true);
    WEFT_POSTS(Recv_init, true, true);
    WEFT_POSTS(Ibarrier, false, false);
    WEFT_POSTS(Ibcast, false, false);
    WEFT_POSTS(Ireduce, false, false);
    WEFT_POSTS(Iallreduce, false, false);
    WEFT_POSTS(Iscan, false, false);
    WEFT_POSTS(Iexscan, false, false);
    WEFT_POSTS(Igather, false, false);
    WEFT_POSTS(Iscatter, false, false);
    WEFT_POSTS(Iallgather, false, false);
    WEFT_POSTS(Ialltoall, false, false);
    WEFT_POSTS(Ireduce_scatter_block, false, false);
    WEFT_POSTS(Comm_idup, false, false);
    default:
      return std::nullopt;
  }
#undef WEFT_POSTS
}

std::optional<Naming> naming_of(const Line& l) {
#define WEFT_ONE(name) \
  case k##name:        \
    return Naming { l.arg[arg_of<k##name, "requests">].bits(), 1 }
#define WEFT_SEVERAL(name) \
  case k##name:            \
    return Naming { l.arg[arg_of<k##name, "requests">].bits(), l.arg[arg_of<k##name, "count">].value }
  switch (l.call) {
    WEFT_ONE(Wait);
    WEFT_ONE(Test);
    WEFT_ONE(Start);
    WEFT_ONE(Cancel);
    WEFT_ONE(Request_free);
    WEFT_SEVERAL(Waitall);
    WEFT_SEVERAL(Waitany);
    WEFT_SEVERAL(Waitsome);
    WEFT_SEVERAL(Testall);
    WEFT_SEVERAL(Testany);
    WEFT_SEVERAL(Testsome);
    WEFT_SEVERAL(Startall);
    default:
      return std::nullopt;
  }
#undef WEFT_ONE
#undef WEFT_SEVERAL
}

}  // namespace weft::traces::allprof
