// liballprof text: what becomes of each call, by what MPI says that it means; files, packed files, and what is refused.
#include <gmock/gmock.h>

#include <array>

#include "tests/traces/archive_testing.hpp"
#include "tests/traces/liballprof/liballprof_testing.hpp"
#include "traces/info.hpp"

namespace weft::traces::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// As the recorder writes them for Open MPI and for MPICH, in C and Fortran: handles and wildcards differ, the program does not.
struct Library {
  const char* world;
  int any_source, no_process, request_bytes;
};
constexpr Library kLibraries[] = {{"93840354017952", -1, -2, 8}, {"1140850688", -2, -1, 4}, {"0", -1, -2, 4}};

TEST(Liballprof, ALibrarysHandlesDoNotChangeTheProgram) {
  for (const Library& l : kLibraries) {
    SCOPED_TRACE(l.world);
    const TempDir dir;
    AllprofRank a(0, 2, l.world), b(1, 2, l.world);
    a.init().call("Comm_rank", a.world() + ":7").call("Comm_size", a.world() + ":7");
    a.send("Isend", 100, 1, 5, a.world(), "8000");
    a.recv("Irecv", 200, l.any_source, -1, a.world(), std::to_string(8000 + l.request_bytes));
    a.recv("Irecv", 1, l.no_process, 9, a.world(), std::to_string(8000 + 2 * l.request_bytes));
    a.call("Waitall", "3:8000:0");
    a.call("Wait", "8000:1");  // MPI_REQUEST_NULL
    a.finalize();
    b.init().recv("Recv", 100, 0, 5, b.world()).send("Ssend", 150, 0, 6, b.world()).finalize();
    const auto t = open_trace({write_allprof(dir, "t", {a, b})});
    ASSERT_TRUE(t) << t.error().message();
    EXPECT_EQ(ops_of(**t, 0),
              "isend 1 100 5 world #0\n"
              "irecv -1 200 -1 world #1\n"
              "irecv -2 1 9 world #2\n"
              "waitall [0 1 2]\n");
    EXPECT_EQ(ops_of(**t, 1), "recv 0 100 5 world\nssend 0 150 6 world\n");
    EXPECT_EQ((*t)->header().recorder, "liballprof");
    EXPECT_THAT((*t)->header().hostnames, ElementsAre("n0", "n1"));
    EXPECT_TRUE((*t)->header().warnings.empty());
  }
}

TEST(Liballprof, ComputationIsTheTimeBetweenCallsWithThatOfLocalOnes) {
  const TempDir dir;
  const std::string text =
      "# collprof 0.9 output file\n\nMPI_Init:-:1:2:1237666046950106.000000\n"
      "MPI_Comm_rank:1237666046950110.000000:0,0,1:7:1237666046950115.000000\n"
      "MPI_Barrier:1237666046950116.250000:0,0,1:1237666046950117.500000\n"
      "MPI_Type_contiguous:1237666046950118.0:3:1,4,4:77:1237666046950119.0\n"
      "MPI_Finalize:1237666046950120.000000:-\n";
  const auto t = open_trace({dir.write("trace.dat", text)});
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(ops_of(**t, 0, true), "compute 10250000\nbarrier -1 0 0 world\ncompute 2500000\n");
}

TEST(Liballprof, EveryPointToPointCallBecomesItsOperation) {
  const TempDir dir;
  AllprofRank a(0, 1);
  const std::string w = a.world();
  a.init();
  for (const char* name : {"Send", "Bsend", "Ssend", "Rsend"}) a.send(name, 3, 0, 1, w);
  for (const char* name : {"Isend", "Ibsend", "Issend", "Irsend"})
    a.send(name, 3, 0, 1, w, "64").call("Wait", "64:0");
  for (const char* name : {"Send_init", "Bsend_init", "Ssend_init", "Rsend_init"}) {
    a.send(name, 3, 0, 1, w, "64").call("Start", "64").call("Wait", "64:0").call("Request_free", "64");
  }
  a.recv("Recv_init", 4, 0, 1, w, "64").recv("Recv_init", 5, 0, 1, w, "72");
  a.call("Startall", "2:64").call("Waitall", "2:64:0");
  a.call("Sendrecv", "1:2:10,8,8:0:3:1:4:10,8,8:0:3:" + w + ":0");
  a.call("Sendrecv_replace", "1:2:10,8,8:0:3:0:3:" + w + ":0");
  a.call("Probe", "-1:7:" + w + ":0");
  a.call("Mprobe", "-1:7:" + w + ":99:0").call("Mrecv", "1:6:13,1,1:99:0");
  a.call("Mprobe", "0:8:" + w + ":99:0").call("Imrecv", "1:6:13,1,1:99:80").call("Wait", "80:0");
  a.finalize();
  const auto t = open_trace({dir.write("a.txt", a.text())});
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(ops_of(**t, 0),
            "send 0 3 1 world\nbsend 0 3 1 world\nssend 0 3 1 world\nrsend 0 3 1 world\n"
            "isend 0 3 1 world #0\nwait #0\nibsend 0 3 1 world #0\nwait #0\n"
            "issend 0 3 1 world #0\nwait #0\nirsend 0 3 1 world #0\nwait #0\n"
            "send_init 0 3 1 world #0\nstart 0 0 0 world #0\nwait #0\nrequest_free 0 0 0 world #0\n"
            "bsend_init 0 3 1 world #0\nstart 0 0 0 world #0\nwait #0\nrequest_free 0 0 0 world #0\n"
            "ssend_init 0 3 1 world #0\nstart 0 0 0 world #0\nwait #0\nrequest_free 0 0 0 world #0\n"
            "rsend_init 0 3 1 world #0\nstart 0 0 0 world #0\nwait #0\nrequest_free 0 0 0 world #0\n"
            "recv_init 0 4 1 world #0\nrecv_init 0 5 1 world #1\nstartall [0 1]\nwaitall [0 1]\n"
            "sendrecv 0 16 3 world\nrecv 0 32 3 world\nsendrecv 0 16 3 world\nrecv 0 16 3 world\n"
            "probe -1 0 7 world\n"
            "mprobe -1 0 7 world\nrecv -1 6 7 world\n"
            "mprobe 0 0 8 world\nirecv 0 6 8 world #2\nwait #2\n");
}

// Of two counts of a call the one that MPI_IN_PLACE leaves alone; of vectors what the root, or everybody, says.
TEST(Liballprof, EveryCollectiveBecomesItsOperation) {
  const TempDir dir;
  std::vector<AllprofRank> ranks;
  for (int r = 0; r < 2; ++r) {
    AllprofRank a(r, 2);
    const std::string w = a.world(), root = ":1:" + w, garbage = r == 1 ? "3,4" : "-7,2147483647";
    a.init().call("Barrier", w).call("Bcast", "1:5:1,4,4" + root).call("Reduce", "1:2:5:10,8,8:3" + root);
    for (const char* name : {"Allreduce", "Scan", "Exscan"}) a.call(name, "1:2:5:10,8,8:3:" + w);
    a.call("Gather", r == 1 ? "1:-1:0,0,0:2:6:1,4,4" + root : "1:6:1,4,4:2:0:0,0,0" + root);
    a.call("Scatter", r == 1 ? "1:6:1,4,4:2:0:0,0,0" + root : "1:0:0,0,0:2:6:1,4,4" + root);
    for (const char* name : {"Allgather", "Alltoall"}) a.call(name, "1:0:0,0,0:2:7:1,4,4:" + w);
    a.call("Gatherv", fmt::format("1:{}:1,4,4:2:50:{}:60:0,0:1,4,4", 3 + r, garbage) + root);
    a.call("Scatterv", fmt::format("1:50:{}:60:0,0:1,4,4:2:{}:1,4,4", garbage, 3 + r) + root);
    a.call("Allgatherv", fmt::format("1:{}:1,4,4:2:50:8,9:60:0,0:1,4,4:", 8 + r) + w);
    a.call("Reduce_scatter", "1:2:50:8,9:10,8,8:3:" + w);
    a.call("Reduce_scatter_block", "1:2:8:10,8,8:3:" + w);
    a.call("Alltoallv", "1000:50:1,2:60:0,0:1,4,4:2:70:3,4:80:0,0:13,1,1:" + w);
    a.call("Alltoallv", "1:50:9,9:60:0,0:1,4,4:2:70:3,4:80:0,0:13,1,1:" + w);  // MPI_IN_PLACE
    a.call("Ibarrier", w + ":640").call("Ibcast", "1:5:1,4,4" + root + ":648");
    a.call("Iallreduce", "1:2:5:10,8,8:3:" + w + ":656").call("Waitall", "3:640:0");
    a.finalize();
    ranks.push_back(a);
  }
  const auto t = open_trace({write_allprof(dir, "t", ranks)});
  ASSERT_TRUE(t) << t.error().message();
  const std::string begin =
      "barrier -1 0 0 world\nbcast 1 20 0 world\nreduce 1 40 0 world\nallreduce -1 40 0 world\n"
      "scan -1 40 0 world\nexscan -1 40 0 world\ngather 1 24 0 world\nscatter 1 24 0 world\n"
      "allgather -1 28 0 world\nalltoall -1 28 0 world\n";
  const std::string end =
      "reduce_scatter -1 136 0 world [64 72]\nreduce_scatter_block -1 64 0 world\n"
      "alltoallv -1 12 0 world [2 4 8 3 4]\nalltoallv -1 7 0 world [2 3 4 3 4]\n"
      "ibarrier -1 0 0 world #0\nibcast 1 20 0 world #1\niallreduce -1 40 0 world #2\nwaitall [0 1 2]\n";
  EXPECT_EQ(ops_of(**t, 0),
            begin + "gatherv 1 12 0 world\nscatterv 1 12 0 world\nallgatherv -1 32 0 world [32 36]\n" + end);
  EXPECT_EQ(ops_of(**t, 1), begin +
                                "gatherv 1 16 0 world [12 16]\nscatterv 1 16 0 world [12 16]\n"
                                "allgatherv -1 36 0 world [32 36]\n" +
                                end);
}

// The program: a waitany for each of two requests that are posted again, tests until they say yes.
TEST(Liballprof, WhatATestCompletedIsToldByWhatComesAfterIt) {
  const TempDir dir;
  AllprofRank a(0, 2), b(1, 2);
  const std::string w = a.world();
  a.init().recv("Irecv", 1, 1, 1, w, "64").recv("Irecv", 2, 1, 2, w, "72");
  a.call("Waitany", "2:64:7:0").recv("Irecv", 3, 1, 3, w, "72");  // the second was complete
  a.call("Waitany", "2:64:7:0").call("Waitany", "2:64:7:0");      // then one after the other
  a.recv("Irecv", 4, 1, 4, w, "64");
  for (int i = 0; i < 3; ++i) a.call("Test", "64:7:0");
  a.recv("Irecv", 5, 1, 5, w, "64").call("Test", "64:7:0").call("Wait", "64:0");  // that test said no
  a.recv("Irecv", 6, 1, 6, w, "64").recv("Irecv", 7, 1, 7, w, "72");
  a.call("Testall", "2:64:7:0").call("Testsome", "2:64:7:8:0").recv("Irecv", 8, 1, 8, w, "64");
  a.call("Waitsome", "2:64:7:8:0").finalize();
  b.init();
  for (int tag = 1; tag <= 8; ++tag) b.send("Send", tag, 0, tag, b.world());
  b.finalize();
  const auto t = open_trace({write_allprof(dir, "t", {a, b})});
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(ops_of(**t, 0),
            "irecv 1 1 1 world #0\nirecv 1 2 2 world #1\nwaitany [2 0 1 1]\n"
            "irecv 1 3 3 world #1\nwaitany [2 0 1 0]\nwaitany [1 1 1]\n"
            "irecv 1 4 4 world #0\ntest #0\n"
            "irecv 1 5 5 world #0\nwait #0\n"
            "irecv 1 6 6 world #0\nirecv 1 7 7 world #1\ntestsome [2 0 1 0]\n"
            "irecv 1 8 8 world #0\nwaitsome [2 0 1 0 1]\n");
  EXPECT_THAT((*t)->header().warnings,
              ElementsAre(HasSubstr("7 completions of requests by a test or a wait")));
}

// Each waitany would list all that are left: n lines, n x n / 2 numbers.
TEST(Liballprof, WaitsForOneOfManyListItAlone) {
  const TempDir dir;
  AllprofRank a(0, 1);
  a.init();
  for (int i = 0; i < 66; ++i) a.recv("Irecv", i, 0, i, a.world(), std::to_string(640 + 8 * i));
  for (int i = 0; i < 66; ++i) a.call("Waitany", "66:640:7:0");
  a.finalize();
  const auto t = open_trace({dir.write("a.txt", a.text())});
  ASSERT_TRUE(t) << t.error().message();
  const std::string ops = ops_of(**t, 0);
  EXPECT_THAT(ops, HasSubstr("irecv 0 65 65 world #65\nwaitany [1 0 0]\nwaitany [1 1 1]\nwaitany [64 2 3 "));
  EXPECT_THAT(ops, ::testing::EndsWith("waitany [2 64 65 64]\nwaitany [1 65 65]\n"));
}

TEST(Liballprof, HandlesThatWereCopiedAreWaitedForInTheirOrder) {
  const TempDir dir;
  AllprofRank a(0, 1);
  a.init();
  for (int i = 0; i < 3; ++i) a.recv("Irecv", i, 0, i, a.world(), "64");
  a.call("Waitall", "3:9000:0").recv("Irecv", 9, 0, 9, a.world(), "64").finalize();
  const auto t = open_trace({dir.write("a.txt", a.text())});
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(ops_of(**t, 0),
            "irecv 0 0 0 world #0\nirecv 0 1 1 world #1\nirecv 0 2 2 world #2\nwaitall [0 1 2]\n"
            "irecv 0 9 9 world #0\nwaitall [0]\n");
  EXPECT_THAT((*t)->header().warnings,
              ElementsAre(HasSubstr("3 completions of requests that were copied after their start"),
                          HasSubstr("1 request that nothing completes: waited for at the end of the rank")));
}

// A function of the program posts to a variable of its own and returns the request.
TEST(Liballprof, ARequestThatIsReturnedByValueIsWaitedForAtOnce) {
  const TempDir dir;
  AllprofRank a(0, 1);
  a.init();
  for (int i = 0; i < 3; ++i) a.recv("Irecv", i, 0, i, a.world(), "64").call("Wait", "9000:0");
  a.finalize();
  const auto t = open_trace({dir.write("a.txt", a.text())});
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(ops_of(**t, 0),
            "irecv 0 0 0 world #0\nwait #0\nirecv 0 1 1 world #0\nwait #0\nirecv 0 2 2 world #0\nwait #0\n");
  EXPECT_THAT((*t)->header().warnings,
              ElementsAre(HasSubstr("3 completions of requests that were copied after their start")));
}

// A std::vector moves its elements when it grows from 1 to 2, 4 and 8: some are posted where they are waited for, others elsewhere.
TEST(Liballprof, RequestsInAnArrayThatGrowsAreWaitedForInIt) {
  const TempDir dir;
  AllprofRank a(0, 1);
  const std::string w = a.world();
  a.init();
  for (int round = 0; round < 2; ++round) {
    const std::array addresses = {100, 200, 308, 416, 424};
    // In the second round as it is at the end: nothing is copied.
    for (int i = 0; i < 5; ++i)
      a.recv("Irecv", i, 0, i, w,
             std::to_string(round == 0 ? addresses[static_cast<std::size_t>(i)] : 392 + 8 * i));
    a.call("Waitall", "5:392:0");
  }
  // Of four, three are MPI_REQUEST_NULL, and the two copies are waited for elsewhere.
  a.recv("Irecv", 7, 0, 7, w, "64").recv("Irecv", 8, 0, 8, w, "64").recv("Irecv", 9, 0, 9, w, "800");
  a.call("Waitall", "4:800:0").call("Waitall", "2:9000:0").finalize();
  const auto t = open_trace({dir.write("a.txt", a.text())});
  ASSERT_TRUE(t) << t.error().message();
  const std::string round =
      "irecv 0 0 0 world #0\nirecv 0 1 1 world #1\nirecv 0 2 2 world #2\nirecv 0 3 3 world #3\n"
      "irecv 0 4 4 world #4\nwaitall [0 1 2 3 4]\n";
  EXPECT_EQ(
      ops_of(**t, 0),
      round + round +
          "irecv 0 7 7 world #0\nirecv 0 8 8 world #1\nirecv 0 9 9 world #2\nwaitall [2]\nwaitall [0 1]\n");
  EXPECT_THAT((*t)->header().warnings,
              ElementsAre(HasSubstr("5 completions of requests that were copied after their start")));
}

// Wrappers made of an older mpi.h pass over functions that post requests.
TEST(Liballprof, WaitsForRequestsThatNoLinePostsAreCounted) {
  const TempDir dir;
  AllprofRank a(0, 1);
  const std::string w = a.world();
  a.init().recv("Irecv", 4, 0, 4, w, "64").call("Wait", "64:0").call("Wait", "64:0");
  a.call("Wait", "72:0").call("Waitall", "2:80:0").call("Waitany", "2:80:7:0").call("Test", "72:7:0");
  a.finalize();
  const auto t = open_trace({dir.write("a.txt", a.text())});
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(ops_of(**t, 0), "irecv 0 4 4 world #0\nwait #0\n");
  EXPECT_THAT((*t)->header().warnings, ElementsAre(HasSubstr("3 waits where no line posts a request")));
}

TEST(Liballprof, WhatIsLostIsCountedByFunction) {
  const TempDir dir;
  AllprofRank a(0, 1);
  const std::string w = a.world();
  a.init()
      .call("Win_create", "1:8:1:0:" + w + ":7")
      .call("Put", "1:1:1,4,4:0:0:1:1,4,4:55")
      .call("Win_fence", "0:55");
  a.call("File_open", w + ":1:2:0:7").call("Win_get_group", "55:7");
  for (int i = 0; i < 2; ++i) a.call("Iprobe", "-1:-1:" + w + ":7:0");
  a.recv("Irecv", 4, 0, 1, w, "64").call("Cancel", "64").call("Wait", "64:0");
  const auto t = open_trace({dir.write("a.txt", a.text())});
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(ops_of(**t, 0), "");
  std::vector<std::string> lost;
  for (const NotRecorded& n : (*t)->header().recording.not_recorded)
    lost.push_back(fmt::format("{} {} {}", n.group, n.call, n.count));
  EXPECT_THAT(lost,
              ElementsAre("one-sided communication MPI_Put 1", "one-sided communication MPI_Win_create 1",
                          "one-sided communication MPI_Win_fence 1", "file I/O MPI_File_open 1"));
  EXPECT_THAT((*t)->header().warnings,
              ElementsAre("1 rank without MPI_Finalize: the trace ends before the program did",
                          "2 polls: the trace does not say what they found, they leave nothing",
                          HasSubstr("1 receive cancelled: taken as if that took effect")));
}

TEST(Liballprof, FilesAreFoundInFoldersArchivesAndByOneOfThem) {
  const TempDir dir;
  std::vector<AllprofRank> ranks;
  std::vector<std::pair<std::string, std::string>> files;
  for (int r = 0; r < 3; ++r) {
    ranks.emplace_back(r, 3);
    ranks.back().init().call("Barrier", ranks.back().world()).finalize();
    files.emplace_back(fmt::format("t/pmpi-trace-rank-{}.txt", r), ranks.back().text());
  }
  const std::string folder = write_allprof(dir, "t", ranks);
  dir.write("t/input.dat", "of the program");
  write_archive(dir.path("t.tar.gz"), ARCHIVE_FILTER_GZIP, files);
  write_archive(dir.path("t.tar.zst"), ARCHIVE_FILTER_ZSTD, files);
  std::filesystem::create_directory(dir.path("packed"));
  for (int r = 0; r < 3; ++r)
    write_archive(dir.path(fmt::format("packed/pmpi-trace-rank-{}.txt.gz", r)), ARCHIVE_FILTER_GZIP,
                  {{"data", files[static_cast<std::size_t>(r)].second}}, true);
  for (const std::string& path :
       {folder, folder + "/pmpi-trace-rank-1.txt", dir.path("t.tar.gz"), dir.path("t.tar.zst"),
        dir.path("packed"), dir.path("packed/pmpi-trace-rank-0.txt.gz")}) {
    SCOPED_TRACE(path);
    const auto t = open_trace({path});
    ASSERT_TRUE(t) << t.error().message();
    EXPECT_EQ((*t)->header().ranks, 3U);
    EXPECT_EQ((*t)->header().recorder, "liballprof");
    EXPECT_EQ(ops_of(**t, 2), "barrier -1 0 0 world\n");
    // Told of a folder, not of a file that was named.
    EXPECT_EQ(
        std::ranges::any_of((*t)->header().notes,
                            [](const std::string& n) { return n.find("input.dat was ignored") != n.npos; }),
        path == folder);
  }
  EXPECT_THAT(trace_files({folder}), Contains(folder + "/pmpi-trace-rank-2.txt"));
  // The place of an operation.
  const auto t = open_trace({folder});
  EXPECT_EQ((*t)->position(RankId(1), 1), folder + "/pmpi-trace-rank-1.txt:6");
}

TEST(Liballprof, OfTwoTracesInAFolderThatOfTheNamedFileIsMeant) {
  const TempDir dir;
  for (int r = 0; r < 2; ++r) {
    AllprofRank a(r, 2), b(r, 2);
    a.init().call("Barrier", a.world()).finalize();
    b.init().call("Bcast", "1:4:1,4,4:0:" + b.world()).finalize();
    dir.write(fmt::format("t/a-rank-{}.txt", r), a.text());
    if (r == 0)
      dir.write("t/b-rank-0.txt", b.text());
    else
      write_archive(dir.path("t/b-rank-1.txt.gz"), ARCHIVE_FILTER_GZIP, {{"data", b.text()}}, true);
  }
  for (const char* name : {"a-rank-0.txt", "a-rank-1.txt", "b-rank-0.txt", "b-rank-1.txt.gz"}) {
    SCOPED_TRACE(name);
    const auto t = open_trace({dir.path("t/") + name});
    ASSERT_TRUE(t) << t.error().message();
    EXPECT_EQ(ops_of(**t, 1), name[0] == 'a' ? "barrier -1 0 0 world\n" : "bcast 0 16 0 world\n");
  }
  // The folder says neither.
  EXPECT_FALSE(open_trace({dir.path("t")}));
}

// tests/traces/data/liballprof/SOURCE.txt says what the program does.
TEST(Liballprof, WhatTheRecorderWroteIsTheProgram) {
  const auto t = open_trace({support::source_dir() + "/tests/traces/data/liballprof"});
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_TRUE((*t)->header().warnings.empty());
  for (int r = 0; r < 4; ++r) {
    SCOPED_TRACE(r);
    // Made in the order of the smallest colour: comm 2 are the even ranks, 3 the odd ones.
    const std::string before = fmt::format(
        "comm_dup 0 1 0 world\ncomm_split 0 {} 0 world\nirecv {} 4 5 split1 #0\nisend {} 4 5 split1 #1\n"
        "waitall [0 1]\nrecv -2 4 0 split2\n",
        2 + r % 2, (r + 3) % 4, (r + 1) % 4);
    std::string to_zero;
    if (r == 0)
      for (int i = 1; i < 4; ++i) to_zero += "recv -1 4 -1 world\n";
    else
      to_zero = fmt::format("send 0 4 {} world\n", r);
    EXPECT_EQ(ops_of(**t, static_cast<std::uint32_t>(r)),
              before + to_zero +
                  fmt::format("allreduce -1 4 0 split2\nallgatherv -1 {} 0 world [0 4 8 12]\n"
                              "barrier -1 0 0 split2\ncomm_free 0 0 0 split2\n",
                              4 * r));
  }
  EXPECT_THAT((*t)->communicators()[2].members, ElementsAre(2, 0));
  EXPECT_THAT((*t)->communicators()[3].members, ElementsAre(3, 1));
}

// LogGOPSim's own samples are copies of one file.
TEST(Liballprof, CopiesOfOneFileAreTheRanksOfTheirNames) {
  const TempDir dir;
  AllprofRank a(0, 3);
  a.init().call("Barrier", a.world()).finalize();
  const auto t = open_trace({write_allprof(dir, "t", {a, a, a})});
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(ops_of(**t, 2), "barrier -1 0 0 world\n");
  EXPECT_THAT((*t)->header().warnings, ElementsAre(HasSubstr("all files say that they are of rank 0")));
}

TEST(Liballprof, AFileThatWasCutOffIsSalvagedUpToThere) {
  const TempDir dir;
  AllprofRank a(0, 1);
  a.init().call("Barrier", a.world());
  const std::string path = dir.write("a.txt", a.text() + "MPI_Barrier:1021:56412");
  const auto refused = open_trace({path});
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message(),
      path + ":7:1: error: MPI_Barrier has 3 fields between its colons; got \"MPI_Barrier\"; expected 4");
  const auto t = open_trace_with({path}, {.from = {}, .allow_truncated = true});
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ(ops_of(**t, 0), "barrier -1 0 0 world\n");
  EXPECT_THAT((*t)->header().warnings, ElementsAre("1 rank cut off in the middle of a line: read up to there",
                                                   HasSubstr("1 rank without MPI_Finalize")));
  // Of the last number some digits are missing.
  const auto late = open_trace({dir.write("b.txt", a.text() + "MPI_Barrier:1021:" + a.world() + ":10")});
  ASSERT_TRUE(late) << late.error().message();
  EXPECT_EQ(ops_of(**late, 0), "barrier -1 0 0 world\nbarrier -1 0 0 world\n");
  EXPECT_THAT((*late)->header().warnings,
              ElementsAre("1 rank cut off in the middle of a line: read up to there",
                          HasSubstr("1 rank without MPI_Finalize")));
}

std::string error_of(const TempDir& dir, const std::string& lines) {
  const std::string path = dir.write("bad.txt", "# collprof 0.9\nMPI_Init:-:1:2:10\n" + lines + "\n");
  const auto t = open_trace({path});
  if (t) return "no error";
  const std::string message = t.error().message();
  return message.starts_with(path) ? message.substr(path.size()) : message;
}

TEST(Liballprof, WhatIsWrongIsToldWithItsPlace) {
  const TempDir dir;
  const auto bad = [&dir](const std::string& lines) { return error_of(dir, lines); };
  EXPECT_EQ(bad("hello"),
            ":3:1: error: neither a call of MPI nor a comment; got \"hello\"; expected "
            "MPI_NAME:START:ARGUMENTS:END, or #");
  EXPECT_EQ(bad("MPI_Barrier:1x:5,0,1:12"),
            ":3:13: error: not a time; got \"1x\"; expected microseconds, or a dash");
  EXPECT_EQ(bad("MPI_Barrier:99999999999999999:5,0,1:12"),
            ":3:13: error: the time is out of range; got \"99999999999999999\"; expected at most "
            "4611686018427387 microseconds");
  EXPECT_EQ(bad("MPI_Barrier:-:5,0,1:12"),
            ":3:13: error: the call has no start; got \"-\"; expected microseconds");
  EXPECT_EQ(bad("MPI_Barrier:11:5,0:12"),
            ":3:16: error: not what stands here; got \"5,0\"; expected a communicator: HANDLE,RANK,SIZE");
  EXPECT_EQ(bad("MPI_Barrier:11:5,z,1:12"),
            ":3:18: error: the rank is not a number; got \"z\"; expected a whole number");
  EXPECT_EQ(bad("MPI_Barrier:11:5,0,1:2:12"),
            ":3:1: error: MPI_Barrier has 5 fields between its colons; got \"MPI_Barrier\"; expected 4");
  EXPECT_EQ(bad("MPI_Send:11:1:4:1,4:0:5:0,0,1:12"),
            ":3:17: error: not what stands here; got \"1,4\"; expected a datatype: ID,SIZE,EXTENT");
  EXPECT_EQ(bad("MPI_Send:11:1:-4:1,4,4:0:5:0,0,1:12"),
            ":3:15: error: MPI_Send: the count is out of range; got \"-4\"; expected a count >= 0");
  EXPECT_EQ(bad("MPI_Send:11:1:4:1,4,4:3:5:0,0,1:12"),
            ":3:23: error: MPI_Send: the destination is not a rank of communicator world; got \"3\"; "
            "expected 0 to 0, "
            "or -2 for none");
  EXPECT_EQ(bad("MPI_Send:11:1:4:1,4,4:0:-1:0,0,1:12"),
            ":3:25: error: MPI_Send: the tag is out of range; got \"-1\"; expected a tag >= 0");
  EXPECT_EQ(
      bad("MPI_Bcast:11:1:4:1,4,4:1:0,0,1:12"),
      ":3:24: error: MPI_Bcast: the root is not a rank of communicator world; got \"1\"; expected 0 to 0");
  EXPECT_EQ(bad("MPI_Allgatherv:11:1:4:1,4,4:2:3:4,5:6:0,0:1,4,4:0,0,1:12"),
            ":3:31: error: MPI_Allgatherv: the counts are not one for each rank of communicator world: 2; "
            "got \"3\"; "
            "expected 1");
  EXPECT_EQ(bad("MPI_Barrier:11:5,1,4:12"),
            ":3: error: the file is not that of its rank; got \"rank 1 of 4\"; expected rank 0 of 1, and a "
            "file for each");
  EXPECT_EQ(bad("MPI_Dance:11:12"),
            ":3:1: error: not supported: MPI_Dance in a liballprof trace; expected a function of "
            "MPI-3");
  EXPECT_EQ(bad("MPI_:11:12"),
            ":3:1: error: not a call of MPI; got \"MPI_:11:12\"; expected MPI_NAME:START:ARGUMENTS:END");
  EXPECT_EQ(bad("MPI_Alltoallw:11:0,0,1:12"),
            ":3:1: error: not supported: MPI_Alltoallw: liballprof does not record how many bytes this "
            "function moves; "
            "expected a recording by weft record, or with Score-P for OTF2");
  EXPECT_THAT(bad("MPI_Reduce_scatter:11:1:2:3:1,4,4:3:0,0,1:12"),
              HasSubstr("not supported: MPI_Reduce_scatter: the line has no counts"));
  EXPECT_THAT(bad("MPI_Isend:11.5:0x7ffd:1:-5:0:1:0:3:12.5  # backtrace [main]"),
              HasSubstr(":3: error: not supported: a trace of liballprof2, which names no requests"));
}

// Cut off, a byte or a number changed, a line twice or gone: operations that obey the rules, or an error that names a file.
TEST(Liballprof, DamagedTextIsAnAnswerOrAnErrorWithItsFile) {
  std::vector<std::string> good;
  for (int r = 0; r < 2; ++r) {
    AllprofRank a(r, 2);
    const std::string c = fmt::format("7000,{},2", r);
    a.init().call("Comm_split", fmt::format("{}:0:{}:88", a.world(), r));
    a.recv("Irecv", 9, -1, -1, c, "640").send("Isend", 9, 1 - r, 3, c, "648").call("Testsome", "2:640:1:2:0");
    a.call("Waitall", "2:640:0").call("Allgatherv", "1:4:1,4,4:2:3:4,4:5:0,4:1,4,4:" + c);
    a.recv("Recv_init", 9, -2, 1, a.world(), "640").call("Start", "640").call("Waitany", "1:640:7:0");
    a.call("Cart_create", c + ":1:2:3:0:96").call("Cart_sub", fmt::format("7008,{},2:7:104", r));
    a.call("Barrier", "7016,0,1").call("Comm_free", "96").call("Comm_free", "5555");
    a.call("Iprobe", "0:1:" + c + ":7:0").call("Request_free", "640").finalize();
    good.push_back(a.text());
  }
  std::size_t accepted = 0;
  const std::uint64_t base = seed_or(1);
  constexpr std::uint64_t kRounds = 300;
  for (std::uint64_t seed = base; seed < base + kRounds; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::vector<std::string> texts = good;
    std::string& text = texts[rng.below(2)];
    const std::size_t at = rng.below(text.size());
    const std::size_t line = text.rfind('\n', at) + 1,
                      end = std::min(text.find('\n', at), text.size() - 1) + 1;
    switch (rng.below(6)) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text[at] = static_cast<char>(rng.below(256));
        break;
      case 2:
        text.insert(line, text.substr(line, end - line));
        break;
      case 3:
        text.erase(line, end - line);
        break;
      case 4:
        text.insert(at, std::array{"9", "-1", ":", ",", "0", "99999999999"}[rng.below(6)]);
        break;
      default:
        text.erase(at, 1 + rng.below(6));
    }
    const TempDir dir;
    for (std::size_t r = 0; r < 2; ++r) dir.write(fmt::format("t/rank-{}.txt", r), texts[r]);
    const auto t = open_trace_with({dir.path("t")}, {.from = "liballprof", .allow_truncated = seed % 2 == 0});
    if (!t) {
      EXPECT_THAT(t.error().message(), ::testing::StartsWith(dir.path("t")));
      continue;
    }
    ++accepted;
    const OpLimits limits{2, &(*t)->communicators(), 0};
    for (std::uint32_t r = 0; r < 2; ++r) {
      const auto ops = read_rank(**t, r);
      ASSERT_TRUE(ops);
      for (const PlainOp& p : *ops) ASSERT_EQ(op_fault(p.op, p.list, limits), nullptr);
    }
  }
  EXPECT_GT(accepted, kRounds / 10);
  EXPECT_LT(accepted, kRounds);
}

}  // namespace
}  // namespace weft::traces::testing
