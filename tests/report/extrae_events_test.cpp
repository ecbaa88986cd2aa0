// Events of the Paraver export against Extrae's own list of calls.
#include "report/timeline/extrae_events.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/report/timeline_texts.hpp"

namespace weft::report {
namespace {

using traces::OpKind;

// The enumeration MPIVal of Extrae 5.1.2, src/merger/paraver/MPI_EventEncoding.h, from 0, without MPI_ and _VAL.
constexpr const char* kMpiVal =
    "end send recv isend irecv wait waitall bcast barrier reduce allreduce alltoall alltoallv gather "
    "gatherv scatter scatterv allgather allgatherv comm_rank comm_size comm_create comm_dup comm_split "
    "comm_group comm_free comm_remote_group comm_remote_size comm_test_inter comm_compare scan init "
    "finalize bsend ssend rsend ibsend issend irsend test cancel sendrecv sendrecv_replace cart_create "
    "cart_shift cart_coords cart_get cart_map cart_rank cart_sub cartdim_get dims_create graph_get "
    "graph_map graph_create graph_neighbors graphdims_get graph_neighbors_count topo_test waitany "
    "waitsome probe iprobe win_create win_free put get accumulate win_fence win_start win_complete "
    "win_post win_wait win_test win_lock win_unlock pack unpack op_create op_free reduce_scatter "
    "attr_delete attr_get attr_put group_difference group_excl group_free group_incl group_intersection "
    "group_rank group_range_excl group_range_incl group_size group_translate_ranks group_union "
    "group_compare intercomm_create intercomm_merge keyval_free keyval_create abort error_class "
    "errhandler_create errhandler_free errhandler_get error_string errhandler_set get_processor_name "
    "initialized wtick wtime address bsend_init buffer_attach buffer_detach request_free recv_init "
    "send_init get_count get_elements pack_size rsend_init ssend_init start startall testall testany "
    "test_cancelled testsome type_commit type_contiguous type_extent type_free type_hindexed type_hvector "
    "type_indexed type_lb type_size type_struct type_ub type_vector file_open file_close file_read "
    "file_read_all file_write file_write_all file_read_at file_read_at_all file_write_at "
    "file_write_at_all comm_spawn comm_spawn_multiple request_get_status ireduce iallreduce ibarrier "
    "ibcast ialltoall ialltoallv iallgather iallgatherv igather igatherv iscatter iscatterv ireducescat "
    "iscan reduce_scatter_block ireduce_scatter_block alltoallw ialltoallw get_accumulate "
    "dist_graph_create neighbor_allgather ineighbor_allgather neighbor_allgatherv ineighbor_allgatherv "
    "neighbor_alltoall ineighbor_alltoall neighbor_alltoallv ineighbor_alltoallv neighbor_alltoallw "
    "ineighbor_alltoallw fetch_and_op compare_and_swap win_flush win_flush_all win_flush_local "
    "win_flush_local_all mprobe improbe mrecv imrecv comm_split_type file_write_all_begin "
    "file_write_all_end file_read_all_begin file_read_all_end file_write_at_all_begin "
    "file_write_at_all_end file_read_at_all_begin file_read_at_all_end file_read_ordered "
    "file_read_ordered_begin file_read_ordered_end file_read_shared file_write_ordered "
    "file_write_ordered_begin file_write_ordered_end file_write_shared comm_dup_with_info "
    "dist_graph_create_adjacent comm_create_group exscan iexscan ";

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

TEST(ExtraeEvents, EveryCallHasTheValueOfExtraesEnumeration) {
  const std::vector<std::string> value = words(kMpiVal);
  ASSERT_EQ(value.size(), 216u);
  std::size_t calls = 0;
  for (std::size_t k = 0; k < traces::kOpKindCount; ++k) {
    const auto kind = static_cast<OpKind>(k);
    const std::string name(traces::op_name(kind));
    const ExtraeEvent& e = extrae_event(kind);
    if (traces::is_compute(kind) || kind == OpKind::region_begin || kind == OpKind::region_end ||
        kind == OpKind::exchange_series || kind >= OpKind::launch) {
      EXPECT_EQ(e.value, 0) << name << " is no call of MPI";
      continue;
    }
    // Extrae spells this one so.
    const std::string of_extrae = name == "ireduce_scatter" ? "ireducescat" : name;
    const auto at = std::ranges::find(value, of_extrae);
    ASSERT_NE(at, value.end()) << name;
    EXPECT_EQ(e.value, at - value.begin()) << name;
    std::string label(e.label);
    EXPECT_TRUE(label.starts_with("MPI_") && std::isupper(static_cast<unsigned char>(label[4]))) << label;
    std::ranges::transform(label, label.begin(), [](unsigned char c) { return std::tolower(c); });
    EXPECT_EQ(label, "mpi_" + name);
    ++calls;
  }
  EXPECT_EQ(calls, std::size(extrae::kEvents)) << "each has one row";
}

// event_mpit2prv of mpi_prv_events.c: tests and starts are no point-to-point there, waits and probes are.
TEST(ExtraeEvents, CallsAreOfTheTypesThatExtraeHasThemUnder) {
  const std::set<OpKind> other{
      OpKind::start,     OpKind::startall,    OpKind::request_free,      OpKind::test,
      OpKind::testall,   OpKind::testany,     OpKind::testsome,          OpKind::comm_split,
      OpKind::comm_dup,  OpKind::comm_create, OpKind::comm_create_group, OpKind::cart_create,
      OpKind::comm_free, OpKind::init,        OpKind::finalize};
  for (const ExtraeEvent& e : extrae::kEvents)
    EXPECT_EQ(e.type, other.contains(e.kind)          ? 50000003u
                      : traces::is_collective(e.kind) ? 50000002u
                                                      : 50000001u)
        << e.label;
}

TEST(ExtraeEvents, ParaverFilesHaveThemAndTheirLabels) {
  Timeline t;
  const std::string pcf = paraver_pcf(t);
  for (const char* text :
       {"9    50000001    MPI Point-to-point\nVALUES\n0      Outside MPI\n1      MPI_Send\n2      MPI_Recv\n",
        "9    50000002    MPI Collective Comm\nVALUES\n0      Outside MPI\n7      MPI_Bcast\n",
        "9    50000003    MPI Other\nVALUES\n0      Outside MPI\n", "\n31      MPI_Init\n",
        "\n59      MPI_Waitany\n", "\n168      MPI_Reduce_scatter_block\n",
        "EVENT_TYPE\n9    40000001    Application\nVALUES\n0      End\n1      Begin\n",
        "EVENT_TYPE\n1    50100001    Send Size in MPI Global OP\n1    50100002    Recv Size in MPI Global "
        "OP\n1    "
        "50100003    Root in MPI Global OP\n1    50100004    Communicator in MPI Global OP\n"})
    EXPECT_NE(pcf.find(text), std::string::npos) << text << "in\n" << pcf;
}

}  // namespace
}  // namespace weft::report
