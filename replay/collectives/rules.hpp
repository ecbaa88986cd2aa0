// Rules: which algorithm a collective call takes. A value that every rank asks alike.
//
// "default": Weft's own (defaults.cpp). "openmpi4": Open MPI's fixed tables, "openmpi5": with HAN (openmpi/rules.cpp). "mpich": MPICH's
// (mpich/rules.cpp). Files: rule_files.hpp.
// docs/collectives.md has the tables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "replay/collectives/schedule.hpp"

namespace weft::replay {

// Which ranks of a communicator share a node (a host of the platform). Nodes are numbered in the order of their first
// rank, ranks of a node in the order of the communicator.
struct NodeShape {
  std::vector<std::uint32_t> node;   // by rank
  std::vector<std::uint32_t> local;  // by rank: its index on its node
  std::vector<std::uint32_t> start;  // by node, and one more: where its ranks are in `ranks`
  std::vector<std::uint32_t> ranks;
  std::vector<std::uint32_t> local_start;  // by local index, and one more: where its ranks are in `by_local`
  std::vector<std::uint32_t> by_local;     // of each index ascending

  explicit NodeShape(std::span<const std::uint32_t> host_by_rank);
  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(start.size() - 1); }
  [[nodiscard]] std::span<const std::uint32_t> on(std::uint32_t node_index) const {
    return std::span(ranks).subspan(start[node_index], start[node_index + 1] - start[node_index]);
  }
  // The ranks with that index on their nodes.
  [[nodiscard]] std::span<const std::uint32_t> with_local(std::uint32_t index) const {
    return std::span(by_local).subspan(local_start[index], local_start[index + 1] - local_start[index]);
  }
  // The place of a rank among those with its index, which need not stand in the order of the nodes.
  [[nodiscard]] std::uint32_t place_up(std::uint32_t rank) const {
    const auto up = with_local(local[rank]);
    return static_cast<std::uint32_t>(std::lower_bound(up.begin(), up.end(), rank) - up.begin());
  }
  // Several ranks on one of its nodes.
  [[nodiscard]] bool shares() const { return nodes() < node.size(); }
  // ... and several nodes.
  [[nodiscard]] bool hierarchical() const { return nodes() > 1 && shares(); }
  // The ranks of each node follow one another.
  [[nodiscard]] bool consecutive() const { return std::is_sorted(node.begin(), node.end()); }
  [[nodiscard]] bool even() const { return even_; }  // as many ranks on each

 private:
  bool even_ = true;
};

class CollectiveRules {
 public:
  struct Pick {
    const CollectiveAlgorithm* algorithm = nullptr;
    std::int64_t segment = 0;
    std::uint32_t fan = 0;
    std::uint32_t at_once = 0;
    std::string_view not_supported = {};  // why there is no algorithm
  };
  virtual ~CollectiveRules() = default;
  // Every rank of a call gets the same answer.
  [[nodiscard]] virtual Pick pick(const CollectiveCall& call) const = 0;
  // Whether linear forms of such a call, and those that ask, send messages of 0 bytes.
  [[nodiscard]] virtual bool sends_empties(const CollectiveCall&) const { return false; }
  // Whether calls must say which ranks share a node.
  [[nodiscard]] virtual bool asks_for_nodes() const { return false; }
};

// "default|openmpi4|...": every name, for help and errors.
[[nodiscard]] std::string collective_rules_names(std::string_view separator);
// By name, "" for "default", or from a file: Open MPI's dynamic rules (text or JSON), MPICH's selection (JSON); "openmpi5:FILE":
// Open MPI's with HAN in front. Errors: unknown name, with the known ones; FILE:LINE:COLUMN of what is wrong in a file.
[[nodiscard]] Result<std::shared_ptr<const CollectiveRules>> open_collective_rules(std::string_view name);
// The file that rules of that name are read from; none: they are built in.
[[nodiscard]] std::optional<std::string> file_of_collective_rules(std::string_view name);
// The rules of the library that says this of itself (MPI_Get_library_version): those of Open MPI from 4.1 on and of MPICH. Empty: no
// library of which rules are known.
[[nodiscard]] std::string_view rules_of_library(std::string_view mpi_version);
// The rules of a file of that name and text.
[[nodiscard]] Result<std::shared_ptr<const CollectiveRules>> parse_collective_rules(const std::string& path,
                                                                                    std::string_view text);
// ... of Open MPI's file, with HAN in front of it. Errors also: a file of MPICH.
[[nodiscard]] Result<std::shared_ptr<const CollectiveRules>> parse_rules_behind_han(const std::string& path,
                                                                                    std::string_view text);
// Number of the algorithm that Open MPI's fixed table names; 0: it has no table for that kind.
[[nodiscard]] std::uint8_t openmpi_number(const CollectiveCall& call);
// Open MPI's fixed rules, which decide about parts of a call where no others are given.
[[nodiscard]] const CollectiveRules& openmpi_rules();
// ... with HAN where it comes first.
[[nodiscard]] const CollectiveRules& openmpi_rules_with_han();
// Whether a call goes to component han, which 5.0 asks before tuned and its files of rules: on several nodes with several
// ranks on one.
[[nodiscard]] bool han_comes_first(const CollectiveCall& call);
[[nodiscard]] std::shared_ptr<const CollectiveRules> mpich_rules();

// Appends rank `me`'s rounds of the algorithm that the rules choose, and returns it.
const CollectiveAlgorithm& build_chosen(const CollectiveRules& rules, CollectiveCall call, std::uint32_t me,
                                        RankSchedule& out);

}  // namespace weft::replay
