// Counts of a trace are the same in every verb that reads it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_weft.hpp"
#include "traces/writer.hpp"

namespace weft::testing {
namespace {

using nlohmann::ordered_json;
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

}  // namespace
}  // namespace weft::testing
