#include "traces/formats/otf2/mpi_calls.hpp"

#include <algorithm>
#include <iterator>

namespace weft::traces::otf2 {
namespace {

struct Row {
  std::string_view name;  // lower case, without mpi_
  CallClass cls;
  OpKind kind = OpKind::send;
};

constexpr Row kRows[] = {
    {"send", CallClass::send, OpKind::send},
    {"bsend", CallClass::send, OpKind::bsend},
    {"ssend", CallClass::send, OpKind::ssend},
    {"rsend", CallClass::send, OpKind::rsend},
    {"isend", CallClass::send, OpKind::isend},
    {"ibsend", CallClass::send, OpKind::ibsend},
    {"issend", CallClass::send, OpKind::issend},
    {"irsend", CallClass::send, OpKind::irsend},
    {"recv", CallClass::receive},
    {"irecv", CallClass::receive},
    {"mrecv", CallClass::receive},
    {"imrecv", CallClass::receive},
    {"sendrecv", CallClass::sendrecv},
    {"sendrecv_replace", CallClass::sendrecv},
    {"start", CallClass::start},
    {"startall", CallClass::start},
    {"wait", CallClass::complete, OpKind::wait},
    {"waitall", CallClass::complete, OpKind::waitall},
    {"waitany", CallClass::complete, OpKind::waitany},
    {"waitsome", CallClass::complete, OpKind::waitsome},
    {"test", CallClass::complete, OpKind::test},
    {"testall", CallClass::complete, OpKind::testall},
    {"testany", CallClass::complete, OpKind::testany},
    {"testsome", CallClass::complete, OpKind::testsome},
    {"request_free", CallClass::other},
    {"request_get_status", CallClass::other},
    {"cancel", CallClass::other},
    {"isendrecv", CallClass::other},
    {"isendrecv_replace", CallClass::other},
    {"probe", CallClass::probe},
    {"mprobe", CallClass::probe},
    {"iprobe", CallClass::probe},
    {"improbe", CallClass::probe},
    {"init", CallClass::init},
    {"init_thread", CallClass::init},
    {"finalize", CallClass::finalize},
    {"comm_split", CallClass::comm_make, OpKind::comm_split},
    {"comm_split_type", CallClass::comm_make, OpKind::comm_split},
    {"cart_sub", CallClass::comm_make, OpKind::comm_split},
    {"comm_dup", CallClass::comm_make, OpKind::comm_dup},
    {"comm_dup_with_info", CallClass::comm_make, OpKind::comm_dup},
    {"comm_idup", CallClass::comm_make, OpKind::comm_dup},
    {"comm_idup_with_info", CallClass::comm_make, OpKind::comm_dup},
    {"comm_create", CallClass::comm_make, OpKind::comm_create},
    {"comm_create_group", CallClass::comm_make, OpKind::comm_create_group},
    {"cart_create", CallClass::comm_make, OpKind::cart_create},
    {"graph_create", CallClass::comm_make, OpKind::comm_create},
    {"dist_graph_create", CallClass::comm_make, OpKind::comm_create},
    {"dist_graph_create_adjacent", CallClass::comm_make, OpKind::comm_create},
    {"comm_free", CallClass::comm_free},
};

constexpr std::string_view kRma[] = {"put",  "get",  "accumulate",  "get_accumulate",  "fetch_and_op",
                                     "rput", "rget", "raccumulate", "rget_accumulate", "compare_and_swap"};
constexpr std::string_view kDynamic[] = {"comm_spawn",   "comm_spawn_multiple", "comm_accept",
                                         "comm_connect", "comm_disconnect",     "comm_join",
                                         "open_port"};

// barrier ... exscan, and with an i in front.
bool collective(std::string_view name, MpiCall& out) {
  for (int k = static_cast<int>(OpKind::barrier); k <= static_cast<int>(OpKind::exscan); ++k) {
    if (name != op_name(static_cast<OpKind>(k))) continue;
    out = {CallClass::collective, static_cast<OpKind>(k), {}};
    return true;
  }
  for (int k = static_cast<int>(OpKind::ibarrier); k <= static_cast<int>(OpKind::iexscan); ++k) {
    if (name != op_name(static_cast<OpKind>(k))) continue;
    out = {CallClass::icollective, static_cast<OpKind>(k), Lost::collective};
    return true;
  }
  return false;
}

MpiCall lost(Lost group) { return {CallClass::lost, OpKind::send, group}; }

}  // namespace

MpiCall classify(std::string_view region, bool mpi) {
  std::string name(region);
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  if (name.ends_with("()")) name.resize(name.size() - 2);
  if (!name.starts_with("mpi_")) return {mpi ? CallClass::local : CallClass::user, OpKind::send, {}};
  name.erase(0, 4);
  while (name.ends_with('_')) name.pop_back();
  if (name.ends_with("_c")) name.resize(name.size() - 2);
  for (const Row& r : kRows)
    if (name == r.name) return {r.cls, r.kind, {}};
  MpiCall call;
  if (collective(name, call)) return call;
  if (name.starts_with("neighbor_") || name.starts_with("ineighbor_")) return lost(Lost::neighbor);
  if (std::ranges::find(kRma, name) != std::end(kRma)) return lost(Lost::rma);
  if (name.starts_with("win_") && !name.starts_with("win_get_") && !name.starts_with("win_set_") &&
      name.find("keyval") == std::string::npos && name.find("errhandler") == std::string::npos)
    return lost(Lost::rma);
  if (name.starts_with("file_") && !name.starts_with("file_get_") &&
      name.find("errhandler") == std::string::npos)
    return lost(Lost::io);
  if (std::ranges::find(kDynamic, name) != std::end(kDynamic)) return lost(Lost::dynamic);
  if (name.starts_with("intercomm_")) return lost(Lost::inter);
  if (name.starts_with("pready") || name == "psend_init" || name == "precv_init" || name == "parrived")
    return lost(Lost::partitioned);
  return {CallClass::local, OpKind::send, {}};
}

}  // namespace weft::traces::otf2
