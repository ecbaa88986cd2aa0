#include "traces/formats/liballprof/follow.hpp"

namespace weft::traces::allprof {
namespace {

std::optional<CommMade> made_by(const Line& l) {
  using How = CommMade::How;
  CommMade m;
  const auto value = [&](std::size_t a) { return static_cast<std::int32_t>(l.arg[a].value); };
  std::size_t variable = kMaxArgs;
  switch (l.call) {
    case kComm_dup:
      m.how = How::dup;
      variable = arg_of<kComm_dup, "newcomm">;
      break;
    case kComm_dup_with_info:
      m.how = How::dup;
      variable = arg_of<kComm_dup_with_info, "newcomm">;
      break;
    case kComm_idup:
      m.how = How::dup;
      variable = arg_of<kComm_idup, "newcomm">;
      break;
    case kComm_split:
      m.how = How::split;
      m.color = value(arg_of<kComm_split, "color">);
      m.key = value(arg_of<kComm_split, "key">);
      variable = arg_of<kComm_split, "newcomm">;
      break;
    case kComm_split_type:
      m.how = How::split_type;
      m.color = value(arg_of<kComm_split_type, "split_type">);
      m.key = value(arg_of<kComm_split_type, "key">);
      variable = arg_of<kComm_split_type, "newcomm">;
      break;
    case kComm_create:
      m.how = How::create;
      variable = arg_of<kComm_create, "newcomm">;
      break;
    case kCart_create:
      m.how = How::prefix;
      m.reorder = value(arg_of<kCart_create, "reorder">) != 0;
      variable = arg_of<kCart_create, "newcomm">;
      break;
    case kGraph_create:
      m.how = How::prefix;
      m.reorder = value(arg_of<kGraph_create, "reorder">) != 0;
      variable = arg_of<kGraph_create, "newcomm">;
      break;
    case kDist_graph_create:
      m.how = How::prefix;
      m.reorder = value(arg_of<kDist_graph_create, "reorder">) != 0;
      variable = arg_of<kDist_graph_create, "newcomm">;
      break;
    case kDist_graph_create_adjacent:
      m.how = How::prefix;
      m.reorder = value(arg_of<kDist_graph_create_adjacent, "reorder">) != 0;
      variable = arg_of<kDist_graph_create_adjacent, "newcomm">;
      break;
    case kCart_sub:
      m.how = How::cart_sub;
      variable = arg_of<kCart_sub, "newcomm">;
      break;
    case kIntercomm_create:
      m.how = How::inter;
      variable = arg_of<kIntercomm_create, "newcomm">;
      break;
    case kIntercomm_merge:
      m.how = How::merge;
      variable = arg_of<kIntercomm_merge, "newcomm">;
      break;
    default:
      return std::nullopt;
  }
  m.variable = l.arg[variable].bits();
  m.line = l.number;
  return m;
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
