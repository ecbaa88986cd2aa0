// Pivots read from the recording of an HPL run: its HPL.dat and its messages need not be of one run, nor of any.
#include <algorithm>
#include <cstring>
#include <map>

#include "hpl_gen/hpl_trace.hpp"
#include "hpl_gen/pivots/recorded_rows.hpp"
#include "tests/fuzz/replay_some.hpp"
#include "tests/fuzz/target.hpp"
#include "traces/op_rules.hpp"

namespace weft::fuzz {
namespace {

using namespace hpl_gen;
using traces::Op;

// The runs whose messages are changed.
constexpr std::size_t kPrograms = 5;
HplConfig program(std::size_t number) {
  HplConfig c;
  c.n = 24, c.nb = 5;
  switch (number % kPrograms) {
    case 0:
      c.p = 2, c.q = 2, c.swap = Swap::kBinaryExchange;
      break;
    case 1:
      c.p = 3, c.q = 1, c.swap = Swap::kSpreadRoll;
      break;
    case 2:
      c.p = 5, c.q = 2, c.swap_threshold = 6, c.depth = 1;
      break;
    case 3:
      c.p = 1, c.q = 3;
      break;
    default:
      c.p = 4, c.q = 2, c.swap = Swap::kSpreadRoll, c.pmap = ProcessMap::kColumnMajor;
  }
  return c;
}

// One field of one operation becomes `value`.
struct Edit {
  std::uint8_t rank;
  std::uint8_t field;
  std::uint16_t op;
  std::int32_t value;
};
static_assert(sizeof(Edit) == 8);

void apply(const Edit& e, Op& op) {
  switch (e.field % 4) {
    case 0:
      op.peer = e.value;
      break;
    case 1:
      op.tag = e.value;
      break;
    case 2:
      op.amount = e.value;
      break;
    default:
      op.amount += e.value;
  }
}

// A trace with another HPL.dat, ranks that do nothing after its own, and some operations changed. What is not well
// formed afterwards no reader of traces lets through, so it stays as it was.
class Recording final : public traces::TraceReader {
 public:
  Recording(traces::TraceReader& from, std::string dat, std::uint32_t idle, const std::vector<Edit>& edits)
      : from_(from), header_(from.header()) {
    if (!dat.empty()) header_.hpl_dat = std::move(dat);
    header_.ranks += idle;
    for (const Edit& e : edits) edits_[{e.rank % from.header().ranks, e.op}].push_back(e);
  }
  const traces::TraceHeader& header() const override { return header_; }
  const traces::TraceTotals& totals() const override { return from_.totals(); }
  const std::vector<traces::Communicator>& communicators() const override { return from_.communicators(); }
  const std::vector<std::string>& regions() const override { return from_.regions(); }
  std::uint64_t ops_of(RankId rank) const override {
    return rank.index() < from_.header().ranks ? from_.ops_of(rank) : 0;
  }
  Result<bool> next_block(RankId rank, traces::OpBlock& out) override {
    if (rank.index() >= from_.header().ranks) return false;
    WEFT_ASSIGN(const bool more, from_.next_block(rank, out));
    if (!more) return false;
    const traces::OpLimits limits{header_.ranks, &from_.communicators(),
                                  static_cast<std::uint32_t>(from_.regions().size())};
    const auto end = edits_.lower_bound({rank.index(), out.first_op + out.ops.size()});
    for (auto it = edits_.lower_bound({rank.index(), out.first_op}); it != end; ++it) {
      Op& op = out.ops[it->first.second - out.first_op];
      for (const Edit& e : it->second) {
        Op changed = op;
        apply(e, changed);
        if (traces::op_fault(changed, out.list(changed), limits) == nullptr) op = changed;
      }
    }
    return true;
  }
  void rewind() override { from_.rewind(); }
  std::string position(RankId rank, std::uint64_t index) const override {
    return from_.position(rank, index);
  }

 private:
  traces::TraceReader& from_;
  traces::TraceHeader header_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<Edit>> edits_;  // by rank and operation
};

// Two bytes: which program, how many idle ranks; the HPL.dat, empty if it is the program's, up to a zero byte; edits.
bool run_recording(std::string_view bytes) {
  if (bytes.size() < 2) return false;
  const auto idle = static_cast<unsigned char>(bytes[1]);
  const std::size_t end = std::min(bytes.find('\0', 2), bytes.size());
  std::vector<Edit> edits;
  for (std::size_t at = end + 1; at + sizeof(Edit) <= bytes.size(); at += sizeof(Edit))
    std::memcpy(&edits.emplace_back(), bytes.data() + at, sizeof(Edit));
  auto made = HplTrace::create(to_dat(program(static_cast<unsigned char>(bytes[0]))));
  require(made.has_value(), "a small run is made");
  Recording recording(**made, std::string(bytes.substr(2, end - 2)), idle, edits);
  const auto rows = read_recorded_rows(recording, "F");
  if (!rows) return false;
  const HplConfig& c = (*rows)->config();
  if (c.n > 200 || c.panels() > 40 || c.ranks() > 16) return true;
  HplTraceOptions options;
  options.pivots = PivotKind::kRecorded;
  options.recorded = *rows;
  auto again = HplTrace::create(to_dat(c), options);
  require(again.has_value(), "a run with the pivots of its own recording is made");
  replay_some(**again);
  return true;
}

std::string edited(char number, char idle, const std::string& dat, const std::vector<Edit>& edits) {
  std::string out{number, idle};
  out.append(dat).push_back('\0');
  for (const Edit& e : edits) out.append(reinterpret_cast<const char*>(&e), sizeof e);
  return out;
}

}  // namespace

std::vector<Target> recording_targets() {
  return {{"hpl_recording",
           [] {
             std::vector<std::string> out;
             for (std::size_t i = 0; i < kPrograms; ++i)
               out.push_back(edited(static_cast<char>(i), 0, write_hpl_dat(to_dat(program(i))), {}));
             HplConfig claims = program(3);  // one process row
             claims.n = (std::int64_t{1} << 31) - 2;
             out.push_back(edited(3, 0, write_hpl_dat(to_dat(claims)), {}));
             out.push_back(edited(1, 2, "", {{0, 3, 9, 0}, {1, 3, 40, 0}}));
             return out;
           },
           {"2147483646", "1 ", "32768", "65536", std::string(8, '\0'), std::string(1, '\0')},
           300,
           run_recording}};
}

}  // namespace weft::fuzz
