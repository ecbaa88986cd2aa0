#include "report/timeline/paraver_head.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weft::report {

PrvSystem::PrvSystem(const std::vector<std::uint32_t>& node_of_rank,
                     const std::vector<std::uint32_t>& threads_of_rank, std::uint32_t more)
    : node(node_of_rank), threads(threads_of_rank), cpu(threads_of_rank.size()), others(more) {
  for (std::size_t r = 0; r < cpu.size(); ++r) {
    if (node[r] >= on_node.size()) on_node.resize(node[r] + std::size_t{1});
    cpu[r] = on_node[node[r]];
    on_node[node[r]] += threads[r];
    of_ranks += threads[r];
  }
  std::vector<std::uint32_t> first(on_node.size(), 1);
  for (std::size_t n = 1; n < first.size(); ++n) first[n] = first[n - 1] + on_node[n - 1];
  for (std::size_t r = 0; r < cpu.size(); ++r) cpu[r] += first[node[r]];
}

void PrvSystem::write_head(TextPieces& out, std::int64_t end,
                           const std::vector<traces::Communicator>& communicators) const {
  // No date: the same replay gives the same bytes.
  out.add("#Paraver (01/01/70 at 00:00):{}_ns:{}(", end, on_node.size() + (others > 0 ? 1 : 0));
  for (std::size_t n = 0; n < on_node.size(); ++n) out.add("{}{}", n == 0 ? "" : ",", on_node[n]);
  if (others > 0) out.add(",{}", others);
  out.add("):{}:{}(", others > 0 ? 2 : 1, cpu.size());
  for (std::size_t r = 0; r < cpu.size(); ++r) out.add("{}{}:{}", r == 0 ? "" : ",", threads[r], node[r] + 1);
  out.add(")");
  if (others > 0) out.add(":1({}:{})", others, on_node.size() + 1);
  out.add(",{}\n", communicators.size());
  for (std::size_t c = 0; c < communicators.size(); ++c) {
    out.add("c:1:{}:{}", c + 1, communicators[c].members.size());
    for (const std::int32_t m : communicators[c].members) out.add(":{}", m + 1);
    out.add("\n");
  }
}

std::string PrvSystem::row(const std::vector<std::string>& names, const char* of_others) const {
  std::string out = fmt::format("LEVEL CPU SIZE {}\n", names.size());
  for (std::uint32_t i = 0; i < of_ranks; ++i) out += fmt::format("cpu {}\n", i + 1);
  for (std::size_t i = of_ranks; i < names.size(); ++i) out += on_one_line(names[i]) + "\n";
  out += fmt::format("\nLEVEL NODE SIZE {}\n", on_node.size() + (others > 0 ? 1 : 0));
  for (std::size_t n = 0; n < on_node.size(); ++n) out += fmt::format("node {}\n", n + 1);
  if (others > 0) out += fmt::format("{}\n", of_others);
  out += fmt::format("\nLEVEL THREAD SIZE {}\n", names.size());
  for (const std::string& name : names) out += on_one_line(name) + "\n";
  return out;
}

std::string on_one_line(std::string name) {
  std::ranges::replace_if(
      name, [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  return name;
}

}  // namespace weft::report
