#include "traces/recorder/pmpi/on_stack.hpp"

#include <dlfcn.h>
#include <stdint.h>
#include <unwind.h>

namespace weft::recorder {
namespace {

// A library's begin in memory; null: of none.
const void* library_of(const void* code) {
  Dl_info info{};
  return dladdr(code, &info) != 0 ? info.dli_fbase : nullptr;
}

struct Walk {
  uintptr_t end;
  bool others = false;  // functions that are not the recorder's were seen
  bool found = false, all_seen = false;
};

_Unwind_Reason_Code step(_Unwind_Context* frame, void* to) {
  auto& walk = *static_cast<Walk*>(to);
  // Of a function that has called another: where its own stack ends.
  if (static_cast<uintptr_t>(_Unwind_GetCFA(frame)) >= walk.end) {
    walk.all_seen = true;
    return _URC_END_OF_STACK;
  }
  const bool own = is_recorders(reinterpret_cast<const void*>(_Unwind_GetIP(frame)));
  walk.found = walk.others && own;
  walk.others |= !own;
  return walk.found ? _URC_END_OF_STACK : _URC_NO_REASON;
}

}  // namespace

bool is_recorders(const void* code) {
  static const void* const own = library_of(reinterpret_cast<const void*>(&is_recorders));
  return library_of(code) == own;
}

bool inside_wrapped_call(const void* end) {
  Walk walk{reinterpret_cast<uintptr_t>(end)};
  _Unwind_Backtrace(step, &walk);
  return walk.found || !walk.all_seen;
}

}  // namespace weft::recorder
