// Records of DUMPI files: the table of layouts against the facts that it was made from, and every one of them written
// and read in every version.
#include <fstream>

#include "tests/support/dumpi_writer.hpp"
#include "tests/traces/trace_testing.hpp"
#include "traces/formats/dumpi/record.hpp"

namespace weft::traces::dumpi {
namespace {

using traces::testing::seed_or;
using traces::testing::TempDir;
using weft::testing::DumpiWriter;
using Written = DumpiWriter::Version;

// The facts, as read from libdumpi by machine (data/dumpi_layouts.tsv): number, name, fields.
struct Fact {
  int number;
  std::string name, fields;
};
std::vector<Fact> facts() {
  std::ifstream in(support::source_dir() + "/tests/traces/data/dumpi_layouts.tsv");
  std::vector<Fact> out;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream s(line);
    Fact f;
    std::string number;
    std::getline(s, number, '\t');
    std::getline(s, f.name, '\t');
    std::getline(s, f.fields);
    f.number = std::stoi(number);
    out.push_back(f);
  }
  return out;
}

// A field as the facts write it.
struct FactField {
  std::string type, name, condition;
};
std::vector<FactField> fields_of(const Fact& fact) {
  std::string text = fact.fields;
  for (const auto& [from, to] :
       {std::pair{"N:argv(argc x C; before 0.6.2 one more i32 after argc)", "X:again A:argv"},
        std::pair{"N:argv(argc x C)", "A:argv"}})
    if (const auto at = text.find(from); at != std::string::npos)
      text.replace(at, std::string(from).size(), to);
  std::istringstream s(text);
  std::vector<FactField> out;
  for (std::string word; s >> word;) {
    const auto colon = word.find(':'), bracket = word.find('[');
    out.push_back({word.substr(0, colon), word.substr(colon + 1, bracket - colon - 1),
                   bracket == std::string::npos ? "" : word.substr(bracket + 1, word.size() - bracket - 2)});
  }
  return out;
}

TEST(DumpiRecords, TheTableHasTheCallsAndFieldsOfTheFacts) {
  const auto all = facts();
  ASSERT_EQ(all.size(), 283u);
  std::size_t rows = 0;
  for (const Layout& l : kLayouts) rows += l.name.empty() ? 0 : 1;
  EXPECT_EQ(rows, all.size());
  for (const Fact& f : all) {
    SCOPED_TRACE(f.name);
    const Layout& l = kLayouts[static_cast<std::size_t>(f.number)];
    EXPECT_EQ(l.name, f.name);
    const auto fields = fields_of(f);
    ASSERT_EQ(l.fields, fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i) {
      EXPECT_EQ(l.field[i].root_only, !fields[i].condition.empty()) << fields[i].name;
      if (!fields[i].condition.empty()) {
        const auto equals = fields[i].condition.find("==");
        EXPECT_EQ(fields[l.rank_field].name, fields[i].condition.substr(0, equals));
        EXPECT_EQ(fields[l.root_field].name, fields[i].condition.substr(equals + 2));
      }
    }
  }
}

// Random arguments by the facts, with the versions' differences.
struct Sample {
  std::vector<std::vector<std::int64_t>> values;  // by field; texts are left out
  std::size_t end = 0;                            // offset in the file
};
Sample write_sample(DumpiWriter& w, const Fact& fact, Rng& rng) {
  Sample out;
  w.call(fact.number);
  std::map<std::string, std::int64_t> scalars;
  const auto number = [&](int bits) {
    const auto v = static_cast<std::int64_t>(rng.next() >> (64 - bits));
    return bits == 32 ? static_cast<std::int32_t>(v) : v;
  };
  const auto word = [&] { return std::string(rng.below(5), 'x'); };
  for (const FactField& f : fields_of(fact)) {
    std::vector<std::int64_t> v;
    const bool there = f.condition.empty() || scalars[f.condition.substr(0, f.condition.find("=="))] ==
                                                  scalars[f.condition.substr(f.condition.find("==") + 2)];
    if (there && f.type == "i") {
      // Ranks meet roots often enough; argc is small.
      const bool small =
          f.name == "commrank" || f.name == "oldcommrank" || f.name == "root" || f.name == "argc";
      v = {small ? static_cast<std::int64_t>(rng.below(2)) : number(32)};
      w.i32(v[0]);
    } else if (there && f.type == "X") {
      if (w.version() < Written{0, 6, 2}) w.i32(7);
    } else if (there && f.type == "A") {
      for (std::int64_t i = 0; i < scalars["argc"]; ++i) w.text(word());
    } else if (there && (f.type == "h" || f.type == "b" || f.type == "q")) {
      const int bits = f.type == "h" ? 16 : f.type == "b" ? 8 : 64;
      v = {number(bits)};
      if (bits == 16) w.u16(static_cast<std::uint64_t>(v[0]));
      if (bits == 8) w.u8(static_cast<std::uint64_t>(v[0]));
      if (bits == 64) w.u64(static_cast<std::uint64_t>(v[0]));
    } else if (there && f.type == "S") {
      if ((w.mask & 3) != 0) v.resize(rng.below(3));
      for (auto& bytes : v) bytes = number(31);
      weft::testing::DumpiStatuses all;
      for (const auto bytes : v) all.push_back({static_cast<std::int32_t>(bytes), 1, 2});
      w.statuses(all);
    } else if (there &&
               ((fact.name == "Cart_get" && f.name == "coords" && w.version() < Written{0, 6, 8}) ||
                (fact.name == "Type_struct" && f.name == "indices" && w.version() < Written{0, 6, 9}))) {
      w.i32(5);
    } else if (there && (f.type == "I" || f.type == "H" || f.type == "B")) {
      v.resize(rng.below(2000) == 0 ? 70'000 : rng.below(4));
      w.u32(v.size());
      for (auto& one : v) {
        one = number(f.type == "I" ? 32 : f.type == "H" ? 16 : 8);
        if (f.type == "I") w.i32(one);
        if (f.type == "H") w.u16(static_cast<std::uint64_t>(one));
        if (f.type == "B") w.u8(static_cast<std::uint64_t>(one));
      }
    } else if (there && f.type == "C") {
      w.text(word());
    } else if (there && f.type == "CC") {
      const auto n = rng.below(3);
      w.u32(n);
      for (std::uint64_t i = 0; i < n; ++i) w.text(word());
    } else if (there && f.type == "CCC") {
      const auto n = rng.below(3);
      w.u32(n);
      for (std::uint64_t i = 0; i < n; ++i) w.u32(2).text(word()).text(word());
    } else if (there && f.type == "II") {
      const auto n = rng.below(3);
      w.u32(n);
      for (std::uint64_t i = 0; i < n; ++i) {
        const std::vector<std::int32_t> range = {static_cast<std::int32_t>(i), 5, 1};
        w.ints(range);
        v.insert(v.end(), range.begin(), range.end());
      }
    } else {
      EXPECT_FALSE(there) << f.type;
    }
    if (v.size() == 1) scalars[f.name] = v[0];
    out.values.push_back(v);
  }
  out.end = w.size();
  return out;
}

TEST(DumpiRecords, EveryCallIsReadToItsEndInEveryVersion) {
  const TempDir dir;
  const std::uint64_t seed = seed_or(7);
  SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
  Rng rng(seed);
  const auto all = facts();
  for (const Written version : {Written{0, 5, 0}, Written{0, 6, 2}, Written{0, 6, 3}, Written{0, 6, 8},
                                Written{0, 6, 9}, Written{0, 7, 1}, Written{8, 1, 0}}) {
    for (const int mask : {0x4f, 0x00, 0xcf, 0x47, 0x8c, 0x01}) {
      DumpiWriter w(version);
      w.mask = static_cast<std::uint8_t>(mask);
      w.counters = 3;
      w.thread = 9;
      std::vector<Sample> samples;
      for (int round = 0; round < 3; ++round)
        for (const Fact& f : all) samples.push_back(write_sample(w, f, rng));
      auto file = open_rank_file(dir.write("r.bin", w.file()));
      ASSERT_TRUE(file) << file.error().message();
      RecordReader reader;
      ASSERT_TRUE(reader.seek(*file, 0, {file->stream, 0}));
      Record r;
      for (std::size_t i = 0; i < samples.size(); ++i) {
        const Fact& fact = all[i % all.size()];
        SCOPED_TRACE(fact.name + " of version " + file->version.text());
        const auto more = reader.next(r);
        ASSERT_TRUE(more) << more.error().message();
        ASSERT_TRUE(*more);
        ASSERT_EQ(r.call, fact.number);
        ASSERT_EQ(r.number, i);
        ASSERT_EQ(r.thread, (mask & 64) != 0 ? 9 : 0);
        ASSERT_EQ(reader.pos().offset, samples[i].end);
        const auto fields = fields_of(fact);
        for (std::size_t f = 0; f < fields.size(); ++f) {
          const auto& want = samples[i].values[f];
          const std::string& type = fields[f].type;
          if (type == "i" || type == "h" || type == "b" || type == "q") {
            ASSERT_EQ(r.value[f], want.empty() ? 0 : want[0]) << fields[f].name;
          } else if (type == "I" || type == "H" || type == "B" || type == "II") {
            const auto got = r.array(f);
            ASSERT_TRUE(std::equal(got.begin(), got.end(), want.begin(), want.end())) << fields[f].name;
          } else if (type == "S") {
            ASSERT_EQ(r.statuses.size(), want.size());
            for (std::size_t k = 0; k < want.size(); ++k) {
              ASSERT_EQ(r.statuses[k].bytes, want[k]);
              ASSERT_EQ(r.statuses[k].has_tag, version >= (Written{0, 6, 3}));
            }
          }
        }
      }
      const auto end = reader.next(r);
      ASSERT_TRUE(end) << end.error().message();
      ASSERT_FALSE(*end);
    }
  }
}

// The parts around the stream, in the forms that the index had.
TEST(DumpiRecords, TheIndexIsFoundInEachOfItsForms) {
  const TempDir dir;
  for (const int words : {5, 6, 7, 8}) {
    SCOPED_TRACE(words);
    DumpiWriter w(words == 8 ? Written{0, 6, 6} : Written{0, 5, 0});
    w.index_words = words;
    w.host = "a.host";
    w.with_mesh = words % 2 == 0;
    if (words >= 6) w.counter_names = {"PAPI_TOT_CYC", "PAPI_TOT_INS"};
    w.called[52] = 4;
    w.init();
    const auto [bytes, parts] = w.file_and_parts();
    auto file = open_rank_file(dir.write("r.bin", bytes));
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(file->stream, 16u);
    EXPECT_EQ(file->end, parts.end);
    EXPECT_EQ(file->host, "a.host");
    EXPECT_EQ(file->counters, w.counter_names);
    EXPECT_EQ(file->called[52], 4u);
    EXPECT_EQ(file->type_sizes.size(), words == 8 ? w.type_sizes.size() : 0u);
  }
}

// A window has no effect on what is read: records go on wherever one was left, at any offset.
TEST(DumpiRecords, ReadingGoesOnWhereItStopped) {
  const TempDir dir;
  DumpiWriter w;
  std::vector<std::size_t> ends;
  for (int i = 0; i < 20'000; ++i) {
    if (i % 3 == 0) {
      w.waitall(weft::testing::DumpiInts(static_cast<std::size_t>(i % 50), i));
    } else {
      w.send(i, 9, 1, 2);
    }
    ends.push_back(w.size());
  }
  auto file = open_rank_file(dir.write("r.bin", w.file()));
  ASSERT_TRUE(file);
  RecordReader whole, parts;
  Record a, b;
  StreamPos pos{file->stream, 0};
  ASSERT_TRUE(whole.seek(*file, 0, pos));
  for (std::size_t i = 0; i < ends.size(); ++i) {
    ASSERT_TRUE(*whole.next(a));
    if (i % 7 == 0) {
      if (i % 2 == 0) {
        ASSERT_TRUE(parts.seek(*file, 0, {file->stream, 0}));
      }
      ASSERT_TRUE(parts.seek(*file, 0, pos));
    }
    ASSERT_TRUE(*parts.next(b));
    pos = parts.pos();
    ASSERT_EQ(pos.offset, ends[i]);
    ASSERT_EQ(a.number, b.number);
    ASSERT_EQ(a.value, b.value);
    ASSERT_EQ(a.pool, b.pool);
  }
}

}  // namespace
}  // namespace weft::traces::dumpi
