// OTF2 archives that are broken, by accident or on purpose: a message that says where, never a crash, a hang or memory.
#include <gmock/gmock.h>

#include "tests/traces/otf2/otf2_testing.hpp"
#include "traces/check/check.hpp"
#include "traces/info.hpp"

namespace weft::traces {
namespace {

using namespace testing;
using ::testing::HasSubstr;

// Two ranks with a bit of everything.
void write_small(const std::string& dir) {
  Otf2Writer w(dir, 2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    auto& rank = w[r];
    rank.clock_offsets = {{0, 5}, {100'000, 7}};
    rank.enter("main").enter("MPI_Init").leave();
    rank.enter("MPI_Irecv").irecv(1).leave();
    rank.enter("MPI_Isend").isend(1 - r, 3, 100, 2).leave();
    rank.enter("MPI_Waitall").received(1 - r, 3, 100, 1).sent(2).leave();
    rank.enter("MPI_Ibcast").icollective(3).leave();
    rank.enter("MPI_Wait").icollective_done(OTF2_COLLECTIVE_OP_BCAST, r == 0 ? 16 : 0, 8, 3, 0).leave();
    rank.enter("MPI_Alltoallv").collective(OTF2_COLLECTIVE_OP_ALLTOALLV, 30, 30).leave();
    rank.enter("MPI_Finalize").leave().leave();
  }
}

// What opening it and reading all of it says; empty = nothing wrong.
std::string complaint(const std::string& path, const std::string& from = {}) {
  auto t = open_trace({path}, from);
  if (!t) return t.error().message();
  const auto info = scan_trace(**t);
  if (!info) return info.error().message();
  const auto report = check_trace(**t);
  if (!report) return report.error().message();
  return {};
}

std::string patched(std::string bytes, std::size_t at, const std::string& by) {
  return bytes.replace(at, by.size(), by);
}

TEST(Otf2Damaged, EveryFaultOfTheFilesIsToldWithItsPlace) {
  struct Case {
    std::string file;  // of the archive
    std::function<std::string(std::string)> damage;
    std::string message;  // in it
  };
  const auto at = [](std::size_t i, std::string by) {
    return [i, by](std::string b) { return patched(std::move(b), i, by); };
  };
  const auto cut = [](std::size_t to) { return [to](std::string b) { return b.substr(0, to); }; };
  const std::string evt = "traces/1.evt";
  const std::vector<Case> cases = {
      {"traces.otf2", cut(0),
       "traces.otf2@byte 0x0: error: not the anchor of an OTF2 archive; expected bytes 03 42 and OTF2"},
      {"traces.otf2", cut(60), "error: the anchor of the archive does not end where it should"},
      {"traces.otf2", at(2, "OTFX"), "traces.otf2@byte 0x0: error: not the anchor of an OTF2 archive"},
      {"traces.otf2", at(7, std::string(1, '\0')),
       "traces.otf2@byte 0x7: error: the format of the anchor is none of OTF2's; got \"0\""},
      {"traces.otf2", at(7, "\x09"),
       "traces.otf2: error: not supported: format 9 of the anchor of an archive"},
      {"traces.otf2", at(12, std::string(8, '\0')),
       "traces.otf2@byte 0xc: error: the chunks of events have a size that OTF2 does not have; got \"0\"; "
       "expected 262144 to "
       "16777216 bytes"},
      {"traces.otf2", at(12, std::string(8, '\xff')),
       "got \"18446744073709551615\"; expected 262144 to 16777216 bytes"},
      {"traces.otf2", at(20, std::string(8, '\xff')),
       "error: the chunks of definitions have a size that OTF2 does not have"},
      {"traces.otf2", at(28, "\x07"),
       "traces.otf2@byte 0x1c: error: the files of the archive are of an unknown kind; got \"7\""},
      {"traces.otf2", at(28, "\x02"), "traces.otf2: error: not supported: an OTF2 archive in SIONlib files"},
      {"traces.otf2", [](std::string b) { return patched(b, b.size() - 23, std::string(4, '\x90')); },
       "error: the anchor has more properties than bytes; got \"2425393296\""},
      {"traces.otf2", at(30, "\x09"),
       "traces.def: error: the archive has another number of locations; got \"2\"; expected 9"},
      {"traces.otf2", at(38, "\xff"), "traces.def: error: the archive has another number of definitions"},
      {"traces.otf2", at(44, "\xff"), "traces.def: error: the archive has another number of definitions"},
      {"traces.def", cut(0),
       "traces.def@byte 0x0 (record 1): error: the definitions end in the middle; got \"0 bytes\""},
      {"traces.def", cut(100),
       "): error: the definitions end in the middle; got \"100 bytes\"; expected the mark that ends the file "
       "(02)"},
      {"traces.def", at(0, "\x07"),
       "traces.def@byte 0x0 (record 1): error: no definitions of OTF2 begin here; got \"bytes 07 42\""},
      {"traces.def", at(18, "\x04"),
       "traces.def@byte 0x12 (record 1): error: no definition of OTF2 has this number; got \"4\""},
      {"traces.def", at(19, std::string("\xff", 1) + std::string(8, '\x7f')),
       "traces.def@byte 0x12 (record 1): error: the definitions end in the middle"},
      {"traces.def", at(19, "\x01"),
       "traces.def@byte 0x12 (record 1): error: the fields of a definition do not fit into it; got \"1 "
       "bytes\""},
      {"traces/1.def", cut(20),
       "traces/1.def@byte 0x12 (record 1): error: the definitions end in the middle"},
      {evt, cut(0),
       "1.evt@byte 0x0 (record 1, rank 1): error: the event file ends in the middle; got \"0 bytes\"; "
       "expected the mark that ends the file (02)"},
      {evt, cut(17), "1.evt@byte 0x0 (record 1, rank 1): error: the event file ends in the middle"},
      {evt, cut(60), "rank 1): error: the event file ends in the middle; got \"60 bytes\""},
      {evt, at(0, "\x04"),
       "1.evt@byte 0x0 (record 1, rank 1): error: no chunk of OTF2 events begins here; got \"byte 04\"; "
       "expected 03"},
      {evt, at(1, "b"),
       "1.evt@byte 0x1 (record 1, rank 1): error: the order of bytes is not one of OTF2; got \"byte 62\""},
      {evt, at(2, "\x02"),
       "1.evt@byte 0x2 (record 1, rank 1): error: the first event of the chunk has another number; got "
       "\"2\"; expected 1"},
      {evt, at(10, "\x02"), "error: the last event of the chunk has another number; got \"2\""},
      {evt, at(17, "\xff"), "error: the last event of the chunk has another number"},
      {evt, at(27, "\x07"),
       "1.evt@byte 0x1b (record 1, rank 1): error: no event of OTF2 has this number; got \"7\"; expected 10 "
       "or more"},
      {evt, at(28, "\x09"),
       "1.evt@byte 0x1c (record 1, rank 1): error: a number of a record is too long; got \"9\"; expected at "
       "most 8 bytes"},
      {evt, at(27, std::string("\x0e\xff", 2) + std::string(8, '\x7f')),
       "1.evt@byte 0x1b (record 1, rank 1): error: a record does not fit into its chunk; got "
       "\"9187201950435737471 bytes\""},
      {evt, at(27, std::string("\x06\x00\x06\x00", 4)),
       "error: the fields of a record do not fit into it; got \"record 6 of 0 bytes\""},
      {evt, at(27, std::string("\x06\x01\x00\x06\x01\x00", 6)), "error: a list of attributes has no event"},
      {evt, at(27, std::string("\x1f\x04\x00\xc8\x00\x00", 6)),
       "error: the fields of a record do not fit into it; got \"record 31 of 4 bytes\""},
      {evt, at(27, std::string("\x53\x06\x00\x04\xff\xff\xff\x7f", 8)),
       "error: the fields of a record do not fit into it; got \"record 83 of 6 bytes\""},
  };
  int n = 0;
  for (const Case& c : cases) {
    const TempDir dir;
    write_small(dir.path("a"));
    const std::string bytes = slurp(dir.path("a/" + c.file));
    dir.write("a/" + c.file, c.damage(bytes));
    EXPECT_THAT(complaint(dir.path("a"), "otf2"), HasSubstr(c.message)) << "case " << n << " of " << c.file;
    ++n;
  }
  EXPECT_GE(n, 25);
}

// The definitions of a location, too, which an archive may lack: without them its clock offsets would be passed over.
TEST(Otf2Damaged, FilesThatArePackedAreToldWithWhatUnpacksThem) {
  for (const std::string file : {"traces.def", "traces/1.evt", "traces/1.def"}) {
    const TempDir dir;
    write_small(dir.path("a"));
    fs::remove(dir.path("a/" + file));
    dir.write("a/" + file + ".zst", std::string("\x28\xb5\x2f\xfd", 4) + "and so on");
    EXPECT_THAT(complaint(dir.path("a")),
                HasSubstr(file + ".zst: error: not supported: a packed file of an OTF2 archive; expected the "
                                 "file, unpacked with \"zstd -d\""));
  }
}

TEST(Otf2Damaged, FilesThatAreMissingAreNamed) {
  const TempDir dir;
  write_small(dir.path("a"));
  EXPECT_THAT(complaint(dir.path("none"), "otf2"), HasSubstr("no OTF2 archive is here"));
  EXPECT_THAT(complaint(dir.path("a/none.otf2"), "otf2"),
              HasSubstr("the anchor file of the archive is missing"));
  fs::remove(dir.path("a/traces/1.evt"));
  EXPECT_THAT(complaint(dir.path("a")),
              HasSubstr("traces/1.evt: error: cannot open the events of a location: No such "
                        "file or directory"));
  fs::remove(dir.path("a/traces.def"));
  EXPECT_THAT(complaint(dir.path("a")),
              HasSubstr("traces.def: error: the definitions of the archive are missing"));
  write_small(dir.path("b"));
  fs::remove(dir.path("b/traces/0.def"));  // nothing to map: no fault
  EXPECT_EQ(complaint(dir.path("b")), "");
  fs::copy_file(dir.path("b/traces.otf2"), dir.path("b/x.otf2"));
  fs::rename(dir.path("b/traces.otf2"), dir.path("b/y.otf2"));
  EXPECT_THAT(complaint(dir.path("b"), "otf2"),
              HasSubstr("no OTF2 archive is here; expected a file NAME.otf2"));
  const auto two = open_trace({dir.path("a"), dir.path("b")}, "otf2");
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().code, ErrorCode::kUsage);
  // A folder instead of a file.
  write_small(dir.path("c"));
  fs::remove(dir.path("c/traces/0.evt"));
  fs::create_directories(dir.path("c/traces/0.evt"));
  EXPECT_THAT(complaint(dir.path("c")), HasSubstr("traces/0.evt: error: cannot read: Is a directory"));
}

// What the records say, where it cannot be.
TEST(Otf2Damaged, EveryFaultOfTheEventsIsToldWithItsPlace) {
  using Rank = Otf2Writer::Rank;
  constexpr std::uint32_t kNone = Otf2Writer::kNone;
  struct Case {
    std::function<void(Otf2Writer&, Rank&)> write;
    std::string message;
  };
  const std::vector<Case> cases = {
      {[](auto&, Rank& r) { r.enter_ref(55); },
       "(record 1, rank 0): error: a region is entered that is not defined; got \"55\""},
      {[](auto&, Rank& r) { r.leave_ref(56); }, "error: a region is left that is not defined; got \"56\""},
      {[](auto&, Rank& r) { r.send(2, 0, 1); },
       "error: the destination is not a rank of communicator 0; got \"2\"; expected 0 to 1"},
      {[](auto&, Rank& r) { r.recv(7, 0, 1); },
       "error: the source is not a rank of communicator 0; got \"7\"; expected 0 to 1"},
      {[](auto&, Rank& r) { r.irecv(1).received(7, 0, 1, 1); },
       "(record 2, rank 0): error: the source is not a rank of communicator 0"},
      {[](auto&, Rank& r) { r.isend(kNone, 0, 1, 1); },
       "error: the destination is not a rank of communicator 0; got \"4294967295\""},
      {[](auto&, Rank& r) { r.send(1, 0, 1, 9); },
       "error: the communicator is not defined; got \"9\"; expected a communicator of the archive"},
      {[](auto&, Rank& r) { r.destroy(9); }, "error: the communicator is not defined; got \"9\""},
      {[](auto&, Rank& r) { r.send(1, 0x80000000u, 1); },
       "error: tag is out of range; got \"2147483648\"; expected 0 to 2147483647"},
      {[](auto&, Rank& r) { r.send(1, 0, std::uint64_t{1} << 61); },
       "error: the message is too large; got \"2305843009213693952 bytes\"; expected at most 2^60 bytes"},
      {[](auto&, Rank& r) { r.collective(OTF2_COLLECTIVE_OP_BCAST, 0, 1, 2); },
       "error: the root is not a rank of communicator 0; got \"2\"; expected 0 to 1"},
      {[](auto&, Rank& r) { r.collective(OTF2_COLLECTIVE_OP_BCAST, 0, 1); },
       "error: the root is not a rank of communicator 0; got \"none\""},
      {[](auto&, Rank& r) { r.collective(OTF2_COLLECTIVE_OP_ALLREDUCE, UINT64_MAX, 1); },
       "error: the message is too large"},
      {[](auto&, Rank& r) { r.icollective(1).icollective_done(OTF2_COLLECTIVE_OP_REDUCE, 0, 1, 1, 5); },
       "(record 2, rank 0): error: the root is not a rank"},
      {[](auto&, Rank& r) { r.isend(1, 0, 1, 1).received(1, 0, 1, 1); },
       "error: the request is not what its completion says; got \"1\""},
      {[](auto&, Rank& r) { r.irecv(1).sent(1); }, "error: the request is not what its completion says"},
      {[](auto&, Rank& r) { r.irecv(1).icollective_done(OTF2_COLLECTIVE_OP_BARRIER, 0, 0, 1); },
       "error: the request is not what its completion says"},
      {[](auto& w, Rank& r) { r.send(0, 0, 1, w.comm({1})); },
       "error: the rank is not in communicator 1; got \"0\"; expected one of its 1 members"},
      {[](auto& w, Rank& r) {
         r.send(0, 0, 1, w.comm({0, 1}, "", OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_USER));
       },
       "error: the communicator is not one of MPI; got \"1\""},
      {[](auto& w, Rank& r) {
         r.send(0, 0, 1, w.comm({0, 1}, "", OTF2_GROUP_TYPE_LOCATIONS));
       },
       "error: the communicator is not one of MPI; got \"1\""},
      {[](auto& w, Rank& r) { r.send(0, 0, 1, w.comm({})); },
       "error: the communicator is not one of MPI; got \"1\""},
      {[](auto& w, Rank& r) {
         r.send(0, 0, 1, w.comm({0, 2}));
       },
       "traces.def: error: a member of group 2 is no rank of MPI; got \"2\"; expected each of 0 to 1 once"},
      {[](auto& w, Rank& r) {
         r.send(0, 0, 1, w.comm({0, UINT64_MAX}));
       },
       "error: a member of group 2 is no rank of MPI"},
      {[](auto& w, Rank& r) {
         r.send(0, 0, 1, w.comm({0, 0}));
       },
       "error: a member of group 2 is there twice; got \"0\""},
      {[](auto& w, Rank& r) { r.call("MPI_Init"), w.world_members_more = 1; },
       "traces.def: error: rank 2 of MPI is a location that is not defined; got \"2\""},
      {[](auto&, Rank& r) { r.call("MPI_Init").events_more = 1; },
       "traces/0.evt: error: the location has another number of events; got \"2\"; expected 3, as the "
       "archive defines it"},
      {[](auto&, Rank& r) { r.call("MPI_Init").events_more = -1; },
       "error: the location has another number of events; got \"2\"; expected 1"},
      {[](auto&, Rank& r) { r.at(1000).enter("a").at(std::uint64_t{1} << 62).leave(); },
       "error: the time between calls is out of range; expected less than 26 days of computation"},
      {[](auto&, Rank&) {}, "error: the trace holds no call of MPI and no region"},
  };
  int n = 0;
  for (const Case& c : cases) {
    const TempDir dir;
    {
      Otf2Writer w(dir.path("a"), 2);
      c.write(w, w[0]);
    }
    EXPECT_THAT(complaint(dir.path("a")), HasSubstr(c.message)) << "case " << n;
    ++n;
  }
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 2, {.ticks_per_second = 0});
    w[0].call("MPI_Init");
  }
  EXPECT_THAT(complaint(dir.path("a")),
              HasSubstr("traces.def: error: the clock has no resolution; got \"0\""));
  {
    Otf2Writer w(dir.path("b"), 2, {.mpi_locations = false});
    w[0].call("MPI_Init");
  }
  EXPECT_THAT(complaint(dir.path("b")),
              HasSubstr("traces.def: error: the archive names no locations of MPI; expected a "
                        "group of type COMM_LOCATIONS"));
}

TEST(Otf2Damaged, AFileThatIsCutAnywhereIsRefused) {
  const TempDir dir;
  write_small(dir.path("a"));
  for (const char* file : {"traces/0.evt", "traces.def", "traces.otf2"}) {
    const std::string bytes = slurp(dir.path(std::string("a/") + file));
    // Behind the mark that ends a file there may be anything.
    const std::size_t end = bytes.find_last_of('\x02');
    for (std::size_t n = 0; n <= end; ++n) {
      dir.write(std::string("a/") + file, bytes.substr(0, n));
      EXPECT_NE(complaint(dir.path("a"), "otf2"), "") << file << " cut to " << n;
    }
    dir.write(std::string("a/") + file, bytes);
  }
  EXPECT_EQ(complaint(dir.path("a")), "");
}

// The library (3.0.2) takes the first event of a chunk for a record that it does not know where its time is 0.
TEST(Otf2Damaged, AnEventThatTheLibraryMissesIsAnError) {
  const TempDir dir;
  const auto write = [&](const std::string& name, std::uint64_t time) {
    Otf2Writer w(dir.path(name), 1, {.event_chunk = 1u << 18});
    for (int i = 0; i < 60'000; ++i) w[0].at(time).enter("main").at(time).leave();
  };
  write("one", 1);
  EXPECT_EQ(complaint(dir.path("one")), "");
  write("zero", 0);
  EXPECT_THAT(complaint(dir.path("zero")),
              HasSubstr("rank 0): error: the OTF2 library cannot read the event"));
}

TEST(Otf2Damaged, BitsFlippedAnywhereNeverEndTheProgram) {
  const std::uint64_t seed = seed_or(1);
  const TempDir dir;
  write_small(dir.path("a"));
  Rng rng(seed);
  int refused = 0;
  constexpr int kRounds = 500;
  for (int round = 0; round < kRounds; ++round) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed) + " round " + std::to_string(round));
    const char* files[] = {"traces.otf2", "traces.def", "traces/0.evt", "traces/1.def"};
    const std::string file = std::string("a/") + files[rng.below(4)];
    const std::string bytes = slurp(dir.path(file));
    std::string bad = bytes;
    for (std::uint64_t k = rng.below(3) + 1; k > 0; --k) {
      char& c = bad[rng.below(bad.size())];
      c = static_cast<char>(rng.below(2) == 0 ? c ^ (1 << rng.below(8)) : static_cast<int>(rng.below(256)));
    }
    dir.write(file, bad);
    refused += complaint(dir.path("a"), "otf2").empty() ? 0 : 1;
    dir.write(file, bytes);
  }
  EXPECT_GT(refused, kRounds / 4);
}

}  // namespace
}  // namespace weft::traces
