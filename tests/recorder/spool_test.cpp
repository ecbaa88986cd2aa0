// Spools without any MPI: written by SpoolWriter, cut or damaged, read back.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "traces/recorder/launch.hpp"
#include "traces/recorder/merge.hpp"
#include "traces/recorder/program.hpp"

namespace weft::recorder {
namespace {

namespace fs = std::filesystem;

// Writes the bytes of a spool as the recorder would.
class FakeSpool {
 public:
  explicit FakeSpool(int rank = 0, int size = 1) : bytes_(kSpoolHeaderBytes, '\0') {
    SpoolHeader h{};
    h.magic = kSpoolMagic;
    h.version = kSpoolVersion;
    h.header_bytes = kSpoolHeaderBytes;
    h.job = 7;
    h.world_rank = rank;
    h.world_size = size;
    h.finalized = 1;
    std::memcpy(bytes_.data(), &h, sizeof h);
  }
  void add(traces::OpKind kind, SpoolRecord r, const std::vector<std::int64_t>& list = {}) {
    r.kind = static_cast<std::uint8_t>(static_cast<int>(kind) + 1);
    add_raw(r, list);
  }
  void add_raw(SpoolRecord r, const std::vector<std::int64_t>& list) {
    r.list_words = static_cast<std::uint32_t>(list.size());
    bytes_.append(reinterpret_cast<const char*>(&r), sizeof r);
    bytes_.append(reinterpret_cast<const char*>(list.data()), 8 * list.size());
  }
  std::string& bytes() { return bytes_; }
  [[nodiscard]] std::string save() const {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    const fs::path folder =
        fs::temp_directory_path() / fmt::format("weft_spool_{}_{}", info->name(), ::getpid());
    fs::create_directories(folder);
    const std::string path = (folder / "7.0.spool").string();
    std::ofstream(path, std::ios::binary) << bytes_;
    return path;
  }

 private:
  std::string bytes_;
};

SpoolRecord message(std::int32_t peer, std::int32_t tag, std::int64_t bytes, std::int64_t gap_ns = 0,
                    std::uint32_t comm = 0) {
  SpoolRecord r{};
  r.gap_ns = gap_ns;
  r.comm = comm;
  r.request = kNoSlot;
  r.peer = peer;
  r.tag = tag;
  r.amount = bytes;
  r.source = kNoMatch;
  return r;
}

SpoolRecord hit(std::int32_t peer, std::int32_t tag, std::uint32_t comm = 0) {
  SpoolRecord r = message(peer, tag, 1, 0, comm);
  r.flags = traces::kHit;
  r.source = peer;
  r.matched_tag = tag;
  r.matched_bytes = 8;
  return r;
}

RankProgram translated(const FakeSpool& spool, std::size_t comms = 1, bool* whole_out = nullptr) {
  const std::string path = spool.save();
  auto reader = SpoolReader::open(path);
  EXPECT_TRUE(reader) << reader.error().message();
  std::vector<CommId> ids;
  for (std::size_t i = 0; i < comms; ++i) ids.emplace_back(static_cast<std::uint32_t>(i));
  bool whole = false;
  RankProgram p = translate(*reader, ids, &whole);
  if (whole_out != nullptr) *whole_out = whole;
  fs::remove_all(fs::path(path).parent_path());
  return p;
}

TEST(Spool, EveryCutOfTheFileKeepsTheWholeRecordsBeforeIt) {
  FakeSpool spool;
  for (int i = 0; i < 5; ++i) spool.add(traces::OpKind::send, message(0, i, 100 + i));
  const std::string all = spool.bytes();
  for (std::size_t cut = kSpoolHeaderBytes; cut <= all.size(); ++cut) {
    spool.bytes() = all.substr(0, cut);
    EXPECT_EQ(translated(spool).ops.size(), (cut - kSpoolHeaderBytes) / sizeof(SpoolRecord)) << cut;
  }
}

TEST(Spool, ZeroesAfterTheLastRecordAreTheEnd) {
  FakeSpool spool;
  spool.add(traces::OpKind::send, message(0, 1, 8));
  spool.bytes() += std::string(4096, '\0');
  EXPECT_EQ(translated(spool).ops.size(), 1u);
}

TEST(Spool, DamagedRecordEndsTheProgramAndIsReported) {
  FakeSpool spool;
  spool.add(traces::OpKind::send, message(0, 1, 8));
  spool.add(traces::OpKind::send, message(0, 2, 8, 0, 12345));  // no such communicator
  spool.add(traces::OpKind::send, message(0, 3, 8));
  bool whole = true;
  EXPECT_EQ(translated(spool, 1, &whole).ops.size(), 1u);
  EXPECT_FALSE(whole);
}

TEST(Spool, HugeListIsTheEndAndNotACrash) {
  FakeSpool spool;
  SpoolRecord r = message(0, 1, 8);
  r.kind = static_cast<std::uint8_t>(traces::OpKind::waitall) + 1;
  spool.add_raw(r, {});
  reinterpret_cast<SpoolRecord*>(spool.bytes().data() + kSpoolHeaderBytes)->list_words = 0xffffffffu;
  EXPECT_TRUE(translated(spool).ops.empty());
}

TEST(Spool, ForeignFilesAreRefusedWithTheirPosition) {
  FakeSpool spool;
  spool.bytes()[8] = 99;
  auto other = SpoolReader::open(spool.save());
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message().find("another version"), std::string::npos);
  spool.bytes() = "short";
  auto cut = SpoolReader::open(spool.save());
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::kBadInput);
  EXPECT_FALSE(SpoolReader::open("/no/such/file.spool"));
}

TEST(Spool, ShortGapsAreCarriedToTheNextComputation) {
  FakeSpool spool;
  spool.add(traces::OpKind::send, message(0, 1, 8, 150));
  spool.add(traces::OpKind::send, message(0, 2, 8, 150));
  spool.add(traces::OpKind::send, message(0, 3, 8, 10));
  const RankProgram p = translated(spool);
  ASSERT_EQ(p.ops.size(), 4u);
  EXPECT_EQ(p.ops[1].kind, traces::OpKind::compute_time);
  EXPECT_EQ(p.ops[1].amount, 300'000);
}

TEST(ConditionalSteps, BodyStopsAtAnotherCommunicatorLongWorkOrAForeignRequest) {
  const auto body_after = [](auto add_tail) {
    FakeSpool spool;
    spool.add(traces::OpKind::iprobe, hit(1, 7, 1));
    spool.add(traces::OpKind::recv, message(1, 7, 8, 0, 1));
    add_tail(spool);
    const RankProgram p = translated(spool, 3);
    return p.list(p.ops[0])[1];
  };
  const auto forward = [](FakeSpool& s) { s.add(traces::OpKind::send, message(2, 7, 8, 0, 1)); };
  EXPECT_EQ(body_after([&](FakeSpool& s) { forward(s), forward(s); }), 3);
  EXPECT_EQ(body_after([&](FakeSpool& s) {
              s.add(traces::OpKind::send, message(2, 7, 8, 0, 2));
              forward(s);
            }),
            1);
  EXPECT_EQ(body_after([&](FakeSpool& s) { s.add(traces::OpKind::send, message(2, 7, 8, 60'000, 1)); }), 1);
  EXPECT_EQ(body_after([&](FakeSpool& s) { s.add(traces::OpKind::send, message(2, 7, 8, 40'000, 1)); }), 3)
      << "a short computation counts as an operation of the body";
  EXPECT_EQ(body_after([&](FakeSpool& s) {
              SpoolRecord wait = message(traces::kAnySource, traces::kAnyTag, 0);
              s.add(traces::OpKind::wait, wait, {1, 5, 0, 0, 0, 0, 0});  // slot 5: started before
              forward(s);
            }),
            1);
  EXPECT_EQ(
      body_after([&](FakeSpool& s) {
        SpoolRecord isend = message(2, 7, 8, 0, 1);
        isend.request = 5;
        s.add(traces::OpKind::isend, isend);
        s.add(traces::OpKind::wait, message(traces::kAnySource, traces::kAnyTag, 0), {1, 5, 0, 0, 0, 0, 0});
      }),
      3);
}

TEST(ConditionalSteps, HitWithoutItsReceiveHasNoBody) {
  FakeSpool spool;
  spool.add(traces::OpKind::iprobe, hit(1, 7));
  spool.add(traces::OpKind::recv, message(2, 7, 8));
  const RankProgram p = translated(spool);
  EXPECT_EQ(p.list(p.ops[0])[1], 0);
}

TEST(ConditionalSteps, MissesBelongToTheNextHitOfTheSamePoll) {
  FakeSpool spool;
  spool.add(traces::OpKind::iprobe, message(1, 7, 1));
  spool.add(traces::OpKind::iprobe, message(1, 8, 1));
  spool.add(traces::OpKind::iprobe, message(1, 7, 1));
  spool.add(traces::OpKind::iprobe, hit(1, 7));
  spool.add(traces::OpKind::recv, message(1, 7, 8));
  spool.add(traces::OpKind::iprobe, hit(1, 8));
  spool.add(traces::OpKind::recv, message(1, 8, 8));
  const RankProgram p = translated(spool);
  EXPECT_EQ(p.list(p.ops[0])[0], 3);
  EXPECT_EQ(p.list(p.ops[1])[0], 4);
  EXPECT_EQ(p.list(p.ops[2])[0], 1);
}

TEST(Launch, OpenMpiIsToldToExportAndKeepsThePreloadOfTheUser) {
  using V = std::vector<std::string>;
  EXPECT_EQ(exported_command({"mpirun", "-n", "2", "./a"}, true, "/r.so"),
            (V{"mpirun", "-x", "LD_PRELOAD", "-x", "WEFT_RECORD_DIR", "-x", "WEFT_RECORD_CLOCK", "-n", "2",
               "./a"}));
  EXPECT_EQ(exported_command({"mpirun", "-x", "LD_PRELOAD=/u.so", "./a"}, true, "/r.so"),
            (V{"mpirun", "-x", "WEFT_RECORD_DIR", "-x", "WEFT_RECORD_CLOCK", "-x", "LD_PRELOAD=/r.so:/u.so",
               "./a"}));
  EXPECT_EQ(exported_command({"srun", "./a"}, false, "/r.so"), (V{"srun", "./a"}));
}

}  // namespace
}  // namespace weft::recorder
