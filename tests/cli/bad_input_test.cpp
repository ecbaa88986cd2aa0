// What a user gets for a wrong command line, platform or trace: the exit code and the message
// `FILE:LINE:COLUMN: error: what; got "..."; expected ...`; never a crash, a hang, a full memory or
// an empty success.
#include <gtest/gtest.h>

#include <ostream>
#include <regex>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::bad_input_test {
namespace {

struct Bad {
  const char* name;
  std::vector<std::pair<const char*, std::string>> files;
  const char* arguments;
  int exit_code;
  const char* message;  // ECMAScript regular expression, searched in stderr (stdout for findings)
};
void PrintTo(const Bad& b, std::ostream* os) { *os << b.name; }

std::string name_of(const ::testing::TestParamInfo<Bad>& info) { return info.param.name; }

class BadInput : public ::testing::TestWithParam<Bad> {};

TEST_P(BadInput, EndsWithItsMessageAndExitCode) {
  const Bad& bad = GetParam();
  const Workspace here;
  for (const auto& [name, content] : bad.files) here.write(name, content);
  const auto before = here.list();
  const Outcome o = here.weft(bad.arguments);
  EXPECT_EQ(o.exit_code, bad.exit_code) << o.err << o.out;
  EXPECT_TRUE(std::regex_search(o.err + o.out, std::regex(bad.message)))
      << "weft " << bad.arguments << "\nwanted: " << bad.message << "\ngot: " << o.err << o.out;
  // Nothing half-written stays behind.
  if (bad.exit_code != 1) {
    EXPECT_EQ(here.list(), before);
  }
}

// ---- command lines
// ------------------------------------------------------------------------------------------------
const std::string kTrace = "0 init\n1 init\n0 send 1 7 100 6\n1 recv 0 7 100 6\n0 finalize\n1 finalize\n";
// A pair of ranks, one message; `t` is the trace's name in every case below.
std::vector<std::pair<const char*, std::string>> with(std::string trace) {
  return {{"t.txt", std::move(trace)}};
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, BadInput,
    ::testing::Values(
        Bad{"NoVerb", {}, "", 2, "error: .*weft --help"},
        Bad{"UnknownVerb", {}, "repaly", 2, "error: unknown verb; got \"repaly\"; expected .*replay"},
        Bad{"UnknownFlag", with(kTrace), "replay t.txt --on crossbar:n=2,bw=1GB/s --wieghts rtt", 2,
            "error: .*--wieghts"},
        Bad{"FitOfSomethingElse",
            {{"a.csv", "a,b\n1,2\n"}},
            "fit dtrsm a.csv",
            2,
            "error: .*dtrsm.*dgemm, network"},
        Bad{"FitWithoutAFile", {}, "fit network", 2, "error: "},
        Bad{"FitOfAnUnknownKernel",
            {{"a.csv", "m,n,k,seconds\n1,2,3,4\n"}},
            "fit dgemm a.csv --kernel sgemm",
            2,
            "error: --kernel is unknown; got \"sgemm\"; expected one of dgemm"},
        Bad{"FitWithADateThatIsNone",
            {{"a.csv", "m,n,k,seconds\n1,2,3,4\n"}},
            "fit dgemm a.csv --to-date 2019-02-30",
            2,
            "--to-date: error: not a date"},
        Bad{"FitOfACellThatIsNoNumber",
            {{"a.csv", "m,n,k,seconds\n1,2,3,4\n1,2,3,nan\n"}},
            "fit dgemm a.csv",
            3,
            "a.csv:3:7: error: seconds is not a number; got \"nan\""},
        Bad{"FitOfARaggedRow",
            {{"a.csv", "size,duration\n1,2\n1,2,3\n"}},
            "fit network a.csv -o out.textproto",
            3,
            "a.csv:3:1: error: row of another length"},
        Bad{"FitOfOneSize",
            {{"a.csv", "size,duration\n1,2\n1,3\n"}},
            "fit network a.csv",
            3,
            "local: error: too few sizes"},
        Bad{"FitOfNothing", {{"a.csv", ""}}, "fit network a.csv", 3, "a.csv:1:1: error: "},
        Bad{"KernelThatDoesNotExist",
            {{"t.txt", kTrace},
             {"p.textproto",
              "topology { family: \"crossbar\" set: \"n=2\" }\nhost { kernel { name: \"sgemm\" mnk: \"1ps\" "
              "} }\n"}},
            "replay t.txt --on p.textproto",
            3,
            "p.textproto:2:17: error: unknown kernel; got \"sgemm\""},
        Bad{"UnknownFailure", with(kTrace), "replay t.txt --on xgft:m=2x2,w=1x2 --fail everything", 3,
            "not a failure; got \"everything\"; expected link=NAME, switch=NAME, 2%"},
        Bad{"UnknownFailedLink", with(kTrace), "replay t.txt --on xgft:m=2x2,w=1x2 --fail link=node-0", 3,
            "unknown link; got \"node-0\"; expected a link, like node-0->switch-1-0"},
        Bad{"UnknownRouting", with(kTrace), "replay t.txt --on xgft:m=2x2,w=1x2 --routing fastest", 3,
            "unknown routing; got \"fastest\"; expected one of d-mod-k, s-mod-k, hashed, random, adaptive"},
        Bad{"RouteCutOffByAFailure", with(kTrace), "replay t.txt --on crossbar:n=2 --fail switch=switch", 3,
            "no route.*node-0 to node-1"},
        Bad{"ClosedFormsWithoutARoute",
            {},
            "predict hpl --closed-form --on crossbar:n=4 --fail switch=switch --n 100 --nb 10 --p 2 --q 2",
            3,
            "no route; got \"node-0 to node-1\"; expected hosts that the platform connects"},
        Bad{"ClosedFormsWithAHostCutOff",
            {},
            "predict hpl --closed-form --on xgft:m=2x2,w=1x1 --fail switch=switch-1-1 --n 100 --nb "
            "10 --p 2 --q 2",
            3,
            "no route; got \"node-0 to node-2\""},
        Bad{"FlowsThatAFailureCutsOff",
            {{"f.csv", "src,dst,bytes,start\n0,1,1MB,0\n"}},
            "flows f.csv --on xgft:m=2x2,w=1x2 --routing adaptive --fail switch=switch-1-0",
            3,
            "f.csv:2:1: error: no route; got"},
        Bad{"SocketsOfOneSocket",
            {},
            "platform show torus-16 --set host.socket_bandwidth=5GB/s",
            3,
            "--set host.socket_bandwidth=5GB/s: error: a link between sockets of a host that has one; got "
            "\"5GB/s\"; expected host \\{ sockets: 2 \\} or more"},
        Bad{"SocketsOfTrees",
            {},
            "platform show cs-storm --set host.sockets=2 --set host.socket_bandwidth=5GB/s",
            2,
            "error: not supported: links between sockets where hosts are PCIe trees"},
        Bad{"SearchBetweenSockets",
            {},
            "search halo --grid 4x2 --on torus-16 --set host.sockets=2 --set host.socket_bandwidth=5GB/s",
            2,
            "error: not supported: a search where the sockets of a host share links"},
        Bad{"DimensionThatIsMissing",
            {},
            "platform show torus:dims=4xx4",
            3,
            "dims lacks a number beside an x; got \"4xx4\"; expected 1 to "},
        Bad{"ReplayWithoutPlatform", with(kTrace), "replay t.txt", 2, "error: .*--on"},
        Bad{"ReplayWithoutTrace", {}, "replay --on crossbar:n=2,bw=1GB/s", 2, "error: "},
        Bad{"UnknownRawMode", with(kTrace), "replay t.txt --on crossbar:n=2,bw=1GB/s,lat=0 --raw=eagre", 2,
            "eagre.*eager.*detached.*rendezvous"},
        Bad{"HeaderWithoutUnit", with(kTrace),
            "replay t.txt --on crossbar:n=2,bw=1GB/s,lat=0 --raw --header 16", 2,
            "--header: error: .*got \"16\"; expected .*B"},
        Bad{"NegativeRawSwitch", with(kTrace),
            "replay t.txt --on crossbar:n=2,bw=1GB/s,lat=0 --raw --raw-switch -64KiB", 2,
            "error: .*got \"-64KiB\""},
        Bad{"UnknownModel", with(kTrace), "replay t.txt --on crossbar:n=2,bw=1GB/s,lat=0 --model min-max", 2,
            "error: .*got \"min-max\"; expected .*max-min"},
        Bad{"AccuracyOutOfRange", with(kTrace), "replay t.txt --on crossbar:n=2,bw=1GB/s,lat=0 --accuracy 2",
            2, "error: --accuracy out of range; got \"2\"; expected a ratio from 0"},
        Bad{"AccuracyThatIsNoNumber",
            {{"f.csv", "src,dst,bytes,start\n0,1,1MB,0\n"}},
            "flows f.csv --on crossbar:n=2,bw=1GB/s --accuracy fine",
            2,
            "--accuracy: error: not a number; got \"fine\""},
        Bad{"UnknownWeights", with(kTrace), "replay t.txt --on crossbar:n=2,bw=1GB/s,lat=0 --weights ttr", 2,
            "ttr"},
        Bad{"UnknownMap", with(kTrace), "replay t.txt --on crossbar:n=2,bw=1GB/s,lat=0 --map blokc", 2,
            "error: .*got \"blokc\"; expected .*block.*cyclic.*random"},
        Bad{"NoThreads", with(kTrace), "replay t.txt --on crossbar:n=2,bw=1GB/s,lat=0 --threads 0", 2,
            "error: .*threads"},
        Bad{"UnknownExportFormat", with(kTrace), "export t.txt --to yaml -o x", 2, "error: .*yaml"},
        Bad{"UnknownImportFormat", with(kTrace), "import t.txt --from otf9 -o x.weft", 2,
            "error: .*otf9.*expected .*ti"},
        Bad{"OutputIntoMissingFolder", with(kTrace), "import t.txt -o no/such/folder/x.weft", 3,
            "no/such/folder/x.weft: error: cannot write"},
        Bad{"SetWithoutValue", with(kTrace), "replay t.txt --on crossbar:n=2,bw=1GB/s,lat=0 --set bw", 3,
            "error: .*got \"bw\"; expected .*="}),
    name_of);

// ---- platforms
// ----------------------------------------------------------------------------------------------------
INSTANTIATE_TEST_SUITE_P(
    Platform, BadInput,
    ::testing::Values(
        Bad{"UnknownFamily",
            {},
            "platform show fattree:m=4,n=2,bw=1GB/s,lat=0",
            3,
            "error: unknown.*got \"fattree\"; expected .*fat-tree.*torus"},
        Bad{"UnknownBuiltIn", {}, "platform show frontear", 3, "error: .*got \"frontear\"; expected "},
        Bad{"UnknownKey",
            {},
            "platform show torus:dims=4x4,bw=1GB/s,lat=0,wdith=3",
            3,
            "error: .*got \"wdith[^\"]*\"; expected .*dims"},
        Bad{"DuplicateKey",
            {},
            "platform show torus:dims=4x4,dims=2x2,bw=1GB/s,lat=0",
            3,
            "error: .*(twice|duplicate)"},
        Bad{"MissingKey", {}, "platform show torus:bw=1GB/s,lat=0", 3, "error: .*dims"},
        Bad{"BandwidthWithoutUnit",
            {},
            "platform show crossbar:n=4,bw=100,lat=1us",
            3,
            "error: .*got \"100\"; expected .*unit"},
        Bad{"NegativeBandwidth",
            {},
            "platform show crossbar:n=4,bw=-1GB/s,lat=1us",
            3,
            "error: .*got \"-1GB/s\""},
        Bad{"ZeroBandwidth", {}, "platform show crossbar:n=4,bw=0GB/s,lat=1us", 3, "error: .*got \"0GB/s\""},
        Bad{"LatencyInBytes", {}, "platform show crossbar:n=4,bw=1GB/s,lat=1KiB", 3, "error: .*got \"1KiB\""},
        Bad{"InfiniteLatency",
            {},
            "platform show crossbar:n=4,bw=1GB/s,lat=infs",
            3,
            "error: .*got \"infs\""},
        Bad{"SpeedWithoutUnit",
            {},
            "platform show crossbar:n=4,bw=1GB/s,lat=0,speed=10",
            3,
            "error: .*got \"10\""},
        Bad{"OddPorts", {}, "platform show fat-tree:m=5,n=2,bw=1GB/s,lat=0", 3, "error: .*got \"5\""},
        Bad{"HugeTorus", {}, "platform show torus:dims=100000x100000x100000,bw=1GB/s,lat=0", 3, "error: "},
        Bad{"HugeFatTree", {}, "platform show fat-tree:m=128,n=9,bw=1GB/s,lat=0", 3, "error: "},
        Bad{"OverflowingDimension",
            {},
            "platform show torus:dims=99999999999999999999x2,bw=1GB/s,lat=0",
            3,
            "error: .*99999999999999999999"},
        Bad{"NegativeDimension", {}, "platform show torus:dims=4x-4,bw=1GB/s,lat=0", 3, "error: .*-4"},
        Bad{"TooManyDragonflyGroups",
            {},
            "platform show dragonfly:p=2,a=4,h=2,g=10,bw=1GB/s,lat=0",
            3,
            "error: .*got \"10\""},
        Bad{"EmptyShorthand", {}, "platform show torus:", 3, "error: "},
        Bad{"NotAPair", {}, "platform show torus:dims", 3, "error: .*got \"dims\""},
        Bad{"MissingTextproto", {}, "platform show nowhere.textproto", 3, "nowhere.textproto.*error: "},
        Bad{"BrokenTextproto",
            {{"p.textproto", "name: \"x\"\ntorus {\n  dims: [4, 4\n}\n"}},
            "platform show p.textproto",
            3,
            "p.textproto:[0-9]+:[0-9]+: error: "},
        Bad{"UnknownTextprotoField",
            {{"p.textproto", "name: \"x\"\n  wdith: 3\n"}},
            "platform show p.textproto",
            3,
            "p.textproto:2:[0-9]+: error: .*wdith"},
        Bad{"EmptyRoutes", {{"r.txt", ""}}, "platform show routes:path=r.txt", 3, "r.txt.*error: "},
        Bad{"RouteOverUnknownLink",
            {{"r.txt", "L 0 a 1e9 0\nR 0 1 0\nR 1 0 7\n"}},
            "platform show routes:path=r.txt",
            3,
            "r.txt:3:7: error: .*got \"7\""},
        Bad{"NegativeRouteBandwidth",
            {{"r.txt", "L 0 a -1e9 0\nR 0 1 0\n"}},
            "platform show routes:path=r.txt",
            3,
            "r.txt:1:7: error: .*got \"-1e9\""},
        Bad{"DuplicateLink",
            {{"r.txt", "L 0 a 1e9 0\nL 0 b 1e9 0\nR 0 1 0\n"}},
            "platform show routes:path=r.txt",
            3,
            "r.txt:2:3: error: .*got \"0\""},
        Bad{"DuplicateRoute",
            {{"r.txt", "L 0 a 1e9 0\nR 0 1 0\nR 0 1 0\n"}},
            "platform show routes:path=r.txt",
            3,
            "r.txt:3:[0-9]+: error: "},
        Bad{"UnknownRouteLine",
            {{"r.txt", "L 0 a 1e9 0\nX 0 1\n"}},
            "platform show routes:path=r.txt",
            3,
            "r.txt:2:1: error: .*got \"X\""},
        Bad{"NanLatency",
            {{"r.txt", "L 0 a 1e9 nan\nR 0 1 0\n"}},
            "platform show routes:path=r.txt",
            3,
            "r.txt:1:11: error: .*got \"nan\""},
        Bad{"UnreachablePair",
            {{"r.txt", "L 0 a 1e9 0\nR 1 0 0\n"}, {"t.txt", kTrace}},
            "replay t.txt --on routes:path=r.txt,speed=10Gflops --raw",
            3,
            "error: .*(route|reach)"},
        Bad{"UnknownRouteHost",
            {},
            "route node-0 node-9 --on crossbar:n=4,bw=1GB/s,lat=0",
            3,
            "error: .*got \"node-9\""}),
    name_of);

// ---- placements
// ---------------------------------------------------------------------------------------------------
INSTANTIATE_TEST_SUITE_P(
    Placement, BadInput,
    ::testing::Values(Bad{"MoreRanksThanHosts", with(kTrace), "replay t.txt --on crossbar:n=1,bw=1GB/s,lat=0",
                          3, "error: .*(ranks|slots|hosts)"},
                      Bad{"HostOutOfRange",
                          {{"t.txt", kTrace}, {"m.txt", "0\n9\n"}},
                          "replay t.txt --on crossbar:n=2,bw=1GB/s,lat=0 --map file:m.txt",
                          3,
                          "m.txt:2:1: error: .*got \"9\""},
                      Bad{"UnknownHostName",
                          {{"t.txt", kTrace}, {"m.txt", "0\nnode-x\n"}},
                          "replay t.txt --on crossbar:n=2,bw=1GB/s,lat=0 --map file:m.txt",
                          3,
                          "m.txt:2:1: error: .*got \"node-x\""},
                      Bad{"TooFewLines",
                          {{"t.txt", kTrace}, {"m.txt", "0\n"}},
                          "replay t.txt --on crossbar:n=2,bw=1GB/s,lat=0 --map file:m.txt",
                          3,
                          "m.txt.*error: "},
                      Bad{"MissingMapFile", with(kTrace),
                          "replay t.txt --on crossbar:n=2,bw=1GB/s,lat=0 --map file:nowhere.txt", 3,
                          "nowhere.txt.*error: "}),
    name_of);

// ---- traces
// -------------------------------------------------------------------------------------------------------
constexpr const char* kCheck = "check t.txt";
INSTANTIATE_TEST_SUITE_P(
    Trace, BadInput,
    ::testing::Values(
        Bad{"Missing", {}, "info nowhere.weft", 3, "nowhere.weft.*error: "},
        Bad{"Empty", with(""), kCheck, 3, "t.txt.*error: "},
        Bad{"EmptyFolder", {{"d/readme", "nothing\n"}}, "info d", 3, "error: "},
        Bad{"Garbage", with(std::string("\x7f\x45\x4c\x46\x00\x01\x02\x03", 8) + std::string(64, '\xee')),
            kCheck, 3, "t.txt.*error: "},
        Bad{"UnknownAction", with("0 init\n1 init\n0 sned 1 7 100 6\n"), kCheck, 3,
            "t.txt:3:3: error: .*got \"sned\"; expected "},
        Bad{"RankOutOfRange", with("0 init\n1 init\n0 send 9 7 100 6\n1 recv 0 7 100 6\n"), kCheck, 3,
            "t.txt:3:8: error: .*got \"9\""},
        Bad{"NegativeCount", with("0 init\n1 init\n0 send 1 7 -100 6\n1 recv 0 7 100 6\n"), kCheck, 3,
            "t.txt:3:12: error: .*got \"-100\""},
        Bad{"HugeCount", with("0 init\n1 init\n0 send 1 7 1e30 6\n1 recv 0 7 100 6\n"), kCheck, 3,
            "t.txt:3:12: error: .*got \"1e30\""},
        Bad{"OverflowingBytes", with("0 init\n1 init\n0 send 1 7 4e18 0\n1 recv 0 7 100 6\n"), kCheck, 3,
            "t.txt:3:12: error: .*got \"4e18\""},
        Bad{"UnknownDatatype", with("0 init\n1 init\n0 send 1 7 100 999\n1 recv 0 7 100 6\n"), kCheck, 3,
            "t.txt:3:16: error: .*got \"999\""},
        Bad{"MissingArgument", with("0 init\n1 init\n0 send 1\n1 recv 0 7 100 6\n"), kCheck, 3,
            "t.txt:3:[0-9]+: error: "},
        Bad{"NotANumber", with("0 init\n1 init\n0 send one 7 100 6\n1 recv 0 7 100 6\n"), kCheck, 3,
            "t.txt:3:8: error: .*got \"one\""},
        Bad{"NegativeFlops", with("0 init\n1 init\n0 compute -5\n"), kCheck, 3,
            "t.txt:3:11: error: .*got \"-5\""},
        Bad{"NanFlops", with("0 init\n1 init\n0 compute nan\n"), kCheck, 3,
            "t.txt:3:11: error: .*got \"nan\""},
        Bad{"RankIsText", with("0 init\n1 init\nzero send 1 7 100 6\n"), kCheck, 3,
            "t.txt:3:1: error: .*got \"zero\""},
        Bad{"HugeRank", with("0 init\n4000000000 init\n"), kCheck, 3,
            "t.txt.*error: .*(too many ranks|4000000000)"},
        // Findings: the file is well-formed, the program is not.
        Bad{"UnmatchedSend", with("0 init\n1 init\n0 send 1 7 100 6\n0 send 1 8 100 6\n1 recv 0 7 100 6\n"),
            kCheck, 1, "send"},
        Bad{"UnmatchedReceive",
            with("0 init\n1 init\n0 send 1 7 100 6\n1 recv 0 7 100 6\n1 recv 0 8 100 6\n"), kCheck, 1,
            "recv"},
        Bad{"ReceiveTooSmall", with("0 init\n1 init\n0 send 1 7 100 6\n1 recv 0 7 50 6\n"), kCheck, 1,
            "(100|50)"},
        Bad{"CollectivesDisagree", with("0 init\n1 init\n0 bcast 100 0 6\n1 barrier\n"), kCheck, 1,
            "(bcast|barrier)"},
        Bad{"Cyclic",
            with("0 init\n1 init\n0 recv 1 7 100 6\n0 send 1 7 100 6\n1 recv 0 7 100 6\n1 send 0 7 100 6\n"),
            kCheck, 1, "(cycle|deadlock)"},
        Bad{"CyclicReplay",
            with("0 init\n1 init\n0 recv 1 7 100 6\n0 send 1 7 100 6\n1 recv 0 7 100 6\n1 send 0 7 100 6\n"),
            "replay t.txt --on crossbar:n=2,bw=1GB/s,lat=1us", 1, "deadlock"},
        Bad{"UnmatchedReplay", with("0 init\n1 init\n1 recv 0 7 100 6\n"),
            "replay t.txt --on crossbar:n=2,bw=1GB/s,lat=1us", 1, "recv"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    FlagsTogether, BadInput,
    ::testing::Values(
        Bad{"ClosedFormWithNoise",
            {},
            "predict hpl --on dahu --n 1000 --closed-form --noise",
            2,
            "error: --noise with --closed-form, where nothing is replayed"},
        Bad{"WeightsWithoutContention", with(kTrace),
            "replay t.txt --on crossbar:n=2 --model contention-free --weights rtt", 2,
            "error: --weights rtt with --model contention-free, where flows share nothing; "
            "expected --help says what goes together"},
        Bad{"AccuracyWithoutContention",
            {{"f.csv", "src,dst,bytes,start\n0,1,1MB,0\n"}},
            "flows f.csv --on crossbar:n=2 --model contention-free --accuracy 0.01",
            2,
            "error: --accuracy with --model contention-free, where flows share nothing"},
        Bad{"AccuracyOfAPredictionOutOfRange",
            {},
            "predict hpl --on crossbar:n=4 --n 100 --nb 10 --accuracy 2",
            2,
            "error: --accuracy out of range; got \"2\"; expected a ratio from 0"},
        Bad{"AccuracyOfClosedForms",
            {},
            "predict hpl --on crossbar:n=4 --n 100 --nb 10 --closed-form --accuracy 1e-4",
            2,
            "error: --accuracy with --closed-form, where nothing is replayed"},
        Bad{"LatencyPastTheEnd",
            {{"f.csv", "src,dst,bytes,start\n0,1,0B,0\n"}},
            "flows f.csv --on crossbar:n=2,lat=9e6s",
            3,
            "f.csv:2:1: error: a flow would end beyond the range of simulated time; got \"flow 0\""},
        Bad{"ReplayPastTheEnd", with(kTrace), "replay t.txt --on crossbar:n=2,lat=9e6s", 3,
            "t.txt on crossbar:n=2,lat=9e6s: error: simulated time runs past its end"},
        Bad{"SweepOfAValueTwice", with(kTrace), "sweep t.txt --on crossbar:n=2 --set lat=1us,2us,1us", 2,
            "--set with a value twice; got \"lat=1us,2us,1us\"; expected 1us once"},
        Bad{"SweepOfAValueWrittenInTwoWays", with(kTrace),
            "sweep t.txt --on crossbar:n=2 --set lat=1us,2us,1000ns", 2,
            "--set with a value twice; got \"lat=1us,2us,1000ns\"; expected 1000ns once"},
        Bad{"SweepFieldAndKey", with(kTrace),
            "sweep t.txt --on crossbar:n=2 --set speed=1Gflops,2Gflops --set host.speed=3Gflops", 2,
            "--set twice for one key; got \"host.speed=3Gflops\"; expected all values in one --set"},
        Bad{"SweepTopologyKeyTwice", with(kTrace),
            "sweep t.txt --on crossbar:n=2 --set lat=1us --set topology.lat=2us", 2,
            "--set twice for one key; got \"topology.lat=2us\"; expected all values in one --set"},
        Bad{"SweepWithAnOpenQuote", with(kTrace), "sweep t.txt --on crossbar:n=2 --set 'lat=\"1us,2us'", 2,
            "--set with a quote that is not closed"},
        Bad{"ComparedPlatformsOfOneLabel", with(kTrace),
            "compare t.txt --on a=crossbar:n=2 --on a=crossbar:n=4", 2,
            "error: two platforms are called a; got \"--on a=crossbar:n=2 and --on "
            "a=crossbar:n=4\"; expected --on LABEL=PLATFORM with a label of its own for each"},
        Bad{"ComparedPlatformsOfOneName",
            {{"t.txt", kTrace},
             {"a.textproto", "name: \"x\" topology { family: \"crossbar\" set: \"n=2\" }"},
             {"b.textproto", "name: \"x\" topology { family: \"crossbar\" set: \"n=4\" }"}},
            "compare t.txt --on a.textproto --on b.textproto",
            2,
            "two platforms are called x; got \"--on a.textproto and --on b.textproto\""},
        Bad{"SweptPlatformsOfOneLabel", with(kTrace),
            "sweep t.txt --on a=crossbar:n=2 --on a=crossbar:n=4 --set lat=1us,2us", 2,
            "two platforms are called a"},
        Bad{"PredictedPlatformsOfOneLabel",
            {},
            "predict hpl --n 100 --on a=crossbar:n=2 --on a=crossbar:n=4",
            2,
            "two platforms are called a"},
        Bad{"SetTwice", with(kTrace), "replay t.txt --on crossbar:n=2 --set bw=1GB/s --set topology.bw=2GB/s",
            2, "error: --set twice for one key; got \"topology.bw=2GB/s\"; expected each key once"},
        Bad{"SetOfAFieldAndItsKey",
            {},
            "platform show dahu --set speed=1Gflops --set host.speed=2Gflops",
            2,
            "error: --set twice for one key; got \"host.speed=2Gflops\""},
        Bad{"SizeOfAHalo",
            {},
            "search halo --grid 2x2 --on crossbar:n=4 --bytes 5",
            2,
            "--bytes: error: not a size; got \"5\"; expected a number with a unit"},
        Bad{"SizesOfAHalo",
            {},
            "search halo --grid 2x2 --on crossbar:n=4 --bytes 1KiBx1KiBx1KiB",
            2,
            "error: --bytes: more sizes than dimensions"},
        Bad{"GridOfAHalo",
            {},
            "search halo --grid 2y2 --on crossbar:n=4",
            2,
            "--grid: error: no grid; got \"2y2\""},
        Bad{"GridOfOne",
            {},
            "search halo --grid 1x1 --on crossbar:n=4",
            2,
            "error: --grid: a grid without neighbours; got \"1x1\""},
        Bad{"HeaderOfFlows",
            {{"f.csv", "src,dst,bytes,start\n0,1,1MB,0\n"}},
            "flows f.csv --on crossbar:n=2 --header 16",
            2,
            "--header: error: .*got \"16\""},
        Bad{"MemoryForLessThanABlock",
            {{"p.textproto",
              "topology { family: \"crossbar\" set: \"n=2\" } host { memory: \"64KiB\" speed: \"1Gflops\" "
              "}"}},
            "predict hpl --on p.textproto --n auto --nb 256",
            2,
            "error: --n auto: 80 % of the memory holds less than one block of NB = 256; got \"65.5 kB on "
            "each of 2 hosts\""},
        Bad{"VerifiedRunPastTheEnd", with(kTrace),
            "compare t.txt --on crossbar:n=2,lat=9e6s --on crossbar:n=2,lat=1us --verify", 3,
            "t.txt on crossbar:n=2,lat=9e6s: error: simulated time runs past its end"},
        Bad{"RoutingTwice", with(kTrace),
            "compare t.txt --on xgft:m=2x2,w=1x2 --routing hashed --routing hashed", 2,
            "error: --routing twice; got \"hashed\""},
        Bad{"MapTwice", with(kTrace), "compare t.txt --on xgft:m=2x2,w=1x2 --map block --map block", 2,
            "error: --map twice; got \"block\""},
        Bad{"TraceTwice", with(kTrace), "sweep t.txt t.txt --on xgft:m=2x2,w=1x2 --set lat=1us,2us", 2,
            "error: a trace twice; got \"t.txt\""},
        Bad{"WindowsWithoutSample",
            {},
            "predict hpl --on dahu --n 1000 --warm-up 3",
            2,
            "error: --warm-up without --sample"},
        Bad{"MatrixSeedOfRandomPivots",
            {},
            "generate hpl --matrix-seed 7 -o t.weft",
            2,
            "error: --matrix-seed is of exact pivots; got \"7\"; expected --pivots exact"},
        Bad{"EdgesOfALine",
            {},
            "search halo --grid 4 --on cs-storm --diagonals --edge-bytes 1KB",
            2,
            "error: --edge-bytes: a line of ranks has no edges"},
        Bad{"CornersOfASquare",
            {},
            "search halo --grid 2x2 --on cs-storm --diagonals --corner-bytes 1KB",
            2,
            "error: --corner-bytes: a grid of fewer than three dimensions"},
        Bad{"MapOfSearchedPlaces",
            {},
            "search halo --grid 2x2 --on cs-storm --place search --map cyclic",
            2,
            "error: --map with --place search"},
        Bad{"SearchOfMessagesThatTakeNoTime",
            {},
            "search halo --grid 2x2 --on cs-storm --bytes 0",
            2,
            "error: no message takes any time there"},
        Bad{"PictureWithoutTrees",
            {},
            "search halo --grid 2x2 --on torus-16 --svg x.svg",
            2,
            "not supported: --svg"}),
    name_of);

// ---- damaged files
// ------------------------------------------------------------------------------------------------
class Damaged : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string text;
    for (int i = 0; i < 200; ++i)
      text += "0 compute " + std::to_string(1000 + i) + "\n0 send 1 7 100 6\n1 recv 0 7 100 6\n";
    here_.write("t.txt", "0 init\n1 init\n" + text + "0 finalize\n1 finalize\n");
    const Outcome o = here_.weft("import t.txt -o t.weft");
    ASSERT_EQ(o.exit_code, 0) << o.err;
    whole_ = here_.read("t.weft");
    ASSERT_GT(whole_.size(), 100u);
    ASSERT_EQ(here_.weft("check t.weft").exit_code, 0);
  }
  Workspace here_;
  std::string whole_;
};

TEST_F(Damaged, AFileCutOffAnywhereIsAnsweredWithItsPosition) {
  for (std::size_t i = 0; i < 32; ++i) {
    const std::size_t cut = whole_.size() * i / 32;
    here_.write("cut.weft", whole_.substr(0, cut));
    const Outcome o = here_.weft("check cut.weft");
    EXPECT_EQ(o.exit_code, 3) << "cut at " << cut << " of " << whole_.size() << "\n" << o.err << o.out;
    EXPECT_NE(o.err.find("error: "), std::string::npos) << o.err;
    EXPECT_NE(o.err.find("cut.weft"), std::string::npos) << o.err;
  }
}

TEST_F(Damaged, AFlippedBitIsNeverACrashAndNeverASilentlyWrongTrace) {
  here_.write("sound.txt", "");
  ASSERT_EQ(here_.weft("export t.weft --to text -o sound.txt").exit_code, 0);
  const std::string sound = here_.read("sound.txt");
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t byte = whole_.size() * i / 64;
    std::string flipped = whole_;
    flipped[byte] = static_cast<char>(flipped[byte] ^ (1 << (i % 8)));
    here_.write("flip.weft", flipped);
    const Outcome o = here_.weft("export flip.weft --to text -o flip.txt");
    if (o.exit_code == 0) {
      EXPECT_EQ(here_.read("flip.txt"), sound) << "byte " << byte;
    } else {
      EXPECT_EQ(o.exit_code, 3) << "byte " << byte << "\n" << o.err;
      EXPECT_NE(o.err.find("error: "), std::string::npos) << o.err;
    }
  }
}

TEST_F(Damaged, ACompressedTextTraceCutOffIsAnError) {
  ASSERT_EQ(std::system(
                ("cd '" + here_.path() + "' && gzip -k t.txt && head -c 100 t.txt.gz > half.txt.gz").c_str()),
            0);
  EXPECT_EQ(here_.weft("check t.txt.gz").exit_code, 0);
  const Outcome o = here_.weft("check half.txt.gz");
  EXPECT_EQ(o.exit_code, 3) << o.err << o.out;
  EXPECT_NE(o.err.find("half.txt.gz"), std::string::npos) << o.err;
}

}  // namespace
}  // namespace weft::testing::bad_input_test
