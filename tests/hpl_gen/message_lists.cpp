#include "tests/hpl_gen/message_lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace weft::testing_hpl {

using traces::OpKind;

AllLists lists_of(traces::TraceReader& trace) {
  AllLists out;
  traces::OpBlock block;
  for (std::uint32_t r = 0; r < trace.header().ranks; ++r) {
    const auto me = static_cast<std::int32_t>(r);
    while (true) {
      auto more = trace.next_block(RankId(r), block);
      if (!more || !*more) break;
      for (const traces::Op& op : block.ops) {
        std::int32_t comm = 0;
        if (op.comm.index() > 0) comm = std::stoi(trace.communicators()[op.comm.index()].name.substr(5));
        const auto add = [&](char call) {
          out.sent[{me, op.peer, comm}].push_back({call, op.tag, op.amount});
        };
        if (op.kind == OpKind::send) add('S');
        if (op.kind == OpKind::ssend) add('Y');
        if (op.kind == OpKind::isend) add('I');
        if (op.kind == OpKind::issend) add('J');
        if (op.kind == OpKind::recv || op.kind == OpKind::irecv)
          out.received[{op.peer, me, comm}].push_back({'R', op.tag, op.amount});
      }
    }
  }
  return out;
}

AllLists read_recorded(const std::string& dir, int ranks) {
  AllLists out;
  for (int r = 0; r < ranks; ++r) {
    std::ifstream in(dir + "/" + std::to_string(r) + ".txt");
    std::string line;
    while (std::getline(in, line)) {
      std::istringstream words(line);
      char op = 0;
      std::int32_t src = 0, dst = 0, tag = 0, comm = 0;
      std::int64_t bytes = 0;
      words >> op;
      if (op == 'C' || !(words >> src >> dst >> tag >> bytes >> comm)) continue;
      if (op == 'S' || op == 'Y' || op == 'I' || op == 'J')
        out.sent[{src, dst, comm}].push_back({op, tag, bytes});
      if (op == 'R' || op == 'Q') out.received[{src, dst, comm}].push_back({'R', tag, bytes});
    }
  }
  return out;
}

std::string differences(const MessageLists& want, const MessageLists& got, std::size_t most) {
  std::set<ListKey> keys;
  for (const auto& [k, v] : want) keys.insert(k);
  for (const auto& [k, v] : got) keys.insert(k);
  std::string out;
  std::size_t found = 0;
  for (const ListKey& k : keys) {
    static const std::vector<Message> kNone;
    const auto find = [&](const MessageLists& m) -> const std::vector<Message>& {
      const auto it = m.find(k);
      return it == m.end() ? kNone : it->second;
    };
    const auto& a = find(want);
    const auto& b = find(got);
    if (a == b) continue;
    if (++found > most) continue;
    std::size_t i = 0;
    while (i < a.size() && i < b.size() && a[i] == b[i]) ++i;
    const auto show = [&](const std::vector<Message>& v) {
      return i < v.size() ? fmt::format("{} tag {} bytes {}", v[i].call, v[i].tag, v[i].bytes)
                          : std::string("end");
    };
    out += fmt::format("{} -> {} comm {}: {} wanted, {} got; at {}: {} / {}\n", k[0], k[1], k[2], a.size(),
                       b.size(), i, show(a), show(b));
  }
  if (found > 0) out += fmt::format("{} of {} lists differ\n", found, keys.size());
  return out;
}

}  // namespace weft::testing_hpl
