// Calls of MPI as Extrae's events: what its configuration files for Paraver and Dimemas' prv2dim look for.
//
// Types, values and labels are those of Extrae 5.1.2 (bsc-performance-tools/extrae): MPITYPE_* and the enumeration MPIVal in
// src/merger/paraver/MPI_EventEncoding.h, which type a call has in event_mpit2prv of mpi_prv_events.c beside it. They are
// stable: new calls have come behind the last.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "traces/formats/paraver/events.hpp"
#include "traces/op.hpp"

namespace weft::report {

struct ExtraeEvent {
  traces::OpKind kind{};
  std::uint32_t type = 0;
  std::int32_t value = 0;  // from 1: 0 is the end of a call
  std::string_view label;
};

struct ExtraeEventType {
  std::uint32_t number;
  std::string_view label;
};

namespace extrae {

using traces::OpKind;

inline constexpr std::uint32_t kPointToPoint = 50000001, kCollective = 50000002, kOther = 50000003;

inline constexpr ExtraeEventType kTypes[] = {
    {kPointToPoint, "MPI Point-to-point"}, {kCollective, "MPI Collective Comm"}, {kOther, "MPI Other"}};

// Of a kind that is not here Extrae knows nothing: it has no event.
inline constexpr ExtraeEvent kEvents[] = {
    {OpKind::send, kPointToPoint, 1, "MPI_Send"},
    {OpKind::recv, kPointToPoint, 2, "MPI_Recv"},
    {OpKind::isend, kPointToPoint, 3, "MPI_Isend"},
    {OpKind::irecv, kPointToPoint, 4, "MPI_Irecv"},
    {OpKind::wait, kPointToPoint, 5, "MPI_Wait"},
    {OpKind::waitall, kPointToPoint, 6, "MPI_Waitall"},
    {OpKind::bsend, kPointToPoint, 33, "MPI_Bsend"},
    {OpKind::ssend, kPointToPoint, 34, "MPI_Ssend"},
    {OpKind::rsend, kPointToPoint, 35, "MPI_Rsend"},
    {OpKind::ibsend, kPointToPoint, 36, "MPI_Ibsend"},
    {OpKind::issend, kPointToPoint, 37, "MPI_Issend"},
    {OpKind::irsend, kPointToPoint, 38, "MPI_Irsend"},
    {OpKind::cancel, kPointToPoint, 40, "MPI_Cancel"},
    {OpKind::sendrecv, kPointToPoint, 41, "MPI_Sendrecv"},
    {OpKind::waitany, kPointToPoint, 59, "MPI_Waitany"},
    {OpKind::waitsome, kPointToPoint, 60, "MPI_Waitsome"},
    {OpKind::probe, kPointToPoint, 61, "MPI_Probe"},
    {OpKind::iprobe, kPointToPoint, 62, "MPI_Iprobe"},
    {OpKind::bsend_init, kPointToPoint, 112, "MPI_Bsend_init"},
    {OpKind::recv_init, kPointToPoint, 116, "MPI_Recv_init"},
    {OpKind::send_init, kPointToPoint, 117, "MPI_Send_init"},
    {OpKind::rsend_init, kPointToPoint, 121, "MPI_Rsend_init"},
    {OpKind::ssend_init, kPointToPoint, 122, "MPI_Ssend_init"},
    {OpKind::mprobe, kPointToPoint, 190, "MPI_Mprobe"},
    {OpKind::improbe, kPointToPoint, 191, "MPI_Improbe"},
    {OpKind::bcast, kCollective, 7, "MPI_Bcast"},
    {OpKind::barrier, kCollective, 8, "MPI_Barrier"},
    {OpKind::reduce, kCollective, 9, "MPI_Reduce"},
    {OpKind::allreduce, kCollective, 10, "MPI_Allreduce"},
    {OpKind::alltoall, kCollective, 11, "MPI_Alltoall"},
    {OpKind::alltoallv, kCollective, 12, "MPI_Alltoallv"},
    {OpKind::gather, kCollective, 13, "MPI_Gather"},
    {OpKind::gatherv, kCollective, 14, "MPI_Gatherv"},
    {OpKind::scatter, kCollective, 15, "MPI_Scatter"},
    {OpKind::scatterv, kCollective, 16, "MPI_Scatterv"},
    {OpKind::allgather, kCollective, 17, "MPI_Allgather"},
    {OpKind::allgatherv, kCollective, 18, "MPI_Allgatherv"},
    {OpKind::scan, kCollective, 30, "MPI_Scan"},
    {OpKind::reduce_scatter, kCollective, 80, "MPI_Reduce_scatter"},
    {OpKind::ireduce, kCollective, 154, "MPI_Ireduce"},
    {OpKind::iallreduce, kCollective, 155, "MPI_Iallreduce"},
    {OpKind::ibarrier, kCollective, 156, "MPI_Ibarrier"},
    {OpKind::ibcast, kCollective, 157, "MPI_Ibcast"},
    {OpKind::ialltoall, kCollective, 158, "MPI_Ialltoall"},
    {OpKind::ialltoallv, kCollective, 159, "MPI_Ialltoallv"},
    {OpKind::iallgather, kCollective, 160, "MPI_Iallgather"},
    {OpKind::iallgatherv, kCollective, 161, "MPI_Iallgatherv"},
    {OpKind::igather, kCollective, 162, "MPI_Igather"},
    {OpKind::igatherv, kCollective, 163, "MPI_Igatherv"},
    {OpKind::iscatter, kCollective, 164, "MPI_Iscatter"},
    {OpKind::iscatterv, kCollective, 165, "MPI_Iscatterv"},
    {OpKind::ireduce_scatter, kCollective, 166, "MPI_Ireduce_scatter"},
    {OpKind::iscan, kCollective, 167, "MPI_Iscan"},
    {OpKind::reduce_scatter_block, kCollective, 168, "MPI_Reduce_scatter_block"},
    {OpKind::ireduce_scatter_block, kCollective, 169, "MPI_Ireduce_scatter_block"},
    {OpKind::alltoallw, kCollective, 170, "MPI_Alltoallw"},
    {OpKind::ialltoallw, kCollective, 171, "MPI_Ialltoallw"},
    {OpKind::neighbor_allgather, kCollective, 174, "MPI_Neighbor_allgather"},
    {OpKind::ineighbor_allgather, kCollective, 175, "MPI_Ineighbor_allgather"},
    {OpKind::neighbor_allgatherv, kCollective, 176, "MPI_Neighbor_allgatherv"},
    {OpKind::ineighbor_allgatherv, kCollective, 177, "MPI_Ineighbor_allgatherv"},
    {OpKind::neighbor_alltoall, kCollective, 178, "MPI_Neighbor_alltoall"},
    {OpKind::ineighbor_alltoall, kCollective, 179, "MPI_Ineighbor_alltoall"},
    {OpKind::neighbor_alltoallv, kCollective, 180, "MPI_Neighbor_alltoallv"},
    {OpKind::ineighbor_alltoallv, kCollective, 181, "MPI_Ineighbor_alltoallv"},
    {OpKind::neighbor_alltoallw, kCollective, 182, "MPI_Neighbor_alltoallw"},
    {OpKind::ineighbor_alltoallw, kCollective, 183, "MPI_Ineighbor_alltoallw"},
    {OpKind::exscan, kCollective, 214, "MPI_Exscan"},
    {OpKind::iexscan, kCollective, 215, "MPI_Iexscan"},
    {OpKind::comm_create, kOther, 21, "MPI_Comm_create"},
    {OpKind::comm_dup, kOther, 22, "MPI_Comm_dup"},
    {OpKind::comm_split, kOther, 23, "MPI_Comm_split"},
    {OpKind::comm_free, kOther, 25, "MPI_Comm_free"},
    {OpKind::init, kOther, 31, "MPI_Init"},
    {OpKind::finalize, kOther, 32, "MPI_Finalize"},
    {OpKind::test, kOther, 39, "MPI_Test"},
    {OpKind::cart_create, kOther, 43, "MPI_Cart_create"},
    {OpKind::request_free, kOther, 115, "MPI_Request_free"},
    {OpKind::start, kOther, 123, "MPI_Start"},
    {OpKind::startall, kOther, 124, "MPI_Startall"},
    {OpKind::testall, kOther, 125, "MPI_Testall"},
    {OpKind::testany, kOther, 126, "MPI_Testany"},
    {OpKind::testsome, kOther, 128, "MPI_Testsome"},
    {OpKind::comm_create_group, kOther, 213, "MPI_Comm_create_group"}};

// What a task is from its first event to its last.
inline constexpr std::uint32_t kApplication = 40000001;

// What is said of a collective beside the event that begins it.
inline constexpr ExtraeEventType kCollectiveTypes[] = {
    {traces::paraver::kSentSize, "Send Size in MPI Global OP"},
    {traces::paraver::kReceivedSize, "Recv Size in MPI Global OP"},
    {traces::paraver::kIsRoot, "Root in MPI Global OP"},
    {traces::paraver::kCommunicator, "Communicator in MPI Global OP"}};

inline constexpr auto kEventOfKind = [] {
  std::array<ExtraeEvent, traces::kOpKindCount> by_kind{};
  for (const ExtraeEvent& e : kEvents) by_kind[static_cast<std::size_t>(e.kind)] = e;
  return by_kind;
}();

}  // namespace extrae

// Its value is 0 where Extrae knows no such call.
[[nodiscard]] constexpr const ExtraeEvent& extrae_event(traces::OpKind kind) {
  return extrae::kEventOfKind[static_cast<std::size_t>(kind)];
}

}  // namespace weft::report
