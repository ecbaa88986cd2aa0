// MPICH's selection files (src/mpi/coll/src/csel.c): objects within objects; of an object the keys are tested in their
// order and the first true one is entered. A leaf names an algorithm (of the flat communicator) or a composition (of
// one with nodes). What no leaf is reached for is chosen by the built-in rules.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "replay/collectives/parts.hpp"
#include "replay/collectives/rule_files.hpp"

namespace weft::replay::collectives {
namespace {

using traces::OpKind;

enum class Asks : std::uint8_t {
  kCollective,
  kNever,   // of what no trace has: inter-communicators, operators that do not commute, buffers in place...
  kAlways,  // ... or every call is
  kRanks,
  kHierarchy,
  kRanksPerNode,
  kBytes,
  kTotal,
  kCount,
  kNodeConsecutive,
  kRegular,
};
enum class Bound : std::uint8_t { kBelow, kUpTo, kEqual, kPowerOfTwo, kBelowPowerOfTwo, kOneNode };

struct Test {
  Asks asks = Asks::kAlways;
  Bound bound = Bound::kEqual;
  std::int64_t number = 0;
  bool wanted = true;  // of yes and no
  OpKind kind{};       // of a collective
  bool nonblocking = false;
  bool of_call = false;    // asked for each call, although every one answers alike here
  std::string_view shape;  // of a hierarchy
};
struct Branch {
  Test test;
  std::vector<Branch> below;
  // A leaf:
  bool leaf = false;
  bool composition = false;
  const CollectiveAlgorithm* algorithm = nullptr;  // null: as the flat rules choose, or
  bool missing = false;                            // not one that we have
};

[[nodiscard]] bool holds(const Test& t, std::int64_t value, std::uint32_t ranks, bool one_node) {
  switch (t.bound) {
    case Bound::kBelow:
      return value < t.number;
    case Bound::kUpTo:
      return value <= t.number;
    case Bound::kEqual:
      return value == t.number;
    case Bound::kPowerOfTwo:
      return std::has_single_bit(ranks);
    case Bound::kBelowPowerOfTwo:
      return value < static_cast<std::int64_t>(std::bit_floor(ranks));
    case Bound::kOneNode:
      return one_node;
  }
  return false;
}

[[nodiscard]] std::int64_t total_of(const CollectiveCall& c) {
  switch (c.kind) {
    case OpKind::allgather:
    case OpKind::allgatherv:
    case OpKind::reduce_scatter:
    case OpKind::reduce_scatter_block:
      return rank_blocks(c).total();
    case OpKind::gather:
    case OpKind::scatter:
    case OpKind::alltoall:
      return c.bytes * c.ranks;
    default:
      return c.bytes;
  }
}

// What versions 4.0 to 4.3 know of a communicator: its kind, and on how many nodes it is.
struct CommunicatorKind {
  bool parent, one_node;
  std::int64_t nodes;
  explicit CommunicatorKind(const CollectiveCall& c)
      : parent(c.nodes != nullptr && c.nodes->shares()),
        one_node(parent && c.nodes->nodes() == 1),
        nodes(c.among == Among::kNode ? 1
              : c.nodes != nullptr    ? c.nodes->nodes()
                                      : c.ranks) {}
};

[[nodiscard]] bool true_of(const Test& t, const CollectiveCall& c) {
  const auto [parent, one_node, nodes] = CommunicatorKind(c);
  switch (t.asks) {
    case Asks::kCollective:
      return t.kind == c.kind && t.nonblocking == c.nonblocking;
    case Asks::kNever:
      return false;
    case Asks::kAlways:
      return true;
    case Asks::kRanks:
      return holds(t, c.ranks, c.ranks, one_node);
    case Asks::kHierarchy:
      if (t.shape == "parent") return parent;
      if (t.shape == "node") return c.among == Among::kNode;
      if (t.shape == "node_roots") return c.among == Among::kNodeRoots;
      return !parent && c.among == Among::kAll;  // flat
    case Asks::kRanksPerNode: {                  // the mean, as its multiple by the nodes
      Test of_all = t;
      of_all.number = std::min<std::int64_t>(t.number, c.ranks + std::int64_t{1}) * nodes;
      return holds(of_all, c.ranks, c.ranks, one_node);
    }
    case Asks::kBytes:
      return holds(t, c.bytes, c.ranks, one_node);
    case Asks::kTotal:
      return holds(t, total_of(c), c.ranks, one_node);
    case Asks::kCount:
      return holds(t, elements_of(c), c.ranks, one_node);
    case Asks::kNodeConsecutive:
      return t.wanted == (parent && c.nodes->consecutive());
    case Asks::kRegular: {
      const bool regular = c.counts.empty() || std::adjacent_find(c.counts.begin(), c.counts.end(),
                                                                  std::not_equal_to<>()) == c.counts.end();
      return t.wanted == regular;
    }
  }
  return false;
}

// What the library asks when it prunes the tree: of the communicator, or which collective it is.
[[nodiscard]] bool of_communicator(const Test& t) {
  return !t.of_call && t.asks != Asks::kBytes && t.asks != Asks::kTotal && t.asks != Asks::kCount &&
         t.asks != Asks::kRegular;
}
[[nodiscard]] bool is_its_bound(const Test& t, const CollectiveCall& c) {
  return t.asks == Asks::kRanks && t.bound == Bound::kBelow && t.number == static_cast<std::int64_t>(c.ranks);
}

class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}
  bool algorithms = false;

  Result<std::vector<Branch>> object(const Json& v, std::optional<Test> collective) {
    std::vector<Branch> out;
    if (v.kind != Json::Kind::kObject)
      return bad_rules(file_, v.at, "wrong kind of value", v.text, "an object");
    for (const auto& m : v.members) {
      const auto eq = m.key.find_first_of("=<");
      const std::string name = m.key.substr(0, eq);
      Branch b;
      if (name == "algorithm" || name == "composition") {
        if (!collective)
          return bad_rules(file_, m.at, "algorithm outside of a collective", m.key,
                           "\"collective=NAME\" above it");
        WEFT_TRY(leaf(m, *collective, b));
      } else {
        WEFT_ASSIGN(b.test, test(m, name, eq));
        std::optional<Test> below = collective;
        if (b.test.asks == Asks::kCollective) {
          if (collective)
            return bad_rules(file_, m.at, "collective within a collective", m.key, "another condition");
          below = b.test;
        }
        WEFT_ASSIGN(b.below, object(m.value, below));
      }
      out.push_back(std::move(b));
    }
    return out;
  }

 private:
  [[nodiscard]] Error wrong(const Json::Member& m, std::string what, std::string expected) const {
    return bad_rules(file_, m.at, std::move(what), m.key, std::move(expected));
  }
  Result<Test> test(const Json::Member& m, const std::string& name, std::size_t eq) const {
    if (m.key == "any" || (m.key.ends_with("=any") && name != "collective")) return Test{};
    if (eq == std::string::npos)
      return wrong(m, "condition without a value", "NAME=VALUE, NAME<N or NAME<=N");
    const std::string value = m.key.substr(eq + 1);
    Test t;
    if (name == "collective") {
      const auto kind = find_collective_kind(value);
      const auto blocking = value.starts_with('i') ? find_collective_kind(value.substr(1)) : kind;
      t.asks = Asks::kCollective;
      t.nonblocking = !kind && blocking;
      if (!kind && !blocking) return wrong(m, "unknown collective", "bcast, ibcast, allreduce, ...");
      t.kind = kind ? *kind : *blocking;
      return t;
    }
    if (name == "comm_type") {
      if (value != "intra" && value != "inter")
        return wrong(m, "unknown kind of communicator", "intra, inter, any");
      t.asks = value == "intra" ? Asks::kAlways : Asks::kNever;
      return t;
    }
    if (name == "comm_hierarchy") {
      for (const std::string_view s : {"parent", "node_roots", "node", "flat"})
        if (s == value) t.shape = s;
      if (t.shape.empty()) return wrong(m, "unknown hierarchy", "parent, node_roots, node, flat, any");
      t.asks = Asks::kHierarchy;
      return t;
    }
    struct Flag {
      std::string_view name;
      Asks yes, no;
      bool of_call = true;
    };
    constexpr Flag kFlags[] = {
        {"is_commutative", Asks::kAlways, Asks::kNever},
        {"is_op_built_in", Asks::kAlways, Asks::kNever},
        {"is_sendbuf_inplace", Asks::kNever, Asks::kAlways},
        {"is_multi_threaded", Asks::kNever, Asks::kAlways},
        {"is_block_regular", Asks::kRegular, Asks::kRegular},
        {"is_node_consecutive", Asks::kNodeConsecutive, Asks::kNodeConsecutive, false}};
    for (const Flag& f : kFlags) {
      if (f.name != name) continue;
      if (value != "yes" && value != "no") return wrong(m, "not yes or no", "yes, no, any");
      t.wanted = value == "yes";
      t.of_call = f.of_call;
      t.asks = t.wanted ? f.yes : f.no;
      return t;
    }
    if (name == "comm_size")
      t.asks = Asks::kRanks;
    else if (name == "comm_avg_ppn")
      t.asks = Asks::kRanksPerNode;
    else if (name == "avg_msg_size")
      t.asks = Asks::kBytes;
    else if (name == "total_msg_size")
      t.asks = Asks::kTotal;
    else if (name == "count")
      t.asks = Asks::kCount;
    else
      return wrong(
          m, "unknown condition",
          "comm_type, comm_size, comm_hierarchy, comm_avg_ppn, avg_msg_size, total_msg_size, count, is_...");
    std::string_view number = value;
    if (m.key[eq] == '=') {
      t.bound = Bound::kEqual;
    } else {
      t.bound = number.starts_with('=') ? Bound::kUpTo : Bound::kBelow;
      if (t.bound == Bound::kUpTo) number.remove_prefix(1);
    }
    if (number == "pow2" && t.asks == Asks::kRanks && t.bound == Bound::kEqual) {
      t.bound = Bound::kPowerOfTwo;
    } else if (number == "pow2" && t.asks == Asks::kCount && t.bound == Bound::kBelow) {
      t.bound = Bound::kBelowPowerOfTwo;
    } else if (number == "node_comm_size" && t.asks == Asks::kRanks && t.bound == Bound::kEqual) {
      t.bound = Bound::kOneNode;
    } else {
      const auto r = std::from_chars(number.data(), number.data() + number.size(), t.number);
      if (number.empty() || r.ec != std::errc() || r.ptr != number.data() + number.size() || t.number < 0)
        return wrong(m, "not a bound", "an integer, 0 or more, or any");
    }
    return t;
  }
  // MPIR_Bcast_intra_binomial, MPIR_Ibcast_intra_sched_binomial, MPIDI_Bcast_intra_composition_alpha.
  Result<void> leaf(const Json::Member& m, const Test& collective, Branch& out) {
    out.leaf = true;
    out.composition = m.key.starts_with("composition");
    algorithms = algorithms || !out.composition;
    const auto eq = m.key.find('=');
    std::string name = eq == std::string::npos ? "" : m.key.substr(eq + 1);
    std::string kind = (collective.nonblocking ? "i" : "") + std::string(traces::op_name(collective.kind));
    kind[0] = static_cast<char>(kind[0] - 'a' + 'A');
    const std::string library = (out.composition ? "MPIDI_" : "MPIR_") + kind + "_";
    if (!name.starts_with(library)) return wrong(m, "algorithm of another collective", library + "intra_...");
    name.erase(0, library.size());
    for (const std::string_view part : {"intra_", "allcomm_", "sched_"})
      if (name.starts_with(part)) name.erase(0, part.size());
    const std::string as_mpich = std::string("mpich.") + name;
    if (const auto found = find_collective(collective.kind, as_mpich)) {
      out.algorithm = *found;
      return {};
    }
    // The same under other names: MPICH's compositions that go on as a flat communicator, and its older node forms.
    constexpr struct {
      OpKind kind;
      std::string_view name, ours;
    } kSame[] = {{OpKind::bcast, "smp", "composition_alpha"},
                 {OpKind::allreduce, "smp", "composition_alpha"},
                 {OpKind::reduce, "smp", "composition_beta"},
                 {OpKind::barrier, "smp", "composition_alpha"},
                 {OpKind::barrier, "recursive_doubling", "k_dissemination"},
                 {OpKind::alltoall, "permuted_sendrecv", "scattered"},
                 {OpKind::alltoallv, "blocked", "scattered"},
                 {OpKind::alltoallw, "blocked", "scattered"},
                 {OpKind::scan, "composition_alpha", "smp"}};
    for (const auto& s : kSame)
      if (s.kind == collective.kind && s.name == name) {
        out.algorithm = &library_collective(s.kind, "mpich.", s.ours);
        return {};
      }
    // Other compositions go on as on a flat communicator.
    out.missing = !out.composition || !name.starts_with("composition_");
    return {};
  }

  const std::string& file_;
};

class SelectionRules final : public CollectiveRules {
 public:
  SelectionRules(std::vector<Branch> branches, bool algorithms)
      : branches_(std::move(branches)), algorithms_(algorithms), built_in_(mpich_rules()) {}
  [[nodiscard]] bool asks_for_nodes() const override { return true; }
  [[nodiscard]] bool sends_empties(const CollectiveCall& c) const override {
    return built_in_->sends_empties(c);
  }
  [[nodiscard]] Pick pick(const CollectiveCall& c) const override {
    if (c.kind >= OpKind::neighbor_allgather) return built_in_->pick(c);
    // MPICH's compositions come before a file of algorithms.
    const Pick built_in = built_in_->pick(c);
    if (algorithms_ && built_in.algorithm->asks_for_nodes) return built_in;
    const Branch* found = search(branches_, c);
    if (found == nullptr) return built_in;
    // A form that knows nodes falls back where there are none, as in the library; its parts ask again.
    const bool misplaced = found->algorithm != nullptr && found->algorithm->asks_for_nodes &&
                           (c.nodes == nullptr || !c.nodes->shares());
    if (!misplaced && (found->algorithm != nullptr || found->missing)) return pick_of(*found);
    CollectiveCall flat = c;
    flat.nodes = nullptr;
    return built_in_->pick(flat);
  }

 private:
  [[nodiscard]] Pick pick_of(const Branch& leaf) const {
    Pick p{leaf.algorithm};
    if (leaf.missing) p.not_supported = "the algorithm that the file of rules names";
    return p;
  }
  // The first true key is entered; there is no way back. The library prunes the tree for a communicator as far as the first
  // key that only a call can answer; it evaluates what is below with another function, for which comm_size<N means <= N.
  [[nodiscard]] static const Branch* search(const std::vector<Branch>& branches, const CollectiveCall& c) {
    const std::vector<Branch>* here = &branches;
    bool pruned = true;
    while (true) {
      const Branch* entered = nullptr;
      for (const Branch& b : *here) {
        pruned = pruned && (b.leaf || of_communicator(b.test));
        if (b.leaf || true_of(b.test, c) || (!pruned && is_its_bound(b.test, c))) {
          entered = &b;
          break;
        }
      }
      if (entered == nullptr || entered->leaf) return entered;
      here = &entered->below;
    }
  }
  std::vector<Branch> branches_;
  bool algorithms_;
  std::shared_ptr<const CollectiveRules> built_in_;
};

}  // namespace

Result<std::shared_ptr<const CollectiveRules>> read_mpich_rules(const std::string& file, const Json& root) {
  Reader reader(file);
  WEFT_ASSIGN(auto branches, reader.object(root, std::nullopt));
  return std::shared_ptr<const CollectiveRules>(
      std::make_shared<SelectionRules>(std::move(branches), reader.algorithms));
}

}  // namespace weft::replay::collectives
