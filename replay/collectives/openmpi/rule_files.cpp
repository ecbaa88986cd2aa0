// Open MPI's files of rules for its component tuned (coll_tuned_dynamic_rules_filename): the text form
// (ompi/mca/coll/tuned/coll_tuned_dynamic_file.c) and, from 6.0, JSON (docs/tuning-apps/tuned_dynamic_file_schema.json).
// What no rule matches, and algorithm 0, goes to the fixed tables.
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "replay/collectives/parts.hpp"
#include "replay/collectives/rule_files.hpp"

namespace weft::replay::collectives {
namespace {

using traces::OpKind;

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// By the identifiers of the text form.
struct Named {
  std::string_view name;  // in the JSON form
  OpKind kind;
};
constexpr Named kCollectives[] = {{"allgather", OpKind::allgather},
                                  {"allgatherv", OpKind::allgatherv},
                                  {"allreduce", OpKind::allreduce},
                                  {"alltoall", OpKind::alltoall},
                                  {"alltoallv", OpKind::alltoallv},
                                  {"alltoallw", OpKind::alltoallw},
                                  {"barrier", OpKind::barrier},
                                  {"bcast", OpKind::bcast},
                                  {"exscan", OpKind::exscan},
                                  {"gather", OpKind::gather},
                                  {"gatherv", OpKind::gatherv},
                                  {"reduce", OpKind::reduce},
                                  {"reducescatter", OpKind::reduce_scatter},
                                  {"reducescatterblock", OpKind::reduce_scatter_block},
                                  {"scan", OpKind::scan},
                                  {"scatter", OpKind::scatter},
                                  {"scatterv", OpKind::scatterv},
                                  {"neighbor_allgather", OpKind::neighbor_allgather},
                                  {"neighbor_allgatherv", OpKind::neighbor_allgatherv},
                                  {"neighbor_alltoall", OpKind::neighbor_alltoall},
                                  {"neighbor_alltoallv", OpKind::neighbor_alltoallv},
                                  {"neighbor_alltoallw", OpKind::neighbor_alltoallw}};

struct MessageRule {
  std::int64_t from = 0;
  std::int64_t to = kNoLimit;  // inclusive
  CollectiveRules::Pick pick;  // without an algorithm: the fixed tables
};
enum class Spread : std::uint8_t { kAny, kOnePerNode, kSingleNode };
struct CommRule {
  std::int64_t from = 0;
  std::int64_t to = kNoLimit;  // inclusive
  Spread spread = Spread::kAny;
  std::vector<MessageRule> messages;
};
using RuleTable = std::array<std::vector<CommRule>, traces::kOpKindCount>;

// Bytes as the dynamic rules count them, which is not as the fixed tables do.
[[nodiscard]] std::int64_t rule_bytes(const CollectiveCall& c) {
  switch (c.kind) {
    case OpKind::allgather:
    case OpKind::alltoall:
    case OpKind::gather:
    case OpKind::scatter:
    case OpKind::reduce_scatter_block:
      return c.bytes * c.ranks;
    case OpKind::allgatherv:
      return rank_blocks(c).total() / c.ranks;
    case OpKind::reduce_scatter:
      return rank_blocks(c).total();
    case OpKind::scan:
    case OpKind::exscan:
      return element_of(c) * c.ranks;
    case OpKind::alltoallv:
    case OpKind::barrier:
      return 0;
    default:
      return c.bytes;
  }
}

class FileRules final : public CollectiveRules {
 public:
  // `spreads`: some rules ask how ranks are spread. `fixed`: those of the library, with or without HAN. `empties`: as its versions
  // up to 4.1, which read the form that is text.
  FileRules(RuleTable table, bool spreads, const CollectiveRules& fixed, bool empties)
      : table_(std::move(table)), spreads_(spreads), fixed_(fixed), empties_(empties) {}
  [[nodiscard]] Pick pick(const CollectiveCall& c) const override {
    // Whose parts ask again, without nodes.
    if (fixed_.asks_for_nodes() && han_comes_first(c)) return fixed_.pick(c);
    for (const CommRule& comm : table_[static_cast<std::size_t>(c.kind)]) {
      if (c.nonblocking || c.ranks < comm.from || c.ranks > comm.to || !spread_as(comm.spread, c)) continue;
      const std::int64_t bytes = rule_bytes(c);
      for (const MessageRule& m : comm.messages) {
        if (bytes < m.from || bytes > m.to) continue;
        if (m.pick.algorithm != nullptr) return m.pick;
        break;
      }
      break;
    }
    return fixed_.pick(c);
  }
  [[nodiscard]] bool sends_empties(const CollectiveCall& c) const override {
    return (c.nonblocking || empties_) && fixed_.sends_empties(c);
  }
  [[nodiscard]] bool asks_for_nodes() const override { return spreads_ || fixed_.asks_for_nodes(); }

 private:
  [[nodiscard]] static bool spread_as(Spread s, const CollectiveCall& c) {
    if (s == Spread::kAny) return true;
    const std::uint32_t nodes = c.among == Among::kNode ? 1 : c.nodes == nullptr ? c.ranks : c.nodes->nodes();
    return s == Spread::kSingleNode ? nodes == 1 : nodes == c.ranks;
  }
  RuleTable table_;
  bool spreads_;
  const CollectiveRules& fixed_;
  bool empties_;
};

// The algorithm with that number, or what is wrong with it.
Result<const CollectiveAlgorithm*> numbered(const std::string& file, Place at, OpKind kind,
                                            std::int64_t number) {
  if (number == 0) return static_cast<const CollectiveAlgorithm*>(nullptr);
  std::string known;
  for (const auto& a : collective_algorithms()) {
    if (a.kind != kind || !a.name.starts_with("openmpi.") || a.number == 0) continue;
    if (a.number == number) return &a;
    known += fmt::format(", {} {}", a.number, a.name.substr(8));
  }
  if (known.empty()) return rules_not_supported(file, at, fmt::format("rules for {}", traces::op_name(kind)));
  // Numbers that newer releases have, and we have not.
  if (number > 0 && number <= 9)
    return rules_not_supported(
        file, at, fmt::format("algorithm {} of {} (0 fixed{})", number, traces::op_name(kind), known));
  return bad_rules(file, at, fmt::format("no such algorithm of {}", traces::op_name(kind)),
                   std::to_string(number), "0 fixed" + known);
}

// The text form: integers between blanks, # to the end of a line.
class TextReader {
 public:
  TextReader(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  Result<RuleTable> whole() {
    RuleTable table;
    constexpr std::string_view kVersion = "rule-file-version-";
    std::int64_t version = 1;
    skip();
    if (text_.substr(at_).starts_with(kVersion)) {
      if (at_ > 0)
        return bad_rules(file_, place_,
                         "version below the beginning of the file, which Open MPI ignores then", rest(),
                         "it first of all, before comments and blanks");
      for (std::size_t i = 0; i < kVersion.size(); ++i) step();
      WEFT_ASSIGN(version, number("the version of the file", 1, 2));
    }
    WEFT_ASSIGN(const std::int64_t collectives,
                number("the number of collectives", 0, std::size(kCollectives)));
    for (std::int64_t i = 0; i < collectives; ++i) {
      WEFT_ASSIGN(const std::int64_t id,
                  number("the number of a collective", 0, std::size(kCollectives) - 1));
      const OpKind kind = kCollectives[id].kind;
      auto& comms = table[static_cast<std::size_t>(kind)];
      if (!comms.empty())
        return bad_rules(file_, word_at_, "collective twice", std::to_string(id), "each once");
      WEFT_ASSIGN(const std::int64_t sizes, number("the number of communicator sizes", 0, kNoLimit));
      for (std::int64_t k = 0; k < sizes; ++k) {
        CommRule comm;
        WEFT_ASSIGN(comm.from, number("a communicator size", 0, kNoLimit));
        if (!comms.empty()) {
          if (comm.from < comms.back().from)
            return bad_rules(file_, word_at_, "communicator sizes do not ascend", std::to_string(comm.from),
                             fmt::format("{} or more", comms.back().from));
          comms.back().to = comm.from - 1;
        }
        WEFT_TRY(messages(kind, version, comm.messages));
        comms.push_back(std::move(comm));
      }
      // The first entry serves smaller communicators too.
      if (!comms.empty()) comms.front().from = 0;
    }
    skip();
    if (at_ < text_.size()) return bad_rules(file_, place_, "text after the last rule", rest(), "nothing");
    return table;
  }

 private:
  Result<void> messages(OpKind kind, std::int64_t version, std::vector<MessageRule>& out) {
    WEFT_ASSIGN(const std::int64_t sizes, number("the number of message sizes", 0, kNoLimit));
    for (std::int64_t i = 0; i < sizes; ++i) {
      MessageRule m;
      WEFT_ASSIGN(m.from, number("a message size", 0, kNoLimit));
      if (out.empty() && m.from != 0)
        return bad_rules(file_, word_at_, "the first message size of a list is not 0", std::to_string(m.from),
                         "0");
      if (!out.empty()) {
        if (m.from < out.back().from)
          return bad_rules(file_, word_at_, "message sizes do not ascend", std::to_string(m.from),
                           fmt::format("{} or more", out.back().from));
        out.back().to = m.from - 1;
      }
      WEFT_ASSIGN(const std::int64_t algorithm, number("an algorithm", 0, kNoLimit));
      WEFT_ASSIGN(m.pick.algorithm, numbered(file_, word_at_, kind, algorithm));
      WEFT_ASSIGN(const std::int64_t fan, number("a fan in and out", 0, 1 << 20));
      WEFT_ASSIGN(m.pick.segment, number("a segment size", 0, kNoLimit));
      m.pick.fan = static_cast<std::uint32_t>(fan);
      if (version > 1 && digit_on_this_line()) {
        WEFT_ASSIGN(const std::int64_t requests, number("a number of requests", 0, 1 << 20));
        m.pick.at_once = static_cast<std::uint32_t>(requests);
      }
      out.push_back(m);
    }
    return {};
  }
  void step() { place_.step(text_[at_++]); }
  void skip() {
    bool comment = false;
    for (; at_ < text_.size(); step()) {
      const char c = text_[at_];
      comment = c == '#' || (comment && c != '\n');
      if (!comment && c != ' ' && c != '\t' && c != '\n' && c != '\r') return;
    }
  }
  [[nodiscard]] bool digit_on_this_line() const {
    const auto next = text_.find_first_not_of(" \t", at_);
    return next != std::string_view::npos && text_[next] >= '0' && text_[next] <= '9';
  }
  [[nodiscard]] std::string rest() const {
    const std::string_view left = text_.substr(at_);
    return std::string(left.substr(0, left.find_first_of(" \t\r\n#")));
  }
  Result<std::int64_t> number(std::string_view what, std::int64_t least, std::int64_t most) {
    skip();
    word_at_ = place_;
    const std::string word = rest();
    // As "%li" of the library reads them.
    const bool hex = word.starts_with("0x") || word.starts_with("0X");
    const int base = hex ? 16 : word.starts_with('0') ? 8 : 10;
    std::int64_t v = 0;
    const auto r = std::from_chars(word.data() + (hex ? 2 : 0), word.data() + word.size(), v, base);
    if (word.empty() || r.ec != std::errc() || r.ptr != word.data() + word.size() || v < least || v > most)
      return bad_rules(file_, place_, fmt::format("not {}", what),
                       word.empty() ? "the end of the file" : word,
                       most == kNoLimit ? fmt::format("an integer, {} or more", least)
                                        : fmt::format("an integer from {} to {}", least, most));
    for (std::size_t i = 0; i < word.size(); ++i) step();
    return v;
  }

  const std::string& file_;
  std::string_view text_;
  std::size_t at_ = 0;
  Place place_;
  Place word_at_;
};

class JsonReader {
 public:
  explicit JsonReader(const std::string& file) : file_(file) {}
  bool spreads = false;

  Result<RuleTable> whole(const Json& root) {
    RuleTable table;
    const Json* collectives = nullptr;
    for (const auto& m : root.members) {
      if (m.key == "collectives") {
        collectives = &m.value;
      } else if (m.key == "rule_file_version") {
        if (m.value.kind != Json::Kind::kInteger || m.value.integer != 3)
          return bad_rules(file_, m.value.at, "unknown version of the rules", m.value.text, "3");
      } else if (m.key == "module") {
        if (m.value.text != "tuned")
          return rules_not_supported(file_, m.value.at, fmt::format("rules of module \"{}\"", m.value.text));
      } else if (m.key != "$schema") {
        return unknown(m, "rule_file_version, module, collectives");
      }
    }
    if (collectives == nullptr)
      return bad_rules(file_, root.at, "rules without collectives", {}, "\"collectives\"");
    WEFT_TRY(expect(*collectives, Json::Kind::kObject, "an object of collectives"));
    for (const auto& m : collectives->members) {
      const Named* found = nullptr;
      for (const Named& n : kCollectives)
        if (n.name == m.key) found = &n;
      if (found == nullptr) return unknown(m, "allgather, bcast, reducescatterblock, ...");
      WEFT_TRY(expect(m.value, Json::Kind::kArray, "a list of communicator sizes"));
      for (const Json& item : m.value.items) {
        WEFT_ASSIGN(CommRule comm, comm_rule(found->kind, item));
        table[static_cast<std::size_t>(found->kind)].push_back(std::move(comm));
      }
    }
    return table;
  }

 private:
  [[nodiscard]] Error unknown(const Json::Member& m, std::string known) const {
    return bad_rules(file_, m.at, "unknown key of rules", m.key, std::move(known));
  }
  [[nodiscard]] Result<void> expect(const Json& v, Json::Kind kind, std::string what) const {
    if (v.kind == kind) return {};
    return bad_rules(file_, v.at, "wrong kind of value", v.text, std::move(what));
  }
  [[nodiscard]] Result<std::int64_t> bound(const Json& v) const {
    if (v.kind == Json::Kind::kString && (v.text == "inf" || v.text == "Inf" || v.text == "INF"))
      return kNoLimit;
    if (v.kind == Json::Kind::kInteger && v.integer >= 0) return v.integer;
    return bad_rules(file_, v.at, "not a bound", v.text, "an integer, 0 or more, or \"inf\"");
  }
  Result<CommRule> comm_rule(OpKind kind, const Json& v) {
    WEFT_TRY(expect(v, Json::Kind::kObject, "an object with rules"));
    CommRule out;
    bool any = false;
    for (const auto& m : v.members) {
      if (m.key == "comm_size_min") {
        WEFT_ASSIGN(out.from, bound(m.value));
      } else if (m.key == "comm_size_max") {
        WEFT_ASSIGN(out.to, bound(m.value));
      } else if (m.key == "comm_rank_distribution") {
        if (m.value.text != "any" && m.value.text != "one-per-node" && m.value.text != "single-node")
          return bad_rules(file_, m.value.at, "unknown distribution of ranks", m.value.text,
                           "any, one-per-node, single-node");
        out.spread = m.value.text == "any"           ? Spread::kAny
                     : m.value.text == "single-node" ? Spread::kSingleNode
                                                     : Spread::kOnePerNode;
        spreads = spreads || out.spread != Spread::kAny;
      } else if (m.key == "rules") {
        any = true;
        WEFT_TRY(expect(m.value, Json::Kind::kArray, "a list of rules"));
        for (const Json& item : m.value.items) {
          WEFT_ASSIGN(const MessageRule rule, message_rule(kind, item));
          out.messages.push_back(rule);
        }
      } else {
        return unknown(m, "comm_size_min, comm_size_max, comm_rank_distribution, rules");
      }
    }
    if (!any) return bad_rules(file_, v.at, "communicator sizes without rules", {}, "\"rules\"");
    return out;
  }
  Result<MessageRule> message_rule(OpKind kind, const Json& v) const {
    WEFT_TRY(expect(v, Json::Kind::kObject, "an object with \"alg\""));
    MessageRule out;
    bool any = false;
    for (const auto& m : v.members) {
      if (m.key == "msg_size_min") {
        WEFT_ASSIGN(out.from, bound(m.value));
      } else if (m.key == "msg_size_max") {
        WEFT_ASSIGN(out.to, bound(m.value));
      } else if (m.key == "alg") {
        any = true;
        WEFT_ASSIGN(out.pick.algorithm, algorithm(kind, m.value));
      } else if (m.key == "reqs" || m.key == "faninout") {
        WEFT_ASSIGN(const std::int64_t n, bound(m.value));
        (m.key == "reqs" ? out.pick.at_once : out.pick.fan) =
            static_cast<std::uint32_t>(std::min<std::int64_t>(n, 1 << 20));
      } else {
        return unknown(m, "msg_size_min, msg_size_max, alg, faninout, reqs");
      }
    }
    if (!any) return bad_rules(file_, v.at, "rule without an algorithm", {}, "\"alg\"");
    return out;
  }
  Result<const CollectiveAlgorithm*> algorithm(OpKind kind, const Json& v) const {
    if (v.kind == Json::Kind::kInteger) return numbered(file_, v.at, kind, v.integer);
    WEFT_TRY(expect(v, Json::Kind::kString, "a number or a name"));
    if (v.text == "ignore") return static_cast<const CollectiveAlgorithm*>(nullptr);
    const auto found = find_collective(kind, "openmpi." + v.text);
    if (found && (*found)->number > 0) return *found;
    return rules_not_supported(file_, v.at,
                               fmt::format("algorithm \"{}\" of {}", v.text, traces::op_name(kind)));
  }
  const std::string& file_;
};

const CollectiveRules& fixed_rules(bool han) { return han ? openmpi_rules_with_han() : openmpi_rules(); }

}  // namespace

Result<std::shared_ptr<const CollectiveRules>> read_openmpi_rules(const std::string& file,
                                                                  std::string_view text, bool han) {
  WEFT_ASSIGN(RuleTable table, TextReader(file, text).whole());
  return std::shared_ptr<const CollectiveRules>(
      std::make_shared<FileRules>(std::move(table), false, fixed_rules(han), !han));
}

Result<std::shared_ptr<const CollectiveRules>> read_openmpi_rules(const std::string& file, const Json& root,
                                                                  bool han) {
  JsonReader reader(file);
  WEFT_ASSIGN(RuleTable table, reader.whole(root));
  return std::shared_ptr<const CollectiveRules>(
      std::make_shared<FileRules>(std::move(table), reader.spreads, fixed_rules(han), false));
}

}  // namespace weft::replay::collectives
