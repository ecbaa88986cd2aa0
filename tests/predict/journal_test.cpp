// The journal of finished points: what was appended is found again, what is torn, foreign or edited never is.
#include "predict/journal/journal.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "core/rng.hpp"
#include "predict/journal/points.hpp"
#include "predict/journal/prediction_point.hpp"
#include "predict/journal/shard.hpp"
#include "predict/run_matrix.hpp"
#include "tests/predict/support.hpp"
#include "tests/support/files.hpp"
#include "tests/support/seed.hpp"

namespace weft::predict {
namespace {

namespace fs = std::filesystem;
using support::slurp;
using ::testing::HasSubstr;

std::uint64_t seed_of_tests() { return support::seed_or(20261122); }

class JournalTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<Journal> open(Journal::Access access = Journal::Access::kAppend) const {
    auto j = Journal::open({folder_}, access, {"weft sweep", "2/3"}, "1");
    EXPECT_TRUE(j) << (j ? "" : j.error().message());
    return j ? std::move(*j) : nullptr;
  }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    for (const auto& e : fs::directory_iterator(folder_))
      if (e.path().extension() == ".jsonl") out.push_back(e.path());
    std::sort(out.begin(), out.end());
    return out;
  }
  static PointKey key(std::uint64_t n) { return {0x1234, 4 * n + 1}; }
  static Json value(std::uint64_t n) { return Json{{"n", n}, {"third", static_cast<double>(n) / 3}}; }

  const support::TempDir dir_;
  const std::string& folder_ = dir_.path();
};

void spill(const fs::path& file, const std::string& bytes) { std::ofstream(file, std::ios::binary) << bytes; }

TEST_F(JournalTest, WhatWasAppendedIsFoundByItselfByOthersAndLater) {
  const auto mine = open(), other = open();
  EXPECT_TRUE(files().empty()) << "nothing is made before the first point";
  ASSERT_TRUE(mine->append(key(1), "first", value(1)));
  EXPECT_EQ(mine->find(key(1)), value(1));
  EXPECT_EQ(other->find(key(1)), value(1)) << "it was open before";
  EXPECT_FALSE(other->find(key(2)));
  ASSERT_TRUE(other->append(key(2), "second", value(2)));
  EXPECT_EQ(mine->find(key(2)), value(2));
  EXPECT_EQ(files().size(), 2u) << "a file of each";
  const auto later = open(Journal::Access::kRead);
  EXPECT_EQ(later->find(key(1)), value(1));
  EXPECT_EQ(later->find(key(2)), value(2));
  EXPECT_EQ(later->points(), 2u);
  EXPECT_EQ(later->oddities(), "");
  ASSERT_EQ(later->headers().size(), 1u);
  EXPECT_EQ(later->headers()[0], (JournalHeader{"weft sweep", "2/3"}));
}

// Names of files are bytes; a merge runs the command again.
TEST_F(JournalTest, ACommandComesBackByteForByte) {
  for (const std::string command :
       {"weft sweep r\xe9.weft", "weft sweep r\xc3\xa9.weft", "weft sweep \xef\xbf\xbd"}) {
    const support::TempDir folder;
    const auto j = Journal::open({folder.path()}, Journal::Access::kAppend, {command, "1/2"}, "1");
    ASSERT_TRUE(j && (*j)->append(key(1), "p", value(1)));
    const auto later = Journal::open({folder.path()}, Journal::Access::kRead, {}, "1");
    ASSERT_TRUE(later);
    ASSERT_EQ((*later)->headers().size(), 1u);
    EXPECT_EQ((*later)->headers()[0], (JournalHeader{command, "1/2"}));
  }
}

// Cut off after any byte, as a power cut or a full disk leaves it: all lines before are there, nothing else.
TEST_F(JournalTest, ATornFileKeepsItsWholeLines) {
  {
    const auto j = open();
    for (std::uint64_t n = 0; n < 6; ++n) ASSERT_TRUE(j->append(key(n), "p", value(n)));
  }
  const fs::path file = files().at(0);
  const std::string whole = slurp(file);
  std::vector<std::size_t> ends;  // of the points' lines
  for (std::size_t at = whole.find('\n'); at != std::string::npos; at = whole.find('\n', at + 1))
    ends.push_back(at);
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    spill(file, whole.substr(0, cut));
    const auto j = open(Journal::Access::kRead);
    std::uint64_t expected = 0;
    while (expected < 6 && ends[expected + 1] < cut) ++expected;
    ASSERT_EQ(j->points(), expected) << "cut at " << cut;
    for (std::uint64_t n = 0; n < 6; ++n)
      ASSERT_EQ(j->find(key(n)), n < expected ? std::optional<Json>(value(n)) : std::nullopt) << cut;
  }
  // What another process appends goes into its own file: the torn line never becomes the head of a whole one.
  spill(file, whole.substr(0, whole.size() - 5));
  ASSERT_TRUE(open()->append(key(5), "again", value(5)));
  EXPECT_EQ(open(Journal::Access::kRead)->find(key(5)), value(5));
}

TEST_F(JournalTest, AnEditedLineIsLeftOutAndCounted) {
  {
    const auto j = open();
    for (std::uint64_t n = 0; n < 4; ++n) ASSERT_TRUE(j->append(key(n), "p", value(n)));
  }
  const fs::path file = files().at(0);
  const std::string whole = slurp(file);
  const std::uint64_t seed = seed_of_tests();
  Rng rng(seed);
  for (int round = 0; round < 400; ++round) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed) + " round " + std::to_string(round));
    std::string broken = whole;
    const std::size_t at = rng.below(whole.size());
    broken[at] = static_cast<char>(broken[at] ^ static_cast<char>(1 + rng.below(255)));
    spill(file, broken);
    const auto j = open(Journal::Access::kRead);
    std::size_t found = 0;
    for (std::uint64_t n = 0; n < 4; ++n)
      if (const auto v = j->find(key(n))) {
        ASSERT_EQ(*v, value(n));
        ++found;
      }
    ASSERT_GE(found, whole[at] == '\n' ? 2u : 3u) << "one byte harms one line, or the two that it joins";
    if (at + 1 < whole.size()) {
      ASSERT_NE(j->oddities(), "");
    }
  }
  spill(file, "{\"point\":\"x\"}\n\n[]\nhello\n" + whole + std::string(3, '\0'));
  const auto j = open(Journal::Access::kRead);
  EXPECT_EQ(j->points(), 4u);
  EXPECT_THAT(j->oddities(), HasSubstr("4 lines are not whole or not Weft's"));
}

// As another build of the version may have left it.
TEST_F(JournalTest, AValueOfAnotherFormatIsRunAgainAndTheLineBehindItCounts) {
  ASSERT_TRUE(open()->append(key(1), "theirs", Json{{"old", 1}}));
  fs::rename(files().at(0), folder_ + "/points-!.jsonl");  // read before all others
  int runs = 0;
  PointsWork work;
  work.run = [&](std::size_t) -> Result<Json> {
    ++runs;
    return value(7);
  };
  work.take = [](std::size_t, const Json& json) { return json == value(7); };
  const auto study = [&](Journal::Access access) {
    const auto j = open(access);
    PointsPlan plan;
    plan.journal = j.get();
    plan.run_missing = access == Journal::Access::kAppend;
    const auto done = run_points({{key(1), "once"}, {key(1), "twice"}}, plan, 1, work);
    EXPECT_EQ(done ? "" : done.error().message(), "");
    EXPECT_EQ(j->points(), 1u);
    EXPECT_THAT(j->oddities(), HasSubstr("1 line is"));
  };
  study(Journal::Access::kAppend);
  EXPECT_EQ(runs, 1);
  study(Journal::Access::kAppend);
  study(Journal::Access::kRead);
  EXPECT_EQ(runs, 1) << "it is in the journal by now";
}

TEST_F(JournalTest, WhatIsNoFileIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo((folder_ + "/points-fifo.jsonl").c_str(), 0600), 0);
  ASSERT_TRUE(fs::create_directory(folder_ + "/points-folder.jsonl"));
  const auto j = open();
  EXPECT_FALSE(j->find(key(1)));
  ASSERT_TRUE(j->append(key(1), "p", value(1)));
  EXPECT_EQ(j->find(key(1)), value(1));
  EXPECT_FALSE(Journal::open({folder_ + "/none/deep"}, Journal::Access::kAppend, {}, "1"));
  EXPECT_FALSE(Journal::open({folder_ + "/none"}, Journal::Access::kRead, {}, "1"));
}

TEST_F(JournalTest, AClaimEndsWithItsHolderHoweverThatEnds) {
  const auto mine = open();
  {
    const auto held = mine->claim(key(1));
    ASSERT_TRUE(held);
    EXPECT_FALSE(open()->claim(key(1))) << "a second process";
    EXPECT_TRUE(open()->claim(key(2))) << "another point";
  }
  EXPECT_TRUE(open()->claim(key(1)));
  int told[2];
  ASSERT_EQ(::pipe(told), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto theirs = Journal::open({folder_}, Journal::Access::kAppend, {}, "1");
    const auto held = (*theirs)->claim(key(3));
    const char c = held ? 'y' : 'n';
    (void)!::write(told[1], &c, 1);
    for (;;) ::pause();
  }
  char c = 0;
  ASSERT_EQ(::read(told[0], &c, 1), 1);
  EXPECT_EQ(c, 'y');
  EXPECT_FALSE(mine->claim(key(3)));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(mine->claim(key(3)));
  ::close(told[0]);
  ::close(told[1]);
}

TEST_F(JournalTest, AKeyIsEverythingThatAResultDependsOn) {
  FileDigests files;
  const auto of = [&](const auto& change) {
    KeyMaker key("run/1", "1", files);
    replay::ReplayOptions options;
    topology::PlatformChanges changes;
    std::string spec = "torus-16";
    change(options, changes, spec);
    add_platform(key, spec, changes);
    add_options(key, options);
    return key.key();
  };
  using O = replay::ReplayOptions;
  using C = topology::PlatformChanges;
  using S = std::string;
  std::set<PointKey> keys;
  keys.insert(of([](O&, C&, S&) {}));
  keys.insert(of([](O& o, C&, S&) { o.raw = replay::RawMode::kEager; }));
  keys.insert(of([](O& o, C&, S&) { o.raw_switch = Bytes(0); }));
  keys.insert(of([](O& o, C&, S&) { o.header = Bytes(1); }));
  keys.insert(of([](O& o, C&, S&) { o.rtt_weights = true; }));
  keys.insert(of([](O& o, C&, S&) { o.model = "pcie"; }));
  keys.insert(of([](O& o, C&, S&) { o.accuracy = 1e-300; }));
  keys.insert(of([](O& o, C&, S&) { o.compute_scale = 1 + 1e-15; }));
  keys.insert(of([](O& o, C&, S&) { o.collectives["bcast"] = "ring"; }));
  keys.insert(of([](O& o, C&, S&) { o.collective_rules = "mpich"; }));
  keys.insert(of([](O& o, C&, S&) { o.noise = true; }));
  keys.insert(of([](O& o, C&, S&) { o.seed = 1; }));
  keys.insert(of([](O&, C& c, S&) { c.set = {"bw=1GB/s"}; }));
  keys.insert(of([](O&, C& c, S&) { c.set = {"bw=1GB/s", "lat=1us"}; }));
  keys.insert(of([](O&, C& c, S&) { c.set = {"bw=1GB/s,lat=1us"}; }));
  keys.insert(of([](O&, C& c, S&) { c.routing = "valiant"; }));
  keys.insert(of([](O&, C& c, S&) { c.failures = {"2%"}; }));
  keys.insert(of([](O&, C& c, S&) { c.seed = 1; }));
  keys.insert(of([](O&, C&, S& s) { s = "A=torus-16"; }));
  EXPECT_EQ(keys.size(), 19u);
  EXPECT_EQ(keys.count(of([](O&, C&, S&) {})), 1u);
  for (const PointKey& k : keys) EXPECT_EQ(PointKey::parse(k.text()), k);

  // Files count by what they hold: the platform, and the graph that it names.
  const std::string graph = folder_ + "/g.dot", platform = folder_ + "/p.textproto";
  spill(graph, "graph { a -- b; }");
  spill(platform, "topology { family: \"file\" set: \"path=" + graph + "\" }");
  const auto file_key = [&] {
    FileDigests fresh;
    KeyMaker key("run/1", "1", fresh);
    add_platform(key, "L=" + platform, {});
    return key.key();
  };
  const PointKey before = file_key();
  EXPECT_EQ(file_key(), before);
  spill(graph, "graph { a -- c; }");
  const PointKey other_graph = file_key();
  EXPECT_NE(other_graph, before);
  spill(platform, "topology { family: \"file\" set: \"path=" + graph + "\" } # a remark");
  EXPECT_NE(file_key(), other_graph);
}

// A platform's files are those that its loader opens, however their names are written: each platform is another key when
// its routes say something else.
TEST_F(JournalTest, AFileOfAPlatformCountsHoweverItsNameIsWritten) {
  const std::string routes = folder_ + "/my, net.routes", rules = folder_ + "/my rules.json";
  const std::string whole = "path=" + routes, half = routes.substr(folder_.size() + 4);
  const std::string front = "path=" + folder_ + "/my,";
  std::string large = "topology { family: \"routes\" set: \"" + whole + "\" }\n";
  while (large.size() <= std::size_t{1} << 20) large += "# what makes this text longer than a mebibyte\n";
  const std::vector<std::string> texts = {
      large,
      "topology { family: 'routes' set: '" + whole + "' }",
      "# a rack of 19\"\ntopology { family: \"routes\" set: \"" + whole + "\" }",
      "topology { family: \"routes\" set: \"" + front + "\" \"" + half + "\" }",
      "topology { family: \"routes\" set: \"" + front + "\\x20" + half.substr(1) + "\" }",
      "topology { family: \"crossbar\" set: \"n=2\" } mpi { collectives: '" + rules + "' }",
      "topology { family: \"crossbar\" set: \"n=2\" } mpi { collectives: 'openmpi5:" + rules + "' }",
  };
  const auto key_of = [&](const std::string& spec, const topology::PlatformChanges& changes) {
    FileDigests fresh;
    KeyMaker key("run/1", "1", fresh);
    add_platform(key, spec, changes);
    return key.key();
  };
  const std::string platform = folder_ + "/p.textproto";
  const auto differs = [&](const std::string& spec, const topology::PlatformChanges& changes) {
    for (const std::string& file : {routes, rules}) spill(file, "L 0 a 1e9 1e-6\n");
    const PointKey before = key_of(spec, changes);
    EXPECT_EQ(key_of(spec, changes), before);
    for (const std::string& file : {routes, rules}) spill(file, "L 0 a 1e7 1e-6\n");
    return key_of(spec, changes) != before;
  };
  for (const std::string& text : texts) {
    spill(platform, text);
    EXPECT_TRUE(differs("L=" + platform, {})) << text.substr(0, 200);
  }
  EXPECT_TRUE(differs("routes:path=\"" + routes + "\"", {}));
  EXPECT_TRUE(differs("torus-16", {.set = {"family=routes", "path=" + routes}}));
  EXPECT_TRUE(differs("torus-16", {.set = {"mpi.collectives=openmpi5:" + rules}}));
  EXPECT_FALSE(differs("torus-16", {}));
}

// Of maps and rules the file that they are read from counts, and nothing that only looks like the name of one.
TEST_F(JournalTest, FilesOfMapsAndRulesCountAndNothingElse) {
  const std::string file = folder_ + "/my map, 2.txt", named = folder_ + "/node-1";
  const auto key_of = [&](bool map, const std::string& text) {
    FileDigests files;
    KeyMaker key("run/1", "1", files);
    return (map ? key.add_map(text) : key.add_collective_rules(text)).key();
  };
  const auto differs = [&](bool map, const std::string& text, const std::string& changed) {
    spill(changed, named + "\n");
    const PointKey before = key_of(map, text);
    spill(changed, named + "\n\n");
    return key_of(map, text) != before;
  };
  spill(named, "a file that is called what a host is");
  EXPECT_TRUE(differs(true, "file:" + file, file));
  EXPECT_TRUE(differs(false, file, file));
  EXPECT_TRUE(differs(false, "openmpi5:" + file, file));
  EXPECT_FALSE(differs(true, "file:" + file, named)) << "its lines name hosts";
  EXPECT_FALSE(differs(false, "default", file));
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  EXPECT_FALSE(differs(true, "block", "block"));
  EXPECT_FALSE(differs(false, "mpich", "mpich"));
  fs::current_path(before);
}

// Of recorded pivots counts what was read, wherever the recording is: that of a text that lists its files, too.
TEST_F(JournalTest, ARecordingOfPivotsIsWhatWasReadFromIt) {
  const auto journal = open();
  hpl_gen::HplConfig config;
  const auto key_of = [&](std::int32_t rows) {
    auto recorded = std::make_shared<hpl_gen::RecordedRows>(config, "a recording");
    const std::vector<std::int32_t> counts(static_cast<std::size_t>(config.p), rows);
    recorded->set_rows_from(0, counts);
    PredictOptions options;
    options.pivots.recorded = recorded;
    return prediction_key(*journal, {"torus-16", {}, "from:elsewhere.txt", false}, config, options).key();
  };
  EXPECT_EQ(key_of(3), key_of(3));
  EXPECT_NE(key_of(3), key_of(4));
}

TEST_F(JournalTest, ATraceIsWhatItSays) {
  const auto digest = [](const auto& change) {
    testing::MemoryTrace t(2);
    t.add(0, {.kind = traces::OpKind::init});
    t.add(1, {.kind = traces::OpKind::init});
    t.p2p(0, traces::OpKind::send, 1, 7, 100);
    t.p2p(1, traces::OpKind::recv, 0, 7, 100);
    change(t);
    const auto d = trace_digest(t);
    EXPECT_TRUE(d);
    EXPECT_EQ(*trace_digest(t), *d) << "rewound";
    return *d;
  };
  const std::string same = digest([](testing::MemoryTrace&) {});
  EXPECT_EQ(digest([](testing::MemoryTrace&) {}), same);
  EXPECT_NE(digest([](testing::MemoryTrace& t) { t.add(1, {.kind = traces::OpKind::finalize}); }), same);
  EXPECT_NE(digest([](testing::MemoryTrace& t) { t.add(0, {.kind = traces::OpKind::finalize}); }),
            digest([](testing::MemoryTrace& t) { t.add(1, {.kind = traces::OpKind::finalize}); }));
}

// Another file of that name, as rsync or an editor puts it there.
void replace(const std::string& file, const std::string& bytes) {
  spill(file + ".new", bytes);
  fs::rename(file + ".new", file);
}

class ChangingStudy : public JournalTest {
 protected:
  ChangingStudy() : journal_(open()) {
    request_.points.journal = journal_.get();
    request_.kept = KeptOfRuns::kDigest;
    request_.platforms = {{"crossbar:n=2,bw=1GB/s", {}}};
  }
  [[nodiscard]] std::string trace(const std::string& name, std::int64_t bytes) const {
    testing::MemoryTrace t(2);
    t.p2p(0, traces::OpKind::send, 1, 0, bytes);
    t.p2p(1, traces::OpKind::recv, 0, 0, bytes);
    const std::string path = folder_ + "/" + name;
    EXPECT_TRUE(traces::copy_to_weft(t, path));
    return path;
  }
  void expect_changed(const Result<void>& ran, const std::string& file) const {
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().code, ErrorCode::kBadInput);
    EXPECT_THAT(ran.error().message(), HasSubstr(file + ": error: changed while the study ran"));
  }
  std::unique_ptr<Journal> journal_;
  MatrixRequest request_;
};

TEST_F(ChangingStudy, ATraceThatIsReplacedEndsItBeforeItsPointIsKept) {
  const std::string a = trace("a.weft", 1000), b = trace("b.weft", 2000),
                    other = trace("other.weft", 5'000'000);
  request_.traces = {a, b};
  const std::string was = slurp(b);
  int calls = 0;
  request_.on_progress = [&](std::uint64_t, std::uint64_t) {
    if (++calls == 1) replace(a, slurp(other));
  };
  Matrix changed;
  expect_changed(run_matrix(request_, changed), a);
  EXPECT_EQ(open(Journal::Access::kRead)->points(), 0u);
  // Only the second: the first one stays.
  (void)trace("a.weft", 1000);
  journal_ = open();
  request_.points.journal = journal_.get();
  Matrix half;
  request_.traces = {a};
  request_.on_progress = nullptr;
  ASSERT_TRUE(run_matrix(request_, half));
  request_.traces = {a, b};
  calls = 0;
  request_.on_progress = [&](std::uint64_t, std::uint64_t) {
    if (++calls == 2) replace(b, slurp(other));
  };
  Matrix second;
  expect_changed(run_matrix(request_, second), b);
  EXPECT_EQ(open(Journal::Access::kRead)->points(), 1u);
  // What the original gives later is what it gives without a journal.
  replace(b, was);
  journal_ = open();
  request_.points.journal = journal_.get();
  request_.on_progress = nullptr;
  Matrix whole, alone;
  ASSERT_TRUE(run_matrix(request_, whole));
  request_.points = {};
  ASSERT_TRUE(run_matrix(request_, alone));
  EXPECT_EQ(whole.runs[1].result.makespan, alone.runs[1].result.makespan);
}

TEST_F(ChangingStudy, AFileOfARankIsPartOfItsTrace) {
  const std::string rank = folder_ + "/ranks/rank-1.txt", index = folder_ + "/index";
  fs::create_directory(folder_ + "/ranks");
  spill(folder_ + "/ranks/rank-0.txt", "0 init\n0 compute 1e6\n0 finalize\n");
  spill(index, "ranks/rank-0.txt\nranks/rank-1.txt\n");
  for (const std::string& named : {index, folder_ + "/ranks"}) {
    SCOPED_TRACE(named);
    spill(rank, "1 init\n1 compute 1e6\n1 finalize\n");
    journal_ = open();
    request_.points.journal = journal_.get();
    request_.traces = {named};
    request_.on_progress = [&](std::uint64_t, std::uint64_t) { replace(rank, "1 init\n1 finalize\n"); };
    Matrix changed;
    expect_changed(run_matrix(request_, changed), "rank-1.txt");
    EXPECT_EQ(open(Journal::Access::kRead)->points(), 0u);
  }
}

// As a bisection asks for values that are not on the axis.
TEST_F(ChangingStudy, APlatformThatIsReplacedEndsTheRunsAfterIt) {
  request_.traces = {trace("a.weft", 1000)};
  const std::string platform = folder_ + "/p.textproto",
                    text = "topology { family: \"crossbar\" set: \"n=2\" ";
  spill(platform, text + "set: \"lat=1us\" }");
  const auto at = [&](const char* bandwidth) {
    request_.platforms = {{platform, {.set = {bandwidth}}}};
    Matrix m;
    return run_matrix(request_, m);
  };
  ASSERT_TRUE(at("bw=1GB/s"));
  ASSERT_TRUE(at("bw=2GB/s"));
  replace(platform, text + "set: \"lat=9us\" }");
  expect_changed(at("bw=3GB/s"), platform);
  EXPECT_EQ(open(Journal::Access::kRead)->points(), 2u);
}

TEST_F(ChangingStudy, AMapThatIsReplacedEndsPredictions) {
  const std::string map = folder_ + "/map";
  spill(map, "0\n1\n2\n3\n");
  const topology::Platform platform = platform_of("crossbar:n=4,bw=1GB/s,lat=1us,speed=1Gflops");
  hpl_gen::HplConfig config;
  config.n = 200, config.nb = 50, config.p = 2, config.q = 2;
  PredictOptions options;
  options.map = "file:" + map;
  options.on_panels = [&](std::int64_t, std::int64_t) { replace(map, "3\n2\n1\n0\n"); };
  std::vector<std::optional<HplPrediction>> made;
  const auto done = predict_points({"crossbar:n=4,bw=1GB/s,lat=1us,speed=1Gflops", {}, "", false},
                                   request_.points, {config}, platform, options, made, [] {});
  expect_changed(done ? Result<void>() : Result<void>(done.error()), map);
  EXPECT_EQ(open(Journal::Access::kRead)->points(), 0u);
}

TEST(Shards, EveryPointIsInOneAndTheirLoadsAreEven) {
  const std::uint64_t seed = seed_of_tests();
  Rng rng(seed);
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed) + " round " + std::to_string(round));
    std::vector<double> weights(rng.below(60));
    for (double& w : weights) w = static_cast<double>(1 + rng.below(1000));
    const auto count = static_cast<std::uint32_t>(1 + rng.below(12));
    const auto part = deal_points(weights, count);
    ASSERT_EQ(part.size(), weights.size());
    std::vector<double> load(count, 0);
    double longest = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      ASSERT_GE(part[i], 1u);
      ASSERT_LE(part[i], count);
      load[part[i] - 1] += weights[i];
      longest = std::max(longest, weights[i]);
    }
    // Of two rounds there and back the differences cancel but for telescoping sums of descending weights.
    const auto [least, most] = std::minmax_element(load.begin(), load.end());
    EXPECT_LE(*most - *least, longest);
    EXPECT_EQ(deal_points(weights, count), part);
  }
  EXPECT_EQ(deal_points({1, 1, 1, 1, 1, 1, 1}, 3), (std::vector<std::uint32_t>{1, 2, 3, 3, 2, 1, 1}));
  EXPECT_EQ(deal_points({1, 5, 3}, 2), (std::vector<std::uint32_t>{2, 1, 2}));
}

TEST(Shards, AreWrittenAsPartsOfAWhole) {
  for (const char* good : {"1/1", "1/3", "3/3", "1000000/1000000"}) {
    const auto s = parse_shard(good);
    ASSERT_TRUE(s) << good;
    EXPECT_EQ(s->text(), good);
  }
  EXPECT_EQ(parse_shard("0/4")->text(), "4/4");
  for (const char* bad : {"", "1", "/", "1/", "/2", "3/2", "1/0", "0/0", "-1/2", "+1/2", "1/2 ", "1/2/3",
                          "1.0/2", "a/b", "4294967297/4294967297", "1/1000001"})
    EXPECT_FALSE(parse_shard(bad)) << bad;
}

}  // namespace
}  // namespace weft::predict
