#include "tests/hpl_gen/recorded_runs.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <sstream>

#include "core/hash.hpp"

namespace weft::testing_hpl {

using namespace hpl_gen;

Configuration parse_configuration(const std::string& line) {
  Configuration out;
  out.line = line;
  HplConfig& c = out.config;
  int pmap = 0, pfact = 0, rfact = 0, bcast = 0, swap = 0, l1 = 0, u = 0, equil = 1;
  std::istringstream in(line);
  in >> c.p >> c.q >> c.n >> c.nb >> pmap >> pfact >> c.nbmin >> c.ndiv >> rfact >> bcast >> c.depth >>
      swap >> c.swap_threshold >> l1 >> u >> equil >> out.matrix_seed;
  WEFT_CHECK(!in.fail(), "a configuration line is not whole: " + line);
  c.pmap = static_cast<ProcessMap>(pmap);
  c.pfact = static_cast<Factor>(pfact);
  c.rfact = static_cast<Factor>(rfact);
  c.bcast = static_cast<Bcast>(bcast);
  c.swap = static_cast<Swap>(swap);
  c.l1_transposed = l1 == 0, c.u_transposed = u == 0, c.equil = equil != 0;
  return out;
}

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream in(path);
  WEFT_CHECK(in.good(), "can't read " + path);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);)
    if (!line.empty() && line[0] != '#') out.push_back(line);
  return out;
}

std::vector<std::string> fingerprint_lines(const AllLists& lists) {
  struct Rank {
    std::uint64_t sends = 0, bytes = 0, receives = 0;
    Fingerprint hash;
  };
  std::map<std::int32_t, Rank> ranks;
  const auto cover = [](Rank& r, std::int32_t peer, std::int32_t comm, const std::vector<Message>& list) {
    for (const auto word : {static_cast<std::uint64_t>(peer), static_cast<std::uint64_t>(comm), list.size()})
      r.hash.add(word);
    for (const Message& m : list) {
      r.hash.add(static_cast<std::uint64_t>(m.call));
      r.hash.add(static_cast<std::uint64_t>(m.tag));
      r.hash.add(static_cast<std::uint64_t>(m.bytes));
    }
  };
  for (const auto& [key, list] : lists.sent) {
    Rank& r = ranks[key[0]];
    cover(r, key[1], key[2], list);
    r.sends += list.size();
    for (const Message& m : list) r.bytes += static_cast<std::uint64_t>(m.bytes);
  }
  for (const auto& [key, list] : lists.received) {
    Rank& r = ranks[key[1]];
    cover(r, key[0], key[2], list);
    r.receives += list.size();
  }
  std::vector<std::string> out;
  for (const auto& [rank, r] : ranks)
    out.push_back(fmt::format("{} {} {} {} {:016x}", rank, r.sends, r.bytes, r.receives, r.hash.value()));
  return out;
}

}  // namespace weft::testing_hpl
