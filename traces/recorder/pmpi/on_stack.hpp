// Whether a wrapped call is still on the stack, or was left by an exception or a jump, and what calls inside of it.
#pragma once

namespace weft::recorder {

// Who calls MPI while a wrapped call of the thread may be in progress. kProgram: the program, that call was left. kLibrary: MPI
// itself, or another tool that the call went through. kCallback: a function of the program that MPI calls (of an attribute, an
// error handler).
enum class Caller : unsigned char { kProgram, kLibrary, kCallback };

// Told by the stack: in a call that is in progress some function below the first one that is not the recorder's, seen from here,
// is the recorder's again, and in a callback MPI's are between that one and one of the program. `end`: where the stack of that
// call's caller ends; who has come past it has seen all that could be. Where the stack cannot be followed so far the call is
// taken to be in progress. Some microseconds, no allocation.
[[nodiscard]] Caller caller_on_stack(const void* end);

// Whether a place of the program's code is the recorder's.
[[nodiscard]] bool is_recorders(const void* code);

}  // namespace weft::recorder
