// Reaching MPI from inside a preloaded library that does not link it.
//
// The recorder is also loaded into shells and launchers: it must not pull libmpi into them. So functions are
// found by name at their first use, and the predefined handles of Open MPI (addresses of data symbols)
// likewise.
//
// Both names of a call, MPI_X and PMPI_X, are ours: Open MPI's Fortran bindings (mpif.h, mpi, mpi_f08) end in
// PMPI_X, so one C wrapper sees C, C++ and Fortran programs alike. Each name goes on to the next definition of
// the same name: PMPI_X is the MPI library, MPI_X may be another tool that the user preloaded or linked, which
// then calls our PMPI_X inside our MPI_X. So the files with wrappers are compiled twice, once for each name
// (WEFT_ENTRY = MPI_ or PMPI_); what they share is in state.cpp. What the recorder asks for itself goes to
// PMPI_X past all tools.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdint>
#include <type_traits>

// Open MPI 5 has the calls of MPI 4, though it is MPI 3.1 by its header.
#if MPI_VERSION >= 4 || (defined(OPEN_MPI) && OMPI_MAJOR_VERSION >= 5)
#define WEFT_CALLS_OF_MPI_4 1
#endif
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
#define WEFT_CALLS_OF_MPI_4_1 1
#endif
// Since MPI 4 there is a second form of every call with counts, MPI_X_c, that takes 64-bit ones. It is recorded as the
// first. (Open MPI 5 has none.)
#if MPI_VERSION >= 4
#define WEFT_LARGE_COUNTS 1
#endif

namespace weft::recorder {

// A handle as a number: Open MPI's are addresses, MPICH's integers.
template <class Handle>
std::uint64_t bits_of(Handle h) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(h);
  } else {
    return static_cast<std::uint64_t>(h);
  }
}

#ifdef WEFT_CALLS_OF_MPI_4
// The partitions of MPI_Pready_list: `const int*` in the standard, `int*` in MPICH 4.0 and Open MPI 5. A wrapper is declared as its header is.
template <class Function>
struct SecondArgument;
template <class R, class A, class B, class... Rest>
struct SecondArgument<R (*)(A, B, Rest...)> {
  using type = B;
};
using Partitions = SecondArgument<decltype(&MPI_Pready_list)>::type;
#endif
#ifdef WEFT_CALLS_OF_MPI_4_1
// The requests of MPI_Request_get_status_all, _any and _some: likewise.
using AskedRequests = SecondArgument<decltype(&MPI_Request_get_status_all)>::type;
#endif

// Address of a symbol of the program's MPI library; ends the program with a message if there is none.
void* mpi_symbol(const char* name);
// The same for data, where a copy in the executable comes first (x86-64 copy relocations).
void* mpi_data(const char* name);

}  // namespace weft::recorder

// The function `symbol` of the MPI library, of the type of `declared`.
#define WEFT_SYMBOL(declared, symbol)                                                       \
  (*[]() -> decltype(&declared) {                                                           \
    static decltype(&declared) function = nullptr;                                          \
    if (function == nullptr)                                                                \
      function = reinterpret_cast<decltype(&declared)>(weft::recorder::mpi_symbol(symbol)); \
    return function;                                                                        \
  }())

// WEFT_REAL(Send)(...) calls PMPI_Send of the MPI library.
#define WEFT_REAL(name) WEFT_SYMBOL(MPI_##name, "PMPI_" #name)

#ifdef WEFT_ENTRY
#define WEFT_PASTE_(a, b) a##b
#define WEFT_PASTE(a, b) WEFT_PASTE_(a, b)
#define WEFT_TEXT_(a) #a
#define WEFT_TEXT(a) WEFT_TEXT_(a)

// WEFT_NEXT(Send)(...) in a wrapper: what would run if the recorder were not there.
#define WEFT_NEXT(name) WEFT_NEXT_(name)
#define WEFT_NEXT_(name) WEFT_SYMBOL(MPI_##name, WEFT_TEXT(WEFT_ENTRY) #name)

// Defines MPI_name or PMPI_name, with parameter list `params`, as an exported function.
#define WEFT_WRAP(name, params) \
  extern "C" __attribute__((visibility("default"))) int WEFT_PASTE(WEFT_ENTRY, name) params

// The same for calls that make persistent collectives (MPI_Bcast_init): of MPI 4, in Open MPI from 5.0; Open MPI 4 has
// them as an extension, MPIX_Bcast_init. Older libraries have none.
#ifdef WEFT_CALLS_OF_MPI_4
#define WEFT_INIT_ENTRY WEFT_ENTRY
#elif defined(OPEN_MPI) && OMPI_MAJOR_VERSION == 4
#define WEFT_EXTENSION_OF_MPI_ MPIX_
#define WEFT_EXTENSION_OF_PMPI_ PMPIX_
#define WEFT_INIT_ENTRY WEFT_PASTE(WEFT_EXTENSION_OF_, WEFT_ENTRY)
#endif
#define WEFT_WRAP_INIT(name, params) \
  extern "C" __attribute__((visibility("default"))) int WEFT_PASTE(WEFT_INIT_ENTRY, name) params
#define WEFT_NEXT_INIT(name) WEFT_NEXT_INIT_(name)
#define WEFT_NEXT_INIT_(name) WEFT_SYMBOL(WEFT_PASTE(WEFT_INIT_ENTRY, name), WEFT_TEXT(WEFT_INIT_ENTRY) #name)
#endif

#ifdef OPEN_MPI
#define WEFT_MPI_DATA(symbol)                                                           \
  (*[]() {                                                                              \
    static decltype(&symbol) address = nullptr;                                         \
    if (address == nullptr)                                                             \
      address = reinterpret_cast<decltype(&symbol)>(weft::recorder::mpi_data(#symbol)); \
    return address;                                                                     \
  }())
#define WEFT_COMM_WORLD (reinterpret_cast<MPI_Comm>(&WEFT_MPI_DATA(ompi_mpi_comm_world)))
#define WEFT_COMM_SELF (reinterpret_cast<MPI_Comm>(&WEFT_MPI_DATA(ompi_mpi_comm_self)))
#define WEFT_COMM_NULL (reinterpret_cast<MPI_Comm>(&WEFT_MPI_DATA(ompi_mpi_comm_null)))
#define WEFT_REQUEST_NULL (reinterpret_cast<MPI_Request>(&WEFT_MPI_DATA(ompi_request_null)))
#define WEFT_BYTE (reinterpret_cast<MPI_Datatype>(&WEFT_MPI_DATA(ompi_mpi_byte)))
#define WEFT_MESSAGE_NO_PROC (reinterpret_cast<MPI_Message>(&WEFT_MPI_DATA(ompi_message_no_proc)))
#define WEFT_DATATYPE_NULL (reinterpret_cast<MPI_Datatype>(&WEFT_MPI_DATA(ompi_mpi_datatype_null)))
#else
#define WEFT_COMM_WORLD MPI_COMM_WORLD
#define WEFT_COMM_SELF MPI_COMM_SELF
#define WEFT_COMM_NULL MPI_COMM_NULL
#define WEFT_REQUEST_NULL MPI_REQUEST_NULL
#define WEFT_BYTE MPI_BYTE
#define WEFT_MESSAGE_NO_PROC MPI_MESSAGE_NO_PROC
#define WEFT_DATATYPE_NULL MPI_DATATYPE_NULL
#endif
