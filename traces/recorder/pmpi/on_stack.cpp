#include "traces/recorder/pmpi/on_stack.hpp"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <unwind.h>

#include "traces/recorder/abi.hpp"

namespace weft::recorder {
namespace {

// A library's begin in memory; null: of none.
const void* library_of(const void* code) {
  Dl_info info{};
  return dladdr(code, &info) != 0 ? info.dli_fbase : nullptr;
}

// Whether code is of an MPI library: its bindings, and what Open MPI loads or is built on, are, too.
bool is_of_mpi(const void* code) {
  Dl_info info{};
  if (dladdr(code, &info) == 0 || info.dli_fname == nullptr) return false;
  const char* name = base_name(info.dli_fname);
  return abi_of_library(name) != Abi::kNone || strncmp(name, "mca_", 4) == 0 ||
         strncmp(name, "libopen-", 8) == 0;
}

struct Walk {
  uintptr_t end;
  bool others = false;       // functions that are not the recorder's were seen
  bool programs = false;     // and some that are not MPI's
  bool called_back = false;  // which one of MPI called
  bool found = false, all_seen = false;
};

_Unwind_Reason_Code step(_Unwind_Context* frame, void* to) {
  auto& walk = *static_cast<Walk*>(to);
  // Of a function that has called another: where its own stack ends.
  if (static_cast<uintptr_t>(_Unwind_GetCFA(frame)) >= walk.end) {
    walk.all_seen = true;
    return _URC_END_OF_STACK;
  }
  const auto* code = reinterpret_cast<const void*>(_Unwind_GetIP(frame));
  const bool own = is_recorders(code);
  walk.found = walk.others && own;
  walk.others |= !own;
  if (!own && is_of_mpi(code))
    walk.called_back = walk.programs;
  else
    walk.programs |= !own;
  return walk.found ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

bool is_recorders(const void* code) {
  static const void* const own = library_of(reinterpret_cast<const void*>(&is_recorders));
  return library_of(code) == own;
}

Caller caller_on_stack(const void* end) {
  Walk walk{reinterpret_cast<uintptr_t>(end)};
  _Unwind_Backtrace(step, &walk);
  if (!walk.found && walk.all_seen) return Caller::kProgram;
  return walk.called_back ? Caller::kCallback : Caller::kLibrary;
}

}  // namespace weft::recorder
