// Whether a wrapped call is still on the stack, or was left by an exception or a jump.
#pragma once

namespace weft::recorder {

// Whether some function below the first one that is not the recorder's, seen from here, is the recorder's again: one that wraps a
// call of MPI, inside of which MPI or another tool calls MPI. `end`: where the stack of that call's caller ends; who has come past it
// has seen all that could be. True, too, where the stack cannot be followed so far. Some microseconds, no allocation.
[[nodiscard]] bool inside_wrapped_call(const void* end);

// Whether a place of the program's code is the recorder's.
[[nodiscard]] bool is_recorders(const void* code);

}  // namespace weft::recorder
