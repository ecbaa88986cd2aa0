#include "traces/formats/goal/binary.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "core/source_pos.hpp"
#include "traces/trace_file.hpp"
#include "traces/weft/format.hpp"

namespace weft::traces::goal {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they stand in the file");

constexpr std::uint64_t kBase = 8;              // offsets in the file count from here
constexpr std::uint64_t kRanksEnd = kBase + 6;  // where the table of blocks begins
constexpr std::uint64_t kBlockHead = 8;
constexpr std::size_t kNodesAtOnce = 4096;
constexpr std::uint32_t kNodesKept = 1 << 16;  // room for the next rank; 2 MB

template <class T>
T get(const char*& at) {
  T v;
  std::memcpy(&v, at, sizeof v);
  at += sizeof v;
  return v;
}

class BinaryReader {
 public:
  BinaryReader(TraceFile file, const ScheduleSink& sink)
      : file_(std::move(file)), path_(file_.path()), bytes_(file_.size()), sink_(sink) {}
  Result<void> read();

 private:
  struct Range {
    std::uint32_t count = 0, first = 0;
  };
  Result<void> block(std::uint64_t start, std::uint64_t end);
  Result<void> node(std::uint32_t index, const char* at);
  Result<void> dependencies(std::uint64_t entries);
  // `bytes` of the file from `offset`, which it has; valid until the next call.
  Result<const char*> load(std::uint64_t offset, std::size_t bytes) {
    WEFT_ASSIGN(const std::string_view view, file_.view(offset, bytes));
    return view.data();
  }
  // The same, to `items`, piece by piece.
  template <class T>
  Result<void> load(std::uint64_t offset, std::vector<T>& items) {
    char* const to = reinterpret_cast<char*>(items.data());
    const std::size_t bytes = items.size() * sizeof(T);
    for (std::size_t done = 0; done < bytes;) {
      const std::size_t piece = std::min<std::size_t>(TraceFile::kWidest, bytes - done);
      WEFT_ASSIGN(const char* from, load(offset + done, piece));
      std::memcpy(to + done, from, piece);
      done += piece;
    }
    return {};
  }
  [[nodiscard]] std::string place(std::uint64_t offset, std::int64_t node = -1) const {
    return BytePos{path_, offset, node, rank_}.text();
  }
  [[nodiscard]] std::uint64_t node_offset(std::uint32_t index) const {
    return nodes_at_ + std::uint64_t{index} * kNodeBytes;
  }
  [[nodiscard]] Error bad_node(std::uint32_t index, std::string what, std::uint64_t got,
                               std::string expected) const {
    return bad_input(place(node_offset(index), index), std::move(what), std::to_string(got),
                     std::move(expected));
  }

  TraceFile file_;
  const std::string& path_;
  std::uint64_t bytes_;
  const ScheduleSink& sink_;
  std::uint32_t ranks_ = 0;
  unsigned max_cpu_ = 0, max_nic_ = 0;
  std::int64_t rank_ = -1;
  std::uint64_t nodes_at_ = 0;
  Schedule schedule_;
  std::vector<std::uint32_t> counts_;           // dependencies of each node, as the file says
  std::vector<Range> after_end_, after_start_;  // by node
  std::vector<std::uint32_t> appendix_;
};

Result<void> BinaryReader::node(std::uint32_t index, const char* at) {
  counts_[index] = get<std::uint32_t>(at);
  const auto kind = get<std::uint8_t>(at);
  Operation& op = schedule_.ops[index];
  op.line = index;
  op.peer = get<std::uint32_t>(at);
  op.size = get<std::uint64_t>(at);
  op.tag = get<std::uint32_t>(at);
  op.cpu = get<std::uint8_t>(at);
  op.nic = get<std::uint8_t>(at);
  for (std::vector<Range>* const ranges : {&after_end_, &after_start_}) {
    Range& r = (*ranges)[index];
    r.count = get<std::uint32_t>(at);
    r.first = get<std::uint32_t>(at);
  }
  if (kind < 1 || kind > 3)
    return bad_node(index, "no node has this kind", kind, "1 (send), 2 (recv) or 3 (calc)");
  op.kind = static_cast<Kind>(kind);
  if (op.cpu > max_cpu_)
    return bad_node(index, "the cpu is beyond the last one", op.cpu, fmt::format("at most {}", max_cpu_));
  if (op.nic > max_nic_)
    return bad_node(index, "the nic is beyond the last one", op.nic, fmt::format("at most {}", max_nic_));
  if (op.kind == Kind::kCalc) {
    if (op.size > kMaxNanoseconds)
      return bad_node(index, "the time is too large", op.size, fmt::format("at most {}", kMaxNanoseconds));
    op.peer = op.tag = 0;
  } else {
    if (op.size > kMaxBytes)
      return bad_node(index, "the size is too large", op.size, fmt::format("at most {}", kMaxBytes));
    if (op.peer >= ranks_ && (op.peer != kAny || op.kind == Kind::kSend))
      return bad_node(index, "there is no such rank", op.peer, fmt::format("0 to {}", ranks_ - 1));
    if (op.tag > kMaxTag && (op.tag != kAny || op.kind == Kind::kSend)) {
      Error e = op.tag == kAny ? not_supported("a send of any tag", "a tag of 0 to 2147483647")
                               : not_supported(fmt::format("the tag {}", op.tag), "a tag of 0 to 2147483647");
      e.where = place(node_offset(index), index);
      return e;
    }
  }
  return {};
}

Result<void> BinaryReader::dependencies(std::uint64_t entries) {
  const auto nodes = static_cast<std::uint32_t>(schedule_.ops.size());
  std::uint64_t named = 0;
  for (std::uint32_t v = 0; v < nodes; ++v)
    for (const auto* const ranges : {&after_end_, &after_start_}) {
      const Range r = (*ranges)[v];
      named += r.count;
      if (r.count > 0 && (r.first > entries || r.count > entries - r.first))
        return bad_node(v, "the node's dependencies are beyond the end of its rank",
                        std::uint64_t{r.first} + r.count, fmt::format("at most {}", entries));
    }
  if (named != entries)
    return bad_input(place(nodes_at_), "the nodes do not name each entry of the appendix once",
                     std::to_string(named), std::to_string(entries));
  // In the order of those that depend (drop_doubles): each knows how many entries are its. Where these are not all, one of the nodes has
  // more or fewer than it says, and nothing is kept.
  std::vector<std::uint32_t> left = counts_, end(nodes);
  std::uint64_t said = 0;
  for (std::uint32_t v = 0; v < nodes; ++v) end[v] = static_cast<std::uint32_t>(said += counts_[v]);
  const bool fits = said == entries;
  if (fits) schedule_.dependencies.resize(entries);
  for (std::uint32_t v = 0; v < nodes; ++v)
    for (const bool at_start : {false, true}) {
      const Range r = (at_start ? after_start_ : after_end_)[v];
      for (std::uint32_t i = 0; i < r.count; ++i) {
        const std::uint32_t later = appendix_[r.first + i];
        if (later >= nodes)
          return bad_node(v, "a dependency names no node", later, fmt::format("0 to {}", nodes - 1));
        if (later == v) return bad_node(v, "an operation requires itself", later, "another operation");
        const std::uint32_t mine = left[later]--;
        if (mine == 0)
          return bad_node(later, "the node has more dependencies than it says", counts_[later],
                          "their number");
        if (fits)
          schedule_.dependencies[end[later] - mine] = {later, v | (at_start ? Dependency::kAtStart : 0)};
      }
    }
  for (std::uint32_t v = 0; v < nodes; ++v)
    if (left[v] != 0)
      return bad_node(v, "the node has fewer dependencies than it says", counts_[v],
                      std::to_string(counts_[v] - left[v]));
  return {};
}

Result<void> BinaryReader::block(std::uint64_t start, std::uint64_t end) {
  if (end - start < kBlockHead)
    return bad_input(place(start), "the block of the rank is too short", std::to_string(end - start),
                     "8 bytes or more");
  WEFT_ASSIGN(const char* at, load(start, kBlockHead));
  const auto nodes = get<std::uint32_t>(at);
  const auto roots = get<std::uint32_t>(at);
  nodes_at_ = start + kBlockHead + std::uint64_t{roots} * 4;
  const std::uint64_t nodes_end = nodes_at_ + std::uint64_t{nodes} * kNodeBytes;
  if (roots > nodes || nodes_end > end)
    return bad_input(place(start), "the block of the rank is too short for its nodes",
                     fmt::format("{} nodes, {} roots", nodes, roots),
                     fmt::format("what fits into {} bytes", end - start));
  if ((end - nodes_end) % 4 != 0)
    return bad_input(place(nodes_end), "the appendix of the rank is not in whole entries",
                     fmt::format("{} bytes", end - nodes_end), "4 bytes each");
  if (nodes >= kMaxOperations) {
    Error e = not_supported("more than 2^31 operations of a rank");
    e.where = place(start);
    return e;
  }
  schedule_.clear();
  schedule_.ops.resize(nodes);
  counts_.resize(nodes);
  for (auto* const v : {&after_end_, &after_start_}) v->resize(nodes);
  for (std::uint32_t v = 0; v < nodes; v += kNodesAtOnce) {
    const std::uint32_t count = std::min<std::uint32_t>(kNodesAtOnce, nodes - v);
    WEFT_ASSIGN(const char* from, load(node_offset(v), count * kNodeBytes));
    for (std::uint32_t i = 0; i < count; ++i) WEFT_TRY(node(v + i, from + i * kNodeBytes));
  }
  std::uint64_t without = 0;
  for (const std::uint32_t n : counts_) without += n == 0 ? 1 : 0;
  if (without != roots)
    return bad_input(place(start), "the rank has not as many roots as it says", std::to_string(roots),
                     std::to_string(without));
  WEFT_ASSIGN(const char* root, load(start + kBlockHead, std::size_t{roots} * 4));
  for (std::uint32_t i = 0; i < roots; ++i)
    if (const auto v = get<std::uint32_t>(root); v >= nodes || counts_[v] != 0)
      return bad_input(place(start + kBlockHead + std::uint64_t{i} * 4), "the root depends on others",
                       std::to_string(v), "a node without dependencies");
  appendix_.resize((end - nodes_end) / 4);
  WEFT_TRY(load(nodes_end, appendix_));
  WEFT_TRY(dependencies(appendix_.size()));
  if (nodes > kNodesKept) {
    for (auto* const v : {&appendix_, &counts_}) std::vector<std::uint32_t>().swap(*v);
    for (auto* const v : {&after_end_, &after_start_}) std::vector<Range>().swap(*v);
  }
  const Place where = [this](const Operation& op) { return place(node_offset(op.line), op.line); };
  return sink_.rank(static_cast<std::uint32_t>(rank_), schedule_, where);
}

Result<void> BinaryReader::read() {
  if (bytes_ < kRanksEnd)
    return bad_input(place(0), "the file is cut off", fmt::format("{} bytes", bytes_), "a head of 14 bytes");
  WEFT_ASSIGN(const char* at, load(0, kRanksEnd));
  if (const auto magic = get<std::uint64_t>(at); magic != kMagic)
    return bad_input(place(0),
                     magic == kSpent ? "a simulation has used the schedule up (LogGOPSim --save-mem)"
                                     : "no schedule begins like this",
                     std::to_string(magic), fmt::format("{}, as txt2bin writes it", kMagic));
  ranks_ = get<std::uint32_t>(at);
  max_cpu_ = get<std::uint8_t>(at);
  max_nic_ = get<std::uint8_t>(at);
  if (ranks_ == 0) return bad_input(place(kBase), "the schedule has no ranks", "0", "1 or more");
  if (ranks_ > format::kMaxRanks || ranks_ > (bytes_ - kRanksEnd) / (16 + kBlockHead))
    return bad_input(place(kBase), "the file is too short for its number of ranks", std::to_string(ranks_),
                     "a block for each");
  std::vector<std::uint64_t> table(std::size_t{ranks_} * 2);
  WEFT_TRY(load(kRanksEnd, table));
  const std::uint64_t first = kRanksEnd + table.size() * 8;
  std::uint64_t all = 0;
  for (rank_ = 0; rank_ < ranks_; ++rank_) {
    const std::uint64_t start = table[static_cast<std::size_t>(rank_) * 2],
                        end = table[static_cast<std::size_t>(rank_) * 2 + 1];
    const auto where = place(kRanksEnd + static_cast<std::uint64_t>(rank_) * 16);
    if (start > end || end > bytes_ - kBase || start < first - kBase)
      return bad_input(where, "the block of the rank is not in the file", fmt::format("{} to {}", start, end),
                       fmt::format("within {} to {}", first - kBase, bytes_ - kBase));
    all += end - start;
    if (all > bytes_ - first)
      return bad_input(where, "the blocks of the ranks overlap", fmt::format("{} bytes", all),
                       fmt::format("at most {}", bytes_ - first));
  }
  rank_ = -1;
  WEFT_TRY(sink_.ranks(ranks_));
  for (rank_ = 0; rank_ < ranks_; ++rank_) {
    const auto i = static_cast<std::size_t>(rank_) * 2;
    WEFT_TRY(block(kBase + table[i], kBase + table[i + 1]));
  }
  return {};
}

}  // namespace

Result<void> read_binary(const std::string& path, const ScheduleSink& sink) {
  WEFT_ASSIGN(TraceFile file, TraceFile::open(path, "a binary schedule"));
  return BinaryReader(std::move(file), sink).read();
}

}  // namespace weft::traces::goal
