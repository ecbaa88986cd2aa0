// Calls of MPI as events of a Dimemas trace: types and values of Extrae 5.1.2 and Dimemas 5.5 (MPI_Event_Values of its
// EventEncoding.h), as report/timeline/extrae_events.hpp has them for what is written.
#pragma once

#include <cstdint>
#include <string_view>

#include "traces/op.hpp"

namespace weft::traces::dimemas {

inline constexpr std::int64_t kPointToPoint = 50000001, kCollectives = 50000002, kOtherCalls = 50000003,
                              kOneSided = 50000004, kFileIo = 50000005;
[[nodiscard]] constexpr bool is_mpi_event(std::int64_t type) {
  return type >= kPointToPoint && type <= kFileIo;
}

// Of a call, or what else is said of it: its sizes.
[[nodiscard]] constexpr bool is_about_mpi(std::int64_t type) {
  return type / 1'000'000 == kPointToPoint / 1'000'000;
}

// What a call is to the reader.
enum class CallRole : std::uint8_t {
  other,
  message,     // has a record of a message, but to nobody
  wait,        // for one request
  waitall,     // for all of several
  waits,       // for some of them, or maybe none
  start,       // makes messages of requests
  frees,       // a request
  collective,  // has a record
  makes_comm,  // has none
  init,
  finalize,
};

struct MpiCall {
  std::int64_t value;
  std::string_view name;
  CallRole role;
  OpKind kind;  // of a message that is sent inside, of a collective
};

// Calls that are not here are as any: time that leaves no operation.
inline constexpr MpiCall kMpiCalls[] = {
    {1, "MPI_Send", CallRole::message, OpKind::send},
    {2, "MPI_Recv", CallRole::message, OpKind::recv},
    {3, "MPI_Isend", CallRole::message, OpKind::isend},
    {4, "MPI_Irecv", CallRole::message, OpKind::irecv},
    {5, "MPI_Wait", CallRole::wait, OpKind::wait},
    {6, "MPI_Waitall", CallRole::waitall, OpKind::waitall},
    {7, "MPI_Bcast", CallRole::collective, OpKind::bcast},
    {8, "MPI_Barrier", CallRole::collective, OpKind::barrier},
    {9, "MPI_Reduce", CallRole::collective, OpKind::reduce},
    {10, "MPI_Allreduce", CallRole::collective, OpKind::allreduce},
    {11, "MPI_Alltoall", CallRole::collective, OpKind::alltoall},
    {12, "MPI_Alltoallv", CallRole::collective, OpKind::alltoallv},
    {13, "MPI_Gather", CallRole::collective, OpKind::gather},
    {14, "MPI_Gatherv", CallRole::collective, OpKind::gatherv},
    {15, "MPI_Scatter", CallRole::collective, OpKind::scatter},
    {16, "MPI_Scatterv", CallRole::collective, OpKind::scatterv},
    {17, "MPI_Allgather", CallRole::collective, OpKind::allgather},
    {18, "MPI_Allgatherv", CallRole::collective, OpKind::allgatherv},
    {21, "MPI_Comm_create", CallRole::makes_comm, OpKind::comm_create},
    {22, "MPI_Comm_dup", CallRole::makes_comm, OpKind::comm_dup},
    {23, "MPI_Comm_split", CallRole::makes_comm, OpKind::comm_split},
    {30, "MPI_Scan", CallRole::collective, OpKind::scan},
    {31, "MPI_Init", CallRole::init, OpKind::init},
    {32, "MPI_Finalize", CallRole::finalize, OpKind::finalize},
    {33, "MPI_Bsend", CallRole::message, OpKind::bsend},
    {34, "MPI_Ssend", CallRole::message, OpKind::ssend},
    {35, "MPI_Rsend", CallRole::message, OpKind::rsend},
    {36, "MPI_Ibsend", CallRole::message, OpKind::ibsend},
    {37, "MPI_Issend", CallRole::message, OpKind::issend},
    {38, "MPI_Irsend", CallRole::message, OpKind::irsend},
    {39, "MPI_Test", CallRole::waits, OpKind::test},
    {41, "MPI_Sendrecv", CallRole::message, OpKind::send},
    {42, "MPI_Sendrecv_replace", CallRole::message, OpKind::send},
    {43, "MPI_Cart_create", CallRole::makes_comm, OpKind::cart_create},
    {49, "MPI_Cart_sub", CallRole::makes_comm, OpKind::comm_split},
    {54, "MPI_Graph_create", CallRole::makes_comm, OpKind::comm_create},
    {59, "MPI_Waitany", CallRole::waits, OpKind::waitany},
    {60, "MPI_Waitsome", CallRole::waits, OpKind::waitsome},
    {80, "MPI_Reduce_scatter", CallRole::collective, OpKind::reduce_scatter},
    {96, "MPI_Intercomm_create", CallRole::makes_comm, OpKind::comm_create},
    {97, "MPI_Intercomm_merge", CallRole::makes_comm, OpKind::comm_create},
    {115, "MPI_Request_free", CallRole::frees, OpKind::request_free},
    {123, "MPI_Start", CallRole::start, OpKind::isend},
    {124, "MPI_Startall", CallRole::start, OpKind::isend},
    {125, "MPI_Testall", CallRole::waits, OpKind::testall},
    {126, "MPI_Testany", CallRole::waits, OpKind::testany},
    {128, "MPI_Testsome", CallRole::waits, OpKind::testsome},
    {154, "MPI_Ireduce", CallRole::collective, OpKind::ireduce},
    {155, "MPI_Iallreduce", CallRole::collective, OpKind::iallreduce},
    {156, "MPI_Ibarrier", CallRole::collective, OpKind::ibarrier},
    {157, "MPI_Ibcast", CallRole::collective, OpKind::ibcast},
    {158, "MPI_Ialltoall", CallRole::collective, OpKind::ialltoall},
    {159, "MPI_Ialltoallv", CallRole::collective, OpKind::ialltoallv},
    {160, "MPI_Iallgather", CallRole::collective, OpKind::iallgather},
    {161, "MPI_Iallgatherv", CallRole::collective, OpKind::iallgatherv},
    {162, "MPI_Igather", CallRole::collective, OpKind::igather},
    {163, "MPI_Igatherv", CallRole::collective, OpKind::igatherv},
    {164, "MPI_Iscatter", CallRole::collective, OpKind::iscatter},
    {165, "MPI_Iscatterv", CallRole::collective, OpKind::iscatterv},
    {166, "MPI_Ireduce_scatter", CallRole::collective, OpKind::ireduce_scatter},
    {167, "MPI_Iscan", CallRole::collective, OpKind::iscan},
    {168, "MPI_Reduce_scatter_block", CallRole::collective, OpKind::reduce_scatter_block},
    {169, "MPI_Ireduce_scatter_block", CallRole::collective, OpKind::ireduce_scatter_block},
    {170, "MPI_Alltoallw", CallRole::collective, OpKind::alltoallw},
    {171, "MPI_Ialltoallw", CallRole::collective, OpKind::ialltoallw},
    {173, "MPI_Dist_graph_create", CallRole::makes_comm, OpKind::comm_create},
    {174, "MPI_Neighbor_allgather", CallRole::collective, OpKind::neighbor_allgather},
    {175, "MPI_Ineighbor_allgather", CallRole::collective, OpKind::ineighbor_allgather},
    {176, "MPI_Neighbor_allgatherv", CallRole::collective, OpKind::neighbor_allgatherv},
    {177, "MPI_Ineighbor_allgatherv", CallRole::collective, OpKind::ineighbor_allgatherv},
    {178, "MPI_Neighbor_alltoall", CallRole::collective, OpKind::neighbor_alltoall},
    {179, "MPI_Ineighbor_alltoall", CallRole::collective, OpKind::ineighbor_alltoall},
    {180, "MPI_Neighbor_alltoallv", CallRole::collective, OpKind::neighbor_alltoallv},
    {181, "MPI_Ineighbor_alltoallv", CallRole::collective, OpKind::ineighbor_alltoallv},
    {182, "MPI_Neighbor_alltoallw", CallRole::collective, OpKind::neighbor_alltoallw},
    {183, "MPI_Ineighbor_alltoallw", CallRole::collective, OpKind::ineighbor_alltoallw},
    {192, "MPI_Mrecv", CallRole::message, OpKind::recv},
    {193, "MPI_Imrecv", CallRole::message, OpKind::irecv},
    {194, "MPI_Comm_split_type", CallRole::makes_comm, OpKind::comm_split},
    {211, "MPI_Comm_dup_with_info", CallRole::makes_comm, OpKind::comm_dup},
    {212, "MPI_Dist_graph_create_adjacent", CallRole::makes_comm, OpKind::comm_create},
    {213, "MPI_Comm_create_group", CallRole::makes_comm, OpKind::comm_create_group},
    {214, "MPI_Exscan", CallRole::collective, OpKind::exscan},
    {215, "MPI_Iexscan", CallRole::collective, OpKind::iexscan},
};

// Null: none of these.
[[nodiscard]] constexpr const MpiCall* find_mpi_call(std::int64_t value) {
  for (const MpiCall& c : kMpiCalls)
    if (c.value == value) return &c;
  return nullptr;
}

}  // namespace weft::traces::dimemas
