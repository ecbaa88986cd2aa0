#include "traces/formats/liballprof/call.hpp"

#include <algorithm>

namespace weft::traces::allprof {
namespace {

constexpr std::size_t kCalls = std::size(kLayouts);

constexpr std::array<Call, kCalls> calls_by_name() {
  std::array<Call, kCalls> all{};
  for (std::size_t i = 0; i < kCalls; ++i) all[i] = static_cast<Call>(i);
  std::ranges::sort(all, {}, [](Call c) { return kLayouts[c].name; });
  return all;
}
constexpr std::array<Call, kCalls> kByName = calls_by_name();

// Of functions without a row.
constexpr std::string_view kLocal[] = {"Abort",
                                       "Add_",
                                       "Address",
                                       "Aint_",
                                       "Alloc_mem",
                                       "Attr_",
                                       "Buffer_",
                                       "Cart_",
                                       "Cartdim_get",
                                       "Close_port",
                                       "Comm_",
                                       "Dims_create",
                                       "Dist_graph_neighbors",
                                       "Errhandler_",
                                       "Error_",
                                       "File_c2f",
                                       "File_call_errhandler",
                                       "File_create_errhandler",
                                       "File_f2c",
                                       "File_get_",
                                       "File_set_errhandler",
                                       "File_set_info",
                                       "Finalized",
                                       "Free_mem",
                                       "Get_",
                                       "Graph_",
                                       "Graphdims_get",
                                       "Grequest_complete",
                                       "Group_",
                                       "Info_",
                                       "Initialized",
                                       "Is_thread_main",
                                       "Keyval_",
                                       "Lookup_name",
                                       "Op_",
                                       "Open_port",
                                       "Pack",
                                       "Pcontrol",
                                       "Publish_name",
                                       "Query_thread",
                                       "Reduce_local",
                                       "Register_datarep",
                                       "Request_c2f",
                                       "Request_f2c",
                                       "Status_",
                                       "T_",
                                       "Test_cancelled",
                                       "Topo_test",
                                       "Type_",
                                       "Unpack",
                                       "Unpublish_name",
                                       "Win_c2f",
                                       "Win_call_errhandler",
                                       "Win_create_errhandler",
                                       "Win_create_keyval",
                                       "Win_delete_attr",
                                       "Win_f2c",
                                       "Win_free_keyval",
                                       "Win_get_",
                                       "Win_set_",
                                       "Wtick",
                                       "Wtime"};

bool begins_with(std::string_view name, std::string_view row) {
  return row.ends_with('_') || row == "Pack" || row == "Unpack" || row == "Dist_graph_neighbors"
             ? name.starts_with(row)
             : name == row;
}

}  // namespace

Call find_call(std::string_view name) {
  const auto at = std::ranges::lower_bound(kByName, name, {}, [](Call c) { return kLayouts[c].name; });
  return at != kByName.end() && kLayouts[*at].name == name ? *at : kOtherCall;
}

CallClass class_of(Call call, std::string_view name) {
  if (call != kOtherCall) return kLayouts[call].cls;
  if (std::ranges::any_of(kLocal, [name](std::string_view row) { return begins_with(name, row); }))
    return CallClass::local;
  if (name.starts_with("File_")) return CallClass::io;
  if (name.starts_with("Win_")) return CallClass::rma;
  return CallClass::unknown;
}

}  // namespace weft::traces::allprof
