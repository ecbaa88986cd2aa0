// What is wrong with a trace or missing in it is told by every verb that reads it, and counts are the same in all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_weft.hpp"
#include "tests/support/checkout.hpp"
#include "traces/weft/copy.hpp"
#include "traces/weft/writer.hpp"

namespace weft::testing::trace_findings_test {
namespace {

using nlohmann::ordered_json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using traces::Op;
using traces::OpKind;

const std::string kOn = " --on crossbar:n=4,bw=8Gbps,lat=1us ";

// A .weft file of the programs in `ops`, one a rank.
void write_trace(const Workspace& w, const std::string& name, traces::TraceHeader header,
                 const std::vector<std::vector<Op>>& ops,
                 const std::vector<traces::Communicator>& comms = {}) {
  header.ranks = static_cast<std::uint32_t>(ops.size());
  auto out = traces::TraceWriter::create(w.path() + "/" + name, header);
  ASSERT_TRUE(out) << out.error().message();
  for (const auto& c : comms) (void)out->add_communicator(c);
  for (std::uint32_t r = 0; r < ops.size(); ++r) {
    traces::OpBlock block;
    block.rank = RankId(r);
    for (const Op& op : ops[r]) {
      block.ops.push_back(op);
      if (block.ops.size() < traces::kMaxBlockOps && &op != &ops[r].back()) continue;
      out->append(block);
      block.first_op += block.ops.size();
      block.clear();
    }
  }
  const auto done = out->finish();
  ASSERT_TRUE(done) << done.error().message();
}

ordered_json json_of(const Workspace& w, const std::string& line, int exit_code) {
  const Outcome o = w.weft(line + " --json - --quiet");
  EXPECT_EQ(o.exit_code, exit_code) << line << "\n" << o.err;
  return o.out.empty() ? ordered_json{} : ordered_json::parse(o.out);
}

const Op kSend{.kind = OpKind::send, .peer = 1, .tag = 5, .amount = 8};
const Op kRecv{.kind = OpKind::recv, .peer = 0, .tag = 5, .amount = 8};

TEST(TraceFindings, WhatTheTraceDoesNotHoldIsToldByEveryVerbThatReadsIt) {
  const Workspace w;
  traces::TraceHeader h;
  h.recorder = "weft record";
  h.recording.not_recorded = {{"one-sided communication", "MPI_Put", 40}, {"file I/O", "MPI_File_open", 4}};
  h.recording.threads = 3;
  h.recording.concurrent_calls = 7;
  h.recording.clock = traces::ComputeClock::kCpu;
  h.recording.cpu_ps = {0, 0};
  h.recording.wall_ps = {0, 1'000'000'000'000};
  write_trace(w, "t.weft", h, {{kSend}, {kRecv}});
  const char* const said[] = {"40 calls of one-sided communication (MPI_Put 40)", "4 calls of file I/O",
                              "7 calls while another thread was inside MPI",
                              "rank 1 used 0 s of CPU time in 1 s"};
  for (const auto& [line, code] : {std::pair{std::string("check t.weft"), 1},
                                   {"info t.weft", 0},
                                   {"replay t.weft" + kOn, 0},
                                   {"replay t.weft --with t.weft" + kOn, 0},
                                   {"compare t.weft" + kOn, 0},
                                   {"sweep t.weft --set bw=8Gbps,16Gbps" + kOn, 0},
                                   {"import t.weft -o copy.weft", 0}}) {
    SCOPED_TRACE(line);
    const auto j = json_of(w, line, code);
    Outcome text = w.weft(line);
    // Sentences are wrapped at the width of the terminal.
    for (std::size_t at = 0; (at = text.out.find("\n ", at)) != std::string::npos;)
      text.out.replace(at, text.out.find_first_not_of(" \n", at) - at, " ");
    for (const char* s : said) {
      EXPECT_THAT(j["warnings"].get<std::vector<std::string>>(), Contains(HasSubstr(s)));
      EXPECT_THAT(text.out, HasSubstr(s));
    }
    EXPECT_THAT(text.out, HasSubstr("warning"));
  }
  // The trace itself goes to standard output.
  const Outcome exported = w.weft("export t.weft --to text -o -");
  EXPECT_EQ(exported.out, "0 send 1 8 5 world\n1 recv 0 8 5 world\n");
  for (const char* s : said) EXPECT_THAT(exported.err, HasSubstr(s));
  // A copy still knows.
  EXPECT_EQ(json_of(w, "info copy.weft", 0)["warnings"].size(), 4u);
  // Where there is nothing to say, nothing is said.
  write_trace(w, "whole.weft", {}, {{kSend}, {kRecv}});
  for (const std::string line :
       {"check whole.weft", "info whole.weft", "replay whole.weft", "compare whole.weft"})
    EXPECT_THAT(json_of(w, line + (line[0] == 'r' || line[1] == 'o' ? kOn : ""), 0)["warnings"], IsEmpty())
        << line;
}

TEST(TraceFindings, WhatAnExportCannotSayIsTold) {
  const Workspace w;
  const std::string sample = support::source_dir() + "/traces/samples/hpl_2x2_1000_64.weft";
  const char* lost = "12 calls that make communicators are left out";
  const Outcome o = w.weft("export " + sample + " --to ti -o t.txt --json t.json");
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_THAT(o.err, HasSubstr(std::string("hpl_2x2_1000_64.weft: warning: ") + lost));
  const auto warnings = ordered_json::parse(w.read("t.json"))["warnings"];
  EXPECT_THAT(warnings.get<std::vector<std::string>>(), Contains(HasSubstr(lost)));
  // Another format can.
  EXPECT_EQ(w.weft("export " + sample + " --to csv -o out").err.find(lost), std::string::npos);
}

// A rank that takes its messages from anybody and then a barrier, which SimGrid and GOAL have no contexts for.
TEST(TraceFindings, AnExportOfWhatWasReceivedInTheRecording) {
  const Workspace w;
  const Op any{
      .kind = OpKind::irecv, .peer = traces::kAnySource, .tag = traces::kAnyTag, .amount = 8, .request = 0};
  const Op wait{.kind = OpKind::wait, .peer = 1, .tag = 5, .amount = 8, .request = 0};
  const Op silent{.kind = OpKind::wait, .peer = traces::kAnySource, .tag = traces::kAnyTag, .request = 0};
  Op send = kSend;
  send.peer = 0;
  const Op barrier{.kind = OpKind::barrier};
  write_trace(w, "t.weft", {}, {{any, wait, barrier}, {send, barrier}});
  for (const std::string to : {"ti", "goal", "goal-binary"}) {
    const std::string line = "export t.weft --to " + to + " -o out." + to;
    EXPECT_THAT(w.weft(line).err, HasSubstr("(--recorded-matches: receives name what they took"));
    const ordered_json j = json_of(w, line + " --recorded-matches", 0);
    EXPECT_EQ(j["recorded_matches"], true);
    EXPECT_EQ(j["warnings"], ordered_json::array());
  }
  EXPECT_THAT(w.read("out.ti_files/rank-0.txt"), HasSubstr("0 irecv 1 5 8 6\n0 wait 1 0 5\n"));
  EXPECT_THAT(w.read("out.goal"), HasSubstr("recv 8b from 1 tag 5\n"));
  ASSERT_EQ(w.weft("replay t.weft --recorded-matches --export goal:replayed.goal" + kOn).exit_code, 0);
  EXPECT_THAT(w.read("replayed.goal"), HasSubstr("recv 8b from 1 tag 5\n"));
  // Where nothing says what came there is nothing to name.
  write_trace(w, "t.weft", {}, {{any, silent}, {send}});
  EXPECT_THAT(
      json_of(w, "export t.weft --to ti -o again --recorded-matches", 0)["warnings"],
      Contains(
          "1 receive from any source or of any tag takes what comes: the trace does not say what it took "
          "in the recording"));
}

TEST(TraceFindings, CheckFailsWhereTheTraceIsOfAnotherProgramAndWarnsOfTheRest) {
  const Workspace w;
  traces::TraceHeader h;
  h.recording.not_recorded = {{"one-sided communication", "MPI_Put", 40}};
  write_trace(w, "rma.weft", h, {{kSend}, {kRecv}});
  auto j = json_of(w, "check rma.weft", 1);
  EXPECT_EQ(j["ok"], false);
  ASSERT_EQ(j["findings"].size(), 1u);
  EXPECT_EQ(j["findings"][0]["severity"], "error");
  EXPECT_EQ(j["findings"][0]["rank"], nullptr);
  // Time that was slept leaves the operations as they are: a warning.
  h = {};
  h.recording.clock = traces::ComputeClock::kCpu;
  h.recording.cpu_ps = {0, 0};
  h.recording.wall_ps = {0, 1'000'000'000'000};
  write_trace(w, "slept.weft", h, {{kSend}, {kRecv}});
  j = json_of(w, "check slept.weft", 0);
  EXPECT_EQ(j["ok"], true);
  EXPECT_EQ(j["findings"][0]["severity"], "warning");
  // So does one order for several threads.
  h = {};
  h.recording.concurrent_calls = 9;
  write_trace(w, "threads.weft", h, {{kSend}, {kRecv}});
  j = json_of(w, "check threads.weft", 0);
  EXPECT_EQ(j["findings"][0]["severity"], "warning");
  EXPECT_EQ(j["warning_count"], 1);
}

TEST(TraceFindings, UnmatchedMessagesAndReceivesAreAFindingOfAReplay) {
  const Workspace w;
  w.write("sent.txt", "0 init\n1 init\n0 send 1 5 8 6\n0 finalize\n1 finalize\n");
  auto j = json_of(w, "replay sent.txt" + kOn, 1);
  EXPECT_EQ(j["error"]["kind"], "unmatched");
  EXPECT_EQ(j["error"]["message"], "1 message was sent but never received");
  EXPECT_EQ(j["ranks"].size(), 2u) << "the rest of the result is there";
  EXPECT_THAT(w.weft("replay sent.txt" + kOn).err, HasSubstr("1 message was sent but never received"));
  j = json_of(w, "compare sent.txt" + kOn, 1);
  EXPECT_EQ(j["rows"][0]["error"], "1 message was sent but never received");
  EXPECT_EQ(j["rows"][0]["slowdown"], 1.0);
  EXPECT_EQ(json_of(w, "check sent.txt", 1)["ok"], false);
  // A receive that is posted, given up and never matched.
  Op posted = kRecv;
  posted.kind = OpKind::irecv;
  posted.request = 0;
  write_trace(w, "posted.weft", {}, {{}, {posted, {.kind = OpKind::request_free, .request = 0}}});
  j = json_of(w, "replay posted.weft" + kOn, 1);
  EXPECT_EQ(j["error"]["receives"], 1);
  EXPECT_EQ(j["error"]["message"], "1 receive was posted but never matched");
  EXPECT_EQ(json_of(w, "check posted.weft", 1)["ok"], false);
}

TEST(TraceFindings, MessagesAreCountedTheSameWayEverywhere) {
  const Workspace w;
  // Rank 0: two starts of a persistent send of 100 bytes on split1, one send of 8, and three to nobody.
  const CommId split(1);
  Op nobody = kSend;
  nobody.peer = traces::kProcNull;
  const Op init{.kind = OpKind::send_init, .comm = split, .peer = 1, .tag = 1, .amount = 100, .request = 0};
  Op init_nobody = init;
  init_nobody.peer = traces::kProcNull;
  init_nobody.request = 1;
  const auto start = [](std::uint32_t slot) { return Op{.kind = OpKind::start, .request = slot}; };
  const auto wait = [](std::uint32_t slot) {
    return Op{.kind = OpKind::wait, .peer = traces::kAnySource, .tag = traces::kAnyTag, .request = slot};
  };
  const Op recv{.kind = OpKind::recv, .comm = split, .peer = 0, .tag = 1, .amount = 100};
  write_trace(
      w, "t.weft", {},
      {{init, init_nobody, start(0), wait(0), nobody, start(0), wait(0), start(1), wait(1), nobody, kSend},
       {recv, recv, kRecv}},
      {{"split1", {0, 1}}});
  const auto info = json_of(w, "info t.weft", 0);
  EXPECT_EQ(info["messages"], 3);
  EXPECT_EQ(info["bytes"], 208);
  ASSERT_EQ(info["communicators"].size(), 2u);
  EXPECT_EQ(info["communicators"][0]["messages"], 1);
  EXPECT_EQ(info["communicators"][1]["messages"], 2);
  EXPECT_EQ(info["communicators"][1]["bytes"], 200);
  std::uint64_t count = 0, bytes = 0;
  for (const auto& s : info["message_sizes"]) {
    count += s["count"].get<std::uint64_t>();
    bytes += s["bytes"].get<std::uint64_t>();
  }
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(bytes, 208u);
  const auto replayed = json_of(w, "replay t.weft" + kOn, 0);
  EXPECT_EQ(replayed["trace"]["messages"], 3);
  EXPECT_EQ(replayed["trace"]["bytes"], 208);
  EXPECT_EQ(replayed["network_messages"], 3) << "what the engine sent is the witness";
  EXPECT_EQ(replayed["network_bytes"], 208);
}

TEST(TraceFindings, CheckEndsOnAProgramThatReliesOnProgress) {
  const Workspace w;
  w.write("t.txt",
          "0 init\n1 init\n0 ssend 1 5 8 6\n0 barrier\n0 finalize\n"
          "1 irecv -555 5 8 6\n1 barrier\n1 wait 0 1 5\n1 finalize\n");
  EXPECT_EQ(json_of(w, "check t.txt", 0)["ok"], true);
  EXPECT_GT(json_of(w, "replay t.txt" + kOn, 0)["makespan_s"], 0);
}

TEST(TraceFindings, CheckShowsItsProgressWhereItIsAskedFor) {
  const Workspace w;
  std::vector<Op> many(200'000, Op{.kind = OpKind::compute_time, .amount = 1});
  write_trace(w, "t.weft", {}, {many});
  const Outcome on = w.weft("check t.weft --progress on");
  EXPECT_THAT(on.err, HasSubstr("check: "));
  EXPECT_THAT(on.err, HasSubstr("ops of 200,000"));
  EXPECT_THAT(on.err, HasSubstr("/s"));
  EXPECT_EQ(w.weft("check t.weft").err, "");
}

// A trace with another header.
class Relabelled final : public traces::TraceReader {
 public:
  Relabelled(traces::TraceReader& base, traces::TraceHeader header)
      : base_(base), header_(std::move(header)) {}
  const traces::TraceHeader& header() const override { return header_; }
  const traces::TraceTotals& totals() const override { return base_.totals(); }
  const std::vector<traces::Communicator>& communicators() const override { return base_.communicators(); }
  const std::vector<std::string>& regions() const override { return base_.regions(); }
  std::uint64_t ops_of(RankId rank) const override { return base_.ops_of(rank); }
  Result<bool> next_block(RankId rank, traces::OpBlock& out) override { return base_.next_block(rank, out); }
  void rewind() override { base_.rewind(); }
  std::string position(RankId rank, std::uint64_t index) const override {
    return base_.position(rank, index);
  }

 private:
  traces::TraceReader& base_;
  traces::TraceHeader header_;
};

TEST(TraceFindings, PredictionsWithThePivotsOfATraceTellWhatItDoesNotHold) {
  const Workspace w;
  const std::string run = "--n 400 --nb 16 --p 4 --q 1 --swap 0 ";
  ASSERT_EQ(w.weft("generate hpl " + run + "-o whole.weft").exit_code, 0);
  auto whole = traces::open_trace({w.path() + "/whole.weft"});
  ASSERT_TRUE(whole);
  traces::TraceHeader h = (*whole)->header();
  h.recording.not_recorded = {{"file I/O", "MPI_File_open", 4}};
  Relabelled lacking(**whole, h);
  ASSERT_TRUE(traces::copy_to_weft(lacking, w.path() + "/t.weft"));
  for (const std::string verb : {"predict", "tune"}) {
    SCOPED_TRACE(verb);
    const std::string line = verb + " hpl --on crossbar:n=4,speed=10Gflops " + run +
                             (verb == "tune" ? "--bcast 0 --depth 0 --pmap 0 " : "");
    const std::string lacks = "t.weft: 4 calls of file I/O";
    EXPECT_THAT(w.weft(line + "--pivots from:t.weft").out, HasSubstr("warning: " + lacks));
    const auto warnings = json_of(w, line + "--pivots from:t.weft", 0)["warnings"];
    EXPECT_THAT(warnings.get<std::vector<std::string>>(), Contains(HasSubstr(lacks)));
    EXPECT_THAT(json_of(w, line + "--pivots from:whole.weft", 0)["warnings"], IsEmpty());
  }
}

}  // namespace
}  // namespace weft::testing::trace_findings_test
